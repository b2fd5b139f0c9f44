"""Train any method on the paper's data, and tune it as the paper does.

A sweep chooses the clip and the learning rate at one lot size on validation rows, and runs the
best with all seeds on test rows.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import ParameterError, PrivacyWarning
from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
from dpscd.estimators.regression import DPRidge
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.losses import Logistic
from dpscd.privacy.random import Source, source_for
from dpscd.problem import Problem
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import dp_scd, epoch_of
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import Dataset, load_dataset
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper import LOSSES, METHODS, Settings
from dpscd_experiments.solvers.looks import Look, Observer
from dpscd_experiments.solvers.lots import unit_training

Floats = npt.NDArray[np.float64]

#: Our estimators as they come, and our mechanism with the paper's lam, epochs and tuning.
OURS, OURS_TUNED = "ours", "ours-tuned"

_TUNING_SEED = 1000  # apart from those of the final runs, which count from 0
_COORDINATES = 90  # lots of Algorithm 2 hold coordinates, of which MSD has 90
_AVERAGING = 0.5  # as in the estimators' plans

#: Our estimator for each loss.
ESTIMATORS: dict[str, Any] = {
    "squared": DPRidge,
    "logistic": DPLogisticRegression,
    "hinge": DPLinearSVC,
}


@dataclass(frozen=True)
class Config:
    """What is tuned: the paper's L, C and eta."""

    lot_size: int
    clip: float = math.inf
    learning_rate: float = 1.0


#: Trains with a seed and maybe an observer; returns coefficients.
Train = Callable[[int, Observer | None], Floats]


@dataclass(frozen=True)
class Task:
    """A data set with the loss and the regularisation that go with it."""

    data: Dataset
    loss: str
    problem: Problem
    rows: Rows
    records: Records

    @property
    def measure(self) -> str:
        """The name of the score: 'mse' or 'accuracy'."""
        return "mse" if self.data.task == "regression" else "accuracy"

    def score(self, coef: Floats, part: str, intercept: float = 0.0) -> float:
        """Return the score of a model on the part 'validation' or 'test'; NaN if it is broken.

        The paper's methods have no intercept; a decision of 0 is the class -1.
        """
        X, y = getattr(self.data, f"X_{part}"), getattr(self.data, f"y_{part}")
        with np.errstate(over="ignore", invalid="ignore"):
            guess = X @ coef + intercept
            if not np.isfinite(guess).all():
                return math.nan
            if self.measure == "mse":
                return float(((guess - y) ** 2).mean())
            return float(((guess > 0.0) == (y > 0.0)).mean())


def worth_of(score: float, measure: str) -> float:
    """Return a score so that larger is better and a broken model is the worst."""
    if not math.isfinite(score):
        return -math.inf
    return -score if measure == "mse" else score


@lru_cache(maxsize=2)
def prepared(dataset: str, loss: str, lam: float) -> Task:
    """Return the task of a data set, kept for the next cell of this process."""
    data = load_dataset(dataset)
    problem = Problem(LOSSES[loss], lam, *data.X.shape)
    X = data.X if sparse.issparse(data.X) else np.ascontiguousarray(data.X)
    rows = problem.rows(X)
    labels = np.asarray(data.y, dtype=np.float64)
    return Task(data, loss, problem, rows, Records(labels, np.ones(len(labels))))


def trainer(
    task: Task, method: str, config: Config, epochs: int, epsilon: float, delta: float
) -> tuple[Train, float]:
    """Return how to train a configuration, and its noise multiplier."""
    if method == OURS_TUNED:
        return _secret_dual(task, config, epochs, epsilon, delta)
    if method not in METHODS:
        raise ParameterError(
            f"method={method!r} must be {OURS_TUNED!r} or among {', '.join(METHODS)}."
        )
    published = METHODS[method]
    settings = Settings(
        epochs, config.lot_size, clip=config.clip, learning_rate=config.learning_rate
    )
    settings = published.calibrated(task.problem, settings, epsilon, delta)
    fit = partial(published.run, task.problem, task.rows, task.records, settings)
    return _coefficients(task.problem, fit), settings.sigma


def _coefficients(problem: Problem, fit: Any) -> Train:
    def train(seed: int, observer: Observer | None) -> Floats:
        coef: Floats = problem.model(fit(source_for(seed), observer=observer)).coef[0]
        return coef

    return train


def _secret_dual(
    task: Task, config: Config, epochs: int, epsilon: float, delta: float
) -> tuple[Train, float]:
    problem = task.problem
    if task.loss == "logistic":
        problem = replace(problem, loss=Logistic())  # ours; the task's is the authors'
    plan = unit_training(problem.n, problem.d, config.lot_size, epochs, epsilon, delta)
    plan = replace(plan, clip=config.clip, lam=problem.lam, averaging=_AVERAGING)

    def fit(source: Source, observer: Observer | None) -> Floats:
        looks = None if observer is None else _Looks(observer, epoch_of(plan))
        return dp_scd(problem, plan, task.rows, task.records, source, observer=looks)

    return _coefficients(problem, fit), plan.noise_multiplier


@dataclass
class _Looks:
    """Shows an observer of the paper's methods our path, after every epoch."""

    observer: Observer
    epoch: int
    pause: int | None = None

    def begins(self, problem: Problem, training: Training) -> None:
        """Show nothing yet."""

    def moved(self, steps: int, shared: Floats) -> None:
        """Show the shared vector if the epoch is whole."""
        if steps % self.epoch == 0:
            self.observer(Look(steps // self.epoch, shared))


def untuned(task: Task, epsilon: float, delta: float, seed: int) -> tuple[Floats, float, float]:
    """Return our estimator's coefficients, intercept and noise multiplier, as it comes."""
    estimator = ESTIMATORS[task.loss](
        epsilon=epsilon, delta=delta, random_state=seed, **task.data.fit_parameters
    )
    with warnings.catch_warnings():
        # The paper's delta is above 1/n, and its seeds are known: both are warned of.
        warnings.simplefilter("ignore", PrivacyWarning)
        estimator.fit(task.data.X, task.data.y)
    return (
        np.ravel(estimator.coef_),
        float(np.ravel(estimator.intercept_)[0]),
        float(estimator.privacy_.noise_multiplier),
    )


@dataclass(frozen=True)
class Winner:
    """The best configuration of a sweep."""

    config: Config
    train: Train
    sigma: float
    tried: int
    broken: int


def grid_cells(
    settings: Mapping[str, Any], experiment: str, methods: Sequence[str], function: Any
) -> list[Cell]:
    """Return the cells of tuned methods: one for each method, epsilon and lot size."""
    cells = []
    for method in methods:
        published = METHODS.get(method)
        tuned = published.tuned if published else ("lot_size", "clip")
        noisy = published is None or published.noisy
        sizes = settings["lot_sizes"] if "lot_size" in tuned else [1]
        if published and published.over_features:
            sizes = [size for size in sizes if size <= _COORDINATES]
        grids = {
            name: _text(settings[f"{name}s"])
            for name in ("clip", "learning_rate")
            if name in tuned
        }
        cells += [
            Cell(
                function=function,
                experiment=experiment,
                dataset=settings["dataset"],
                method=method,
                epsilon=epsilon,
                delta=settings["delta"] if noisy else 0.0,
                seed=_TUNING_SEED,
                parameters={
                    **{name: settings[name] for name in ("loss", "lam", "epochs", "seeds")},
                    "lot_size": size,
                    **{f"{name}s": grid for name, grid in grids.items()},
                },
            )
            for epsilon in (settings["epsilons"] if noisy else [math.inf])
            for size in sizes
        ]
    return cells


def sweep(cell: Cell) -> Metrics:
    """Tune C and eta at one lot size with one seed, then run the best with all seeds."""
    task, winner = tune(cell)
    models = [winner.train(seed, None) for seed in range(cell.parameters["seeds"])]
    return {**judged(task, winner, models), "broken": winner.broken}


def judged(task: Task, winner: Winner, models: Sequence[Floats]) -> dict[str, Any]:
    """Return the test score at each seed, the validation score and what was chosen."""
    tests = [(float(seed), task.score(model, "test")) for seed, model in enumerate(models)]
    return {
        task.measure: tests,
        # The median over seeds, by which the lot size is chosen.
        "validation": median(task.score(model, "validation") for model in models),
        "clip": winner.config.clip,
        "learning_rate": winner.config.learning_rate,
        "sigma": winner.sigma,
        "tried": winner.tried,
    }


def ours(cell: Cell) -> Metrics:
    """Run our estimator as it comes, with all seeds; the validation rows are not used."""
    task, seeds = _task(cell), range(cell.parameters["seeds"])
    runs = [untuned(task, cell.epsilon, cell.delta, seed) for seed in seeds]
    scores = {
        part: [task.score(coef, part, intercept) for coef, intercept, _ in runs]
        for part in ("test", "validation")
    }
    return {
        task.measure: list(zip(map(float, seeds), scores["test"], strict=True)),
        "validation": median(scores["validation"]),
        "sigma": runs[0][2],
        "tried": 1,
    }


def tune(cell: Cell) -> tuple[Task, Winner]:
    """Return the task of a cell and the best configuration of its grid, by validation."""
    task, given = _task(cell), cell.parameters
    configs = [
        Config(given["lot_size"], clip, rate)
        for clip in _numbers(given.get("clips"), math.inf)
        for rate in _numbers(given.get("learning_rates"), 1.0)
    ]
    best: tuple[float, Config, Train, float] | None = None
    broken = 0
    for config in configs:
        train, sigma = trainer(
            task, cell.method, config, given["epochs"], cell.epsilon, cell.delta
        )
        worth = -math.inf
        if len(configs) > 1:  # otherwise there is nothing to choose
            worth = worth_of(task.score(train(cell.seed, None), "validation"), task.measure)
            broken += math.isinf(worth)
        if best is None or worth > best[0]:
            best = worth, config, train, sigma
    if best is None:
        raise ValueError("the grid is empty")
    return task, Winner(*best[1:], tried=len(configs), broken=broken)


def _task(cell: Cell) -> Task:
    return prepared(cell.dataset, cell.parameters["loss"], cell.parameters["lam"])


def _text(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _numbers(text: str | None, default: float) -> list[float]:
    return [float(part) for part in text.split(",")] if text else [default]
