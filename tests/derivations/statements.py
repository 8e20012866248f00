"""What each derivation says. ``python -m tests.derivations.statements`` writes it to statements.txt, for a reader to compare."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sympy import Symbol

from symslr.algebra.derivation import Derivation
from tests.derivations.made import FILES, chains

KEPT = Path(__file__).parent / "statements.txt"
HEADING = "# "
"""Begins the line that names a file of derivations."""


def statement(item: Derivation) -> str:
    """Name, first line, last line, remainder, hypotheses, ranges and claims of a derivation."""
    lines = [item.name, f"    {item.start}", f"  {item.relation} {item.result}"]
    lines += [f"  up to {item.remainder}"] if item.relation == "~" else []
    lines += [f"  for {hypothesis.text} ({hypothesis.condition})" for hypothesis in item.hypotheses]
    of_chain = (item.start, item.result, *(claim.formula for claim in item.claims))
    lines += [f"  odd: {symbol}" for symbol in odd_symbols(set().union(*(expr.atoms(Symbol) for expr in of_chain)))]
    lines += [f"  checked at {symbol} in {allowed}" for symbol, allowed in item.ranges.items()]
    lines += [f"  {claim.label}: {claim.formula}  [{claim.source}]" for claim in item.claims]
    return "\n".join(lines)


def odd_symbols(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Those that are not known to be real, or of which it is said that they are no integer, or not positive."""
    return [
        symbol
        for symbol in sorted(symbols, key=str)
        if not symbol.is_extended_real or False in (symbol.is_integer, symbol.is_positive, symbol.is_nonnegative)
    ]


def statements(items: Iterable[Derivation]) -> str:
    """All of them, one after another."""
    return "\n\n".join(map(statement, items)) + "\n"


def kept() -> dict[str, str]:
    """What was written, by the name of the file of derivations."""
    sections = f"\n{KEPT.read_text(encoding='utf-8')}".split(f"\n{HEADING}")[1:]
    return {name: text.strip("\n") + "\n" for name, text in (section.split("\n", 1) for section in sections)}


if __name__ == "__main__":
    sections = [f"{HEADING}{file.name}\n\n{statements(chains(file))}" for file in FILES]
    KEPT.write_text("\n".join(sections), encoding="utf-8")
