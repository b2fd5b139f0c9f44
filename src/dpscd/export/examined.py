"""A model's file that was read, compared and recomputed: what every export begins with."""

import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dpscd.cards.card import PrivacyCard
from dpscd.errors import ModelFileError
from dpscd.estimators.files import read_content
from dpscd.estimators.loading import load
from dpscd.report.subject import Subject

__all__ = ["Examined", "examine"]


@dataclass(frozen=True)
class Examined:
    """A model that was accepted, and the file it came from.

    Attributes
    ----------
    subject : Subject
        The model.
    name, digest : str
        Of its file: the name without folders, and the SHA-256 of its bytes in hex.
    found : float
        The epsilon that its releases came to, computed again.
    time : datetime
        When, in UTC.
    """

    subject: Subject
    name: str
    digest: str
    found: float
    time: datetime

    @property
    def card(self) -> PrivacyCard:
        """What the model guarantees."""
        return self.subject.card

    @property
    def day(self) -> str:
        """When it was examined."""
        return self.time.date().isoformat()


def examine(path: str | os.PathLike[str], time: datetime | None = None) -> Examined:
    """Return the model in a file whose statements agree, or raise ModelFileError.

    Parameters
    ----------
    path : path
        A model that ``save`` wrote.
    time : datetime, optional
        When it is examined; by default now.
    """
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
