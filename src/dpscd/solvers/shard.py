"""A shard of the records: rows and duals stay there, only exact sums are returned."""

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import WorkerError
from dpscd.kernels.dual import Records
from dpscd.kernels.lots import add_lot
from dpscd.kernels.pack import Pack, empty_pack
from dpscd.kernels.packed import add_packed_lot
from dpscd.kernels.persons import Persons
from dpscd.kernels.rows import Rows
from dpscd.persons import PersonFacts, PersonRows
from dpscd.privacy.random import LotsSource
from dpscd.problem import DeferredRows, Floats, Problem, rows_of
from dpscd.releases.base import Query, Residuals, inner_labels, sum_over
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import Damping
from dpscd.solvers.threads import fill_deferred

Ints = npt.NDArray[np.int64]
Total = npt.NDArray[Any]


class Read(NamedTuple):
    """Records that were read, as a query sees them."""

    X: Any = None
    labels: Any = None
    weights: Any = None
    persons: PersonRows | None = None
    columns: Sequence[Floats] = ()

    @property
    def training_weights(self) -> Floats:
        """Weight of each row in training."""
        return cast(Floats, self.weights) if self.persons is None else self.persons.weights


class Part(Protocol):
    """Stored records that can be read repeatedly."""

    @property
    def count(self) -> int | None:
        """Number of rows, if it is known without reading them."""

    def load(self) -> Any:
        """Return the records as they are stored."""


class Reader(Protocol):
    """Turns stored records into rows, labels and weights; it holds public facts only."""

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "Reader":
        """Return the reader with released bounds of columns."""

    @property
    def persons(self) -> PersonFacts | None:
        """Public facts about persons, if they are the unit of privacy."""

    def count(self, part: Any) -> int:
        """Return the number of persons, or of records."""

    def keys(self, part: Any, key: bytes) -> Ints:
        """Return a keyed hash of every person's identifier, two whole numbers each."""

    def columns(self, part: Any) -> tuple[Sequence[Floats], PersonRows | None]:
        """Return the values of the columns whose bounds are not declared, and their persons."""

    def records(self, part: Any) -> Any:
        """Return rows, labels in the user's units, weights, and the rows of each person."""


# Of the memory that a shard has: what rows as they were read may take, from which size
# packed rows and duals are kept on disk, and how much of those is looked at in one go.
_KEPT, _PACKED, _PIECE = 0.25, 0.25, 0.125


class _Training(NamedTuple):
    """State of a training; the duals are the shard's most secret part."""

    problem: Problem
    plan: Training
    lots: LotsSource
    start: int
    dual: Floats
    rows: Pack | tuple[Rows, Records]
    damping: Damping
    persons: Persons | None


class _OnDisk:
    """Memory in an unnamed file that is deleted when it is no longer used."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def bytes(self, size: int) -> npt.NDArray[np.uint8]:
        """Return `size` bytes, zero at first."""
        with tempfile.TemporaryFile(dir=self._folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a full disk is noticed here
            else:  # macOS
                file.truncate(size)
            area = mmap.mmap(file.fileno(), size)
        self._maps.append(area)
        return np.frombuffer(area, dtype=np.uint8)

    def forget(self) -> None:
        """Drop the pages from memory; the disk keeps what was written."""
        for area in self._maps:
            area.madvise(mmap.MADV_DONTNEED)


class Shard:
    """Records of consecutive numbers, as a training uses them.

    `parts` are read when needed, one after another. `room` limits memory in bytes, beyond which
    packed rows and duals are kept in `folder`; None is no limit.

    Guarantee: every method returns a sum over records, exact and not yet noisy, a number of
    records, keyed hashes of persons' identifiers, or nothing.
    Requires: the receiver of the sums is trusted with them, and adds noise once.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        reader: Reader,
        room: int | None = None,
        folder: str | None = None,
    ) -> None:
        self._parts = parts
        self._reader = reader
        self._room, self._folder = room, folder
        self._kept: list[Read] | None = None
        self._counts: list[int] | None = None  # of units: persons, or records
        self._sizes: list[int] | None = None  # of rows
        self._training: _Training | None = None
        self._done = 0
        self._so_far: Ints = np.empty(0, np.int64)
        self._disk: _OnDisk | None = None

    def read_with(self, reader: Reader) -> None:
        """Take another reader: one that knows released bounds."""
        self._reader, self._kept = reader, None

    def count(self) -> int:
        """Return the number of persons, or of records."""
        if self._counts is None:
            known = self._reader.persons is None
            self._counts = [
                part.count
                if known and part.count is not None
                else self._reader.count(part.load())
                for part in self._parts
            ]
        return sum(self._counts)

    def keys(self, key: bytes) -> Ints:
        """Return a keyed hash of every person's identifier, by which others compare them.

        Guarantee: an identifier does not leave. The holder of the key can try identifiers.
        """
        found = [self._reader.keys(part.load(), key) for part in self._parts]
        return np.concatenate([np.empty((0, 2), np.int64), *found])

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over the records here."""
        if query.reads_columns:
            return sum_over(query, map(self._columns, self._parts))
        return sum_over(query, self._records())

    def begin(
        self, problem: Problem, plan: Training, lots: LotsSource, start: int, count: int,
        residuals: Residuals | None,
    ) -> None:  # fmt: skip
        """Prepare the first step of a training from record number `start` on, duals being 0.

        Guarantee: no number, hence no bit, of a record here is that of another shard's: there
        are still `count` persons, or records, as at first reading.
        """
        self._training, self._disk = None, None
        if self.count() != count:
            raise WorkerError("a part has another number of records than before.")
        if self._reader.sparse or not plan.fixed_point:
            rows: Pack | tuple[Rows, Records]
            stacked, records, persons = self._stacked(problem, residuals)
            rows = (stacked, records)
            dual = np.zeros((len(records.labels), problem.outputs))
        else:
            rows, dual, persons = self._packed(problem, residuals)
        self._training = _Training(
            problem, plan, lots, start, dual, rows, Damping(plan), persons
        )
        self._done = 0
        self._so_far = np.zeros((problem.outputs, problem.width), np.int64)

    def step(self, number: int, shared: Floats) -> Total:
        """Run a step and return the sum of contributions of the lot's members here, in cells.

        Guarantee: the duals are those of a shard that did every earlier step once, with the
        shared vectors it was given then; another order of steps is refused.
        """
        if self._training is None or number != self._done:
            raise WorkerError("a step was asked for out of turn.")
        problem, plan, lots, start, dual, rows, damping, persons = self._training
        shared = np.array(shared)  # one that was sent is read-only: another compiled kernel
        units = len(dual) if persons is None else len(persons.turns)
        ids = plan.lots.members(lots, number, start, start + units) - start
        packed = isinstance(rows, Pack)
        constants = plan.constants(problem.strength, fixed_point=packed)
        constants = constants._replace(separability=damping.before(number, shared))
        if isinstance(rows, Pack):
            total: Total = np.zeros((problem.outputs, rows.padded), np.int64)
            own = () if persons is None else (persons,)
            for piece in self._pieces(ids, rows, persons):
                add_packed_lot(problem.loss, rows, constants, piece, dual, shared, total, *own)
                if self._disk is not None:
                    self._disk.forget()
            total = total[:, : rows.width].copy()
        else:
            total = np.zeros((problem.outputs, problem.width))
            add_lot(problem.loss, *rows, constants, ids, dual, shared, total, persons)
        self._done += 1
        self._so_far += total.astype(np.int64)
        return total

    def replay(self, first: int, path: Floats) -> Ints:
        """Run the steps from `first` on again; return the sum of all so far, modulo 2^64."""
        for i, shared in enumerate(path):
            self.step(first + i, shared)
        return self._so_far.copy()

    def _records(self) -> Iterator[Read]:
        """Yield the records part by part; keep them if they are few."""
        if self._kept is not None:
            yield from self._kept
            return
        self.count()
        kept: list[Read] | None = []
        size = 0
        sizes = []
        for part, count in zip(self._parts, cast(list[int], self._counts), strict=True):
            read = Read(*self._reader.records(part.load()))
            rows = int(read.X.shape[0])
            units = rows if read.persons is None else read.persons.count
            if {rows, len(read.labels), len(read.weights)} != {rows} or units != count:
                raise WorkerError("a part has another number of records than before.")
            sizes.append(rows)
            size += sum(map(_size, read[:3]))
            if kept is not None and self._fits(size, _KEPT):
                kept.append(read)
            else:
                kept = None
            yield read
        if self._sizes not in (None, sizes):
            raise WorkerError("a part has another number of records than before.")
        self._kept, self._sizes = kept, sizes

    def _columns(self, part: Part) -> Read:
        columns, persons = self._reader.columns(part.load())
        return Read(columns=columns, persons=persons)

    def _rows(self) -> int:
        """Return the number of rows."""
        if self._reader.persons is None:
            return self.count()
        if self._sizes is None:
            for _ in self._records():
                pass
        return sum(cast(list[int], self._sizes))

    def _fits(self, size: int, share: float) -> bool:
        return self._room is None or size <= share * self._room

    def _packed(
        self, problem: Problem, residuals: Residuals | None
    ) -> tuple[Pack, Floats, Persons | None]:
        count = self._rows()
        tail = problem.constant / problem.scale
        small = empty_pack(1, problem.d, tail)
        size = count * (small.cells.strides[0] + 8 * problem.outputs)
        memory_of: Callable[[int], Any] = partial(np.zeros, dtype=np.uint8)
        if not self._fits(size, _PACKED):
            self._disk = _OnDisk(self._folder)
            memory_of = self._disk.bytes
        pack = empty_pack(count, problem.d, tail, memory_of)
        dual = memory_of(max(1, 8 * count * problem.outputs))
        at = 0
        found = []
        for read in self._records():
            rows = DeferredRows(problem, read.X)
            inner = inner_labels(problem, residuals, rows, read.labels)
            own = slice(at, at + rows.count)
            place = pack._replace(cells=pack.cells[own], state=pack.state[own])
            fill_deferred(rows, Records(inner, read.training_weights), place)
            found.append(read.persons)
            at = own.stop
            if self._disk is not None:
                self._disk.forget()
        own_dual = dual[: 8 * count * problem.outputs].view(np.float64)
        return pack, own_dual.reshape(count, problem.outputs), self._drawn(found)

    def _drawn(self, found: Sequence[PersonRows | None]) -> Persons | None:
        """Return the persons of all parts for a kernel: no two parts share one."""
        if self._reader.persons is None:
            return None
        sizes = [np.diff(own.starts) for own in found if own is not None]
        starts = np.concatenate([np.zeros(1, np.int64), *sizes]).cumsum()
        return PersonRows(starts, np.empty(0), self._reader.persons.most).drawn()

    def _stacked(
        self, problem: Problem, residuals: Residuals | None
    ) -> tuple[Rows, Records, Persons | None]:
        parts = list(self._records())
        if self._reader.sparse:
            empty = sparse.csr_array((0, problem.d), dtype=np.float32)
            X = sparse.vstack([empty, *(part.X for part in parts)], format="csr")
        else:
            X = np.concatenate([np.empty((0, problem.d), np.float32), *(x.X for x in parts)])
        labels = np.concatenate([np.empty(0), *(part.labels for part in parts)])
        weights = np.concatenate([np.empty(0), *(part.training_weights for part in parts)])
        rows = problem.rows(X)
        inner = inner_labels(problem, residuals, rows_of(problem, X), labels)
        return rows, Records(inner, weights), self._drawn([part.persons for part in parts])

    def _pieces(self, ids: Ints, pack: Pack, persons: Persons | None = None) -> Iterator[Ints]:
        """Yield the members of a lot in pieces that are near each other on disk."""
        if self._disk is None or self._room is None:
            yield ids
            return
        records = max(1, int(_PIECE * self._room) // pack.cells.strides[0])
        ends = np.arange(records, len(pack.cells) + records, records)
        places = ids if persons is None else persons.starts[ids]
        yield from np.split(ids, np.searchsorted(places, ends[:-1]))


def _size(array: Any) -> int:
    """Return the bytes of an array or of a sparse matrix."""
    if hasattr(array, "indptr"):
        return sum(part.nbytes for part in (array.data, array.indices, array.indptr))
    return int(array.nbytes)
