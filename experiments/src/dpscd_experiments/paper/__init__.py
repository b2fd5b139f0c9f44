"""The paper as published, for reproduction only.

Damaskinos, Mendler-Dünner, Guerraoui, Papandreou and Parnell, "Differentially Private
Stochastic Coordinate Descent", AAAI 2021. Nothing here is used by the estimators: the
published privacy argument has gaps, which :data:`STATEMENTS` lists method by method and
docs/understanding/published_argument.md explains. Every method is called alike::

    method = METHODS["dp-scd"]
    settings = Settings(epochs=10, lot_size=500, clip=0.1)
    settings = method.calibrated(problem, settings, epsilon=1.0, delta=1e-3)
    shared = method.run(problem, rows, records, settings, source, observer=None)
"""

from dpscd_experiments.paper.algorithms import LOSSES, Settings
from dpscd_experiments.paper.diagnostics import Diagnostics
from dpscd_experiments.paper.methods import METHODS, STATEMENTS, Flaw

__all__ = ["LOSSES", "METHODS", "STATEMENTS", "Diagnostics", "Flaw", "Settings"]
