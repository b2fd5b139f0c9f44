"""What must hold on a device, to the last bit or up to a stated chance of a false alarm."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from device_neighbours import neighbours
from device_records import hostile_members, hostile_numbers

from dpscd.device.backend import compiled, device, exactly
from dpscd.device.contribution import Cut, clipped, contributions, work_type
from dpscd.device.random import (
    LOTS,
    chacha_blocks,
    draw_lot,
    draw_normals,
    key_of,
    normal_pairs,
    random_words,
    threshold_of,
)
from dpscd.device.rows import (
    LARGEST,
    LARGEST_CUT,
    MOST,
    Members,
    margins,
    rounded_shared,
    split,
    sums,
)
from dpscd.kernels.draws import NORMAL_ERROR, PAIR_WORDS, fill_normals

__all__ = ["CHECKS", "Check", "checked"]

# Distance, in standard deviations, beyond which a law is rejected: a chance below 1e-6 each.
_ALARM = 5.0

_RFC_KEY = bytes(range(32))
_RFC_BLOCK = (
    0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3, 0xC7F4D1C7, 0x0368C033, 0x9AAA2204,
    0x4E6CD4C3, 0x466482D2, 0x09AA9F07, 0x05D7C214, 0xA2028BD9, 0xD19C12B5, 0xB94E16DE,
    0xE883D0CB, 0x4E3C50A2,
)  # fmt: skip


class Check(NamedTuple):
    """What was found: a name, whether it is as it must be, and a number or two."""

    name: str
    passed: bool
    found: str


def checked() -> Iterator[Check]:
    """Run all checks on JAX's device, one after the other."""
    for check in CHECKS:
        with exactly():
            try:
                for name, passed, found in check():
                    yield Check(name, bool(passed), found)
            except Exception as error:  # others are still of interest
                yield Check(check.__name__, passed=False, found=repr(error)[:200])


def stream() -> Iterator[Check]:
    """Compare ChaCha20 with section 2.3.2 of RFC 8439, and streams with each other."""
    nonce = (jnp.uint32(0x09000000), jnp.uint32(0x4A000000), jnp.uint32(0))
    block = compiled(chacha_blocks)(
        jnp.asarray(key_of(_RFC_KEY)), jnp.asarray([1], jnp.uint32), nonce
    )
    same = tuple(int(word) for word in np.asarray(block)[:, 0]) == _RFC_BLOCK
    yield Check("ChaCha20, RFC 8439 section 2.3.2", same, "16 words")
    words = compiled(partial(random_words, purpose=LOTS, count=4096))
    found = [np.asarray(words(jnp.asarray(key_of(_RFC_KEY)), step=step)) for step in (0, 1)]
    different = len(np.unique(np.concatenate(found))) > 2 * 65536 - 16
    yield Check("words of two steps", different, "131072 words, all but chance repeats differ")


def exact_sums() -> Iterator[Check]:
    """Compare sums and margins with whole numbers of Python's, the largest ones too."""
    rng = np.random.default_rng(0)
    for members, outputs, width in (
        (4096, 1, 96),
        (4096, 2, 96),
        (2048, 10, 96),
        (512, 100, 64),
    ):
        rows = rng.integers(-LARGEST, LARGEST + 1, (members, width), dtype=np.int32)
        cut = rng.integers(-LARGEST_CUT, LARGEST_CUT + 1, (members, outputs), dtype=np.int32)
        yield _sum_check(rows, cut)
    rows = np.full((MOST, 32), -LARGEST, np.int32)
    for outputs in (1, 30):
        yield _sum_check(rows, np.full((MOST, outputs), LARGEST_CUT, np.int32))


def _sum_check(rows: Any, cut: Any) -> Check:
    high, low = split(jnp.asarray(rows), 2)
    found = np.asarray(compiled(sums)(high, low, jnp.asarray(cut)))
    exact = np.zeros((cut.shape[1], rows.shape[1]), np.int64)
    for first in range(0, len(rows), 4096):
        part = slice(first, first + 4096)
        exact += cut[part].T.astype(np.int64) @ rows[part].astype(np.int64)
    order = np.random.default_rng(1).permutation(len(rows))
    turned = np.asarray(compiled(sums)(high[order], low[order], jnp.asarray(cut[order])))
    shared = np.random.default_rng(2).normal(size=(cut.shape[1], rows.shape[1]))
    upper, lower, _ = rounded_shared(jnp.asarray(shared), rows.shape[1])
    few = slice(0, 256)
    got = np.asarray(margins(high[few], low[few], upper, lower, jnp.float64)).astype(np.int64)
    h, w = np.asarray(high[few], np.int64), np.asarray(low[few], np.int64)
    u, v = np.asarray(upper, np.int64), np.asarray(lower, np.int64)
    products = 256 * (h @ u.T) + h @ v.T + w @ u.T
    good = (found == exact).all() and (found == turned).all() and (got == products).all()
    return Check(
        f"sums and margins of {len(rows)} x {rows.shape[1]} x {cut.shape[1]}", bool(good),
        "equal to 64-bit whole numbers, in two orders",
    )  # fmt: skip


def steps_of(
    loss: str, outputs: int, seed: int, count: int = 1024
) -> tuple[Callable[..., Cut], Members, Any]:
    """Return the function that computes contributions, hostile members and their duals."""
    members = hostile_members(count, 40, outputs, seed)
    rng = np.random.default_rng(seed)
    shared = rounded_shared(
        jnp.asarray(rng.normal(size=(outputs, 41)) * 10.0), members.high.shape[1]
    )
    duals = rng.normal(size=(count, outputs)) * 0.2
    duals[9::19] = 1e30
    duals[11::23] = np.nan
    numbers = hostile_numbers()

    def run(members: Members, duals: Any) -> Cut:
        return contributions(loss, numbers, 12.0, members, shared, duals)

    return compiled(run), members, jnp.asarray(duals, work_type(loss))


def positions() -> Iterator[Check]:
    """Look for members whose step depends on place, on neighbours or on the size of a lot."""
    cases = [("squared", 1, 1024), ("logistic", 1, 1024), ("logistic", 5, 1024)]
    cases += [("hinge", 1, 1024), ("softmax", 5, 1024), ("softmax", 37, 1024)]
    if device().platform != "cpu":  # as large as lots are there
        cases += [("softmax", 1000, 16_448), ("softmax", 10, 126_464), ("logistic", 1, 126_464)]
    for loss, outputs, count in cases:
        yield same_wherever(loss, outputs, count)


def same_wherever(loss: str, outputs: int, count: int) -> Check:
    """Compare steps of members in lots of 1 to all, each in another place."""
    run, members, duals = steps_of(loss, outputs, 3, count)
    before = [np.asarray(part) for part in run(members, duals)]
    same = True
    rng = np.random.default_rng(4)
    for size in (count, count - 1, count // 2 + min(128, count // 4), 64, 33, 7, 1):
        order, place = (rng.permutation(count)[:size] for _ in range(2))
        ids = np.full(count, 2 * count)  # others are silent, as behind the end of a lot
        ids[place] = order
        after = run(Members(*(_taken(part, ids) for part in members)), _taken(duals, ids))
        same &= all(
            np.array_equal(a[order], np.asarray(b)[place], equal_nan=True)
            for a, b in zip(before, after, strict=True)
        )
    spoke = int((before[0] != 0).any(axis=1).sum())
    return Check(
        f"steps of {loss}, {outputs} outputs, wherever a member stands",
        same and spoke > count // 3,
        f"{count:,} members, {spoke:,} of which move, in lots of 1 to all, bit by bit",
    )


def _taken(part: Any, ids: Any) -> Any:
    return jnp.take(part, jnp.asarray(ids, jnp.int32), axis=0, mode="fill", fill_value=0)


def lengths() -> Iterator[Check]:
    """Measure what hostile members contribute, in whole numbers."""
    numbers = hostile_numbers()
    allowed = (float(numbers.clip) / float(numbers.cell)) ** 2
    for outputs in (1, 5, 37):
        members = hostile_members(1024, 40, outputs, 5)
        rng = np.random.default_rng(6)
        steps = rng.normal(size=(1024, outputs)) * 10.0 ** rng.integers(-20, 20, (1024, 1))
        steps[::9] = rng.choice([np.inf, -np.inf, np.nan, 1e308, 1e-308], (114, outputs))
        longest = 0.0
        for work in (np.float32, np.float64):
            with np.errstate(over="ignore"):
                given = jnp.asarray(steps.astype(work))
            cut = clipped(numbers, members, given).cut
            rows = 256 * np.asarray(members.high, object) + np.asarray(members.low, object)
            squares = (np.asarray(cut, object) ** 2).sum(axis=1) * (rows**2).sum(axis=1)
            longest = max(longest, max(int(x) for x in squares) / allowed)
        yield Check(
            f"contributions with {outputs} outputs, hostile numbers", 0.5 < longest <= 1.0,
            f"longest {math.sqrt(longest):.6f} of the clip",
        )  # fmt: skip


def normals() -> Iterator[Check]:
    """Compare normals with those of the processor, and their law with the exact one."""
    words = np.random.default_rng(7).integers(
        0, 2**64, (1, PAIR_WORDS * 50_000), dtype=np.uint64
    )
    words[0, :400:4] = 0
    words[0, 1:400:8] = 0
    exact = np.empty((1, 100_000))
    fill_normals(words, exact)
    parts = [jnp.asarray(words[0, place::PAIR_WORDS]) for place in range(PAIR_WORDS)]
    pairs = compiled(normal_pairs)(*parts)
    apart = float(np.abs(np.stack([np.asarray(x) for x in pairs], 1).ravel() - exact[0]).max())
    yield Check(
        "normals from the same words as the processor's", apart <= NORMAL_ERROR / 4,
        f"apart by {apart / NORMAL_ERROR:.3f} of the error that is charged",
    )  # fmt: skip
    count = 2**20
    drawn = compiled(partial(draw_normals, size=count))
    z = np.concatenate([np.asarray(drawn(jnp.asarray(key_of(_RFC_KEY)), t)) for t in (1, 2)])
    for power, mean, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)):
        off = (np.mean(z**power) - mean) * math.sqrt(len(z) / variance)
        yield Check(f"moment {power} of normals", abs(off) < _ALARM, f"{off:+.2f} sd")
    off = np.mean(z[:count] * z[count:]) * math.sqrt(count)
    yield Check("normals of two steps", abs(off) < _ALARM, f"correlation {off:+.2f} sd")


def lots() -> Iterator[Check]:
    """Test the law of lots: the rate, the same for all records, independent over steps."""
    rate, count, room, steps = 0.05, 15_000, 16_384, 200
    key = jnp.asarray(key_of(_RFC_KEY[::-1]))
    draw = compiled(partial(draw_lot, count=count, room=room, block=64))
    bits = np.zeros((steps, count), bool)
    for step in range(steps):
        ids, size = draw(key, step, np.uint32(threshold_of(rate)))
        bits[step, np.asarray(ids)[: int(size)]] = True
    sizes, sd = bits.sum(axis=1), math.sqrt(rate * (1 - rate))
    off = (bits.mean() - rate) * math.sqrt(bits.size) / sd
    yield Check("rate of lots", abs(off) < _ALARM, f"{off:+.2f} sd")
    spread = (sizes.var() / (count * sd * sd) - 1.0) * math.sqrt(steps / 2.0)
    yield Check("spread of lot sizes", abs(spread) < _ALARM, f"{spread:+.2f} sd")
    each = ((bits.sum(axis=0) - steps * rate) ** 2).mean() / (steps * sd * sd)
    off = (each - 1.0) * math.sqrt(count / 2.0)
    yield Check("all records alike", abs(off) < _ALARM, f"{off:+.2f} sd")
    for name, both in (
        ("steps", bits[1:] & bits[:-1]),
        ("neighbouring records", bits[:, 1:] & bits[:, :-1]),
    ):
        off = (both.mean() - rate**2) * math.sqrt(both.size) / rate
        yield Check(f"lots of {name} independent", abs(off) < _ALARM, f"{off:+.2f} sd")


def processor() -> Iterator[Check]:
    """Compare what is whole numbers with JAX's own processor backend."""
    results = []
    for place in (None, jax.devices("cpu")[0]):
        with jax.default_device(place):
            key = jnp.asarray(key_of(_RFC_KEY))
            words = random_words(key, LOTS, 5, 1024)
            ids, size = draw_lot(key, 6, np.uint32(2**29), 5000, 8192, 64)
            noise = draw_normals(key, 7, 999)
            results.append([np.asarray(x) for x in (words, ids, size, noise)])
    mine, theirs = results
    same = all(np.array_equal(a, b) for a, b in zip(mine[:3], theirs[:3], strict=True))
    apart = float(np.abs(mine[3] - theirs[3]).max())
    yield Check("words and lots as on the processor", same, "16384 words, one lot")
    yield Check(
        "normals as on the processor", apart <= NORMAL_ERROR / 4, f"apart by {apart:.1e}"
    )


#: All of them; each yields what it found.
CHECKS: tuple[Callable[[], Iterator[tuple[str, bool, str]]], ...] = (
    stream, exact_sums, positions, neighbours, lengths, normals, lots, processor,
)  # fmt: skip
