"""Second moments of an attention and of the read-out: the risk at the best value vectors is a least-squares residual.

With C = C_v, risk - Delta^2 = E r^T C r - b^T G^{-1} b, b_h = E[r^T C sigma_h], G_hk = E[sigma_h^T C sigma_k]. Moments are
means, so that those of a law of the length are mixtures; they are kept as one row, the matrix of all products of (r, sigma_1, ...).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sympy import exp

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import chain_attention, laplace, largest
from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.bayes import (
    PRECISE,
    STEEPEST,
    Part,
    bayes_part,
    has_grid,
    on_grids,
    positions,
)
from symslr.evaluation.location.chain_attention import Along
from symslr.evaluation.location.points import (
    MOST_DIMENSIONS,
    Means,
    Sampler,
    dimensions,
    gridded,
    quadrature,
    refined,
    sampled,
    strata,
)
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tokens import Nodes, log_of, nodes
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.where import Independent, OnePosition
from symslr.model.symbols import x

SEARCHED, FEWEST = 2**13, 2**9
"""Points while a minimum is searched: of all hidden configurations together, and of each."""
FEW_STRATA = 4
"""Hidden configurations up to which a rule over four keys is quick."""
SEARCH_GRID = 0.6
"""Step of a trapezoid rule meanwhile."""
SEARCH = (0.3, 1 / 3, 1e-10)
"""Steps of a token's key and of log u, and the mass left out, of a table while a minimum is searched."""
ROUNDING = 2.3e-16
"""Of every position along a chain."""
SHARED = ((0.5, 0.6), (0.57, 0.68), (0.8, 1.2))
"""Steps of what all keys share, in its standard deviations and times the slope of log kappa: of two rules, and of a search.

Errors fall as exp(-2 pi^2/step), as a kernel's poles are pi over its slope away.
"""
SHARED_REACH = 8.6
NOTHING = Part(0.0, 0.0, Kind.ESTIMATED, "")


def residual(row: Any) -> float:
    """E r^T C r - b^T G^{-1} b from the matrix of all products, the first of which are those of the read-out."""
    size = round(np.sqrt(len(row)))
    products = row.reshape(size, size)
    products = (products + products.T) / 2
    gram, cross = products[1:, 1:], products[0, 1:]
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    solved = np.linalg.lstsq(gram / np.outer(scale, scale), cross / scale, rcond=1e-12)[0]
    return float(products[0, 0] - cross / scale @ solved)


@dataclass(frozen=True)
class Moments:
    """The moments of an attention in a setting, by the best route that there is.

    Attributes:
        attend: the attention on the sequences of the setting.
        seconds: processor time of one value that is sampled.
    """

    attend: Attend
    seconds: float

    @property
    def setting(self) -> Setting:
        return self.attend.setting

    @cached_property
    def _has_one_kernel(self) -> bool:
        """Whether the weights are kernels of single keys, under one normaliser or none."""
        attention = self.attend.attention
        filtered = attention.filter is not None and not (
            attention.filter == "matched" and self.setting.are_keys_independent
        )
        return not (self.attend.is_selection or filtered) and (attention.heads == 1 or attention.is_joint)

    @cached_property
    def is_tabled(self) -> bool:
        """Whether one-token tables give the moments."""
        return self.setting.are_keys_independent and self._is_tabled_given(self.setting)

    def _is_tabled_given(self, setting: Setting) -> bool:
        """The same in a setting with independent keys."""
        if not (self._has_one_kernel and has_grid(setting)):
            return False
        if not setting.are_values_independent and not self._has_common_values:
            return False
        base = self.attend.attention.base
        assert isinstance(base, Attention)
        if not base.is_normalised:
            return self.attend.bias is None
        one = isinstance(setting.task.location, OnePosition)
        return one or (setting.is_uniform and self.attend.bias is None)

    @cached_property
    def is_along(self) -> bool:
        """Whether a transfer operator along a chain of keys gives the moments."""
        return self._has_one_kernel and Along.reaches(self.setting, self.attend.bias is None)

    @cached_property
    def shared(self) -> tuple[Setting, float, float] | None:
        """The setting given the part that all keys share, in units of a key's own deviation, that, and the part's in it.

        None where keys are not of one positive correlation, or the moments have no table given that part.
        """
        task = self.setting.task
        found = None if task.key_covariance is None else task.key_covariance.structure
        if not isinstance(found, Equicorrelated) or found.correlation <= 0 or self.setting.directions > 1:
            return None
        setting = Setting.of(replace(task, key_covariance=None, strength=task.strength / found.own_variance))
        deviation = float(found.correlation / (1 - found.correlation)) ** 0.5
        unit = float(found.own_variance) ** 0.5
        return (setting, unit, deviation) if self._is_tabled_given(setting) else None

    @property
    def is_exact(self) -> bool:
        """Whether the moments are integrals over one token, whatever the length."""
        return self.is_tabled or self.is_along or self.shared is not None

    @cached_property
    def largest(self) -> largest.LargestKeys:
        return largest.LargestKeys(self.attend)

    @property
    def place_error(self) -> float:
        """How far, relative to 1 + its size, the place of a least risk may be off that a search found."""
        small = dimensions(self.setting) < MOST_DIMENSIONS and not self.attend.is_selection
        return 1e-4 if self.is_exact or small else 0.03

    @property
    def _has_common_values(self) -> bool:
        """Whether values have one correlation, and attentions sum to 1 as the read-out does."""
        covariance, base = self.setting.task.value_covariance, self.attend.attention.base
        sums = isinstance(base, Attention) and base.is_normalised and base.offset == 0
        common = covariance is not None and isinstance(covariance.structure, Equicorrelated)
        return common and sums and not isinstance(self.setting.task.location, Independent)

    def search(self, place: Place) -> Any:
        """The row for a search, up to a constant beside the read-out's own product: quick, and smooth in the place."""
        if self.is_tabled:
            return self._tabled(self.setting, place, *SEARCH)
        if self.is_along:
            return self._along(place).row(chain_attention.SEARCH)
        if self.shared is not None:
            return self._given_shared(place, SHARED[-1], SEARCH)
        if self.largest.is_possible:
            return self.largest.search(place)
        return sum(self._products(scores, mass, mean, place) for scores, mass, mean in self._fixed)

    def means(self, place: Place) -> tuple[Means, Part]:
        """The rows, and what is left of the risk beside them: nothing, or the Bayes risk where E[r | chi] stands for r."""
        if self.is_tabled:
            rows = on_grids(lambda step, load: self._tabled(self.setting, place, step, load), self.setting)
            return Means(np.array(rows), Kind.ESTIMATED, "one-token tables in float64"), NOTHING
        if self.is_along:
            along = self._along(place)
            rows = along.row(chain_attention.FINE), along.row(chain_attention.COARSE)
            rounding = 1e-15 + ROUNDING * self.setting.length
            return Means(
                np.array(rows), Kind.ESTIMATED, "transfer operator along the chain in float64", rounding
            ), NOTHING
        if self.shared is not None:
            rows = self._shared_rows(place)
            return Means(rows, Kind.ESTIMATED, "one-token tables given what keys share in float64"), NOTHING
        if self.largest.is_possible:
            return self.largest.means(place, PRECISE, self.seconds), NOTHING
        return self._sampled(place), bayes_part(self.setting, self.seconds)

    @cached_property
    def _fixed(self) -> list[tuple[Any, Any, Any]]:
        """Filtered keys (n, L, p), their masses and posterior means: the same for all places of a search."""
        setting, left = self.setting, posterior(self.setting)
        if self.is_gridded and dimensions(setting) < MOST_DIMENSIONS:
            batches = gridded(setting, SEARCH_GRID, self.is_alike)
        else:
            laid_out = strata(setting, self.is_alike)
            size = SEARCHED // (1 if laid_out is None else len(laid_out.shares)) // (1 if setting.length <= 64 else 8)
            batches = Sampler(setting, self.is_alike).batches(max(size, FEWEST), 0)
        found = []
        for keys, mass in batches:
            kept = mass > SEARCH[2] * np.max(mass)
            found.append((self.attend.filtered(keys[kept]), mass[kept], left(keys[kept])[0]))
        return found

    @property
    def is_alike(self) -> bool:
        """Whether the attention does not tell positions apart."""
        return self.attend.attention.bias in (None, "free") and self.attend.attention.filter is None

    @property
    def is_gridded(self) -> bool:
        found = strata(self.setting, self.is_alike)
        few = MOST_DIMENSIONS if found is not None and len(found.shares) <= FEW_STRATA else MOST_DIMENSIONS - 1
        return found is not None and dimensions(self.setting) <= few

    def _products(self, scores: Any, mass: Any, mean: Any, place: Place) -> Any:
        """Sums of the products of (a, sigma_1, ...) under C_v, as one row."""
        matrix = None if self.setting.are_values_independent else self.setting.value_matrix
        every = np.concatenate([mean[..., None], self.attend.weights(scores, place)], axis=2)
        other = every if matrix is None else np.einsum("lm,nmh->nlh", matrix, every)
        count = every.shape[2]
        return ((every * mass[:, None, None]).reshape(-1, count).T @ other.reshape(-1, count)).ravel()

    def _sampled(self, place: Place) -> Means:
        """Means of all products of (a, sigma_1, ...) by quadrature or samples."""
        left = posterior(self.setting)

        def integrand(keys: Any, mass: Any) -> Any:
            return self._products(self.attend.filtered(keys), mass, left(keys)[0], place)

        if self.is_gridded:
            means = quadrature(self.setting, integrand, self.is_alike)
            if means.number(residual)[1] < PRECISE:
                return means
        sample = partial(sampled, self.setting, integrand, alike=self.is_alike)
        return refined(sample, residual, PRECISE, self.seconds)

    def _along(self, place: Place) -> Along:
        base = self.attend.attention.base
        assert isinstance(base, Attention)
        slope = float(np.max(np.abs(place.scales)))

        def logs(keys: Any, bias: float) -> Any:
            return self._log_kernel(keys[:, None], place) + bias

        def elements(keys: Any, bias: float) -> Any:
            return self._elements(keys[:, None], place, bias)

        if base.is_normalised:
            return Along(self.setting, logs, self.attend.bias, float(base.offset), slope)
        return Along(self.setting, elements, self.attend.bias, None, slope)

    def _shared_rows(self, place: Place) -> Any:
        """By a fine and by a coarse rule."""
        assert self.shared is not None
        rules = on_grids(lambda step, load: (step, load), self.shared[0])
        return np.array([self._given_shared(place, steps, rule) for steps, rule in zip(SHARED, rules)])

    def _given_shared(
        self, place: Place, steps: tuple[float, float], rule: tuple[float, float] | tuple[float, float, float]
    ) -> Any:
        """Means over the part that all keys share, which shifts them."""
        assert self.shared is not None
        setting, unit, deviation = self.shared
        inner = replace(place, scales=unit * place.scales)
        step = min(steps[0], steps[1] / max(deviation * float(np.max(np.abs(inner.scales))), 1e-300))
        half = int(SHARED_REACH / step)
        at = step * np.arange(-half, half + 1)
        mass = np.exp(-(at**2) / 2) / np.sum(np.exp(-(at**2) / 2))
        return sum(m * self._tabled(setting, inner, *rule, shift=deviation * part) for m, part in zip(mass, at))

    def _tabled(
        self,
        setting: Setting,
        place: Place,
        step: float,
        load: float,
        least: float = laplace.LEAST,
        *,
        shift: float = 0.0,
    ) -> Any:
        """The row with independent keys, all of which are shifted before the attention."""
        steepest = STEEPEST if least == laplace.LEAST else 2 * STEEPEST
        found = nodes(setting, step / max(1.0, float(np.max(np.abs(place.scales))) * step / steepest), least)
        base = self.attend.attention.base
        assert isinstance(base, Attention)
        if not base.is_normalised:
            return self._elementwise(setting, found, self._elements(found.keys + shift, place, 0.0))
        log_kernel = self._log_kernel(found.keys + shift, place)
        offset = float(base.offset)
        if isinstance(setting.task.location, OnePosition):
            leans = self.attend.bias
            moments = laplace.one_position(found, log_kernel, positions(setting, leans), offset, load, least)
            return self._common(1.0, moments.hit, moments.norm)
        if isinstance(setting.task.location, Independent):
            share = float(setting.coins[0])
            moments = laplace.coins(found, log_kernel, share, setting.length, offset, load, least)
            return _row(share * setting.length, setting.length * moments.hit, moments.norm)
        moments = laplace.exchangeable(found, log_kernel, setting.size, setting.length, offset, load, least)
        return self._common(1 / setting.size, moments.hit, moments.norm)

    def _common(self, own: float, hit: float, norm: float) -> Any:
        """The row, or the same with values of one correlation, where all that is common is known."""
        covariance = self.setting.task.value_covariance
        if covariance is None:
            return _row(own, hit, norm)
        found = covariance.structure
        assert isinstance(found, Equicorrelated)
        variance, rho = float(found.variance), float(found.correlation)
        return variance * ((1 - rho) * _row(own, hit, norm) + rho)

    def _log_kernel(self, keys: Any, place: Place) -> Any:
        """log sum_h c_h kappa(a_h.x) on tokens."""
        seen = keys @ place.scales.T
        base = self.attend.attention.base
        assert isinstance(base, Attention)
        if base.kernel == exp(x):
            logs = seen + place.weights + place.bias
            return np.logaddexp.reduce(logs, axis=1)
        return log_of(lambda s: self.attend.kernel(s, *place.own) @ np.exp(place.weights + place.bias), seen)

    def _elements(self, keys: Any, place: Place, bias: float) -> Any:
        """kappa(a.x + b) on tokens, where nothing normalises."""
        values = self.attend.kernel(keys @ place.scales.T + (place.bias + bias), *place.own)[:, 0]
        if not np.all(np.isfinite(values)):
            raise CannotEvaluate(f"attention {self.attend.attention.name}: overflows in float64 at this scale")
        return values

    @staticmethod
    def _elementwise(setting: Setting, found: Nodes, values: Any) -> Any:
        theirs, ours = (float(mass @ values**2) for mass in (found.others, found.relevant))
        hit = float(found.relevant @ values)
        if isinstance(setting.task.location, Independent):
            count = float(np.sum(setting.coins))
            return _row(count, count * hit, count * ours + (setting.length - count) * theirs)
        size = setting.size
        return _row(1 / size, hit, size * ours + (setting.length - size) * theirs)


def _row(own: float, hit: float, norm: float) -> Any:
    return np.array([own, hit, hit, norm])
