"""The census table of 1994 that comes with the package, as two tables in memory."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from dpscd import Schema

__all__ = ["load_adult"]


def load_adult():
    """Return the schema, the table to train on and the table to test on."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dpscd", "example", "adult", "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        schema = Schema.read(Path(folder, "adult.toml"))
        train, test = (
            pd.read_csv(
                Path(folder, name),
                names=schema.layout.names,
                comment=schema.layout.comment,
                skipinitialspace=True,
                dtype=str,
                keep_default_na=False,
            )
            for name in ("adult.data", "adult.test")
        )
    test["income"] = test["income"].str.rstrip(".")
    return schema, train, test
