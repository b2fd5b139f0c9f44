"""Tables of people of any age, of whom the old are ill, for tests of models of tables."""

import numpy as np
import pandas as pd

N = 6000
COLUMNS = {
    "age": {"kind": "number", "bounds": [0, 100], "bins": 10},
    "sex": {"kind": "category", "values": ["f", "m"]},
    "id": {"kind": "ignore"},
}
# Not in the order of the alphabet.
SCHEMA = {"target": {"column": "ill", "classes": ["yes", "no"]}, "columns": COLUMNS}
NUMBER = {"target": {"column": "cost", "bounds": [0, 200]}, "columns": COLUMNS}


def aged(identifiers, spread=0.0):
    """Return a table in which who is ill follows from the age and noise of this spread."""
    generator = np.random.default_rng(0)
    age = generator.uniform(0, 100, N)
    old = age + generator.normal(0, spread, N) > 60
    table = pd.DataFrame({"age": age, "sex": generator.choice(["f", "m"], N)})
    return table.assign(id=identifiers, ill=np.where(old, "yes", "no"), cost=2 * age)
