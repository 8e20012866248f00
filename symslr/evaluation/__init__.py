"""Numbers: one interface, several backends, errors that are true."""

from symslr.evaluation.engine import evaluate as evaluate
from symslr.evaluation.errors import CannotEvaluate as CannotEvaluate
from symslr.evaluation.minima.at_scale import risk_at as risk_at
from symslr.evaluation.minima.least import least_risk as least_risk
from symslr.evaluation.minima.minimise import minimise as minimise
from symslr.expression.value import Kind as Kind
from symslr.expression.value import Value as Value
