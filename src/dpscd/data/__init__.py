"""The packaged Adult table, for the demonstration, the examples and the first steps."""
