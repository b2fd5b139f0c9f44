"""Plans, arrays and parameters as plain values of JSON, and back from untrusted ones."""

import base64
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin

import numpy as np
import numpy.typing as npt

from dpscd.errors import CardError, DpscdError, ModelFileError
from dpscd.persons import PersonFacts
from dpscd.planning.facts import Facts
from dpscd.planning.plan import Plan
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.relation import PrivacyTarget
from dpscd.records.encoding import schema_facts
from dpscd.records.labels import ClassLabels, CountLabels, NumberLabels
from dpscd.releases.base import Release
from dpscd.releases.bounds import Bounds
from dpscd.releases.information import Information
from dpscd.releases.moments import LabelMean, LabelSpread, Moments, ResidualSpread
from dpscd.releases.probability import Calibration, Level, Steepness
from dpscd.releases.rescaling import LongRows, Rescaling
from dpscd.releases.score import Score
from dpscd.releases.training import Pilot, Training
from dpscd.scores.registry import ScoreFacts

Floats = npt.NDArray[np.float64]

# All kinds of releases of a fit, in the order in which it makes them.
KINDS: tuple[type[Release], ...] = (
    Bounds,
    Moments,
    LabelMean,
    LabelSpread,
    Pilot,
    ResidualSpread,
    Training,
    Steepness,
    Level,
    Calibration,
    LongRows,
    Rescaling,
    Information,
)

_RELEASES = {kind.__name__: kind for kind in KINDS}
_OF_SCORES = {Score.__name__: Score}
_LABELS = {kind.__name__: kind for kind in (ClassLabels, NumberLabels, CountLabels)}
_KINDS_OF_CLASSES = (bool, int, float, str)
_LONGEST = 300  # text of an error, which may quote what is read
_FEW = 64  # numbers that are written one by one; more as the bytes of all


@contextmanager
def refused(kind: type[DpscdError], words: str, name: str = "") -> Iterator[None]:
    """Raise one error of this kind, without a cause, whatever is wrong with what is read."""
    try:
        yield
        return
    except DpscdError as error:
        said = " ".join(str(error).split())  # on one line
        problem = said if len(said) < _LONGEST else words
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        problem = words
    except (RecursionError, MemoryError):
        problem = words
    raise kind(f"{name} is not a usable model file: {problem}" if name else problem) from None


def plan_to_plain(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON has it; what releases share is written once."""
    return {
        "target": plan.target.to_dict(),
        "facts": _facts_to_plain(plan.facts),
        "releases": [
            {"release": type(one).__name__, **_written(one, "facts", "target")}
            for one in plan.releases
        ],
    }


def plan_from_plain(values: Any) -> Plan:
    """Return the plan that :func:`plan_to_plain` wrote, or raise an error."""
    check_names(values, {"target", "facts", "releases"})
    target = PrivacyTarget.from_dict(values["target"])
    facts = _facts_from_plain(values["facts"])
    if target.private and not values["releases"]:
        raise CardError("a private card needs releases with noise.")
    shared = {"facts": facts, "target": target}
    releases = tuple(_release(each, shared) for each in values["releases"])
    if target.private and not _complete(facts, [type(one) for one in releases]):
        raise CardError("its releases are not those of a fit with its facts.")
    return Plan(target, facts, releases)


def _complete(facts: Any, kinds: list[type[Release]]) -> bool:
    """Return whether a fit with these facts may have releases of these kinds, in this order."""
    if isinstance(facts, ScoreFacts):
        return kinds == [Score]
    needed = {
        Training: True,
        Bounds: bool(facts.bounded),
        Moments: facts.standardised,
        Information: bool(facts.inference),
        ResidualSpread: Pilot in kinds,
    }
    return kinds == [kind for kind in KINDS if needed.get(kind, kind in kinds)]


def _release(values: dict[str, Any], shared: dict[str, Any]) -> Release:
    own = dict(values)
    kinds = _OF_SCORES if isinstance(shared["facts"], ScoreFacts) else _RELEASES
    kind = kinds[own.pop("release")]
    given = {f.name: shared[f.name] for f in fields(kind) if f.name in shared}
    found: Release = typed(kind, own, **given)
    return found


def _written(thing: Any, *but: str) -> dict[str, Any]:
    """Return the fields of something typed, but for some."""
    return {f.name: getattr(thing, f.name) for f in fields(thing) if f.name not in but}


_DERIVED = ("levels", "private", "target")


def _facts_to_plain(facts: Facts | ScoreFacts) -> dict[str, Any]:
    if isinstance(facts, ScoreFacts):
        return _written(facts) | {"classes": list(facts.classes)}
    found = _written(facts, *_DERIVED)
    labels = facts.labels
    found["labels"] = {"labels": type(labels).__name__, **_written(labels)}
    found["persons"] = None if facts.persons is None else _written(facts.persons)
    found["schema"] = None if facts.schema is None else facts.schema.to_dict()
    return found


def _facts_from_plain(values: Any) -> Any:
    own = dict(values)
    if "metric" in own:
        classes = tuple(own.pop("classes"))
        if any(type(x) not in _KINDS_OF_CLASSES for x in classes):
            raise CardError("its classes are malformed.")
        return typed(ScoreFacts, own, classes=classes)
    labels, persons, schema = (own.pop(name) for name in ("labels", "persons", "schema"))
    given: dict[str, Any] = dict.fromkeys(_DERIVED[:1]) | {"private": (), "target": None}
    given |= {"labels": _labels(labels), "persons": None, "schema": None}
    if persons is not None:
        given["persons"] = typed(PersonFacts, persons)
    if schema is not None:
        given |= schema_facts(Schema.from_dict(schema))
    return typed(Facts, own, **given)


def _labels(values: Any) -> Any:
    own = dict(values)
    kind = _LABELS[own.pop("labels")]
    if kind is not ClassLabels:
        return typed(kind, own)
    check_names(own, {"classes", "weights", "dtype"})
    classes, weights = own["classes"], own["weights"]
    if weights is not None:
        weights = tuple(weights)
        if len(weights) != len(classes) or any(type(x) is not float for x in weights):
            raise CardError("the weights of its classes are malformed.")
    alike = {type(x) for x in classes}
    dtype = np.dtype(str(own["dtype"]))
    if len(classes) < 2 or len(alike) != 1 or not alike <= set(_KINDS_OF_CLASSES):
        raise CardError("its classes are malformed.")
    if dtype.kind not in "biufUO" or dtype.itemsize > 4096:
        raise CardError("its classes are of an unknown type.")
    if np.array(classes, dtype=dtype).tolist() != classes:
        raise CardError("its classes are malformed.")
    return ClassLabels(tuple(classes), weights, dtype.str)


def array_to_plain(array: Floats) -> Any:
    """Return an array as JSON has it, to the same bits: a few numbers as they are printed."""
    if not np.isfinite(array).all():
        raise ModelFileError("it has numbers that are not finite.")
    if array.size <= _FEW:
        return array.tolist()
    content = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "float64": base64.b64encode(content).decode()}


def array_from_plain(values: Any) -> Floats:
    """Return the array that :func:`array_to_plain` wrote, or raise an error."""
    if isinstance(values, dict):
        check_names(values, {"shape", "float64"})
        content = base64.b64decode(values["float64"], validate=True)
        found = np.frombuffer(content, dtype="<f8").astype(np.float64)
        found = found.reshape([count_of(x) for x in values["shape"]])
    else:
        _check_numbers(values)
        found = np.array(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ModelFileError("it has numbers that are not finite.")
    return found


def _check_numbers(values: Any) -> None:
    if isinstance(values, list):
        for each in values:
            _check_numbers(each)
    elif type(values) is not float:
        raise ModelFileError("it has something else in the place of a number.")


def count_of(value: Any) -> int:
    """Return a value if it is an integer of 0 or more, or raise an error."""
    if type(value) is not int or value < 0:
        raise ModelFileError("it has something else in the place of a count.")
    return value


def to_plain(value: Any) -> Any:
    """Return a parameter as JSON, kinds that JSON lacks under a name of their own."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return {"list": [to_plain(item) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ModelFileError(f"a parameter of type {type(value).__name__} cannot be saved.")


def from_plain(value: Any) -> Any:
    """Return the parameter that :func:`to_plain` wrote, or raise an error of its kind."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "dict":
        return {from_plain(key): from_plain(item) for key, item in content}
    if kind == "list":
        return [from_plain(item) for item in content]
    raise ModelFileError("it has a parameter of an unknown kind.")


def read_json(text: str | bytes) -> Any:
    """Parse untrusted JSON text, or raise ValueError where parsers could differ."""
    # A repeated key or NaN could show one content to a checker and another to a user.
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice.")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON.")


def check_names(values: Any, names: set[str]) -> None:
    """Raise CardError unless `values` is a dictionary with exactly these names."""
    if not isinstance(values, dict) or set(values) != names:
        raise CardError("it is malformed: it has unknown or missing fields.")


def typed(kind: Any, values: Any, **given: Any) -> Any:
    """Return a dataclass of plain values, each of exactly its type, or raise CardError."""
    # Fields that are `given` are not among the values.
    own = {f.name: f.type for f in fields(kind) if f.name not in given}
    check_names(values, set(own))
    found = {
        name: _read(own[name], x, f"{name} of {kind.__name__}") for name, x in values.items()
    }
    return kind(**found, **given)


def _read(kind: Any, value: Any, name: str) -> Any:
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    if is_dataclass(kind):
        return typed(kind, value)
    items = get_args(kind)
    if get_origin(kind) is tuple:
        many = value if isinstance(value, list | tuple) else ()
        items = items[:1] * len(many) if items[-1] is ... else items
        if many is value and len(items) == len(many):
            return tuple(_read(*each, name) for each in zip(items, many, strict=True))
    elif type(value) in (items or (kind,)):
        if type(value) is float and not math.isfinite(value):
            raise CardError(f"{name} is not finite.")
        return value
    raise CardError(f"{name} has a wrong type.")
