"""The build of a process, which decides the last bits of sums: workers must be alike.

It is asked for first, of workers that may be unable to load anything else.
"""

from collections.abc import Mapping

import numpy as np

from dpscd._version import __version__
from dpscd.errors import WorkerError
from dpscd.kernels._jit import compiler


def own_build() -> dict[str, str]:
    """Return versions, and Numba's target: public facts that decide how numbers round."""
    return {"dpscd": __version__, "numpy": np.__version__, **compiler()}


def check_alike(one: Mapping[str, str], other: Mapping[str, str]) -> None:
    """Refuse two workers that may round differently.

    Guarantee: what a record contributes has the same bits on both, as
    docs/proofs/shared_vector.md, "Shards", requires. The coordinator adds whole numbers and
    the noise, which any processor does alike: it may differ.
    """
    for name, here in one.items():
        there = other.get(name, "none")
        if here != there:
            if name == "features":
                here, there = _apart(here, there)
            raise WorkerError(
                f"workers differ: {name} {here} on one and {there} on another, so a record's "
                "contribution may not have the same bits on both; install the same versions "
                "on all workers and use equal processors, or start all workers with the same "
                "NUMBA_CPU_NAME and NUMBA_CPU_FEATURES."
            )


def _apart(one: str, other: str) -> tuple[str, str]:
    """Return the features that only one of the texts has."""
    here, there = set(one.split(",")), set(other.split(","))
    first, second = (",".join(sorted(some)) or "none" for some in (here - there, there - here))
    return first, second
