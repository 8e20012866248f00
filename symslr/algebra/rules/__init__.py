"""Named rewriting rules, one idea a file."""

from symslr.algebra.rules.cameron_martin import CameronMartin as CameronMartin
from symslr.algebra.rules.change_of_measure import ChangeOfMeasure as ChangeOfMeasure
from symslr.algebra.rules.conditioning import Conditioning as Conditioning
from symslr.algebra.rules.exchangeability import Exchangeability as Exchangeability
from symslr.algebra.rules.gaussian_erf import GaussianErf as GaussianErf
from symslr.algebra.rules.gaussian_moments import GaussianMoments as GaussianMoments
from symslr.algebra.rules.hidden_index import AverageHiddenIndex as AverageHiddenIndex
from symslr.algebra.rules.hidden_index import PickToken as PickToken
from symslr.algebra.rules.independence import Independence as Independence
from symslr.algebra.rules.laplace import LaplaceRepresentation as LaplaceRepresentation
from symslr.algebra.rules.likelihood_ratio import LikelihoodRatio as LikelihoodRatio
from symslr.algebra.rules.limit import TakeLimit as TakeLimit
from symslr.algebra.rules.linearity import Linearity as Linearity
from symslr.algebra.rules.minimise import Minimise as Minimise
from symslr.algebra.rules.nishimori import Nishimori as Nishimori
from symslr.algebra.rules.ratio_condition import RatioCondition as RatioCondition
from symslr.algebra.rules.reweight import Reweight as Reweight
from symslr.algebra.rules.selection import Selection as Selection
from symslr.algebra.rules.simplify import Algebra as Algebra
from symslr.algebra.rules.stein import Stein as Stein
from symslr.algebra.rules.symmetric_factors import SymmetricFactors as SymmetricFactors
from symslr.algebra.rules.unfold import Unfold as Unfold
