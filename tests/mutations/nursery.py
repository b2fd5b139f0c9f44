"""A process that has imported what every test imports, and forks one for each run of pytest.

Half the time of a mutation would go into imports of other people's packages. Of ours nothing
is imported here: each child reads the source as it then stands. It goes on as `python -m
pytest` would, with the environment, the folder and the search path of this process.
"""

import gc
import importlib
import json
import os
import runpy
import sys

#: None of these compiles anything, or starts threads that a fork would miss, when imported.
PACKAGES = (
    "cryptography.hazmat.primitives.ciphers",
    "dp_accounting.pld.privacy_loss_distribution",
    "hypothesis.extra.numpy",
    "numba",
    "pandas",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sklearn.base",
)


def answer(number):
    os.write(1, b"%d\n" % number)


def become_pytest(arguments, output, errors):
    """Run pytest in this process, which ends as pytest says."""
    for number, path in enumerate((os.devnull, output, errors)):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.argv[1:] = arguments
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def main():
    sys.path[0] = os.getcwd()  # as with -m
    for package in PACKAGES:
        importlib.import_module(package)
    ours = [name for name in sys.modules if name.startswith("dpscd")]
    assert not ours, ours
    gc.freeze()  # children need not look through what they only inherit
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return become_pytest(**json.loads(line))
        answer(child)
        _, status = os.waitpid(child, 0)
        answer(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
