"""Steps of one-token tables: of a token's key, and of log u."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.laplace import LEAST
from symslr.evaluation.location.tables.panels import PANELS, Panels

STEEPEST = 0.28
"""The slope of log w, or of log kappa, times the step of a token's key stays below."""
WIDER = {2: (1.6, STEEPEST), 3: (2.6, 2 * STEEPEST)}
"""By the number of directions, how much wider steps are where weights are not steep, and that bound on them."""
GRIDS = ((0.085, 1 / 19), (0.1, 1 / 16))
"""Steps of two rules, whose difference is the error, the finer first."""


@dataclass(frozen=True)
class Rule:
    """Steps of a table, and what it leaves out.

    Attributes:
        key, load: steps of a token's key, and of log u.
        steepest: the scale of an attention times the step of the key stays below.
        least: the mass that is left out.
        panels: of a token's key along one direction, for a kernel under a normaliser.
    """

    key: float
    load: float
    steepest: float = STEEPEST
    least: float = LEAST
    panels: Panels = PANELS[0]

    def step(self, slope: float) -> float:
        """The step of a key for an attention of this scale."""
        return self.key / max(1.0, slope * self.key / self.steepest)

    def finer(self, factor: float) -> Rule:
        """The same with so many times more nodes of a key."""
        return replace(self, key=self.key / factor, steepest=self.steepest / factor)


SEARCH = Rule(0.3, 1 / 3, 2 * STEEPEST, 1e-10, PANELS[2])
"""While a minimum is searched."""


def has_grid(setting: Setting) -> bool:
    """Whether a token's key has so few directions that a rule over them is quick."""
    return setting.directions <= max(WIDER)


def rules(setting: Setting) -> tuple[Rule, Rule, Rule]:
    """A fine and a coarse rule, and one for a search.

    Their errors fall as exp(-pi^2/(sqrt(nu) |theta| step)) and faster.
    """
    slope = np.sqrt(setting.strength * float(np.max(setting.norms)))
    wider, steepest = WIDER.get(setting.directions, (1.0, STEEPEST))
    finer = max(1.0, slope * wider * GRIDS[1][0] / steepest) / wider
    fine, coarse = (
        Rule(key / finer, load, STEEPEST * key / GRIDS[0][0], panels=panels)
        for (key, load), panels in zip(GRIDS, PANELS)
    )
    return fine, coarse, SEARCH
