"""Lots and noise of consecutive chunks of steps, for all methods of the paper."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.privacy.noise import draw_normals
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.sampling import Lots, PoissonLots
from dpscd_experiments.paper.settings import Settings
from dpscd_experiments.solvers.shuffled import shuffled_lots

__all__ = ["Chunk", "chunks"]

Floats = npt.NDArray[np.float64]

_CHUNK = 2**16  # numbers drawn at once


class Chunk(NamedTuple):
    """The randomness of some steps."""

    lots: Lots  # who is drawn
    own: Floats  # standard normals, one a member
    shared: Floats  # standard normals, one a coordinate and step


def chunks(
    settings: Settings, source: Source, units: int, size: int, *, own: bool = True
) -> Iterator[Chunk]:
    """Yield the lots of `units` records or coordinates, with the noise of each chunk."""
    first = pairs = 0
    for lots in _lots(settings, source, units, max(1, _CHUNK // max(size, settings.lot_size))):
        steps, members = len(lots.starts) - 1, len(lots.ids)
        if settings.sigma > 0.0:
            shared = draw_normals(source, Purpose.NOISE, first, steps, size)
        else:
            shared = np.zeros((steps, size))
        normals = np.zeros(members)
        if own and settings.sigma > 0.0:
            # Lots differ in size: the stream is counted in pairs of normals.
            more = (members + 1) // 2
            drawn = draw_normals(source, Purpose.DUAL_NOISE, pairs, more, 2)
            normals = drawn.ravel()[:members]
            pairs += more
        first += steps
        yield Chunk(lots, normals, shared)


def _lots(settings: Settings, source: Source, units: int, chunk: int) -> Iterator[Lots]:
    epoch = settings.steps_per_epoch(units)
    if settings.lots == "shuffled":
        yield from shuffled_lots(source, units, settings.lot_size, settings.epochs, chunk)
        return
    poisson = PoissonLots(settings.lot_size / units)
    for start in range(0, settings.steps(units), epoch):
        for first in range(start, start + epoch, chunk):
            steps = min(chunk, start + epoch - first)
            yield poisson.draw(source, first, steps, units)
