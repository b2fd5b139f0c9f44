"""What a Dask cluster on this machine costs against one process, with the same plan.

Logistic regression on generated rows; a fit is timed from an open collection to the model, so
reading, packing, round trips and all. Prints a table of seconds by workers and lot size.

    python benchmarks/cluster.py table [rows] [columns] [workers ...]
    DPSCD_DATA=folder python benchmarks/cluster.py lots
"""

import sys
import time
from statistics import median

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from dpscd import DPLogisticRegression
from dpscd.bench.datasets import load_dataset
from dpscd.bench.opponents.ours import fitted

EPOCHS = 100
# Lots of n / 20 and so on, and how many seeds: small lots take long.
REPEATS = {20: 3, 50: 3, 250: 1}


def generated(seed, count, columns):
    """Return rows and labels of one partition."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, columns), dtype=np.float32) / np.float32(columns) ** 0.5
    return X, (X[:, 0] > X[:, 1]).astype(np.float32)


def collections(rows, columns, parts):
    """Return X and y whose partitions are made by whoever reads them."""
    count = rows // parts
    made = [dask.delayed(generated)(seed, count, columns) for seed in range(parts)]
    X = [da.from_delayed(one[0], (count, columns), np.float32) for one in made]
    y = [da.from_delayed(one[1], (count,), np.float32) for one in made]
    return da.concatenate(X), da.concatenate(y)


def say(text):
    """Show a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def model_of(rows, share, seed, **changes):
    """Return the model that is fitted."""
    return DPLogisticRegression(
        1.0,
        classes=[0.0, 1.0],
        epochs=EPOCHS,
        lot_size=rows // share,
        random_state=seed,
        **changes,
    )


def timed(fit):
    """Return the median, least and largest number of seconds, for each size of lots."""
    cells = []
    for share, repeats in REPEATS.items():
        seconds = []
        for seed in range(repeats):
            start = time.perf_counter()
            fit(share, seed)
            seconds.append(time.perf_counter() - start)
        cells.append(f"{median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})")
    return " | ".join(cells)


def table(rows, columns, workers):
    """Print seconds by workers (rows of the table) and lot size (columns)."""
    say(f"{rows} x {columns}, {EPOCHS} epochs: median (least to most) seconds of a fit")
    heads = [f"lots of n/{share}, {repeats} seed(s)" for share, repeats in REPEATS.items()]
    say("| | " + " | ".join(heads) + " |")
    say("|---" * (1 + len(heads)) + "|")
    parts = [generated(seed, rows // 8, columns) for seed in range(8)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    del parts
    for threads in (1, 2):
        model_of(1000, 20, 0, n_jobs=threads).fit(X[:1000], y[:1000])  # compile
        cells = timed(
            lambda share, seed: model_of(rows, share, seed, n_jobs=threads).fit(X, y)  # noqa: B023
        )
        say(f"| one process, {threads} thread(s) | {cells} |")
    del X, y
    for count in workers:
        cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster, direct_to_workers=True):
            model_of(4000, 20, 0).fit(*collections(4000, columns, 8))  # compile
            X, y = collections(rows, columns, 8)
            cells = timed(lambda share, seed: model_of(rows, share, seed).fit(X, y))  # noqa: B023
            say(f"| {count} worker(s) | {cells} |")


def lots():
    """Print what larger lots cost in accuracy on Adult, as on one machine."""
    data = load_dataset("adult")
    for loss in ("logistic", "hinge"):
        for share in (250, 100, 50, 20):
            scores = []
            for seed in range(10):
                size = len(data.y_train) // share
                model = fitted(
                    data,
                    loss,
                    epsilon=1.0,
                    delta=1e-3,
                    random_state=seed,
                    lot_size=size,
                    epochs=100.0,
                )
                scores.append(float(np.mean(model.predict(data.X_test) == data.y_test)))
            spread = np.std(scores, ddof=1)
            say(f"{loss}, lots of n/{share}: {np.mean(scores):.4f} (sd {spread:.4f}, 10 seeds)")


if __name__ == "__main__":
    if sys.argv[1] == "lots":
        lots()
    else:
        given = [int(x) for x in sys.argv[2:]]
        table(*(given[:2] or [1_000_000, 50]), given[2:] or [1, 2])
