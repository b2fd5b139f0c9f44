"""Data sets, methods and runs for comparisons."""
