"""An independent second opinion: numbers for any expression node from the definitions alone, by no rule and no evaluator."""

from symslr.referee.referee import referee as referee
