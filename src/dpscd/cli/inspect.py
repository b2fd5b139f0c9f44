"""``dpscd inspect``: the content of a model's file."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from dpscd.cli.common import (
    AsJson,
    Model,
    Own,
    given_in,
    load_model,
    options,
    print_json,
    print_table,
)
from dpscd.errors import ParameterError

if TYPE_CHECKING:
    from dpscd.documents.described import Described, Weight

_MOST_COLUMNS = 5  # of classes side by side; of more the highest and the lowest are shown


@options(
    top=Own(int, "Effects, or coefficients, to show.", default=15, least=0),
    column=Own(str, "Show the effect of this column of the table instead."),
    plot=Own(Path, "Draw the effect of the column into this file."),
    intervals=Own(bool, "Show confidence intervals instead, of a fit with --inference."),
    level=Own(float, "Of --intervals.", "0.95"),
    reference=Own(
        list[str],
        "COLUMN=LEVEL that other levels are compared with; may be repeated.",
        "the first listed",
    ),
    odds=Own(bool, "Odds ratios, of a logistic regression."),
)
def inspect(
    model: Model,
    *,
    as_json: AsJson = False,
    top: int,
    column: str | None,
    plot: Path | None,
    intervals: bool,
    **more: Any,
) -> None:
    """Show the clearest effects of a model, with the band of the noise, and its privacy card.

    Of a table what each column does to the prediction at its values; else the coefficients.
    With --intervals all estimates of a fit with --inference, with their confidence intervals.

    Example: dpscd inspect model.json --column age --plot age.png
    """
    if plot is not None and column is None:
        raise ParameterError("--plot draws one column: give --column too.")
    if intervals and column is not None:
        raise ParameterError("--column and --intervals are two views: give one of them.")
    for name in () if intervals else given_in(more):
        raise ParameterError(f"--{name} goes with --intervals.")
    found = load_model(model)
    if intervals:
        _show_intervals(found, **more, as_json=as_json)
    elif column is not None:
        _show_column(found, column, plot, as_json=as_json)
    elif as_json:
        print_json(_plain(found, getattr(found, "estimator_", found)))
    else:
        from dpscd.documents.described import Described

        _show_clearest(Described(found), top)
        for name, (low, high) in getattr(found, "bounds_", {}).items():
            typer.echo(f"Released bounds of {name!r}: {low:g} to {high:g}.")
        typer.echo(str(found.privacy_))


def _show_intervals(
    found: Any, level: float | None, reference: list[str] | None, *, odds: bool, as_json: bool
) -> None:
    """Print the summary of a loaded model that was trained with `inference`."""
    inner = getattr(found, "estimator_", found)
    if not hasattr(inner, "summary"):
        raise ParameterError(f"{type(inner).__name__} has no confidence intervals.")
    columns = found.schema_.features if hasattr(found, "schema_") else []
    names = [column.name for column in columns]
    level = 0.95 if level is None else level
    if not 0.0 < level < 1.0:
        raise ParameterError(f"--level {level} must lie between 0 and 1.")
    summary = found.summary(1.0 - level, dict(_reference(x, names) for x in reference or ()))
    if odds and "odds_ratio" not in summary.frame:
        raise ParameterError("--odds is for logistic regressions; this model has no odds.")
    rows = summary.frame.to_dict(orient="records")
    if as_json:
        print_json([_finite_row(row) for row in rows])
        return
    first = ["odds_ratio", "odds_low", "odds_high"] if odds else ["estimate", "low", "high"]
    tail = 50.0 * (1.0 - summary.level)
    ends = (f"{tail:.4g} %", f"{100.0 - tail:.4g} %")
    print_table(
        summary.heading,
        ("term", first[0].replace("_", " "), *ends, "std err", "z", "P>|z|", "privacy"),
        [
            (
                str(row["term"]),
                *(f"{row[name]:.4g}" for name in (*first, "std_error")),
                f"{row['z']:.2f}",
                f"{row['p_value']:.3f}",
                f"{100.0 * row['privacy']:.0f} %",
            )
            for row in rows
            if row["refused"] is None
        ],
        right=range(1, 8),
    )
    for note in (*summary.notes, *(["Standard errors and z are of log-odds."] if odds else ())):
        typer.echo(note)


def _reference(text: str, names: list[str]) -> tuple[str, str]:
    """Return the category and the level of ``COLUMN=LEVEL``; both may contain ``=``."""
    known = [name for name in names if text.startswith(f"{name}=")]
    name = max(known, key=len) if known else text.partition("=")[0]
    if "=" not in text:
        raise ParameterError(f"--reference {text!r} must be COLUMN=LEVEL.")
    return name, text[len(name) + 1 :]


def _finite_row(row: dict[Any, Any]) -> dict[Any, Any]:
    """Return a row for JSON: null for NaN or infinity."""
    gone = (name for name, x in row.items() if isinstance(x, float) and not math.isfinite(x))
    return {**row, **dict.fromkeys(gone)}


class _Row(NamedTuple):
    """An effect or a coefficient, for every output."""

    name: str
    values: list[float]
    band: float
    clear: bool

    @property
    def clearness(self) -> tuple[bool, float]:
        """What is clear comes first, then the largest in units of the band."""
        largest = max(map(abs, self.values))
        return self.clear, largest / self.band if self.band else largest


def _show_clearest(model: "Described", top: int) -> None:
    """Print the clearest effects or coefficients, and what their band is."""
    from dpscd.estimators.shapes import band_words, clear_words, effect_words, prediction_note

    names, rows = _rows(model)
    clearest = sorted(rows, key=lambda row: row.clearness, reverse=True)[:top]
    if not clearest:
        return
    cells = [[f"{x:+.4f}" for x in row.values] for row in clearest]
    if len(names) > _MOST_COLUMNS:
        cells = [_extremes(names, row.values) for row in clearest]
        names = ["most for", "with", "most against", "with"]
    of = f"{len(rows)} {model.noun}s"
    of += f" on {effect_words(model.model)}" if model.has_shapes else ""
    band = band_words(model.model)
    title = f"{sum(row.clear for row in rows)} of {of} are clear"
    if band is None:
        title = f"the {len(clearest)} largest of {of}, without noise"
    print_table(
        f"{type(model.estimator).__name__}: {title}",
        ("column at value" if model.schema else "feature", *names, "± band"),
        [(row.name, *own, f"{row.band:.4f}") for row, own in zip(clearest, cells, strict=True)],
        right=range(1, 2 + len(names)),
    )
    if band is not None:
        typer.echo(f"Clear, and shown first: {clear_words(model.noun)}. {band}")
    note = prediction_note(model.estimator, model.noun)
    if model.fit.has_intervals:
        note = "Estimates with confidence intervals: --intervals."
    if note is not None:
        typer.echo(note)


def _extremes(names: list[str], values: list[float]) -> list[str]:
    """Return the classes with the highest and the lowest value, and these values."""
    places = sorted(range(len(values)), key=values.__getitem__)
    return [x for k in (places[-1], places[0]) for x in (names[k], f"{values[k]:+.4f}")]


def _rows(model: "Described") -> tuple[list[str], list[_Row]]:
    """Return the names of the outputs, and every effect or coefficient."""
    outputs = [
        {_name(x): x for x in model.weights(place)} for place in range(len(model.outputs))
    ]
    names = [model.noun] if len(outputs) == 1 else [str(x) for x in model.estimator.classes_]
    rows = []
    for name in outputs[0]:
        own = [output[name] for output in outputs]
        values, band = [x.value for x in own], max(x.band for x in own)
        rows.append(_Row(name, values, band, any(x.clear for x in own)))
    return names, rows


def _name(weight: "Weight") -> str:
    if weight.at is not None:
        return f"{weight.group} at {weight.label}"
    if weight.group and weight.group != weight.label:
        return f"{weight.group} = {weight.label}"
    return weight.label


def _show_column(found: Any, column: str, plot: Path | None, *, as_json: bool) -> None:
    """Print, and draw if asked to, the effect of a column or a pair."""
    if not hasattr(found, "shapes"):
        raise ParameterError("--column is for models of tables; this one is of arrays.")
    from dpscd.estimators.shapes import band_words, effect_words

    shapes = found.shapes()
    own = shapes[shapes["column"] == column]
    if not len(own):
        known = ", ".join(sorted(set(shapes["column"])))
        raise ParameterError(f"the model has no column {column!r}; it has {known}.")
    if "other" in own and own["other"].isna().all():  # a column alone, where others are paired
        own = own.drop(columns="other")
    if plot is not None:
        _draw(column, found, plot)
    rows = own.to_dict(orient="records")
    if as_json:
        print_json([_finite_row(row) for row in rows])
        return
    keys = ["value", *(x for x in ("other", "class") if x in own)]
    widths = [x for x in ("band", "bound") if not own[x].isna().all()]
    part = next(x for x in found.schema_.parts if x.name == column)
    forced = {"up": ", made to rise", "down": ", made to fall"}
    print_table(
        f"{column}: effect on {effect_words(found)}"
        + forced.get(str(getattr(part, "monotone", None)), ""),
        (*keys, "effect", *(f"± {x}" for x in widths)),
        [
            (
                *(f"{row[x]:g}" if isinstance(row[x], float) else str(row[x]) for x in keys),
                f"{row['effect']:+.4f}",
                *(f"{row[x]:.4f}".replace("nan", "") for x in widths),
            )
            for row in rows
        ],
        right=range(len(keys), len(keys) + 1 + len(widths)),
    )
    for line in (band_words(found), plot and f"Figure written to {plot}"):
        if line is not None:
            typer.echo(line)


def _draw(column: str, found: Any, plot: Path) -> None:
    from dpscd.estimators.plots import write_effect

    try:
        write_effect(found, column, plot)
    except ValueError:  # matplotlib's, about the ending
        problem = f"{plot.name} is no file that a figure can be written to; use .png or .svg."
    else:
        return
    raise ParameterError(problem)


def _plain(found: Any, inner: Any) -> dict[str, Any]:
    from dpscd.estimators.shapes import BAND, band_words

    coef, noise = inner.fit_.numbers.coef, BAND * inner.fit_.deviations[0]
    names = getattr(inner, "feature_names_in_", [f"x{k}" for k in range(coef.shape[1])])
    names = [str(name) for name in names]
    schema = getattr(found, "schema_", None)
    return {
        "type": type(inner).__name__,
        "classes": [str(x) for x in inner.classes_] if hasattr(inner, "classes_") else None,
        "intercept": inner.fit_.numbers.intercept.tolist(),
        "coefficients": dict(zip(names, coef.T.tolist(), strict=True)),
        "noise": _finite_row(dict(zip(names, noise.max(axis=0).tolist(), strict=True))),
        "band": band_words(found),
        "schema": schema.to_dict() if schema is not None else None,
        "bounds": getattr(found, "bounds_", {}),
        "unit": inner.privacy_.unit,
        "card": json.loads(inner.privacy_.to_json()),
    }
