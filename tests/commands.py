"""Verbs of the command line, called as users call them."""

from typer.testing import CliRunner

from dpscd.cli.app import app


def call(*words, code=0, **more):
    """Run a verb, which must end with this code, and return what it printed."""
    found = CliRunner().invoke(app, [str(word) for word in words], **more)
    assert found.exit_code == code, (found.output, found.exception)
    return found


def refusal(*words):
    """Return the one line that a verb says that fails by the user's fault."""
    found = call(*words, code=1)
    assert found.stderr.startswith("error: ")
    assert found.stderr.count("\n") == 1
    assert not found.stdout
    return found.stderr
