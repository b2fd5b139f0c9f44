"""All kinds of releases, found in this package: a new one is a new file."""

import pkgutil
from importlib import import_module

import dpscd.releases
from dpscd.releases.base import PlannedRelease

__all__ = ["all_kinds"]


def all_kinds() -> tuple[type[PlannedRelease], ...]:
    """Return every kind of release, in the order in which a fit makes them."""
    for module in pkgutil.iter_modules(dpscd.releases.__path__):
        import_module(f"{dpscd.releases.__name__}.{module.name}")
    return tuple(kind for _, kind in sorted(PlannedRelease.kinds.items()))
