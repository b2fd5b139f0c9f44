"""``dpscd report`` and ``export``: documents of a model."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpscd.cli.common import AsJson, Own, Verb, check_writable, options, print_json
from dpscd.cli.inputs import Model
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
