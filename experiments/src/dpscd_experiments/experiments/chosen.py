"""Read the rows of a sweep: the best lot size of each method, by validation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

__all__ = ["LABELS", "Chosen", "best_by_method", "markdown_table", "setting"]

#: The methods as figures and tables name them, in their order.
LABELS = {
    "scd": "SCD, not private",
    "sgd": "SGD, not private",
    "dp-scd": "DP-SCD as published",
    "seq-dp-scd": "seqDP-SCD as published",
    "primal-dp-scd": "primalDP-SCD as published",
    "dp-sgd": "DP-SGD as published",
    "ours-tuned": "ours, tuned like the paper",
    "ours": "ours, untuned estimator",
}


@dataclass(frozen=True)
class Chosen:
    """The configuration of a method at an epsilon, with its test scores."""

    method: str
    epsilon: float
    delta: float
    measure: str
    values: tuple[float, ...]
    validation: float
    lot_size: float | None
    clip: float | None
    learning_rate: float | None
    sigma: float
    epochs: int
    tried: int
    cell: str

    @property
    def label(self) -> str:
        """The method's name in figures."""
        return LABELS[self.method]

    @property
    def private(self) -> bool:
        """Whether there is an epsilon at all."""
        return math.isfinite(self.epsilon)

    @property
    def middle(self) -> float:
        """The median test score; infinite if it is that of a broken model."""
        return median(math.inf if math.isnan(value) else value for value in self.values)

    @property
    def worth(self) -> float:
        """The median test score so that larger is better."""
        return _worth(self.middle, self.measure)


def best_by_method(rows: Sequence[Mapping[str, Any]]) -> list[Chosen]:
    """Return, for each method and epsilon, the lot size with the best validation score."""
    by_cell: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["method"] in LABELS and row["status"] == "ok":
            by_cell.setdefault(row["cell"], []).append(row)
    groups: dict[tuple[str, float], list[Chosen]] = {}
    for cell in by_cell.values():
        one = _read(cell)
        groups.setdefault((one.method, one.epsilon), []).append(one)
    order = list(LABELS)
    best = []
    for _, group in sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0])):
        first = max(group, key=lambda one: _worth(one.validation, one.measure))
        best.append(
            Chosen(**{**vars(first), "tried": sum(one.tried for one in group)}),
        )
    return best


def setting(rows: Sequence[Mapping[str, Any]], quick: bool) -> str:
    """Return the line that says what was run."""
    swept = [row for row in rows if row.get("param.clips")]
    first = swept[0] if swept else rows[0]
    seeds, epochs = first.get("param.seeds"), first.get("param.epochs")
    kind = (
        "Quick run: fewer seeds and thinner grids than the paper's." if quick else "Full run."
    )
    return (
        f"{kind} Data {first['dataset']}, loss {first.get('param.loss')}, lam "
        f"{first.get('param.lam'):g}, {epochs} epochs, delta {first['delta']:g}. One seed "
        f"for tuning on the validation part, median of {seeds} seeds on the test part."
    )


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _worth(score: float, measure: str) -> float:
    if not math.isfinite(score):
        return -math.inf
    return -score if measure == "mse" else score


def _read(cell: Sequence[Mapping[str, Any]]) -> Chosen:
    single = {row["metric"]: row["value"] for row in cell if row["at"] is None}
    first = cell[0]
    measure = next(row["metric"] for row in cell if row["metric"] in ("mse", "accuracy"))
    scores = sorted((row["at"], row["value"]) for row in cell if row["metric"] == measure)
    clip = single.get("clip", math.inf)
    rated = first.get("param.learning_rates")
    return Chosen(
        method=first["method"],
        epsilon=first["epsilon"],
        delta=first["delta"],
        measure=measure,
        values=tuple(value for _, value in scores),
        validation=single["validation"],
        lot_size=first.get("param.lot_size"),
        clip=clip if math.isfinite(clip) else None,
        learning_rate=single["learning_rate"] if rated else None,
        sigma=single["sigma"],
        epochs=int(first.get("param.epochs") or 0),
        tried=int(single["tried"]),
        cell=first["cell"],
    )
