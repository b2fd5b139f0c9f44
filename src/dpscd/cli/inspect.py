"""``dpscd inspect``: what is in a model's file."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json, print_table
from dpscd.cli.models import load_model

__all__ = ["inspect"]


def inspect(
    model: Annotated[Path, typer.Argument(help="The model's file.")],
    top: Annotated[int, typer.Option(min=0, help="Coefficients to show.")] = 15,
    as_json: AsJson = False,
) -> None:
    """Show a model's coefficients and its privacy card.

    Example: dpscd inspect model.json --top 5
    """
    with plain_errors():
        found = load_model(model)
        inner = getattr(found, "estimator_", found)
        if as_json:
            print_json(_plain(found, inner))
            return
        names, rows = _coefficients(inner)
        largest = sorted(rows, key=lambda row: -max(abs(x) for x in row[1:]))[:top]
        if largest:
            print_table(
                f"{type(inner).__name__}: largest {len(largest)} of {len(rows)} coefficients",
                ("feature", *names),
                [(row[0], *(f"{x:+.4f}" for x in row[1:])) for row in largest],
                right=range(1, 1 + len(names)),
            )
        typer.echo(str(inner.privacy_))


def _coefficients(inner: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    import numpy as np

    coef = np.atleast_2d(inner.coef_)
    features = getattr(inner, "feature_names_in_", [f"x{k}" for k in range(coef.shape[1])])
    names = ["coefficient"] if len(coef) == 1 else [str(label) for label in inner.classes_]
    columns = zip(features, *coef.tolist(), strict=True)
    return names, [(str(name), *values) for name, *values in columns]


def _plain(found: Any, inner: Any) -> dict[str, Any]:
    import numpy as np

    _, rows = _coefficients(inner)
    schema = getattr(found, "schema_", None)
    return {
        "type": type(inner).__name__,
        "classes": [str(x) for x in inner.classes_] if hasattr(inner, "classes_") else None,
        "intercept": np.atleast_1d(inner.intercept_).tolist(),
        "coefficients": {row[0]: list(row[1:]) for row in rows},
        "schema": schema.to_dict() if schema is not None else None,
        "card": json.loads(inner.privacy_.to_json()),
    }
