"""The command line: one file a verb."""

from dpscd.cli.app import main

__all__ = ["main"]
