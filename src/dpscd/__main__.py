"""``python -m dpscd`` is the command ``dpscd``."""

from dpscd.cli import main

main()
