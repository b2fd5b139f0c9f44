"""Lots without replacement: a fresh permutation every epoch, cut into consecutive lots."""

from collections.abc import Iterator

import numpy as np

from dpscd.kernels.draws import shuffle
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.sampling import Lots

__all__ = ["shuffled_lots"]


def shuffled_lots(
    source: Source, count: int, lot_size: int, epochs: int, chunk: int
) -> Iterator[Lots]:
    """Yield the lots of all epochs, at most `chunk` of them at a time.

    Guarantee: none. Accounting for Poisson lots does not apply to these.
    """
    order = np.arange(count)
    for epoch in range(1, epochs + 1):
        shuffle(source.words(Purpose.ORDER, epoch, 1, count)[0], order)
        for first in range(0, count, chunk * lot_size):
            ids = order[first : first + chunk * lot_size]
            yield Lots(ids, np.append(np.arange(0, len(ids), lot_size), len(ids)))
