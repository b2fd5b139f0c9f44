"""Fits as users call them, and one training by itself, attacked by all that they release."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path as File
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpscd.audit.audit import Bools, Floats, Statistic, World
from dpscd.audit.canaries import (
    SATURATING_LAM,
    Path,
    Population,
    Suspects,
    Walk,
    evidence,
    path_ratios,
    row_weights,
)
from dpscd.errors import ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.table import TableModel
from dpscd.kernels.dual import Records
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.records.opening import Given
from dpscd.releases.bounds import bin_counts, magnitude_limits
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import dp_scd

# What n records may move a dual by in all. Standardised rows of canaries may be a hundredth of
# the longest row, and a dual then moves a hundred times as far as a contribution is long.
_TRAVEL = 1e-4


@dataclass(frozen=True)
class TrainingCase:
    """One training of records, perhaps wrong on purpose, without an estimator around it."""

    training: Training
    population: Population
    name: str = "training"
    # what is read from the path; None: the likelihood ratio
    statistic: Callable[[Walk], Floats] | None = None

    stream: ClassVar[str] = "audit {seed}, {name}, run"

    @property
    def canaries(self) -> int:
        """Canaries of a run."""
        return self.population.canaries

    @property
    def person_rows(self) -> None:
        """Canaries are records."""

    def trial(self, world: World) -> tuple[PrivacyTarget, list[Statistic]]:
        """Train on the records of a world, and look at the path."""
        training, path = self.training, Path()
        problem = training.facts.problem(training.lam)
        data = self.population.dataset(world.present, training.relation, problem.row_bound)
        records = Records(data.targets, data.weights)
        rows = problem.rows(data.X)
        dp_scd(problem, training, rows, records, world.source, observer=path)
        (walk,) = path.walks
        if self.statistic is not None:
            return training.target, [Statistic("path", self.statistic(walk))]
        labels = np.ones(self.canaries)
        suspects = self.population.suspects(training.relation, problem.row_bound, labels)
        return training.target, [Statistic("path", path_ratios(walk, suspects)[""])]


def saturated(
    estimator: DPLinearModel, n: int, rows: int | None, seed: int | None
) -> DPLinearModel:
    """Return an unfitted copy with public numbers that clip every step of the canaries."""
    given = estimator.get_params(deep=False)
    if not given["epsilon"] < np.inf:
        raise ParameterError("epsilon=inf claims no privacy; there is nothing to audit.")
    if estimator.kind.task == "counts":
        raise ParameterError("counts cannot be audited: a canary's label is -1 or 1.")
    given.update(
        n=given["n"] or n,
        lam=SATURATING_LAM * given["row_bound"] ** 2,
        travel=_TRAVEL / (n * (rows or 1)),
        ledger=None,  # an attack on made-up records spends nobody's budget
        dataset=None,
        verbose=0,
        random_state=seed,
    )
    return type(estimator)(**given)


@dataclass(frozen=True)
class FitCase:
    """``fit(X, y, sample_weight, groups)`` of an estimator, on canaries and other records.

    Audited is the claim of its card; what only saturates canaries is chosen by the audit.
    """

    estimator: DPLinearModel
    name: str = "fit"
    canaries: int = 1000  # records, or persons, of a fit; so are `ordinary`
    ordinary: int = 100
    dense: bool = False  # whether X is an array; CSR if not
    # Rows of a canary, if it is a person: rows come with groups, those of a person far from
    # each other. None if every row is a record by itself.
    person_rows: int | None = None

    stream: ClassVar[str] = "front door {seed}, {name}, fit"

    def __post_init__(self) -> None:
        persons = self.person_rows is not None
        if (
            hasattr(self.estimator, "fit_")
            and self.estimator.privacy_.protected.is_person != persons
        ):
            raise ParameterError(
                f"person_rows={self.person_rows!r} does not go with the card of the estimator, "
                f"which protects {'records' if persons else 'persons'}."
            )

    @property
    def _population(self) -> Population:
        return Population(self.canaries, self.ordinary, person_rows=self.person_rows)

    def trial(self, world: World) -> tuple[PrivacyTarget, list[Statistic]]:
        """Fit the estimator to the records of a world, and look at all that is released."""
        population = self._population
        rows = self.person_rows
        model = saturated(self.estimator, population.records, rows, world.seed)
        relation, row_bound = Relation.parse(model.relation), float(model.row_bound)
        data = population.dataset(world.present, relation, row_bound)
        y, last = data.targets, 1
        if model.kind.classifies:
            # +1 is the last class; the others share what is -1.
            last = 1 if model.classes is None else len(model.classes) - 1
            model.set_params(classes=list(range(last + 1)), class_weight=None)
            y = np.where(y > 0.0, last, np.arange(len(y)) % last)
        else:
            model.set_params(y_bounds=(-1.0, 1.0))
        X = data.X.toarray() if self.dense else data.X
        order, path = data.scattered, Path()
        groups = None if rows is None else data.groups[order]
        model._fit(X[order], y[order], Given(data.weights[order], groups=groups), path)
        labels = np.full(self.canaries, float(last))
        suspects = replace(
            population.suspects(relation, row_bound, labels, dense=self.dense),
            weights=row_weights(model.privacy_.facts.persons, rows or 1),
        )
        # Its own coefficients of its class, less those of the others.
        coef = np.atleast_2d(model.coef_)[:, : self.canaries]
        alone = coef[-1] - coef[:-1].sum(axis=0)
        return model.privacy_.target, evidence(model.fit_, path, suspects, alone)


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
class TableCase:
    """``TableModel.fit(table)`` of an estimator and a schema, with cells of all kinds.

    Canaries stand between ordinary records whose cells are of every kind that a table may have.
    A canary has a level of a category, or a column of numbers, of its own, spelled in turn as
    text, whole number and float; its other cells are missing, so its row has one entry. So is
    the column spelled that identifies persons, whose rows are not adjacent.
    """

    estimator: DPLinearModel
    name: str = "table"
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

    stream: ClassVar[str] = FitCase.stream

    @property
    def _regression(self) -> bool:
        return not self.estimator.kind.classifies

    @property
    def _absent(self) -> str:
        return Relation.parse(self.estimator.relation).absent

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
        first: list[Record] = []
        later: list[Record] = []
        for c, there in enumerate(present):
            others = [self._ordinary(c + r) for r in range(1 + c % (self.person_rows or 1))]
            canary = self._records(c, there=bool(there))
            for own, who in ((canary, c), (others, self.canaries + c)):
                for r, record in enumerate(own):
                    person = {_PERSON: self._spelled(_FIRST_PERSON + who, r)}
                    (later if r else first).append({**record, **person})
        cells = {name: [record.get(name) for record in (*first, *later)] for name in names}
        return pd.DataFrame({name: pd.Series(x, dtype=object) for name, x in cells.items()})

    def trial(self, world: World) -> tuple[PrivacyTarget, list[Statistic]]:
        """Fit the table of a world as a user does, and look at all that is released."""
        ready = saturated(self.estimator, 2 * self.canaries, self.person_rows, world.seed)
        model, path = self.door(self.schema, ready), Path()
        table = self.table(world.present)
        if self.csv:
            with tempfile.TemporaryDirectory() as folder:
                file = File(folder) / "table.csv"
                table.to_csv(file, index=False)
                model._fit(file, None, None, path)
        else:
            model._fit(table, None, None, path)
        coef = np.ravel(model.estimator_.coef_)[: self.canaries]
        return model.privacy_.target, evidence(model.fit_, path, self._suspects(model), coef)

    def _suspects(self, model: TableModel) -> Suspects:
        """Return the canaries as rows of features, by the bounds that were released."""
        records = pd.DataFrame([self._canary(c) for c in range(self.canaries)])
        names = [column.name for column in self.schema.columns]
        rows = TableModel.transform(model, records.reindex(columns=names))
        labels = np.ones(self.canaries)
        absent = (rows, -labels) if self._absent == "other" else None
        cells = None
        if self.private:
            values = [np.array([self._far(c)]) for c in range(self.canaries)]
            cells = np.array([bin_counts([x], [magnitude_limits()]).argmax() for x in values])
        weights = row_weights(model.privacy_.facts.persons, self.person_rows or 1)
        return Suspects(rows, labels, absent, cells, weights)

    def _records(self, c: int, *, there: bool) -> list[Record]:
        """Return the rows of a canary, or its replacement if it is absent."""
        own, most = self._canary(c), self.person_rows or 1
        if there:
            return [own] * most
        if self._absent == "nothing":
            return []
        if self._absent == "other":
            return [{**own, "target": -1 if self._regression else "no"}] * (1 + c % most)
        # What contributes nothing: an empty record, or those whose label is no class.
        keep = c % 2 == 0 and not self._regression and not self.private
        return [{**own, "target": "maybe"}] * most if keep else [{}]

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
