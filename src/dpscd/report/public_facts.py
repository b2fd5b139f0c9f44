"""Everything taken as public: the schema column by column, and the rest of the card."""

from collections.abc import Sequence

from dpscd import losses
from dpscd.losses import Huber
from dpscd.persons import SHARE, SUM
from dpscd.preprocessing.column_features import intervals_of, width_of
from dpscd.preprocessing.declarations import Column, Cross, Target
from dpscd.report.html import Html, data_table, html, joined, number, whole
from dpscd.report.subject import Subject
from dpscd.report.words import chance

_SHOWN = 12  # values of a category

#: What is said of columns about which the records were asked, without noise.
READ = "read from the records"


def public_facts(subject: Subject) -> Html:
    """Return the section on what must have been known without the records."""
    card = subject.card
    if not card.private:
        intro = html("<p>There is no guarantee that rests on these facts.</p>\n")
    else:
        bounds = (
            "Bounds marked “estimated privately” were not: they were found in the records, "
            "with noise that the guarantee pays for."
        )
        intro = html(
            "<p>The guarantee holds if everything in this section was known without looking at "
            "the records. Nobody but the people who trained the model can know whether it was. "
            "{}</p>\n",
            bounds if subject.bounds else "",
        )
    rows = other_facts(subject)
    if card.private:
        rows += [("Epsilon", f"{card.epsilon:g}"), ("Delta", chance(card.delta))]
    others = data_table("Other public facts", ("Fact", "Value"), rows)
    return joined([intro, _columns(subject), others])


def column_facts(subject: Subject) -> list[tuple[str, str, str, str]]:
    """Return name, use, origin and declared facts of every column and pair.

    The target comes first; the list is empty without a schema.
    """
    if subject.schema is None:
        return []
    parts: list[Column | Target] = [subject.schema.target, *subject.schema.columns]
    rows = [(x.name, _kind(x), _origin(subject, x), _facts(subject, x)) for x in parts]
    crossed = (part for part in subject.schema.parts if isinstance(part, Cross))
    return rows + [(x.name, f"pair, {width_of(x)} features", "declared", "") for x in crossed]


def _columns(subject: Subject) -> Html:
    if subject.schema is None:
        return html("")
    bad = html('<strong class="bad">⚠ {}</strong>', READ)
    rows = [
        [name, use, bad if origin == READ else origin, known]
        for name, use, origin, known in column_facts(subject)
    ]
    headings = ("Column", "Used as", "Where from", "Taken as known")
    return data_table("Columns of the table", headings, rows)


def _kind(part: Column | Target) -> str:
    if isinstance(part, Target):
        return "what is predicted"
    if part.kind == "ignore":
        return "not used"
    words = [part.kind]
    if part.bent:
        words += [str(part.shape), f"{intervals_of(part)} intervals"]
    elif part.bins:
        words.append(f"{part.bins} intervals")
    if part.monotone:
        words.append("made to rise" if part.monotone == "up" else "made to fall")
    return ", ".join(words)


def _facts(subject: Subject, part: Column | Target) -> str:
    if isinstance(part, Column) and part.kind == "ignore":
        return ""
    return "; ".join([_range(subject, part), *_readings(part)])


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


def _range(subject: Subject, part: Column | Target) -> str:
    bounds = subject.bounds.get(part.name, part.bounds)
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


def _origin(subject: Subject, part: Column | Target) -> str:
    if part.read_from_data:
        return READ
    if isinstance(part, Column) and part.kind == "ignore":
        return ""
    if part.private_bounds:
        return "estimated privately" if subject.card.private else READ
    return "declared"


def other_facts(subject: Subject) -> list[tuple[str, str]]:
    """Return name and value of the public facts that are not about a column."""
    facts, labels, persons = subject.facts, subject.fit.labels, []
    if facts.persons is not None:
        shared = "1 for each person, shared by their records"
        counted = {SHARE: shared, SUM: "1 for each record"}
        persons = [
            ("Records of a person in one step, at most", whole(facts.persons.most)),
            ("Weight in training", counted[facts.persons.weight]),
        ]
    number_of = f"number of {subject.protected.noun}s"
    declared = f"declared {number_of}" if subject.fit.parameters["n"] else number_of
    rows = [
        (declared.capitalize(), whole(facts.n)),
        *persons,
        ("Features made of the columns" if subject.schema else "Features", whole(facts.d)),
    ]
    if subject.classes and subject.schema is None:
        origin = "declared" if facts.declared else "the labels in y"
        rows.append((f"Classes ({origin})", ", ".join(subject.classes)))
    if subject.regression and subject.schema is None:
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
    if subject.schema is None:
        rows.append(("Longest row", number(facts.row_bound)))
    if facts.device:
        rows.append(("Computed by", f"{facts.engine} on {facts.device}"))
    if facts.dataset is not None:
        rows.append(("Name of the data set", facts.dataset))
    if subject.card.search is not None:
        rows.append(("How it was chosen", subject.card._chosen(subject.card.search)))
    return rows
