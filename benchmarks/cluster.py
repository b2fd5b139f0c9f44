"""What a Dask cluster on this machine costs against one process, with the same plan.

Logistic regression on generated rows; a fit is timed from an open collection to the model, so
reading, packing, round trips and all. Prints a table of seconds by workers and lot size.

    python benchmarks/cluster.py table [rows] [columns] [workers ...]
    python benchmarks/cluster.py trips

`trips` measures round trips by workers and size of the shared vector, fits the cost model to
them and draws it out.
"""

import sys
import time
from contextlib import ExitStack
from statistics import median

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from scipy.optimize import nnls

from dpscd import DPLogisticRegression
from dpscd.planning.facts import Facts
from dpscd.planning.rule import _worth_a_trip
from dpscd.privacy.random import LotsSource, SeededSource
from dpscd.records.labels import ClassLabels
from dpscd.records.opening import Given

EPOCHS = 100
# Lots of n / 20 and so on, and how many seeds: small lots take long.
REPEATS = {5: 5, 20: 5, 50: 1, 250: 1}


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


def table(rows, columns, workers):
    """Print seconds by workers (rows of the table) and lot size (columns).

    Settings take turns, so that whatever else the machine does falls on all of them.
    """
    parts = [generated(seed, rows // 8, columns) for seed in range(8)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    del parts
    seconds = {}

    def timed(name, share, fit):
        start = time.perf_counter()
        fit()
        seconds.setdefault(name, {}).setdefault(share, []).append(time.perf_counter() - start)
        say(f"{name}, n/{share}: {seconds[name][share][-1]:.1f} s")

    with ExitStack() as stack:
        clients = {}
        for count in workers:
            cluster = LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=":0"
            )
            stack.enter_context(cluster)
            clients[count] = stack.enter_context(Client(cluster, direct_to_workers=True))
            with clients[count].as_current():
                model_of(4000, 20, 0).fit(*collections(4000, columns, 8))  # compile
        model_of(4000, 20, 0).fit(X[:4000], y[:4000])
        spread_out = collections(rows, columns, 8)
        for share, repeats in REPEATS.items():
            for seed in range(repeats):
                for threads in (1, 2):
                    model = model_of(rows, share, seed, n_jobs=threads)
                    timed(f"one process, {threads} thread(s)", share, lambda: model.fit(X, y))  # noqa: B023
                for count, client in clients.items():
                    model = model_of(rows, share, seed)
                    with client.as_current():
                        timed(f"{count} worker(s)", share, lambda: model.fit(*spread_out))  # noqa: B023
    say(f"{rows} x {columns}, {EPOCHS} epochs: median (least) seconds of a fit")
    heads = [f"lots of n/{share}, {repeats} seed(s)" for share, repeats in REPEATS.items()]
    say("| | " + " | ".join(heads) + " |")
    say("|---" * (1 + len(heads)) + "|")
    for name, found in seconds.items():
        cells = [f"{median(found[share]):.1f} ({min(found[share]):.1f})" for share in REPEATS]
        say(f"| {name} | " + " | ".join(cells) + " |")


def trip(workers, columns, steps=300):
    """Return the median seconds of a step with next to no records."""
    X, y = collections(16 * workers, columns, workers)
    model = model_of(16 * workers, 16, 0, standardise=False)
    shared, seconds = np.zeros((1, columns + 1)), []
    with model._opened(X, y, Given()) as records:
        classes = model._classes_of(records.labels)
        fitting = model._fitting(records, classes)
        training = fitting.planned().training
        pool = records.read(model._labels(classes), 1)._pool
        lots_source = LotsSource.of(SeededSource(b"trips"))
        problem = fitting.facts.problem(training.lam)
        pool.begin(problem, training, lots_source, [16] * workers, None)
        for _ in range(steps):
            start = time.perf_counter()
            pool.step(shared)
            seconds.append(time.perf_counter() - start)
    return median(seconds)


# Seconds that a record of a lot takes, without and for each of its features: from the table.
RECORD, FEATURE = 3.2e-8, 0.4e-9


def trips():
    """Print measured round trips, the model fitted to them, and what it says elsewhere."""
    cases, measured = [], []
    for workers in (1, 2, 4):
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster, direct_to_workers=True):
            for columns in (50, 1000, 10_000):
                trip(workers, columns, 20)  # compile
                cases.append((1.0, workers, workers * 8e-6 * columns))
                measured.append(1e3 * trip(workers, columns))
                say(f"{workers} worker(s), {columns} columns: {measured[-1]:.2f} ms")
    # Relative errors count: a trip of 1 ms matters as much as one of 10.
    scale = 1.0 / np.array(measured)
    found, _ = nnls(np.array(cases) * scale[:, None], np.array(measured) * scale)
    worst = np.abs(np.array(cases) @ found / measured - 1.0).max()
    say(
        f"a step: {found[0]:.2f} ms + {found[1]:.2f} ms a worker + {found[2]:.2f} ms a worker "
        f"and MB of the shared vector (within {worst:.0%})"
    )
    say("| rows | columns | workers | lots of | steps | computing | round trips | in all |")
    say("|---|---|---|---|---|---|---|---|")
    for rows, columns, workers in (
        (10**6, 50, 2), (10**7, 50, 10), (10**8, 50, 10), (10**8, 50, 100), (10**9, 50, 100),
        (10**9, 50, 1000), (10**9, 1000, 1000),
    ):  # fmt: skip
        facts = Facts(rows, columns, "Logistic", ClassLabels((0, 1)), constant=0.3)
        lot = max(2048, min(rows // 20, _worth_a_trip(facts, workers)))
        steps = EPOCHS * rows / lot
        computing = EPOCHS * rows * (RECORD + FEATURE * columns) / workers
        waiting = steps * 1e-3 * float(found @ (1.0, workers, workers * 8e-6 * columns))
        times = " | ".join(f"{x:,.0f} s" for x in (computing, waiting, computing + waiting))
        case = f"{rows:,} | {columns} | {workers} | n/{rows / lot:.0f} | {steps:,.0f}"
        say(f"| {case} | {times} |")


if __name__ == "__main__":
    if sys.argv[1] == "trips":
        trips()
    else:
        given = [int(x) for x in sys.argv[2:]]
        table(*(given[:2] or [1_000_000, 50]), given[2:] or [1, 2])
