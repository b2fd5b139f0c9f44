"""Mistakes that a theorem rules out, or that were published, each with the test that sees it.

Each breaks a theorem of docs/proofs or was published by others. A new one stands with its like;
docs/understanding/mutations.md is written from this list by `python tests/mutations/table.py`.
"""

from catalogue import accounting, keeping, records, released, training, units

MUTATIONS = [
    mutation
    for theme in (training, accounting, released, units, records, keeping)
    for value in vars(theme).values()
    if isinstance(value, list)
    for mutation in value
]
