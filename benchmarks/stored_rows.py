"""How much memory a fit takes on rows in a file, by how they are stored.

    python benchmarks/stored_rows.py [MIB]

Generated rows of 1,024 numbers, so many that they fill a file of MIB mebibytes (512) in 16
bits, are trained on for one epoch. Each fit has a process of its own, which has fitted a few
rows before, so that what is compiled does not count. Memory of its own is the most that the
process had allocated (RssAnon of Linux) beyond what it had before the fit; pages of mapped
files, which the system takes back when it needs them, are the rest of the resident set.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from dpscd import DPLogisticRegression, StoredRows

FEATURES, BLOCK = 1024, 4096
KINDS = ("float16", "bfloat16")


def write(kind, path, count):
    """Write generated rows of length about 0.6, a block at a time."""
    stored = "uint16" if kind == "bfloat16" else kind
    out = np.lib.format.open_memmap(path, "w+", stored, (count, FEATURES))
    rng = np.random.default_rng(0)
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        rows = rng.uniform(-1 / 32, 1 / 32, (size, FEATURES)).astype(np.float32)
        if kind == "bfloat16":
            rows = rows.view(np.uint32) >> 16
        out[first : first + size] = rows


def memory(name):
    """Return a number of /proc/self/status in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def measure(kind, path):
    """Fit, and print the most memory of this process while it did."""
    rows = StoredRows(path, bfloat16=kind == "bfloat16")
    labels = np.arange(len(rows)) % 2
    model = DPLogisticRegression(1.0, classes=[0, 1], epochs=1)
    model.fit(rows[:2000], labels[:2000])
    before, most, done = memory("RssAnon"), 0.0, threading.Event()

    def watch():
        nonlocal most
        while not done.is_set():
            most = max(most, memory("RssAnon"))
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    model.fit(rows, labels)
    done.set()
    watcher.join()
    size = Path(path).stat().st_size / 2**20
    own, resident = most - before, memory("VmHWM")
    sys.stdout.write(f"{kind:9} {size:9.0f} {own:12.0f} {resident:13.0f}\n")


def main():
    """Measure every kind."""
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
        return
    mebibytes = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    count = mebibytes * 2**20 // (2 * FEATURES)
    sys.stdout.write(f"{count:,} rows; MiB\nkind           file   own memory  resident set\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        for kind in KINDS:
            write(kind, path, count)
            subprocess.run([sys.executable, __file__, kind, str(path)], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
