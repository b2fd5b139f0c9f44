"""From tables to rows of numbers, by what is declared about the columns."""
