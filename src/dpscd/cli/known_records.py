"""Records whose target is known, and a model's answers for them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from dpscd.cli.arrays import are_arrays, load_array_model, open_labels, open_rows
from dpscd.cli.models import load_table_model

__all__ = ["Answers", "KnownRecords", "known_records"]


class Answers(NamedTuple):
    """Labels and predictions of records: a secret."""

    # codes of the classes, below 0 for unknown labels; or numbers, maybe not finite
    labels: Any
    predictions: Any  # encoded as `labels` are
    chances: Any = None  # probabilities, where the model has them
    # number of each record's person, below 0 if it has none; None if unknown
    persons: Any = None


class KnownRecords(Protocol):
    """Records with unread cells."""

    @property
    def model(self) -> Any:
        """The fitted estimator, without the table encoder."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the target of a regression, in its own unit."""

    @property
    def records(self) -> tuple[Any, Any, Any]:
        """The whole model, rows and labels: arguments of :func:`dpscd.private_score`."""

    def answers(self) -> Answers:
        """Return all answers with probabilities, reading records piece by piece."""


def known_records(
    path: Path, data: str, labels: Sequence[str] | None, *, bfloat16: bool
) -> KnownRecords:
    """Return records and the model in a file."""
    from dpscd.errors import ParameterError

    if are_arrays([data]):
        return _Arrays(load_array_model(path), data, labels, bfloat16=bfloat16)
    if labels or bfloat16:
        raise ParameterError("--labels and --bfloat16 go with rows in .npy files.")
    return _Table(load_table_model(path), data)


class _Arrays:
    """Rows and labels in ``.npy`` files."""

    def __init__(
        self, model: Any, data: str, labels: Sequence[str] | None, *, bfloat16: bool
    ) -> None:
        self.model = model
        self._rows = open_rows([data], bfloat16=bfloat16)
        self._labels = open_labels(labels, len(self._rows))

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.model.y_bounds
        return low, high

    @property
    def records(self) -> tuple[Any, Any, Any]:
        return self.model, self._rows, self._labels

    def answers(self) -> Answers:
        from dpscd.errors import DataError
        from dpscd.preprocessing.refusals import NO_RECORDS
        from dpscd.records.labels import ClassLabels, label_column, numbers_in

        if not len(self._rows):
            raise DataError(NO_RECORDS)
        column = label_column(self._labels)
        if hasattr(self.model, "classes_"):
            labels = ClassLabels(tuple(self.model.classes_.tolist())).places(column)
        else:
            labels = numbers_in(column)
        answers = Answers(labels, self.model.predict(self._rows))
        if not hasattr(self.model, "predict_proba"):
            return answers
        return answers._replace(chances=self.model.predict_proba(self._rows))


class _Table:
    """Files of a table, by the schema of its model."""

    def __init__(self, model: Any, data: str) -> None:
        self._whole, self._data = model, data
        self.model = model.estimator_

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self._whole.target_bounds_
        return low, high

    @property
    def records(self) -> tuple[Any, Any, Any]:
        return self._whole, self._data, None

    def answers(self) -> Answers:
        import numpy as np

        from dpscd.errors import DataError
        from dpscd.estimators.table_answers import schema_chances
        from dpscd.preprocessing.identifiers import Numbering
        from dpscd.preprocessing.parsing import parse, used_columns
        from dpscd.preprocessing.reading import read_frames
        from dpscd.preprocessing.refusals import NO_RECORDS
        from dpscd.progress import waiting

        schema = self._whole.schema_
        wanted = used_columns(schema, target=True, person=True)
        numbering = Numbering(schema.layout.missing)
        parts: list[Answers] = []
        with waiting("evaluating", sys.stderr):
            for frame in read_frames(self._data, schema.layout, wanted):
                named = schema.person in frame.columns
                parsed = parse(schema, frame, person=numbering if named else False)
                if len(parsed):
                    chances = None
                    if hasattr(self.model, "predict_proba"):
                        chances = schema_chances(self._whole, parsed)
                    found = self._whole.predict(parsed)
                    parts.append(Answers(parsed.target, found, chances, parsed.persons))
        if not parts:
            raise DataError(NO_RECORDS)
        every = zip(*parts, strict=True)
        return Answers(*(None if own[0] is None else np.concatenate(own) for own in every))
