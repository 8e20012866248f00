"""Data sets that softmax attention separates and linear attention does not (arXiv 2310.11685)."""

from symslr.theory.separation.definition import Column as Column
from symslr.theory.separation.definition import Row as Row
from symslr.theory.separation.shares import Shares as Shares
from symslr.theory.separation.shares import share_derivation as share_derivation
from symslr.theory.separation.shares import shares as shares
