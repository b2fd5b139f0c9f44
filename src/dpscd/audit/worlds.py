"""Random participation of canaries: each is included with probability 1/2."""

import numpy as np
import numpy.typing as npt

from dpscd.kernels.draws import shuffle
from dpscd.privacy.random import Purpose, SecureSource, SeededSource

__all__ = ["draw_world"]

Bools = npt.NDArray[np.bool_]


def draw_world(
    run: str, canaries: int, odd: int, random_state: int | None
) -> tuple[Bools, int | None]:
    """Draw which canaries are present, and a seed for what is run with them.

    `run` names the run, which has draws of its own. `odd`, 0 or 1, says which half of an odd
    number is larger: with one canary, whether it is present. Without `random_state` the
    operating system draws, and no seed is returned.
    """
    source = SecureSource()
    if random_state is not None:
        source = SeededSource(f"front door {random_state}, {run}".encode())
    words = source.words(Purpose.ORDER, 0, 1, canaries + 1)[0]
    order = np.arange(canaries)
    shuffle(words[:-1], order)
    seed = None if random_state is None else int(words[-1] >> np.uint64(1))
    return order < (canaries + odd) // 2, seed
