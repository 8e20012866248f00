"""``python -m symslr``."""

from symslr.cli import main

main()
