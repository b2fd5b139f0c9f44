"""Tables and figures from stored results, never from data."""
