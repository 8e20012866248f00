"""What a user's paper cites: symslr, and the sources of the results in hand."""

from __future__ import annotations

from importlib.metadata import version

from sympy import Expr

from symslr.algebra.derivation import Derivation
from symslr.export.bibliography import cited
from symslr.expression.quantity import sources_of
from symslr.face.tasks import bayes_risk
from symslr.model.task import Task

WORKED = ("duranthon2025", "deng2023")
"""The papers whose results the toolkit derives."""


def cite(*results: object) -> str:
    """BibTeX of symslr and of the sources of results; without results of both papers.

    Results are formulas, values, curves, questions, landscapes, optimal attentions, sequence models and derivations. Of a
    derivation the rules, the claims and the results that it cites have sources too.

    Raises:
        TypeError: for anything else.
    """
    found = cited([source for result in results for source in _sources(result)] if results else WORKED)
    own = (
        "@software{symslr,\n"
        "  author = {{symslr developers}},\n"
        "  title = {{symslr: derive, evaluate, check and typeset the theory of attention}},\n"
        f"  version = {{{version('symslr')}}}\n}}"
    )
    return "\n\n".join([own, *(reference.entry.to_string("bibtex").strip() for reference in found)])


def _sources(result: object) -> tuple[str, ...]:
    if isinstance(result, Derivation):
        used = (source for theorem in result.cited for source in _sources(theorem))
        return (*sources_of(result.start), *result.origins, *used)
    if isinstance(result, Task):
        return bayes_risk(result).sources
    found = sources_of(result) if isinstance(result, Expr) else getattr(result, "sources", None)
    if not isinstance(found, tuple):
        raise TypeError(
            f"cite: found {type(result).__name__}; expected formulas, such as bayes_risk(task), their values and curves, "
            "derivations or models"
        )
    return found
