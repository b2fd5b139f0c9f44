"""The second engine: the mechanism as array code, for a GPU or any other device of JAX."""
