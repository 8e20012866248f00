"""The command line."""

from symslr.cli.application import main as main
