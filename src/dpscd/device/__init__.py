"""The second engine: the mechanism as array code, for a GPU or whatever else JAX computes on.

Only modules here import JAX, and none of them imports Numba. They are loaded when a fit asks
for ``engine="jax"`` and not before. What is proved of them is in docs/proofs/tensor_cores.md.
"""
