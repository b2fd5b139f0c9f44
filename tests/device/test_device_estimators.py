"""engine="jax" through the front door: what is claimed, refused, kept and repeated."""

import json
import math
import sys
import tracemalloc
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import dpscd
from commands import python
from dpscd import (
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    Ledger,
    TableModel,
)
from dpscd.audit import FitCase, audit
from dpscd.device import backend, training
from dpscd.errors import DataError, ModelFileError, ParameterError
from dpscd.model.card import PrivacyCard
from dpscd.model.file import _checksum

N, D = 1500, 4
# A few steps of large lots: the same shapes wherever the loss is the same.
PLAN = {"n": N, "delta": 1e-6, "lot_size": 300, "epochs": 4, "row_bound": 2.0}
MODELS = {
    "ridge": (DPRidge, {"y_bounds": (-2.0, 2.0), "standardise": False}),
    "binary": (DPLogisticRegression, {"classes": [0, 1]}),
    "classes": (DPLogisticRegression, {"classes": [0, 1, 2]}),
    "svc": (DPLinearSVC, {"classes": [0, 1]}),
    "svc classes": (DPLinearSVC, {"classes": [0, 1, 2]}),
}
OTHERS = [pytest.param(kind, marks=pytest.mark.full) for kind in MODELS if kind != "classes"]
every_model = pytest.mark.parametrize("kind", ["classes", *OTHERS])


def data(kind, count=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (count, D))
    score = X[:, 0] - 0.5 * X[:, 1]
    if kind == "ridge":
        return X, np.clip(score + 0.1 * rng.normal(size=count), -2.0, 2.0)
    classes = len(MODELS[kind][1]["classes"])
    return X, np.clip(np.floor((score + 1.5) / 3.0 * classes), 0, classes - 1).astype(int)


def model(kind, epsilon=1.0, seed=1, **changes):
    made, options = MODELS[kind]
    given = {**PLAN, **options, "engine": "jax", "random_state": seed, **changes}
    return made(epsilon, **given)


@cache
def fitted(kind, seed=1):
    return model(kind, seed=seed).fit(*data(kind))


# --- claims -------------------------------------------------------------------------------


@pytest.mark.full
@every_model
def test_the_card_names_engine_and_device_and_its_epsilon_can_be_recomputed(kind):
    card = fitted(kind).privacy_
    card.verify()
    assert card.facts.engine == "jax"
    assert card.facts.device == backend.device_name()
    assert "ChaCha20" in str(card)
    assert PrivacyCard.from_json(card.to_json()) == card
    # The same as of the usual engine, but for what is said of the engine.
    usual = model(kind, engine="numba").fit(*data(kind)).privacy_
    assert (usual.epsilon, usual.noise_multiplier, usual.steps) == (
        card.epsilon, card.noise_multiplier, card.steps,
    )  # fmt: skip
    assert (usual.facts.engine, usual.facts.device) == ("numba", "")
    assert "ChaCha20" not in str(usual)


def test_a_seed_repeats_and_no_seed_does_not():
    one, other = fitted("classes"), model("classes").fit(*data("classes"))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    fresh = [model("classes", seed=None).fit(*data("classes")) for _ in range(2)]
    assert (fresh[0].coef_ != fresh[1].coef_).all()
    assert not fresh[0].privacy_.seeded
    # Neither is the noise that of the other engine.
    usual = model("classes", engine="numba").fit(*data("classes"))
    assert (usual.coef_ != one.coef_).all()


@pytest.mark.full
def test_every_training_has_a_key_of_its_own(monkeypatch):
    keys, train = [], training.train
    monkeypatch.setattr(training, "train", lambda *x: keys.append(x[4]) or train(*x))
    X, y = data("ridge")
    # A pilot and the training, twice.
    for seed in (None, 1):
        model("ridge", seed=seed, standardise=True, lot_size="auto", epochs="auto").fit(X, y)
    assert len(keys) > 2
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}


@pytest.mark.full
@pytest.mark.parametrize("kind", MODELS)
def test_models_are_as_good_as_those_of_the_other_engine(kind):
    """A gap of 3.5 standard errors: with 22 degrees of freedom a false alarm in 500.

    Two would be a false alarm of one of the five kinds for a quarter of all seeds.
    """
    X, y = data(kind, 20_000)
    X_test, y_test = data(kind, 4000, seed=9)
    plan = {"n": 20_000, "lot_size": 2000, "epochs": 10}
    scores = {}
    for engine in ("numba", "jax"):
        fits = [model(kind, 3.0, seed, engine=engine, **plan).fit(X, y) for seed in range(12)]
        scores[engine] = np.array([one.score(X_test, y_test) for one in fits])
    gap = scores["jax"].mean() - scores["numba"].mean()
    error = math.sqrt(sum(one.var(ddof=1) / len(one) for one in scores.values()))
    assert abs(gap) < 3.5 * error, scores
    assert scores["jax"].mean() > 0.7  # of models that have learnt something


@pytest.mark.full
@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
def test_the_audit_does_not_exceed_the_claim_and_comes_near(relation):
    estimator = DPLogisticRegression(
        4.0, delta=1e-5, engine="jax", relation=relation, lot_size=150, epochs=25,
        standardise=False, fit_intercept=False,
    )  # fmt: skip
    case = FitCase(estimator, "engine", canaries=500, dense=True)
    result = audit(case, trials=1000, random_state=1)
    assert not result.exceeded
    assert 0.3 * 4.0 < result.epsilon_lower <= 4.0


# --- files --------------------------------------------------------------------------------


def test_models_are_saved_with_their_engine(tmp_path):
    saved = fitted("classes")
    saved.save(tmp_path / "model")
    read = dpscd.load(tmp_path / "model")
    assert read.engine == "jax"
    assert read.privacy_ == saved.privacy_
    X, _ = data("classes")
    np.testing.assert_array_equal(read.predict(X), saved.predict(X))
    assert clone(read).engine == "jax"
    usual = model("classes", engine="numba").fit(*data("classes"))
    usual.save(tmp_path / "usual")
    assert dpscd.load(tmp_path / "usual").engine == "numba"


def test_files_whose_engine_is_not_that_of_their_card_are_refused(tmp_path):
    fitted("classes").save(tmp_path / "model")
    values = json.loads((tmp_path / "model").read_text())
    own = values.pop("parameters")
    without = {name: own[name] for name in own if name != "engine"}
    for parameters in ({**own, "engine": "numba"}, {**own, "engine": "gpu"}, without):
        other = {name: x for name, x in values.items() if name != "checksum"}
        other["parameters"] = parameters
        other["checksum"] = _checksum(other)
        (tmp_path / "model").write_text(json.dumps(other))
        with pytest.raises(ModelFileError, match=r"its parameters are not|must be 'numba'"):
            dpscd.load(tmp_path / "model")


# --- refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "changes", "error", "words"),
    [
        ("classes", {"engine": "gpu"}, ParameterError, "must be 'numba' or 'jax'"),
        ("classes", {"engine": None}, ParameterError, "must be 'numba' or 'jax'"),
        ("sparse", {}, ParameterError, "sparse rows"),
        ("persons", {}, ParameterError, "groups"),
        ("memory", {}, DataError, "GiB free"),
        ("no noise", {"epsilon": math.inf}, ParameterError, "epsilon=inf"),
    ],
    ids=str,
)
def test_refusals_come_before_the_charge(tmp_path, monkeypatch, what, changes, error, words):
    ledger = str(tmp_path / "ledger")
    Ledger.init(ledger, "people", epsilon=10.0, delta=1e-3)
    X, y = data("classes")
    estimator = model("classes", seed=None, ledger=ledger, dataset="people", **changes)
    given = {}
    if what == "sparse":
        X = sparse.csr_matrix(X)
    if what == "persons":
        estimator.set_params(max_rows=3, n=500)
        given = {"groups": np.arange(N) // 3}
    if what == "memory":

        class Small:
            platform, device_kind = "gpu", "Small One"

            def memory_stats(self):
                return {"bytes_limit": 2**18, "bytes_in_use": 0}

        monkeypatch.setattr(backend, "device", Small)
    if what == "no noise":
        estimator.set_params(ledger=None, dataset=None)
    with pytest.raises(error, match=words):
        estimator.fit(X, y, **given)
    assert not Ledger(ledger).history("people")


@pytest.mark.parametrize("made", [DPHuberRegressor, DPPoissonRegressor])
def test_other_estimators_have_no_choice(made):
    assert "engine" not in made().get_params()
    with pytest.raises(TypeError, match="engine"):
        made(1.0, engine="jax")


@pytest.mark.full
def test_dask_is_refused():
    da = pytest.importorskip("dask.array")
    X, y = data("classes")
    with pytest.raises(ParameterError, match="not available on Dask"):
        model("classes").fit(da.from_array(X), da.from_array(y))


@pytest.mark.full
def test_without_jax_the_engine_is_refused_in_words():
    script = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import numpy as np, dpscd
from dpscd import DPRidge
X = np.zeros((50, 2)); y = np.zeros(50)
DPRidge(1.0, y_bounds=(0, 1), epochs=1).fit(X, y)
assert not any(name.startswith("dpscd.device") for name in sys.modules)
try:
    DPRidge(1.0, y_bounds=(0, 1), epochs=1, engine="jax").fit(X, y)
except dpscd.ParameterError as error:
    assert "pip install 'dpscd[jax]'" in str(error), error
else:
    raise SystemExit("not refused")
"""
    python(script)


@pytest.mark.full
def test_the_engine_does_not_need_numba():
    script = """
import sys
sys.modules["numba"] = None
import dpscd.device.training, dpscd.device.backend, dpscd.device.random
assert not any(name.startswith(("dpscd.kernels", "dpscd.losses")) for name in sys.modules)
"""
    python(script)


# --- what is given ------------------------------------------------------------------------


class Exported:
    """An array of another library: nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("how", ["jax", "dlpack", "map", "fortran"])
def test_arrays_of_other_libraries_are_the_same_records(how, tmp_path):
    X, y = data("classes")
    if how == "jax":
        with jax.enable_x64(True):
            X, y = jnp.asarray(X), jnp.asarray(y)
    elif how == "dlpack":
        X, y = Exported(X), Exported(y)
    elif how == "map":
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    else:
        X = np.asfortranarray(X)
    found = model("classes").fit(X, y)
    np.testing.assert_array_equal(found.coef_, fitted("classes").coef_)


@pytest.mark.full
def test_records_are_not_copied_whole_on_the_host():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (200_000, 40))
    y = (X[:, 0] > 0.0).astype(int)
    made = model("binary", n=200_000, lot_size=20_000, epochs=1, row_bound=7.0, delta=1e-7)
    tracemalloc.start()
    made.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2


@pytest.mark.full
@pytest.mark.parametrize("private", [False, True])
def test_tables_are_trained_on_by_the_engine(private, tmp_path):
    bounds = "private" if private else [0.0, 1.0]
    schema = {
        "target": {"column": "y", "classes": [0, 1, 2]},
        "columns": {
            "a": {"kind": "number", "bounds": bounds},
            "b": {"kind": "category", "values": ["u", "v"]},
        },
    }
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"a": rng.random(N), "b": rng.choice(["u", "v"], N)})
    table["y"] = np.where(table["b"] == "u", 0, np.where(table["a"] > 0.5, 1, 2))
    options = {name: PLAN[name] for name in ("n", "delta", "lot_size", "epochs")}
    inner = DPLogisticRegression(3.0, engine="jax", random_state=3, **options)
    fit = TableModel(schema, inner).fit(table)
    fit.privacy_.verify()
    assert fit.privacy_.facts.engine == "jax"
    fit.save(tmp_path / "table")
    read = dpscd.load(tmp_path / "table")
    np.testing.assert_array_equal(read.predict(table), fit.predict(table))
    assert (fit.predict(table) == table["y"].astype(str)).mean() > 0.5


# --- what the user has set ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("jax_enable_x64", True),
        ("jax_default_matmul_precision", "bfloat16"),
        ("jax_debug_nans", True),
        ("jax_numpy_dtype_promotion", "strict"),
        ("jax_numpy_rank_promotion", "raise"),
        pytest.param("jax_default_device", "cpu", marks=pytest.mark.full),  # compiled again
    ],
)
def test_flags_of_the_user_change_nothing_and_stay(flag, value):
    before = getattr(jax.config, flag)
    jax.config.update(flag, value)
    try:
        found = model("classes").fit(*data("classes"))
        assert getattr(jax.config, flag) == value
    finally:
        jax.config.update(flag, before)
    np.testing.assert_array_equal(found.coef_, fitted("classes").coef_)


@pytest.mark.full
def test_code_is_compiled_even_where_the_user_wants_none():
    with jax.disable_jit():
        found = model("classes").fit(*data("classes"))
    np.testing.assert_array_equal(found.coef_, fitted("classes").coef_)


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        ("--xla_cpu_enable_fast_math=true", True),
        ("--xla_cpu_enable_fast_math", True),
        ("--xla_dump_to=/tmp --xla_gpu_ftz=1", True),
        ("--xla_cpu_enable_fast_min_max=True", True),
        ("--xla_cpu_enable_fast_math=false --xla_gpu_ftz=0", False),
        ("--xla_cpu_fast_math_honor_nans=true", False),
        ("--xla_force_host_platform_device_count=2", False),
    ],
)
def test_flags_that_change_arithmetic_are_refused(monkeypatch, flags, refused):
    monkeypatch.setenv("XLA_FLAGS", flags)
    if refused:
        with pytest.raises(ParameterError, match="XLA_FLAGS"):
            model("classes").fit(*data("classes"))
    else:
        with backend.exactly():
            pass


def test_options_that_the_compiler_does_not_have_are_left_out():
    with backend.exactly():
        assert not backend._is_known("xla_there_is_no_such_option", value=True)
        assert backend._is_known("xla_cpu_enable_fast_math", value=False)
    assert backend._options()["xla_cpu_enable_fast_math"] is False


def test_a_device_without_double_precision_is_refused(monkeypatch):
    class Other:
        platform = "tpu"

    monkeypatch.setattr(jax, "devices", lambda *_: [Other()])
    with pytest.raises(ParameterError, match="double"):
        model("classes").fit(*data("classes"))


def test_the_device_is_the_one_that_the_user_chose():
    before = jax.config.jax_default_device
    jax.config.update("jax_default_device", "cpu")
    try:
        assert backend.device() == jax.devices("cpu")[0]
    finally:
        jax.config.update("jax_default_device", before)


def test_a_lack_of_memory_on_the_device_tells_no_size(monkeypatch):
    def fails(*_given):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1501 bytes")

    monkeypatch.setattr(training, "train", fails)
    with pytest.raises(MemoryError) as raised:
        model("classes").fit(*data("classes"))
    assert "1501" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_a_search_is_refused_before_the_charge_too(tmp_path):
    X, y = data("classes")
    dpscd.Ledger.init(tmp_path / "b.db", "people", 9.0, 1e-3)
    candidates = [model("classes", seed=None, n=None) for _ in range(2)]
    search = dpscd.DPModelSearch(
        candidates, 5.0, delta=1e-5, ledger=tmp_path / "b.db", dataset="people"
    )
    with pytest.raises(ParameterError, match="sparse rows"):
        search.fit(sparse.csr_matrix(X), y)
    assert dpscd.Ledger(tmp_path / "b.db").show("people").spent_epsilon == 0.0


def test_a_fit_is_charged_as_by_the_other_engine(tmp_path):
    ledger = str(tmp_path / "ledger")
    Ledger.init(ledger, "people", epsilon=10.0, delta=1e-3)
    for engine in ("jax", "numba"):
        model("classes", seed=None, engine=engine, ledger=ledger, dataset="people").fit(
            *data("classes")
        )
    one, other = Ledger(ledger).history("people")
    assert one.committed
    assert (one.epsilon, one.cost) == (other.epsilon, other.cost)
    assert one.releases == other.releases


def test_without_jax_the_words_say_what_to_install(monkeypatch):
    monkeypatch.delattr("dpscd.device.backend")
    monkeypatch.setitem(sys.modules, "dpscd.device.backend", None)
    with pytest.raises(ParameterError, match="pip install"):
        model("classes").fit(*data("classes"))
