"""Everything taken as public: the schema column by column, and the rest of the card."""

from collections.abc import Sequence

from dpscd import losses
from dpscd.documents.described import Described
from dpscd.losses import Huber
from dpscd.persons import SHARE, SUM
from dpscd.preprocessing.column_features import intervals_of, width_of
from dpscd.preprocessing.declarations import Column, Cross, Target
from dpscd.rendering import number, whole

_SHOWN = 12  # values of a category

#: What is said of columns about which the records were asked, without noise.
READ = "read from the records"


def column_facts(model: Described) -> list[tuple[str, str, str, str]]:
    """Return name, use, origin and declared facts of every column and pair.

    The target comes first; the list is empty without a schema.
    """
    if model.schema is None:
        return []
    parts: list[Column | Target] = [model.schema.target, *model.schema.columns]
    rows = [(x.name, _kind(x), _origin(model, x), _facts(model, x)) for x in parts]
    crossed = (part for part in model.schema.parts if isinstance(part, Cross))
    return rows + [(x.name, f"pair, {width_of(x)} features", "declared", "") for x in crossed]


def _kind(part: Column | Target) -> str:
    if isinstance(part, Target):
        return "what is predicted"
    if part.kind == "ignore":
        return "not used"
    words = [part.kind, *(word for word in ("integer", "cyclic") if getattr(part, word))]
    if part.bent or part.cyclic:
        words += [str(part.shape or "smooth"), f"{intervals_of(part)} intervals"]
    elif part.bins:
        words.append(f"{part.bins} intervals")
    if part.monotone:
        words.append("made to rise" if part.monotone == "up" else "made to fall")
    return ", ".join(words)


def _facts(model: Described, part: Column | Target) -> str:
    if isinstance(part, Column) and part.kind == "ignore":
        return ""
    return "; ".join([_range(model, part), *_readings(part)])


def _readings(part: Column | Target) -> list[str]:
    """Return how cells of a column are read, where that was declared."""
    found = []
    if part.missing_values:
        found.append(f"missing if {_listed([str(x) for x in part.missing_values])}")
    if part.rename:
        found.append(f"read as: {_listed([f'{a} = {b}' for a, b in part.rename.items()])}")
    if isinstance(part, Column) and part.transform:
        found.append(f"as {part.transform}")
    if isinstance(part, Column) and part.group:
        found.append(f"codes grouped by {', '.join(part.group)}")
    return found


def _range(model: Described, part: Column | Target) -> str:
    bounds = model.bounds.get(part.name, part.bounds)
    if bounds is not None and not isinstance(bounds, str):
        low, high = (number(x, 6) for x in bounds)
        scale = ""
        if isinstance(part, Target) and part.transform:
            scale = f", as {part.trained_on}"
        return f"between {low} and {high}{scale}"
    values = part.classes if isinstance(part, Target) else part.values
    return _listed(values) if values else "yes or no"


def _listed(values: Sequence[str]) -> str:
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + more


def _origin(model: Described, part: Column | Target) -> str:
    if part.read_from_data:
        return READ
    if isinstance(part, Column) and part.kind == "ignore":
        return ""
    if part.private_bounds:
        return "estimated privately" if model.card.private else READ
    return "declared"


def other_facts(model: Described) -> list[tuple[str, str]]:
    """Return name and value of the public facts that are not about a column."""
    facts, labels, persons = model.facts, model.fit.labels, []
    if facts.persons is not None:
        shared = "1 for each person, shared by their records"
        counted = {SHARE: shared, SUM: "1 for each record"}
        persons = [
            ("Records of a person per step, at most", whole(facts.persons.most)),
            ("Weight in training", counted[facts.persons.weight]),
        ]
    number_of = f"number of {model.unit.noun}s"
    declared = f"declared {number_of}" if model.fit.parameters["n"] else number_of
    rows = [
        (declared.capitalize(), whole(facts.n)),
        *persons,
        ("Features made of the columns" if model.schema else "Features", whole(facts.d)),
    ]
    if model.classes and model.schema is None:
        origin = "declared" if facts.declared else "the labels in y"
        rows.append((f"Classes ({origin})", ", ".join(model.classes)))
    if model.regression and model.schema is None:
        low, high = number(labels.low, 6), number(labels.high, 6)
        rows.append(("What is predicted lies", f"between {low} and {high}"))
    loss = losses.made(facts.loss_class, labels, facts.intercept, facts.threshold)
    if isinstance(loss, Huber):
        rows.append(("Residual from which on the loss is linear", number(loss.threshold)))
    if facts.task == "counts" and (labels.least, labels.most) != (1.0, 1.0):
        low, high = number(labels.least, 6), number(labels.most, 6)
        rows.append(("Exposures lie", f"between {low} and {high}"))
    if facts.classifies and labels.weights is not None:
        named = zip(facts.classes, labels.weights, strict=True)
        weights = ", ".join(f"{name}: {number(x)}" for name, x in named)
        rows.append(("Weights of the classes", weights))
    if model.schema is None:
        rows.append(("Longest row", number(facts.row_bound)))
    if facts.device:
        rows.append(("Computed by", f"{facts.engine} on {facts.device}"))
    if facts.dataset is not None:
        rows.append(("Name of the data set", facts.dataset))
    if model.card.chosen is not None:
        rows.append(("How it was chosen", model.card.chosen))
    return rows
