"""Second moments of an attention and of the read-out: the risk at the best value vectors is a least-squares residual.

With C = C_v, risk - Delta^2 = E r^T C r - b^T G^{-1} b, b_h = E[r^T C sigma_h], G_hk = E[sigma_h^T C sigma_k].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sympy import exp

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import laplace, largest
from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.bayes import PRECISE, STEEPEST, Part, bayes_part, by_grids, has_grid, positions
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


@dataclass(frozen=True)
class Evaluator:
    """The risk of an attention in a setting, above Delta^2, by the best route that there is.

    Attributes:
        attend: the attention on the sequences of the setting.
        seconds: processor time of one value that is sampled.
    """

    attend: Attend
    seconds: float

    @property
    def setting(self) -> Setting:
        return self.attend.setting

    @property
    def is_tabled(self) -> bool:
        """Whether one-token tables give the moments."""
        attend, setting = self.attend, self.setting
        attention = attend.attention
        filtered = attention.filter is not None and not (attention.filter == "matched" and setting.are_keys_independent)
        if attend.is_selection or filtered or not (setting.are_keys_independent and has_grid(setting)):
            return False
        assert isinstance(attention.base, Attention)
        if attention.heads > 1 and not attention.is_joint:
            return False
        if not setting.are_values_independent and not self._has_common_values:
            return False
        if not attention.base.is_normalised:
            return attend.bias is None
        one = isinstance(setting.task.location, OnePosition)
        return one or (setting.is_uniform and attend.bias is None)

    @cached_property
    def largest(self) -> largest.LargestKeys:
        return largest.LargestKeys(self.attend)

    @property
    def place_error(self) -> float:
        """How far, relative to 1 + its size, the place of a least risk may be off that a search found."""
        small = dimensions(self.setting) < MOST_DIMENSIONS and not self.attend.is_selection
        return 1e-4 if self.is_tabled or small else 0.03

    @property
    def _has_common_values(self) -> bool:
        """Whether values have one correlation, and attentions sum to 1 as the read-out does."""
        covariance, base = self.setting.task.value_covariance, self.attend.attention.base
        sums = isinstance(base, Attention) and base.is_normalised and base.offset == 0
        common = covariance is not None and isinstance(covariance.structure, Equicorrelated)
        return common and sums and not isinstance(self.setting.task.location, Independent)

    def search(self, place: Place) -> float:
        """The risk for a search: quick, and smooth in the place."""
        if self.is_tabled:
            return self._tabled(place, *SEARCH)
        if self.largest.is_possible:
            return self.largest.search(place)
        total: Any = 0.0
        for scores, mass, mean in self._fixed:
            total = total + self._products(scores, mass, mean, place)
        return self._residual(total)

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

    def value(self, place: Place) -> Part:
        """The risk with its error."""
        if self.is_tabled:
            found = by_grids(lambda step, load: self._tabled(place, step, load), self.setting)
            return Part(*found, Kind.ESTIMATED, "one-token tables in float64")
        if self.largest.is_possible:
            drawn = self.largest.means(place, PRECISE, self.seconds)
            return Part(*drawn.number(largest.risk), drawn.kind, drawn.method)
        means = self._means(place)
        excess, error = means.number(self._residual)
        best = bayes_part(self.setting, self.seconds)
        kind = Kind.STATISTICAL if Kind.STATISTICAL in (means.kind, best.kind) else Kind.ESTIMATED
        return Part(
            float(best.value) + excess,
            float(best.error) + error,
            kind,
            f"Bayes risk by {best.method}; excess by {means.method}",
        )

    def _means(self, place: Place) -> Means:
        """Means of all products of (a, sigma_1, ...) by quadrature or samples."""
        left = posterior(self.setting)

        def integrand(keys: Any, mass: Any) -> Any:
            return self._products(self.attend.filtered(keys), mass, left(keys)[0], place)

        if self.is_gridded:
            means = quadrature(self.setting, integrand, self.is_alike)
            if means.number(self._residual)[1] < PRECISE:
                return means
        sample = partial(sampled, self.setting, integrand, alike=self.is_alike)
        return refined(sample, self._residual, PRECISE, self.seconds)

    @staticmethod
    def _residual(row: Any) -> float:
        """E a^T C a - b^T G^{-1} b from the matrix of all products, the first of which are those of the posterior mean."""
        size = round(np.sqrt(len(row)))
        products = row.reshape(size, size)
        products = (products + products.T) / 2
        gram, cross = products[1:, 1:], products[0, 1:]
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        solved = np.linalg.lstsq(gram / np.outer(scale, scale), cross / scale, rcond=1e-12)[0]
        return float(products[0, 0] - cross / scale @ solved)

    def _tabled(self, place: Place, step: float, load: float, least: float = laplace.LEAST) -> float:
        setting = self.setting
        steepest = STEEPEST if least == laplace.LEAST else 2 * STEEPEST
        found = nodes(setting, step / max(1.0, float(np.max(np.abs(place.scales))) * step / steepest), least)
        base = self.attend.attention.base
        assert isinstance(base, Attention)
        if not base.is_normalised:
            return self._elementwise(found, place)
        log_kernel = self._log_kernel(found.keys, place)
        offset = float(base.offset)
        if isinstance(setting.task.location, OnePosition):
            leans = self.attend.bias
            moments = laplace.one_position(found, log_kernel, positions(setting, leans), offset, load, least)
            return self._common(1.0, moments.hit, moments.norm)
        if isinstance(setting.task.location, Independent):
            share = float(setting.coins[0])
            moments = laplace.coins(found, log_kernel, share, setting.length, offset, load, least)
            return share * setting.length - (setting.length * moments.hit) ** 2 / moments.norm
        moments = laplace.exchangeable(found, log_kernel, setting.size, setting.length, offset, load, least)
        return self._common(1 / setting.size, moments.hit, moments.norm)

    def _common(self, own: float, hit: float, norm: float) -> float:
        """own - hit^2/norm, or the same with values of one correlation, where all that is common is known."""
        covariance = self.setting.task.value_covariance
        if covariance is None:
            return own - hit**2 / norm
        found = covariance.structure
        assert isinstance(found, Equicorrelated)
        variance, rho = float(found.variance), float(found.correlation)
        own, hit, norm = ((1 - rho) * part + rho for part in (own, hit, norm))
        return variance * (own - hit**2 / norm)

    def _log_kernel(self, keys: Any, place: Place) -> Any:
        """log sum_h c_h kappa(a_h.x) on tokens."""
        seen = keys @ place.scales.T
        base = self.attend.attention.base
        assert isinstance(base, Attention)
        if base.kernel == exp(x):
            logs = seen + place.weights + place.bias
            return np.logaddexp.reduce(logs, axis=1)
        return log_of(lambda s: self.attend.kernel(s, *place.own) @ np.exp(place.weights + place.bias), seen)

    def _elementwise(self, found: Nodes, place: Place) -> float:
        setting = self.setting
        values = self.attend.kernel(found.keys @ place.scales.T + place.bias, *place.own)[:, 0]
        if not np.all(np.isfinite(values)):
            raise CannotEvaluate(f"attention {self.attend.attention.name}: overflows in float64 at this scale")
        theirs, ours = (float(mass @ values**2) for mass in (found.others, found.relevant))
        hit = float(found.relevant @ values)
        if isinstance(setting.task.location, Independent):
            count = float(np.sum(setting.coins))
            return count - (count * hit) ** 2 / (count * ours + (setting.length - count) * theirs)
        size = setting.size
        return 1 / size - hit**2 / (size * ours + (setting.length - size) * theirs)
