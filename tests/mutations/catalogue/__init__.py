"""Mistakes that were made elsewhere, or are easy to make here, each with the test that sees it.

A new one stands with its like, as `core` if it breaks a theorem of docs/proofs or was published
by others, else as `other`; docs/understanding/mutations.md is written from this list by
`python tests/mutations/table.py`.
"""

from catalogue import accounting, keeping, records, released, training, units

MUTATIONS = [
    mutation
    for theme in (training, accounting, released, units, records, keeping)
    for value in vars(theme).values()
    if isinstance(value, list)
    for mutation in value
]
