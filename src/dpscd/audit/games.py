"""Games on the public entrance: ``fit(X, y, sample_weight, groups)``, ``TableModel.fit``."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.audit.canaries import SATURATING_LAM, Game, row_weights
from dpscd.audit.evidence import Canaries
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.registry import kind_of
from dpscd.estimators.sources import Given
from dpscd.estimators.table import TableModel
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.relation import Relation
from dpscd.releases.base import Observer
from dpscd.releases.bounds import bin_counts, magnitude_limits

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# What n records may move a dual by in all. Standardised rows of canaries may be a hundredth of
# the longest row, and a dual then moves a hundred times as far as a contribution is long.
_TRAVEL = 1e-4


def saturating(n: int, *, rows: int | None = None, **chosen: Any) -> dict[str, Any]:
    """Return parameters that no claim depends on and that clip canaries' steps every time.

    Lots are a quarter of `n` records, or persons with `rows` each; `chosen` overrides or adds.
    """
    return {
        "delta": 1e-5,
        "n": n,
        "lot_size": max(1, n // 4),
        "epochs": 25,
        "lam": SATURATING_LAM,
        "travel": _TRAVEL / (n * (rows or 1)),
        "standardise": False,
        "fit_intercept": False,
        **chosen,
    }


@dataclass(frozen=True)
class EstimatorGame:
    """An estimator, and the records that it is fitted to."""

    name: str  # shown in results
    model: type[DPLinearModel]
    # as :func:`saturating` gives them; n defaults to the number of units of the game
    parameters: dict[str, Any] = field(default_factory=dict)
    canaries: int = 1000  # records, or persons, of a fit; so are `ordinary`
    ordinary: int = 100
    dense: bool = False  # whether X is an array; CSR if not
    classes: int = 2  # canaries are of the last class
    # Rows of a canary, if it is a person: rows come with groups, those of a person far from
    # each other. None if every row is a record by itself.
    person_rows: int | None = None

    @property
    def _game(self) -> Game:
        return Game(self.canaries, self.ordinary, person_rows=self.person_rows)

    @property
    def _regression(self) -> bool:
        return not kind_of(self.model).classifies

    def estimator(self, seed: int | None) -> DPLinearModel:
        """Return the estimator, unfitted."""
        given = saturating(
            **{"n": self._game.records, "rows": self.person_rows, **self.parameters}
        )
        own: dict[str, Any] = (
            {"y_bounds": (-1.0, 1.0)}
            if self._regression
            else {"classes": list(range(self.classes))}
        )
        estimator: DPLinearModel = self.model(**{**own, **given, "random_state": seed})
        return estimator

    def fit(self, present: Bools, seed: int | None, observer: Observer) -> DPLinearModel:
        """Fit the estimator to the records, with absent canaries as the relation requires."""
        estimator = self.estimator(seed)
        relation = Relation.parse(estimator.relation)
        data = self._game.dataset(present, relation, float(estimator.row_bound))
        y: Any = data.targets
        if not self._regression:
            # +1 is the last class; the others share what is -1.
            others = np.arange(len(y)) % (self.classes - 1)
            y = np.where(data.targets > 0.0, self.classes - 1, others)
        X = data.X.toarray() if self.dense else data.X
        order, groups = data.scattered, None
        if self.person_rows is not None:
            groups = data.groups[order]
        given = Given(data.weights[order], groups=groups)
        return estimator._fit(X[order], y[order], given, observer)

    def suspects(self, model: DPLinearModel) -> Canaries:
        """Return the canaries as they are given; of a person one row: all are alike."""
        relation = Relation.parse(model.relation)
        there = np.ones(self.canaries, dtype=bool)
        inner = 1.0 if self.classes == 2 else self.classes - 1.0
        labels = np.full(self.canaries, 1.0 if self._regression else inner)

        def rows(present: Bools) -> Any:
            data = self._game.dataset(present, relation, float(model.row_bound))
            X = data.X[data.starts[: self.canaries]]
            return X.toarray() if self.dense else X

        absent = (rows(~there), labels) if relation.absent == "other" else None
        weights = row_weights(model.privacy_.facts.persons, self.person_rows or 1)
        return Canaries(
            rows(there), labels, np.arange(self.canaries), absent, row_weights=weights
        )

    def model_scores(self, model: DPLinearModel) -> Floats:
        """Return the canaries' coefficients: those of their class, less those of the others."""
        coef = np.atleast_2d(model.coef_)[:, : self.canaries]
        signs = np.full((len(coef), 1), -1.0)
        signs[-1] = 1.0
        scores: Floats = (signs * coef).sum(axis=0)
        return scores


Record = dict[str, Any]

_LEVELS = (None, "", "zz", 10**30, -1, 2.5, True, "?", float("nan"), "1e2")
_NUMBERS = (
    3, "7.5", None, "999", 999, 1e300, -(10**400), "unknown", float("nan"), True, " 12 ", "?",
)  # fmt: skip
_FLAGS = ("yes", False, 1, "0", None, "perhaps", 2.0)
# Ordinary values of the column with private bounds, far beyond all canaries'.
_FAR = (2.0**40, -(2.0**40), str(2**41), None, -(2.0**41), "999", "much", 3e12)
_CLASSES = ("no", "yes", "no", "yes", "maybe", None)
_TARGETS = (1.0, -1.0, "1", "-1", 50, "?", None)
# The smallest and largest power of two of canaries' values in that column.
_POWERS = range(-16, 31)
# The column of persons, and the first of their numbers: no sentinel is among these.
_PERSON, _FIRST_PERSON = "who", 10_000


@dataclass(frozen=True)
class TableGame:
    """An estimator, a schema, and the table that they are fitted to, with cells of all kinds.

    Canaries stand between ordinary records whose cells include texts of numbers, sentinels,
    None and NaN, huge numbers, values out of bounds or not listed, and several types in one
    column. A canary has a level of a category, or a column of numbers, of its own; that cell is
    spelled in turn as text, whole number and float. Its other cells are missing, which is the
    middle of the bounds; numbers are lines, so its row has one entry.

    Where persons are the unit a column identifies them, spelled in turn like the canaries' own
    cells, and the rows of a person are not adjacent.
    """

    name: str  # shown in results
    model: type[DPLinearModel]
    # as :func:`saturating` gives them
    parameters: dict[str, Any] = field(default_factory=dict)
    canaries: int = 500  # canaries in a fit, and as many ordinary records, or persons
    # Whether a canary has a column of numbers of its own, which makes rows dense, rather than a
    # level of a category, which makes them sparse.
    columns: bool = False
    # whether a column has private bounds; then there are at most 94 canaries
    private: bool = False
    csv: bool = False  # whether the table is read from a CSV file
    # Bound of row length, 'normalise' or 'scale'. Normalised, a canary's entry is as long as
    # possible, which moments and a constant column require; scaled, it is shorter.
    rows: str = "normalise"
    # rows of a canary that is a person, named in a column; None for records
    person_rows: int | None = None
    door: Callable[..., Any] = TableModel  # what is fitted, given schema and estimator

    @property
    def _regression(self) -> bool:
        return not kind_of(self.model).classifies

    @property
    def _relation(self) -> Relation:
        return Relation.parse(self.parameters.get("relation", "zero-out"))

    @cached_property
    def schema(self) -> Schema:
        """The declared facts about the table."""
        columns: dict[str, Any] = {}
        if self.columns:
            own = {"kind": "number", "bounds": [-1000, 1000], "shape": "line"}
            columns |= {f"own {c}": own for c in range(self.canaries)}
        else:
            # From 1000 on: 999 means missing, and levels must not look like flags.
            levels = [str(1000 + c) for c in range(self.canaries)]
            columns["level"] = {"kind": "category", "values": levels}
        columns["number"] = {"kind": "number", "bounds": [0, 1000], "shape": "line"}
        columns["flag"] = {"kind": "boolean"}
        if self.private:
            columns["far"] = {"kind": "number", "bounds": "private", "shape": "line"}
        target: dict[str, Any] = {"column": "target", "classes": ["no", "yes"]}
        if self._regression:
            target = {"column": "target", "bounds": [-1, 1]}
        table: dict[str, Any] = {"missing": ["?", "999", "NA"], "rows": self.rows}
        if self.person_rows is not None:
            table["person"] = _PERSON
        return Schema.from_dict({"table": table, "target": target, "columns": columns})

    def table(self, present: Bools) -> pd.DataFrame:
        """Return the records: canaries, ordinary ones, and replacements of absent canaries."""
        names = [*(column.name for column in self.schema.columns), "target"]
        if self.person_rows is not None:
            names.append(_PERSON)
        records: list[Record] = []
        later: list[Record] = []
        for c, there in enumerate(present):
            canary, other = self._records(c, there=bool(there)), self._ordinary_records(c)
            for own, who in ((canary, c), (other, self.canaries + c)):
                for r, record in enumerate(own):
                    person = {_PERSON: self._spelled(_FIRST_PERSON + who, r)}
                    (later if r else records).append({**record, **person})
        records += later
        cells = {name: [record.get(name) for record in records] for name in names}
        return pd.DataFrame({name: pd.Series(x, dtype=object) for name, x in cells.items()})

    def fit(self, present: Bools, seed: int | None, observer: Observer) -> TableModel:
        """Fit the table as a user does."""
        given = saturating(
            **{"n": 2 * self.canaries, "rows": self.person_rows, **self.parameters}
        )
        estimator = self.model(**given, random_state=seed)
        model: TableModel = self.door(self.schema, estimator)
        table = self.table(present)
        if not self.csv:
            return model._fit(table, None, None, observer)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "table.csv"
            table.to_csv(file, index=False)
            return model._fit(file, None, None, observer)

    def suspects(self, model: TableModel) -> Canaries:
        """Return the canaries as rows of features, by the bounds that were released."""
        records = pd.DataFrame([self._canary(c) for c in range(self.canaries)])
        names = [column.name for column in self.schema.columns]
        rows = TableModel.transform(model, records.reindex(columns=names))
        labels = np.ones(self.canaries)
        absent = (rows, -labels) if self._relation.absent == "other" else None
        cells = None
        if self.private:
            places = [
                bin_counts([np.array([self._far(c)])], [magnitude_limits()]).argmax()
                for c in range(self.canaries)
            ]
            cells = np.array(places, dtype=np.int64)
        weights = row_weights(model.privacy_.facts.persons, self.person_rows or 1)
        return Canaries(rows, labels, np.arange(self.canaries), absent, cells, weights)

    def model_scores(self, model: TableModel) -> Floats:
        """Return the coefficients of the canaries' own features."""
        coef: Floats = np.ravel(model.estimator_.coef_)[: self.canaries]
        return coef

    def _records(self, c: int, *, there: bool) -> list[Record]:
        """Return the rows of a canary, or its replacement if it is absent."""
        own, most = self._canary(c), self.person_rows or 1
        if there:
            return [own] * most
        if self._relation.absent == "nothing":
            return []
        if self._relation.absent == "other":
            return [{**own, "target": -1 if self._regression else "no"}] * (1 + c % most)
        # What contributes nothing: an empty record, or those whose label is no class.
        keep = c % 2 == 0 and not self._regression and not self.private
        return [{**own, "target": "maybe"}] * most if keep else [{}]

    def _ordinary_records(self, c: int) -> list[Record]:
        return [self._ordinary(c + r) for r in range(1 + c % (self.person_rows or 1))]

    def _spelled(self, number: int, turn: int) -> Any:
        # In a file all cells are texts, and 1000.0 is neither the level nor the person 1000.
        return str(number) if self.csv else (str(number), number, float(number))[turn % 3]

    def _canary(self, c: int) -> Record:
        spelled = self._spelled(1000 if self.columns else 1000 + c, c)
        own: Record = {f"own {c}" if self.columns else "level": spelled}
        if self.private:
            own["far"] = self._far(c)
        return {**own, "target": "1" if self._regression else "yes"}

    def _far(self, c: int) -> float:
        """Return a value in a cell of its own of the histogram of magnitudes."""
        return float((-1.5 if c % 2 else 1.5) * 2.0 ** _POWERS[c // 2])

    def _ordinary(self, c: int) -> Record:
        own: Record = {} if self.columns else {"level": _LEVELS[c % len(_LEVELS)]}
        own["number"] = _NUMBERS[c % len(_NUMBERS)]
        own["flag"] = _FLAGS[c % len(_FLAGS)]
        own["far"] = _FAR[c % len(_FAR)]
        labels: tuple[Any, ...] = _TARGETS if self._regression else _CLASSES
        return {**own, "target": labels[c % len(labels)]}
