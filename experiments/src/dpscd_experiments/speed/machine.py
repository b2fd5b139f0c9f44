"""The machine that a run was made on, and how busy it was."""

import os
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from dpscd_experiments.provenance import provenance

__all__ = ["load", "machine"]

_PACKAGES = ("scipy", "llvmlite", "cryptography", "dp-accounting", "snapml")


def machine() -> dict[str, str]:
    """Return what to state beside times: name and value, as they are to be read."""
    known = provenance()
    versions = {
        "dpscd": f"{known['dpscd']}, commit {known['commit']}",
        "Python": str(known["python"]),
        "numpy": str(known["numpy"]),
        "numba": str(known["numba"]),
        "scikit-learn": str(known["scikit_learn"]),
        **{name: found for name in _PACKAGES if (found := _version(name))},
    }
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "CPU": str(known["cpu"]),
        "cores": str(known["cores"]),
        "memory": f"{_memory_gib():.1f} GiB",
        "system": str(known["system"]),
        "load average": load(),
        **versions,
    }


def load() -> str:
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


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
