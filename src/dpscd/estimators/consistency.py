"""Whether the parts of a model file agree: parameters, card, classes, shapes and noise.

Everything is compared with, or recomputed from, numbers that the file itself holds; nothing
asks what today's planning would choose. Whoever changes all parts consistently writes a file
of their own, which only a signature tells: docs/reference/card.md.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.cards.card import PrivacyCard
from dpscd.cards.statements import ENGINE_FACTS, FACTS, PERSON_FACTS, PRIVATE_FACTS, agrees
from dpscd.errors import ModelFileError
from dpscd.estimators.plain_values import floats_from_plain
from dpscd.information import is_robust, released_size
from dpscd.losses import Loss, rescaled
from dpscd.plan import shared_noise
from dpscd.planning import RULE, default_delta
from dpscd.problem import Problem
from dpscd.releases.calibration import Calibration
from dpscd.releases.level import Level
from dpscd.releases.rescaling import SLOPES
from dpscd.standard import Standard

__all__ = [
    "After",
    "after_of",
    "check_information",
    "check_noise",
    "check_parameters",
    "check_public",
    "runs_of",
    "runs_to_dict",
]

Floats = npt.NDArray[np.float64]

# Releases after training that shift the intercept; a model has one of them at most.
_SHIFTS = (Calibration, Level)

_TABLE = {"target", "schema", "read_from_data", "released_bounds"}
_VERSIONS = {"dpscd", "dp-accounting"}


def check_public(card: PrivacyCard, *, own: Set[str], table: bool) -> None:
    """Refuse a card that does not state what its kind of model states, and nothing else.

    The card is verified; `own` is what this kind of model states besides what all do.
    """
    public = card.public
    expected = FACTS | own
    expected |= (PRIVATE_FACTS if card.private else set()) | (_TABLE if table else set())
    expected |= PERSON_FACTS if card.protected.is_person else set()
    expected |= ENGINE_FACTS if "engine" in public else set()
    if set(public) - {"dataset"} != expected or set(card.versions) != _VERSIONS:
        raise ModelFileError("its card states other facts than a card of such a model.")
    if not isinstance(public.get("dataset", ""), str):
        raise ModelFileError("its card states a data set that is no name.")
    if not table and any(x.what == "bounds" for x in card.releases):
        raise ModelFileError("its card lists bounds of columns, but it has no table.")
    if not table and card.protected.person is not None:
        raise ModelFileError("its card names a column of persons, but it has no table.")
    if public["rule"] != RULE:
        raise ModelFileError("it was planned by a rule that this version does not know.")


def check_parameters(
    parameters: Mapping[str, Any], card: PrivacyCard, classes: Any, own: Mapping[str, Any]
) -> None:
    """Refuse an estimator's parameters that do not fit the card.

    The card is verified, with the facts of :func:`check_public`; `own` is what a model with
    these parameters states besides what all do. A regression has no classes.
    """
    public = card.public
    for name, stated in _stated(parameters, card):
        if parameters[name] != stated:
            raise ModelFileError(f"its parameter {name} does not fit its card.")
    _check_plan(parameters, card)
    _check_standardise(parameters, card)
    if classes is None:
        for name, stated in own.items():
            if public[name] != stated:
                raise ModelFileError(f"its parameter {name} does not fit its card.")
        return
    declared = parameters["classes"]
    origin = "the labels in y" if declared is None else "declared"
    if public["classes"] != classes or public["classes_from"] != origin:
        raise ModelFileError("its classes do not fit its card.")
    if declared is not None and set(declared) != set(classes):
        raise ModelFileError("its parameter classes does not fit its classes.")
    weights = {str(x): float(w) for x, w in (parameters["class_weight"] or {}).items()}
    if weights != public["class_weight"]:
        raise ModelFileError("its parameter class_weight does not fit its card.")


def _stated(parameters: Mapping[str, Any], card: PrivacyCard) -> list[tuple[str, Any]]:
    """Return the parameters that a card states too, with what it says of them."""
    public = card.public
    auto, target = default_delta(public["n"]), card.fit_target
    if parameters["delta"] == "auto" and target.delta != auto:
        raise ModelFileError("its delta is not the one of its number of records.")
    found = [
        ("epsilon", target.epsilon),
        ("relation", card.relation.value),
        ("row_bound", public["row_bound"]),
        ("fit_intercept", public["intercept"] > 0.0),
    ]
    if parameters["delta"] != "auto":
        found.append(("delta", target.delta))
    if parameters["n"] is not None:
        found.append(("n", public["n"]))
    if parameters["lam"] != "auto":
        found.append(("lam", public["lam"]))
    if parameters["intercept_scaling"] != "auto" and parameters["fit_intercept"]:
        found.append(("intercept_scaling", public["intercept"]))
    if "engine" in parameters:
        found.append(("engine", public.get("engine", "numba")))
    if card.protected.is_person:
        found += [(name, public[name]) for name in sorted(PERSON_FACTS)]
    return found


def _check_plan(parameters: Mapping[str, Any], card: PrivacyCard) -> None:
    """Refuse numbers of the plan that are not those that were asked for."""
    if not card.private:
        return
    epochs, lot_size = parameters["epochs"], parameters["lot_size"]
    good = lot_size == "auto" or agrees(card.public["lot_size"], lot_size)
    if epochs != "auto":  # up to the next whole number of lots, or rounding to one more
        more = card.public["epochs"] - epochs
        good = good and -1e-9 * epochs <= more <= card.rate + 1e-9 * epochs
    if parameters["travel"] != "auto" and not card.public["standardised"]:
        good = good and agrees(card.travel, parameters["travel"])
    if not good:
        raise ModelFileError("its epochs, lot size or travel are not those of its card.")


def _check_standardise(parameters: Mapping[str, Any], card: PrivacyCard) -> None:
    """Refuse moments that were not asked for, and their absence where they were."""
    asked = parameters["standardise"]
    if asked == "auto" and "auto" == parameters["lam"] == parameters["intercept_scaling"]:
        return  # either may be: what follows from it is checked with the noise
    if card.public["standardised"] != (asked is True and card.private):
        raise ModelFileError("its parameter standardise does not fit its card.")


def runs_to_dict(runs: Sequence[Problem]) -> dict[str, Any]:
    """Return what the noise of a model is computed from, as plain JSON values.

    The models of `runs` were added up; the runs share their map of rows.

    Notes
    -----
    Guarantee: all of it was computed from releases that the card lists, so it is public.
    """
    found = runs[-1].standard
    return {
        "standard": None
        if found is None
        else {
            "centre": found.centre.tolist(),
            "scale": found.scale.tolist(),
            "direction": found.direction.tolist(),
            "shrink": found.shrink,
        },
        "runs": [
            {"lam": float(run.lam), "label_scale": float(run.label_scale)} for run in runs
        ],
    }


def runs_of(
    training: Any, card: PrivacyCard, loss: Loss, outputs: int, unit: float
) -> tuple[Problem, ...]:
    """Return the problems that :func:`runs_to_dict` wrote, or raise ModelFileError.

    The card is verified, with the facts of :func:`check_public`. `loss` is for labels in the
    user's units, `unit` the label scale before anything was released: 1 for a classifier.
    """
    public = card.public
    standard = _standard_of(training["standard"], public)
    runs = training["runs"]
    if any(set(run) != {"lam", "label_scale"} for run in runs):
        raise ModelFileError("its training is malformed.")
    trainings = [x for x in card.releases if x.what == "shared vector"]
    if not 1 <= len(runs) <= max(1, len(trainings)):
        raise ModelFileError("it was not trained as often as its card lists.")
    scales = floats_from_plain([run["label_scale"] for run in runs]).tolist()
    released = any(x.what == "label spread" for x in card.releases)
    good = scales == [unit] if not released else unit >= scales[0] > 0.0
    if len(runs) > 1:
        good = good and scales[0] > scales[1] > 0.0
    if not good or floats_from_plain([run["lam"] for run in runs])[-1] != public["lam"]:
        raise ModelFileError("its lam or its label scale does not fit its card.")
    first = Problem(
        loss=rescaled(loss, unit),
        lam=public["lam"],
        n=public["n"],
        d=public["d"],
        outputs=outputs,
        row_bound=public["row_bound"],
        constant=public["intercept"],
        label_scale=unit,
        standard=standard,
    )
    if not released:
        return (first,)
    return tuple(
        replace(first, lam=float(run["lam"])).with_labels(0.0, scale)
        for run, scale in zip(runs, scales, strict=True)
    )


def _standard_of(values: Any, public: Mapping[str, Any]) -> Standard | None:
    """Return the map of rows in a file, which is there if features were standardised."""
    if (values is not None) != public["standardised"]:
        raise ModelFileError("its map of rows does not fit its card.")
    if values is None:
        return None
    if set(values) != {"centre", "scale", "direction", "shrink"}:
        raise ModelFileError("its map of rows is malformed.")
    vectors = [floats_from_plain(values[name]) for name in ("centre", "scale", "direction")]
    centre, scale, direction = vectors
    shrink = float(floats_from_plain(values["shrink"]))
    good = all(x.shape == (public["d"],) and bool(np.isfinite(x).all()) for x in vectors)
    good = good and bool((scale >= 0.0).all()) and 0.0 <= shrink < 1.0
    # A feature that is left out is so in every part.
    good = good and not centre[scale == 0.0].any() and not direction[scale == 0.0].any()
    # Rows are centred with an intercept, and turned without.
    unused = direction if public["intercept"] > 0.0 else centre
    if not good or unused.any() or (shrink and not agrees(float(direction @ direction), 1.0)):
        raise ModelFileError("its map of rows is malformed.")
    return Standard(centre, scale, direction, shrink)


class After(NamedTuple):
    """What releases after training gave, as of a :class:`~dpscd.problem.Model`."""

    curvature: float
    longest_row: float
    slope: float


def after_of(training: Any, card: PrivacyCard) -> After:
    """Return what releases after training gave, or raise ModelFileError.

    The card is verified, with the facts of :func:`check_public`.
    """
    listed = {x.what: x for x in card.releases}
    curvature, longest, slope = (training[x] for x in ("curvature", "longest_row", "slope"))
    good = type(curvature) is float and (longest is None or type(longest) is float)
    shifted = [kind for kind in _SHIFTS if kind.what in listed]
    for kind in shifted if good else ():
        release = listed[kind.what]
        least = kind.least_curvature(release.event.noise_multiplier, release.n)
        good = least <= curvature <= kind.steepest
    good = good and (bool(shifted) or curvature == 0.0)
    if longest is not None:
        good = good and "long rows" in listed and longest == card.public["row_bound"]
    good = good and type(slope) is float
    good = good and (
        slope == 1.0
        or (bool({"rescaling", "steepness"} & set(listed)) and SLOPES[0] <= slope <= SLOPES[1])
    )
    if not good:
        raise ModelFileError("what was released after its training does not fit its card.")
    return After(curvature, math.inf if longest is None else longest, slope)


def check_information(card: PrivacyCard, asked: Any, values: Any) -> None:
    """Refuse numbers for intervals that do not fit the card, or their absence.

    `asked` is the parameter `inference`, `values` are the model inside and the released sums.
    """
    listed = [x for x in card.releases if x.what == "information"]
    public = card.public
    good = (values is not None) == bool(listed) == bool(asked)
    if good and listed:
        width = public["d"] + int(public["intercept"] > 0.0)
        logistic = "classes" in public
        robust = is_robust(asked, width, logistic=logistic, persons=card.protected.is_person)
        size = released_size(width, logistic=logistic, robust=robust)
        sizes = {"theta": width, "start": width, "sums": size}
        good = listed[0].size == size and set(values) == set(sizes)
        for name in sizes if good else ():
            numbers = floats_from_plain(values[name])
            good = good and numbers.shape == (sizes[name],)
            good = good and bool(np.isfinite(numbers).all())
    if not good:
        raise ModelFileError("what its intervals are computed from does not fit its card.")


def check_noise(
    runs: Sequence[Problem],
    card: PrivacyCard,
    coef: Floats,
    intercept: Floats,
    after: After,
) -> None:
    """Refuse a noise of coefficients and intercepts that is not the one of the card's releases.

    `runs` and `after` are those of :func:`runs_of` and :func:`after_of`.
    """
    if not card.private:
        if coef.any() or intercept.any():
            raise ModelFileError("it states noise, but was trained without.")
        return
    # A pilot that was listed but not used adds nothing.
    releases = [x for x in card.releases if x.what == "shared vector"][-len(runs) :]
    parts = []
    with np.errstate(all="ignore"):
        for run, x in zip(runs, releases, strict=True):
            shared = shared_noise(
                x.clip, x.event.noise_multiplier, x.event.steps, card.public["averaging"]
            )
            parts.append(run.model(np.zeros((run.outputs, run.width)), shared))
        found = reduce(np.hypot, (np.asarray(part.coef_noise) for part in parts))
        constant = reduce(np.hypot, (np.asarray(part.intercept_noise) for part in parts))
        found, constant = after.slope * found, after.slope * constant
        for kind in _SHIFTS if after.curvature else ():
            for x in (x for x in card.releases if x.what == kind.what):
                own = kind.shift_noise(x.event.noise_multiplier, x.n, after.curvature)
                constant = np.hypot(constant, own)
    for stated, expected in ((coef, found), (intercept, constant)):
        if not np.allclose(stated, expected.reshape(stated.shape), rtol=1e-9, atol=0.0):
            raise ModelFileError("the noise of its coefficients is not that of its releases.")
