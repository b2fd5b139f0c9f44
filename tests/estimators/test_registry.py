"""Every place that speaks of models follows the registry."""

import inspect
from typing import get_args

import numpy as np
import pytest

import dpscd
from dpscd import losses
from dpscd.cli.audit import audit
from dpscd.cli.fit import fit
from dpscd.documents.described import Described
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.interop import to_sklearn
from dpscd.estimators.registry import MODELS, kind_called, usual_kind

every_kind = pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.name)


def fitted(kind):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(60, 2))
    own = {"classes": [0, 1]} if kind.classifies else {"y_bounds": (0, 2)}
    model = kind.estimator(epsilon=float("inf"), lam=0.1, **own)
    return model.fit(X, (X[:, 0] > 0).astype(int)), X


def test_names_and_types_are_those_of_one_row_each():
    for field in ("name", "type", "words"):
        assert len({getattr(kind, field) for kind in MODELS}) == len(MODELS)


def test_every_estimator_is_registered():
    def grown(family):
        return {family, *(x for child in family.__subclasses__() for x in grown(child))}

    known = {kind.estimator for kind in MODELS}
    found = {x for x in grown(DPLinearModel) if x.__module__.startswith("dpscd.")}
    assert {x for x in found if not inspect.isabstract(x) and x.__name__ in dir(dpscd)} == known


@every_kind
def test_a_row_is_found_by_name_class_instance_and_subclass(kind):
    child = type("Child", (kind.estimator,), {})
    assert kind_called(kind.name) is kind
    assert kind.estimator.kind is kind.estimator().kind is child.kind is kind


@every_kind
def test_kinds_with_intervals_take_inference(kind):
    names = inspect.signature(kind.estimator).parameters
    assert kind.has_intervals == ("inference" in names) == hasattr(kind.estimator, "conf_int")


def test_the_usual_kinds_are_logistic_and_ridge():
    assert [usual_kind(classifies=x).name for x in (True, False)] == ["logistic", "ridge"]


def test_the_command_line_knows_the_registered_models():
    names = [kind.name for kind in MODELS]
    audited = [kind.name for kind in MODELS if kind.task != "counts"]
    for verb, expected in ((fit, ["auto", *names]), (audit, ["all", *audited])):
        kinds = inspect.signature(verb).parameters["model"].annotation
        assert [x.value for x in get_args(kinds)[0]] == expected


@every_kind
def test_loss_report_file_and_export_follow_its_row(kind, tmp_path):
    model, X = fitted(kind)
    assert type(model.fit_.plan.facts.problem(1.0).loss) is getattr(losses, kind.loss)
    assert model.fit_.plan.facts.task == kind.task
    subject = Described(model)
    assert subject.kind is kind
    assert subject.regression != kind.classifies
    model.save(tmp_path / "model.json")
    assert type(dpscd.load(tmp_path / "model.json")) is kind.estimator
    plain = to_sklearn(model)
    # What is clipped is in a regression around the bare one.
    assert type(getattr(plain, "regressor_", plain)).__name__ == kind.type.removeprefix("DP")
    np.testing.assert_allclose(plain.predict(X), model.predict(X), rtol=1e-12)
