"""``dpscd report`` and ``export``: documents of a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpscd.cli.common import AsJson, Verb, check_writable, plain_errors, print_json
from dpscd.errors import ParameterError

if TYPE_CHECKING:
    from dpscd.documents.described import Described
    from dpscd.documents.evaluation import Evaluation
    from dpscd.model.card import PrivacyCard

export = typer.Typer(
    name="export",
    help="Write what officers, registries and hubs ask for, from a model's file.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Model = Annotated[Path, typer.Argument(help="The model's file.")]
Scores = Annotated[
    Path | None, typer.Option(help="What dpscd evaluate --json printed, to include.")
]
_OUT = "The file to write; replaced if it exists."
_INTERRUPTED = "Interrupted; nothing was written."


def report(
    model: Annotated[str, typer.Argument(help="The model's file.", metavar="MODEL")],
    out: Annotated[str, typer.Option(help="The page to write; replaced if it exists.")],
    ledger: Annotated[
        str | None, typer.Option(help="The ledger's file, to show the budget's history.")
    ] = None,
    evaluation: Annotated[
        str | None,
        typer.Option(help="What dpscd evaluate --json printed for this model, to show it."),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(help="TOML with purpose, owner, contact, legal_basis: texts to show."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a page about a model: what is protected, how strongly, and what the noise does.

    The page is one HTML file that fetches nothing and runs nothing. Epsilon is recomputed
    from the card while it is written.

    Example: dpscd report model.json --out report.html --ledger budget.db
    """
    with plain_errors("Interrupted; no page was written."):
        from dpscd.documents.write import report as write_report

        check_writable(Path(out))
        card = write_report(model, out, ledger=ledger, evaluation=evaluation, about=about)
        _say_written(out, card, as_json=as_json, key="report")


@export.command(cls=Verb)
def registry(
    model: Annotated[Path | None, typer.Argument(help="The model's file.")] = None,
    details: Annotated[
        Path | None, typer.Option(help="What the model does not know, filled in (TOML).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help=_OUT)] = None,
    template: Annotated[
        Path | None, typer.Option(help="Write a details file to fill in, and nothing else.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write an entry for the public registry of deployments of differential privacy (YAML).

    The entry is of tier 3, a draft. Unit, relation, parameters, mechanisms, accounting and
    public facts come from the model's card; purpose, people and reasons from --details.

    Example: dpscd export registry model.json --details details.toml --out entry.yaml
    """
    with plain_errors(_INTERRUPTED):
        from dpscd.documents.details import template as empty
        from dpscd.documents.write import registry_entry

        if template is not None:
            if (model, details, out) != (None, None, None):
                raise ParameterError("--template writes an empty details file: give it alone.")
            check_writable(template, new=True)
            _write(template, empty(template.name))
            _say_written(str(template), None, as_json=as_json)
            return
        if model is None or out is None:
            raise ParameterError("MODEL and --out are needed, or --template alone.")
        found, _ = _described(model, out, None)
        _write(out, registry_entry(found, details))
        _say_written(str(out), found.card, as_json=as_json)


@export.command("model-card", cls=Verb)
def model_card(
    model: Model,
    out: Annotated[Path, typer.Option(help=_OUT)],
    evaluation: Scores = None,
    details: Annotated[
        Path | None, typer.Option(help="The details file of a registry entry, to include.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model card as model hubs show it: Markdown with YAML in front.

    What the card cannot say without --details and --evaluation, it says it does not know.

    Example: dpscd export model-card model.json --out README.md --evaluation scores.json
    """
    with plain_errors(_INTERRUPTED):
        from dpscd.documents.details import read_details
        from dpscd.documents.write import model_card as card_of

        given = None if details is None else read_details(details)
        found, scores = _described(model, out, evaluation)
        _write(out, card_of(found, scores, given))
        _say_written(str(out), found.card, scores, as_json=as_json)


@export.command(cls=Verb)
def cyclonedx(
    model: Model,
    out: Annotated[Path, typer.Option(help=_OUT)],
    evaluation: Scores = None,
    as_json: AsJson = False,
) -> None:
    """Write a bill of materials of a model: CycloneDX 1.6, JSON, with its model card.

    It names the model's file by its hash, and the versions that made it as far as the file
    knows them.

    Example: dpscd export cyclonedx model.json --out bom.json
    """
    with plain_errors(_INTERRUPTED):
        from dpscd.documents.write import bill_of_materials

        found, scores = _described(model, out, evaluation)
        _write(out, bill_of_materials(found, scores))
        _say_written(str(out), found.card, scores, as_json=as_json)


def _described(
    model: Path, out: Path, evaluation: Path | None
) -> "tuple[Described, Evaluation | None]":
    """Return a model and its evaluation, if there is one; they must belong together."""
    from dpscd.documents.described import described
    from dpscd.documents.write import evaluation_of

    check_writable(out)
    found = described(model)
    return found, evaluation_of(found, evaluation)


def _write(path: Path, text: str) -> None:
    from dpscd.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(text)


def _say_written(
    path: str,
    card: "PrivacyCard | None",
    scores: "Evaluation | None" = None,
    *,
    as_json: bool,
    key: str = "written",
) -> None:
    """Print what was written, and what its readers must know first."""
    from dpscd.documents.facts import warnings

    found = [] if card is None else [fact.label for fact in warnings(card)]
    if scores is not None and not scores.private:
        found.append("The evaluation is not private, and is in the file")
    if as_json:
        print_json({key: path, "warnings": found})
        return
    typer.echo(f"Wrote {path}")
    for heading in found:
        typer.echo(f"warning: {heading}", err=True)
