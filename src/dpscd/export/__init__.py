"""Documents of a model: a registry entry, a model card, a bill of materials."""
