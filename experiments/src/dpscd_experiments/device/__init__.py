"""Checks and times of the second engine, on whatever device JAX has."""
