"""What each published method does and does not guarantee, to be read by people and code."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

__all__ = ["STATEMENTS", "Flaw", "Statement"]


class Flaw(StrEnum):
    """A gap between a published guarantee and what runs; details in the docs."""

    VISIBLE_LOTS = (
        "noise goes only to the duals of the lot, so whoever sees the duals knows the lots, "
        "and nothing is left of amplification by sampling"
    )
    LEMMA_1 = (
        "Lemma 1 keeps the label of the zeroed record: the sensitivity is then sqrt(5) C, "
        "not sqrt(2) C"
    )
    SHUFFLED_LOTS = "lots='shuffled' is accounted for as if lots were Poisson"
    LOT_SIZE = "lots='poisson' may hold more than L, and the sensitivity grows with the lot"
    FEATURE_LENGTHS = "features are divided by lengths that are read off the private records"
    PREPARATION = (
        "columns are scaled, labels centred and hyper-parameters chosen on the private "
        "records, free of charge"
    )
    LARGE_DELTA = "the experiments' delta = 1e-3 is larger than 1/N"
    FLOATS = "sums and noise are plain floats, whose rounding is not accounted for"


@dataclass(frozen=True)
class Statement:
    """The statement that a method carries."""

    method: str  # name of the method
    published: str  # what the paper says it guarantees; empty if nothing
    holds: str  # what can be defended, in exact arithmetic; empty if nothing
    flaws: tuple[Flaw, ...]  # why the first is not the second
    # Whether this library stands behind a guarantee: never, for a published method.
    private: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain JSON values; flaws by name and text."""
        flaws = [{"name": flaw.name, "text": flaw.value} for flaw in self.flaws]
        return {**asdict(self), "flaws": flaws}


_COMMON = (Flaw.SHUFFLED_LOTS, Flaw.PREPARATION, Flaw.LARGE_DELTA, Flaw.FLOATS)

STATEMENTS: dict[str, Statement] = {
    statement.method: statement
    for statement in (
        Statement(
            "dp-scd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, L/N, T), duals and shared "
            "vector visible after every step",
            "with Poisson lots, if the duals stay secret and a zeroed record takes no step: "
            "the published epsilon, with sqrt(2) of noise to spare "
            "(docs/proofs/shared_vector.md). With shuffled lots and visible duals: "
            "sqrt(epochs)/sigma-GDP, under the same adjacency",
            (Flaw.VISIBLE_LOTS, Flaw.LEMMA_1, *_COMMON),
        ),
        Statement(
            "primal-dp-scd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, 1, T), model and auxiliary "
            "vector visible after every step",
            "the published epsilon, if feature lengths are public and no lot of coordinates "
            "is larger than L",
            (Flaw.FEATURE_LENGTHS, Flaw.LOT_SIZE, Flaw.PREPARATION, Flaw.LARGE_DELTA,
             Flaw.FLOATS),
        ),
        Statement(
            "seq-dp-scd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, L/N, T), duals and shared "
            "vector visible after every step",
            "with shuffled lots: sqrt(epochs)/sigma-GDP. Secret duals do not help: in a "
            "sequential lot the duals of others remember the record",
            (Flaw.VISIBLE_LOTS, Flaw.LOT_SIZE, *_COMMON),
        ),
        Statement("scd", "", "", ()),
        Statement("sgd", "", "", ()),
        Statement(
            "dp-sgd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, L/N, T), model visible after "
            "every step",
            "with Poisson lots: the published epsilon. With shuffled lots: "
            "sqrt(epochs)/sigma-GDP",
            _COMMON,
        ),
    )
}  # fmt: skip
