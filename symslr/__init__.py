"""symslr: derive, evaluate, check and typeset the theory of attention.

>>> from symslr import SpikedSLR, bayes_risk, evaluate
>>> value = evaluate(bayes_risk(SpikedSLR()), {"L": 3, "nu": 2, "Delta": 0}, digits=12)
>>> print(value.as_json()["value"][:14])
0.352423268884

Names load when first used, so that ``import symslr`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from symslr import symbols as symbols
    from symslr.algebra import rules as rules
    from symslr.algebra.derivation import Derivation as Derivation
    from symslr.check.check import check_derivation as check_derivation
    from symslr.evaluation import Value as Value
    from symslr.evaluation import minimise as minimise
    from symslr.face.curve import Curve as Curve
    from symslr.face.landscape import landscape as landscape
    from symslr.face.landscape import landscape_risk as landscape_risk
    from symslr.face.measured import measured as measured
    from symslr.face.quantity import Quantity as Quantity
    from symslr.face.quantity import evaluate as evaluate
    from symslr.face.samples import bayes_optimal as bayes_optimal
    from symslr.face.samples import fitted as fitted
    from symslr.face.samples import fitted_branches as fitted_branches
    from symslr.face.samples import message_passing as message_passing
    from symslr.face.samples import sample as sample
    from symslr.face.samples import simulate_fit as simulate_fit
    from symslr.face.separation import separation as separation
    from symslr.face.sequence import SequenceModel as SequenceModel
    from symslr.face.sources import cite as cite
    from symslr.face.tasks import bayes_risk as bayes_risk
    from symslr.face.tasks import least_risk as least_risk
    from symslr.face.tasks import moments as moments
    from symslr.face.tasks import population_risk as population_risk
    from symslr.face.tasks import posterior as posterior
    from symslr.model.attention import Attention as Attention
    from symslr.model.catalogue import MaxSLR as MaxSLR
    from symslr.model.catalogue import SpikedSLR as SpikedSLR
    from symslr.model.catalogue import erf as erf
    from symslr.model.catalogue import linear as linear
    from symslr.model.catalogue import softmax as softmax
    from symslr.model.catalogue import softmax1 as softmax1
    from symslr.model.catalogue import softplus as softplus
    from symslr.model.scalar_law import ScalarLaw as ScalarLaw
    from symslr.model.scalar_law import laplace as laplace
    from symslr.model.scalar_law import normal as normal
    from symslr.model.scalar_law import student as student
    from symslr.model.task import Task as Task
    from symslr.study.from_file import run_study as run_study
    from symslr.theory import minimal_risk as minimal_risk
    from symslr.theory import optimal_attention as optimal_attention
else:
    from symslr.lazily import handed_on

    __getattr__, __dir__, __all__ = handed_on(__name__, __file__)
