"""The results page of the speed bench: everything on it comes from the rows of one run."""

from collections.abc import Mapping, Sequence

from dpscd_experiments.experiments.chosen import markdown_table
from dpscd_experiments.pages.accuracy_figure import quartiles
from dpscd_experiments.speed.contest import Row, times_of
from dpscd_experiments.speed.measures import MEASURES, Measure

__all__ = ["page"]

_METHOD = """\
Contenders of a contest take turns in one process; a first turn, which compiles, is not
counted. Comparisons are made turn by turn: each number is the median over turns, with the
first and third quartile in brackets. All but those named otherwise use one thread, linear
algebra included.

* An epoch visits as many rows as there are, in lots. Ours has everything that a private fit
  does in it: lots and noise from the secure source, clipping, exact sums, averaging; packing
  the rows belongs to no epoch. The plan has the noise of about epsilon 1.
* Epochs of Snap ML, liblinear and scikit-learn's SGD are the difference of fits of 9 and 3
  epochs, over 6: what a fit does once cancels.
* The plain Python loop is Algorithm 1 of the paper, a record at a time with numpy's vectors,
  extrapolated from two lots; eager noise is extrapolated from eight steps.
* Solvers that visit rows at random wait for memory, so their times, and what they are compared
  with, depend on how busy it is: the copy of rows in random order shows how fast it answers.
* Rows are Gaussian directions in float32 (whole fits: float64), labels noisy signs of a
  feature.
* The whole fit asks for another epsilon near 1 every time, so that no calibration is
  remembered; compiled code is warm. diffprivlib runs in its own interpreter, and only its fit
  is timed.
* Start-up times are those of new processes. The first fit finds no cache, the later one what
  the first left; imports are not part of them."""

_TITLES = {
    "dense": "Dense epochs",
    "sparse": "Sparse epochs",
    "fit": "Whole fits",
    "startup": "Start-up",
}


def page(
    rows: Sequence[Row], machine: Mapping[str, str], quick: bool, figures: Sequence[str]
) -> str:
    """Return the page in Markdown."""
    parts = ["# Speed", _opening(quick), "## Machine", _machine(machine)]
    parts += ["## Comparisons", _comparisons(rows, quick)]
    for contest, title in _TITLES.items():
        own = [row for row in rows if row["contest"] == contest]
        if own:
            parts += [f"## {title}", _sizes(own[0]), _times(own, contest)]
    parts += [f"![{name.removesuffix('.png')}]({name})" for name in figures]
    parts += ["## How it was measured", _METHOD]
    parts += ["## Skipped and failed", _trouble(rows)]
    return "\n\n".join(parts) + "\n"


def _opening(quick: bool) -> str:
    text = "What `dpscd bench speed` measured, from the rows in `speed.csv`, all of one run."
    if quick:
        text += (
            " **Quick run**: small sizes and few turns, to which the bars do not apply; "
            "the numbers show that it works, no more."
        )
    return text


def _machine(machine: Mapping[str, str]) -> str:
    return markdown_table(["", ""], [[name, value] for name, value in machine.items()])


def _comparisons(rows: Sequence[Row], quick: bool) -> str:
    body = []
    for measure in MEASURES:
        values = measure.values(rows)
        if not values and not any(row["contest"] == measure.contest for row in rows):
            continue
        line = [measure.text, _result(measure, values), _bar(measure)]
        body.append([*line, _verdict(measure, values, quick)])
    if not body:
        return "None in this run."
    return markdown_table(["measure", "result", "bar", "met"], body)


def _result(measure: Measure, values: Sequence[float]) -> str:
    if not values:
        return "not measured"
    low, middle, high = quartiles(values)
    return f"**{_shown(measure, middle)}** ({_shown(measure, low)} to {_shown(measure, high)})"


def _shown(measure: Measure, value: float) -> str:
    if measure.how == "percent":
        return f"{100.0 * value:.1f} %"
    if measure.how in ("seconds", "difference"):
        return f"{_figures(value)} s"
    return f"{_figures(value)}x"


def _figures(value: float) -> str:
    """Return a number with three figures, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def _bar(measure: Measure) -> str:
    if measure.bar is None:
        return ""
    return f"{'at least' if measure.least else 'at most'} {_shown(measure, measure.bar)}"


def _verdict(measure: Measure, values: Sequence[float], quick: bool) -> str:
    if measure.bar is None or not values or quick:
        return ""
    return "yes" if measure.met(quartiles(values)[1]) else "**no**"


def _sizes(row: Row) -> str:
    words = {"n": "rows", "d": "columns", "entries": "non-zeros a row", "row_bytes": "bytes"}
    text = [f"{row[name]:,} {word}" for name, word in words.items() if row.get(name)]
    if row.get("row_bytes"):
        text[-1] += " a row as the kernel reads it"
    if row.get("lot"):
        text.append(f"lots of {row['lot']:,}")
    return ", ".join(text) + "."


def _times(rows: Sequence[Row], contest: str) -> str:
    epochs = contest in ("dense", "sparse")
    head = ["contender", "milliseconds", "quartiles", "turns"]
    if epochs:
        head += ["nanoseconds a row", "million rows a second", "GB/s"]
    body = []
    for contender in dict.fromkeys(row["contender"] for row in rows):
        seconds = list(times_of(rows, contest, contender).values())
        if not seconds:
            continue
        low, middle, high = quartiles(seconds)
        line = [
            contender,
            _figures(1e3 * middle),
            f"{_figures(1e3 * low)} to {_figures(1e3 * high)}",
            str(len(seconds)),
        ]
        if epochs:
            a_row = middle / rows[0]["n"]
            line += [_figures(1e9 * a_row), _figures(1e-6 / a_row)]
            line.append(_bandwidth(rows[0], contender, a_row))
        body.append(line)
    return markdown_table(head, body)


def _bandwidth(facts: Row, contender: str, a_row: float) -> str:
    """Return how fast rows are streamed, where it is known how many bytes they have."""
    if contender == "product with a vector":
        return f"{4e-9 * facts['d'] / a_row:.1f}"
    if "row_bytes" in facts and contender in ("ours, private", "copy of as many bytes"):
        return f"{1e-9 * facts['row_bytes'] / a_row:.1f}"
    return ""


def _trouble(rows: Sequence[Row]) -> str:
    lines = dict.fromkeys(
        f"* {row['contender']} ({row['contest'].partition('-')[0]}), {row['status']}: "
        f"{row['message']}"
        for row in rows
        if row["status"] != "ok"
    )
    return "\n".join(lines) or "Nothing."
