"""Population risk of an attention with key along k*, at the best value vector, and its least value over the scale of the key."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, final

from sympy import Add, Basic, Expr, Integer, Mul, S, Sum, exp, sqrt
from sympy.printing.latex import LatexPrinter

from symslr.algebra.derivation import Derivation
from symslr.algebra.equal_forms import EqualForms
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import GaussianMoments, Linearity, Minimise, Unfold
from symslr.algebra.tokens import unfolded
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Minimum, Posterior
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import Quantity
from symslr.expression.special import NormalCdf
from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of, softmax
from symslr.model.exact import check_is
from symslr.model.exponential import exponential_slope
from symslr.model.float64 import uncancelled
from symslr.model.largest import IsLargest
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, L, a, epsilon, l, x
from symslr.model.task import Task
from symslr.theory.bayes import BayesRisk
from symslr.theory.closed_form import closed_form, in_closed_form
from symslr.theory.definitions import least_over_values, over_length, predictor, squared_loss


@cache
def population_chain(risk: PopulationRisk) -> Derivation:
    """From min over m_v, R_v of E_g (y - f(X))^2 to Delta^2 + 1 - E_g[sigma_eps]^2 / E_g[sum_l sigma_l^2]."""
    loss = Derivation(risk).apply(Unfold(PopulationRisk)).apply(Linearity()).apply(GaussianMoments())
    return loss.apply(Minimise()).apply(Minimise())


@cache
def least_chain(least: MinimalRisk) -> Derivation:
    """The stationary scale of an element-wise activation that is polynomial in the key.

    Raises:
        RuleRefused: where more than the scale is left to choose, the risk is not rational in it, or no stationary point is
            provably lowest.
    """
    if least.variables != (a,):
        raise RuleRefused(f"the minimum is over {', '.join(map(str, least.variables))}: expected the scale {a} alone")
    chain = Derivation(least).apply(Unfold(MinimalRisk)).apply(Unfold(PopulationRisk))
    chain = chain.apply(Linearity()).apply(GaussianMoments()).apply(Minimise()).apply(Minimise())
    return in_closed_form(chain).apply(Minimise())


@final
class PopulationRisk(Quantity):
    """E_sigma(a) = min over the value vector of E_g (y - f(X))^2, at key k = a k*.

    From it rules derive Delta^2 + 1 - (E sigma_eps)^2 / E||sigma||^2, where with a random length both expectations average
    over it. ``args = (sigma_epsilon, law, noise, length)``.

    Source: arXiv 2509.21936, section 4 (risk on the manifold).
    """

    source: ClassVar[str] = "duranthon2025, Sec. 4"

    @property
    def task(self) -> Task:
        """What it is the risk of an attention on."""
        _, law, noise, length = self.args
        return Task(law.weight, length, noise, law.base)

    @property
    def length(self) -> Expr:
        length = self.args[3]
        return length if isinstance(length, Expr) else L

    @property
    def attention(self) -> Attention:
        """The attention, without the name that it was given."""
        _, kernel, normalised, offset, _, _ = self.args[0].args
        return Attention(kernel, "sum" if normalised else None, offset, str(kernel), tokens=self.task.keys)

    @property
    def bound(self) -> frozenset[Basic]:
        """A length that is not left open is no symbol of the formula."""
        return BOUND_IN_SEQUENCE | ({L} - {self.args[3]})

    @property
    def loss(self) -> Expr:
        """E_g (y - f(X))^2, in the overlap m_v and the part R_v of the value vector."""
        activation, law, noise, length = self.args
        return over_length(squared_loss(predictor(activation), law, noise), length)

    def definition(self) -> Expr:
        """The loss at the best value vector."""
        return least_over_values(self.loss)

    def formula(self) -> Expr:
        """Delta^2 + 1 - (E sigma_eps)^2 / E||sigma||^2; for a normalised activation derived for any kernel at once."""
        activation, *rest = self.args
        if activation.args[2] == S.Zero:
            return population_chain(self).result
        found = population_chain(PopulationRisk(activation.with_kernel(OpenKernel(x)), *rest)).result
        closed = {node: node.with_kernel(activation.kernel) for node in found.atoms(Activation)}
        return found.xreplace(closed)

    def derivation(self) -> Derivation:
        return population_chain(self)

    def conditioned(self) -> Expr:
        """The variance form: Delta^2 + (Var sigma_eps + E sum_{l != eps} sigma_l^2)/E||sigma||^2.

        For a normalised activation the variance is taken of 1 - sigma_eps, which is a sum of positive terms and small
        where the risk is small; where sigma_eps is small itself, Delta^2 + 1 - E[sigma_eps]^2/E||sigma||^2 keeps the digits.
        That comes first under a selection law, of which E||sigma||^2 knows nothing: its tokens are iid.
        """
        activation, *rest = self.args
        if activation.args[2] == Integer(1):
            return self._in_variances()
        kernel = keeping_its_tail(activation.kernel)
        forms = dict.fromkeys(
            _kept_whole(PopulationRisk(activation.with_kernel(one), *rest)._in_variances(), one)
            for one in (kernel, _without_factor(kernel))
        )
        return EqualForms(*forms) if len(forms) > 1 else next(iter(forms))

    def _in_variances(self) -> Expr:
        """``conditioned``, whose expectations are not carried further."""
        activation, law, noise, _ = self.args
        normalised = activation.args[2] == Integer(1)
        miss = 1 - activation if normalised else activation
        risk = noise**2 + (self._mean(miss**2) - self._mean(miss) ** 2 + self._others) / self.square
        if not normalised:
            return risk
        direct = noise**2 + 1 - self.hit**2 / self.square
        return EqualForms(*((direct, risk) if law.is_selection else (risk, direct)))

    @property
    def hit(self) -> Expr:
        """E_g sigma_epsilon, the weight of the relevant token."""
        return self._mean(self.args[0])

    @property
    def square(self) -> Expr:
        """E_g ||sigma||^2."""
        activation, law, _, length = self.args
        if law.is_selection:
            return over_length(SequenceExpectation(_squares(activation), law.unweighted()), length)
        return self._others + self._mean(activation**2)

    @property
    def _others(self) -> Expr:
        return self._mean(_squares(self.args[0]) - self.args[0] ** 2)

    def _mean(self, body: Expr) -> Expr:
        return over_length(SequenceExpectation(body, self.args[1]), self.args[3])

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\sigma}"

    def _sympystr(self, printer: object) -> str:
        return "PopulationRisk"


def _squares(activation: Activation) -> Expr:
    return Sum(activation.at(l) ** 2, (l, 1, L))


@final
class MinimalRisk(Quantity):
    """E_sigma = min over the key's scale a (and the kernel's own parameters) of the population risk.

    ``args = (sigma_epsilon, law, noise, length, *variables)``. The parts of k and v outside span(k*, v*) only hurt, and
    so does any overlap off the manifold (arXiv 2509.21936, Fig. 2 finds R_kk = R_vv = 0), so a is what is left.
    """

    source: ClassVar[str] = "duranthon2025, Sec. 4"

    @property
    def bound(self) -> frozenset[Basic]:
        return self.risk.bound | set(self.variables)

    @property
    def variables(self) -> tuple[Expr, ...]:
        return self.args[4:]

    @property
    def risk(self) -> PopulationRisk:
        """The risk that is minimised."""
        return PopulationRisk(*self.args[:4])

    @property
    def is_alone(self) -> bool:
        """Whether there is one token, and a constant activation, which scale 0 gives, is its posterior."""
        return self.args[3] == 1 and self.args[0].args[1].subs(x, 0) != 0

    def definition(self) -> Expr:
        """The population risk, itself a minimum of the loss, minimised over the scale and the parameters of the kernel."""
        risk: Expr = self.risk
        for variable in reversed(self.variables):
            risk = Minimum(risk, variable)
        return risk

    def conditioned(self) -> Expr:
        """The Bayes risk where the activation can be the posterior, a closed form where there is one, or the minimum.

        One token alone needs no locating.
        """
        activation, law, noise, length = self.args[:4]
        if self.is_alone or matched_scale(activation, law) is not None:
            return over_length(BayesRisk(law, noise).conditioned(), length)
        return self.formula()

    def formula(self) -> Expr:
        """The closed form where rules find the minimum, else the definition."""
        closed = self.closed()
        return self.definition() if closed is None else closed

    def closed(self) -> Expr | None:
        """The minimum in closed form, by stationarity, for activations polynomial in the key; None elsewhere."""
        if not self.args[0].args[1].is_polynomial() or self.args[0].args[2] == 1:
            return None
        try:
            return least_chain(self).result
        except RuleRefused:
            return None

    def derivation(self) -> Derivation:
        return least_chain(self)

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathsf{E}_{\sigma}"

    def _sympystr(self, printer: object) -> str:
        return "MinimalRisk"


def keeping_its_tail(kernel: Expr) -> Expr:
    """The kernel with 1 + erf(y) written as 2 Phi(sqrt(2) y) and 1 + tanh(y) as 2/(1 + exp(-2 y)).

    Beside y = -5 nothing would be left of their digits where the mean of each term is taken.
    """
    return uncancelled(kernel, lambda y: 2 * NormalCdf(sqrt(2) * y))


def _without_factor(kernel: Expr) -> Expr:
    """A kernel without its constant factors, which the value vector takes up: exp(-10 (x - 5)^2) is 1e-109 beside x = 0."""
    _, factors = kernel.as_independent(x, as_Add=False)
    return Mul(*(_without_constant(factor) if isinstance(factor, exp) else factor for factor in Mul.make_args(factors)))


def _without_constant(power: Expr) -> Expr:
    _, slope = power.args[0].expand().as_independent(x, as_Add=True)
    return exp(slope)


def _kept_whole(risk: Expr, kernel: Expr) -> Expr:
    """``closed_form``; where that leaves means of other terms than powers, with means of a kernel that is a sum taken whole.

    Terms that cancel, as in 1 - 1/(1 + exp(y)), leave nothing of the digits of means that are taken of each.
    """
    found = closed_form(risk)
    if not isinstance(kernel, Add) or all(
        node.body.is_polynomial(*node.bound) for node in found.atoms(ScalarExpectation)
    ):
        return found
    opened = {node: node.with_kernel(OpenKernel(x)) for node in risk.atoms(Activation)}
    whole = closed_form(risk.xreplace(opened))
    return whole.replace(OpenKernel, lambda argument: kernel.subs(x, argument))


def matched_scale(activation: Activation, law: SequenceLaw) -> Expr | None:
    """The scale at which the activation equals the posterior, or None: there the attention is Bayes-optimal.

    Infinite where softmax only approaches the indicator of the largest key projection.
    """
    if activation == Activation.of(epsilon, softmax, a) and law.weight == L * IsLargest.of(epsilon, L):
        return S.Infinity
    if law.posterior_kernel is None:  # no normalised kernel is the posterior
        return None
    slope = exponential_slope(law)
    candidates = [S.One] if slope is None else [S.One, slope]
    posterior = unfolded(Posterior(epsilon, law), law.length)
    for scale in candidates:
        attention = activation.subs(activation.args[4], scale) if activation.args[4] == a else activation
        if unfolded(attention, law.length) == posterior:
            return scale
    return None


def population_risk(task: Task, attention: Attention, scale: Expr = a) -> PopulationRisk:
    """The risk of an attention at key k = scale k* and at the best value vector.

    E_sigma(a) = Delta^2 + 1 - (E sigma_eps)^2/E||sigma||^2 with sigma_l = kappa(a chi_l)/N.

    Source: arXiv 2509.21936, section 4.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    attention = kernel_attention_of(attention)
    return PopulationRisk(Activation.of(epsilon, attention, scale), task.law, task.noise, task.length)


def minimal_risk(task: Task, attention: Attention) -> MinimalRisk:
    """The least risk of an attention over key and value vectors, E_sigma: a formula; evaluate with ``evaluate``.

    Raises:
        ValueError: when a parameter over which the kernel is minimised belongs to the task too.

    Source: arXiv 2509.21936, section 4 and Fig. 2.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    attention = kernel_attention_of(attention)
    activation = Activation.of(epsilon, attention, a)
    free = sorted(attention.bounds, key=str)
    for parameter in task.law.free_symbols & set(free):
        raise ValueError(f"{parameter}: a parameter of the task and of the attention; rename it in one of them")
    return MinimalRisk(activation, task.law, task.noise, task.length, a, *free)
