"""Verdicts: both sides of every step as the referee reads them; true, unknown or false, and unknown is never a pass."""

from symslr.check.check import check as check
from symslr.check.collect import CollectError as CollectError
from symslr.check.collect import builtin_folder as builtin_folder
from symslr.check.collect import collect as collect
from symslr.check.report import CheckReport as CheckReport
from symslr.check.report import Verdict as Verdict
