"""Ingestion: records become triples of row, label and weight, each from itself alone."""
