"""Measures of a model on held-out records, from one noisy sum each."""
