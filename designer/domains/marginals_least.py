"""The least budgets at which marginal tables are as accurate as asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import positive
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce, step, track
from designer.certificate.guarantee import bounded
from designer.designing.design_result import DesignOfKind
from designer.domains.marginals import MarginalMechanism
from designer.domains.marginals_noise import assemble, synthesis
from designer.domains.marginals_plan import MARGIN, Loss, design_marginals
from designer.domains.marginals_workload import MarginalWorkload, Subsets
from designer.domains.problem import MarginalProblem
from designer.domains.protection import Protection
from designer.problem.targets import Target, Targets, require_targets
from designer.relations.metrics.attributes import hamming
from designer.relations.metrics.presence import BUDGET_OF, Presence
from solvers.programs.loads import LARGEST, LEAST, least_factor

if TYPE_CHECKING:  # it brings solvers
    from designer.domains.products import StructuredMechanism

BEYOND = 0.05  # of margins
CONTINUOUS = 1 - 1e-9
NONE = (
    f"marginals: the targets are met, or missed, at every factor from {LEAST:g} to {LARGEST:g}: no protected change moves "
    "these tables, or too much is asked; ask for other targets."
)
RESIDUALS = "every plan of residuals"
AIMED = "sum over all cells of weight times variance, of tables that meet the targets"
ROUNDS = 60  # of multipliers
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
    mechanism: MarginalMechanism | StructuredMechanism
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
    asked, relative = require_targets(targets).of(table_names(workload)), positive(step, "step")
    announce("marginals: searching for the least factor on the budgets")
    base = _nearest(workload, protection, asked, allow_vacuous)
    if not _reached(base, asked).any():
        raise DesignFailed(NONE)
    found: dict[float, tuple[MarginalMechanism, Floats]] = {}

    def ratio(factor: float) -> float:
        made = _stretched(base, workload, protection, factor)
        found[factor] = made, _reached(made, asked)
        return float((found[factor][1] / [target.most for target in asked]).max())

    bracket = least_factor(ratio, relative)
    if bracket is None:
        raise DesignFailed(NONE)
    made, values = found[bracket.met]
    missed = asked[int(np.argmax(found[bracket.missed][1] / [target.most for target in asked]))]
    bound = _lower_bound(workload, protection, asked, allow_vacuous, bracket.met)
    problem = MarginalProblem(workload, made.protection, allow_vacuous=allow_vacuous)
    reached = in_own_units(asked, values)
    return LeastMarginals(problem, bracket.met, made, reached, bracket.missed, missed.query, relative, bound, RESIDUALS)


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
    asked = require_targets(targets).of(table_names(workload))
    notes = {"targets": [target.sentence() for target in asked]}
    own = design_marginals(workload, protection, loss, tolerance=tolerance, allow_vacuous=allow_vacuous)
    if _ratio(own, asked) <= 1:
        return own.annotated({**own.provenance, **notes})
    nearest = _nearest(workload, protection, asked, allow_vacuous)
    require_met(asked, _reached(nearest, asked))
    weighted, bound = _weighted(own, asked) if loss == "squared" else (own, None)
    made = _mixed(own, weighted.precisions, nearest.precisions, asked)
    reached = None
    if bound is not None:
        value = made.error()
        reached = bounded(AIMED, value, bound, "multipliers of the targets", value * 1e-9)
    return made.annotated({**own.provenance, **notes}, reached)


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


def _weighted(own: MarginalMechanism, asked: tuple[Target, ...]) -> tuple[MarginalMechanism, float]:
    """The design with multipliers that make tables meet their targets, and what the loss is at least.

    With multipliers m_t of allowed variances a_t, every plan that meets the targets has a loss of at least the least of
    `loss + sum_t m_t variance_t`, less `sum_t m_t a_t`.
    """
    workload, allowed = own.workload, 1 / weights_of(asked)
    places = [target.place for target in asked]
    cells, weights, made, bound = workload.cells[places], workload.weights.copy(), own, 0.0
    for _ in track(range(ROUNDS), "marginals: weighting the tables that have targets"):
        if made.optimality is not None:
            spent = float((weights[places] - workload.weights[places]) @ (cells * allowed))
            bound = max(bound, made.optimality.lower_bound - spent)
        moved = np.where(np.isinf(made.precisions), 0.0, 1 / made.precisions)
        ratios = (workload.cell_variances @ moved)[places] / allowed
        weighed = weights[places] > workload.weights[places]
        if (np.where(weighed, np.abs(ratios - 1), ratios - 1) < CLOSE).all():
            break
        weights[places] = np.maximum(workload.weights[places], weights[places] * ratios**2)
        aimed = MarginalWorkload(workload.domain, workload.subsets, weights)
        made = design_marginals(aimed, own.protection, allow_vacuous=own.allow_vacuous)
    return made, bound


def _mixed(own: MarginalMechanism, weighted: Floats, nearest: Floats, asked: tuple[Target, ...]) -> MarginalMechanism:
    """As little of the nearest plan as is needed: loads are linear in precisions, and variances convex, so a mixture keeps the
    budgets, and more of the nearest plan is nearer."""
    low, high, moved = 0.0, 1.0, np.isfinite(weighted)

    def mixture(part: float) -> MarginalMechanism:
        precisions = weighted.copy()
        precisions[moved] = ((1 - part) * weighted[moved] + part * nearest[moved]) * MARGIN
        return MarginalMechanism(own.workload, own.protection, precisions, allow_vacuous=own.allow_vacuous)

    best = MarginalMechanism(own.workload, own.protection, nearest, allow_vacuous=own.allow_vacuous)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        made = mixture(middle)
        low, high, best = (low, middle, made) if _ratio(made, asked) <= 1 else (middle, high, best)
    return best


def _ratio(made: MarginalMechanism, asked: tuple[Target, ...]) -> float:
    """The largest error over its target."""
    return float((_reached(made, asked) / [target.most for target in asked]).max())


def table_names(workload: MarginalWorkload) -> tuple[str, ...]:
    """What tables are called in targets: their attributes joined by " x ", "total" for the empty one."""
    return tuple(" x ".join(workload.names(subset)) or "total" for subset in workload.subsets.tuples())


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


def _reached(made: MarginalMechanism, asked: tuple[Target, ...]) -> Floats:
    """The largest error of a cell of each table that has a target."""
    subsets = made.workload.subsets.tuples()

    def largest(target: Target) -> float:
        names = made.workload.names(subsets[target.place])
        return float((table_margins(made, names) if target.kind == "margin" else np.sqrt(made.variances(names))).max())

    return np.array([largest(target) for target in asked])


def weights_of(asked: tuple[Target, ...]) -> Floats:
    """One over the squares of the largest standard errors, (number of targets,); a margin is 1.96 of them in wide noise."""
    normal = -NormalDist().inv_cdf(BEYOND / 2)
    return np.array([((normal if target.kind == "margin" else 1.0) / target.most) ** 2 for target in asked])


def _nearest(
    workload: MarginalWorkload, protection: Protection, asked: tuple[Target, ...], allow_vacuous: bool
) -> MarginalMechanism:
    """The plan whose largest (error / target)^2 is least."""
    own = design_marginals(workload, protection, allow_vacuous=allow_vacuous)
    moved = np.where(np.isinf(own.precisions), 0.0, 1 / own.precisions)
    variances = workload.cell_variances @ moved
    places, wanted = [target.place for target in asked], weights_of(asked)
    worst = float((wanted * variances[places]).max()) or float(wanted.max())
    weights = LITTLE * worst / np.where(variances > 0, variances, worst / wanted.min())
    weights[places] = wanted
    aimed = MarginalWorkload(workload.domain, workload.subsets, weights)
    return design_marginals(aimed, protection, "max", allow_vacuous=allow_vacuous)


def times(protection: Protection, factor: float) -> Protection:
    """All budgets times a factor."""
    if isinstance(protection, Presence):
        return Presence(**{BUDGET_OF[protection.notion]: protection.epsilon * factor})
    return hamming(protection.domain, [budget * factor for budget in protection.budgets])


def _stretched(base: MarginalMechanism, workload: MarginalWorkload, protection: Protection, factor: float) -> MarginalMechanism:
    """The same plan at other budgets: variances divided by the square of the factor, certified anew."""
    precisions = base.precisions * factor**2 * (MARGIN if factor != 1.0 else 1.0)
    made = MarginalMechanism(workload, times(protection, factor), precisions, allow_vacuous=base.allow_vacuous)
    return made.annotated({**base.provenance, "loss": "max", "budgets_times": factor})


def _lower_bound(
    workload: MarginalWorkload, protection: Protection, asked: tuple[Target, ...], allow_vacuous: bool, met: float
) -> float:
    """From the bound B at the factor f that is met, of the plan for the tables with targets alone: f times the root of B.
    Variances of whole-number noise fall with the square of the factor or faster, so that at a smaller one g no plan has less
    than `B (f / g)^2` (docs/theory/marginals.md, 3)."""
    rows = workload.subsets.tuples()
    alone = MarginalWorkload(workload.domain, Subsets.of([rows[target.place] for target in asked]), weights_of(asked))
    claim = design_marginals(alone, times(protection, met), "max", allow_vacuous=allow_vacuous).optimality
    return 0.0 if claim is None else met * math.sqrt(claim.lower_bound) * CONTINUOUS
