"""The noisy score of ``dpscd evaluate``."""

from typing import Any

import typer

from dpscd.cli.common import print_json, print_table
from dpscd.cli.known_records import KnownRecords

__all__ = ["print_private_score"]


def print_private_score(test: KnownRecords, digest: str | None, **asked: Any) -> None:
    """Charge, compute and print a score with noise.

    With the digest of the model's file, JSON is printed. `asked` goes to
    :func:`dpscd.private_score`; None is left out.
    """
    from dpscd import private_score
    from dpscd.errors import ParameterError

    epsilon = asked["epsilon"]
    if not 0.0 < epsilon < float("inf"):
        raise ParameterError("--private-epsilon must be a positive number.")
    if test.model.privacy_.protected.groups:
        raise ParameterError(
            "the persons of this model were groups given to fit, which a file does not have: a "
            "noisy score would protect single records. Name their column in the schema."
        )
    given = {name: value for name, value in asked.items() if value is not None}
    found = private_score(*test.records, **given)
    if digest is not None:
        _print_json(found, digest)
        return
    _print_text(found)


def _print_json(found: Any, digest: str) -> None:
    import json

    card = found.card
    facts = {f"{card.protected.noun}s": card.public["n"], "unit": card.unit}
    guarantee = {"epsilon": card.epsilon, "delta": card.delta, "relation": card.relation}
    text = {"private": True, "model_sha256": digest, **facts, **guarantee, **found.to_dict()}
    print_json({**text, "card": json.loads(card.to_json())})


def _print_text(found: Any) -> None:
    from dpscd.scores.registry import METRIC_WORDS

    card = found.card
    name = METRIC_WORDS[found.metric]
    noun = f"{card.protected.noun}s"
    count = f"{card.public['n']:,} {noun}"
    if card.relation.needs_n:
        count = f"{count} (declared)"
    if found.classes is None or not isinstance(found.value, list):
        typer.echo(
            f"{name} on {count}: {found.value:.4f}; {100 * found.level:g} % interval "
            f"{found.low:.4f} to {found.high:.4f}, of the noise alone {found.noise_low:.4f} to "
            f"{found.noise_high:.4f}"
        )
    else:
        head, rows = _rows(found)
        title = f"{name} on {count}, {100 * found.level:g} % intervals"
        print_table(title, head, rows, right=tuple(range(len(head) - 3, len(head))))
    if found.bound is not None:
        typer.echo(f"The loss of one record is at most {found.bound:.4g}: more counts as this.")
    which = "These numbers are" if isinstance(found.value, list) else "This number is"
    typer.echo(
        f"{which} ({card.epsilon:g}, {card.delta:.3g})-differentially private for the test "
        f"{noun}, relation {card.relation}; asking again costs again."
    )


def _rows(found: Any) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head and rows of a table: one per class, or per pair of classes."""
    names = [str(label) for label in found.classes]
    parts = (found.value, found.low, found.high)
    ends = ("value", "low", "high")
    if found.metric == "recall":
        rows = zip(names, *parts, strict=True)
        return ("class", *ends), [(name, *map(_number, own)) for name, *own in rows]
    cells = [
        (true, said, *(_number(part[i][j]) for part in parts))
        for i, true in enumerate(names)
        for j, said in enumerate(names)
    ]
    return ("class", "predicted", *ends), cells


def _number(value: float) -> str:
    return f"{value:.4f}"
