"""Numbers: one interface, several backends, errors that are true."""

from symslr.evaluate.engine import evaluate as evaluate
from symslr.evaluate.engine import minimise as minimise
from symslr.evaluate.errors import CannotEvaluate as CannotEvaluate
from symslr.evaluate.value import Kind as Kind
from symslr.evaluate.value import Value as Value
