"""The examples in the docstrings of public names run, and print what they show."""

import doctest
import inspect

import pytest

import dpscd

NAMES = [name for name in dpscd.__all__ if callable(getattr(dpscd, name))]
WITH_EXAMPLES = [
    name for name in NAMES if ">>>" in (inspect.getdoc(getattr(dpscd, name)) or "")
]


@pytest.mark.full
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_a_docstring_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    thing = getattr(dpscd, name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}):
        assert not any(doctest.SKIP in part.options for part in test.examples)
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_every_class_and_function_for_users_has_an_example():
    errors = {name for name in NAMES if name.endswith(("Error", "Exceeded", "Warning"))}
    # Loading has its example in the guides, and ONNX needs a package that may be absent.
    assert set(NAMES) - errors - set(WITH_EXAMPLES) <= {"load", "to_onnx"}
