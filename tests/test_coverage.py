import importlib
import tomllib
from pathlib import Path

import pytest

PYPROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())


@pytest.mark.parametrize("module", PYPROJECT["tool"]["coverage"]["run"]["source"])
def test_what_coverage_is_measured_of_exists(module):
    importlib.import_module(module)
