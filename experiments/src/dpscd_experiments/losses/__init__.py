"""Losses that only the paper needs."""
