"""Write reference/cli.md and reference/cli_bench.md from the command line itself.

    python docs/make_cli.py

Tests compare the pages with what this returns.
"""

import inspect
import types
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from dpscd.cli.app import app, outside_verbs

PAGE = Path(__file__).parent / "reference" / "cli.md"
BENCH_PAGE = PAGE.with_name("cli_bench.md")

_HEAD = """\
# Command line

<!-- Written by docs/make_cli.py; change the verbs in src/dpscd/cli instead. -->

`dpscd VERB --help` shows the same. With `--json` a verb prints JSON for programs. What fails
says so in one line on standard error; [exit codes](errors.md) tell why. `dpscd --debug VERB`
adds the traceback, which may hold values of the data. `dpscd --version` shows the version.
Verbs that repeat experiments are on [a page of their own](cli_bench.md).
"""

_BENCH_HEAD = """\
# Command line of experiments

<!-- Written by docs/make_cli.py; change the verbs in dpscd_experiments/cli.py instead. -->

The distribution `dpscd-experiments` brings these verbs: from a checkout, install it with
`pip install . ./experiments`. [All others](cli.md) work without it.
"""


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for names, verb in verbs(app):
        parts += _verb(names, verb)
    return "\n".join(parts)


def bench_page() -> str:
    """Return the page of the verbs that entry points bring."""
    parts = [_BENCH_HEAD]
    for name, point in outside_verbs().items():
        group = point.load()
        for names, verb in verbs(group, (name,) if group.registered_callback else ()):
            parts += _verb(names, verb)
    return "\n".join(parts)


def verbs(group: typer.Typer, before: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Return the words and the function of every verb, groups last, as ``--help`` does."""
    for command in group.registered_commands:
        function = command.callback
        name = command.name or function.__name__.replace("_", "-")
        yield (*before, name), function
    for inner in group.registered_groups:
        yield from verbs(inner.typer_instance, (*before, inner.typer_instance.info.name))


def _verb(names: tuple[str, ...], verb: Any) -> list[str]:
    text = inspect.getdoc(verb) or ""
    told, _, example = text.partition("\nExample: ")
    hints = get_type_hints(verb, include_extras=True)
    defaults = inspect.signature(verb).parameters
    arguments, options = [], []
    for name, hint in hints.items():
        if name == "return":
            continue
        plain, info = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, None)
        row = _row(name, plain, info, defaults[name].default)
        (arguments if isinstance(info, typer.models.ArgumentInfo) else options).append(row)
    usage = [f"dpscd {' '.join(names)}", *(row[0] for row in arguments)]
    lines = [f"## dpscd {' '.join(names)}", "", told.strip(), ""]
    lines += ["```text", " ".join([*usage, "[OPTIONS]"]), "```", ""]
    if example:
        lines += [f"Example: `{example.strip()}`", ""]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {told} |" for name, _, told, _ in arguments]
        lines.append("")
    if options:
        lines += ["| option | value | meaning | default |", "|---|---|---|---|"]
        lines += [
            f"| `{n}` | {value} | {told} | {usual} |" for n, value, told, usual in options
        ]
        lines.append("")
    return lines


def _row(name: str, hint: Any, info: Any, default: Any) -> tuple[str, str, str, str]:
    """Return the written name of a parameter, its value, its meaning and its default."""
    inner, several = _taken_apart(hint)
    needed = default is inspect.Parameter.empty
    if isinstance(info, typer.models.ArgumentInfo):
        word = (info.metavar or name).upper() + ("..." if several else "")
        return (word if needed else f"[{word}]"), "", _told(info, inner), ""
    # In an annotation typer keeps the first declared flag where a default would be.
    declared = [info.default, *(info.param_decls or ())]
    flags = [word for word in declared if isinstance(word, str) and word.startswith("--")]
    flag = flags[0] if flags else "--" + name.replace("_", "-")
    value = _VALUES.get(inner, "") if inner is not bool else ""
    if inner is not bool and isinstance(inner, type) and issubclass(inner, Enum):
        value = ", ".join(f"`{member.value}`" for member in inner)
    usual = "needed" if needed else ""
    if isinstance(info.show_default, str):
        usual = info.show_default
    elif not needed and inner is not bool and default is not None:
        usual = f"`{default.value if isinstance(default, Enum) else default}`"
    return flag, value, _told(info, inner), usual


_VALUES = {str: "text", int: "integer", float: "number", Path: "file"}


def _told(info: Any, kind: Any) -> str:
    told = (info.help or "").replace("|", "\\|")
    if kind in (int, float) and info.min is not None:
        told += f" At least {info.min}."
    return told


def _taken_apart(hint: Any) -> tuple[Any, bool]:
    """Return the type of one value, and whether there may be several."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    return (get_args(hint)[0], True) if get_origin(hint) is list else (hint, False)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    BENCH_PAGE.write_text(bench_page(), encoding="utf-8")
