"""The quantities of the theory, built from the model by algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symslr.theory.asymptotics import strong_signal as strong_signal
    from symslr.theory.asymptotics import strong_signal_linear as strong_signal_linear
    from symslr.theory.bayes import bayes_risk as bayes_risk
    from symslr.theory.landscape import landscape_risk as landscape_risk
    from symslr.theory.located_attention import optimal_attention as optimal_attention
    from symslr.theory.population import minimal_risk as minimal_risk
    from symslr.theory.population import population_risk as population_risk
else:
    from symslr.lazily import handed_on

    __getattr__, __dir__, __all__ = handed_on(__name__, __file__)
