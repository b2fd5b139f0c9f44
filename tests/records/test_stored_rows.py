"""Rows that stay as they are stored: what is read, what is refused, and equal fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd import DataError, DataTypeError, DPLogisticRegression, DPRidge, RowScaler, StoredRows
from dpscd.records import refusals, stored_rows
from dpscd.records.labels import ClassLabels
from dpscd.records.rows import RowReader, open_rows
from dpscd.solvers import local
from refits import with_numbers

HALVES = np.arange(2**16, dtype=np.uint16)  # the bits of every number of 16 bits


def bits_of(rows):
    """Return the bits of bfloat16 numbers that are exactly those of float32 rows."""
    bits = rows.view(np.uint32)
    assert not (bits & 0xFFFF).any()
    return (bits >> 16).astype(np.uint16)


def cut(rows):
    """Return float32 rows that bfloat16 holds exactly."""
    return (np.ascontiguousarray(rows, np.float32).view(np.uint32) & 0xFFFF0000).view(
        np.float32
    )


def embeddings(count=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = cut(rng.uniform(-0.4, 0.4, size=(count, d))).astype(np.float16).astype(np.float32)
    return cut(X), (X[:, 0] > 0).astype(np.int64)


@pytest.fixture
def saved(tmp_path):
    def save(**arrays):
        for name, array in arrays.items():
            np.save(tmp_path / f"{name}.npy", array)
        return tmp_path

    return save


# --- what is read -----------------------------------------------------------------------


def test_every_bfloat16_is_the_upper_half_of_a_float32():
    read = StoredRows(HALVES[:, None], bfloat16=True)[:]
    assert read.dtype == np.float32
    sign, exponent, fraction = HALVES >> 15, (HALVES >> 7) & 0xFF, HALVES & 0x7F
    usual = (exponent > 0) & (exponent < 255)
    expected = np.ldexp(1.0 + fraction / 128.0, exponent.astype(int) - 127)
    expected *= np.where(sign == 1, -1.0, 1.0)
    np.testing.assert_array_equal(read[usual, 0], expected[usual])
    assert np.isnan(read[(exponent == 255) & (fraction > 0), 0]).all()
    assert np.isinf(read[(exponent == 255) & (fraction == 0), 0]).all()
    small = np.ldexp(fraction / 128.0, -126) * np.where(sign == 1, -1.0, 1.0)
    np.testing.assert_array_equal(read[exponent == 0, 0], small[exponent == 0])


def test_every_float16_is_read_as_it_is():
    stored = HALVES.view(np.float16)[:, None]
    read = StoredRows(stored)[:]
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, stored.astype(np.float64))


@pytest.mark.parametrize("kind", ["int16", "V2"])
def test_bits_of_bfloat16_by_other_names(kind, saved):
    X, _ = embeddings()
    folder = saved(x=bits_of(X).view(kind))
    np.testing.assert_array_equal(StoredRows(folder / "x.npy", bfloat16=True)[:], X)


@pytest.mark.parametrize(
    ("kinds", "read_as"),
    [
        (["float16", "float32"], "float32"),
        (["float16", "float64"], "float64"),
        (["uint8"], "float64"),
        (["bool", "float32"], "float64"),
        ([">f2"], "float32"),
        ([">f4", "longdouble"], "float64"),
    ],
)
def test_the_type_follows_from_those_of_the_files(kinds, read_as):
    whole = np.eye(4)
    rows = StoredRows([whole.astype(kind) for kind in kinds])
    assert rows.dtype == rows[:].dtype == np.asarray(rows).dtype == read_as
    np.testing.assert_array_equal(rows[:], np.concatenate([whole] * len(kinds)))


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    first=st.integers(-12, 12),
    last=st.integers(-12, 12),
    step=st.sampled_from([None, 1, 2, -1]),
    data=st.data(),
)
def test_rows_of_several_arrays_are_one_after_the_other(lengths, first, last, step, data):
    whole = np.arange(2.0 * sum(lengths)).reshape(-1, 2).astype(np.float16)
    rows = StoredRows(np.split(whole, np.cumsum(lengths)[:-1]))
    assert rows.shape == whole.shape
    assert len(rows) == len(whole)
    chosen = slice(first, last, step)
    np.testing.assert_array_equal(rows[chosen], whole[chosen])
    assert rows[chosen].flags.c_contiguous
    if len(whole):
        order = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=7))
        np.testing.assert_array_equal(rows[np.array(order, int)], whole[order])


def test_a_folder_is_its_files_by_name(saved):
    X, _ = embeddings()
    folder = saved(b=X[100:].astype(np.float16), a=X[:100])
    (folder / "notes.txt").write_text("no array")
    np.testing.assert_array_equal(StoredRows(folder)[:], X)
    both = [str(folder / "a.npy"), folder / "b.npy"]
    np.testing.assert_array_equal(StoredRows(both)[:], X)


def test_a_mapped_file_in_single_precision_is_not_copied(saved):
    X, _ = embeddings()
    mapped = np.load(saved(x=X) / "x.npy", mmap_mode="r")
    assert np.shares_memory(StoredRows(mapped)[5:9], mapped)


# --- what is refused --------------------------------------------------------------------


@pytest.mark.parametrize("how", ["text", "empty", "cut", "objects", "several"])
def test_what_is_no_array_is_refused(how, saved):
    folder = saved(x=np.ones((100, 10)))
    path = folder / "x.npy"
    if how == "text":
        path.write_text("canary 1,2")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    elif how == "objects":  # which are not unpickled
        saved(x=np.array([[{"a": 1}]], dtype=object))
    else:
        np.savez(folder / "more.npz", a=np.ones(2))
        path.write_bytes((folder / "more.npz").read_bytes())
    with pytest.raises(DataTypeError) as error:
        StoredRows(path)
    assert str(error.value) == refusals.NOT_AN_ARRAY.format("x.npy")
    assert error.value.__context__ is None


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        StoredRows(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("stored", "options", "words"),
    [
        (np.ones(3), {}, "dim 1, while dim 2"),
        (np.ones((2, 2), complex), {}, "Complex data"),
        (np.array([["a"]]), {}, "must be numbers; these are <U1"),
        (np.zeros((1, 2), "V2"), {}, "bfloat16=True"),
        (np.ones((2, 2), np.float16), {"bfloat16": True}, "16 bits .uint16.; these are float"),
        ([np.ones((2, 2)), np.ones((2, 3))], {}, "as many columns"),
        ([], {}, "no .npy files"),
        (7, {}, "stored rows are arrays, or paths"),
    ],
)
def test_other_containers_are_refused(stored, options, words):
    with pytest.raises(DataError, match=words):
        StoredRows(stored, **options)


@pytest.mark.parametrize("where", [0, 7, 9])
def test_a_cell_that_is_no_number_is_refused_wherever_it_is(where, monkeypatch):
    monkeypatch.setattr(stored_rows, "_BLOCK", 3)
    X = np.ones((10, 2), np.float16)
    assert open_rows(X).read(stored=True).all_finite()
    X[where, 1] = np.inf
    for given_rows in (X, StoredRows(X)):
        with pytest.raises(DataTypeError) as error:
            open_rows(given_rows).read(stored=True)
        assert str(error.value) == refusals.NOT_NUMBERS


# --- the same fit -----------------------------------------------------------------------


def kept(X):
    """Return equal rows as they may be stored."""
    return {
        "float64": X.astype(np.float64),
        "float16": X.astype(np.float16),
        "float16, by columns": np.asfortranarray(X, np.float16),
        "bfloat16": StoredRows(bits_of(X), bfloat16=True),
        "several": StoredRows([X[:50], X[50:51].astype(np.float16), X[51:]]),
    }


@pytest.mark.parametrize("epsilon", [1.0, np.inf])
@pytest.mark.parametrize("standardise", [False, True])
def test_a_fit_does_not_depend_on_how_rows_are_stored(epsilon, standardise, monkeypatch):
    monkeypatch.setattr(local, "_BLOCK", 64)  # sums are exact, whatever is added at once
    X, y = embeddings()
    model = DPLogisticRegression(
        epsilon, classes=[0, 1], standardise=standardise, random_state=1
    )
    expected = model.fit(X, y).coef_.copy()
    chances = model.predict_proba(X)
    for name, rows in kept(X).items():
        np.testing.assert_array_equal(model.fit(rows, y).coef_, expected, name)
        np.testing.assert_array_equal(model.predict_proba(rows), chances, name)
        assert model.score(rows, y) == np.mean(model.predict(X) == y)
        assert model.n_features_in_ == X.shape[1]


@pytest.mark.full
def test_a_regression_with_a_pilot_does_not_depend_on_it_either(monkeypatch):
    monkeypatch.setattr(local, "_BLOCK", 512)
    X, _ = embeddings(4000)
    y = X[:, 0] - X[:, 1]
    model = DPRidge(4.0, y_bounds=(-1, 1), random_state=1)
    expected = model.fit(X, y).coef_.copy()
    released = [release.what for release in model.privacy_.releases]
    assert released.count("shared vector") == 2
    assert {"moments", "long rows", "rescaling"} <= set(released)
    for name, rows in kept(X).items():
        np.testing.assert_array_equal(model.fit(rows, y).coef_, expected, name)


@pytest.mark.full
@pytest.mark.parametrize("longest", [np.inf, 0.4])
def test_predictions_that_cut_long_rows_do_not_either(longest, monkeypatch):
    monkeypatch.setattr("dpscd.estimators.regression.BLOCK", 1000)
    X, _ = embeddings(4000)
    model = DPRidge(4.0, y_bounds=(-1, 1), random_state=1).fit(X, X[:, 0] - X[:, 1])
    model = with_numbers(model, longest_row=longest)
    expected = model.predict(X)
    for name, rows in kept(X).items():
        np.testing.assert_array_equal(model.predict(rows), expected, name)


@pytest.mark.full
@pytest.mark.parametrize("together", [True, False])
def test_persons_neither(together):
    X, y = embeddings()
    persons = np.arange(300) // 3 if together else np.arange(300) % 100
    model = DPLogisticRegression(classes=[0, 1], random_state=1)
    expected = model.fit(X, y, groups=persons).coef_.copy()
    for name, rows in kept(X).items():
        found = model.fit(rows, y, groups=persons).coef_
        np.testing.assert_array_equal(found, expected, name)


def test_a_partition_is_read_whole():
    X, y = embeddings()
    reader = RowReader(ClassLabels((0, 1)), X.shape[1], False)
    read = reader.records([X.astype(np.float16), y, None, None, None])
    assert isinstance(read.X, np.ndarray)
    np.testing.assert_array_equal(read.X, X)


def test_other_transformers_read_stored_rows():
    X, _ = embeddings()
    scaler = RowScaler(normalise=True)
    expected = scaler.fit_transform(X)
    for name, rows in kept(X).items():
        np.testing.assert_array_equal(scaler.fit_transform(rows), expected, name)


# --- one record -------------------------------------------------------------------------


@given(
    bits=st.lists(st.lists(st.integers(0, 2**16 - 1), min_size=2, max_size=2), min_size=3,
                  max_size=6),
    other=st.lists(st.integers(0, 2**16 - 1), min_size=2, max_size=2),
    k=st.integers(0, 2),
    bfloat16=st.booleans(),
)  # fmt: skip
def test_one_record_does_not_change_what_others_are_read_as(bits, other, k, bfloat16):
    before = np.array(bits, np.uint16)
    after = before.copy()
    after[k] = other
    kind = np.uint16 if bfloat16 else np.float16
    one, two = (StoredRows(x.view(kind), bfloat16=bfloat16)[:] for x in (before, after))
    others = np.arange(len(bits)) != k
    assert one[others].tobytes() == two[others].tobytes()
