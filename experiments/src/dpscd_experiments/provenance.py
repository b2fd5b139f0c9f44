"""Where a result came from: the code, its dependencies and the machine."""

import os
import platform
import shutil
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dpscd._version import __version__

__all__ = ["provenance"]


@cache
def provenance() -> dict[str, str | int]:
    """Return what to write beside every result."""
    return {
        "commit": _commit(Path(__file__).resolve()),
        "dpscd": __version__,
        "numpy": _version("numpy"),
        "numba": _version("numba"),
        "scikit_learn": _version("scikit-learn"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": _cores(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _commit(file: Path) -> str:
    """Return the commit of the checkout that has `file` under version control."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    # An installed copy may lie inside a checkout of something else: ask for the file.
    # No optional locks: asking must not write to the checkout.
    for question in (
        ["ls-files", "--error-unmatch", file.name],
        ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
    ):
        answer = subprocess.run(  # noqa: S603 - a fixed command line
            [git, "-C", str(file.parent), *question],
            capture_output=True,
            text=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
        if answer.returncode:
            return "unknown"
    return answer.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or "unknown"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
