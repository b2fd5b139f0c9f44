"""Several mistakes of a schema, told at once."""

from collections.abc import Callable
from typing import Any

from dpscd.errors import SchemaError

__all__ = ["Mistakes"]

_MOST = 20  # that are told, of a schema that has more


class Mistakes:
    """Collects what is wrong with parts of a schema that can be checked one without another."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def unless(self, check: Callable[..., Any], *given: Any) -> Any:
        """Return what a check returns; None if it complains, which is noted."""
        try:
            return check(*given)
        except SchemaError as error:
            self._found.append(str(error))
        return None

    def complain(self) -> None:
        """Raise SchemaError with all that was noted, if there was anything."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise SchemaError(self._found[0])
        told = [f"* {text}" for text in self._found[:_MOST]]
        more = len(self._found) - len(told)
        head = f"{len(self._found)} mistakes in the schema:"
        raise SchemaError("\n".join([head, *told, *([f"and {more} more."] if more else [])]))
