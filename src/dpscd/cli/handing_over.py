"""What is handed over: documents of a model, a check of its claim, and a signature."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpscd.cli.common import (
    AsJson,
    Model,
    Own,
    Verb,
    check_writable,
    options,
    print_json,
)
from dpscd.errors import ParameterError

if TYPE_CHECKING:
    from dpscd.model.card import PrivacyCard

export = typer.Typer(
    name="export",
    help="Write what officers, registries and hubs ask for, from a model's file.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_OUT = "The file to write; replaced if it exists."
Out = Annotated[Path, typer.Option(help=_OUT)]
_SCORES = Own(Path, "What dpscd evaluate --json printed, to include.")


@options(
    ledger=Own(str, "The ledger's file, to show the budget's history."),
    evaluation=Own(str, "What dpscd evaluate --json printed for this model, to show it."),
    about=Own(str, "TOML with purpose, owner, contact, legal_basis: texts to show."),
)
def report(
    model: Annotated[str, typer.Argument(help="The model's file.", metavar="MODEL")],
    out: Annotated[str, typer.Option(help="The page to write; replaced if it exists.")],
    *,
    as_json: AsJson = False,
    **shown: str | None,
) -> None:
    """Write a page about a model: what is protected, how strongly, and what the noise does.

    The page is one HTML file that fetches nothing and runs nothing. Epsilon is recomputed
    from the card while it is written.

    Example: dpscd report model.json --out report.html --ledger budget.db
    """
    from dpscd.documents.write import report as write_report

    check_writable(Path(out))
    _say_written(out, write_report(model, out, **shown), as_json=as_json, key="report")


@export.command(cls=Verb)
@options(
    details=Own(Path, "What the model does not know, filled in (TOML)."),
    out=Own(Path, _OUT),
    template=Own(Path, "Write a details file to fill in, and nothing else."),
)
def registry(
    model: Annotated[Path | None, typer.Argument(help="The model's file.")] = None,
    *,
    as_json: AsJson = False,
    details: Path | None,
    out: Path | None,
    template: Path | None,
) -> None:
    """Write an entry for the public registry of deployments of differential privacy (YAML).

    The entry is of tier 3, a draft. Unit, relation, parameters, mechanisms, accounting and
    public facts come from the model's card; purpose, people and reasons from --details.

    Example: dpscd export registry model.json --details details.toml --out entry.yaml
    """
    from dpscd.documents.added import template as empty
    from dpscd.documents.write import registry_entry

    if template is not None:
        if (model, details, out) != (None, None, None):
            raise ParameterError("--template writes an empty details file: give it alone.")
        check_writable(template, new=True)
        _write(template, empty(template.name))
        _say_written(template, None, as_json=as_json)
    elif model is None or out is None:
        raise ParameterError("MODEL and --out are needed, or --template alone.")
    else:
        _export(lambda found, _: registry_entry(found, details), model, out, as_json=as_json)


@export.command("model-card", cls=Verb)
@options(
    evaluation=_SCORES,
    details=Own(Path, "The details file of a registry entry, to include."),
)
def model_card(
    model: Model,
    out: Out,
    *,
    as_json: AsJson = False,
    evaluation: Path | None,
    details: Path | None,
) -> None:
    """Write a model card as model hubs show it: Markdown with YAML in front.

    What the card cannot say without --details and --evaluation, it says it does not know.

    Example: dpscd export model-card model.json --out README.md --evaluation scores.json
    """
    from dpscd.documents.added import read_details
    from dpscd.documents.write import model_card as card_of

    given = None if details is None else read_details(details)

    def made(found: Any, scores: Any) -> str:
        return card_of(found, scores, given)

    _export(made, model, out, evaluation, as_json=as_json)


@export.command(cls=Verb)
@options(evaluation=_SCORES)
def cyclonedx(
    model: Model, out: Out, *, as_json: AsJson = False, evaluation: Path | None
) -> None:
    """Write a bill of materials of a model: CycloneDX 1.6, JSON, with its model card.

    It names the model's file by its hash, and the versions that made it as far as the file
    knows them.

    Example: dpscd export cyclonedx model.json --out bom.json
    """
    from dpscd.documents.write import bill_of_materials

    _export(bill_of_materials, model, out, evaluation, as_json=as_json)


def _export(
    made: Callable[..., str],
    model: Path,
    out: Path,
    evaluation: Path | None = None,
    *,
    as_json: bool,
) -> None:
    """Write what is made of a model and its evaluation, which must belong together."""
    from dpscd.documents.described import described
    from dpscd.documents.write import evaluation_of

    check_writable(out)
    found = described(model)
    scores = evaluation_of(found, evaluation)
    _write(out, made(found, scores))
    private = scores is None or scores.private
    _say_written(out, found.card, as_json=as_json, private=private)


def _write(path: Path, text: str) -> None:
    from dpscd.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(text)


def _say_written(
    path: str | Path,
    card: "PrivacyCard | None",
    *,
    as_json: bool,
    private: bool = True,
    key: str = "written",
) -> None:
    """Print what was written, and what its readers must know first."""
    from dpscd.documents.facts import warnings

    found = [] if card is None else [fact.label for fact in warnings(card)]
    if not private:
        found.append("The evaluation is not private, and is in the file")
    if as_json:
        print_json({key: str(path), "warnings": found})
        return
    typer.echo(f"Wrote {path}")
    for heading in found:
        typer.echo(f"warning: {heading}", err=True)


# --- claims and signatures --------------------------------------------------------------------


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
