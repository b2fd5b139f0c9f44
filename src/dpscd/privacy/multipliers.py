"""Noise multipliers that were calibrated before, on disk.

One small JSON file per question, in the user's cache folder: ``$DPSCD_CACHE`` if set ("off"
keeps nothing), else ``dpscd/noise`` under ``$XDG_CACHE_HOME`` or ``~/.cache``. The file name is
a hash of the question: the target, the steps, the other releases, the interval, the version of
dp-accounting and a hash of our own accounting.

The folder is not trusted: a multiplier that is too small would be a hole in the guarantee. What
is read is a guess. :func:`~dpscd.privacy.calibration.calibrate` computes its epsilon anew and
searches if that is above the target or too far below it. An attacker, a torn file or a changed
library can only cost a search. The stored numbers are public; files are readable by their owner
only. An unusable folder is silently ignored. Files are written under another name and moved, so
concurrent processes do no harm.
"""

import contextlib
import hashlib
import json
import math
import os
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

from dpscd.privacy.accounting import SampledGaussian, library_version
from dpscd.privacy.relation import PrivacyTarget

_LONGEST = 65536  # characters of a file that is worth reading


def question(
    target: PrivacyTarget,
    rate: float,
    steps: int,
    interval: float,
    others: tuple[SampledGaussian, ...],
) -> str:
    """Return everything a multiplier depends on, as text; numbers to the last bit."""
    return json.dumps(
        {
            "epsilon": target.epsilon,
            "delta": target.delta,
            "relation": target.relation.value,
            "rate": rate,
            "steps": steps,
            "interval": interval,
            "others": [asdict(event) for event in others],
            "dp-accounting": library_version(),
            "source": _source_hash(),
        },
        sort_keys=True,
    )


@cache
def _source_hash() -> str:
    """Return a hash of the code that computes epsilon and searches for multipliers."""
    digest = hashlib.sha256()
    for name in ("accounting.py", "calibration.py", "distribution.py"):
        with contextlib.suppress(OSError):  # a package without source files has a version
            digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()


def recall(asked: str) -> float | None:
    """Return the stored answer to this question, still to be verified, or None."""
    file = _file(asked)
    if file is None:
        return None
    try:
        if not file.is_file():  # a pipe would keep us waiting
            return None
        with file.open(encoding="utf-8") as stream:
            stored = json.loads(stream.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(stored, dict) or stored.get("question") != asked:
        return None
    multiplier = stored.get("multiplier")
    if type(multiplier) is not float or not math.isfinite(multiplier):
        return None
    return multiplier


def remember(asked: str, multiplier: float) -> None:
    """Store an answer, if that is possible."""
    file = _file(asked)
    if file is None:
        return
    text = json.dumps({"question": asked, "multiplier": multiplier})
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
        try:
            with open(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(name, file)
        except OSError:
            os.unlink(name)


def _file(asked: str) -> Path | None:
    """Return the file of a question; None if nothing is to be kept."""
    folder = os.environ.get("DPSCD_CACHE")
    if folder is not None and folder.strip().lower() in ("", "off"):
        return None
    name = hashlib.sha256(asked.encode()).hexdigest() + ".json"
    if folder is not None:
        return Path(folder) / "noise" / name
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isabs(base):  # there is no home
        return None
    return Path(base) / "dpscd" / "noise" / name
