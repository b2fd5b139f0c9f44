"""Fit a model of diffprivlib: ``python fit_diffprivlib.py IN.npz OUT.npz``."""

import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression


def main() -> None:
    """Read records and settings, write coefficients and the seconds of the fit."""
    with np.load(sys.argv[1]) as given:
        settings = {name: given[name] for name in given.files}
    X, y = settings["X"], settings["y"]
    common = {
        "epsilon": float(settings["epsilon"]),
        "fit_intercept": bool(settings["intercept"]),
        "random_state": int(settings["seed"]),
    }
    if str(settings["loss"]) == "squared":
        # Labels are scaled to their bounds, and entries of rows no longer than 1 lie so too.
        model = LinearRegression(bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0), **common)
    else:
        C = float(settings["C"])
        model = LogisticRegression(data_norm=1.0, C=C, max_iter=1000, **common)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    coef, intercept = np.ravel(model.coef_), np.ravel(model.intercept_)
    np.savez(sys.argv[2], coef=coef, intercept=intercept, seconds=seconds)


if __name__ == "__main__":
    main()
