"""Whether a column identifies persons: asked of whoever writes a schema, by names alone."""

import re
from collections.abc import Sequence

__all__ = ["may_identify", "question"]

_WORDS = {
    "account", "citizen", "client", "customer", "employee", "family", "household", "id",
    "individual", "member", "mrn", "participant", "passport", "patient", "person", "pid",
    "respondent", "ssn", "student", "subject", "subscriber", "uid", "user", "uuid",
}  # fmt: skip
# Of "PatientID", "patientId" and "patient_id" these are patient and id.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_ASKED = """\
# Does a column say which person a record is about? Then name it here: protected is the person
# with all records that have the same value there. Such a column is no feature."""
_FOUND = """\
# By its name this may be one. If it is, take the # away, and its part below out:"""
_ELSE = """\
# If none does, each record is protected by itself: somebody with k records has about k times
# the epsilon."""


def may_identify(name: str) -> bool:
    """Return whether a column's name looks as if its values identified persons."""
    return any(part.lower() in _WORDS for part in _PART.findall(name))


def question(written: Sequence[str]) -> list[str]:
    """Return the comment that asks for the column of persons, given likely names in TOML."""
    lines = [f"# person = {name}" for name in written]
    found = [_FOUND, *lines] if lines else ['# person = "..."']
    return [_ASKED, *found, _ELSE]
