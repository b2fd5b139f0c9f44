"""The second engine: the mechanism as array code, for a GPU or any other device of JAX.

Only modules here import JAX, and none of them imports Numba. They are loaded only when a fit
asks for ``engine="jax"``. Proofs are in docs/proofs/tensor_cores.md.
"""
