"""Model files: plain JSON with a checksum, nothing executable and nothing per record.

A file holds the coefficients and the noise in them, the classes, the names of the features,
the parameters of the estimator except `random_state`, `ledger` and `dataset`, the released
numbers from which the noise is computed, the link of a logistic regression, and the privacy
card. When a file is read, all of it is compared: :mod:`dpscd.estimators.consistency`.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpscd.atomic import atomic_write
from dpscd.cards.card import PrivacyCard
from dpscd.errors import DpscdError, ModelFileError
from dpscd.estimators.consistency import (
    after_of,
    check_information,
    check_noise,
    check_parameters,
    check_public,
    runs_of,
    runs_to_dict,
)
from dpscd.estimators.intervals import model_numbers
from dpscd.estimators.plain_values import (
    floats_from_plain,
    from_plain,
    labels_from_plain,
    labels_to_plain,
    to_plain,
)
from dpscd.inference import coefficient_map
from dpscd.link import Link
from dpscd.privacy.strict_json import read_json

__all__ = ["read_content", "read_model", "write_model"]

_FORMAT = 1
# Parameters that stay behind: a seed must be secret, and a path belongs to one machine.
_LOCAL = ("random_state", "ledger", "dataset")
_LARGEST = 2**31  # bytes; a linear model is far smaller
_FIELDS = {
    "format", "type", "parameters", "coef", "intercept", "coef_noise", "intercept_noise",
    "classes", "features", "card", "checksum", "training", "link",
}  # fmt: skip
_TRAINING = {"standard", "runs", "curvature", "longest_row", "slope", "information"}


def write_model(
    model: Any, path: str | os.PathLike[str], table: dict[str, Any] | None = None
) -> None:
    """Write a fitted model; the file appears whole or not at all.

    `table` has the schema and the released bounds of a model of tables.
    """
    parameters = model.get_params(deep=False)
    for local in _LOCAL:
        del parameters[local]
    longest = getattr(model, "longest_row_", math.inf)
    link = getattr(model, "link_", None)
    values: dict[str, Any] = {
        "format": _FORMAT,
        "type": type(model).__name__,
        "parameters": {name: to_plain(value) for name, value in parameters.items()},
        "coef": np.asarray(model.coef_).tolist(),
        "intercept": np.asarray(model.intercept_).tolist(),
        "coef_noise": np.asarray(model.coef_noise_).tolist(),
        "intercept_noise": np.asarray(model.intercept_noise_).tolist(),
        "classes": labels_to_plain(model.classes_) if hasattr(model, "classes_") else None,
        "features": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "card": json.loads(model.privacy_.to_json()),
        "training": {
            **runs_to_dict(model._runs),
            "curvature": float(model._curvature),
            "longest_row": float(longest) if longest < math.inf else None,
            "slope": float(model._slope),
            "information": _information(model),
        },
        "link": None if link is None else link.to_dict(),
    }
    if table is not None:
        values["table"] = table
    values["checksum"] = _checksum(values)
    text = json.dumps(values, indent=1, allow_nan=False)
    _check_readable(text, type(model))
    with atomic_write(path) as file:
        file.write(text)


def _check_readable(text: str, family: type) -> None:
    """Refuse to write what could not be read: parameters that are not those of the fit."""
    try:
        _restored(read_json(text.encode()), {family.__name__: family})
        return
    except DpscdError as error:
        problem = str(error)
    raise ModelFileError(
        f"the model cannot be saved: {problem} If its parameters were changed since it was "
        "trained, set them back or train it again."
    )


def read_content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that is no larger than a model can be."""
    source = Path(path)
    with source.open("rb") as file:
        if os.fstat(file.fileno()).st_size > _LARGEST:
            raise ModelFileError(f"{source.name} is too large to be a model file.")
        return file.read()


def read_model(
    name: str,
    content: bytes,
    types: dict[str, type],
    table_of: Callable[[Any, dict[str, Any]], Any],
) -> Any:
    """Return the model that :func:`write_model` wrote, or raise ModelFileError.

    `types` are the estimators that a file may contain, by name; `table_of` makes a model of
    tables from an estimator and what the file says of its table.
    """
    try:
        values = read_json(content)
        model = _restored(values, types)
        return table_of(model, values["table"]) if "table" in values else model
    except DpscdError as error:
        problem = str(error)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        problem = "it is malformed."
    except (RecursionError, MemoryError):
        problem = "it is malformed."
    raise ModelFileError(f"{name} is not a usable model file: {problem}")


def _restored(values: Any, types: dict[str, type]) -> Any:
    _check_fields(values)
    if values["checksum"] != _checksum(values):
        raise ModelFileError("its checksum does not match: it was changed or cut.")
    if values["type"] not in types:
        raise ModelFileError(f"it is not one of {', '.join(sorted(types))}.")
    card = PrivacyCard.from_json(json.dumps(values["card"]))
    card.verify()
    parameters = {name: from_plain(value) for name, value in values["parameters"].items()}
    family = types[values["type"]]
    if set(parameters) != set(family().get_params(deep=False)) - set(_LOCAL):
        raise ModelFileError("its parameters are not those of its type.")
    model = family(**parameters)
    model._check_parameters()
    _fill(model, values, card)
    _check_agreement(model, values, parameters)
    return model


def _check_fields(values: Any) -> None:
    """Refuse a file of another format, or with other fields than this one has."""
    number = values.get("format") if isinstance(values, dict) else None
    if type(number) is int and number != _FORMAT:
        raise ModelFileError(
            f"it has format {number}, but this version of dpscd reads format {_FORMAT}: load "
            "it with the version that wrote it."
        )
    if type(number) is not int or set(values) - {"table"} != _FIELDS:
        raise ModelFileError("it has other fields than a model of this version.")


def _fill(model: Any, values: dict[str, Any], card: PrivacyCard) -> None:
    """Give an estimator what its file says it has learnt."""
    coef = floats_from_plain(values["coef"])
    intercept = floats_from_plain(values["intercept"])
    width = card.public["d"]
    classes = values["classes"]
    if (classes is None) != (not model._kind.classifies):
        raise ModelFileError("its classes do not fit its type.")
    if classes is None:
        good = coef.shape == (width,) and intercept.shape == ()
    else:
        model.classes_ = labels_from_plain(classes)
        outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
        good = coef.shape == (outputs, width) and intercept.shape == (outputs,)
    features = values["features"]
    if features is not None:
        good = good and len(features) == width and all(isinstance(x, str) for x in features)
        model.feature_names_in_ = np.array(features, dtype=object)
    if not (good and np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ModelFileError("its coefficients do not fit its card.")
    model.coef_ = coef
    model.intercept_ = float(intercept) if classes is None else intercept
    model.coef_noise_ = _noise(values["coef_noise"], coef)
    intercept_noise = _noise(values["intercept_noise"], intercept)
    model.intercept_noise_ = float(intercept_noise) if classes is None else intercept_noise
    model.n_features_in_ = width
    model.privacy_ = card
    if not hasattr(model, "predict_proba"):
        good = values["link"] is None
    else:
        model.link_ = Link.from_dict(values["link"])
        good = model.link_.is_sigmoid or (len(model.classes_) == 2 and card.private)
    if not good:
        raise ModelFileError("its link does not fit its type.")


def _check_agreement(model: Any, values: dict[str, Any], parameters: dict[str, Any]) -> None:
    """Refuse a file whose parts contradict each other, and note how the model was trained."""
    card, classes = model.privacy_, values["classes"]
    declared = None if classes is None else np.asarray(classes["values"])
    meaning = model._labels(declared)
    own = model._public(meaning, getattr(model, "classes_", None))
    check_public(card, own=set(own), table="table" in values)
    check_parameters(parameters, card, None if classes is None else classes["values"], own)
    if not card.public["intercept"] and np.any(model.intercept_):
        raise ModelFileError("it has an intercept, but was trained without.")
    outputs = len(np.atleast_2d(model.coef_))
    unit = meaning.scaling(centred=bool(model.fit_intercept))[1]
    training = values["training"]
    if set(training) != _TRAINING:
        raise ModelFileError("its training is malformed.")
    runs = runs_of(training, card, model._loss_of(meaning), outputs, unit)
    after = after_of(training, card)
    kind = model._kind
    if after.curvature and not (kind.gives_chances or kind.task == "counts"):
        raise ModelFileError("its card lists a calibration, but it has no probabilities.")
    if after.slope != 1.0 and not (kind.predicts_means or kind.gives_chances):
        raise ModelFileError("its card lists a rescaling, but it predicts no means.")
    noise = np.asarray(model.intercept_noise_)
    check_noise(runs, card, model.coef_noise_, noise, after)
    model._runs, model._curvature, model._slope = runs, after.curvature, after.slope
    if classes is None:
        model.longest_row_ = after.longest_row
    _restore_information(model, training["information"])
    unseen = model.unseen_features()
    if np.atleast_2d(model.coef_)[:, unseen].any() or (unseen.any() and "table" not in values):
        raise ModelFileError("it has coefficients that its map of rows leaves out.")


def _information(model: Any) -> dict[str, Any] | None:
    """Return what intervals are computed from, all of it released; None if there are none."""
    if not hasattr(model, "_information"):
        return None
    return {
        "theta": model._theta.tolist(),
        "start": model._start.tolist(),
        "sums": model._information.tolist(),
    }


def _restore_information(model: Any, values: Any) -> None:
    """Give a model what its intervals are computed from, or refuse what does not fit."""
    asked = getattr(model, "inference", False)
    check_information(model.privacy_, asked, values)
    if values is None:
        return
    for name, number in (("_theta", "theta"), ("_start", "start"), ("_information", "sums")):
        setattr(model, name, floats_from_plain(values[number]))
    moved = coefficient_map(model._runs[-1]) @ model._theta
    own = model_numbers(model)[: len(moved)]
    piloted = len(model._runs) > 1
    if not np.allclose(
        model._start + moved, own, rtol=1e-9, atol=1e-12 * np.abs(own).max()
    ) or (not piloted and np.abs(model._start[: model.n_features_in_]).max() > 1e-9):
        raise ModelFileError("what its intervals are computed from does not fit its model.")


def _noise(values: Any, like: Any) -> Any:
    noise = floats_from_plain(values)
    if noise.shape != like.shape or not (noise >= 0.0).all() or np.isinf(noise).any():
        raise ModelFileError("its noise does not fit its coefficients.")
    return noise


def _checksum(values: dict[str, Any]) -> str:
    content = {name: value for name, value in values.items() if name != "checksum"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
