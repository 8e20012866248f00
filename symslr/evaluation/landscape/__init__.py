"""Numbers on the landscape: the risk and its gradient in all seven order parameters, in float64 and fast."""

from symslr.evaluation.landscape.landscape import Landscape as Landscape
from symslr.evaluation.landscape.order import NAMES as NAMES
from symslr.evaluation.landscape.order import OrderParameters as OrderParameters
