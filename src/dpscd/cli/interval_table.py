"""``dpscd inspect --intervals``: coefficients with their confidence intervals."""

import math
from typing import Any, NamedTuple

import typer

from dpscd.cli.common import print_json, print_table
from dpscd.errors import ParameterError

__all__ = ["IntervalOptions", "show_intervals"]

_LEVEL = 0.95


class IntervalOptions(NamedTuple):
    """Options of ``--intervals``; None if not given."""

    level: float | None
    reference: list[str] | None  # the compared level of categories, as ``COLUMN=LEVEL``
    odds: bool | None  # whether odds ratios replace log-odds

    def refuse(self) -> None:
        """Raise ParameterError if any was given: there are no intervals to show."""
        for name, value in self._asdict().items():
            if value is not None:
                raise ParameterError(f"--{name} goes with --intervals.")


def show_intervals(found: Any, options: IntervalOptions, *, as_json: bool) -> None:
    """Print the summary of a loaded model that was trained with `inference`."""
    summary = _summary(found, options)
    frame = summary.frame
    if options.odds and "odds_ratio" not in frame:
        raise ParameterError("--odds is for logistic regressions; this model has no odds.")
    rows = frame.to_dict(orient="records")
    if as_json:
        print_json([{name: _plain(x) for name, x in row.items()} for row in rows])
        return
    names = ("odds_ratio", "odds_low", "odds_high") if options.odds else _PLAIN
    tail = 50.0 * (1.0 - summary.level)
    ends = (f"{tail:.4g} %", f"{100.0 - tail:.4g} %")
    heading = "odds ratio" if options.odds else "estimate"
    print_table(
        summary.heading,
        ("term", heading, *ends, "std err", "z", "P>|z|", "privacy"),
        [_row(row, names) for row in rows if row["refused"] is None],
        right=range(1, 8),
    )
    base = _levels(found, options)
    if base:
        typer.echo(f"Levels are compared with {', '.join(base)}.")
    for row in rows:
        if row["refused"] is not None:
            typer.echo(f"{row['term']}: no interval, {row['refused']}.")
    about = summary.about
    if options.odds:
        about += " Standard errors and z are of log-odds."
    typer.echo(about)


_PLAIN = ("estimate", "low", "high")


def _summary(found: Any, options: IntervalOptions) -> Any:
    if not hasattr(getattr(found, "estimator_", found), "summary"):
        name = type(getattr(found, "estimator_", found)).__name__
        raise ParameterError(f"{name} has no confidence intervals.")
    level = _LEVEL if options.level is None else options.level
    if options.reference is None:
        return found.summary(level)
    if not hasattr(found, "schema_"):
        raise ParameterError("--reference is for models of tables; this one is of arrays.")
    names = [column.name for column in found.schema_.features]
    return found.summary(level, dict(_reference(text, names) for text in options.reference))


def _reference(text: str, names: list[str]) -> tuple[str, str]:
    """Return the category and the level of ``COLUMN=LEVEL``; both may contain ``=``."""
    known = [name for name in names if text.startswith(f"{name}=")]
    name = max(known, key=len) if known else text.partition("=")[0]
    if "=" not in text:
        raise ParameterError(f"--reference {text!r} must be COLUMN=LEVEL.")
    return name, text[len(name) + 1 :]


def _levels(found: Any, options: IntervalOptions) -> list[str]:
    """Return the compared levels of categories, as ``COLUMN=LEVEL``."""
    if not hasattr(found, "schema_"):
        return []
    columns = found.schema_.features
    given = dict(_reference(x, [c.name for c in columns]) for x in options.reference or ())
    usual = {c.name: str(c.values[0]) for c in columns if c.kind == "category"}
    return [f"{name}={level}" for name, level in {**usual, **given}.items()]


def _row(row: dict[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    return (
        str(row["term"]),
        *(f"{row[name]:.4g}" for name in names),
        f"{row['std_error']:.4g}",
        f"{row['z']:.2f}",
        f"{row['p_value']:.3f}",
        f"{100.0 * row['privacy']:.0f} %",
    )


def _plain(value: Any) -> Any:
    """Return a cell for JSON: null for NaN or infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
