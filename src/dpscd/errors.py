"""Every error and warning that users of the library meet; `bench` has a few of its own.

A message names the parameter, the value that was given, what is allowed and what
to do. Parameters are public; data are not, so a :class:`DataError` never contains
a number or a string that was computed from them.
"""

from collections.abc import Callable
from typing import Any


class DpscdError(Exception):
    """The root of all errors raised on purpose by this library."""


class ParameterError(DpscdError, ValueError):
    """A parameter is outside its allowed range.

    With `parameters`, the text is a template: ``{epsilon}`` is where the parameter and its
    value are named, ``{}`` where one of the `others` stands. The value ``...`` is one to give.
    """

    def __init__(self, text: str, /, *others: Any, **parameters: Any) -> None:
        self.parameters = parameters
        self._template = text, others
        super().__init__(self.said(_in_python))

    def said(self, written: Callable[[str, Any], str]) -> str:
        """Return the message; `written` gives the words for a parameter and its value."""
        text, others = self._template
        if not self.parameters:
            return text
        named = {name: written(name, value) for name, value in self.parameters.items()}
        return text.format(*others, **named)

    def __reduce__(self) -> Any:
        # Values of parameters need not be picklable.
        return type(self), (str(self),)


def _in_python(name: str, value: Any) -> str:
    return f"{name}=" if value is ... else f"{name}={value!r}"


class DataError(DpscdError, ValueError):
    """The data cannot be used; the message holds nothing computed from them."""


class DataTypeError(DataError, TypeError):
    """The data are of a type that cannot be used."""


class CalibrationError(DpscdError, ValueError):
    """No noise multiplier in the supported range reaches the asked privacy."""


class CardError(DpscdError, ValueError):
    """A privacy card is malformed, or claims more privacy than its events give."""


class StreamError(DpscdError, RuntimeError):
    """A stream of randomness would have been used twice."""


class BudgetExceeded(DpscdError, RuntimeError):  # noqa: N818 - read as what happened
    """A fit would spend more than is left of its budget; nothing was spent or used."""


class ModelFileError(DpscdError, ValueError):
    """A model file is malformed, was changed or is not signed, or cannot be written."""


class SchemaError(DpscdError, ValueError):
    """A schema is malformed, or names columns that the table has not."""


class LedgerError(DpscdError, RuntimeError):
    """A ledger is missing, damaged, not a ledger, in use, or has no such entry."""


class WorkerError(DpscdError, RuntimeError):
    """A worker of a cluster failed and cannot be replaced; what the fit reserved is spent."""


class PrivacyWarning(UserWarning):
    """The stated guarantee holds, but perhaps not for what the user means by it."""


class UtilityWarning(UserWarning):
    """The stated guarantee holds, but by public numbers the model will be of little use."""
