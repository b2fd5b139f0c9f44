"""A fit and its views: what it guarantees, and its file."""
