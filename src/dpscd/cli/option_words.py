"""Errors of the Python API with parameters replaced by options of the command line."""

import re
from collections.abc import Mapping

__all__ = ["OPTIONS", "SCORE_OPTIONS", "in_options"]

_SAME = (
    "bound", "class_weight", "classes", "dataset", "delta", "epochs", "epsilon", "filter",
    "inference", "lam", "largest_class", "ledger", "level", "lot_size", "max_rows", "metric",
    "n", "person_rows", "person_weight", "relation", "row_bound", "trials", "travel",
)  # fmt: skip

OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME} | {
    "random_state": "--seed",
    "y_bounds": "--bounds",
}
"""The options of verbs, by the parameters that they are in Python."""

SCORE_OPTIONS = OPTIONS | {"epsilon": "--private-epsilon", "delta": "--private-delta"}
"""The same where epsilon and delta are of a score."""

_VALUE = r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|[^\s,;:()]*?(?=[\s,;:()]|\.(?:\s|$)|$)"
_WORDS = {
    "float('inf')": "inf", ", or 'auto'": "", "leave it 'auto'": "leave it out",
}  # fmt: skip
_GIVEN = {"None": " (not given)", "False": " (not given)", "True": "", "": ""}


def in_options(text: str, options: Mapping[str, str] = OPTIONS) -> str:
    """Return a message with ``--epsilon 0`` instead of ``epsilon=0.0``, and so on.

    Parameters that `options` does not list stay as they are.
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name == "n" and value not in _GIVEN and found.start():
            return found[0]  # a number of records that nobody typed
        if value in _GIVEN:
            return options[name] + _GIVEN[value]
        if value[0] in "'\"":
            return f"{options[name]} {value[1:-1]}"
        parts = (part.strip().removesuffix(".0") for part in value.strip("()[]").split(","))
        return f"{options[name]} {' '.join(parts)}"

    names = "|".join(sorted(options, key=len, reverse=True))
    told = re.sub(rf"(?<![\w.\-`])({names})=({_VALUE})", option, text)
    for python, typed in _WORDS.items():
        told = told.replace(python, typed)
    return told
