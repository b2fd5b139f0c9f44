"""Section on the quality of the model, its test set, and the privacy of these numbers."""

from dpscd.report.evaluation import Evaluation
from dpscd.report.html import Html, data_table, html

__all__ = ["quality"]


def quality(found: Evaluation) -> Html:
    """Return the section on an evaluation: its numbers and their privacy status."""
    headings = ("Measure", "Value", *(("Interval",) if found.private else ()))
    rows = [
        [
            measure.name,
            f"{measure.value:.4f}",
            *([measure.interval or ""] if found.private else []),
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
