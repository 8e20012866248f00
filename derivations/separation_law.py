"""From one neuron's signs to m neurons, and Hoeffding's bound."""

from dataclasses import replace

from symslr.algebra.derivation import Derivation
from symslr.theory.separation import firing, hoeffding, network

NEURON = (
    r"The network. $F=\mathrm{relu}\sum_{\text{rows}}\sum_{\text{neurons}}\mathrm{relu}(\langle"
    r" (fA)_i,w\rangle-\tau)$ with $w$ uniform in $\{-1,1\}^d$ and $\tau=(c+\kappa)\sqrt{\log n}$, $\kappa=0.1$ in"
    r" the source. A row puts out $a\,p$, $b\,\mu$ for its own class, $b\,\nu$ for each other class and $c$, so the"
    r" average over all $2^d$ sign vectors is a sum over three signs and the number $s$ of plus signs among the"
    r" other classes: an exact rational. On a data set a neuron fires if it fires on one of three kinds of row,"
    r" which look at the same three signs and the same $s$."
)
NETWORK = (
    r"Separation asks for $F>0$ on $D_1$ and $F=0$ on $D_0$ for softmax, and $F=0$ on both for linear attention"
    r" with the same weights. A neuron is bad if it fires where it must not; useful, with probability $g$, if it"
    r" fires for softmax on $D_1$ and is not bad; idle, with probability $r$, otherwise. With"
    r" $g+r=1-P_{\mathrm{bad}}$ the sum over the number of useful neurons is"
    r" $(1-P_{\mathrm{bad}})^m-(1-P_{\mathrm{bad}}-g)^m$."
)
MOMENT = (
    r"The bound of the paper's kind. For $y>0$ and $\lambda>0$, $\mathbb{P}(b\nu\sum w>y)\le e^{-\lambda"
    r" y}\,\mathbb{E}\,e^{\lambda b\nu\sum w}$, and this moment is at most $e^{N(\lambda b\nu)^2/2}$ because $\cosh"
    r" x\le e^{x^2/2}$: compare the Taylor series term by term, $(2k)!\ge 2^kk!$."
)
EXPONENT = (
    r"The best $\lambda$. With $\nu\approx t/n$ and $y\approx\kappa$ the bound is $e^{-\kappa^2D/(2b^2)}$ for"
    r" $D=n/t$ classes, so $D\ge(2b^2/\kappa^2)\log(m/\delta)$ classes keep $m$ neurons silent with probability"
    r" $1-\delta$."
)


def derive_firing() -> Derivation:
    return replace(firing.firing_derivation(), introduction=NEURON)


def derive_network() -> Derivation:
    chain = replace(network.network_derivation(), introduction=NETWORK)
    idle, useful, neurons = network.idle, network.useful, network.m
    return chain.claim((useful + idle) ** neurons - idle**neurons, "symslr, neurons are independent")


def derive_moment() -> Derivation:
    return replace(hoeffding.moment_derivation(), introduction=MOMENT)


def derive_exponent() -> Derivation:
    return replace(hoeffding.exponent_derivation(), introduction=EXPONENT)
