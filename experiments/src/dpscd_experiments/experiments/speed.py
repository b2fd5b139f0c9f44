"""What a private epoch and a private fit cost, next to others, in one run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dpscd_experiments.experiment import (
    Asked,
    Experiment,
    Failure,
    Shown,
    Spec,
    load_spec,
    settings_of,
)
from dpscd_experiments.experiments.speed_figures import draw_epochs, draw_growth, times_of
from dpscd_experiments.provenance import load_average, machine
from dpscd_experiments.runner import progress_bar
from dpscd_experiments.speed.contests import GROUPS, Row, count_turns, take_turns
from dpscd_experiments.store import Store
from dpscd_experiments.style import markdown_table, quartiles

_TITLES = {
    "dense": "Dense epochs",
    "sparse": "Sparse epochs",
    "fit": "Whole fits",
    "startup": "Start-up",
}


# Columns of the store that the columns of times are kept in; sizes are parameters.
_COLUMNS = {
    "contest": "dataset",
    "contender": "method",
    "at": "at",
    "turn": "seed",
    "status": "status",
    "message": "message",
    "seconds": "value",
}


@dataclass(frozen=True)
class Measure:
    """A comparison of two contenders of one contest, turn by turn."""

    text: str  # what the page calls it
    contest: str  # the contest
    above: str  # the contenders; for a plain time there is no second one
    below: str = ""
    how: Literal["ratio", "percent", "seconds", "difference"] = "ratio"  # what is made of them
    bar: float | None = None  # what is to be reached, or kept to
    least: bool = True  # whether the bar is the least allowed, or the most

    def values(self, rows: Sequence[Row]) -> list[float]:
        """Return the comparison at every turn that has both."""
        above = times_of(rows, self.contest, self.above)
        if self.how == "seconds":
            return list(above.values())
        below = times_of(rows, self.contest, self.below)
        both = [(above[turn], below[turn]) for turn in above if turn in below]
        if self.how == "difference":
            return [one - other for one, other in both]
        return [one / other for one, other in both]

    def met(self, value: float) -> bool:
        """Return whether a value reaches the bar."""
        if self.bar is None:
            return True
        return value >= self.bar if self.least else value <= self.bar


#: Those with a bar first, in the order of the page.
MEASURES = tuple(Measure(**one) for one in load_spec("speed")["measures"])


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
    parts += [f"![{name}]({name}.png)" for name in figures]
    parts += ["## How it was measured", load_spec("speed")["method"]]
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


def _run(spec: Spec, asked: Asked, store: Store) -> None:
    sizes = settings_of(spec, asked.quick)
    groups = [name for name in GROUPS if name in asked.datasets or not asked.datasets]
    store.path.unlink(missing_ok=True)  # all times are of one run
    facts, ends = machine(), Counter[str]()
    total = sum(count_turns(name, sizes[name]) for name in groups)
    with progress_bar("speed", total, asked.progress) as advance:
        for name in groups:
            for contest in GROUPS[name](sizes[name]):
                for turn in take_turns(contest):
                    store.append([_stored(row, facts) for row in turn])
                    ends.update(row["status"] for row in turn)
                    advance(ends)
    end = {"contest": "", "contender": "machine", "at": None, "turn": 0, "status": "ok"}
    facts["load average at the end"] = load_average()
    store.append([_stored({**end, "message": "", "seconds": None}, facts)])


def _stored(row: Row, facts: Mapping[str, str]) -> Row:
    """Return a time as the store has it; sizes become parameters."""
    names = ("contest", "contender", "at", "turn")
    return {
        **{column: row[name] for name, column in _COLUMNS.items()},
        "cell": " ".join(str(row[name]) for name in names),
        "rows": 1,
        "experiment": "speed",
        "epsilon": 1.0,
        "delta": 0.0,
        "metric": "seconds",
        "seconds": row["seconds"] or 0.0,
        **{f"param.{name}": size for name, size in row.items() if name not in _COLUMNS},
        **{f"prov.{name}": fact for name, fact in facts.items()},
    }


def _time(stored: Row) -> Row:
    """Return a time of the store as it is shown."""
    sizes = {k.removeprefix("param."): v for k, v in stored.items() if k.startswith("param.")}
    return {name: stored[column] for name, column in _COLUMNS.items()} | sizes


def _show(_spec: Spec, quick: bool, store: Store) -> Shown:
    *stored, end = store.read()
    rows = [_time(row) for row in stored]
    if not any(row["status"] == "ok" for row in rows):
        raise Failure(f"speed: no results; {rows[0]['message'] if rows else 'nothing ran'}")
    figures = {}
    if any(row["contest"] == "dense" for row in rows):
        figures["speed-epochs"] = draw_epochs(rows, quick)
    if any(row["contest"].startswith("growth") for row in rows):
        figures["speed-growth"] = draw_growth(rows, quick)
    facts = {k.removeprefix("prov."): v for k, v in end.items() if k.startswith("prov.")}
    return Shown(page(rows, facts, quick, list(figures)), {"speed": rows}, figures)


EXPERIMENT = Experiment(_run, _show, lambda _: {"data": list(GROUPS)})
