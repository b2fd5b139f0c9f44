"""Compiled loops. They are pure: all randomness comes in as arguments."""
