"""Optional dependencies: which extra of symslr brings which module, and the error that says so."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

BRINGS: Final = {
    "figures": ("latex2mathml", "matplotlib"),
    "fit": ("numba",),
    "study": ("distributed", "pandas", "pyarrow", "xarray"),
    "train": ("torch",),
}
"""The modules of each extra."""


class MissingExtra(ValueError):
    """A module that an extra brings is not installed; the message says how to install it."""


def need(module: str, purpose: str) -> Any:
    """The optional module, imported.

    Args:
        module: its name, one of those that an extra brings.
        purpose: what it is for, the beginning of the message.

    Raises:
        MissingExtra: when it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise MissingExtra(f"{purpose} needs {missing.name}, which is not installed: {remedy(module)}") from None


def remedy(module: str) -> str:
    """The command that installs the extra which brings a module, or the module itself where none does.

    >>> remedy("torch")
    "pip install 'symslr[train]'"
    """
    package = module.partition(".")[0]
    found = next((extra for extra, modules in BRINGS.items() if package in modules), None)
    return f"pip install {package}" if found is None else f"pip install 'symslr[{found}]'"
