"""``dpscd evaluate``: quality of a model on records whose target is known."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from dpscd.cli.common import (
    BFLOAT16,
    LABELS,
    AsJson,
    Data,
    Model,
    Own,
    are_arrays,
    given_in,
    load_model,
    open_labels,
    open_rows,
    options,
    print_json,
    print_table,
)
from dpscd.errors import ParameterError

_NOT_PRIVATE = (
    "These numbers are not private: they are computed from the test records without noise. "
    "Keep them to yourself, or publish the noisy score of --private-epsilon instead."
)


@options(
    "relation",
    "n",
    labels=LABELS,
    bfloat16=BFLOAT16,
    details=Own(bool, "Print the confusion matrix and whether probabilities come true."),
    epsilon=Own(
        float,
        "Print one noisy score instead, private for the test records.",
        name="--private-epsilon",
    ),
    delta=Own(float, "Its delta.", "min(1e-5, 1/(10 n))", name="--private-delta"),
    ledger=Own(str, "File of the budget that the noisy score is charged to."),
    dataset=Own(str, "Name of the test data in the ledger."),
    metric=Own(
        str,
        "Of the noisy score: accuracy, auc, log_loss, brier, confusion, recall; mae, mse, r2.",
        "accuracy or mae",
    ),
    level=Own(float, "Level of its interval.", "0.95"),
    bound=Own(float, "Largest loss of one record, for log_loss, mae and mse: a public number."),
)
def evaluate(
    model: Model,
    data: Data,
    *,
    as_json: AsJson = False,
    labels: list[str] | None,
    bfloat16: bool,
    details: bool,
    **score: Any,
) -> None:
    """Compare a model's predictions with a known target, of a table or of rows in .npy files.

    Records whose target is missing or not one of the classes are left out (of the noisy
    score: they count as the worst, where it is a mean). The noisy score comes with an interval
    that holds noise and sampling error. It is charged before any value is used: it reads
    the file twice, once to count the records. Where the schema names a column of persons, it
    is private for a person with all their records: the mean over persons of each one's mean.

    Example: dpscd evaluate model.json test.csv
    """
    from dpscd.estimators.evaluation import evaluate as measured
    from dpscd.progress import waiting

    asked = given_in(score)
    if asked and "epsilon" not in asked:
        raise ParameterError(
            "--ledger, --dataset, --private-delta, --metric, --level, --bound, --relation "
            "and --n go with --private-epsilon: they are about the noisy score."
        )
    if asked and details:
        raise ParameterError(
            "--details is not private; with --private-epsilon take --metric confusion."
        )
    found, records = _opened(model, data, labels, bfloat16=bfloat16)
    if asked:
        _print_private(found, records, model, asked, as_json=as_json)
        return
    with waiting("evaluating"):
        quality = measured(found, *records)
    if as_json:
        print_json({"model_sha256": _digest(model), **quality.to_dict()})
    else:
        _print(quality, details=details)


def _opened(
    path: Path, data: str, labels: Sequence[str] | None, *, bfloat16: bool
) -> tuple[Any, tuple[Any, ...]]:
    """Return the model in a file, and the records with their labels."""
    arrays = are_arrays([data])
    if not arrays and (labels or bfloat16):
        raise ParameterError("--labels and --bfloat16 go with rows in .npy files.")
    found = load_model(path, arrays=arrays)
    if not arrays:
        return found, (data,)
    rows = open_rows([data], bfloat16=bfloat16)
    return found, (rows, open_labels(labels, len(rows)))


def _digest(model: Path) -> str:
    """Return the digest of the model's file, which reports compare."""
    return hashlib.sha256(model.read_bytes()).hexdigest()


def _print(found: Any, *, details: bool) -> None:
    title, heads = f"{found.records:,} records", ["measure", "value"]
    rows = [[name, f"{value:.4f}"] for name, value in found.metrics.items()]
    if own := found.by_person:
        title, heads = f"{title} of {own['persons']:,} persons", ["measure", "rows", "persons"]
        for row in rows:
            row.append(_shown(own["metrics"].get(row[0], "")))
    print_table(title, heads, rows, right=range(1, len(heads)))
    if own:
        typer.echo("rows: every record counts alike. persons: everybody does, by their mean.")
    if found.tables:
        _print_classes(found.tables, details=details)
    typer.echo(_NOT_PRIVATE)


def _print_classes(found: dict[str, Any], *, details: bool) -> None:
    """Print tables of classes; the confusion matrix and the reliability with `details`."""
    classes = found["by class"]
    names = [str(one["class"]) for one in classes]
    tables = [("By class", list(classes[0]), [one.values() for one in classes])]
    if details:
        title = "Records of a class (rows) by what is predicted (columns)"
        counts = zip(names, found["confusion"], strict=True)
        tables.append((title, ["class", *names], [[name, *row] for name, row in counts]))
    if details and found.get("reliability"):
        parts = found["reliability"]
        title = f"Do probabilities of {names[1]} come true?"
        tables.append((title, list(parts[0]), [part.values() for part in parts]))
    for title, heads, rows in tables:
        words = [[_shown(value) for value in row] for row in rows]
        first = 0 if heads[0] == "from" else 1
        print_table(title, heads, words, right=range(first, len(heads)))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_private(
    model: Any, records: tuple[Any, ...], path: Path, asked: dict[str, Any], *, as_json: bool
) -> None:
    """Charge, compute and print a score with noise; JSON is the file of the score."""
    from dpscd import private_score
    from dpscd.model.file import fit_to_text

    if not 0.0 < asked["epsilon"] < float("inf"):
        raise ParameterError("--private-epsilon must be a positive number.")
    if model.privacy_.protected.groups:
        raise ParameterError(
            "the persons of this model were groups given to fit, which a file does not have: a "
            "noisy score would protect single records. Name their column in the schema."
        )
    digest = _digest(path)  # as it is when it is scored
    found = private_score(model, *records, **asked)
    if as_json:
        fit = found.fit_
        typer.echo(fit_to_text(replace(fit, plan=fit.plan.noted(model=digest))))
    else:
        _print_score(found)


def _print_score(found: Any) -> None:
    from dpscd.scores.registry import METRIC_WORDS

    card, level = found.card, f"{100 * found.level:g} % interval"
    noun, declared = f"{card.protected.noun}s", " (declared)" if card.relation.needs_n else ""
    title = f"{METRIC_WORDS[found.metric]} on {card.facts.n:,} {noun}{declared}"
    many = isinstance(found.value, list)
    if many:
        heads, rows = _rows(found)
        print_table(f"{title}, {level}s", heads, rows, right=range(len(heads) - 3, len(heads)))
    else:
        typer.echo(
            f"{title}: {found.value:.4f}; {level} {found.low:.4f} to {found.high:.4f}, of the "
            f"noise alone {found.noise_low:.4f} to {found.noise_high:.4f}"
        )
    if found.bound is not None:
        typer.echo(f"The loss of one record is at most {found.bound:.4g}: more counts as this.")
    typer.echo(
        f"{'These numbers are' if many else 'This number is'} ({card.epsilon:g}, "
        f"{card.delta:.3g})-differentially private for the test {noun}, relation "
        f"{card.relation}; asking again costs again."
    )


def _rows(found: Any) -> tuple[list[str], list[list[str]]]:
    """Return the head and rows of a table: one per class, or per pair of classes."""
    import numpy as np

    parts = [np.array(x) for x in (found.value, found.low, found.high)]
    heads = ["class", "predicted"][: parts[0].ndim]
    rows = [
        [*(str(found.classes[k]) for k in place), *(_shown(float(x[place])) for x in parts)]
        for place in np.ndindex(parts[0].shape)
    ]
    return [*heads, "value", "low", "high"], rows
