"""``dpscd evaluate``: quality of a model on records whose target is known."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.arrays import BFloat16, LabelFiles
from dpscd.cli.class_measures import mean_auc, of_classes, print_by_class
from dpscd.cli.common import AsJson, plain_errors, print_json, print_table
from dpscd.cli.known_records import Answers, KnownRecords, known_records
from dpscd.cli.option_words import SCORE_OPTIONS
from dpscd.cli.private_scores import print_private_score

__all__ = ["evaluate"]

_NOT_PRIVATE = (
    "These numbers are not private: they are computed from the test records without noise. "
    "Keep them to yourself, or publish the noisy score of --private-epsilon instead."
)


def evaluate(
    model: Annotated[Path, typer.Argument(help="The model's file.")],
    data: Annotated[str, typer.Argument(help="CSV, Parquet or .npy; - reads CSV from a pipe.")],
    labels: LabelFiles = None,
    bfloat16: BFloat16 = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Print the confusion matrix and whether probabilities come true."
        ),
    ] = False,
    private_epsilon: Annotated[
        float | None,
        typer.Option(help="Print one noisy score instead, private for the test records."),
    ] = None,
    private_delta: Annotated[
        float | None,
        typer.Option(help="Its delta.", show_default="min(1e-5, 1/(10 n))"),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="File of the budget that the noisy score is charged to.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the test data in the ledger.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Of the noisy score: accuracy, auc, log_loss, brier, confusion, recall; mae, "
            "mse, r2.",
            show_default="accuracy or mae",
        ),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(help="Level of its interval.", show_default="0.95"),
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(
            help="Largest loss of one record, for log_loss, mae and mse: a public number."
        ),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(
            help="Its relation: zero-out, replace-one, add-remove.", show_default="zero-out"
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", help="Declared number of test records, for add-remove."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a model's predictions with a known target, of a table or of rows in .npy files.

    Records whose target is missing or not one of the classes are left out (of the noisy
    score: they count as the worst, where it is a mean). The noisy score comes with an interval
    that holds noise and sampling error. It is charged before any value is used: it reads
    the file twice, once to count the records. Where the schema names a column of persons, it
    is private for a person with all their records: the mean over persons of each one's mean.

    Example: dpscd evaluate model.json test.csv
    """
    with plain_errors(options=SCORE_OPTIONS):
        from dpscd.errors import ParameterError

        asked = {
            "delta": private_delta,
            "ledger": ledger,
            "dataset": dataset,
            "metric": metric,
            "level": level,
            "bound": bound,
            "relation": relation,
            "n": n,
        }
        if private_epsilon is None and any(value is not None for value in asked.values()):
            raise ParameterError(
                "--ledger, --dataset, --private-delta, --metric, --level, --bound, --relation "
                "and --n go with --private-epsilon: they are about the noisy score."
            )
        if private_epsilon is not None and details:
            raise ParameterError(
                "--details is not private; with --private-epsilon take --metric confusion."
            )
        test = known_records(model, data, labels, bfloat16=bfloat16)
        if private_epsilon is None:
            answers = test.answers()
            _print(
                _metrics(test, answers),
                _by_person(test, answers),
                _tables(test, answers),
                len(answers.labels),
                None if not as_json else _digest(model),
                details=details,
            )
            return
        digest = _digest(model) if as_json else None
        print_private_score(test, digest, epsilon=private_epsilon, **asked)


def _digest(model: Path) -> str:
    """Return the digest of the model's file, which reports compare."""
    import hashlib

    return hashlib.sha256(model.read_bytes()).hexdigest()


def _known(test: KnownRecords, found: Answers) -> Any:
    """Return which records have a target, or raise DataError if none has."""
    import numpy as np

    from dpscd.errors import DataError

    classifies = hasattr(test.model, "classes_")
    known = found.labels >= 0 if classifies else np.isfinite(found.labels)
    if not known.any():
        which = "one of the classes" if classifies else "a target"
        raise DataError(f"no record of the table has {which}.")
    return known


def _metrics(test: KnownRecords, found: Answers, weights: Any = None) -> dict[str, float]:
    """Return the usual measures of records whose target is known.

    Where persons are known, also means of the target and of predictions; with one weight per
    record, no area under the curve.
    """
    import numpy as np

    model, known = test.model, _known(test, found)
    labels, answers = found.labels[known], found.predictions[known]

    def mean(values: Any) -> float:
        return float(np.average(values, weights=weights))

    if not hasattr(model, "classes_"):
        truth = np.clip(labels, *test.bounds)
        mse, variance = mean((truth - answers) ** 2), mean((truth - mean(truth)) ** 2)
        measures = {
            "mean squared error": mse,
            "mean absolute error": mean(np.abs(answers - truth)),
            "R2": 1.0 - mse / variance if variance > 0.0 else np.nan,
        }
        if found.persons is not None:
            measures |= {"mean target": mean(truth), "mean prediction": mean(answers)}
        return measures
    measures = {"accuracy": mean(answers == model.classes_[labels])}
    counts = np.bincount(labels, weights, minlength=len(model.classes_))
    measures["share of the largest class"] = float(counts.max() / counts.sum())
    if found.chances is not None:
        chances = found.chances[known]
        own = np.take_along_axis(chances, labels[:, None], axis=1)[:, 0]
        measures["log loss"] = mean(-np.log(np.maximum(own, 1e-300)))
        if weights is None and counts.all():
            measures["area under the curve"] = mean_auc(labels, chances)
        if found.persons is not None and len(model.classes_) == 2:
            name = model.classes_[1]
            measures[f"share of {name}"] = mean(labels == 1)
            measures[f"mean probability of {name}"] = mean(chances[:, 1])
    return measures


def _by_person(test: KnownRecords, found: Answers) -> dict[str, Any]:
    """Return measures with equal weight per person, if known; rows of nobody do not count."""
    import numpy as np

    if found.persons is None:
        return {}
    theirs = _known(test, found) & (found.persons >= 0)
    if not theirs.any():
        return {}
    own = Answers(*(None if x is None else x[theirs] for x in found))
    _, person, rows = np.unique(own.persons, return_inverse=True, return_counts=True)
    return {"persons": len(rows), "metrics": _metrics(test, own, 1.0 / rows[person])}


def _tables(test: KnownRecords, found: Answers) -> dict[str, Any]:
    """Return tables of classes; none for a regression."""
    import numpy as np

    if not hasattr(test.model, "classes_"):
        return {}
    known, classes = found.labels >= 0, test.model.classes_
    order = np.argsort(classes)
    guess = order[np.searchsorted(classes, found.predictions[known], sorter=order)]
    chances = None if found.chances is None else found.chances[known]
    return of_classes([str(x) for x in classes], found.labels[known], guess, chances)


def _print(
    metrics: dict[str, float],
    by_person: dict[str, Any],
    tables: dict[str, Any],
    count: int,
    digest: str | None,
    *,
    details: bool,
) -> None:
    """Print JSON with the digest of the model's file if it is given, else tables."""
    if digest is not None:
        facts = {"private": False, "model_sha256": digest, "records": count}
        more = {"by person": by_person} if by_person else {}
        print_json({**facts, "metrics": metrics, **more, **tables})
        return
    title, heads = f"{count:,} records", ["measure", "value"]
    if by_person:
        title, heads = (
            f"{title} of {by_person['persons']:,} persons",
            ["measure", "rows", "persons"],
        )
    rows = [[name, f"{value:.4f}"] for name, value in metrics.items()]
    for row in rows if by_person else ():
        row.append(
            f"{by_person['metrics'][row[0]]:.4f}" if row[0] in by_person["metrics"] else ""
        )
    print_table(title, heads, rows, right=range(1, len(heads)))
    if by_person:
        typer.echo("rows: every record counts alike. persons: everybody does, by their mean.")
    if tables:
        print_by_class(tables, details=details)
    typer.echo(_NOT_PRIVATE)
