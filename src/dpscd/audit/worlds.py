"""Which canaries of a run are there: half of them, drawn by a seed or by the system."""

import numpy as np
import numpy.typing as npt

from dpscd.kernels.draws import shuffle
from dpscd.privacy.random import Purpose, SecureSource, SeededSource

__all__ = ["draw_world"]

Bools = npt.NDArray[np.bool_]


def draw_world(
    run: str, canaries: int, odd: int, random_state: int | None
) -> tuple[Bools, int | None]:
    """Draw which canaries are there, and a seed for what is run with them.

    Parameters
    ----------
    run : str
        Names the run: each has draws of its own.
    canaries : int
        How many there are.
    odd : {0, 1}
        Which half is the larger one of an odd number: with one canary, whether it is there.
    random_state : int or None
        A seed; None draws from the operating system, and gives no seed.
    """
    source = SecureSource()
    if random_state is not None:
        source = SeededSource(f"front door {random_state}, {run}".encode())
    words = source.words(Purpose.ORDER, 0, 1, canaries + 1)[0]
    order = np.arange(canaries)
    shuffle(words[:-1], order)
    seed = None if random_state is None else int(words[-1] >> np.uint64(1))
    return order < (canaries + odd) // 2, seed
