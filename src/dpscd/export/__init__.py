"""What is handed over with a model: a registry entry, a model card, a bill of materials."""
