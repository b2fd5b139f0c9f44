"""``dpscd evaluate``: how good a model is on records whose target is known."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.arrays import BFloat16, LabelFiles
from dpscd.cli.common import AsJson, plain_errors, print_json, print_table
from dpscd.cli.known_records import Answers, KnownRecords, known_records

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
    as_json: AsJson = False,
) -> None:
    """Compare a model's predictions with a known target, of a table or of rows in .npy files.

    Records whose target is missing or not one of the classes are left out (of the noisy
    score: they count as wrong). The noisy score is charged before any value is used: it reads
    the file twice, once to count the records. Where the schema names a column of persons, it
    is private for a person with all their records: the mean over persons of each one's mean.

    Example: dpscd evaluate model.json test.csv
    """
    with plain_errors():
        from dpscd.errors import ParameterError

        if private_epsilon is None and (ledger, dataset, private_delta) != (None, None, None):
            raise ParameterError(
                "--ledger, --dataset and --private-delta go with --private-epsilon: only the "
                "noisy score can be charged."
            )
        test = known_records(model, data, labels, bfloat16=bfloat16)
        if private_epsilon is None:
            answers = test.answers()
            _print(_metrics(test, answers), len(answers.labels), as_json=as_json)
            return
        _print_noisy(test, private_epsilon, private_delta, ledger, dataset, as_json)


def _metrics(test: KnownRecords, found: Answers) -> dict[str, float]:
    """Return the usual measures of records whose target is known."""
    import numpy as np

    from dpscd.errors import DataError
    from dpscd.metrics import decision_metrics, regression_metrics

    model = test.model
    labels, answers, chances = found.labels, found.predictions, found.chances
    if not hasattr(model, "classes_"):
        known = np.isfinite(labels)
        low, high = test.bounds
        truth, guess = np.clip(labels[known], low, high), answers[known]
        if not len(truth):
            raise DataError("no record of the table has a target.")
        usual: Any = regression_metrics(truth, guess)
        return {
            "mean squared error": usual["mse"],
            "mean absolute error": float(np.mean(np.abs(guess - truth))),
            "R2": usual["r2"],
        }
    known = labels >= 0
    if not known.any():
        raise DataError("no record of the table has one of the classes.")
    truth = model.classes_[labels[known]]
    measures = {"accuracy": float(np.mean(answers[known] == truth))}
    counts = np.bincount(labels[known], minlength=len(model.classes_))
    measures["share of the largest class"] = float(counts.max() / counts.sum())
    if chances is not None:
        own = np.take_along_axis(chances[known], labels[known][:, None], axis=1)
        measures["log loss"] = float(-np.log(np.maximum(own, 1e-300)).mean())
        if chances.shape[1] == 2 and counts.all():
            ranked: Any = decision_metrics(labels[known] == 1, chances[known, 1] - 0.5)
            measures["area under the curve"] = ranked["auc"]
    return measures


def _print(metrics: dict[str, float], count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"private": False, "records": count, "metrics": metrics})
        return
    rows = [(name, f"{value:.4f}") for name, value in metrics.items()]
    print_table(f"{count:,} records", ("measure", "value"), rows, right=(1,))
    typer.echo(_NOT_PRIVATE)


def _print_noisy(
    test: KnownRecords,
    epsilon: float,
    delta: float | None,
    ledger: str | None,
    dataset: str | None,
    as_json: bool,
) -> None:
    import numpy as np

    from dpscd.errors import DataError, ParameterError
    from dpscd.persons import person_means
    from dpscd.planning import default_delta
    from dpscd.privacy.ledger import Ledger
    from dpscd.privacy.random import SecureSource
    from dpscd.privacy.relation import PrivacyTarget
    from dpscd.privacy.score import plan_score, release_score

    if (ledger is None) != (dataset is None):
        raise ParameterError("--ledger and --dataset must be given together.")
    if not 0.0 < epsilon < float("inf"):
        raise ParameterError("--private-epsilon must be a positive number.")
    if test.model.privacy_.protected.groups:
        raise ParameterError(
            "the persons of this model were groups given to fit, which a file does not have: a "
            "noisy score would protect single records. Name their column in the schema."
        )
    # 1. The number of units, public under zero-out; 2. the charge; 3. the values.
    unit, count = test.unit, test.count
    if not count:
        raise DataError("the table has no records.")
    target = PrivacyTarget(epsilon, default_delta(count) if delta is None else delta)
    release = plan_score(target, count)
    reservation = None
    if ledger is not None:
        reservation = Ledger(ledger).reserve(
            str(dataset), (release,), epsilon, target.delta, target.relation.value, "score",
            unit=unit.text,
        )  # fmt: skip
    answers = test.counted_answers()
    labels, guess = answers.labels, answers.predictions
    if hasattr(test.model, "classes_"):
        name = "accuracy"
        each = (test.model.classes_[np.maximum(labels, 0)] == guess) & (labels >= 0)
    else:
        name = "1 - mean absolute error / range"
        low, high = test.bounds
        each = 1.0 - np.abs(np.clip(labels, low, high) - guess) / (high - low)
    each = np.asarray(each, dtype=float)
    if answers.persons is not None:
        each = person_means(np.where(np.isfinite(each), each, 0.0), answers.persons)
    score = release_score(release, each, SecureSource())
    if ledger is not None and reservation is not None:
        Ledger(ledger).commit(reservation)
    if as_json:
        guarantee = {"epsilon": epsilon, "delta": target.delta, "relation": target.relation}
        facts = {"private": True, "measure": name, f"{unit.noun}s": count, "unit": unit.text}
        print_json({**facts, **guarantee, **score.to_dict()})
        return
    typer.echo(
        f"{name} on {count:,} {unit.noun}s: {score.value:.4f}, give or take "
        f"{2 * score.error:.4f} from the noise (two standard deviations)"
    )
    typer.echo(
        f"This number is ({epsilon:g}, {target.delta:.3g})-differentially private for the test "
        f"{unit.noun}s, relation {target.relation}; asking again costs again."
    )
