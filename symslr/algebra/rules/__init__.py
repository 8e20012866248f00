"""Named rewriting rules, one idea a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symslr.algebra.rules.asymptotics.convolution import Convolution as Convolution
    from symslr.algebra.rules.asymptotics.denominators import DropFromDenominator as DropFromDenominator
    from symslr.algebra.rules.asymptotics.expansion import Centre as Centre
    from symslr.algebra.rules.asymptotics.expansion import GaussianTaylor as GaussianTaylor
    from symslr.algebra.rules.asymptotics.expansion import ReadDensity as ReadDensity
    from symslr.algebra.rules.asymptotics.expansion import WriteDensity as WriteDensity
    from symslr.algebra.rules.asymptotics.geometric import GeometricSeries as GeometricSeries
    from symslr.algebra.rules.asymptotics.limit import TakeLimit as TakeLimit
    from symslr.algebra.rules.asymptotics.smoothing import SmoothingTaylor as SmoothingTaylor
    from symslr.algebra.rules.asymptotics.substitution import Substitute as Substitute
    from symslr.algebra.rules.asymptotics.transforms import GammaIntegral as GammaIntegral
    from symslr.algebra.rules.asymptotics.transforms import SechTransform as SechTransform
    from symslr.algebra.rules.asymptotics.transforms import TransformMoments as TransformMoments
    from symslr.algebra.rules.blocks.collect import CollectTerms as CollectTerms
    from symslr.algebra.rules.blocks.deltas import MarkedTerm as MarkedTerm
    from symslr.algebra.rules.blocks.deltas import SumOfDeltas as SumOfDeltas
    from symslr.algebra.rules.blocks.powers import CommonFactor as CommonFactor
    from symslr.algebra.rules.blocks.powers import DivideThrough as DivideThrough
    from symslr.algebra.rules.blocks.powers import LargestPower as LargestPower
    from symslr.algebra.rules.blocks.powers import PowersOf as PowersOf
    from symslr.algebra.rules.blocks.stacked import StackedBlocks as StackedBlocks
    from symslr.algebra.rules.blocks.sums import InterchangeSums as InterchangeSums
    from symslr.algebra.rules.blocks.sums import SumLinearity as SumLinearity
    from symslr.algebra.rules.calculus.at_place import PutInPlace as PutInPlace
    from symslr.algebra.rules.calculus.chain_rule import ChainRule as ChainRule
    from symslr.algebra.rules.calculus.differentiate import Differentiate as Differentiate
    from symslr.algebra.rules.calculus.differentiate import DifferentiateMean as DifferentiateMean
    from symslr.algebra.rules.calculus.odd_part import SlopeOfOddPart as SlopeOfOddPart
    from symslr.algebra.rules.calculus.solve_linear import SolveLinear as SolveLinear
    from symslr.algebra.rules.configurations.prior_average import AverageConfiguration as AverageConfiguration
    from symslr.algebra.rules.configurations.value_covariance import ValueCovariance as ValueCovariance
    from symslr.algebra.rules.gaussian.by_parts import GaussianByParts as GaussianByParts
    from symslr.algebra.rules.gaussian.cameron_martin import CameronMartin as CameronMartin
    from symslr.algebra.rules.gaussian.complete_square import CompleteSquare as CompleteSquare
    from symslr.algebra.rules.gaussian.gaussian_erf import GaussianErf as GaussianErf
    from symslr.algebra.rules.gaussian.gaussian_moments import GaussianMoments as GaussianMoments
    from symslr.algebra.rules.gaussian.heat import HeatEquation as HeatEquation
    from symslr.algebra.rules.gaussian.parity import Parity as Parity
    from symslr.algebra.rules.gaussian.projection import GaussianProjection as GaussianProjection
    from symslr.algebra.rules.gaussian.projection import WriteTokensOut as WriteTokensOut
    from symslr.algebra.rules.gaussian.rotation import RotateNoise as RotateNoise
    from symslr.algebra.rules.gaussian.rotation import TurnTowardsKey as TurnTowardsKey
    from symslr.algebra.rules.gaussian.sign_symmetry import FlipSigns as FlipSigns
    from symslr.algebra.rules.gaussian.sign_symmetry import OddMeans as OddMeans
    from symslr.algebra.rules.gaussian.stein import Stein as Stein
    from symslr.algebra.rules.inequalities.chernoff import ChernoffBound as ChernoffBound
    from symslr.algebra.rules.inequalities.monotone import ExponentialOfMinimum as ExponentialOfMinimum
    from symslr.algebra.rules.inequalities.monotone import HyperbolicCosine as HyperbolicCosine
    from symslr.algebra.rules.inequalities.positive_factor import PositiveFactor as PositiveFactor
    from symslr.algebra.rules.inequalities.series import SeriesComparison as SeriesComparison
    from symslr.algebra.rules.laplace.representation import LaplaceRepresentation as LaplaceRepresentation
    from symslr.algebra.rules.measure.absorb_weight import AbsorbWeight as AbsorbWeight
    from symslr.algebra.rules.measure.average_values import AverageValues as AverageValues
    from symslr.algebra.rules.measure.bayes_rule import BayesRule as BayesRule
    from symslr.algebra.rules.measure.change_of_measure import ChangeOfMeasure as ChangeOfMeasure
    from symslr.algebra.rules.measure.conditioning import Conditioning as Conditioning
    from symslr.algebra.rules.measure.independence import Independence as Independence
    from symslr.algebra.rules.measure.likelihood_ratio import LikelihoodRatio as LikelihoodRatio
    from symslr.algebra.rules.measure.linearity import Linearity as Linearity
    from symslr.algebra.rules.measure.mean_one import MeanOne as MeanOne
    from symslr.algebra.rules.measure.nishimori import Nishimori as Nishimori
    from symslr.algebra.rules.measure.reweight import Reweight as Reweight
    from symslr.algebra.rules.measure.selected_mean import SelectedMean as SelectedMean
    from symslr.algebra.rules.measure.selection import Selection as Selection
    from symslr.algebra.rules.measure.variance import SplitVariance as SplitVariance
    from symslr.algebra.rules.minima.at_minimiser import EvaluateTermwise as EvaluateTermwise
    from symslr.algebra.rules.minima.envelope import Envelope as Envelope
    from symslr.algebra.rules.minima.given_sum import MinimiseAtGivenSum as MinimiseAtGivenSum
    from symslr.algebra.rules.minima.minimise import Minimise as Minimise
    from symslr.algebra.rules.rewriting.abbreviate import Abbreviate as Abbreviate
    from symslr.algebra.rules.rewriting.collect import Collect as Collect
    from symslr.algebra.rules.rewriting.key_scale import KeyScale as KeyScale
    from symslr.algebra.rules.rewriting.logarithm import ExpandLogarithm as ExpandLogarithm
    from symslr.algebra.rules.rewriting.simplify import Algebra as Algebra
    from symslr.algebra.rules.rewriting.split_square import SplitSquare as SplitSquare
    from symslr.algebra.rules.rewriting.unfold import Unfold as Unfold
    from symslr.algebra.rules.signs.events import Complement as Complement
    from symslr.algebra.rules.signs.events import PowersOfIndicators as PowersOfIndicators
    from symslr.algebra.rules.signs.events import VanishingSum as VanishingSum
    from symslr.algebra.rules.signs.independence import ExponentialOfSum as ExponentialOfSum
    from symslr.algebra.rules.signs.independence import IndependentSigns as IndependentSigns
    from symslr.algebra.rules.signs.independence import IndependentVectors as IndependentVectors
    from symslr.algebra.rules.signs.law import SumOfSigns as SumOfSigns
    from symslr.algebra.rules.symmetry.exchangeability import Exchangeability as Exchangeability
    from symslr.algebra.rules.symmetry.hidden_index import AverageHiddenIndex as AverageHiddenIndex
    from symslr.algebra.rules.symmetry.hidden_index import PickToken as PickToken
    from symslr.algebra.rules.symmetry.largest import ConditionOnMaximum as ConditionOnMaximum
    from symslr.algebra.rules.symmetry.one_is_largest import OneIsLargest as OneIsLargest
    from symslr.algebra.rules.symmetry.symmetric_factors import SymmetricFactors as SymmetricFactors
else:
    from symslr.lazily import handed_on

    __getattr__, __dir__, __all__ = handed_on(__name__, __file__)
