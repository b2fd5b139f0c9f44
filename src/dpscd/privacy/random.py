"""Sources of randomness: one AES-256 counter stream per fit, split by purpose and step.

The counter block is ``purpose (8 bits) | block number (120 bits)``. A purpose has a fixed
number of blocks a step, so the words of (purpose, step) are one interval of counters that no
other pair shares.
"""

import hashlib
import os
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, NoReturn, Protocol, Self

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpscd.errors import ParameterError, StreamError

_BLOCK = 16  # bytes of one AES block
_KEY = 32  # bytes of an AES-256 key
_SECRET_BITS = 96  # a seed with fewer can be found by trying

# Encrypted piece by piece, so that the zeros stay in the cache.
_ZEROS = memoryview(bytes(2**15))


class Purpose(IntEnum):
    """What a stream is for; each number is used for one purpose only, for ever."""

    LOTS = 1
    LOTS_OVERFLOW = 2
    NOISE = 3
    ORDER = 4
    DUAL_NOISE = 5
    MOMENTS = 6
    LABEL_MEAN = 7
    LABEL_SPREAD = 8
    LAZY_NOISE = 9
    BOUNDS = 10
    SCORE = 11
    LOTS_KEY = 12
    SUM = 13  # of a source that one release has for itself
    SPLIT = 14  # which records a search keeps apart
    RUNS = 15  # of a search: which candidate, and whether it was the last
    RUN_SEED = 16  # of a search with a seed
    DEVICE_KEY = 17  # of a training on a device


def _stream(
    key: bytes, purpose: Purpose, first: int, steps: int, width: int
) -> npt.NDArray[np.uint64]:
    """Return the words of `steps` steps from `first` on, `width` each."""
    blocks = -(-width // 2)
    counter = (int(purpose) << 120) + first * blocks
    size = steps * blocks * _BLOCK
    cipher = Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(_BLOCK, "big")))
    stream = np.empty(size + _BLOCK - 1, dtype=np.uint8)
    encryptor, free = cipher.encryptor(), stream.data
    for start in range(0, size, len(_ZEROS)):
        encryptor.update_into(_ZEROS[: size - start], free[start:])
    return stream[:size].view("<u8").reshape(steps, 2 * blocks)[:, :width]


class Source(Protocol):
    """Randomness for samplers and noise; tests give their own."""

    @property
    def seeded(self) -> bool:
        """Whether a known seed would reveal the words."""

    def words(
        self, purpose: Purpose, first: int, steps: int, width: int
    ) -> npt.NDArray[np.uint64]:
        """Return ``width`` random words for each of `steps` steps from `first` on."""


class SecureSource:
    """A cryptographic stream keyed once by the operating system.

    Guarantee: the words are indistinguishable from uniform ones without the key, which is drawn
    here and never leaves; no word is handed out twice (a repeated step, a changed width or use
    in a forked process raises :class:`~dpscd.errors.StreamError`).
    """

    seeded: ClassVar[bool] = False

    def __init__(self) -> None:
        self._start(os.urandom(_KEY))

    def _start(self, key: bytes) -> None:
        self._key = key
        self._process = os.getpid()
        self._next: dict[Purpose, int] = {}
        self._width: dict[Purpose, int] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> str:
        raise StreamError("a source of randomness cannot be copied or pickled")

    def words(
        self, purpose: Purpose, first: int, steps: int, width: int
    ) -> npt.NDArray[np.uint64]:
        """Return ``width`` random words for each of `steps` steps from `first` on."""
        if os.getpid() != self._process:
            raise StreamError("a source of randomness cannot be used in a forked process")
        if steps < 0 or width < 1:
            raise StreamError(f"steps={steps} of width={width} cannot be drawn")
        if first < self._next.get(purpose, 0):
            raise StreamError(f"the {purpose.name} stream was already used at this step")
        if self._width.setdefault(purpose, width) != width:
            raise StreamError(f"the {purpose.name} stream has another width")
        self._next[purpose] = first + steps
        return _stream(self._key, purpose, first, steps, width)


class SeededSource(SecureSource):
    """The same stream keyed by a seed, only as secret as the seed; `fit` keeps fits apart."""

    seeded: ClassVar[bool] = True

    def __init__(self, seed: bytes, fit: str = "") -> None:
        own = b"\0" + fit.encode() if fit else b""
        self._start(hashlib.sha256(b"dpscd seed\0" + seed + own).digest())


class LotsSource:
    """The words of one training's lots and of nothing else, for holders of the records.

    Guarantee: the key is drawn from the fit's source by a purpose of its own, so it tells
    nothing about the noise, and other purposes are refused. It may be sent, and words may be
    drawn again: the bits of a record are the same wherever they are computed.
    Requires: its holder is trusted as the holders of the records are; the bits are secret.
    """

    def __init__(self, key: bytes, *, seeded: bool) -> None:
        self._key = key
        self.seeded = seeded

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @classmethod
    def of(cls, source: Source) -> "LotsSource":
        """Return the source of lots of the training that `source` is for."""
        words = source.words(Purpose.LOTS_KEY, 0, 1, _KEY // 8)
        return cls(words.tobytes(), seeded=source.seeded)

    def words(
        self, purpose: Purpose, first: int, steps: int, width: int
    ) -> npt.NDArray[np.uint64]:
        """Return ``width`` random words for each of `steps` steps from `first` on."""
        if purpose not in (Purpose.LOTS, Purpose.LOTS_OVERFLOW):
            raise StreamError(f"a source of lots has no {purpose.name} stream")
        return _stream(self._key, purpose, first, steps, width)


@dataclass(frozen=True)
class SecretSeed:
    """A seed that the caller declares to be secret, now and later.

    Parameters
    ----------
    value : int or bytes
        At least 96 bits (12 bytes), drawn at random, as by ``secrets.randbits(128)``;
        fewer could be found by trying.

    Notes
    -----
    Without a ledger it is a seed like others. With a ledger it is the only seed that is
    accepted: what such a fit is charged holds only while the value is secret, so its entry
    in the ledger is marked. It is not shown, and cannot be pickled.

    Examples
    --------
    >>> from dpscd import SecretSeed
    >>> SecretSeed(0x6A09E667F3BCC908B2FB1366EA957D3E)
    SecretSeed(...)
    """

    value: int | bytes = field(repr=False)

    def __post_init__(self) -> None:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | bytes):
            raise ParameterError("a SecretSeed must be an integer or bytes.")
        bits = 8 * len(value) if isinstance(value, bytes) else value.bit_length()
        if bits < _SECRET_BITS:
            raise ParameterError(
                f"a SecretSeed must have at least {_SECRET_BITS} bits, others can be found by "
                "trying; draw one with secrets.randbits(128)."
            )

    def __repr__(self) -> str:
        return "SecretSeed(...)"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # What cannot change needs no copies; scikit-learn's clone asks for one.
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise StreamError("a SecretSeed cannot be pickled: it would not stay secret")

    def to_bytes(self) -> bytes:
        """Return the key of the stream."""
        value = self.value
        own = b"bytes\0" + value if isinstance(value, bytes) else b"int\0%d" % value
        return hashlib.sha256(b"dpscd secret seed\0" + own).digest()


def source_for(
    random_state: (
        int | np.integer | SecretSeed | np.random.RandomState | np.random.Generator | None
    ),
    fit: str = "",
) -> SecureSource:
    """Return a fresh source: the operating system's for None, a seeded one otherwise."""
    # Two fits with one seed draw the same noise, which their difference cancels. `fit`, a text
    # unique to each fit (the salt of a reservation), keeps them apart where there is one.
    if random_state is None:
        return SecureSource()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return SeededSource(str(int(random_state)).encode(), fit)
    if isinstance(random_state, SecretSeed):
        return SeededSource(random_state.to_bytes(), fit)
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return SeededSource(random_state.bytes(_KEY), fit)
    raise ParameterError(
        f"random_state={random_state!r} must be None (secure), an integer, a SecretSeed, or "
        "a numpy RandomState or Generator (repeatable, as secret as the seed)."
    )
