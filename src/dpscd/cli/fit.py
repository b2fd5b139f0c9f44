"""``dpscd fit``: a private model from a table and its schema, or from rows and labels."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.arrays import BFloat16, LabelFiles
from dpscd.cli.common import AsJson, check_writable, plain_errors, print_json
from dpscd.cli.models import AUTO, TrainedModel
from dpscd.cli.training_options import (
    ClassWeights,
    ClipPredictions,
    Engine,
    Epochs,
    Intercept,
    InterceptScaling,
    Lam,
    LotSize,
    Standardise,
    Threshold,
    Travel,
    chosen_parameters,
)
from dpscd.cli.training_records import (
    ArrayOptions,
    PersonWeight,
    TableOptions,
    TrainingRecords,
    records_of,
)
from dpscd.estimators.registry import MODELS, kind_called, usual_kind
from dpscd.privacy.relation import Relation

__all__ = ["fit"]


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
    delta: Annotated[
        float | None,
        typer.Option(
            help="Small extra probability in the bound; keep it far below 1/n.",
            show_default="min(1e-5, 1/(10 n))",
        ),
    ] = None,
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
    relation: Annotated[
        Relation, typer.Option(help="Which tables count as neighbours.")
    ] = Relation.ZERO_OUT,
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
    class_weight: ClassWeights = None,
    lam: Lam = None,
    epochs: Epochs = None,
    lot_size: LotSize = None,
    travel: Travel = None,
    standardise: Standardise = None,
    intercept: Intercept = None,
    intercept_scaling: InterceptScaling = None,
    threshold: Threshold = None,
    clip_predictions: ClipPredictions = None,
    ledger: Annotated[
        str | None, typer.Option(help="File of the privacy budget to charge.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set in the ledger.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Threads; -1 for one per core.")] = 1,
    engine: Engine = None,
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
        records = records_of(
            data,
            TableOptions(schema, person, max_rows, person_weight, dask),
            ArrayOptions(labels, classes, bounds, row_bound, bfloat16 or None),
        )
        check_writable(out)
        kind = _kind(model.value, records)
        chosen = chosen_parameters(
            kind.estimator,
            class_weight,
            lam=lam,
            epochs=epochs,
            lot_size=lot_size,
            travel=travel,
            standardise=standardise,
            fit_intercept=intercept,
            intercept_scaling=intercept_scaling,
            threshold=threshold,
            clip_predictions=clip_predictions,
            engine=engine,
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
            **chosen,
            **records.parameters,
        )
        start = time.perf_counter()
        found = _train(records, estimator)
        seconds = time.perf_counter() - start if timings else None
        found.save(out)
        _print_result(found, out, seconds, as_json=as_json)


def _inference(name: str, *, inference: bool, robust: bool) -> dict[str, Any]:
    """Return the estimator's parameters for intervals, or refuse a model that has none."""
    from dpscd import ParameterError

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
    from dpscd import ParameterError

    usual = usual_kind(classifies=records.classifies)
    kind = usual if name == "auto" else kind_called(name)
    for given, option, own in (("classes", "--bounds", True), ("y_bounds", "--classes", False)):
        if given in records.parameters and kind.classifies != own:
            raise ParameterError(f"--model {name} needs {option} to say what labels there are.")
    return kind


def _random_state(seed: int | None, *, secret: bool, ledger: str | None) -> Any:
    """Return the estimator's random state, or raise ParameterError before reading."""
    from dpscd import ParameterError, SecretSeed

    if secret and seed is None:
        raise ParameterError("--seed-is-secret goes with --seed.")
    if seed is not None and ledger is not None and not secret:
        raise ParameterError(
            "--seed cannot be charged to --ledger: the charge does not hold for noise that "
            "others can draw again. If nobody will ever know the seed, add --seed-is-secret."
        )
    return SecretSeed(seed) if seed is not None and secret else seed


def _train(records: TrainingRecords, estimator: Any) -> Any:
    import warnings

    from dpscd import PrivacyWarning, UtilityWarning

    ours = (PrivacyWarning, UtilityWarning)
    estimator.set_params(verbose=int(sys.stderr.isatty()))
    with warnings.catch_warnings(record=True) as caught:
        for kind in ours:
            warnings.simplefilter("always", kind)
        found = records.train(estimator)
    getattr(found, "estimator_", found).set_params(verbose=0)
    for warning in caught:
        if issubclass(warning.category, ours):
            typer.echo(f"warning: {warning.message}", err=True)
    return found


def _print_result(model: Any, out: Path, seconds: float | None, *, as_json: bool) -> None:
    """Print public facts of the fit; times only on request."""
    card, inner = model.privacy_, getattr(model, "estimator_", model)
    unit = card.protected
    read_from_data = model.schema_.read_from_data if hasattr(model, "schema_") else ()
    if as_json:
        values = {
            "model": str(out),
            "type": type(inner).__name__,
            "epsilon": card.epsilon if card.private else "inf",
            "delta": card.delta,
            "relation": card.relation.value,
            "records": card.public["n"],
            "features": card.public["d"],
            "read_from_data": list(read_from_data),
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
    plural = "" if card.public["d"] == 1 else "s"
    typer.echo(
        f"{type(inner).__name__} for {_target(model)}: {claim}, "
        f"{card.public['n']:,} {unit.noun}s, {card.public['d']} feature{plural}."
    )
    if card.private and unit.is_person:
        typer.echo(f"Unit: {unit.text}.")
        _say_level(inner)
    if read_from_data:
        typer.echo(
            "warning: what the schema says of "
            f"{', '.join(map(repr, read_from_data))} was read off the records, which "
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


def _say_level(model: Any) -> None:
    """Say over what predictions are right on average: rows or persons."""
    listed = {x.what for x in model.privacy_.releases}
    if not listed & {"calibration", "level"}:
        return
    name = "Probabilities" if "calibration" in listed else "Expected counts"
    over, other = ("rows", "persons") if model.person_weight == "sum" else ("persons", "rows")
    weight = "share" if over == "rows" else "sum"
    typer.echo(
        f"{name} are right on average over {over}; with --person-weight {weight} over {other}."
    )


def _target(model: Any) -> str:
    """Return the prediction's target in words."""
    if hasattr(model, "schema_"):
        return repr(model.schema_.target.name)
    if hasattr(model, "classes_"):
        return f"{len(model.classes_)} classes"
    low, high = model.y_bounds
    return f"numbers from {low:g} to {high:g}"
