"""A command in a process of its own, which its limit of time may end; it has the libraries of this one."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Sequence

from symslr import budget
from symslr.cli import main


def answered(arguments: Sequence[str]) -> tuple[int, str, str]:
    """(status, stdout, stderr) of a command; a negative status is that of a signal."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of threads, which a library may have and the child does not
            child = os.fork()
        if child == 0:
            status = 70
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.stdout, sys.stderr = out, err
                budget.leave = os._exit  # as outside of tests: an exception could be lost in a call that lets none out
                main(list(arguments))
            except SystemExit as ended:
                status = int(ended.code or 0)
            finally:
                out.flush()
                err.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (out, err):
            file.seek(0)
        return status, out.read(), err.read()
