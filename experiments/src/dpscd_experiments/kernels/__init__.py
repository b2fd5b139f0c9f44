"""Compiled loops of the paper and of gradient descent."""
