"""Every error of the certified least risk reaches the result: each is made large in turn, or its lemma is held to equality."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from flint import arb, arb_poly, ctx
from mpmath import mp
from sympy import Integer, exp

from symslr import SpikedSLR, population_risk
from symslr.evaluation.certified import outer
from symslr.evaluation.certified.least.bounded import Bounded
from symslr.evaluation.certified.least.integrals import Sums, TransformInScale
from symslr.evaluation.certified.least.model import ExpressionInScale
from symslr.evaluation.certified.least.search import Search, segments
from symslr.evaluation.certified.outer import Integrand
from symslr.evaluation.certified.taylor import Jet, TaylorModel
from symslr.evaluation.errors import NotProved
from symslr.evaluation.plan import canonical
from symslr.model.attention import Attention
from symslr.model.symbols import Delta, L, a, nu, x

NEARLY = 1 - 1e-9
LENGTH, RADIUS = 4, 2.0**-5


@pytest.fixture(scope="module")
def transform() -> TransformInScale:
    """The integrals of the softmax at L = 2 for 1 <= a <= 1 + 2 RADIUS, to few digits."""
    formula = canonical(population_risk(SpikedSLR(noise=0), Attention(exp(x))))
    known = {L: Integer(2), nu: Integer(2), Delta: Integer(0)}
    values = {symbol: known[symbol] for symbol in formula.free_symbols if symbol in known}
    segment = ExpressionInScale(formula, values, a, 1.0, 1 + 2 * RADIUS)
    with ctx.workprec(256):
        return segment.transform(next(iter(segment.lines.factors)), 12.0)


@pytest.fixture
def sums(transform: TransformInScale) -> Iterator[Sums]:
    with ctx.workprec(256):
        yield Sums(transform, arb(1 + RADIUS), arb(RADIUS), LENGTH, LENGTH)


@pytest.fixture
def integrand(transform: TransformInScale) -> Integrand:
    """Of two different tokens."""
    return next(own for own in transform.integrands if sum(own.copies) == 2)


def rest(transform: TransformInScale, integrand: Integrand, sums: Sums) -> Any:
    return transform.model(integrand, sums).rest


def test_tails_are_in_the_rest(
    transform: TransformInScale, integrand: Integrand, sums: Sums, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rest(transform, integrand, sums)
    window = transform.windows[integrand]
    monkeypatch.setitem(transform.windows, integrand, replace(window, beyond=window.beyond + arb(0.5, 0.5)))
    after = rest(transform, integrand, sums)
    assert after.contains(before.upper() + NEARLY * transform.step)
    assert after.contains(before.lower())


def test_tails_begin_where_the_window_ends(
    transform: TransformInScale, integrand: Integrand, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ctx.workprec(256):
        ends: list[int] = []
        start = TaylorModel(arb_poly([2, 5]), arb(0, 3), arb(1), 2)
        monkeypatch.setattr(transform, "_start", lambda _, low, count: ends.append(low) or start)
        monkeypatch.setattr(transform, "_right_tail", lambda _, high, *__: ends.append(high) or arb(4))
        window = transform.window(integrand, transform.goal)
        assert [window.nodes[0], window.nodes[-1]] == ends
        before = transform.before(integrand.k, ends[0])
        assert window.beyond.contains(4 + 3 * NEARLY * before)
        assert window.beyond.contains(-3 * NEARLY * before)


def test_series_in_the_scale_begin_as_the_integrand_does(transform: TransformInScale, integrand: Integrand) -> None:
    """The coefficients in u at single scales lie in those of the interval."""
    with ctx.workprec(256):
        start = transform.windows[integrand].start
        for place in (1, 1 + RADIUS, 1 + 2 * RADIUS):
            thin = Sums(transform, arb(place), arb(2.0**-30), LENGTH, LENGTH).thin
            for r, coefficient in enumerate(thin.start(integrand, start.length)):
                assert start.polynomial[r].overlaps(coefficient[0])
                assert not coefficient[0].contains(0)


def test_tokens_that_are_left_out_are_in_every_coefficient(
    transform: TransformInScale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where so many are left out that they matter, against the sums over all."""
    monkeypatch.setattr("symslr.evaluation.certified.analytic.line.SPARE_NATS", -8.0)
    with ctx.workprec(256):
        own = TransformInScale(transform.line, transform.nats, transform.goal, transform.scale, transform.integrands)
        sums = Sums(own, arb(1 + RADIUS), arb(RADIUS), LENGTH, LENGTH)
        assert len(own.blocks[-1].seen.places) < len(own.rule.nodes)
        for some in (sums.thin, sums.wide):
            every = (own.loads(own.rule.kernel, own.nodes) * some.matrix).tolist()
            pairs = [(part, whole) for row, other in zip(some.rows, every) for part, whole in zip(row, other)]
            assert all(part.overlaps(whole) for part, whole in pairs)


def test_errors_of_the_rule_are_in_the_rest(
    transform: TransformInScale, integrand: Integrand, sums: Sums, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rest(transform, integrand, sums)
    monkeypatch.setitem(transform.known_off, integrand, transform._off(integrand) + 1)
    after = rest(transform, integrand, sums)
    for end in (before.upper() + NEARLY * transform.step, before.lower() - NEARLY * transform.step):
        assert after.contains(end)


def test_errors_of_the_rule_bound_the_change_of_a_product(transform: TransformInScale, integrand: Integrand) -> None:
    """M_1 M_2 - (M_1 - e_1)(M_2 - e_2), which is e_1 M_2 + e_2 M_1 but for e_1 e_2."""
    with ctx.workprec(256):
        super(TransformInScale, transform).fill(transform.nodes)  # not only at the last one
        for i in transform.nodes[::10]:
            before = after = transform._weight(integrand, i)
            for n, top, error in zip(integrand.copies, transform.above[i - transform.nodes[0]], transform.rule.errors):
                before, after = before * top**n, after * (top - error) ** n
            assert transform._off_at(integrand, i) >= (before - after) * NEARLY
            for top, moment in zip(transform.above[i - transform.nodes[0]], transform.known[i]):
                assert top >= moment.upper() * NEARLY


def test_the_discretisation_is_in_the_rest(
    transform: TransformInScale, integrand: Integrand, sums: Sums, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of a tenth of the infinite sum: the integral is between 10/11 and 10/9 of it."""
    model = transform.model(integrand, sums)
    size = model.polynomial(arb(0)).lower()
    monkeypatch.setattr(outer, "outer_error", lambda *_: arb(0.1))
    after = rest(transform, integrand, sums)
    assert after.contains(size / 9)
    assert after.contains(-size / 9)


def test_the_remainder_is_the_last_coefficient(transform: TransformInScale, integrand: Integrand, sums: Sums) -> None:
    wide = transform._sum(sums.wide, integrand, transform.windows[integrand])[LENGTH]
    last = transform.model(integrand, sums).polynomial[LENGTH]
    assert last.contains((transform.step * wide).mid())
    assert last.rad() >= transform.step * wide.rad() * NEARLY
    for place in (-1, 1):  # the next coefficient at any scale of the part is in the one of the whole part
        thin = Sums(transform, arb(1 + RADIUS + place * RADIUS), arb(2.0**-30), LENGTH + 1, LENGTH + 1).thin
        assert wide.overlaps(transform._sum(thin, integrand, transform.windows[integrand])[LENGTH])


def test_a_value_without_integral_has_the_error_of_the_rule(transform: TransformInScale, sums: Sums) -> None:
    for j, error in enumerate(transform.rule.errors):
        found = transform.value(j, sums).rest
        assert found.contains(NEARLY * error)
        assert found.contains(-NEARLY * error)


def ends(model: TaylorModel, t: Any) -> Any:
    return model.polynomial(t) + model.rest


def test_rests_add_up_in_sums_products_and_inverses() -> None:
    """(1 + t + p)(2 - t + q) and the like for the largest p and q, at both ends of the interval."""
    with ctx.workprec(100):
        one = TaylorModel(arb_poly([1, 1]), arb(0, 0.125), arb(0.25), 3)
        two = TaylorModel(arb_poly([2, -1]), arb(0, 0.25), arb(0.25), 3)
        for t in (arb(-0.25), arb(0.25)):
            for p, q in ((0.125, 0.25), (-0.125, 0.25), (0.125, -0.25), (-0.125, -0.25)):
                f, g = 1 + t + p * NEARLY, 2 - t + q * NEARLY
                assert ends(one + two, t).contains(f + g)
                assert ends(one * two, t).contains(f * g)
                assert ends(one.times(arb(3)), t).contains(3 * f)
                assert ends(one.inverse(), t).contains(1 / f)
                assert ends(one.power(3), t).contains(f**3)
                assert ends(one.mirrored(), -t).contains(f)
                jets = (Jet(own.polynomial, own.rest, own.radius, own.length) for own in (one, two))
                jet, other = jets
                assert ends(jet * other, t).contains(f * g)
                assert ends(jet.inverse(), t).contains(1 / f)
                assert ends(jet.power(3), t).contains(f**3)


@pytest.mark.parametrize("coefficients", [[3, -1, 4], [1, 0, -1]])
def test_a_bound_takes_the_rest(coefficients: list[int]) -> None:
    """The function may be a quarter lower or higher than the polynomial, convex or not."""
    with ctx.workprec(80):
        exact, loose = (
            Bounded(TaylorModel(arb_poly(coefficients), arb(0, r), arb(0.5), 6), arb(-0.5), arb(0.5)) for r in (0, 0.25)
        )
        assert loose.below <= exact.below - 0.25 * NEARLY
        assert loose.above >= exact.above + 0.25 * NEARLY
        level = exact.above
        narrow, wide = exact.sublevel_interval(level), loose.sublevel_interval(level + 0.25)
        places = [i / 200 for i in range(-100, 101)]
        possible = [t for t in places if sum(c * t**k for k, c in enumerate(coefficients)) - 0.25 <= level + 0.25]
        assert all(wide[0] <= t <= wide[1] for t in possible)
        assert wide[0] <= narrow[0]
        assert wide[1] >= narrow[1]


def searching(segment: Any, digits: int) -> Search:
    """A search in a function that is known, given as a class with the methods of ``Moving``."""
    return Search(segment, digits)


class Quartic:
    """a^4 - 2 a^2 + 3a/10, whose Taylor models are known, as a stretch of the search."""

    POLYNOMIAL = (0, "0.3", -2, 0, 1)

    reach, parts, period, is_by_scores = 0.15, 3, 1, False

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def prepare(self, nats: float) -> None:
        """Nothing is to be proved."""

    def sharpen(self, nats: float) -> None:
        """Errors are as asked for."""

    def model(self, centre: float, radius: float, nats: float, length: int, sharp: int) -> Jet:
        moved = arb_poly([arb(c) for c in self.POLYNOMIAL])(arb_poly([arb(centre), 1]))
        nothing = Jet(arb_poly([0]), arb(0, arb(-nats).exp().upper()), arb(radius), length + 1)
        return nothing + nothing.like(moved)


class Even(Quartic):
    """c a^4 + a^8/4, level to order 8 at c = 0."""

    POLYNOMIAL = (0, 0, 0, 0, "-0.5", 0, 0, 0, "0.25")

    period = 4


class Level(Even):
    POLYNOMIAL = ("0.5", 0, 0, 0, 0, 0, 0, 0, "0.25")


@pytest.mark.parametrize(("segment", "place"), [(Even, 1.0), (Level, 0.0)])
def test_the_search_encloses_the_infimum_of_a_function_of_the_fourth_power(
    segment: type[Quartic], place: float
) -> None:
    """-1/4 at +-1, or 1/2 at 0; on both sides of it."""
    found = searching(segment, 12).over(-1.5, 1.25, guess=place)
    with ctx.workprec(120):
        assert found.value.contains(-0.25 if place else 0.5)
        assert float(found.value.rad()) < 1e-12
    for side in (-1, 1):
        assert any(low <= side * place <= high for low, high in found.places)


class Short(Quartic):
    """One whose values to many digits are proved on short intervals only."""

    def model(self, centre: float, radius: float, nats: float, length: int, sharp: int) -> Jet:
        if nats > 20 and self.high - self.low > 0.005:
            raise NotProved("certified: too long")
        return super().model(centre, radius, nats, length, sharp)


def test_a_part_of_a_stretch_that_is_too_long_for_so_many_digits_becomes_its_own() -> None:
    """Regression: parts were halved on the stretch itself, and softplus on max-SLR at L = 2, nu = 3 was refused."""
    found = searching(Short, 12).over(0.25, 1.5, guess=0.9)
    least = searching(Quartic, 12).over(0.25, 1.5, guess=0.9).value
    assert found.value.overlaps(least)
    assert float(found.value.rad()) < 1e-11


@pytest.mark.parametrize("interval", [(-1.5, 1.5), (0.25, 1.5), (-0.5, 3.0)])
def test_the_search_encloses_a_known_infimum(interval: tuple[float, float]) -> None:
    """Two minima, the lower of which is not where the guess is; inside and where one of them is cut off."""
    found = searching(Quartic, 15).over(*interval, guess=1.0)
    with mp.workdps(30):
        roots = [r.real for r in mp.polyroots([4, 0, -4, mp.mpf(3) / 10])]
        inside = [r for r in roots if interval[0] <= r <= interval[1]] + [mp.mpf(end) for end in interval]
        best = min(inside, key=lambda t: t**4 - 2 * t**2 + 3 * t / 10)
        least = best**4 - 2 * best**2 + 3 * best / 10
        with ctx.workprec(120):
            assert found.value.contains(arb(mp.nstr(least, 28)))
            assert float(found.value.rad()) < 1e-14
        assert any(low <= best <= high for low, high in found.places)


class Wide(Quartic):
    """One whose first models are too wide: by their last term, 0.55^n of n terms, and by sums e^6 times as wide as asked."""

    made: ClassVar[list[tuple[float, float]]] = []
    lengths: ClassVar[list[int]] = []

    def __init__(self, low: float, high: float) -> None:
        super().__init__(low, high)
        self.made.append((low, high))
        self.spare = 0.0

    def sharpen(self, nats: float) -> None:
        self.spare += nats

    def model(self, centre: float, radius: float, nats: float, length: int, sharp: int) -> Jet:
        self.lengths.append(length)
        own = super().model(centre, radius, nats + self.spare - 6, length, sharp)
        if nats > 9:
            return own
        last = arb_poly([0] * length + [arb(0, (arb("0.55") ** length / arb(radius) ** length).upper())])
        return own + own.like(last)


def test_a_first_model_that_is_too_wide_is_made_longer_and_of_sharper_sums() -> None:
    """Rather than that its interval is cut in two."""
    Wide.made.clear()
    found = searching(Wide, 10).over(0.5, 1.3, guess=0.95)
    assert found.value.overlaps(searching(Quartic, 10).over(0.5, 1.3, guess=0.95).value)
    assert max(Wide.lengths) > 11
    pieces = segments(0.5, 1.3, 0.95)
    assert set(pieces) <= set(Wide.made)
    assert not {half for low, high in pieces for half in ((low, (low + high) / 2), ((low + high) / 2, high))} & set(
        Wide.made
    )
