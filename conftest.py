import os

from hypothesis import Phase, settings
from hypothesis.internal.conjecture import providers

# Features of experiments are computed, not kept; processes that tests start inherit this.
os.environ["DPSCD_CACHE"] = "off"

# The same examples at every run, and no time limit: compiled code is slow only once.
settings.register_profile("dpscd", deadline=None, derandomize=True, database=None)
# A mutation is noticed by the first example that fails; a smaller one is not needed.
settings.register_profile(
    "mutation", settings.get_profile("dpscd"), phases=[Phase.explicit, Phase.generate]
)
# Other examples at every run: what a derandomised run never tries.
settings.register_profile("explore", settings.get_profile("dpscd"), derandomize=False)
_PROFILE = os.environ.get("DPSCD_HYPOTHESIS", "dpscd")
settings.load_profile(_PROFILE)
if _PROFILE != "explore":
    # Hypothesis tries constants of the modules that happen to be imported, which with several
    # workers is another set at every run.
    providers._get_local_constants = providers.Constants

_QUICK = "DPSCD_QUICK"


def pytest_addoption(parser):
    parser.addoption(
        "--all", action="store_true", help="run all tests, not only those of the quick tier"
    )


def pytest_configure(config):
    # Asked of the process that was started: its workers are given paths by it.
    if not hasattr(config, "workerinput"):
        plain = config.args_source is config.ArgsSource.TESTPATHS
        os.environ[_QUICK] = "1" if plain and not config.getoption("--all") else ""


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked as full where neither --all nor a path was given.

    And what is marked as compiled where nothing is: what the compiler or threads do, laws of
    many draws, long ways to an optimum, of which a few steps show all that the interpreter can.
    """
    marks = ["full"] if os.environ.get(_QUICK) else []
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        marks.append("compiled")
    left_out = [item for item in items if any(map(item.get_closest_marker, marks))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
