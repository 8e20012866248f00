"""``python -m symslr``."""

from symslr.cli import command

command()
