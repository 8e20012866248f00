"""From one neuron's signs to m neurons, and Hoeffding's bound."""

from symslr.algebra.derivation import Derivation
from symslr.theory.separation import firing, hoeffding, network


def derive_firing() -> Derivation:
    return firing.firing_derivation()


def derive_network() -> Derivation:
    chain = network.network_derivation()
    idle, useful, neurons = network.idle, network.useful, network.m
    return chain.claim((useful + idle) ** neurons - idle**neurons, "symslr, neurons are independent")


def derive_moment() -> Derivation:
    return hoeffding.moment_derivation()


def derive_exponent() -> Derivation:
    return hoeffding.exponent_derivation()
