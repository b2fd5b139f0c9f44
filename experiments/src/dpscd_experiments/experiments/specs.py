"""The settings of the experiments: one TOML file a target or bench."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from dpscd.errors import ParameterError

__all__ = ["BENCHES", "PAPER_TARGETS", "TARGETS", "load_spec", "settings_of"]

#: The paper's figures and tables.
PAPER_TARGETS = ("fig1a", "fig1b", "fig1c", "fig2", "fig3", "bounds", "tuning", "leak")

#: What can be reproduced: the paper's, and figure 1a repeated on data of the paper's size.
TARGETS = (*PAPER_TARGETS, "fig1a-flights")

#: What can be compared.
BENCHES = ("accuracy", "features", "intervals", "persons", "speed", "tables")


def load_spec(target: str) -> dict[str, Any]:
    """Return what the file of a target or bench says, its table ``quick`` included."""
    known = (*TARGETS, *BENCHES)
    if target not in known:
        raise ParameterError(f"target={target!r} must be one of {', '.join(known)}.")
    file = files("dpscd_experiments") / "specs" / f"{target}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def settings_of(spec: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    """Return the settings of a run: the paper's, or what ``quick`` changes of them."""
    settings = {name: value for name, value in spec.items() if name != "quick"}
    return {**settings, **spec.get("quick", {})} if quick else settings
