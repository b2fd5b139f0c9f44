"""A model card for model hubs: YAML front matter, then Markdown."""

import json
import shlex
from typing import Any

from dpscd._version import __version__
from dpscd.export import wording
from dpscd.export.details import Details
from dpscd.export.examined import Examined
from dpscd.export.markup import bullets, code, plain, table, yaml_text
from dpscd.report.evaluation import Evaluation
from dpscd.report.html import number
from dpscd.report.public_facts import column_facts, other_facts
from dpscd.report.words import warnings

_NOT_STATED = (
    "Not stated: a model's file does not hold it. Whoever hands the model over says what it is "
    "for, and for what it must not be used."
)


def model_card(
    examined: Examined,
    evaluation: Evaluation | None = None,
    details: Details | None = None,
) -> str:
    """Return the card of a model: front matter and sections."""
    given = {path[-1]: value for path, value in (details or {}).items()}
    sections = [
        ("Model details", _model(examined, given)),
        ("Intended use", _use(examined, given)),
        ("Privacy", _privacy(examined)),
        ("Training data", _training_data(examined)),
        ("Evaluation", _evaluation(evaluation)),
        ("Limits", _limits(examined)),
        ("How to load", _loading(examined)),
    ]
    title = _line(given["name"]) if "name" in given else _title(examined)
    head = [f"---\n{yaml_text(_front(examined))}---", f"# {title}"]
    head += [f"> **{heading}.** {plain(text)}" for heading, text in warnings(examined.card)]
    body = [f"## {heading}\n\n{text}" for heading, text in sections]
    foot = (
        f"Written on {examined.day} by dpscd {__version__} from {code(examined.name)}, SHA-256 "
        f"{examined.digest}."
    )
    return "\n\n".join([*head, *body, foot]) + "\n"


def _line(text: str) -> str:
    """Return a text from a file on one line, for a heading or a cell."""
    return " ".join(text.split())


def _front(examined: Examined) -> dict[str, object]:
    subject = examined.subject
    tags = ["tabular", subject.kind.name]
    if subject.card.private:
        tags.append("differential-privacy")
    return {
        "library_name": "dpscd",
        "pipeline_tag": f"tabular-{'regression' if subject.regression else 'classification'}",
        "tags": tags,
    }


def _title(examined: Examined) -> str:
    subject = examined.subject
    target = f" of {code(subject.target)}" if subject.target else ""
    return f"{subject.kind.words.capitalize()}{target}"


def _model(examined: Examined, given: dict[str, Any]) -> str:
    version = examined.card.versions["dpscd"]
    rows = [
        ("Kind", examined.subject.kind.words),
        ("Trained on", wording.trained_on(examined)),
        ("File", f"{code(examined.name)}, SHA-256 {examined.digest}"),
        ("Made by", f"dpscd {plain(version)}"),
    ]
    if "data_curators" in given:
        rows.append(("Published by", _line(", ".join(given["data_curators"]))))
    if "publication_date" in given:
        rows.append(("Published on", given["publication_date"]))
    if "data_product_region" in given:
        rows.append(("Region", _line(given["data_product_region"])))
    parts = [given["description"]] if "description" in given else []
    return "\n\n".join([*parts, wording.task(examined), table(("fact", "value"), rows)])


def _use(examined: Examined, given: dict[str, Any]) -> str:
    purpose = (
        "The model was trained for prediction: its weights are shrunk or inflated and are not "
        "estimates of effects."
    )
    if examined.subject.fit.has_intervals:
        purpose = "The model was trained for estimates with confidence intervals."
    return f"{given.get('intended_use', _NOT_STATED)}\n\n{purpose}"


def _privacy(examined: Examined) -> str:
    card = examined.card
    if not card.private:
        return (
            "**None.** The model was trained with epsilon = infinity, without noise. Treat it "
            "like the records themselves."
        )
    claim = [
        ("Claim", f"({card.epsilon:g}, {card.delta:.3g})-differential privacy"),
        ("Strength", wording.scale(card)),
        ("Relation", f"{card.relation}: it protects {card.protected.words(card.relation)}"),
        ("Unit", plain(card.unit)),
        ("Randomness", wording.randomness(card)),
    ]
    return "\n\n".join(
        [
            table(("fact", "value"), claim),
            f"{wording.meaning(card)} {wording.adjacent(card)}",
            "**Releases.** All that was computed from the records and left, with its noise:",
            table(("release", "what it is", "noise"), wording.release_rows(card)),
            wording.finite_precision(card),
            "**Public.** The guarantee holds if this was known without looking at the records:",
            _public(examined),
            "**Assumptions.** It also rests on this:",
            bullets(card.assumptions),
            f"**Check it.** {wording.checked(examined)} Without any data, anybody can do the "
            "same:",
            f"```sh\ndpscd verify {shlex.quote(examined.name)}\n```",
        ]
    )


def _public(examined: Examined) -> str:
    rows = [f"{what}: {code(value)}" for what, value in other_facts(examined.subject)]
    if examined.subject.schema is not None:
        rows.append("what “Training data” says was declared, or read, about each column")
    return bullets(rows)


def _training_data(examined: Examined) -> str:
    columns = column_facts(examined.subject)
    if not columns:
        return (
            f"Rows of numbers: {wording.trained_on(examined)}. The file says nothing else "
            "about them, and no record is in it."
        )
    headings = ("column", "used as", "where from", "taken as known")
    rows = [(code(x), use, origin, code(y) if y else "") for x, use, origin, y in columns]
    return "\n\n".join(
        [
            "What was declared about the table. No record is in this model's file, and nothing "
            "here was counted in the records unless it says so.",
            table(headings, rows),
        ]
    )


def _evaluation(found: Evaluation | None) -> str:
    if found is None:
        return (
            "None was handed over. Private training does not make a model accurate; measure it "
            "on records that took no part in training."
        )
    rows = [
        (x.name, f"{number(x.value, 4)}{f' ({x.interval})' if x.interval else ''}")
        for x in found.measures
    ]
    return "\n\n".join(
        [f"On {found.on}:", table(("measure", "value"), rows), f"**{found.status}**"]
    )


def _limits(examined: Examined) -> str:
    card = examined.card
    terms = "a sum of one term for each column, and of pairs where they were declared"
    what = terms if examined.subject.schema else "linear in the features"
    found = [
        f"The model is {what}: what else there is to find, it does not find.",
        "The noise is the same for everybody, but it costs most where there are few records: "
        "predictions about small groups are the least reliable. Compare errors between groups "
        "before decisions about people rest on it.",
    ]
    if not card.private:
        return bullets(found)
    return bullets(
        [
            *found,
            "Persons who belong together, such as a household, are protected as a group only, "
            "with as many times the epsilon."
            if card.protected.is_person
            else "A person with several records is protected as a group of records only, with "
            "as many times the epsilon.",
            "What is true of many is not hidden: what the model shows about a group, it says "
            "of each of its members, whether or not they took part.",
            "Other models, scores and tables from the same records add their own epsilon.",
            "That what was declared public was public, and that the model was trained as its "
            "file says, is the word of whoever trained it; a signature tells who that is.",
        ]
    )


def _loading(examined: Examined) -> str:
    given, note = ("X", "an array")
    if examined.subject.schema:
        given, note = ('"new.csv"', "or a DataFrame")
    return (
        "```python\nimport dpscd\n\n"
        f"model = dpscd.load({json.dumps(examined.name)})\n"
        f"predictions = model.predict({given})  # {note}\n"
        "print(model.privacy_)\n```"
    )
