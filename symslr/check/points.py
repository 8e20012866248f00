"""Random admissible points at which both sides of a step are evaluated, the same ones every time."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

from sympy import Basic, Eq, Expr, Float, Integer, Integral, Rational, S, Symbol, srepr

from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import holds
from symslr.check.instances import formulas
from symslr.check.replay import own_rules
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Minimum
from symslr.expression.instance import open_functions
from symslr.expression.quantity import Quantity
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, L, nu
from symslr.referee.extrema import PLACES_OF_MINIMA

DENOMINATORS = (10**8, 10**9)
"""Denominators of parameters are drawn from here: nothing that vanishes at short fractions hides there."""

PRINTED_DIGITS = 10
"""Of a parameter in the words for a point."""

TRIES = 400
"""Draws for a point that the hypotheses admit."""

FIRST_DIGITS = 22
"""At the first point of two tokens, where a slip of e^-50 shows: two passes that aim at 22 agree to 26 and more."""

FULL_DIGITS = 20

FEW = 10
"""A long sequence has more tokens than this."""

FLOAT_DIGITS = 13


@dataclass(frozen=True)
class Point:
    """Values for every free symbol, by name.

    Attributes:
        kind: what the point is for: "two tokens", "three tokens", "strong signal", ...
        values: name -> int or Fraction; ``"P_L"`` -> ``LengthLaw``.
        digits: significant digits worth asking for here.
        patience: share of the usual work for one value; points that seldom succeed get little.
        functions: name -> formula of each function that the derivation leaves open.
    """

    kind: str
    values: Mapping[str, Any]
    digits: int
    patience: float = 1.0
    functions: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def lengths(self) -> frozenset[int]:
        """The values of L at this point: one, those of a random length, or none."""
        law = next((value for value in self.values.values() if isinstance(value, LengthLaw)), None)
        if law is not None:
            return frozenset(int(length) for length, _ in law)
        return frozenset({self.values["L"]}) if "L" in self.values else frozenset()

    @property
    def length(self) -> int | None:
        """L at this point, the largest where it is random, None where there is no length."""
        law = next((value for value in self.values.values() if isinstance(value, LengthLaw)), None)
        return max(int(length) for length, _ in law) if law is not None else self.values.get("L")

    def for_expression(self, expr: Basic) -> dict[str, Any]:
        """The values that an expression asks for."""
        names = parameter_names(expr)
        return {name: value for name, value in self.values.items() if name in names}

    def __str__(self) -> str:
        return ", ".join(f"{name} = {_printed(value)}" for name, value in {**self.values, **self.functions}.items())


@lru_cache(maxsize=4096)
def parameter_names(expr: Basic) -> frozenset[str]:
    """Names of the free symbols of an expression and of the definitions that it names."""
    return frozenset(s.name for s in written_out(expr).free_symbols if isinstance(s, Symbol))


@lru_cache(maxsize=4096)
def written_out(expr: Basic) -> Basic:
    """An expression with every name in it replaced by its definition, names within names from the outside."""
    names = {node: written_out(node.definition()) for node in outermost(expr)}
    return expr.xreplace(names) if names else expr


def outermost(expr: Basic) -> Iterator[Quantity]:
    """Quantities of an expression that stand in no other one."""
    if isinstance(expr, Quantity):
        yield expr
        return
    for arg in expr.args:
        yield from outermost(arg)


def _printed(value: object) -> str:
    if isinstance(value, Fraction) and value.denominator > 10**4:
        return f"{float(value):.{PRINTED_DIGITS}g}"
    return str(value)


@dataclass(frozen=True)
class _Kind:
    """How the points of one kind are drawn.

    Attributes:
        length: choices of L.
        strength: nu lies between these; where the grids are largest it stays moderate.
        wide: whether other parameters may be large as well.
        edge: whether nonnegative parameters are 0 and the other ones small.
        mirrored: whether the signs of real parameters are turned round.
        moves: name -> 1 for a parameter that is large, or near the upper end of its range, -1 for one that is small.
        decades: how many powers of ten these lie away from 1, or shares of the range away from its end: at least and at most.
    """

    name: str
    length: tuple[int, ...]
    strength: tuple[Fraction, Fraction] = (Fraction(1, 5), Fraction(6))
    wide: bool = False
    edge: bool = False
    digits: int = FLOAT_DIGITS
    patience: float = 1.0
    mirrored: bool = False
    moves: Mapping[str, int] = field(default_factory=dict)
    decades: tuple[int, int] = (0, 0)


MODERATE = (Fraction(1, 5), Fraction(5, 2))
WEAK = (Fraction(1, 200), Fraction(1, 8))
STRONG = (Fraction(10), Fraction(30))

KINDS = (
    _Kind("two tokens", (2,), MODERATE, digits=FIRST_DIGITS),
    _Kind("three tokens", (3,), MODERATE, patience=2.0),
    _Kind("many tokens", (5, 6, 7, 8, 9), MODERATE, patience=2.0),
    _Kind("two tokens, other signs", (2,)),
    _Kind("strong signal", (2,), STRONG, wide=True, patience=0.5),
    _Kind("weak signal, edges", (2,), WEAK, edge=True, patience=0.5),
    _Kind("one token", (1,), patience=0.25),
)

LONG = _Kind("long sequence", tuple(range(11, 41)), MODERATE, patience=0.5)
"""Of these lengths one is taken by the content of a chain: no factor that is right at a few lengths is right there too."""

OPEN = _Kind("open functions", (2,), MODERATE, patience=0.25)
"""One for each formula of an open function, so that every one is met."""

CHEAP_KINDS = (
    _Kind("four tokens", (4,), digits=FULL_DIGITS),
    _Kind("very many tokens", tuple(range(40, 400)), digits=FULL_DIGITS),
    _Kind("very strong signal", (3,), (Fraction(60), Fraction(600)), wide=True, digits=FULL_DIGITS),
    _Kind("very weak signal", (6,), (Fraction(1, 10**5), Fraction(1, 10**3)), digits=FULL_DIGITS),
)
"""Points at which closed formulas are compared besides; they cost nothing."""

FAR = ((2, 2), (1, 1), (0, 0), (3, 5))
"""Decades of the far points, the first ones first: where 10^2 to 10^3 is too far there are nearer ones, where not, farther ones."""

FAR_TRIES = 16
"""Draws for such a point: where hypotheses exclude it, by turns on the other side of 1, and ever nearer."""

FAR_PATIENCE = 0.1
"""Many of them overflow."""

LENGTH_LAWS = (
    LengthLaw({1: Rational(1, 3), 2: Rational(2, 3)}),
    LengthLaw({2: Rational(3, 7), 3: Rational(4, 7)}),
    LengthLaw({3: Rational(1, 6), 5: Rational(1, 3), 8: Rational(1, 2)}),
    LengthLaw({1: Rational(2, 11), 2: Rational(9, 11)}),
    LengthLaw({1: Rational(3, 5), 2: Rational(2, 5)}),
    LengthLaw({2: Integer(1)}),
    LengthLaw({1: Integer(1)}),
    LengthLaw({2: Rational(1, 4), 4: Rational(3, 4)}),
    LengthLaw({7: Rational(2, 9), 60: Rational(7, 9)}),
)
"""An open length law, one for each kind of point."""


def symbols_of(derivation: Derivation) -> list[Symbol]:
    """Free symbols of every line of a derivation, by name."""
    lines: Iterable[Expr] = (
        derivation.start,
        *(step.after for step in derivation.steps),
        *(step.remainder for step in derivation.steps),
        *(claim.formula for claim in derivation.claims),
    )
    found = {s for line in lines for s in line.free_symbols if isinstance(s, Symbol)}
    return sorted(found - BOUND_IN_SEQUENCE | _asked(derivation, found), key=str)


def _asked(derivation: Derivation, found: set[Symbol]) -> set[Symbol]:
    """Symbols that a derivation gives a range for, whatever they mean elsewhere."""
    return {s for s in found if s in derivation.ranges}


DIGITS_OF_RELATIONS = 60


def points(derivation: Derivation) -> list[Point]:
    """The points of a derivation, the most telling first; drawn from the names of its symbols, so the same on every
    machine, and the same for every chain in which a symbol has the same range.

    Ranges of the derivation are respected, ``(low, high)`` or ``[choices]``, and so are the relations of its hypotheses. Symbols
    without a range take values by their assumptions: nu in (0.2, 2.5), (0.2, 6), once in (10, 30) and once below 0.13; other
    positive ones in (0.2, 2); nonnegative ones in (0.1, 1.6) and once 0; real ones in (-2, 2) with both signs; lengths 2, 3, one
    in 5..9, 1. Points far from 1 are ``far_points``.

    Raises:
        ValueError: for a range that is neither of these, or that the symbol's assumptions exclude; and where no point is found
            that the hypotheses admit.
    """
    kinds = _kinds(derivation, symbols_of(derivation))
    # rules of symslr's are held against brute force by its tests, and say for which functions they hold
    every = max(map(len, formulas(derivation).values()), default=0) if own_rules(derivation) else 0
    return _drawn(derivation, kinds, 0) + _drawn(derivation, (OPEN,) * every, len(KINDS))


def long_points(derivation: Derivation) -> list[Point]:
    """One point at a length that the content of the chain draws; none where the length is not free."""
    if L not in symbols_of(derivation) or any(exact(symbol) == L for symbol in derivation.ranges):
        return []
    lines = (derivation.start, *(step.after for step in derivation.steps), *(c.formula for c in derivation.claims))
    drawn = random.Random(hashlib.sha256("|".join(map(srepr, lines)).encode()).digest())
    kind = replace(LONG, length=(drawn.choice(LONG.length),))
    return [p for p in _drawn(derivation, (kind,), len(KINDS) + len(CHEAP_KINDS)) if max(p.lengths, default=0) > FEW]


def cheap_points(derivation: Derivation) -> list[Point]:
    """More points, for closed formulas: long sequences, very strong and very weak signals."""
    return _drawn(derivation, CHEAP_KINDS, len(KINDS))


def far_points(derivation: Derivation) -> Iterator[Point]:
    """Points on a logarithmic scale: one parameter large or small and the other ones moderate, then all of them, then half of them.

    In each of these ways they come at 10^2 to 10^3 and at 10^-3 to 10^-2 first, then nearer, then farther, to 10^6 and 10^-6.
    Integers go half as many decades. In a range ``(low, high)`` the decades are those of the share of it between the point and
    its nearer end.
    """
    symbols = [s for s in symbols_of(derivation) if s != L and s.name != "P_L"]
    chosen = {
        exact(s) for s, allowed in derivation.ranges.items() if not (isinstance(allowed, tuple) and len(allowed) == 2)
    }
    names = [symbol.name for symbol in symbols if symbol not in chosen]
    signs = (False, True) if any(not symbol.is_nonnegative for symbol in symbols) else (False,)
    ways = [(name, {name: 1}) for name in names]
    if len(names) > 1:
        ways += [("all parameters", dict.fromkeys(names, 1))]
        ways += [("by turns", {name: (-1) ** number for number, name in enumerate(names)})]
    kinds = (
        _Kind(
            f"{what} {'large' if side > 0 else 'small'}{', other signs' if mirrored else ''}",
            (2,),
            MODERATE,
            patience=FAR_PATIENCE,
            mirrored=mirrored,
            moves={name: side * direction for name, direction in moves.items()},
            decades=decades,
        )
        for decades in FAR
        for mirrored in signs
        for what, moves in ways
        for side in (1, -1)
    )
    return _draws(derivation, kinds, len(KINDS) + len(CHEAP_KINDS) + 1)


def _drawn(derivation: Derivation, kinds: tuple[_Kind, ...], first: int) -> list[Point]:
    result = list(_draws(derivation, kinds, first))
    if not result and first == 0:
        told = [hypothesis.text for hypothesis in derivation.hypotheses]
        told += [f"{s}: {', '.join(s._assumptions_orig)}" for s in symbols_of(derivation)]
        raise ValueError(
            f"found no point that the hypotheses admit, and what is assumed of symbols ({'; '.join(told)})"
        )
    return result


def _draws(derivation: Derivation, kinds: Iterable[_Kind], first: int) -> Iterator[Point]:
    symbols = symbols_of(derivation)
    names = [symbol.name for symbol in symbols]
    ranges = {exact(symbol): value for symbol, value in derivation.ranges.items()}
    conditions = [hypothesis.condition for hypothesis in derivation.hypotheses if hypothesis.condition != S.true]
    solved = _equalities(derivation, symbols)
    conditions = [condition for condition in conditions if condition not in solved]
    seen: list[tuple[Mapping[str, Any], Mapping[str, Expr]]] = []
    open_choices = formulas(derivation)
    for number, kind in enumerate(kinds, first):
        for attempt in range(FAR_TRIES if kind.moves else TRIES):
            values: dict[str, Any] = {}
            for symbol in symbols:
                rng = _generator(symbol, number, attempt)
                if symbol.name in kind.moves:
                    side = kind.moves[symbol.name] * (-1) ** attempt
                    sign = _generator(symbol, -1, 0).choice((-1, 1)) * (-1 if kind.mirrored else 1)
                    near = max(rng.randint(*kind.decades) - attempt // 4, 0)
                    values[symbol.name] = _far(symbol, ranges.get(symbol), rng, near, side, sign)
                elif symbol in ranges:
                    values[symbol.name] = _within(symbol, ranges[symbol], rng, number + attempt)
                elif symbol.name == "P_L":
                    values[symbol.name] = LENGTH_LAWS[(number + attempt) % len(LENGTH_LAWS)]
                else:
                    stretch = Fraction(2) ** (attempt // 20 if rng.random() < 0.5 else -(attempt // 40))
                    sign = _generator(symbol, -1, 0).choice((-1, 1)) * (-1) ** number
                    values[symbol.name] = _default(symbol, kind, rng, sign, stretch)
            for symbol, formula in solved.values():
                here = {s: exact(values[s.name]) for s in formula.free_symbols}
                values[symbol.name] = _fraction(formula.subs(here))
            functions = {name: choices[number % len(choices)] for name, choices in open_choices.items()}
            point = Point(kind.name, values, _digits(kind, values), kind.patience, functions)
            if all(map(fits, symbols, map(values.get, names))) and all(admits(c, symbols, point) for c in conditions):
                if (point.values, point.functions) not in seen:
                    seen.append((point.values, point.functions))
                    yield point
                break
        if not symbols and not open_choices:
            break


def _equalities(derivation: Derivation, symbols: list[Symbol]) -> dict[Basic, tuple[Symbol, Expr]]:
    """For each equality among the hypotheses a symbol and what it has to be; drawn numbers alone would never satisfy one.

    Raises:
        ValueError: for one that is linear, with rational coefficients, in no real parameter.
    """
    found: dict[Basic, tuple[Symbol, Expr]] = {}
    ranges = set(map(exact, derivation.ranges))
    for hypothesis in derivation.hypotheses:
        condition = hypothesis.condition
        if not isinstance(condition, Eq) or condition in found:
            continue
        body = condition.lhs - condition.rhs
        taken = {symbol for symbol, _ in found.values()} | {s for _, f in found.values() for s in f.free_symbols}
        for symbol in symbols:
            if symbol.is_integer or symbol not in body.free_symbols or symbol in {*ranges, *taken}:
                continue
            slope = body.diff(symbol)
            if symbol not in slope.free_symbols and body.is_rational_function():
                found[condition] = symbol, symbol - body / slope
                break
        # integers, and choices of a range, may meet it
        if condition not in found and any(not s.is_integer and s not in ranges for s in body.free_symbols):
            raise ValueError(
                f"hypothesis {hypothesis.text}: found an equality that no drawn numbers satisfy; expected one that is "
                "linear in a real parameter without a range, or the parameter written by the other ones in the first line"
            )
    return found


def fits(symbol: Symbol, value: Any) -> bool:
    """Whether a value has all that is assumed of a symbol, such as that it is even."""
    if isinstance(value, LengthLaw):
        return True
    number = Rational(value)
    return all(getattr(number, f"is_{name}") in (truth, None) for name, truth in symbol.assumptions0.items())


def _mirrored(symbol: Symbol) -> Symbol:
    """A symbol that is positive where this one is negative."""
    return Symbol(symbol.name, integer=symbol.is_integer, positive=symbol.is_negative, nonnegative=True)


def _generator(symbol: Symbol, number: int, attempt: int) -> random.Random:
    """Of one symbol at one kind of point: chains that share symbols share points, and so the values of shared lines."""
    seed = hashlib.sha256(f"{symbol.name}/{number}/{attempt}".encode()).digest()[:8]
    return random.Random(int.from_bytes(seed, "big"))


def admits(condition: Basic, symbols: list[Symbol], point: Point) -> bool:
    """Whether a relation holds at a point, at every length where the length is random."""
    for length in point.lengths or {None}:
        at = {s: _number(point.values[s.name]) for s in symbols if not isinstance(point.values[s.name], LengthLaw)}
        if length is not None:
            at[L] = Integer(length)
        if not holds(condition, at):
            return False
    return True


def _number(value: object) -> Expr:
    """An integer as it is, another number to so many digits that no relation turns: roots of long fractions never end."""
    number = Rational(value)
    return number if number.is_Integer else Float(number, DIGITS_OF_RELATIONS)


def restrictions(
    derivation: Derivation,
    say: Callable[[Basic], str] = str,
    between: str = "{} < {} < {}",
    among: str = "{} in {{{}}}",
) -> tuple[str, ...]:
    """The ranges of a derivation as words: outside of them nothing was compared, so they restrict what is shown.

    ``say`` prints a formula; ``between`` is filled with an end, a symbol and an end, ``among`` with a symbol and its choices.
    """
    symbols = set(symbols_of(derivation))
    words = []
    for symbol, allowed in sorted(derivation.ranges.items(), key=lambda pair: str(pair[0])):
        if open_functions(symbol):
            words.append(among.format(say(symbol), ", ".join(map(say, allowed))))  # type: ignore[call-overload]
        if exact(symbol) not in symbols:
            continue
        if isinstance(allowed, tuple) and len(allowed) == 2:
            words.append(between.format(exact(allowed[0]), say(symbol), exact(allowed[1])))
        elif isinstance(allowed, (list, tuple)):
            words.append(among.format(say(symbol), ", ".join(dict.fromkeys(str(exact(choice)) for choice in allowed))))
    words += [f"real {symbol}" for symbol in sorted(symbols, key=str) if symbol.is_complex and symbol.is_real is None]
    lines = (derivation.start, *(step.after for step in derivation.steps))
    if own_rules(derivation) and any(written_out(line).has(Minimum) for line in lines):
        words.append(f"minima whose wells are no narrower than the steps of the search, {PLACES_OF_MINIMA}")
    return tuple(words)


def _kinds(derivation: Derivation, symbols: list[Symbol]) -> tuple[_Kind, ...]:
    """All kinds; fewer where no length varies and every point costs an integral at full precision."""
    has_length = any(symbol.name in ("L", "P_L") for symbol in symbols)
    lines = (derivation.start, *(step.after for step in derivation.steps))
    if has_length or not any(line.has(Expectation, Integral, Minimum, Quantity) for line in lines):
        return KINDS
    return tuple(kind for kind in KINDS if kind.name not in ("many tokens", "one token"))


def _digits(kind: _Kind, values: Mapping[str, Any]) -> int:
    """Full precision where no grid has more than two token axes."""
    if "L" not in values and "P_L" not in values:
        return FULL_DIGITS
    return kind.digits if Point("", values, 0).length in (1, 2) else FLOAT_DIGITS


def _within(symbol: Symbol, allowed: object, rng: random.Random, number: int) -> Any:
    if isinstance(allowed, tuple) and len(allowed) == 2:
        low, high = (_fraction(exact(end)) for end in allowed)
        if low > high:
            raise ValueError(f"range of {symbol}: found ({low}, {high}); expected (low, high) with low <= high")
        value = low + (high - low) * _share(rng, number)
        return _checked(symbol, Fraction(round(value)) if symbol.is_integer else value)
    if isinstance(allowed, (list, tuple)) and allowed:
        # walk through the choices, so that the first points show different ones, and choices of several symbols side by side
        return _checked(symbol, _fraction(exact(allowed[number % len(allowed)])))
    raise ValueError(f"range of {symbol}: found {allowed!r}; expected (low, high) or a list of choices")


def _checked(symbol: Symbol, value: Fraction) -> Any:
    """The value, as an int where the symbol is an integer."""
    if not fits(symbol, value):
        raise ValueError(f"range of {symbol}: found {Rational(value)}, which the assumptions of {symbol} exclude")
    return int(value) if symbol.is_integer else value


def _fraction(number: Basic) -> Fraction:
    if not isinstance(number, Rational):
        raise ValueError(f"range: found {number}; expected a rational number")
    return Fraction(int(number.p), int(number.q))


def _default(symbol: Symbol, kind: _Kind, rng: random.Random, sign: int, stretch: Fraction) -> Any:
    if symbol == L:
        return rng.choice(kind.length) * max(1, int(stretch))
    if symbol.is_nonpositive:
        return -_default(_mirrored(symbol), kind, rng, sign, stretch)
    if symbol.is_integer:
        return rng.randint(1 if symbol.is_positive else 0, 5 + int(stretch))
    if symbol == nu:
        return _between(rng, *kind.strength) * stretch
    if symbol.is_positive:
        return (_between(rng, *WEAK) if kind.edge else _between(rng, Fraction(1, 5), 4 if kind.wide else 2)) * stretch
    if symbol.is_nonnegative:
        return (
            Fraction(0) if kind.edge else _between(rng, Fraction(1, 10), 3 if kind.wide else Fraction(8, 5)) * stretch
        )
    return sign * (_between(rng, *WEAK) if kind.edge else _between(rng, Fraction(1, 5), 2)) * stretch


def _far(symbol: Symbol, allowed: object, rng: random.Random, decades: int, side: int, sign: int) -> Any:
    """A value so many decades above or below 1, or that share of a range away from its upper or lower end."""
    if symbol.is_nonpositive and allowed is None:
        return -_far(_mirrored(symbol), allowed, rng, decades, side, sign)
    size = _between(rng, 1, 10) * Fraction(10) ** (decades if side > 0 and allowed is None else -decades - 1)
    if isinstance(allowed, tuple) and len(allowed) == 2:
        low, high = (_fraction(exact(end)) for end in allowed)
        value = high - (high - low) * size if side > 0 else low + (high - low) * size
        return _checked(symbol, Fraction(round(value)) if symbol.is_integer else value)
    if symbol.is_integer:
        return (1 if symbol.is_nonnegative else sign) * max(isqrt(int(size)), 1)
    return size if symbol.is_nonnegative else sign * size


def _between(rng: random.Random, low: Fraction | int, high: Fraction | int) -> Fraction:
    denominator = rng.randint(*DENOMINATORS)
    return Fraction(rng.randint(int(low * denominator) + 1, int(high * denominator) - 1), denominator)


def _share(rng: random.Random, number: int) -> Fraction:
    """A place in an interval: anywhere, and by turns near its lower and its upper end."""
    share = _between(rng, 0, 1)
    return {3: share / 50, 4: 1 - share / 50}.get(number % 7, share)
