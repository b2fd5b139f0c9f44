"""What is written about a model: facts, each said once, and documents made of them."""
