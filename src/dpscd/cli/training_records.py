"""Training data of ``dpscd fit``: files of a table with its schema, or rows and labels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from dpscd.cli.arrays import are_arrays, declared_classes, open_labels, open_rows
from dpscd.errors import ParameterError

__all__ = ["ArrayOptions", "PersonWeight", "TableOptions", "TrainingRecords", "records_of"]


class PersonWeight(StrEnum):
    """Weight of a person's rows together."""

    SHARE = "share"
    SUM = "sum"


class TableOptions(NamedTuple):
    """Options of a table; None where they are not given."""

    schema: Path | None
    person: str | None
    max_rows: int | None
    person_weight: PersonWeight | None
    dask: str | None


class ArrayOptions(NamedTuple):
    """Options of rows in ``.npy`` files; None where they are not given."""

    labels: Sequence[str] | None
    classes: str | None
    bounds: tuple[float, float] | None
    row_bound: float | None
    bfloat16: bool | None


class TrainingRecords(Protocol):
    """Records with unread cells."""

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted, not numbers."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the estimator that the records imply."""

    def train(self, estimator: Any) -> Any:
        """Return the fitted model."""


def records_of(
    data: Sequence[str], table: TableOptions, array: ArrayOptions
) -> TrainingRecords:
    """Return the records of files, or raise ParameterError for options of the other kind."""
    if are_arrays(data):
        _refuse(table, "files of a table, not with rows in .npy files")
        return _Arrays(data, array)
    _refuse(array, "rows in .npy files")
    return _Table(data, table)


def _refuse(options: NamedTuple, where: str) -> None:
    for name, value in options._asdict().items():
        if value is not None:
            raise ParameterError(f"--{name.replace('_', '-')} goes with {where}.")


class _Arrays:
    """Rows and labels in ``.npy`` files."""

    def __init__(self, data: Sequence[str], options: ArrayOptions) -> None:
        if (options.classes is None) == (options.bounds is None):
            raise ParameterError(
                "give --classes with the classes of --labels, or --bounds with their lowest "
                "and highest number; one of both."
            )
        self._rows = open_rows(data, bfloat16=bool(options.bfloat16))
        self._labels = open_labels(options.labels, len(self._rows))
        self.classifies = options.classes is not None
        self.parameters: dict[str, Any] = {}
        if options.classes is not None:
            self.parameters["classes"] = declared_classes(options.classes)
        else:
            self.parameters["y_bounds"] = options.bounds
        if options.row_bound is not None:
            self.parameters["row_bound"] = options.row_bound

    def train(self, estimator: Any) -> Any:
        return estimator.fit(self._rows, self._labels)


class _Table:
    """Files of a table, by its schema."""

    def __init__(self, data: Sequence[str], options: TableOptions) -> None:
        from dpscd.preprocessing.schema import Schema

        if options.schema is None:
            raise ParameterError("a table needs --schema; dpscd schema init makes one.")
        known = Schema.read(options.schema)
        self.schema = known if options.person is None else known.with_person(options.person)
        self._data, self._dask = data, options.dask
        self.classifies = bool(known.target.classes)
        self.parameters = _of_persons(
            self.schema.person, options.max_rows, options.person_weight
        )

    def train(self, estimator: Any) -> Any:
        from dpscd import TableModel

        model = TableModel(self.schema, estimator)
        if self._dask is None:
            return model.fit(self._data)
        with _cluster(self._dask, self._data) as records:
            return model.fit(records)


def _of_persons(
    person: str | None, max_rows: int | None, weight: PersonWeight | None
) -> dict[str, Any]:
    """Return the parameters of persons that were given, or raise ParameterError."""
    given = {"max_rows": max_rows, "person_weight": weight and weight.value}
    given = {name: value for name, value in given.items() if value is not None}
    if given and person is None:
        raise ParameterError(
            "--max-rows and --person-weight go with --person, or with person in the schema."
        )
    return given


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
