"""Verbs of the command line, called as users call them, and Python in a new process."""

import json
import os
import subprocess
import sys

from typer.testing import CliRunner

from dpscd.cli.app import app

#: A schema for tables of people, of whom some are ill.
SCHEMA = """\
[target]
column = "ill"
classes = ["no", "yes"]

[columns.age]
kind = "number"
bounds = [0, 100]

[columns.sex]
kind = "category"
values = ["f", "m"]
"""


def call(*words, code=0, **more):
    """Run a verb, which must end with this code, and return what it printed."""
    found = CliRunner().invoke(app, [str(word) for word in words], **more)
    assert found.exit_code == code, (found.output, found.exception)
    return found


def python(script, **environment):
    """Run a script in a new process, which must succeed, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def answer(*words):
    """Return what a verb prints in JSON."""
    return json.loads(call(*words, "--json").stdout)


def refusal(*words):
    """Return the one line that a verb says that fails by the user's fault."""
    found = call(*words, code=1)
    assert found.stderr.startswith("error: ")
    assert found.stderr.count("\n") == 1
    assert not found.stdout
    return found.stderr
