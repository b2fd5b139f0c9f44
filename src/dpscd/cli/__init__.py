"""The command line: verbs that belong together share a file."""

from dpscd.cli.app import main

__all__ = ["main"]
