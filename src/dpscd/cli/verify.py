"""``dpscd verify`` and ``sign``: the claim in a file, and who stands behind it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpscd.cli.common import AsJson, Own, options, print_json
from dpscd.cli.inputs import Model

if TYPE_CHECKING:
    from dpscd import PrivacyCard


@options(key=Own(Path, "Public key of whoever signed the file: Ed25519, PEM."))
def verify(
    model: Annotated[
        Path,
        typer.Argument(help="A model's file, or a score: evaluate --private-epsilon --json."),
    ],
    *,
    as_json: AsJson = False,
    key: Path | None,
) -> None:
    """Recompute epsilon from the file of a model or a score; exit code 1 if it claims too much.

    The releases are composed again, and what follows from the released numbers is compared
    with the numbers that predictions use. A file that was changed consistently is found only
    with --key, by its signature (dpscd sign). No data are needed.

    The card of a score is about the held-out records, and says nothing of those that trained
    the model.

    Example: dpscd verify model.json --key signing.pem.pub
    """
    from dpscd.estimators.loading import read_fit
    from dpscd.releases.score import Estimate

    fit = read_fit(model, key)
    card, name = fit.card, model.name
    scored = isinstance(fit.numbers, Estimate)
    if as_json:
        print_json(
            {
                "ok": True,
                "claimed": card.epsilon if card.private else "inf",
                "recomputed": card.claim.epsilon if card.private else "inf",
                "delta": card.delta,
                "relation": card.relation.value,
                "unit": card.unit,
                "private": card.private,
                "of": "score" if scored else "model",
                "signed": bool(key),
            }
        )
        return
    if not card.private:
        typer.echo(f"{name}: trained with epsilon inf. It claims no privacy.")
    elif scored:
        _say_score(name, card)
    else:
        typer.echo(
            f"{name}: claims epsilon {card.epsilon:g} at delta {card.delta:.3g}, "
            f"{card.relation}; its releases come to {card.claim.epsilon:.6g}: it holds."
        )
    if card.protected.is_person:
        typer.echo(f"{name}: the unit is {card.unit}.")
    if key is not None:
        typer.echo(f"{name}: signed with the key that {key.name} belongs to.")


def _say_score(name: str, card: "PrivacyCard") -> None:
    from dpscd.scores.registry import METRIC_WORDS

    facts, noun = card.shown(), card.protected.noun
    count = f"{facts['n']:,}{' (declared)' if card.relation.needs_n else ''}"
    typer.echo(
        f"{name}: a score, {METRIC_WORDS[facts['metric']]} on {count} held-out {noun}s. For "
        f"these it claims epsilon {card.epsilon:g} at delta {card.delta:.3g}, {card.relation}; "
        f"its release comes to {card.claim.epsilon:.6g}: it holds."
    )
    typer.echo(
        f"{name}: what the {noun}s that trained the model are promised is on the model's card."
    )


@options(new_key=Own(bool, "Make the key first, and the public one: KEY.pub."))
def sign(
    model: Model,
    key: Annotated[Path, typer.Option(help="Your private key: Ed25519, PEM.")],
    *,
    as_json: AsJson = False,
    new_key: bool,
) -> None:
    """Sign the file of a model, or a score; the signature is written beside it, as MODEL.sig.

    The file is checked first. Keep the private key to yourself and give the public one to
    whoever uses your models: dpscd verify --key.

    Example: dpscd sign model.json --key signing.pem --new-key
    """
    from dpscd import sign_model
    from dpscd.estimators.loading import read_fit

    public = None
    if new_key:
        from dpscd.privacy.signing import new_key as make_key

        read_fit(model)  # no key for what cannot be signed
        public = make_key(key)
    signature = sign_model(model, key)
    if as_json:
        made = None if public is None else str(public)
        print_json({"signature": str(signature), "public_key": made})
        return
    if public is not None:
        typer.echo(f"Wrote {key} (keep it secret) and {public} (give it to others).")
    typer.echo(f"Wrote {signature}")
