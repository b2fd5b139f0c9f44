"""The packaged table: Adult, for the demonstration, the examples and the first steps."""
