"""Fashion-MNIST through the front door, by both engines: accuracy and seconds."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import dpscd.device.training as training
from dpscd import DPLogisticRegression
from dpscd_experiments.device.scattering import scattering_on_device
from dpscd_experiments.features import SCATTERING_SIZE, read_fashion

_CLASSES = 10


class _Stopwatch:
    """How long trainings on the device took, the transfer of their rows not counted."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._train = training.train

    def __call__(self, *given: Any) -> Any:
        start = time.perf_counter()
        try:
            return self._train(*given)
        finally:
            self.seconds = time.perf_counter() - start


def fashion_rows(
    folder: str, engine: str, seeds: Sequence[int], epsilon: float = 3.0, threads: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield accuracy and seconds of a default fit for every seed."""
    images = read_fashion(folder)
    X, X_test = (scattering_on_device(part) for part in (images.train, images.test))
    watch = _Stopwatch()
    training.train = watch  # type: ignore[assignment] # it takes what it is given
    try:
        for seed in seeds:
            model = DPLogisticRegression(
                epsilon, classes=list(range(_CLASSES)), random_state=seed, engine=engine,
                row_bound=float(np.sqrt(SCATTERING_SIZE)), n_jobs=threads,
            )  # fmt: skip
            start = time.perf_counter()
            model.fit(X, images.y)
            whole = time.perf_counter() - start
            yield {
                "engine": engine, "seed": seed, "epsilon": epsilon,
                "accuracy": round(model.score(X_test, images.y_test), 4),
                "train_seconds": round(watch.seconds, 3) if engine == "jax" else None,
                "fit_seconds": round(whole, 2), "steps": model.privacy_.steps,
                "lot_size": model.fit_.plan.training.lot_size,
                "device": model.fit_.plan.facts.device or "processor",
            }  # fmt: skip
    finally:
        training.train = watch._train
