"""From the network and its random signs to the exact probability of separation, and Hoeffding's bound."""

from collections.abc import Iterator

from sympy import exp

from symslr.algebra.derivation import Derivation
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, b
from symslr.theory.separation import firing, hoeffding, network

KERNELS = {"softmax": SOFTMAX_KERNEL, "linear": LINEAR_KERNEL}

PREACTIVATION = (
    r"The network. $F=\mathrm{relu}\sum_{i}\sum_{h}\mathrm{relu}(\langle (fA)_i,w^{(h)}\rangle-\tau)$ sums over"
    r" the $n$ rows and over $m$ neurons, with $w^{(h)}$ uniform in $\{-1,1\}^d$ and $\tau=(c+\gamma)\sqrt{\log n}$,"
    r" $\gamma=0.1$ in the source. The preactivation of a neuron at row $i$ is a combination of five numbers: $w_1$, the sign of"
    r" the row's class, that of the marked class, the sum of all class signs and $w_d$."
)
FIRING = (
    r"A network of one data matrix. Its terms are nonnegative, so it is $0$ where no neuron fires on any row. Rows of"
    r" one class depend on the same signs, and so do the marked row and its siblings; the other classes enter by the"
    r" number $s$ of plus signs among them. The mean over all $2^d$ sign vectors is a sum over three signs and $s$: an"
    r" exact rational. A power $0$ of an indicator is $1$: there are no siblings at $t=1$."
)
NETWORK = (
    r"Separation asks for $F>0$ on $D_1$ and $F=0$ on $D_0$ for softmax, and $F=0$ on both for linear attention"
    r" with the same weights. A neuron is bad if it fires where it must not, and useful if it fires for softmax on"
    r" $D_1$ and is not bad. The result is $(1-P_{\mathrm{bad}})^m-(1-P_{\mathrm{bad\ or\ useful}})^m$: the probability"
    r" that no neuron is bad, less that all are idle. The number $n/t$ of classes is an integer, and $j_3\le n$."
)
IDLE = r"Both means are finite sums over the signs on which a preactivation depends."
BOUND = (
    r"A bound as in the paper, for the sum of the $N$ other signs; each step is an inequality in the direction shown. With"
    r" $\varphi\approx t/n$ and $y\approx\gamma$ the bound is $e^{-\gamma^2D/(2b^2)}$ for $D=n/t$ classes, so"
    r" $D\ge(2b^2/\gamma^2)\log(m/\delta)$ classes keep $m$ neurons silent with probability $1-\delta$."
)


def derive_preactivations() -> Iterator[Derivation]:
    for name, kernel in KERNELS.items():
        chain = firing.preactivation_derivation(kernel)
        yield chain.named(introduction=PREACTIVATION if name == "softmax" else "")


def derive_firing() -> Iterator[Derivation]:
    for name, kernel in KERNELS.items():
        yield firing.firing_derivation(kernel).named(introduction=FIRING if name == "softmax" else "")


def derive_network() -> Derivation:
    chain = network.network_derivation().named(introduction=NETWORK)
    not_bad, idle = network.idle_probabilities()
    return chain.claim(not_bad**network.m - idle**network.m, "symslr, neurons are independent", label="own")


def derive_idle() -> Iterator[Derivation]:
    yield network.idle_derivation(False).named(introduction=IDLE)
    yield network.idle_derivation(True)


def derive_hoeffding() -> Derivation:
    chain = hoeffding.hoeffding_derivation().named(introduction=BOUND)
    scale = b * hoeffding.other_share
    bound = exp(-(hoeffding.excess**2) / (2 * hoeffding.others * scale**2))
    return chain.claim(bound, "hoeffding1963, Theorem 2", label="published")
