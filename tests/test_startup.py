"""Beginning is cheap: nothing is imported or compiled before it is needed, nor twice."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpscd
from commands import python
from dpscd import DPLogisticRegression, DPRidge, TableModel
from dpscd.kernels import _jit
from dpscd.late import load, when_loaded

ROOT = Path(__file__).parents[1]
INSTALLED = Path(dpscd.__file__).parents[1]

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "pandas",
    "matplotlib",
    "rich",
    "dp_accounting",
    "jinja2",
)


def run(script, source=INSTALLED, **environment):
    """Run a script in a new process and return the value that it prints as JSON."""
    script = f"import json, sys\n{script}"
    return json.loads(python(script, PYTHONPATH=str(source), **environment))


def loaded(script, names):
    """Return which of the packages are loaded after a script."""
    return run(f"{script}\nprint(json.dumps([n for n in {names!r} if n in sys.modules]))")


def test_importing_the_package_imports_nothing_heavy():
    assert loaded("import dpscd; dir(dpscd); dpscd.__version__", HEAVY) == []


def test_errors_and_help_import_nothing_heavy_either():
    heavy = [name for name in HEAVY if name != "rich"]  # typer brings it
    assert loaded("from dpscd import DataError, PrivacyWarning", HEAVY) == []
    assert loaded("import dpscd.cli.app", heavy) == []


@pytest.mark.full
def test_importing_estimators_does_not_import_the_accountant():
    script = "from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, load"
    assert loaded(script, ("dp_accounting", "matplotlib", "rich")) == []


# One of arrays and one of a table: what is learnt from answers needs no compiler either.
WITHOUT = """
import pandas as pd
from dpscd import load
model = load({file!r})
model.fit_.state
model.predict({records})
print(json.dumps(["numba" in sys.modules, "llvmlite" in sys.modules]))
"""


@pytest.mark.parametrize("table", [False, True])
def test_a_model_is_read_verified_and_asked_without_the_compiler(table, tmp_path):
    rng, file = np.random.default_rng(0), str(tmp_path / "model.json")
    X = rng.uniform(-0.5, 0.5, size=(500, 2))
    if table:
        schema = {
            "target": {"column": "b", "bounds": [-1, 1]},
            "columns": {"a": {"kind": "number", "bounds": "private"}},
        }
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 0]})
        TableModel(schema, DPRidge(9.0, epochs=2)).fit(frame).save(file)
    else:
        DPLogisticRegression(9.0, classes=[False, True], epochs=2).fit(X, X[:, 0] > 0).save(
            file
        )
    records = "pd.DataFrame({'a': [0.1, 0.2]})" if table else "[[0.1, 0.2]]"
    assert run(WITHOUT.format(file=file, records=records)) == [False, False]


VERB = """
from contextlib import redirect_stdout, suppress
from io import StringIO
from dpscd.cli.app import app
with redirect_stdout(StringIO()), suppress(SystemExit):
    app({words!r})
"""
#: What verbs have no use for, in their order of weight.
UNUSED = ("numba", "llvmlite", "jax", "dask", "distributed", "matplotlib", "onnx", "sqlite3")


def test_a_verb_imports_what_it_uses(tmp_path):
    rng, file, table = np.random.default_rng(0), tmp_path / "m.json", tmp_path / "t.csv"
    frame = pd.DataFrame({"a": rng.uniform(0, 1, 500), "b": rng.uniform(0, 1, 500)})
    frame.to_csv(table, index=False)
    schema = {"target": {"column": "b", "bounds": [0, 1]},
              "columns": {"a": {"kind": "number", "bounds": [0, 1]}}}  # fmt: skip
    TableModel(schema, DPRidge(9.0, epochs=2)).fit(frame).save(file)
    out = str(tmp_path / "p.csv")
    for words in (["verify", str(file)], ["predict", str(file), str(table), "--out", out]):
        assert loaded(VERB.format(words=words), UNUSED) == []
    assert Path(out).read_text().count("\n") == 501
    for words in (["--help"], ["fit", "--help"], ["verify", "--help"]):
        assert loaded(VERB.format(words=words), HEAVY[:5]) == []


@pytest.mark.full
def test_the_accountant_is_imported_by_the_first_calibration():
    script = """
import numpy as np
from dpscd import DPRidge
from dpscd.planning.facts import Facts
from dpscd.planning.rule import plan_fit
from dpscd.privacy.relation import PrivacyTarget
from dpscd.records.labels import NumberLabels
seen = ["dp_accounting" in sys.modules]
DPRidge(epsilon=float("inf"), y_bounds=(0.0, 8.0)).fit(np.eye(8), np.arange(8.0))
seen.append("dp_accounting" in sys.modules)
facts = Facts(n=1000, d=2, loss="Squared", labels=NumberLabels(0.0, 8.0))
plan_fit(facts, PrivacyTarget(1.0, 1e-5))
seen.append("dp_accounting" in sys.modules)
print(json.dumps(seen))
"""
    assert run(script) == [False, False, True]


# Files of ours that each walk of benchmarks/walk.py enters.
MOST_FILES = {"fit": 42, "save": 6, "load": 30, "verify": 19, "predict": 5, "report": 43}


@pytest.mark.full
@pytest.mark.compiled
def test_walks_enter_few_files():
    # Twice, because the first time the compiler may run.
    command = [sys.executable, str(ROOT / "benchmarks" / "walk.py")]
    environment = {**os.environ, "PYTHONPATH": str(INSTALLED)}
    for _ in range(2):
        walk = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
    found = re.findall(r"^(\w+) +(\d+) +\d+ +\d+$", walk.stdout, re.MULTILINE)
    assert {name for name, _ in found} == set(MOST_FILES)
    for name, files in found:
        assert int(files) <= MOST_FILES[name], walk.stdout


# Objectives are computed by a kernel of one file that calls rows of a second and a loss of a
# third.
OBJECTIVE = """
import numpy as np
from dpscd.kernels import dual, rows, sdca
from dpscd.losses import Logistic
X = np.eye(2)
X.flags.writeable = False
view = rows.DenseRows(X, np.ones(2), np.ones(2), 0.0)
records = dual.Records(np.ones(2), np.ones(2))
found = sdca.objectives(Logistic(), view, records, 1.0, 0, np.zeros((2, 1)), np.zeros((1, 2)))
stats = sdca.objectives.stats
hits, misses = (sum(counts.values()) for counts in (stats.cache_hits, stats.cache_misses))
print(json.dumps({"value": found[0], "hits": hits, "misses": misses}))
"""


def copied(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    return source


def files_in(folder):
    return {
        file: (file.stat().st_mtime_ns, file.read_bytes())
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.mark.full
@pytest.mark.compiled
def test_a_later_process_uses_what_an_earlier_one_compiled(tmp_path):
    first = run(OBJECTIVE, NUMBA_CACHE_DIR=str(tmp_path))
    compiled = files_in(tmp_path)
    later = run(OBJECTIVE, NUMBA_CACHE_DIR=str(tmp_path))
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (later["hits"], later["misses"]) == (1, 0)
    assert compiled
    assert files_in(tmp_path) == compiled
    assert later["value"] == first["value"]


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("path", "before", "after", "changed"),
    [
        # The kernel's own file, then two files that it has calls into: Numba itself looks at
        # the first only.
        ("kernels/sdca.py", "    losses = 0.0\n", "    losses = 7.0\n", 7.0),
        ("kernels/rows.py", "    total = 0.0\n    for j in range(x.shape[0]):\n"
         "        total += np.float64(x[j]) * vector[j]\n", "    return 1e6\n", 0.0),
        ("losses/logistic.py", "    return math.log1p(math.exp(-abs(m))) + max(0.0, -m)\n",
         "    return 7.0\n", 14.0),
    ],
    ids=["the-kernel", "a-row-operation", "a-loss"],
)  # fmt: skip
def test_an_edited_source_file_is_noticed(path, before, after, changed, tmp_path):
    source, cache = copied(tmp_path), str(tmp_path / "cache")
    value = run(OBJECTIVE, source, NUMBA_CACHE_DIR=cache)["value"]
    file = source / "dpscd" / path
    text = file.read_text()
    assert text.count(before) == 1, f"{path} has changed: {before}"
    file.write_text(text.replace(before, after))
    edited = run(OBJECTIVE, source, NUMBA_CACHE_DIR=cache)
    expected = value + 7.0 if path == "kernels/sdca.py" else changed
    assert edited["misses"] == 1
    assert edited["value"] == pytest.approx(expected)
    file.write_text(text)  # and what was compiled before is found again
    assert run(OBJECTIVE, source, NUMBA_CACHE_DIR=cache)["hits"] == 1


def test_the_hash_covers_every_file_that_is_compiled(tmp_path, monkeypatch):
    source = copied(tmp_path)
    monkeypatch.setattr(_jit, "_PACKAGE", source / "dpscd")
    seen = {_jit.source_hash()}
    files = [*source.glob("*/kernels/**/*.py"), *source.glob("*/losses/**/*.py")]
    for file in files:
        file.write_text(file.read_text() + "\n")
        seen.add(_jit.source_hash())
    assert len(seen) == 1 + len(files)
    users = [
        file
        for file in source.rglob("*.py")
        if "kernels._jit import" in file.read_text() and "jit\n" in file.read_text()
        if file.parent.name not in ("kernels", "losses")
    ]
    assert users == []


def test_what_is_declared_when_numba_is_there_is_declared_at_once():
    declared = []
    load()
    when_loaded(declared.append)
    assert [module.__name__ for module in declared] == ["numba.extending"]
