"""Scripts that other interpreters run: they import nothing of this library."""
