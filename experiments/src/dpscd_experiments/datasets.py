"""The data sets of the bench, by name."""

import os
from functools import lru_cache
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.adult import adult_paper
from dpscd_experiments.bank import load_bank
from dpscd_experiments.covtype import load_covtype
from dpscd_experiments.dataset import Dataset
from dpscd_experiments.flights import load_flights
from dpscd_experiments.msd import load_msd
from dpscd_experiments.sources import DatasetMissing
from dpscd_experiments.svmlight import load_phishing, load_w8a

__all__ = ["DATASETS", "PAPER", "Dataset", "DatasetMissing", "load_dataset"]

_LOADERS: dict[str, Any] = {
    "adult": adult_paper,
    "phishing": load_phishing,
    "msd": load_msd,
    "covtype": load_covtype,
    "w8a": load_w8a,
    "nycflights13": load_flights,
    "bank": load_bank,
}

#: Every name that :func:`load_dataset` knows.
DATASETS = tuple(_LOADERS)

#: The data sets of the paper's experiments.
PAPER = ("adult", "phishing", "msd")

_DOWNLOADS = ("adult", "phishing", "msd", "w8a")


def load_dataset(
    name: str, *, folder: str | os.PathLike[str] | None = None, download: bool = False
) -> Dataset:
    """Load a data set, prepared and split."""
    if name not in _LOADERS:
        raise ParameterError(f"name={name!r} must be one of {', '.join(DATASETS)}.")
    if download and name not in _DOWNLOADS:
        raise ParameterError(
            f"download=True is not possible for {name!r}, only for {', '.join(_DOWNLOADS)}."
        )
    place = folder if folder is not None else os.environ.get("DPSCD_DATA")
    # Adult alone is packaged: the variable, meant for all, does not replace it.
    where = folder if name == "adult" else place
    return _load(name, None if where is None else os.fspath(where), download)


@lru_cache(maxsize=2)
def _load(name: str, folder: str | None, download: bool) -> Dataset:
    if name in _DOWNLOADS:
        dataset: Dataset = _LOADERS[name](folder, download=download)
    else:
        dataset = _LOADERS[name](folder)
    return dataset
