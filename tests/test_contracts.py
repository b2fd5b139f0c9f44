"""What other libraries do not promise and we use all the same: each use has its test here.

A failure means that a new version of the named library changed under us. The message says which
file relies on it.
"""

import math
import re
from typing import NamedTuple

import numba
import numpy as np
import pandas as pd
import pytest
from numba.core.registry import cpu_target
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, to_sklearn
from dpscd.kernels._memory import prefetch
from dpscd.late import load
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation

# --- Numba -----------------------------------------------------------------------------------


def _second_row(matrix):
    row = matrix[1]
    return row[0] + row.sum()


@pytest.mark.compiled
def test_numba_leaves_out_the_counting_of_references_when_asked_to():
    matrix = np.ones((2, 2))
    counted = numba.njit(_second_row)
    try:
        uncounted = numba.njit(_nrt=False)(_second_row)
    except (KeyError, TypeError, ValueError):
        pytest.fail("Numba has no option _nrt any more: kernels/_jit.py, jit_uncounted")
    assert counted(matrix) == uncounted(matrix) == 3.0
    (with_counts,) = counted.inspect_llvm().values()
    (without,) = uncounted.inspect_llvm().values()
    assert "NRT_decref" in with_counts, "this test no longer sees how Numba counts"
    assert "NRT_" not in without, "_nrt=False does not do what kernels/_jit.py wants of it"


@pytest.mark.compiled
def test_numba_compiles_by_the_attribute_that_we_replace():
    function = numba.njit(lambda x: x + 1)
    before, seen = function.compile, []

    def compile_and_note(signature):
        seen.append(signature)
        return before(signature)

    function.compile = compile_and_note
    assert function(1) == 2
    assert function(1) == 2
    assert len(seen) == 1, (
        "Numba does not compile through the attribute `compile`, once per signature: "
        "kernels/_jit.py wraps it so that interrupts wait"
    )


@pytest.mark.compiled
def test_numba_reads_the_folder_of_its_cache_when_a_function_is_decorated(
    tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
        function = numba.njit(cache=True)(_second_row)
    function(np.ones((2, 2)))
    assert list(tmp_path.rglob("*.nbi")), (
        "Numba's cache is not where config.CACHE_DIR pointed at decoration: kernels/_jit.py "
        "keys it by the sources, and without that stale code would run"
    )


def test_numba_names_what_it_compiles_for():
    told = cpu_target.target_context.codegen().magic_tuple()
    assert len(told) == 3, (
        "Numba does not key its cache by target, processor and features: kernels/_jit.py "
        "compares workers by them"
    )
    assert all(isinstance(one, str) for one in told), "kernels/_jit.py sends them as texts"


class _Mixed(NamedTuple):
    a: int
    b: float


class _Alike(NamedTuple):
    a: float
    b: float


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [_Mixed, _Alike])
def test_numba_tells_the_class_of_a_named_tuple(kind):
    found = getattr(numba.typeof(kind(1, 2.0)), "instance_class", None)
    assert found is kind, "losses/__init__.py and kernels/rows.py choose code by instance_class"


@pytest.mark.compiled
def test_numba_lowers_what_we_write_for_llvm():
    from llvmlite import ir

    for name in ("atomic_rmw", "cmpxchg", "gep", "load_atomic", "store_atomic"):
        assert hasattr(ir.IRBuilder, name), f"llvmlite has no {name}: kernels/_llvm.py"

    load()
    function = numba.njit(lambda matrix: prefetch(matrix, 0, 64))
    function(np.ones((2, 8)))
    (code,) = function.inspect_llvm().values()
    assert re.search(r"call void @llvm\.prefetch", code), (
        "the intrinsic of kernels/_llvm.py no longer asks for rows ahead"
    )


# --- dp-accounting ---------------------------------------------------------------------------


def _pld_epsilon(noise, relation, delta, rate=1.0):
    from dp_accounting.pld import privacy_loss_distribution as library

    once = library.from_gaussian_mechanism(
        noise,
        value_discretization_interval=1e-3,
        log_mass_truncation_bound=math.log(1e-12),
        sampling_prob=rate,
        neighboring_relation=relation,
    )
    whole = library.identity(1e-3).compose(once.self_compose(1, tail_mass_truncation=0.0))
    return whole.get_epsilon_for_delta(delta)


def test_dp_accounting_knows_the_relations_and_what_they_mean():
    import dp_accounting as dp

    near = dp.NeighboringRelation
    noise = gaussian_multiplier(1.0, 1e-5, Relation.ADD_REMOVE)  # exact to eight digits
    for relation, factor in (
        (near.ADD_OR_REMOVE_ONE, 1.0),
        (near.REPLACE_SPECIAL, 1.0),
        (near.REPLACE_ONE, 2.0),
    ):
        # Just below 1 the library takes its way for sampled releases, which must agree.
        for rate in (1.0, math.nextafter(1.0, 0.0)):
            found = _pld_epsilon(factor * noise, relation, 1e-5, rate)
            assert 1.0 - 1e-7 <= found <= 1.01, (
                f"dp-accounting means something else by the noise under {relation.name} at "
                f"rate {rate}: privacy/accounting.py"
            )


def test_dp_accounting_gives_the_divergences_at_the_orders_asked_for():
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant, compute_epsilon

    orders = [2, 32, 4]
    accountant = RdpAccountant(
        orders, neighboring_relation=dp.NeighboringRelation.REPLACE_SPECIAL
    )
    step = dp.PoissonSampledDpEvent(1.0, dp.GaussianDpEvent(2.0))
    accountant.compose(dp.SelfComposedDpEvent(step, 3))
    np.testing.assert_allclose(
        accountant.rdp, [3 * order / 8.0 for order in orders], rtol=1e-9,
        err_msg="RdpAccountant.rdp is not what privacy/accounting.py takes it for",
    )  # fmt: skip
    epsilon, order = compute_epsilon(orders, accountant.rdp, 1e-5)
    bounds = [3 * a / 8.0 + math.log(1e5) / (a - 1) for a in orders]
    assert order in orders
    assert 0.0 < epsilon <= min(bounds), "compute_epsilon returns something else"


# --- scikit-learn ----------------------------------------------------------------------------


class _Never(BaseEstimator):
    pass


def test_scikit_learn_can_note_shape_and_names_without_reading_cells():
    cells = pd.DataFrame({"a": ["x", None], "b": [math.nan, math.inf]})
    estimator = _Never()
    assert validate_data(estimator, cells, skip_check_array=True) is cells, (
        "validate_data(skip_check_array=True) reads or copies: estimators/validation.py calls "
        "it before the charge"
    )
    assert estimator.n_features_in_ == 2
    assert list(estimator.feature_names_in_) == ["a", "b"]


def test_scikit_learn_says_what_we_let_through():
    from dpscd.estimators import validation

    def said(call, *args, **kwargs):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is what is asked
            call(*args, **kwargs)
        return str(caught.value)

    named = pd.DataFrame({"a": [1.0], "b": [2.0]})
    fitted = _Never()
    validate_data(fitted, named, skip_check_array=True)
    other = {"reset": False, "skip_check_array": True}
    texts = [
        said(validate_data, fitted, named[["a"]], **other),
        said(validate_data, fitted, named.rename(columns={"b": "c"}), **other),
        said(check_classification_targets, np.array([0.5, 1.5])),
    ]
    for text in texts:
        assert any(
            re.fullmatch(pattern, text, flags=re.DOTALL) for pattern, _ in validation._HARMLESS
        ), f"scikit-learn now says {text!r}: users would see a vaguer text instead"


# What scikit-learn's own fit notes besides, and no prediction needs.
UNUSED = {"solver_"}


@pytest.mark.parametrize("kind", ["ridge", "logistic", "svm"])
def test_scikit_learn_keeps_what_it_learnt_under_the_names_that_we_fill_in(kind):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(60, 2))
    two = (X[:, 0] > 0).astype(int)
    model = {
        "ridge": lambda: DPRidge(y_bounds=(-1, 1), epochs=1).fit(X, X[:, 0]),
        "logistic": lambda: DPLogisticRegression(classes=[0, 1], epochs=1).fit(X, two),
        "svm": lambda: DPLinearSVC(classes=[0, 1], epochs=1).fit(X, two),
    }[kind]()
    ours = to_sklearn(model)
    # The bare model is in what clips its predictions, or has another link.
    ours = getattr(ours, "regressor_", getattr(ours, "classifier_", ours))
    theirs = type(ours)().fit(X, X[:, 0] if kind == "ridge" else two)

    def learnt(plain):
        own = {"privacy_statement_"}  # ours to say, theirs never
        return {name for name in vars(plain) if name.endswith("_")} - own

    assert learnt(theirs) - learnt(ours) <= UNUSED, "estimators/interop.py fills in too little"
    assert learnt(ours) <= learnt(theirs), "estimators/interop.py fills in what is no more"
    for name in learnt(theirs) & learnt(ours):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name)), name


def test_scikit_learn_has_the_tags_that_we_set():
    tags = BaseEstimator().__sklearn_tags__()
    assert hasattr(tags, "non_deterministic"), "estimators/base.py"
    assert hasattr(tags.input_tags, "sparse"), "estimators/base.py"


# --- Dask ------------------------------------------------------------------------------------


def test_dask_has_the_parts_below_its_collections():
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    import dask.array as da
    from dask.local import get_sync
    from dask.optimization import cull

    for place in ("scheduler", "worker"):
        key = f"distributed.{place}.http.routes"
        assert dask.config.get(key), f"Dask has no setting {key}: distributed/collections.py"
    array = da.ones((4, 2), chunks=(2, 2))
    assert array._meta.ndim == 2, "distributed/collections.py asks _meta for the kind of rows"
    name = array.__dask_keys__()[0][0]
    graph, _ = cull(dict(array.__dask_graph__()), [name])
    assert len(graph) < len(dict(array.__dask_graph__())), "cull keeps what is not needed"
    assert get_sync(graph, name).shape == (2, 2), "distributed/collections.py follows recipes"
