"""Accounting, randomness, sampling and noise: the code that a guarantee rests on."""
