"""The tape: about forty small seeded fits, by which a rebuilding is shown to be harmless.

What they gave is in ``tape.json``; ``tests/test_tape.py`` makes them again and compares, bit
for bit where processor and versions are those of the tape. Elsewhere inner products are summed
in another order, and one contribution that is rounded to another point of the lattice moves
what is trained after it: events are equal there and other numbers are within `WITHIN`, but
trained ones within `TRAINED_WITHIN` (7.3e-5 at most was seen, compiled for others). ::

    python tests/tape.py compare ../before    # bits of this tree and of a worktree's source
    python tests/tape.py write                # after a change that is meant to change fits

`compare` takes names of fits after the folder, to compare only those. It makes these fits, as
declared here, with the source of both trees, each in a process of its own.

Records are whole numbers over powers of two, drawn by a generator whose stream NumPy keeps:
they are the same to the last bit everywhere. Models are asked by names that users have.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

import dpscd
from dpscd import (
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPModelSearch,
    DPPoissonRegressor,
    DPRidge,
    TableModel,
    UtilityWarning,
    private_score,
)

STORED = Path(__file__).with_suffix(".json")
# Of the largest number of an array, where processor or versions are others.
WITHIN, TRAINED_WITHIN = 1e-9, 1e-3
TRAINED = {"line", "line noise", "predict", "predict_proba", "decision_function", "intervals"}
HERE, DASK, JAX = "here", "dask", "jax"  # where records are, or what trains

_MOST = 20  # numbers of an array that are written; of longer ones a digest and `_SHOWN` numbers
_SHOWN = 8
_ROWS = 6  # predicted for

# -- records ---------------------------------------------------------------------------------

N, D = 3000, 5
_DRAWS = np.random.RandomState(20)  # the frozen generator


def _fractions(*shape: int) -> Any:
    return _DRAWS.randint(-512, 513, shape) / 1024.0


X = _fractions(N, D)
SCORE = X @ np.array([1.0, -0.75, 0.5, -0.25, 0.125]) + _fractions(N) / 4.0
TWO, THREE = SCORE > 0.0, np.digitize(SCORE, [-0.25, 0.25])
FAR = np.where(_DRAWS.randint(0, 20, N) == 0, 3.0, SCORE)  # some labels are wrong
COUNTS = np.minimum(_DRAWS.randint(0, 4, N) + 4 * TWO, 9)
EXPOSURE = _DRAWS.randint(1, 9, N) / 4.0
MIXED = SCORE + _fractions(N) + _fractions(N) > 0.0
WEIGHT = _DRAWS.randint(1, 9, N) / 8.0
PERSON = _DRAWS.randint(0, 1000, N)
WIDE = sparse.csr_array(
    sparse.coo_array(
        (
            _DRAWS.randint(1, 9, 9 * N) / 16.0,
            (np.repeat(np.arange(N), 9), _DRAWS.randint(0, 5000, 9 * N)),
        ),
        (N, 5000),
    )
)
WIDE_TWO = np.asarray(WIDE[:, :2500].sum(axis=1)) > np.asarray(WIDE[:, 2500:].sum(axis=1))
MANY, MANY_LABELS = np.tile(X, (8, 1)), np.tile(SCORE, 8) + _fractions(8 * N) / 8.0

TABLE = pd.DataFrame(
    {
        "age": _DRAWS.randint(18, 90, N),
        "pay": _DRAWS.randint(0, 4000, N) * _DRAWS.randint(0, 20, N) / 8.0,
        "town": np.array(["a", "b", "c", "?"])[_DRAWS.randint(0, 4, N)],
        "size": np.array(["small", "middle", "large"])[_DRAWS.randint(0, 3, N)],
        "owner": np.array(["yes", "no"])[_DRAWS.randint(0, 2, N)],
        "who": _DRAWS.randint(0, 1000, N),
    }
)
TABLE["cost"] = (
    TABLE["age"] / 2.0 + 4.0 * (TABLE["town"] == "a") + _DRAWS.randint(0, 64, N) / 8.0
)
TABLE["old"] = np.where(TABLE["age"] + _DRAWS.randint(-16, 17, N) > 50, "yes", "no")
TABLE["level"] = np.array(["low", "mid", "top"])[np.digitize(TABLE["cost"], [20, 36])]
TABLE["visits"] = np.minimum(TABLE["age"] // 12 + _DRAWS.randint(0, 3, N), 9)

AGE = {"kind": "number", "bounds": [0, 100]}
PAY = {"kind": "number", "bounds": [0, 10_000]}
TOWN = {"kind": "category", "values": ["a", "b"]}
DECLARED = {
    "age": AGE,
    "pay": {**PAY, "transform": "log1p", "missing": "column"},
    "town": {**TOWN, "missing": "column"},
    "size": {"kind": "ordinal", "values": ["small", "middle", "large"]},
    "owner": {"kind": "boolean"},
}
RELEASED = {"age": AGE, "pay": {"kind": "number", "bounds": "private"}, "town": TOWN}
OLD = {"column": "old", "classes": ["no", "yes"]}
COST = {"column": "cost", "bounds": [0, 64]}


def _schema(target: Any, columns: Any = DECLARED, **table: Any) -> dict[str, Any]:
    return {"table": table, "target": target, "columns": columns}


# -- fits ------------------------------------------------------------------------------------


def _ridge(epsilon: float = 1.0, **more: Any) -> Any:
    return DPRidge(epsilon, y_bounds=(-2.0, 2.0), random_state=1, **more)


def _logistic(epsilon: float = 1.0, **more: Any) -> Any:
    return DPLogisticRegression(epsilon, classes=[False, True], random_state=2, **more)


def _softmax(epsilon: float = 2.0, **more: Any) -> Any:
    return DPLogisticRegression(epsilon, classes=[0, 1, 2], random_state=3, **more)


def _hinge(epsilon: float = 1.0, **more: Any) -> Any:
    return DPLinearSVC(epsilon, classes=[False, True], random_state=4, **more)


def _huber(epsilon: float = 1.0, **more: Any) -> Any:
    return DPHuberRegressor(epsilon, y_bounds=(-3.0, 3.0), random_state=5, **more)


def _poisson(epsilon: float = 1.0, **more: Any) -> Any:
    return DPPoissonRegressor(epsilon, y_bounds=(0, 9), random_state=6, **more)


def _from_csv(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        TABLE.to_csv(file, index=False)
        return model.fit(file)


def _classes(epsilon: float = 1.0, **more: Any) -> Any:
    return DPLogisticRegression(epsilon, random_state=7, **more)


def _numbers(epsilon: float = 1.0, **more: Any) -> Any:
    return DPRidge(epsilon, random_state=8, **more)


def _search(**more: Any) -> Any:
    candidates = [_logistic().set_params(random_state=None), DPLinearSVC(classes=[False, True])]
    return DPModelSearch(candidates, 2.0, random_state=9, **more).fit(X, TWO)


def _table_search() -> Any:
    schemas = [_schema(COST, {"age": AGE}), _schema(COST, RELEASED)]
    candidates = [TableModel(schema, DPRidge()) for schema in schemas]
    return DPModelSearch(candidates, 4.0, metric="mse", random_state=10).fit(TABLE)


FAR_AWAY = {"relation": "add-remove", "n": N}
UP = {"age": {**AGE, "bins": 4, "monotone": "up"}, "pay": {**PAY, "monotone": "down"}}
PAIRED = _schema(OLD, {"age": AGE, "town": TOWN}, pairs=[["age", "town"]])
SHAPED = {
    "age": {**AGE, "shape": "smooth", "bins": 6},
    "pay": {**PAY, "shape": "steps", "knots": [100, 2000]},
}


class Fit(NamedTuple):
    """A declared fit: what makes it or its score, and records to predict for."""

    make: Callable[[], Any]
    rows: Any = X
    where: str = HERE  # or DASK or JAX


#: Every fit by its name. A new one is written with ``write NAME``.
FITS: dict[str, Fit] = {
    # estimators
    "ridge": Fit(lambda: _ridge().fit(X, SCORE)),
    "logistic": Fit(lambda: _logistic().fit(X, TWO)),
    "softmax": Fit(lambda: _softmax().fit(X, THREE)),
    "hinge": Fit(lambda: _hinge().fit(X, TWO)),
    "huber": Fit(lambda: _huber().fit(X, FAR)),
    "poisson": Fit(lambda: _poisson().fit(X, COUNTS)),
    # parameters
    "pilot": Fit(lambda: _ridge(4.0).fit(MANY, MANY_LABELS)),
    "pilot, huber": Fit(lambda: _huber(4.0).fit(MANY, MANY_LABELS)),
    "two threads": Fit(lambda: _logistic(n_jobs=2).fit(X, TWO)),
    "no intercept": Fit(lambda: _ridge(fit_intercept=False).fit(X, SCORE)),
    "not standardised": Fit(lambda: _ridge(standardise=False).fit(X, SCORE)),
    "not standardised, classes": Fit(lambda: _logistic(standardise=False).fit(X, TWO)),
    "lam, epochs and lots given": Fit(
        lambda: _logistic(lam=0.01, epochs=4.0, lot_size=100, travel=3.0).fit(X, TWO)
    ),
    "replace-one": Fit(lambda: _ridge(relation="replace-one").fit(X, SCORE)),
    "add-remove": Fit(lambda: _ridge(**FAR_AWAY).fit(X, SCORE)),
    "add-remove, classes": Fit(lambda: _logistic(**FAR_AWAY).fit(X, TWO)),
    "without privacy": Fit(lambda: _ridge(math.inf).fit(X, SCORE)),
    "without privacy, classes": Fit(lambda: _logistic(math.inf).fit(X, TWO)),
    "weights of records": Fit(lambda: _ridge().fit(X, SCORE, sample_weight=WEIGHT)),
    "weights of classes": Fit(
        lambda: _logistic(class_weight={False: 1.0, True: 3.0}).fit(X, TWO)
    ),
    "exposures": Fit(
        lambda: _poisson(exposure_bounds=(0.25, 2.0)).fit(X, COUNTS, exposure=EXPOSURE)
    ),
    # sparse rows
    "sparse": Fit(lambda: _logistic(4.0).fit(WIDE, WIDE_TWO), WIDE),
    "sparse ridge": Fit(lambda: _ridge(4.0, standardise=True).fit(WIDE, SCORE), WIDE),
    "sparse softmax": Fit(lambda: _softmax(4.0).fit(WIDE[:, :300], THREE), WIDE[:, :300]),
    # persons
    "persons, sum": Fit(lambda: _logistic().fit(X, TWO, groups=PERSON)),
    "persons, share": Fit(
        lambda: _ridge(person_weight="share", max_rows=4).fit(X, SCORE, groups=PERSON)
    ),
    "persons, softmax": Fit(lambda: _softmax().fit(X, THREE, groups=PERSON)),
    "persons, counts": Fit(lambda: _poisson(max_rows=5).fit(X, COUNTS, groups=PERSON)),
    # inference
    "inference, ridge": Fit(lambda: _ridge(4.0, inference=True).fit(X, SCORE)),
    "inference, logistic": Fit(lambda: _logistic(4.0, inference=True).fit(X, MIXED)),
    "inference, robust": Fit(lambda: _ridge(4.0, inference="robust").fit(X, SCORE)),
    "inference, persons": Fit(
        lambda: _logistic(4.0, inference=True, person_weight="share", max_rows=5).fit(
            X, MIXED, groups=PERSON
        )
    ),
    # tables
    "table from CSV": Fit(lambda: _from_csv(TableModel(_schema(OLD), _classes(2.0))), TABLE),
    "table, numbers": Fit(lambda: TableModel(_schema(COST), _numbers()).fit(TABLE), TABLE),
    "table, softmax": Fit(
        lambda: TableModel(
            _schema({"column": "level", "classes": ["low", "mid", "top"]}), _classes(2.0)
        ).fit(TABLE),
        TABLE,
    ),
    "table, counts": Fit(
        lambda: TableModel(
            _schema({"column": "visits", "bounds": [0, 9]}, RELEASED),
            DPPoissonRegressor(2.0, random_state=11),
        ).fit(TABLE),
        TABLE,
    ),
    "released bounds": Fit(
        lambda: TableModel(
            _schema({"column": "cost", "bounds": "private"}, RELEASED), _numbers(2.0)
        ).fit(TABLE),
        TABLE,
    ),
    "released bounds, CSV": Fit(
        lambda: _from_csv(TableModel(_schema(OLD, RELEASED), _classes(2.0))), TABLE
    ),
    "monotone": Fit(lambda: TableModel(_schema(COST, UP), _numbers()).fit(TABLE), TABLE),
    "pairs": Fit(lambda: TableModel(PAIRED, _classes(2.0)).fit(TABLE), TABLE),
    "shapes": Fit(lambda: TableModel(_schema(OLD, SHAPED), _classes(4.0)).fit(TABLE), TABLE),
    "table of persons": Fit(
        lambda: TableModel(
            _schema(COST, RELEASED, person="who"), _numbers(2.0, max_rows=5)
        ).fit(TABLE),
        TABLE,
    ),
    "table, inference": Fit(
        lambda: TableModel(
            _schema(COST, {"age": {**AGE, "shape": "line"}, "town": TOWN}),
            _numbers(4.0, inference=True),
        ).fit(TABLE),
        TABLE,
    ),
    # searches and scores
    "search": Fit(_search),
    "search of tables": Fit(_table_search, TABLE),
    "score": Fit(
        lambda: private_score(
            _logistic().fit(X, TWO), X, TWO, epsilon=0.5, metric="auc", random_state=12
        )
    ),
    "score of persons": Fit(
        lambda: private_score(
            _ridge().fit(X, SCORE), X, SCORE, epsilon=0.5, groups=PERSON, random_state=13
        )
    ),
    # the second engine
    "jax": Fit(lambda: _logistic(engine="jax").fit(X, TWO), where=JAX),
    "jax, ridge": Fit(lambda: _ridge(engine="jax").fit(X, SCORE), where=JAX),
    # on workers
    "dask": Fit(lambda: _ridge(4.0, epochs=3).fit(*_on_dask(MANY, MANY_LABELS)), where=DASK),
    "dask, released bounds": Fit(
        lambda: TableModel(
            _schema({"column": "cost", "bounds": "private"}, RELEASED), _numbers(2.0, epochs=3)
        ).fit(_table_on_dask()),
        TABLE,
        DASK,
    ),
}


def _on_dask(*arrays: Any) -> Any:
    import dask.array

    return [dask.array.from_array(x, (10_000, *x.shape[1:])) for x in arrays]


def _table_on_dask() -> Any:
    import dask.dataframe

    return dask.dataframe.from_pandas(TABLE, npartitions=3)


@contextmanager
def _workers() -> Iterator[None]:
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        yield


# -- what is compared of a fit ---------------------------------------------------------------


def _numbers_of(values: Any) -> Any:
    """Return floats as they are written: all of a few, else a digest and some of them."""
    array = np.ascontiguousarray(values, dtype=np.float64).ravel()
    if len(array) <= _MOST:
        return array.tolist()
    shown = array[np.linspace(0, len(array) - 1, _SHOWN).astype(int)]
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:32]
    return {"count": len(array), "sha256": digest, "some": shown.tolist()}


def _event(release: Any) -> list[Any]:
    event = release.event
    drawn = [event.rate, event.steps, event.noise_multiplier]
    return [release.what, *drawn, release.clip, release.size, release.n]


def _of_score(score: Any) -> dict[str, Any]:
    parts = (score.value, score.low, score.high, score.noise_low, score.noise_high)
    return {
        "score": _numbers_of(parts),
        "events": [_event(release) for release in score.card.releases],
        "epsilon": [score.card.verify()],
    }


def _of_model(model: Any, rows: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(model, DPModelSearch):
        found |= {"best": model.best_index_, "best score": [model.best_score_]}
    card = model.privacy_
    chosen = getattr(model, "best_estimator_", model)
    inner = getattr(chosen, "estimator_", chosen)
    for name, end in (("line", ""), ("line noise", "_noise")):
        parts = (getattr(inner.fit_.numbers, part + end) for part in ("coef", "intercept"))
        found[name] = _numbers_of(np.concatenate([np.ravel(part) for part in parts]))
    some = rows[:_ROWS]
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(chosen, name):
            given = np.asarray(getattr(chosen, name)(some))
            number = given.dtype.kind == "f"
            found[name] = _numbers_of(given) if number else [str(x) for x in given]
    if getattr(inner, "inference", False):
        columns = ["estimate", "std_error", "low", "high"]
        found["intervals"] = _numbers_of(chosen.summary().frame[columns].to_numpy())
    for name, pair in getattr(chosen, "bounds_", {}).items():
        found[f"bounds of {name}"] = _numbers_of(pair)
    found["events"] = [_event(release) for release in card.releases]
    if card.search is not None:
        found["events"].append(_event(card.search.score))
        found["events"] += [_event(x) for fit in card.search.fits for x in fit]
    found["epsilon"] = [card.verify()]
    return found


def taken(name: str) -> dict[str, Any]:
    """Make a fit, and return what is compared of it as plain JSON values."""
    fit = FITS[name]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", UtilityWarning)  # few records, on purpose
        made = fit.make()
        found = _of_model(made, fit.rows) if hasattr(made, "privacy_") else _of_score(made)
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def machine() -> dict[str, str]:
    """Return what bits depend on: what Numba compiles for, and versions."""
    from dpscd.kernels._jit import compiler  # no public name: `compare` does without

    try:
        import jax
    except ImportError:
        found = "none"
    else:
        found = f"{jax.__version__} on {jax.default_backend()}"
    return {**compiler(), "numpy": np.__version__, "jax": found}


def same_machine(one: dict[str, str], other: dict[str, str], where: str = HERE) -> bool:
    """Return whether bits of a fit are to be equal on both."""
    return all(one[key] == other[key] for key in one if key != "jax" or where == JAX)


def differences(old: Any, new: Any, *, bits: bool, at: tuple[str, ...]) -> list[str]:
    """Return what differs: bits, or numbers by more than they may and everything else."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = [
            f"{', '.join(at)}: only one has {key!r}" for key in sorted(set(old) ^ set(new))
        ]
        for key in old:
            if key in new and (bits or key != "sha256"):
                lines += differences(old[key], new[key], bits=bits, at=(*at, key))
        return lines
    if json.dumps(old) == json.dumps(new) or not (bits or _apart(old, new, at)):
        return []
    return [f"{', '.join(at)}: {old} became {new}"]


def _apart(old: Any, new: Any, at: tuple[str, ...]) -> bool:
    """Return whether two values are further apart than on different machines."""
    numbers = [isinstance(x, list) and all(isinstance(y, float) for y in x) for x in (old, new)]
    if not all(numbers) or len(old) != len(new):
        return True
    within = TRAINED_WITHIN if at[1] in TRAINED else WITHIN
    span = within * np.nanmax(np.abs(old))
    return not np.allclose(new, old, rtol=0.0, atol=span, equal_nan=True)


# -- the command -----------------------------------------------------------------------------


def _chosen(names: list[str], without: list[str]) -> list[str]:
    unknown = sorted(set(names) - set(FITS))
    if unknown:
        raise SystemExit(f"no fit is called {unknown[0]!r}; there are {', '.join(FITS)}.")
    return names or [name for name, fit in FITS.items() if fit.where not in without]


def _all_taken(names: list[str]) -> dict[str, Any]:
    on_dask = [name for name in names if FITS[name].where == DASK]
    found = {name: taken(name) for name in names if name not in on_dask}
    if on_dask:
        with _workers():
            found |= {name: taken(name) for name in on_dask}
    return {name: found[name] for name in names}


def _shown_by(source: Path, names: list[str]) -> dict[str, Any]:
    """Return what the fits give with the source of a tree, in a process of its own."""
    known = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "show", *names]
    done = subprocess.run(command, env=known, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    used = Path(found["source"])
    if used != source:
        raise SystemExit(f"{used} was imported, not {source}.")
    return found


def _source_in(folder: str) -> Path:
    given = Path(folder).resolve()
    return given / "src" if (given / "src" / "dpscd").is_dir() else given


def _compare(folder: str, names: list[str]) -> int:
    sources = (_source_in(folder), Path(__file__).resolve().parents[1] / "src")
    old, new = (_shown_by(source, names) for source in sources)
    lines = []
    for name in names:
        lines += differences(old["fits"][name], new["fits"][name], bits=True, at=(name,))
    print(*lines, sep="\n", end="\n" if lines else "")  # noqa: T201
    print(f"{len(names)} fits compared, {len(lines)} differences")  # noqa: T201
    return 1 if lines else 0


def stored() -> dict[str, Any]:
    """Return the tape."""
    tape: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return tape


def _write(names: list[str], *, everything: bool) -> None:
    """Write the fits; a part of them only on the machine of the others."""
    here = machine()
    fits = {} if everything else stored()["fits"]
    if not everything and stored()["machine"] != here:
        raise SystemExit("the tape is of another processor or other versions: write all of it.")
    fits |= _all_taken(names)
    lines = [f"{json.dumps(name)}: {json.dumps(fits[name])}" for name in FITS if name in fits]
    body = ",\n".join(lines)
    text = f'{{"machine": {json.dumps(here)},\n"fits": {{\n{body}\n}}}}\n'
    STORED.write_text(text, encoding="utf-8")
    print(f"{len(names)} fits written")  # noqa: T201


def _main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verb", choices=["write", "show", "compare"])
    parser.add_argument("words", nargs="*", help="names of fits; first the folder to compare")
    parser.add_argument("--without", action="append", default=[], choices=[DASK, JAX])
    given = parser.parse_args()
    words = given.words
    if given.verb == "compare" and not words:
        parser.error("compare with which folder?")
    folder, words = (words[0], words[1:]) if given.verb == "compare" else ("", words)
    names = _chosen(words, given.without)
    if given.verb == "compare":
        return _compare(folder, names)
    if given.verb == "write":
        _write(names, everything=not words)
        return 0
    source = str(Path(dpscd.__file__).resolve().parents[1])
    print(json.dumps({"source": source, "fits": _all_taken(names)}))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(_main())
