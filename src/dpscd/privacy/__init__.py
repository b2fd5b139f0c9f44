"""Accounting, randomness, sampling and noise: whatever a guarantee rests on."""
