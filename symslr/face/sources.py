"""What a user's paper cites: symslr, and the sources of the results in hand."""

from __future__ import annotations

from sympy import Expr

import symslr
from symslr.export.bibliography import REFERENCES, key_of
from symslr.expression.quantity import Quantity
from symslr.face.question import Question

WORKED = ("duranthon2025", "deng2023")
"""The papers whose results the toolkit derives."""


def cite(*results: object) -> str:
    """BibTeX of symslr and of the sources of results, which are formulas, questions and derivations; else of both papers.

    Raises:
        TypeError: for anything else.
    """
    keys = dict.fromkeys(key for result in results for key in _keys(result)) if results else dict.fromkeys(WORKED)
    own = (
        "@software{symslr,\n"
        "  author = {{symslr developers}},\n"
        "  title = {{symslr: derive, evaluate, check and typeset the theory of attention}},\n"
        f"  version = {{{symslr.__version__}}}\n}}"
    )
    return "\n\n".join([own, *(REFERENCES[key].entry.to_string("bibtex").strip() for key in keys)])


def _keys(result: object) -> list[str]:
    expr = result.expr if isinstance(result, Question) else getattr(result, "start", result)
    if isinstance(result, Question) and not isinstance(expr, Expr):
        return [result.source]
    if not isinstance(expr, Expr):
        raise TypeError(
            f"cite: found {type(result).__name__}; expected formulas, such as bayes_risk(task), or derivations"
        )
    return [key for node in sorted(expr.atoms(Quantity), key=str) if (key := key_of(node.source)) is not None]
