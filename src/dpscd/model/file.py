"""Files of fits: plain JSON with a checksum, nothing executable and nothing per record."""

import hashlib
import json
import math
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from dpscd.atomic import atomic_write
from dpscd.errors import ModelFileError
from dpscd.link import Link
from dpscd.model.card import PrivacyCard
from dpscd.model.fit import Fit, Numbers
from dpscd.model.plain import (
    array_from_plain,
    array_to_plain,
    count_of,
    from_plain,
    plan_to_plain,
    read_json,
    refused,
    to_plain,
    typed,
)
from dpscd.releases.score import Estimate
from dpscd.scores.registry import ScoreFacts

#: Parameters that stay behind: a seed must be secret, and a path belongs to one machine.
LOCAL = ("random_state", "ledger", "dataset")

#: Parameters that a plan states.
PLANNED = ("epsilon", "relation")

_LEFT_OUT = (*LOCAL, *PLANNED)

_FORMAT = 2
_LARGEST = 2**31  # bytes; a linear model is far smaller
_MOST_FEATURES = 2**31
_ARRAYS = ("coef", "intercept", "coef_noise", "intercept_noise")


def fit_to_text(fit: Fit) -> str:
    """Return a fit as the text of its file."""
    parameters = {name: x for name, x in fit.parameters.items() if name not in _LEFT_OUT}
    values: dict[str, Any] = {
        "format": _FORMAT,
        "estimator": fit.estimator,
        "parameters": {name: to_plain(value) for name, value in parameters.items()},
        "features": None if fit.features is None else list(fit.features),
        "plan": plan_to_plain(fit.plan),
        "seeded": fit.seeded,
        "versions": fit.versions,
        "search": None if fit.search is None else fit.search.to_dict(),
        "answers": [array_to_plain(answer) for answer in fit.answers],
        "numbers": _numbers_to_plain(fit.numbers),
    }
    values["checksum"] = _checksum(values)
    return json.dumps(values, indent=1, allow_nan=False)


def write_fit(fit: Fit, path: str | os.PathLike[str]) -> None:
    """Write a fit; the file appears whole or not at all."""
    text = fit_to_text(fit)
    with atomic_write(path) as file:
        file.write(text)


def read_content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that is no larger than a fit can be."""
    source = Path(path)
    with source.open("rb") as file:
        if os.fstat(file.fileno()).st_size > _LARGEST:
            raise ModelFileError(f"{source.name} is too large to be a model file.")
        return file.read()


def fit_from_bytes(name: str, content: bytes) -> Fit:
    """Return the verified fit that :func:`write_fit` wrote, or raise ModelFileError.

    `content` is untrusted; `name` is that of its file.
    """
    with refused(ModelFileError, "it is malformed.", name):
        fit = _fit(read_json(content))
        fit.verify()
        return fit
    raise AssertionError  # pragma: no cover - `refused` returns nothing else


def _fit(values: Any) -> Fit:
    number = values.get("format") if isinstance(values, dict) else None
    if type(number) is not int:
        raise ModelFileError("it is not a model written by dpscd.")
    if number != _FORMAT:
        raise ModelFileError(
            f"it has format {number}, but this version of dpscd reads format {_FORMAT}: load "
            "it with the version that wrote it."
        )
    values = dict(values)
    if values.pop("checksum") != _checksum(values):
        raise ModelFileError("its checksum does not match: it was changed or cut.")
    del values["format"]
    own = {
        name: values.pop(name)
        for name in ("estimator", "parameters", "features", "answers", "numbers")
    }
    card = PrivacyCard.from_plain(values)
    features, width = own["features"], getattr(card.facts, "d", 0)
    named = features is None or (type(features) is list and len(features) == width)
    if width > _MOST_FEATURES or not (named and all(type(x) is str for x in features or ())):
        raise ModelFileError("its features are not those of its plan.")
    if type(own["estimator"]) is not str:
        raise ModelFileError("it names no estimator.")
    return Fit(
        card.plan,
        tuple(array_from_plain(answer) for answer in own["answers"]),
        _numbers(own["numbers"], card),
        own["estimator"],
        {name: from_plain(value) for name, value in own["parameters"].items()},
        None if features is None else tuple(features),
        card.seeded,
        card.versions,
        card.search,
    )


def _numbers_to_plain(numbers: Numbers | Estimate) -> dict[str, Any]:
    if isinstance(numbers, Estimate):
        return {name: _ends(value) for name, value in vars(numbers).items()}
    unseen = None if numbers.unseen is None else np.flatnonzero(numbers.unseen).tolist()
    return {
        **{name: array_to_plain(getattr(numbers, name)) for name in _ARRAYS},
        "longest_row": None if math.isinf(numbers.longest_row) else numbers.longest_row,
        "link": None if numbers.link is None else asdict(numbers.link),
        "means": None if numbers.means is None else array_to_plain(numbers.means),
        "unseen": unseen,
        "bounds": [list(pair) for pair in numbers.bounds],
    }


def _ends(value: Any) -> Any:
    """Return numbers of an estimate as JSON has them, an end without bound as None."""
    if isinstance(value, list):
        return [_ends(part) for part in value]
    return value if math.isfinite(value) else None


def _estimate(values: Any) -> Estimate:
    names = [f.name for f in fields(Estimate)]
    if set(values) != set(names):
        raise ModelFileError("its numbers are not those of a score.")

    def read(value: Any, end: float) -> Any:
        if isinstance(value, list):
            return [read(part, end) for part in value]
        if value is not None and type(value) is not float:
            raise ModelFileError("it has something else in the place of a number.")
        return end if value is None else value

    ends = {name: -math.inf if name.endswith("low") else math.inf for name in names}
    return Estimate(**{name: read(values[name], end) for name, end in ends.items()})


def _numbers(values: Any, card: PrivacyCard) -> Any:
    if isinstance(card.facts, ScoreFacts):
        return _estimate(values)
    own, facts = dict(values), card.facts
    arrays = {name: array_from_plain(own.pop(name)) for name in _ARRAYS}
    longest, link, means, unseen, bounds = (
        own.pop(x) for x in ("longest_row", "link", "means", "unseen", "bounds")
    )
    if own or [x.shape for x in arrays.values()] != 2 * [
        (facts.outputs, facts.d),
        (facts.outputs,),
    ]:
        raise ModelFileError("its numbers are not those of a model with its features.")
    if longest is not None and not (type(longest) is float and longest > 0.0):
        raise ModelFileError("its longest row must be a positive number.")
    means = None if means is None else array_from_plain(means)
    hidden = None if unseen is None else np.zeros(facts.d, dtype=bool)
    if hidden is not None:
        hidden[[count_of(x) for x in unseen]] = True
    if means is not None and means.shape != (facts.d,):
        raise ModelFileError("its means are not those of its features.")
    return Numbers(
        **arrays,
        longest_row=math.inf if longest is None else longest,
        link=None if link is None else typed(Link, link).checked(),
        means=means,
        unseen=hidden,
        bounds=tuple((low, high) for low, high in array_from_plain(bounds).tolist()),
    )


def _checksum(values: dict[str, Any]) -> str:
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
