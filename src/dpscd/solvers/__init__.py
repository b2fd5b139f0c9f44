"""Algorithms: they run kernels in chunks of steps."""
