"""Verdicts: both sides of every step by independent routes; true, unknown or false, and unknown is never a pass."""

from symslr.verify.check import check as check
from symslr.verify.collect import CollectError as CollectError
from symslr.verify.collect import builtin_folder as builtin_folder
from symslr.verify.collect import collect as collect
from symslr.verify.report import CheckReport as CheckReport
from symslr.verify.report import Verdict as Verdict
