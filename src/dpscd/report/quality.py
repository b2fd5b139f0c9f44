"""How good the model was found to be, on which records, and whether saying so is private."""

from dpscd.report.evaluation import Evaluation
from dpscd.report.html import Html, data_table, html

__all__ = ["quality"]


def quality(found: Evaluation) -> Html:
    """Return the section on an evaluation: its numbers and their privacy status."""
    banded = any(measure.band is not None for measure in found.measures)
    headings = ("Measure", "Value", *(("Noise, two standard deviations",) if banded else ()))
    rows = [
        [
            measure.name,
            f"{measure.value:.4f}",
            *([f"± {measure.band:.4f}"] if measure.band is not None else []),
        ]
        for measure in found.measures
    ]
    table = data_table(f"On {found.on}", headings, rows, numeric=len(headings) - 1)
    status = (
        '<p class="lead">{status}</p>\n'
        if found.private
        else '<div class="warning"><p>{status} Hand the page only to those who may know them.'
        "</p></div>\n"
    )
    return html(
        status + "{table}<p>How good the model is on other people than these depends on how "
        "much they resemble them.</p>\n",
        status=found.status,
        table=table,
    )
