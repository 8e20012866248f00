"""The landscape: the risk and its gradient in all seven order parameters, its minima and gradient flow, in float64."""

from symslr.evaluation.landscape.flow import Flow as Flow
from symslr.evaluation.landscape.flow import basin as basin
from symslr.evaluation.landscape.flow import gradient_flow as gradient_flow
from symslr.evaluation.landscape.flow import time_to_risk as time_to_risk
from symslr.evaluation.landscape.landscape import Confirmed as Confirmed
from symslr.evaluation.landscape.landscape import Landscape as Landscape
from symslr.evaluation.landscape.minima import LocalMinimum as LocalMinimum
from symslr.evaluation.landscape.minima import both_minima as both_minima
from symslr.evaluation.landscape.minima import descend as descend
from symslr.evaluation.landscape.order import NAMES as NAMES
from symslr.evaluation.landscape.order import OrderParameters as OrderParameters
