"""How true bands are: stated deviations of effects next to those over repeated fits.

Four tables, each with two columns added that have nothing to do with the target, fitted with
seeds 0, 1, ... at epsilon 1, all else automatic. Models are kept in a folder, so that the
estimate can be made again without fits.

    DPSCD_DATA=... python benchmarks/bands.py models
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from dpscd import DPLogisticRegression, DPRidge, TableModel, load
from dpscd_experiments.tables import load_table, read_schema

TABLES = ("adult", "bank", "nycflights13", "taiwan")
MONTHS = ("Sep", "Aug", "Jul", "Jun", "May", "Apr")
NULL = {
    "null_level": {"kind": "category", "values": list("abcde"), "complete": True},
    "null_number": {"kind": "number", "bounds": [0, 1]},
}


def taiwan():
    """Return the schema of Taiwan's credit cards by round bounds, and its cells."""
    values = {
        "Sex": ["F", "M"],
        "Education": ["Grad", "Univ", "HS", "Unk0", "Unk1", "Unk2", "Unk3", "Other"],
        "MaritalStatus": ["Married", "Single", "Divorced", "Unk"],
    }
    status = ["Unk", "Zero", "Clear", "One", "Two", "Three", "Four", "Five", "Six", "Seven"]
    values |= {f"PayStatus_{month}": [*status, "Eight", "Nine"] for month in MONTHS}
    bounds = {"Amount": [0, 1e6], "Age": [18, 90]}
    bounds |= {f"Bill_{month}": [-1e5, 1e6] for month in MONTHS}
    paid = {"kind": "number", "bounds": [0, 1e6], "transform": "log1p"}
    columns = {name: {"kind": "category", "values": own} for name, own in values.items()}
    columns |= {name: {"kind": "number", "bounds": own} for name, own in bounds.items()}
    columns |= {f"PayAmount_{month}": paid for month in MONTHS}
    file = Path(os.environ["DPSCD_DATA"]) / "taiwan" / "TaiwanCreditData.csv.gz"
    target = {"column": "DefaultNextMonth", "classes": ["0", "1"]}
    return {"target": target, "columns": columns}, pd.read_csv(file, dtype=str)


def table(name):
    """Return a schema and cells, with the columns that say nothing."""
    if name == "taiwan":
        schema, cells = taiwan()
    else:
        raw = load_table(name)
        schema, cells = read_schema(name).to_dict(), raw.cells.iloc[raw.train]
        schema.pop("table", None)
    rng = np.random.default_rng(12345)
    level = rng.choice(list("abcde"), len(cells), p=[0.4, 0.3, 0.15, 0.1, 0.05])
    cells = cells.assign(null_level=level, null_number=rng.uniform(size=len(cells)))
    return {**schema, "columns": {**schema["columns"], **NULL}}, cells


def fitted(name, fits, folder):
    """Return the shapes of repeated fits, read from the folder where they are there."""
    found, own = [], None
    for seed in range(fits):
        file = folder / f"{name}-{seed}.json"
        if not file.exists():
            schema, cells = own = own or table(name)
            kind = DPLogisticRegression if "classes" in schema["target"] else DPRidge
            TableModel(schema, kind(1.0, random_state=seed)).fit(cells).save(file)
        shapes = load(file).shapes()
        value = [f"{x:.6g}" if isinstance(x, float) else x for x in shapes["value"]]
        found.append(shapes.assign(value=value).set_index(["column", "value"]))
    return found


def judged(name, shapes):
    """Return a row of the table of results."""
    parts = {
        key: pd.concat([one[key].astype(float) for one in shapes], axis=1)
        for key in ("effect", "band", "seen", "clear")
    }
    often = parts["effect"].count(axis=1) >= len(shapes) / 2
    effect, band, seen, clear = (part[often] for part in parts.values())
    ratio = (band.div(2.0 * effect.std(axis=1), axis=0)).to_numpy()
    null = effect.index.get_level_values(0).str.startswith("null")
    row = {"table": name, "fits": len(shapes)}
    for words, own in (
        ("all", ratio),
        ("seen", np.where(seen.to_numpy() > 0.5, ratio, np.nan)),
    ):
        own = own[np.isfinite(own)]
        row[f"{words}: lowest tenth"] = np.quantile(own, 0.1)
        row[f"{words}: median"] = np.median(own)
        row[f"{words}: within .6 to 1.7"] = np.mean((own > 0.6) & (own < 1.7))
    row["null: median"] = np.nanmedian(ratio[null])
    row["null: clear"] = np.nanmean(clear[null])
    return row


def main():
    """Print a table of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    rows = [judged(x, fitted(x, given.fits, given.folder)) for x in given.tables]
    sys.stdout.write(pd.DataFrame(rows).round(3).to_csv(index=False))


if __name__ == "__main__":
    main()
