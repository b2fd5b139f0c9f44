"""Research beside the product: the paper as published, comparisons, figures, result pages.

The verbs ``dpscd bench`` and ``dpscd reproduce`` are here. Nothing in :mod:`dpscd` imports
this package, and no guarantee rests on it.
"""
