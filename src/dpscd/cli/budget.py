"""``dpscd budget``: the privacy budget of a data set, and what is spent."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpscd.cli.common import (
    AsJson,
    Own,
    Verb,
    given_in,
    options,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from dpscd.privacy.entries import BudgetState
    from dpscd.privacy.ledger import Ledger

budget = typer.Typer(
    name="budget",
    help="Keep the privacy budget of each data set in a ledger, one SQLite file.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

File = Annotated[str, typer.Argument(help="The ledger's file.", metavar="FILE")]
Name = Annotated[str, typer.Option(help="Name of the data set.")]
_SOME = Own(str, "Name of the data set.", "all")


@budget.command(cls=Verb)
@options(
    "relation",
    filter=Own(
        str,
        "How fits add up. basic: sums of epsilon and delta. renyi: admits more when fits are "
        "many and small; not for replace-one.",
        "basic",
    ),
    person=Own(
        str,
        "Column whose values tell persons apart, who are then protected with all their "
        "records; of all fits.",
        "a record is protected",
        metavar="COLUMN",
    ),
    groups=Own(bool, "Persons are the groups given to fit in Python."),
    forbid_look=Own(bool, "dpscd look refuses to show these records."),
)
def init(
    file: File,
    dataset: Name,
    epsilon: Annotated[float, typer.Option(help="Epsilon that all fits may spend.")],
    delta: Annotated[float, typer.Option(help="Delta that all fits may spend.")],
    *,
    as_json: AsJson = False,
    **unit: Any,
) -> None:
    """Give a data set its budget, for good.

    The file is created, or the data set is added to those it holds. A budget protects records,
    or persons with --person or --groups; fits with another unit are refused.

    Example: dpscd budget init budget.db --dataset adult --epsilon 2 --delta 1e-5
    """
    from dpscd.privacy.ledger import Ledger

    ledger = Ledger.init(file, dataset, epsilon, delta, **given_in(unit))
    state = ledger.show(dataset)
    if as_json:
        print_json(asdict(state))
    else:
        _print_states([state])


@budget.command(cls=Verb)
@options(dataset=_SOME)
def show(file: File, *, as_json: AsJson = False, dataset: str | None) -> None:
    """Show what is spent and left, at the budget's delta.

    Fits that have not come to their end, or never will, are spent like the others.

    Example: dpscd budget show budget.db --dataset adult
    """
    ledger, names = _opened(file, dataset)
    states = [ledger.show(name) for name in names]
    if as_json:
        every = [asdict(state) for state in states]
        print_json(every if dataset is None else every[0])
    else:
        _print_states(states)


@budget.command(cls=Verb)
@options(dataset=_SOME)
def history(file: File, *, as_json: AsJson = False, dataset: str | None) -> None:
    """List every fit that was charged, in order; unfinished ones are charged too.

    Example: dpscd budget history budget.db --dataset adult --json
    """
    ledger, names = _opened(file, dataset)
    fits = [x for name in names for x in ledger.history(name)]
    fits.sort(key=lambda x: x.id)
    if as_json:
        print_json([asdict(x) for x in fits])
        return
    rows = [
        (
            str(x.id),
            x.time,
            x.dataset,
            x.label,
            f"{x.epsilon:g}",
            f"{x.delta:g}",
            ("committed" if x.committed else "reserved") + (", seeded" if x.seeded else ""),
        )
        for x in fits
    ]
    headings = ("id", "charged at", "dataset", "fit", "epsilon", "delta", "state")
    print_table(f"Fits charged in {file}", headings, rows)
    for name, unit in dict.fromkeys((x.dataset, x.unit) for x in fits):
        _print_unit(name, unit)


@budget.command(cls=Verb)
@options(head=Own(str, "A head noted earlier, which the ledger must still contain."))
def verify(file: File, *, as_json: AsJson = False, head: str | None) -> None:
    """Check the file, the chain of hashes and every sum; exit code 1 if one fails.

    Note the head elsewhere: with it an old copy or a rewritten file is found too.

    Example: dpscd budget verify budget.db
    """
    from dpscd.privacy.ledger import Ledger

    found = Ledger(file).verify(head)
    if as_json:
        print_json({"ok": True, "entries": found.entries, "head": found.head})
    else:
        typer.echo(f"{file}: all {found.entries} entries follow from each other.")
        typer.echo(f"head {found.head}")


def _opened(file: str, dataset: str | None) -> "tuple[Ledger, tuple[str, ...]]":
    """Return a ledger, and the names of all its data sets or the one that is given."""
    from dpscd.privacy.ledger import Ledger

    ledger = Ledger(file)
    return ledger, ledger.datasets() if dataset is None else (dataset,)


def _print_states(states: "list[BudgetState]") -> None:
    rows = [
        (
            x.dataset,
            f"{x.epsilon:g}",
            f"{x.spent_epsilon:.6g}",
            f"{x.left_epsilon:.6g}",
            f"{x.delta:g}",
            "-" if x.left_delta is None else f"{x.left_delta:g}",
            str(x.relation),
            f"{x.reserved}",
            f"{x.reserved - x.committed}",
        )
        for x in states
    ]
    headings = (
        "dataset", "epsilon", "spent", "left", "delta", "left", "relation", "fits", "open",
    )  # fmt: skip
    print_table("Privacy budgets", headings, rows)
    for x in states:
        typer.echo(f"{x.dataset}, filter {x.filter}: {x.note}")
        _print_unit(x.dataset, x.unit)
        if x.forbids_look:
            typer.echo(f"{x.dataset}: dpscd look is forbidden.")
        if x.seeded:
            typer.echo(
                f"{x.dataset}: {x.seeded} of its fits drew noise from a seed; the total holds "
                "only while nobody knows it."
            )


def _print_unit(dataset: str, text: str) -> None:
    """Print the protected unit where it is not a record."""
    from dpscd.privacy.relation import Unit

    if Unit.parse(text).is_person:
        typer.echo(f"{dataset}: the unit is {text}.")
