"""The command line: one file per verb."""

from dpscd.cli.app import main

__all__ = ["main"]
