"""What a frozen object says to an accountant: which changes it speaks of, and what a change of a given budget costs in it.

One rule for each format of `designer.files.spec.FORMATS`, from the frozen numbers alone (docs/theory/composition.md, 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from designer.accounts.together.costs import Cost, cost_of_tradeoff, rho_of_pure
from designer.base.errors import InvalidProblem
from designer.certified.frozen import Specified
from designer.certified.norms import Norm
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.additive.promise import WITH_DELTA
from designer.mechanisms.choice.mechanism import Selection
from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.marginals.protection import Presence
from designer.mechanisms.odds_ratio.mechanism import OddsRatioTest
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.mechanisms.staircase.mechanism import StaircaseMechanism
from designer.mechanisms.synthetic.multiplicative import MWEM
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.problem.relation import Relation
from designer.promises.laplace import discrete_laplace
from designer.promises.tradeoff import EpsilonDelta, Tradeoff
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.invariants.invariant import margins
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.metrics.attributes import Hamming
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AddRemove, AppearOrChange
from designer.relations.row_groups import RowGroups
from designer.tables.measure import MOST_UNITS
from designer.tables.other_noise import OtherNoise
from designer.tables.plan import TablePlan
from designer.tables.policies.policy import Policy

Protected = Relation | Presence
LISTED = 2_000  # pairs whose exact budgets are looked at one by one
MOST_SHAPES = 16  # answers that one change moves
NO_RULE = "has no rule of composition; compose mechanisms that `designer.load` reads"


def protected_by(mechanism: Specified) -> Protected:
    """What changes the mechanism speaks of; `InvalidProblem` for plans of tables, whose losses are functions of the record."""
    if isinstance(mechanism, (AdditiveMechanism, LatticeMechanism, StaircaseMechanism, Selection)):
        return mechanism.relation
    if isinstance(mechanism, (MWEM, SmallDB)):
        return mechanism.queries.relation
    if isinstance(mechanism, (MarginalMechanism, StructuredMechanism)):
        return mechanism.protection
    if isinstance(mechanism, OddsRatioTest):  # cells row by row; one budget, so that its number says nothing
        return InvariantChanges(margins((2, 2)), mechanism.adjacency, 1.0)
    raise InvalidProblem(f"mechanism: a {type(mechanism).__name__} {NO_RULE}.")


def cost_of_budget(mechanism: Specified, budget: Fraction) -> Cost:
    """What a change of this budget costs; for the test of an odds ratio what any protected change does."""
    require_proven(mechanism)
    if not budget and not (isinstance(mechanism, AdditiveMechanism) and mechanism.delta is not None):
        return Cost.pure(budget)
    if isinstance(mechanism, OddsRatioTest):
        return cost_of_tradeoff(mechanism.tradeoff)
    if isinstance(mechanism, AdditiveMechanism) and mechanism.delta is not None:
        return _cost_under_delta(mechanism, budget, Fraction(mechanism.delta))
    if isinstance(mechanism, MWEM):
        return Cost.pure(budget * min(Fraction(1), sum((a + b for a, b in mechanism.shares), Fraction(0))))
    if isinstance(mechanism, (SmallDB, Selection, StaircaseMechanism)):
        return Cost.pure(budget)
    if isinstance(mechanism, MarginalMechanism):
        return Cost.concentrated(budget**2 / 2)
    falloff = mechanism.noise if isinstance(mechanism, StructuredMechanism) else getattr(mechanism, "falloff", None)
    if falloff in ("exponential", "laplace"):
        return Cost.pure(budget)
    if falloff == "gaussian":
        return Cost.concentrated(budget**2 / 2)
    raise InvalidProblem(f"mechanism: a {type(mechanism).__name__} {NO_RULE}.")


def _cost_under_delta(mechanism: AdditiveMechanism, budget: Fraction, delta: Fraction) -> Cost:
    """(b, delta), and what the length that it allows promises besides: pure for exponential noise, mu-GDP for normal noise."""
    length = WITH_DELTA[mechanism.falloff](delta).most(budget)
    if mechanism.falloff == "exponential":
        return Cost(epsilon=budget, delta=delta, rho=rho_of_pure(length), shapes=(EpsilonDelta(length),))
    return Cost(epsilon=budget, delta=delta, rho=length**2 / 2, mu_squared=length**2)


def cost_of_steps(mechanism: Specified, steps: Sequence[Fraction]) -> Cost:
    """What changes of these budgets cost, one after the other: budgets add, and under a delta the lengths that they allow do.

    The test of an odds ratio knows a single step.
    """
    if len(steps) <= 1:
        return cost_of_budget(mechanism, steps[0]) if steps else Cost.pure(Fraction(0))
    if isinstance(mechanism, AdditiveMechanism) and mechanism.delta is not None:
        allowance = WITH_DELTA[mechanism.falloff](Fraction(mechanism.delta))
        length = sum(map(allowance.most, steps), Fraction(0))
        return Cost.pure(length) if mechanism.falloff == "exponential" else Cost.normal(length**2)
    if len(set(steps)) == 1:
        return cost_of_budget(mechanism, steps[0]).of_group(len(steps))
    return cost_of_budget(mechanism, sum(steps, Fraction(0)))


def shapes_of_shift(mechanism: Specified, change: Sequence[tuple[int, int]]) -> tuple[Tradeoff, ...]:
    """The tradeoff functions of independent Laplace noise whose answers this change, (element, records more), moves by known
    steps of the grid: their product says more than the budget. None of other mechanisms, and where many answers move."""
    if not isinstance(mechanism, AdditiveMechanism) or mechanism.falloff != "exponential" or mechanism.delta is not None:
        return ()
    norm, steps = mechanism.norm, mechanism.grid.steps
    if type(norm) is not Norm or norm.order != "l1" or norm.map.ndim != 1:
        return ()
    moved = np.zeros(len(steps), dtype=object)
    for element, amount in change:
        moved += amount * mechanism.integers[:, element].astype(object)
    places = [k for k in np.flatnonzero(moved).tolist() if norm.map[k]]
    if len(places) > MOST_SHAPES:
        return ()
    lengths = ((Fraction(float(norm.map[k])) * Fraction(float(steps[k])), abs(int(moved[k]))) for k in places)
    return tuple(discrete_laplace(rate * shift, shift) for rate, shift in lengths)


def require_proven(mechanism: Specified) -> None:
    """Refuse what promises nothing that could be added up."""
    if isinstance(mechanism, LatticeMechanism) and mechanism.chain is not None:
        raise InvalidProblem(
            "mechanism: draws from a Markov chain, whose distance from its law is an estimate and not a proof, so it does not "
            "add up with what is proven; ask for exact noise, or add estimates with "
            "designer.mechanisms.lattice.smoothing.composed_smooth."
        )


def largest_budget(protected: Protected) -> Fraction:
    """The largest budget of a protected change, exact where pairs are few, rounded up elsewhere.

    Of a budget for each unit of distance, that of one unit.
    """
    if isinstance(protected, Presence):
        return Fraction(protected.epsilon)
    if isinstance(protected, Hamming):
        sizes = zip(protected.budgets, protected.domain.shape, strict=True)
        return sum((Fraction(b) for b, values in sizes if values > 1 and b != float("inf")), Fraction(0))
    if isinstance(protected, ChangeRelation):
        return protected.largest_exact_budget()
    if isinstance(protected, AddRemove):
        return max((Fraction(e) for e in protected.epsilons.tolist() if e != float("inf")), default=Fraction(0))
    if isinstance(protected, RowGroups):
        return sum(map(largest_budget, protected.parts), Fraction(0))
    if isinstance(protected, (Metric, AppearOrChange)):
        return _largest_of_pairs(protected)
    return Fraction(getattr(protected, "epsilon"))  # noqa: B009  # of InvariantDistance


def _largest_of_pairs(relation: Metric | AppearOrChange) -> Fraction:
    points = relation.size + isinstance(relation, AppearOrChange)
    if points * (points - 1) // 2 > LISTED:
        return Fraction(relation.largest_budget()) * (1 + 2 * Fraction(relation.budget_error))
    pairs = ((i, j) for i, j in product(range(points), repeat=2) if i < j)
    return max((b for i, j in pairs if (b := relation.exact_budget(i, j)) is not None), default=Fraction(0))


def cost_of_record(plan: TablePlan, amounts: Mapping[str, object]) -> Cost:
    """What a public or hypothetical record, as the plan measures it, costs at most: its policies at these amounts."""
    delta = sum((Fraction(s.delta_of(s.bound)) for level in plan.levels if (s := level.selection)), Fraction(0))
    rho = plan.policy.exact(amounts)
    if delta or not plan.pure:
        return Cost.concentrated(rho, min(Fraction(1), delta))
    return Cost(epsilon=sum((policy.exact(amounts) for policy in pure_policies(plan)), Fraction(0)), rho=rho)


def pure_policies(plan: TablePlan) -> list[Policy]:
    """The pure policies of the queries; all of them where the plan is pure."""
    return [query.pure_policy for query in plan.queries if isinstance(query, OtherNoise) and query.pure_policy is not None]


def largest_cost(plan: TablePlan) -> Cost:
    """What the record that loses most costs: policies do not fall with a measure, so it has the largest of each, and one of the
    keys that the policy knows or another. `InvalidProblem` where a loss is bounded in name only."""
    most = {measure.column: max(map(abs, measure.bounds)) * measure.step for measure in plan.measures}
    known = {name: (*values, None) for name, values in plan.policy.keys().items()}
    records = [{**most, **dict(zip(known, chosen, strict=True))} for chosen in product(*known.values())]
    cost = max((cost_of_record(plan, record) for record in records), key=lambda cost: (cost.rho, cost.epsilon))
    _require_bounded(plan, cost)
    return cost


def _require_bounded(plan: TablePlan, cost: Cost) -> None:
    assert cost.rho is not None
    if cost.rho > 2**20:
        free = [measure.column for measure in plan.measures if measure.upper >= (MOST_UNITS - 1) * measure.step]
        words = f" {', '.join(map(repr, free))} has no bound but that of all numbers;" if free else ""
        raise InvalidProblem(
            f"mechanism: the policy of the plan reaches rho = {float(cost.rho):.3g}, a promise of nothing to some records: "
            f"there is no largest loss to add up;{words} state a smaller `upper` in the measures, or add policies up record by "
            "record (designer.accounts.composed)."
        )
    if cost.delta >= 1:
        raise InvalidProblem(
            "mechanism: records of many split rows make their group appear with probability 1, so the plan has no delta for "
            "all records; give its group selection an `at_most`."
        )
