"""Algorithms: they feed kernels in chunks of steps."""
