"""Algorithm 3 of the paper, seqDP-SCD: each step of a lot sees those before it.

For reproduction only: what is and is not guaranteed is in
:data:`dpscd_experiments.paper.statements.STATEMENTS`.
"""

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.solvers.observer import Observer
from dpscd_experiments.paper.algorithm1 import dual_lots
from dpscd_experiments.paper.settings import Settings
from dpscd_experiments.paper.theory import sensitivity_sequential

__all__ = ["seq_dp_scd"]

Floats = npt.NDArray[np.float64]


def seq_dp_scd(
    problem: Problem,
    rows: Rows,
    records: Records,
    settings: Settings,
    source: Source,
    *,
    observer: Observer | None = None,
) -> Floats:
    """Run seqDP-SCD as published and return the shared vector.

    Guarantee: see ``STATEMENTS["seq-dp-scd"]``; in short, not the published one.
    """
    std = settings.noise(sensitivity_sequential(settings.clip, settings.lot_size))
    return dual_lots(problem, rows, records, settings, source, std, True, observer)
