"""A fit that runs out of memory does not tell how many records it has."""

import inspect
import json
import sys
from contextlib import nullcontext

import dask.array as da
import pytest

from commands import python
from dpscd import DPLinearSVC, DPRidge, Ledger, TableModel

pytestmark = pytest.mark.full

# A real limit of the operating system, set once everything is compiled and loaded.
STARVED = """
import json, os, resource
import numpy as np, pandas as pd
from dpscd import DPRidge, TableModel

kind, ledger = os.environ["KIND"], os.environ["LEDGER"]
options = {"y_bounds": (0, 1), "epochs": 1, "relation": "add-remove", "n": 2_000_000}
more = {"ledger": ledger, "dataset": "people", "delta": 1e-8}
n = 2_002_003
x = np.linspace(0.0, 1.0, n)
if kind == "array":
    model, data = DPRidge(0.5, **options), (x[:, None], x)
    model.fit(x[:5000, None], x[:5000])
    model.set_params(**more)
else:
    schema = {"target": {"column": "y", "bounds": [0, 1]},
              "columns": {"x": {"kind": "number", "bounds": [0, 1]}}}
    data = (pd.DataFrame({"x": x, "y": x}),)
    TableModel(schema, DPRidge(0.5, **options)).fit(data[0][:5000])
    model = TableModel(schema, DPRidge(0.5, **options, **more))
pages = int(open("/proc/self/statm").read().split()[0])
now = pages * resource.getpagesize()
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (now + 10 * 2**20, before[1]))
try:
    model.fit(*data)
except MemoryError as error:
    found = error
resource.setrlimit(resource.RLIMIT_AS, before)
chain = [str(found.__cause__), str(found.__context__)]
frames = []
step = found.__traceback__.tb_next
while step is not None:
    frames.append([step.tb_frame.f_code.co_name, sorted(step.tb_frame.f_locals)])
    step = step.tb_next
print(json.dumps({"text": str(found), "chain": chain, "frames": frames}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("kind", ["array", "table"])
def test_a_real_lack_of_memory_is_said_in_fixed_words(kind, tmp_path):
    path = str(tmp_path / "budget.db")
    Ledger.init(path, "people", epsilon=1.0, delta=1e-6, relation="add-remove")
    found = json.loads(python(STARVED, KIND=kind, LEDGER=path))
    assert found["text"].startswith("there is not enough memory for this fit;")
    assert not any(sign.isdigit() for sign in found["text"])
    assert found["chain"] == ["None", "None"]
    assert Ledger(path).show("people").reserved == 1
    # Frames of the failed call hold the arrays, and so does its error: only arguments are left.
    given = {"array": ["X", "groups", "sample_weight", "self", "y"]}
    given["table"] = ["groups", "self", "table", "y"]
    inner = ["inner", ["args", "func", "kwds", "self"]]
    assert found["frames"] == [["fit", given[kind]], inner, ["__exit__", ["kind", "self"]]]


def test_the_signature_of_fit_is_kept():
    own = {DPLinearSVC: "self X y sample_weight groups", TableModel: "self table y groups"}
    for kind, names in own.items():
        assert list(inspect.signature(kind.fit).parameters) == names.split()


def out_of_memory(*_):
    raise MemoryError("Unable to allocate an array with shape (123457, 3)")


def test_nothing_of_a_collection_on_dask_is_said(monkeypatch):
    X = da.zeros((12, 3), chunks=(6, 3))
    monkeypatch.setattr("dpscd.distributed.collections.partitions_of", out_of_memory)
    with pytest.raises(MemoryError, match="not enough memory for this fit") as error:
        DPRidge(y_bounds=(0, 1)).fit(X, X[:, 0])
    assert error.value.__context__ is None


def test_nothing_of_a_source_is_said():
    class Large(nullcontext):
        __enter__ = out_of_memory

    with pytest.raises(MemoryError, match="not enough memory for this fit") as error:
        DPRidge(y_bounds=(0, 1)).fit_records(Large())
    assert error.value.__context__ is None
    frames = [step.frame.f_locals for step in error.traceback[1:]]
    given = {"self", "func", "args", "kwds"}  # of the decorator: what fit_records was given
    assert [set(names) for names in frames] == [given, {"self", "kind"}]
