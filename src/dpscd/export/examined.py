"""A model's file that was read, compared and recomputed: the input of every export."""

import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dpscd.errors import ModelFileError
from dpscd.estimators.loading import load
from dpscd.model.card import PrivacyCard
from dpscd.model.file import read_content
from dpscd.report.subject import Subject


@dataclass(frozen=True)
class Examined:
    """An accepted model, and its file."""

    subject: Subject
    name: str  # of its file, without folders
    digest: str  # SHA-256 of the bytes of its file, in hex
    found: float  # recomputed epsilon of its releases
    time: datetime  # of the check, in UTC

    @property
    def card(self) -> PrivacyCard:
        """The guarantee."""
        return self.subject.card

    @property
    def day(self) -> str:
        """Day of the check."""
        return self.time.date().isoformat()


def examine(path: str | os.PathLike[str], time: datetime | None = None) -> Examined:
    """Return the model in a file whose statements agree, or raise ModelFileError."""
    digest = _digest(path)
    subject = Subject(load(path))
    if _digest(path) != digest:
        raise ModelFileError(f"{Path(path).name} was changed while it was read; try again.")
    return Examined(
        subject=subject,
        name=Path(path).name,
        digest=digest,
        found=subject.card.verify(),
        time=(time or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0),
    )


def _digest(path: str | os.PathLike[str]) -> str:
    return hashlib.sha256(read_content(path)).hexdigest()
