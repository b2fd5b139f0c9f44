"""What verbs are given: models, records of tables or of ``.npy`` files, shared options."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from dpscd.errors import DataError, ModelFileError, ParameterError
from dpscd.estimators.registry import MODELS
from dpscd.privacy.relation import Relation

if TYPE_CHECKING:
    from dpscd.preprocessing.stored_rows import StoredRows

LabelFiles = Annotated[
    list[str] | None,
    typer.Option("--labels", help="Labels of .npy files, one file for each of rows."),
]

BFloat16 = Annotated[
    bool, typer.Option("--bfloat16", help="The 16 bits (uint16) of .npy files are bfloat16.")
]

Delta = Annotated[
    float | None,
    typer.Option(
        help="Small extra probability in the bound; keep it far below 1/n.",
        show_default="min(1e-5, 1/(10 n))",
    ),
]

Neighbours = Annotated[Relation, typer.Option(help="Which tables count as neighbours.")]

_NAMES = [kind.name for kind in MODELS]
_AUDITED = [kind.name for kind in MODELS if kind.task != "counts"]

if TYPE_CHECKING:
    AuditedModel: TypeAlias = StrEnum
    TrainedModel: TypeAlias = StrEnum
else:
    TrainedModel = StrEnum("TrainedModel", {name.upper(): name for name in ["auto", *_NAMES]})
    AuditedModel = StrEnum("AuditedModel", {name.upper(): name for name in ["all", *_AUDITED]})

#: What is trained, and what is attacked, unless a model is named.
AUTO, ALL = TrainedModel("auto"), AuditedModel("all")


def load_model(path: Path) -> Any:
    """Return the checked model in a file."""
    from dpscd import load

    return load(path)


def load_table_model(path: Path) -> Any:
    """Return the model in a file, which must have a schema."""
    found = load_model(path)
    if not hasattr(found, "schema_"):
        raise ModelFileError(
            f"{path.name} holds an estimator without schema, which knows arrays only; give it "
            ".npy files, or load it in Python with dpscd.load."
        )
    return found


def load_array_model(path: Path) -> Any:
    """Return the model in a file, which must be a model of rows of numbers."""
    found = load_model(path)
    if hasattr(found, "schema_"):
        raise ModelFileError(
            f"{path.name} holds a model of tables, which reads CSV or Parquet by its schema, "
            "not .npy files."
        )
    return found


def are_arrays(data: Sequence[str]) -> bool:
    """Return whether files hold rows of numbers, by their names: .npy, or a folder of them."""
    found = [name.lower().endswith(".npy") or any(Path(name).glob("*.npy")) for name in data]
    if any(found) and not all(found):
        raise ParameterError("give files of tables or .npy files, not both.")
    return all(found)


def open_rows(data: Sequence[str], *, bfloat16: bool) -> "StoredRows":
    """Return the rows of files; only the headers are read."""
    from dpscd.preprocessing.stored_rows import StoredRows

    return StoredRows(list(data), bfloat16=bfloat16)


def open_labels(files: Sequence[str] | None, count: int) -> Any:
    """Return the concatenated labels of files, or raise ParameterError.

    The message shows neither a label nor their number.
    """
    import numpy as np

    from dpscd.preprocessing.stored_rows import map_array

    if not files:
        raise ParameterError("rows in .npy files need --labels: a .npy file with one each.")
    parts = [map_array(file) for file in files]
    if any(part.ndim != 1 for part in parts):
        raise ParameterError("--labels must be arrays with one dimension: one label per row.")
    # Texts are as wide as the longest label, which is a record's: only their kind counts.
    if len({"U" if part.dtype.kind == "U" else part.dtype for part in parts}) != 1:
        raise ParameterError("--labels must all be of one type: another would be rounded.")
    if sum(map(len, parts)) != count:
        raise ParameterError("--labels must have as many labels as there are rows.")
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def declared_classes(text: str) -> list[Any]:
    """Return the classes of a list of labels, or of their number: "3" is 0, 1 and 2."""
    labels = [label.strip() for label in text.split(",")]
    whole = all(label.removeprefix("-").isdecimal() for label in labels)
    if len(labels) == 1:
        if not whole or not 2 <= int(text) <= _MOST_CLASSES:
            raise ParameterError(
                f"--classes {text} must be a number from 2 to {_MOST_CLASSES}, which means the "
                "labels 0, 1, 2 and so on, or the labels with commas between."
            )
        return list(range(int(text)))
    return [int(label) for label in labels] if whole else list(labels)


_MOST_CLASSES = 100_000  # beyond, it is rather a label than a number of them


# --- to train on -----------------------------------------------------------------------------


def training_records(
    data: Sequence[str], table: Mapping[str, Any], array: Mapping[str, Any]
) -> "TrainingRecords":
    """Return the records of files, or raise ParameterError for options of the other kind.

    `table` and `array` are the options of both kinds; None where they are not given.
    """
    if are_arrays(data):
        _refuse(table, "files of a table, not with rows in .npy files")
        return _TrainingArrays(data, **array)
    _refuse(array, "rows in .npy files")
    return _TrainingTable(data, **table)


def _refuse(options: Mapping[str, Any], where: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"--{name.replace('_', '-')} goes with {where}.")


class _TrainingArrays:
    def __init__(
        self,
        data: Sequence[str],
        *,
        labels: Sequence[str] | None,
        classes: str | None,
        bounds: tuple[float, float] | None,
        row_bound: float | None,
        bfloat16: bool | None,
    ) -> None:
        if (classes is None) == (bounds is None):
            raise ParameterError(
                "give --classes with the classes of --labels, or --bounds with their lowest "
                "and highest number; one of both."
            )
        self._rows = open_rows(data, bfloat16=bool(bfloat16))
        self._labels = open_labels(labels, len(self._rows))
        self.classifies = classes is not None
        self.parameters: dict[str, Any] = {"y_bounds": bounds}
        if classes is not None:
            self.parameters = {"classes": declared_classes(classes)}
        if row_bound is not None:
            self.parameters["row_bound"] = row_bound

    def train(self, estimator: Any) -> Any:
        return estimator.fit(self._rows, self._labels)


class _TrainingTable:
    def __init__(
        self,
        data: Sequence[str],
        *,
        schema: Path | None,
        person: str | None,
        max_rows: int | None,
        person_weight: str | None,
        dask: str | None,
    ) -> None:
        from dpscd.preprocessing.schema import Schema

        if schema is None:
            raise ParameterError("a table needs --schema; dpscd schema init makes one.")
        known = Schema.read(schema)
        self.schema = known if person is None else known.with_person(person)
        self._data, self._dask = data, dask
        self.classifies = bool(known.target.classes)
        given = {"max_rows": max_rows, "person_weight": person_weight}
        self.parameters = {name: value for name, value in given.items() if value is not None}
        if self.parameters and self.schema.person is None:
            raise ParameterError(
                "--max-rows and --person-weight go with --person, or with person in the schema."
            )

    def train(self, estimator: Any) -> Any:
        from dpscd import TableModel

        model = TableModel(self.schema, estimator)
        if self._dask is None:
            return model.fit(self._data)
        with _cluster(self._dask, self._data) as records:
            return model.fit(records)


TrainingRecords: TypeAlias = _TrainingArrays | _TrainingTable


@contextmanager
def _cluster(address: str, data: Sequence[str]) -> Iterator[Any]:
    """Connect to a cluster and return the files as a table that its workers read."""
    if not all(file.lower().endswith((".parquet", ".pq")) for file in data):
        raise ParameterError("--dask reads Parquet files, which workers can share.")
    try:
        from dpscd.distributed.cluster import connected, parquet
    except ImportError:
        raise ParameterError(
            "--dask needs Dask; install it with: pip install 'dask[dataframe,distributed]'"
        ) from None
    with connected(address):
        yield parquet(data)


# --- to compare answers with ------------------------------------------------------------------


class Answers(NamedTuple):
    """Labels and predictions of records: a secret."""

    # codes of the classes, below 0 for unknown labels; or numbers, maybe not finite
    labels: Any
    predictions: Any  # encoded as `labels` are
    chances: Any = None  # probabilities, where the model has them
    # number of each record's person, below 0 if it has none; None if unknown
    persons: Any = None


def known_records(
    path: Path, data: str, labels: Sequence[str] | None, *, bfloat16: bool
) -> "KnownRecords":
    """Return records whose target is known, and the model in a file."""
    if are_arrays([data]):
        return _KnownArrays(path, data, labels, bfloat16=bfloat16)
    if labels or bfloat16:
        raise ParameterError("--labels and --bfloat16 go with rows in .npy files.")
    return _KnownTable(path, data)


class _KnownArrays:
    def __init__(
        self, path: Path, data: str, labels: Sequence[str] | None, *, bfloat16: bool
    ) -> None:
        self.model = load_array_model(path)
        rows = open_rows([data], bfloat16=bfloat16)
        #: Model, rows and labels: the arguments of :func:`dpscd.private_score`.
        self.records = self.model, rows, open_labels(labels, len(rows))

    @property
    def bounds(self) -> Any:
        """Bounds of the target of a regression, in its own unit."""
        return self.model.y_bounds

    def answers(self) -> Answers:
        """Return all answers with probabilities."""
        from dpscd.preprocessing.refusals import NO_RECORDS
        from dpscd.records.labels import ClassLabels, label_column, numbers_in

        model, rows, given = self.records
        if not len(rows):
            raise DataError(NO_RECORDS)
        column = label_column(given)
        if hasattr(model, "classes_"):
            labels = ClassLabels(tuple(model.classes_.tolist())).places(column)
        else:
            labels = numbers_in(column)
        chances = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
        return Answers(labels, model.predict(rows), chances)


class _KnownTable:
    def __init__(self, path: Path, data: str) -> None:
        self._whole = load_table_model(path)
        self.model = self._whole.estimator_
        self.records = self._whole, data, None

    @property
    def bounds(self) -> Any:
        return self._whole.target_bounds_

    def answers(self) -> Answers:
        """Return all answers with probabilities, reading records piece by piece."""
        import numpy as np

        from dpscd.estimators.table_answers import schema_chances
        from dpscd.preprocessing.identifiers import Numbering
        from dpscd.preprocessing.parsing import parse, used_columns
        from dpscd.preprocessing.reading import open_table
        from dpscd.preprocessing.refusals import NO_RECORDS
        from dpscd.progress import waiting

        schema = self._whole.schema_
        wanted = used_columns(schema, target=True, person=True)
        numbering = Numbering(schema.layout.missing)
        parts: list[Answers] = []
        with waiting("evaluating", sys.stderr):
            for frame in open_table(self.records[1], schema.layout).frames(wanted):
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


KnownRecords: TypeAlias = _KnownArrays | _KnownTable
