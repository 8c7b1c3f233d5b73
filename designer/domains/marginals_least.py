"""The least budgets at which marginal tables are as accurate as asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import positive
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce, step, track
from designer.certificate.guarantee import bounded
from designer.designing.design_result import DesignOfKind
from designer.domains.marginals import MarginalMechanism
from designer.domains.marginals_noise import assemble, synthesis
from designer.domains.marginals_plan import Loss, design_marginals
from designer.domains.marginals_workload import MarginalWorkload, Subsets
from designer.domains.mechanism import MARGIN, DomainMechanism, Protection
from designer.domains.problem import MarginalProblem
from designer.problem.targets import Target, Targets, require_targets
from designer.relations.metrics.attributes import hamming
from designer.relations.metrics.presence import BUDGET_OF, Presence
from solvers.programs.loads import LARGEST, LEAST, least_factor

M = TypeVar("M", bound=DomainMechanism[Any, Any])
BEYOND = 0.05  # of margins
CONTINUOUS = 1 - 1e-9
NONE = (
    f"marginals: the targets are met, or missed, at every factor from {LEAST:g} to {LARGEST:g}: no protected change moves "
    "these tables, or too much is asked; ask for other targets."
)
AIMED = "sum over all cells of weight times variance, of tables that meet the targets"
CLOSE = 1e-4  # of variances to what is allowed
HALVINGS = 24
LITTLE = 1e-8  # of the largest loss of a table with a target: what those without one may have


@dataclass(frozen=True, eq=False)
class LeastMarginals:
    """The least factor on all budgets (under zCDP its square on rho) at which every table meets its target.

    problem: the tables, at the budgets of the factor. `mechanism`, certified, meets the targets at `factor`; at `missed_at`,
    smaller by the relative step, the same plan misses that of `missed`. reached: by table, the standard error of its least
    accurate cell (the margin, for a margin; relative to the reference, for a relative error). lower_bound: nothing of what
    `bounded` names meets the targets below it; 0 where nothing is proven.
    """

    problem: MarginalProblem
    factor: float
    mechanism: DomainMechanism[Any, Any]
    reached: Mapping[str, float]
    missed_at: float
    missed: str
    step: float
    lower_bound: float
    bounded: str

    @property
    def design(self) -> DesignOfKind:
        """The certified design at the factor."""
        return DesignOfKind(self.problem, self.mechanism, 0.0, self.mechanism.error())

    @property
    def rho_factor(self) -> float | None:
        """The factor on rho; None in the pure notion."""
        return self.factor**2 if self.problem.notion == "zcdp" else None


@dataclass(frozen=True, eq=False)
class AimedPlans(ABC, Generic[M]):
    """The search for tables that meet their targets. A notion says how plans are designed, stretched and mixed.

    rounds: of multipliers. replanned: how often plans are designed anew at the factor that was found.
    """

    problem: MarginalProblem
    targets: Targets
    rounds: ClassVar[int]
    replanned: ClassVar[int]
    bounded: ClassVar[str]

    @cached_property
    def asked(self) -> tuple[Target, ...]:
        """The targets of tables, by their places."""
        return require_targets(self.targets).of(self.problem.workload.titles)

    @property
    def allowed(self) -> Floats:
        """The largest variance that each target allows, (T,)."""
        return 1 / weights_of(self.asked)

    @property
    def proven(self) -> bool:
        """Do multipliers bound the loss from below?"""
        return self.problem.loss == "squared"

    @abstractmethod
    def designed(self, weights: Floats | None = None) -> M:
        """The design without targets, of tables with their own weights or these, (K,)."""

    @abstractmethod
    def near(self, factor: float) -> Iterable[M]:
        """Plans for the targets, at the budgets times a factor."""

    @abstractmethod
    def margins(self, made: M, place: int) -> Floats:
        """Bounds of the noise in each cell of a table that it exceeds with probability `BEYOND` at most."""

    @abstractmethod
    def stretched(self, plan: M, factor: float) -> M:
        """The same plan at the budgets times a factor, certified anew."""

    @abstractmethod
    def mixture(self, own: M, nearest: M, part: float) -> M:
        """A part of the nearest plan, and the rest of the other."""

    @abstractmethod
    def least_possible(self, met: float) -> float:
        """A factor below which nothing meets the targets, 0 where none is proven; met: the factor that was found."""

    def measured(self, made: M) -> M:
        """A design as a plan for all tables that are asked for."""
        return made

    def ratios(self, plan: M) -> Floats:
        """Variances over what is allowed, (T,)."""
        return (self.reached(plan) / [target.most for target in self.asked]) ** 2

    def pairs(self, plans: list[M], near: list[M]) -> Iterable[tuple[M, M]]:
        """Which plans are mixed with which that meet the targets."""
        return [(plans[-1], near[0])]

    def reached(self, made: M) -> Floats:
        """The largest error of a cell of each table that has a target."""

        def largest(target: Target) -> float:
            margin = target.kind == "margin"
            found = self.margins(made, target.place) if margin else np.sqrt(made.variances_of(target.place))
            return float(found.max())

        return np.array([largest(target) for target in self.asked])

    def ratio(self, made: M) -> float:
        """The largest error over its target."""
        return float((self.reached(made) / [target.most for target in self.asked]).max())

    def least(self, step: float) -> LeastMarginals:
        """The smallest factor found at which a plan meets the targets; `DesignFailed` where no factor is least."""
        _, relative = self.asked, positive(step, "step")
        announce("marginals: searching for the least factor on the budgets")
        found: LeastMarginals | None = None
        for _ in range(self.replanned):
            last = found
            for plan in self.near(1.0 if last is None else last.factor):
                one = self._followed(plan, relative)
                if one is not None and (found is None or one.factor < found.factor):
                    found = one
            if found is None:
                raise DesignFailed(NONE)
            if last is not None and not found.factor < last.factor * (1 - relative):
                break
        assert found is not None
        provenance = {**found.mechanism.provenance, "loss": "max", "budgets_times": found.factor}
        made = found.mechanism.annotated(provenance)
        return replace(found, mechanism=made, lower_bound=self.least_possible(found.factor))

    def _followed(self, plan: M, relative: float) -> LeastMarginals | None:
        """The least factor at which this plan meets the targets; None where none is least."""
        asked, allowed = self.asked, np.array([target.most for target in self.asked])
        tried: dict[float, tuple[M, Floats]] = {}

        def ratio(factor: float) -> float:
            try:
                made = self.stretched(plan, factor)
            except InvalidProblem:  # noise that is too wide for the integers it is drawn in
                return math.inf
            tried[factor] = made, self.reached(made)
            return float((tried[factor][1] / allowed).max())

        bracket = least_factor(ratio, relative) if self.reached(plan).any() else None
        if bracket is None or bracket.missed not in tried:
            return None
        (made, values), (_, short) = tried[bracket.met], tried[bracket.missed]
        missed = asked[int(np.argmax(short / allowed))].query
        at = replace(self.problem, relation=times(self.problem.relation, bracket.met))
        reached = in_own_units(asked, values)
        return LeastMarginals(at, bracket.met, made, reached, bracket.missed, missed, relative, 0.0, self.bounded)

    def meeting(self) -> M:
        """The mechanism of the least loss found at these budgets whose tables meet their targets; see `marginals_meeting`."""
        notes = {"targets": [target.sentence() for target in self.asked]}
        own = self.designed()
        if self.ratio(own) <= 1:
            return own.annotated({**own.provenance, **notes})
        near = list(self.near(1.0))
        require_met(self.asked, self.reached(min(near, key=self.ratio)))
        plans, bound = self._weighted(own)
        mixtures = [self._mixed(plan, nearest) for plan, nearest in self.pairs(plans, near)]
        best = min(mixtures, key=lambda made: made.error(self.problem.loss))
        value, claim = best.error(), None
        if bound > 0:
            claim = bounded(AIMED, value, bound, "multipliers of the targets", value * 1e-9)
        return best.annotated({**own.provenance, **notes}, claim)

    def _weighted(self, own: M) -> tuple[list[M], float]:
        """Plans whose tables with targets have larger and larger weights, and what the loss "squared" is at least.

        With multipliers m_t of allowed variances a_t, every plan that meets the targets has a loss of at least the least of
        `loss + sum_t m_t variance_t`, less `sum_t m_t a_t`.
        """
        workload, places = self.problem.workload, [target.place for target in self.asked]
        cells, weights, bound = workload.cells[places], workload.weights.copy(), 0.0
        found: list[M] = []
        for _ in track(range(self.rounds), "marginals: weighting the tables that have targets"):
            made = self.designed(weights) if found else own
            if made.optimality is not None and self.proven:
                spent = float((weights - workload.weights)[places] @ (cells * self.allowed))
                bound = max(bound, made.optimality.lower_bound - spent)
            found.append(self.measured(made))
            ratios = self.ratios(found[-1])
            weighed = weights[places] > workload.weights[places]
            if (np.where(weighed, np.abs(ratios - 1), ratios - 1) < CLOSE).all():
                break
            weights[places] = np.maximum(workload.weights[places], weights[places] * ratios**2)
        return found, bound

    def _mixed(self, own: M, nearest: M) -> M:
        """As little of the nearest plan as is needed: what a change spends is linear in the strengths, so a mixture keeps the
        budgets, and more of the nearest plan is nearer."""
        low, high, best = 0.0, 1.0, nearest
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            made = self.mixture(own, nearest, middle)
            low, high, best = (low, middle, made) if self.ratio(made) <= 1 else (middle, high, best)
        return best


@dataclass(frozen=True, eq=False)
class ResidualPlans(AimedPlans[MarginalMechanism]):
    """By noise in residuals, under zCDP."""

    tolerance: float | None = None
    replanned: ClassVar[int] = 1
    bounded: ClassVar[str] = "every plan of residuals"

    @property
    def rounds(self) -> int:  # type: ignore[override]
        """Of multipliers, which follow the loss "squared" alone."""
        return 61 if self.proven else 1

    def designed(self, weights: Floats | None = None) -> MarginalMechanism:
        if weights is None:
            return self._design(self.problem.workload, self.problem.loss, self.tolerance)
        return self._design(replace(self.problem.workload, weights=weights))

    def near(self, factor: float) -> Iterable[MarginalMechanism]:
        """The plan whose largest (error / target)^2 is least."""
        workload, own = self.problem.workload, self._design(self.problem.workload)
        variances = workload.cell_variances @ _moved(own)
        places, wanted = [target.place for target in self.asked], weights_of(self.asked)
        worst = float((wanted * variances[places]).max()) or float(wanted.max())
        weights = LITTLE * worst / np.where(variances > 0, variances, worst / wanted.min())
        weights[places] = wanted
        yield replace(self._design(replace(workload, weights=weights), "max"), optimality=None)

    def margins(self, made: MarginalMechanism, place: int) -> Floats:
        return table_margins(made, made.workload.names_of(place))

    def stretched(self, plan: MarginalMechanism, factor: float) -> MarginalMechanism:
        """Variances divided by the square of the factor."""
        workload, relation = self.problem.workload, times(self.problem.relation, factor)
        precisions = plan.precisions * factor**2 * (MARGIN if factor != 1.0 else 1.0)
        return replace(plan, workload=workload, protection=relation, precisions=precisions)

    def mixture(self, own: MarginalMechanism, nearest: MarginalMechanism, part: float) -> MarginalMechanism:
        precisions, moved = own.precisions.copy(), np.isfinite(own.precisions)
        precisions[moved] = ((1 - part) * own.precisions[moved] + part * nearest.precisions[moved]) * MARGIN
        return replace(nearest, workload=self.problem.workload, precisions=precisions)

    def ratios(self, plan: MarginalMechanism) -> Floats:
        """Of continuous noise."""
        places = [target.place for target in self.asked]
        return np.asarray((self.problem.workload.cell_variances @ _moved(plan))[places] / self.allowed)

    def least_possible(self, met: float) -> float:
        """From the bound B at the factor f that is met, of the plan for the tables with targets alone: f times the root of B.
        Variances of whole-number noise fall with the square of the factor or faster, so that at a smaller one g no plan has
        less than `B (f / g)^2` (docs/theory/marginals.md, 3)."""
        relation = times(self.problem.relation, met)
        alone = tables_alone(self.problem.workload, self.asked, weights_of(self.asked))
        claim = design_marginals(alone, relation, "max", allow_vacuous=self.problem.allow_vacuous).optimality
        return 0.0 if claim is None else met * math.sqrt(claim.lower_bound) * CONTINUOUS

    def _design(self, asked: MarginalWorkload, loss: Loss = "squared", tolerance: float | None = None) -> MarginalMechanism:
        vacuous = self.problem.allow_vacuous
        return design_marginals(asked, self.problem.relation, loss, tolerance=tolerance, allow_vacuous=vacuous)


def _moved(made: MarginalMechanism) -> Floats:
    """One over the precision of each residual, 0 of those without noise."""
    return np.where(np.isinf(made.precisions), 0.0, 1 / made.precisions)


@step("the least budget of marginals")
def least_marginal_budget(
    workload: MarginalWorkload,
    protection: Protection,
    targets: Targets,
    *,
    step: float = 1e-4,
    allow_vacuous: bool = False,
) -> LeastMarginals:
    """The smallest factor on the budgets of `protection` at which the tables meet their targets.

    targets: by table, named by a tuple of its attributes in the order of the domain (or joined by " x "; "total" is the empty
    one), or a number for all; they hold for every cell. Standard errors are those of the discrete noise that is drawn; margins
    are proven bounds (`table_margins`). Tables without a target get what noise is left. Raises `InvalidProblem` for unknown
    tables, `DesignFailed` where no factor is least.

    >>> from designer import Targets
    >>> from designer.problem.domain import Domain
    >>> from designer import MarginalWorkload, Presence
    >>> ask = MarginalWorkload.up_to(Domain.of({"age": 3, "sex": 2}), 2)
    >>> found = least_marginal_budget(ask, Presence(mu=1.0), Targets(standard_error={("age", "sex"): 5.0}))
    >>> round(found.factor, 3), found.reached["age x sex"] <= 5
    (0.2, True)
    """
    if not isinstance(workload, MarginalWorkload) or not isinstance(protection, Protection):
        raise InvalidProblem(
            "workload, protection: give a MarginalWorkload, and `metrics.hamming(domain, budgets)` or `Presence(mu=...)`."
        )
    return ResidualPlans(MarginalProblem(workload, protection, allow_vacuous=allow_vacuous), targets).least(step)


def in_own_units(asked: Sequence[Target], values: Floats) -> Mapping[str, float]:
    """By table what its least accurate cell reaches, values (T,); relative to the reference, for a relative error."""
    return MappingProxyType({t.query: value / abs(t.reference or 1.0) for t, value in zip(asked, values.tolist(), strict=True)})


def marginals_meeting(
    workload: MarginalWorkload,
    protection: Protection,
    targets: Targets,
    loss: Loss = "squared",
    *,
    tolerance: float | None = None,
    allow_vacuous: bool = False,
) -> MarginalMechanism:
    """The mechanism of least loss at these budgets among those whose tables meet their targets.

    targets: as in `least_marginal_budget`. Where the design without targets misses some, the tables with targets are weighted
    until they meet them: by multipliers, which bound the loss from below (of "squared"), and by as much as is
    needed of the plan that is nearest to the targets. Raises `DesignFailed` where no plan meets them at these budgets.

    >>> from designer import Targets
    >>> from designer.problem.domain import Domain
    >>> from designer import MarginalWorkload, Presence
    >>> ask = MarginalWorkload.up_to(Domain.of({"age": 3, "sex": 2}), 2)
    >>> free, aimed = (marginals_meeting(ask, Presence(mu=1.0), Targets(standard_error={("age",): e})) for e in (3.0, 1.05))
    >>> float(free.variances(["age"]).max()) > 1.05**2 >= float(aimed.variances(["age"]).max()), aimed.error() > free.error()
    (True, True)
    """
    problem = MarginalProblem(workload, protection, loss, allow_vacuous=allow_vacuous)
    return ResidualPlans(problem, targets, tolerance).meeting()


def require_met(asked: Sequence[Target], nearest: Floats) -> None:
    """DesignFailed where the plan nearest to the targets, which reaches these values, (T,), misses one."""
    for target, value in zip(asked, nearest.tolist(), strict=True):
        if value > target.most:
            kind, found = target.kind.replace("_", " "), value / abs(target.reference or 1.0)
            raise DesignFailed(
                f"targets: {target.query!r} has a {kind} of {found:.6g} at these budgets, and is to have {target.value:g}; "
                "ask for less accuracy, or let `least_budget` (`dp-designer budget`) say which budgets are enough.",
                value=target.query,
            )


def table_margins(made: MarginalMechanism, subset: tuple[str, ...], beyond: float = BEYOND) -> Floats:
    """Bounds t of the noise in each cell of a table, `P(|noise| > t) <= beyond`.

    The least of two. By cells of the integers that are drawn: the quantile of continuous noise at `beyond e^(-r^2 / 2)`
    and half a step of every coordinate, `r^2 = sum 1 / (4 variance)`; it is near the truth where noise is wide. By
    exponential moments: `2 e^(-t^2 / (2 v))`, v the variance of continuous noise (docs/theory/marginals.md, 2; `joint_noise` in
    `designer.mechanism.bounds`).
    """
    deviations = np.sqrt(made.variances(subset, planned=True))
    axes = made.axes(subset)
    planned = {part: made.noise.planned(made.position[part]) for part in made.position if set(part) <= set(axes)}
    square = sum(float((1 / (4 * variances[variances > 0])).sum()) for variances in planned.values())
    steps = assemble(axes, made.workload.shape(axes), lambda part: np.where(planned[part] > 0, 0.5, 0.0), _absolute)
    by_moments = deviations * math.sqrt(2 * math.log(2 / beyond))
    share = beyond * math.exp(-min(square, 1000.0) / 2) / 2
    if share < 1e-300:
        return np.asarray(by_moments)
    return np.asarray(np.minimum(by_moments, -NormalDist().inv_cdf(share) * deviations + steps))


@lru_cache(maxsize=256)
def _absolute(n: int) -> Floats:
    return frozen(np.abs(synthesis(n)))


def weights_of(asked: tuple[Target, ...]) -> Floats:
    """One over the squares of the largest standard errors, (number of targets,); a margin is 1.96 of them in wide noise."""
    normal = -NormalDist().inv_cdf(BEYOND / 2)
    return np.array([((normal if target.kind == "margin" else 1.0) / target.most) ** 2 for target in asked])


def tables_alone(workload: MarginalWorkload, asked: Sequence[Target], weights: Floats) -> MarginalWorkload:
    """The tables that have these targets, with these weights, (T,)."""
    rows = workload.subsets.tuples()
    return MarginalWorkload(workload.domain, Subsets.of([rows[target.place] for target in asked]), weights)


def times(protection: Protection, factor: float) -> Protection:
    """All budgets times a factor."""
    if isinstance(protection, Presence):
        return Presence(**{BUDGET_OF[protection.notion]: protection.epsilon * factor})
    return hamming(protection.domain, [budget * factor for budget in protection.budgets])
