"""``dpscd fit``: a private model from a table and its schema, or from rows and labels."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from dpscd.cli.common import (
    BFLOAT16,
    LABELS,
    AsJson,
    Own,
    are_arrays,
    check_writable,
    given_in,
    open_labels,
    open_rows,
    options,
    print_json,
)
from dpscd.errors import ParameterError
from dpscd.estimators.registry import MODELS, kind_called, usual_kind

# Options that only one kind of records has.
_OF_TABLES = ("schema", "person", "max_rows", "person_weight", "dask")
_OF_ARRAYS = ("labels", "classes", "y_bounds", "row_bound", "bfloat16")
_MOST_CLASSES = 100_000  # beyond, it is rather a label than a number of them
_MODELS = ("auto", *(kind.name for kind in MODELS))


@options(
    "y_bounds", "row_bound", "epsilon", "delta", "relation", "n", "max_rows", "person_weight",
    "lam", "epochs", "lot_size", "travel", "standardise", "fit_intercept", "intercept_scaling",
    "threshold", "clip_predictions", "engine", "ledger", "dataset", "n_jobs", "random_state",
    schema=Own(Path, "What is known about the columns of a table (TOML)."),
    labels=LABELS,
    classes=Own(str, "Classes of --labels: 10 for 0 to 9, or the labels: cat,dog."),
    bfloat16=BFLOAT16,
    model=Own(_MODELS, "auto: logistic for classes, ridge for numbers.", default="auto"),
    inference=Own(
        bool, "For confidence intervals of coefficients; numbers of a table become lines."
    ),
    robust=Own(bool, "--inference that does not assume that the model is true."),
    person=Own(
        str,
        "Column that identifies persons, who are protected with all their records.",
        "the schema's, else every record by itself",
    ),
    class_weight=Own(
        list[str],
        "How much records of a class count, such as yes=10; may be repeated.",
        metavar="CLASS=WEIGHT",
    ),
    seed_is_secret=Own(
        bool, "Nobody else knows the seed, which has 96 bits or more; for --ledger."
    ),
    dask=Own(
        str,
        "Train where Parquet files are: the address of a Dask scheduler, or local.",
        "this process",
    ),
)  # fmt: skip
def fit(
    data: Annotated[
        list[str],
        typer.Argument(
            help="CSV or Parquet files of one schema; - reads CSV from a pipe. Or .npy files."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The model's file (JSON).", dir_okay=False)],
    *,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Train a differentially private model on a table, or on rows of numbers in .npy files.

    Values outside the schema are moved to the nearest bound or count as "other", silently.
    Rows in .npy files have --labels and --classes (or --bounds) in place of a schema; labels
    that are none of the classes count for nothing, silently.
    The model's file holds coefficients, schema and privacy card: nothing about a record.

    Example: dpscd fit patients.csv --schema patients.toml --epsilon 1 --out model.json
    """
    given = given_in(options)
    name, robust = str(given.pop("model")), given.pop("robust", False)
    if robust or "inference" in given:
        given["inference"] = _intervals(name, robust=robust)
    secret, arrays = given.pop("seed_is_secret", False), are_arrays(data)
    where = "files of a table, not with rows in .npy files" if arrays else "rows in .npy files"
    _refuse(_OF_TABLES if arrays else _OF_ARRAYS, given, "{{{}}} goes with {{}}.", where)
    classifies, train = _arrays(data, given) if arrays else _table(data, given)
    check_writable(out)
    kind = _kind(name, given, classifies=classifies)
    if "class_weight" in given:
        given["class_weight"] = dict(map(_weight, given["class_weight"]))
    foreign = sorted(set(given) - set(kind.estimator().get_params()))
    _refuse(foreign, given, "{{{}}} is not a parameter of {{}}.", kind.type)
    charged = options["ledger"] is not None
    given["random_state"] = _seed(given.get("random_state"), secret=secret, charged=charged)
    found = _train(train, kind.estimator(**given))
    found.save(out)
    _print_result(found, out, as_json=as_json)


def _refuse(names: Sequence[str], given: dict[str, Any], text: str, where: str) -> None:
    """Refuse the first of some options that is given; `text` has its place."""
    for name in names:
        if name in given:
            raise ParameterError(text.format(name), where, **{name: ...})


# --- records ----------------------------------------------------------------------------------

# Whether their target is a class, and what trains an estimator on records that nobody has read.
_Records: TypeAlias = tuple[bool, Callable[[Any], Any]]


def _arrays(data: Sequence[str], given: dict[str, Any]) -> _Records:
    """Return the records of .npy files, whose options are taken from those given."""
    if ("classes" in given) == ("y_bounds" in given):
        raise ParameterError(
            "give --classes with the classes of --labels, or --bounds with their lowest and "
            "highest number; one of both."
        )
    rows = open_rows(data, bfloat16=given.pop("bfloat16", False))
    labels = open_labels(given.pop("labels", None), len(rows))
    if "classes" in given:
        given["classes"] = declared_classes(given["classes"])
    return "classes" in given, lambda model: model.fit(rows, labels)


def declared_classes(text: str) -> list[Any]:
    """Return the classes of a list of labels, or of their number: "3" is 0, 1 and 2."""
    labels = [label.strip() for label in text.split(",")]
    whole = all(label.removeprefix("-").isdecimal() for label in labels)
    if len(labels) > 1:
        return [int(label) for label in labels] if whole else list(labels)
    if not whole or not 2 <= int(text) <= _MOST_CLASSES:
        raise ParameterError(
            f"--classes {text} must be a number from 2 to {_MOST_CLASSES}, which means the "
            "labels 0, 1, 2 and so on, or the labels with commas between."
        )
    return list(range(int(text)))


def _table(data: Sequence[str], given: dict[str, Any]) -> _Records:
    """Return the records of a table, whose options are taken from those given."""
    from dpscd.preprocessing.schema import Schema

    if "schema" not in given:
        raise ParameterError("a table needs --schema; dpscd schema init makes one.")
    known, dask = Schema.read(given.pop("schema")), given.pop("dask", None)
    if "person" in given:
        known = known.with_person(given.pop("person"))
    if known.person is None and {"max_rows", "person_weight"} & set(given):
        raise ParameterError(
            "--max-rows and --person-weight go with --person, or with person in the schema."
        )

    def train(estimator: Any) -> Any:
        from dpscd import TableModel

        with nullcontext(data) if dask is None else _cluster(dask, data) as records:
            return TableModel(known, estimator).fit(records)

    return bool(known.target.classes), train


@contextmanager
def _cluster(address: str, data: Sequence[str]) -> Iterator[Any]:
    """Connect to a cluster and return the files as a table that its workers read."""
    if not all(file.lower().endswith((".parquet", ".pq")) for file in data):
        raise ParameterError("--dask reads Parquet files, which workers can share.")
    try:
        from dpscd.distributed.collections import connected, parquet
    except ImportError:
        raise ParameterError(
            "--dask needs Dask; install it with: pip install 'dask[dataframe,distributed]'"
        ) from None
    with connected(address):
        yield parquet(data)


# --- the estimator ----------------------------------------------------------------------------


def _kind(name: str, given: dict[str, Any], *, classifies: bool) -> Any:
    """Return the kind of model, or refuse one that does not match the labels of arrays."""
    kind = usual_kind(classifies=classifies) if name == "auto" else kind_called(name)
    for own, option in (("classes", "--bounds"), ("y_bounds", "--classes")):
        if own in given and kind.classifies != (own == "classes"):
            raise ParameterError(f"--model {name} needs {option} to say what labels there are.")
    return kind


def _intervals(name: str, *, robust: bool) -> bool | str:
    """Return what is asked of inference, or refuse a model that has no intervals."""
    if name != "auto" and not kind_called(name).has_intervals:
        able = " or ".join(kind.name for kind in MODELS if kind.has_intervals)
        raise ParameterError(
            f"--model {name} has no confidence intervals: --inference needs {able}."
        )
    return "robust" if robust else True


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


def _seed(seed: int | None, *, secret: bool, charged: bool) -> Any:
    """Return the estimator's random state, or raise ParameterError before reading."""
    from dpscd import SecretSeed

    if secret and seed is None:
        raise ParameterError("--seed-is-secret goes with --seed.")
    if seed is not None and charged and not secret:
        raise ParameterError(
            "--seed cannot be charged to --ledger: the charge does not hold for noise that "
            "others can draw again. If nobody will ever know the seed, add --seed-is-secret."
        )
    return SecretSeed(seed) if seed is not None and secret else seed


def _train(train: Callable[[Any], Any], estimator: Any) -> Any:
    """Return what is trained; warnings are lines on stderr."""
    from dpscd import PrivacyWarning, UtilityWarning

    estimator.set_params(verbose=int(sys.stderr.isatty()))
    with warnings.catch_warnings(record=True) as caught:
        for kind in (PrivacyWarning, UtilityWarning):
            warnings.simplefilter("always", kind)
        found = train(estimator)
    getattr(found, "estimator_", found).set_params(verbose=0)
    for warning in caught:
        if issubclass(warning.category, PrivacyWarning | UtilityWarning):
            typer.echo(f"warning: {warning.message}", err=True)
    return found


# --- what is said -----------------------------------------------------------------------------


def _print_result(model: Any, out: Path, *, as_json: bool) -> None:
    """Print public facts of the fit, and no time: it depends on the records."""
    card, inner = model.privacy_, getattr(model, "estimator_", model)
    unit, facts = card.protected, card.facts
    inference = getattr(inner, "inference", False)
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
            "unit": unit.text if unit.is_person else None,
            "inference": inference or None,
        }
        print_json({name: value for name, value in values.items() if value is not None})
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
        names = ", ".join(map(repr, facts.read_from_data))
        typer.echo(
            f"warning: what the schema says of {names} was read off the records, which no "
            "guarantee covers.",
            err=True,
        )
    if card.seeded:
        typer.echo("warning: seeded; privacy rests on the secrecy of --seed.", err=True)
    typer.echo(f"Wrote {out}")
    if inference:
        typer.echo(f"Intervals: dpscd inspect {out} --intervals")


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
