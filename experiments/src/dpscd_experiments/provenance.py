"""Where a result came from: the code, its dependencies and the machine."""

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dpscd._version import __version__

_PACKAGES = ("scipy", "llvmlite", "cryptography", "dp-accounting", "snapml")


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
        "cores": usable_cores(),
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


def usable_cores() -> int:
    """Return how many cores may be used: under a container or a scheduler not all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine() -> dict[str, str]:
    """Return what to state beside times: name and value, as they are to be read."""
    known = provenance()
    versions = {
        "dpscd": f"{known['dpscd']}, commit {known['commit']}",
        "Python": str(known["python"]),
        "numpy": str(known["numpy"]),
        "numba": str(known["numba"]),
        "scikit-learn": str(known["scikit_learn"]),
        **{name: found for name in _PACKAGES if (found := _version(name)) != "unknown"},
    }
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "CPU": str(known["cpu"]),
        "cores": str(known["cores"]),
        "memory": f"{_memory_gib():.1f} GiB",
        "system": str(known["system"]),
        "load average": load_average(),
        **versions,
    }


def load_average() -> str:
    """Return the load average over 1, 5 and 15 minutes."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return ", ".join(f"{number:.2f}" for number in os.getloadavg())


def _memory_gib() -> float:
    """Return the memory of the machine; NaN where it cannot be asked."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) / 2**30
    except (AttributeError, ValueError, OSError):
        return float("nan")
