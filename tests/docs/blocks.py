"""The code blocks of a page: found, run in order, and compared with what the page shows.

What a fenced block is for follows from its language and from a comment in the line before.

``python``
    Run, all blocks of a page in one namespace. A ``text`` block right after is what it prints.
``console``
    Lines that begin with ``$ `` are commands for the shell; the lines after each are what
    it prints, errors included. It fails if and only if the last of them begins with "error:".
``text``, ``toml``, ``json``
    Shown, not run. After ``<!-- file: NAME -->`` it is written to that file first.
anything else
    Must be exempt.

``<!-- not run: WHY -->`` exempts a block. ``<!-- needs: FILE -->`` copies a file of the
repository, or of the folder in DPSCD_DATA; without it the rest of the page is not run.

In what is shown, ``…`` stands for any text within a line and a line of it for any lines. Spaces
count as one, so that columns may stay aligned.
"""

import contextlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dpscd

ROOT = Path(__file__).parents[2]
RUN = ("python", "console")
SHOWN = ("text", "toml", "json")
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+)(?P<language>[^\n`]*)$")
_MARK = re.compile(r"^\s*<!-- (?P<key>not run|file|needs): (?P<value>.+?) -->\s*$")


class Unavailable(Exception):  # noqa: N818 - not a failure
    """A page needs a file that is not here."""


@dataclass
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return f"{self.page.name}, line {self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page; directives of Sphinx are none."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    for number, line in lines:
        if mark := _MARK.match(line):
            marks[mark["key"]] = mark["value"]
        elif fence := _FENCE.match(line):
            language = fence["language"].strip()
            inner = list(_inside(lines, fence["fence"]))
            cut = len(fence["indent"])
            if not language.startswith("{"):
                text = "\n".join(part[cut:] for part in inner)
                found.append(Block(page, number, language, text, marks))
            marks = {}
        elif line.strip():
            marks = {}
    return found


def _inside(lines: Iterator[tuple[int, str]], fence: str) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == fence:
            return
        yield line
    raise AssertionError("a block is not closed")


def commands_of(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines shown after it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line, [])
        else:
            assert found, f"{block.where}: no command before this output"
            found[-1][1].append(line)
    return found


def run_page(page: Path, folder: Path) -> None:
    """Run the blocks of a page in a folder, and fail where it prints something else."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    environment = _environment(folder)
    work = folder / "work"
    work.mkdir()
    blocks = blocks_of(page)
    with contextlib.chdir(work):
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            if "needs" in block.marks:
                _fetch(block.marks["needs"], work)
            if "not run" in block.marks:
                continue
            if "file" in block.marks:
                Path(block.marks["file"]).write_text(block.text + "\n", encoding="utf-8")
            elif block.language == "python":
                _run_python(block, _shown_after(block, following), namespace)
            elif block.language == "console":
                for command, shown in commands_of(block):
                    _run_command(block, command, shown, environment)


def _shown_after(block: Block, following: Block | None) -> list[str] | None:
    """Return what a page shows as printed by a block, if it shows anything."""
    if following is None or following.language != "text" or following.marks:
        return None
    end = block.line + len(block.text.splitlines()) + 1
    return following.text.splitlines() if following.line <= end + 2 else None


def _run_python(block: Block, shown: list[str] | None, namespace: dict[str, Any]) -> None:
    printed = io.StringIO()
    code = compile("\n" * block.line + block.text, str(block.page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)  # noqa: S102 - the pages are ours
    if shown is not None:
        compare(block.where, shown, printed.getvalue())


def _run_command(
    block: Block, command: str, shown: list[str], environment: dict[str, str]
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
        check=False,
    )
    where = f"{block.where}: $ {command}"
    compare(where, shown, done.stdout)
    # A message may have several lines; what echoes the exit code succeeds itself.
    told = any(line.startswith("error:") for line in shown)
    expected_to_fail = told and not shown[-1].startswith("exit code")
    assert (done.returncode != 0) == expected_to_fail, f"{where}\nexit code {done.returncode}"


def compare(where: str, shown: list[str], printed: str) -> None:
    """Fail unless what was printed is what a page shows."""
    pattern = "".join(
        "(?:[^\n]*\n)*" if _plain(line) == "…" else _line_pattern(line) + "\n" for line in shown
    )
    text = "".join(_plain(line) + "\n" for line in printed.splitlines())
    assert re.fullmatch(pattern, text), "\n".join(
        [where, "--- shown", *shown, "--- printed", printed]
    )


def _plain(line: str) -> str:
    return " ".join(line.split())


def _line_pattern(line: str) -> str:
    return "[^\n]*".join(re.escape(part) for part in re.split("…+", _plain(line)))


def _environment(folder: Path) -> dict[str, str]:
    """Return variables under which ``dpscd`` and ``python`` are those under test."""
    programs = folder / "bin"
    programs.mkdir()
    home = Path(dpscd.__file__).parents[1]
    for name, words in (("dpscd", "-m dpscd"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(home),
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
        "MPLBACKEND": "agg",
    }


def _fetch(name: str, folder: Path) -> None:
    for place in (ROOT, os.environ.get("DPSCD_DATA") or ROOT):
        if (Path(place) / name).exists():
            shutil.copy(Path(place) / name, folder)
            return
    raise Unavailable(f"{name} is not in the folder of DPSCD_DATA")
