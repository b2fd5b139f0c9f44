"""``dpscd fit``: a private model from a table and its schema, or from rows and labels."""

import sys
import time
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.common import AsJson, check_writable, plain_errors, print_json
from dpscd.cli.inputs import (
    AUTO,
    BFloat16,
    Delta,
    LabelFiles,
    Neighbours,
    TrainedModel,
    TrainingRecords,
    training_records,
)
from dpscd.errors import ParameterError
from dpscd.estimators.registry import MODELS, kind_called, usual_kind
from dpscd.privacy.relation import Relation


class EngineName(StrEnum):
    """Engines of training."""

    NUMBA = "numba"
    JAX = "jax"


class PersonWeight(StrEnum):
    """Weight of a person's rows together."""

    SHARE = "share"
    SUM = "sum"


_PLANNED = "Planned unless given"


def _number(words: str) -> Any:
    return typer.Option(help=words, show_default="auto", rich_help_panel=_PLANNED)


def _choice(name: str, words: str, default: str | None = None) -> Any:
    return typer.Option(
        f"--{name}/--no-{name}",
        help=words,
        show_default=default or name,
        rich_help_panel=_PLANNED,
    )


def fit(
    data: Annotated[
        list[str],
        typer.Argument(
            help="CSV or Parquet files of one schema; - reads CSV from a pipe. Or .npy files."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The model's file (JSON).", dir_okay=False)],
    schema: Annotated[
        Path | None, typer.Option(help="What is known about the columns of a table (TOML).")
    ] = None,
    labels: LabelFiles = None,
    classes: Annotated[
        str | None,
        typer.Option(help="Classes of --labels: 10 for 0 to 9, or the labels: cat,dog."),
    ] = None,
    bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest number of --labels, for a regression."),
    ] = None,
    row_bound: Annotated[
        float | None,
        typer.Option(
            help="Longest row of .npy files: longer ones are shortened.", show_default="1"
        ),
    ] = None,
    bfloat16: BFloat16 = False,
    epsilon: Annotated[
        float,
        typer.Option(help="How much one record may influence the model; inf: not private."),
    ] = 1.0,
    delta: Delta = None,
    model: Annotated[
        TrainedModel, typer.Option(help="auto: logistic for classes, ridge for numbers.")
    ] = AUTO,
    inference: Annotated[
        bool,
        typer.Option(
            "--inference",
            help="For confidence intervals of coefficients; numbers of a table become lines.",
        ),
    ] = False,
    robust: Annotated[
        bool,
        typer.Option(
            "--robust", help="--inference that does not assume that the model is true."
        ),
    ] = False,
    relation: Neighbours = Relation.ZERO_OUT,
    n: Annotated[
        int | None, typer.Option("--n", help="Declared number of records; for add-remove.")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that identifies persons, who are protected with all their records.",
            show_default="the schema's, else every record by itself",
        ),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows of a person in one step, at most.", show_default="100"),
    ] = None,
    person_weight: Annotated[
        PersonWeight | None,
        typer.Option(
            help="sum: each row counts, up to the clip; share: a person's rows share a weight.",
            show_default="sum",
        ),
    ] = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=WEIGHT",
            help="How much records of a class count, such as yes=10; may be repeated.",
            rich_help_panel=_PLANNED,
        ),
    ] = None,
    lam: Annotated[
        float | None, _number("Strength of the penalty on the coefficients.")
    ] = None,
    epochs: Annotated[
        float | None, _number("How often each record is used, on average.")
    ] = None,
    lot_size: Annotated[int | None, _number("Records of a step, on average.")] = None,
    travel: Annotated[
        float | None,
        _number("How far a record may move the model in all; shorter needs less noise."),
    ] = None,
    standardise: Annotated[
        bool | None,
        _choice(
            "standardise",
            "Release noisy means and spreads first, and train on standardised features.",
            "auto",
        ),
    ] = None,
    intercept: Annotated[
        bool | None, _choice("intercept", "Whether the model has an intercept.")
    ] = None,
    intercept_scaling: Annotated[
        float | None, _number("Constant that stands for the intercept beside the features.")
    ] = None,
    threshold: Annotated[
        float | None, _number("Of --model huber: errors beyond it count by their size alone.")
    ] = None,
    clip_predictions: Annotated[
        bool | None,
        _choice(
            "clip-predictions",
            "Whether a regression's predictions stay within the bounds of its target.",
        ),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="File of the privacy budget to charge.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set in the ledger.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Threads; -1 for one per core.")] = 1,
    engine: Annotated[
        EngineName | None,
        typer.Option(
            help="What computes the training. jax: dense rows on a GPU; needs the extra jax.",
            show_default="numba",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Train where Parquet files are: the address of a Dask scheduler, or local.",
            show_default="this process",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Make it repeatable; then privacy rests on this number.")
    ] = None,
    seed_is_secret: Annotated[
        bool,
        typer.Option(
            "--seed-is-secret",
            help="Nobody else knows the seed, which has 96 bits or more; for --ledger.",
        ),
    ] = False,
    timings: Annotated[
        bool,
        typer.Option(
            "--timings",
            help="Print how long it took: depends on the records, no guarantee covers it.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train a differentially private model on a table, or on rows of numbers in .npy files.

    Values outside the schema are moved to the nearest bound or count as "other", silently.
    Rows in .npy files have --labels and --classes (or --bounds) in place of a schema; labels
    that are none of the classes count for nothing, silently.
    The model's file holds coefficients, schema and privacy card: nothing about a record.

    Example: dpscd fit patients.csv --schema patients.toml --epsilon 1 --out model.json
    """
    interrupted = (
        "Interrupted; no model was written."
        if ledger is None
        else "Interrupted; no model was written. What was charged to the ledger stays charged."
    )
    with plain_errors(interrupted):
        asked = _inference(model.value, inference=inference, robust=robust)
        weight = person_weight and person_weight.value
        table = {"schema": schema, "person": person, "max_rows": max_rows}
        arrays = {"labels": labels, "classes": classes, "bounds": bounds}
        records = training_records(
            data,
            {**table, "person_weight": weight, "dask": dask},
            {**arrays, "row_bound": row_bound, "bfloat16": bfloat16 or None},
        )
        check_writable(out)
        kind = _kind(model.value, records)
        planned = _given(
            kind.estimator,
            lam=lam,
            epochs=epochs,
            lot_size=lot_size,
            travel=travel,
            standardise=standardise,
            fit_intercept=intercept,
            intercept_scaling=intercept_scaling,
            threshold=threshold,
            clip_predictions=clip_predictions,
            engine=engine and engine.value,
            class_weight=dict(map(_weight, class_weight)) if class_weight else None,
        )
        estimator = kind.estimator(
            epsilon=epsilon,
            delta="auto" if delta is None else delta,
            relation=relation.value,
            n=n,
            ledger=ledger,
            dataset=dataset,
            n_jobs=jobs,
            random_state=_random_state(seed, secret=seed_is_secret, ledger=ledger),
            **asked,
            **planned,
            **records.parameters,
        )
        start = time.perf_counter()
        found = _train(records, estimator)
        seconds = time.perf_counter() - start if timings else None
        found.save(out)
        _print_result(found, out, seconds, as_json=as_json)


def _inference(name: str, *, inference: bool, robust: bool) -> dict[str, Any]:
    """Return the estimator's parameters for intervals, or refuse a model that has none."""
    if not (inference or robust):
        return {}
    if name != "auto" and not kind_called(name).has_intervals:
        able = " or ".join(kind.name for kind in MODELS if kind.has_intervals)
        raise ParameterError(
            f"--model {name} has no confidence intervals: --inference needs {able}."
        )
    return {"inference": "robust" if robust else True}


def _kind(name: str, records: TrainingRecords) -> Any:
    """Return the kind of model, or refuse one that does not match the labels."""
    usual = usual_kind(classifies=records.classifies)
    kind = usual if name == "auto" else kind_called(name)
    for given, option, own in (("classes", "--bounds", True), ("y_bounds", "--classes", False)):
        if given in records.parameters and kind.classifies != own:
            raise ParameterError(f"--model {name} needs {option} to say what labels there are.")
    return kind


def _given(estimator: type, **planned: Any) -> dict[str, Any]:
    """Return the parameters that were given, or refuse those that the estimator lacks."""
    given = {name: value for name, value in planned.items() if value is not None}
    known: Any = estimator()
    foreign = sorted(set(given) - set(known.get_params()))
    if foreign:
        raise ParameterError(
            f"--{foreign[0].replace('_', '-')} is not a parameter of {estimator.__name__}."
        )
    return given


def _weight(text: str) -> tuple[str, float]:
    label, equals, weight = text.rpartition("=")
    try:
        number = float(weight)
    except ValueError:
        number = -1.0
    if not equals or not 0.0 <= number < float("inf"):
        raise ParameterError(
            f"--class-weight {text!r} must be a class, an equals sign and a number of at least "
            "0, such as yes=10."
        )
    return label, number


def _random_state(seed: int | None, *, secret: bool, ledger: str | None) -> Any:
    """Return the estimator's random state, or raise ParameterError before reading."""
    from dpscd import SecretSeed

    if secret and seed is None:
        raise ParameterError("--seed-is-secret goes with --seed.")
    if seed is not None and ledger is not None and not secret:
        raise ParameterError(
            "--seed cannot be charged to --ledger: the charge does not hold for noise that "
            "others can draw again. If nobody will ever know the seed, add --seed-is-secret."
        )
    return SecretSeed(seed) if seed is not None and secret else seed


def _train(records: TrainingRecords, estimator: Any) -> Any:
    from dpscd import PrivacyWarning, UtilityWarning

    estimator.set_params(verbose=int(sys.stderr.isatty()))
    with warnings.catch_warnings(record=True) as caught:
        for kind in (PrivacyWarning, UtilityWarning):
            warnings.simplefilter("always", kind)
        found = records.train(estimator)
    getattr(found, "estimator_", found).set_params(verbose=0)
    for warning in caught:
        if issubclass(warning.category, PrivacyWarning | UtilityWarning):
            typer.echo(f"warning: {warning.message}", err=True)
    return found


def _print_result(model: Any, out: Path, seconds: float | None, *, as_json: bool) -> None:
    """Print public facts of the fit; times only on request."""
    card, inner = model.privacy_, getattr(model, "estimator_", model)
    unit = card.protected
    facts = card.facts
    if as_json:
        values = {
            "model": str(out),
            "type": type(inner).__name__,
            "epsilon": card.epsilon if card.private else "inf",
            "delta": card.delta,
            "relation": card.relation.value,
            "records": facts.n,
            "features": facts.d,
            "read_from_data": list(facts.read_from_data),
            "seeded": card.seeded,
        }
        if unit.is_person:
            values["unit"] = unit.text
        if getattr(inner, "inference", False):
            values["inference"] = inner.inference
        if seconds is not None:
            values["seconds"] = round(seconds, 3)
        print_json(values)
        return
    claim = (
        f"({card.epsilon:g}, {card.delta:.3g})-differentially private"
        if card.private
        else "NOT PRIVATE (epsilon inf)"
    )
    plural = "" if facts.d == 1 else "s"
    typer.echo(
        f"{type(inner).__name__} for {_target(facts)}: {claim}, "
        f"{facts.n:,} {unit.noun}s, {facts.d} feature{plural}."
    )
    if card.private and unit.is_person:
        typer.echo(f"Unit: {unit.text}.")
        _say_level(card)
    if facts.read_from_data:
        typer.echo(
            "warning: what the schema says of "
            f"{', '.join(map(repr, facts.read_from_data))} was read off the records, which "
            "no guarantee covers.",
            err=True,
        )
    if card.seeded:
        typer.echo("warning: seeded; privacy rests on the secrecy of --seed.", err=True)
    typer.echo(f"Wrote {out}")
    if getattr(inner, "inference", False):
        typer.echo(f"Intervals: dpscd inspect {out} --intervals")
    if seconds is not None:
        typer.echo(
            f"Read and trained in {seconds:.1f} s. This time depends on the records, and no "
            "guarantee covers it."
        )


def _say_level(card: Any) -> None:
    """Say over what predictions are right on average: rows or persons."""
    for what, name in (("calibration", "Probabilities"), ("level", "Expected counts")):
        if card.plan.listed(what):
            over, other, weight = "persons", "rows", "sum"
            if card.facts.persons.weight == "sum":
                over, other, weight = "rows", "persons", "share"
            typer.echo(
                f"{name} are right on average over {over}; with --person-weight {weight} over "
                f"{other}."
            )
            return


def _target(facts: Any) -> str:
    """Return the prediction's target in words."""
    if facts.target is not None:
        return repr(facts.target)
    if facts.classifies:
        return f"{len(facts.classes)} classes"
    return f"numbers from {facts.labels.low:g} to {facts.labels.high:g}"
