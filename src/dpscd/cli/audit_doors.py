"""The table of audits of ``fit`` as users call it."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpscd.audit import DoorResult

__all__ = ["print_doors"]

_HEADINGS = ("fit", "relation", "claimed", "Gaussian", "Clopper-P.", "model alone", "verdict")


def print_doors(doors: "list[DoorResult]") -> None:
    """Print one line for each fit, and one for each release that exceeds its own claim."""
    from rich.console import Console
    from rich.table import Table

    first = doors[0]
    table = Table(
        title=f"Through the front door: lower bounds on epsilon at delta {first.delta:g}, "
        f"{first.confidence:.0%} confidence, {first.trials:,} canaries in each world"
    )
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "fit" else "right")
    for door in doors:
        table.add_row(
            door.name,
            door.relation,
            f"{door.epsilon_claimed:g}",
            f"{door.epsilon_lower:.3f}",
            f"{door.epsilon_lower_clopper_pearson:.3f}",
            f"{door.model_lower:.3f}",
            "EXCEEDED" if door.exceeded else "holds",
        )
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(table)
    for door in doors:
        for release in door.releases:
            if release.exceeded:
                console.print(
                    f"{door.name}: {release.what} {release.part}: claimed "
                    f"{release.epsilon_claimed:.3f} alone, measured "
                    f"{max(release.epsilon_lower, release.epsilon_lower_clopper_pearson):.3f}",
                    highlight=False,
                )
    seconds = sum(door.seconds for door in doors)
    fits = sum(door.fits for door in doors)
    console.print(f"{fits} fits in {seconds:.0f} seconds.", highlight=False)
