"""Every pair of kinds of mechanisms: the joint law of two small ones, enumerated, against what they are said to promise."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from designer import (
    AdditiveMechanism,
    Domain,
    InvalidProblem,
    MarginalWorkload,
    Presence,
    Problem,
    ReportProblem,
    StructuredMechanism,
    StructuredWorkload,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.accounts import composed
from designer.base.json_text import plain
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.norms import Norm
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_noise import MeasuredProduct, StrategyMatrix
from designer.files.kinds import KINDS
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.mechanism.noise import Grid
from designer.mechanism.staircase import StaircaseMechanism
from designer.mechanism.staircase_noise import Stairs
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.queries import LipschitzQueries
from designer.synthetic.small_databases import SmallDB
from designer.tables import Count, Groups, Measure, PureSum, TablePlan
from designer.tradeoff.functions import EpsilonDelta
from tests.oracles.small_laws import Atoms, both, excess, largest_loss, law, loss_atoms

X = (2, 1, 1, 2)
HALF = Fraction(1, 2)
SWAP = (1, -1, -1, 1)
TABLE, ROW = invariants.margins((2, 2)), Workload([[0, 1, 2, 1]])
DOMAIN = Domain.of({"a": 2, "b": 2})
ONES = StrategyMatrix(np.eye(2, dtype=np.int64))
OVER_A = StructuredWorkload.tables(DOMAIN, [["a"]])
SIDE = MarginalWorkload.of(DOMAIN, {("a",): 1.0})


def noisy(relation: object, weight: float, falloff: str = "exponential", delta: float | None = None) -> FrozenMechanism:
    norm = Norm(np.array([weight]), "l1" if falloff == "exponential" else "l2")
    return AdditiveMechanism("custom", ROW, relation, norm, Grid((0,)), falloff, delta=delta)


def stairs(relation: object, unit: str) -> FrozenMechanism:
    return StaircaseMechanism("custom", ROW, relation, Stairs(Fraction(unit), 2, 1), Grid((0,)))


def nested(relation: object, rate: float) -> FrozenMechanism:
    """Two groups of two of the four elements."""
    groups = [[1, 1, 0, 0], [0, 0, 1, 1]]
    return HierarchyMechanism("custom", Workload(groups), relation, np.array(groups, dtype=float), np.full(2, rate))


ELEMENTS = (
    *("additive", "additive gaussian", "additive rounded", "additive with delta", "lattice", "lattice gaussian", "row"),
    *("staircase", "hierarchy", "structured", "marginals", "odds-ratio", "mwem", "small-db", "selection", "channel"),
)
TIGHT = {"additive", "lattice", "staircase", "hierarchy", "structured", "odds-ratio"}
ROWS = ("table-plan", "table-plan pure", "additive", "staircase", "hierarchy", "structured", "marginals", "selection")


@cache
def on_elements() -> dict[str, FrozenMechanism]:
    """One or two of every format but table plans, about six records on four elements; the number of records is public."""
    asked = Workload([[0, 1, 2, 1], [1, 0, 0, 1]])
    queries = LipschitzQueries.on_grid(asked, metrics.uniform(4, 0.9), asked.dense(), 0)
    line = metrics.euclidean([[0.0], [1.0], [2.0], [3.0]], per_unit=0.4)
    return {
        "additive": noisy(line, 0.4),
        "additive gaussian": noisy(metrics.uniform(4, 0.8), 0.4, "gaussian"),
        "additive rounded": noisy(metrics.uniform(4, 0.8), 0.15, "rounded_gaussian", 0.01),
        "additive with delta": noisy(metrics.uniform(4, 0.8), 0.4, "exponential", 0.01),
        "lattice": LatticeMechanism("custom", Workload.identity(4), TABLE.protect(0.6, 2), Norm(np.full(4, 0.15), "l1")),
        "lattice gaussian": LatticeMechanism(
            "custom", Workload.identity(4), TABLE.protect(0.6, 2), Norm(np.full(4, 0.3), "l2"), "gaussian"
        ),
        "row": design(Problem(Workload.identity(4), TABLE.protect(0.8, 2)), "lattice_rows").mechanism,
        "staircase": stairs(metrics.uniform(4, 0.75), "3/4"),
        "hierarchy": nested(metrics.uniform(4, 0.75), 0.375),
        "structured": StructuredMechanism(
            OVER_A, metrics.hamming(DOMAIN, [0.7, 0.4]), "laplace", {0: (ONES,)}, (MeasuredProduct({0: 0}, 0.35),), (0,)
        ),
        "marginals": design_marginals(SIDE, metrics.hamming(DOMAIN, [0.7, 0.5])),
        "odds-ratio": OddsRatioTest(Margins((3, 3), (3, 3)), EpsilonDelta(HALF), adjacency=2, exponent=1),
        "mwem": MWEM(queries, 6, ((HALF, HALF),)),
        "small-db": SmallDB(queries, 6, 2),
        "selection": best_selection(Linear(asked), metrics.uniform(4, 0.6)),
        "channel": design(
            ReportProblem(metrics.uniform(4, 0.6), ["x", "y"], loss=[[0, 1], [0, 1], [1, 0], [1, 0]]), "channel"
        ).mechanism,
    }


@cache
def on_rows() -> dict[str, FrozenMechanism]:
    """What hides whether a row is there: table plans, and mechanisms of the formats that can."""
    everything, by_a, amount = Groups(), Groups(["a"], keys=[["0"], ["1"]]), Measure("size", upper=2)
    appears = metrics.add_remove(4, 0.5)
    return {
        "table-plan": TablePlan([Count("rows", by_a, variance=4)]),
        "table-plan pure": TablePlan([PureSum("size", everything, measure=amount, scale=4)]),
        "additive": noisy(appears, 0.25),
        "staircase": stairs(metrics.add_remove(4, 0.625), "5/8"),
        "hierarchy": nested(metrics.add_remove(4, 0.625), 0.625),
        "structured": StructuredMechanism(
            OVER_A, Presence(epsilon=0.5), "laplace", {0: (ONES,)}, (MeasuredProduct({0: 0}, 0.5),), (0,)
        ),
        "marginals": design_marginals(SIDE, Presence(mu=0.5)),
        "selection": best_selection(Linear(Workload([[0, 1, 2, 1], [1, 0, 0, 1]])), appears),
    }


@cache
def atoms(mechanism: FrozenMechanism, change: tuple[int, ...]) -> Atoms:
    core = plain(mechanism.core())
    moved = tuple(a + b for a, b in zip(X, change, strict=True))
    return loss_atoms(law(mechanism.format, core, X), law(mechanism.format, core, moved))


def divergence(joint: Atoms, order: float) -> float:
    """The Renyi divergence, the larger of both directions, less what outputs beyond 1e-250 add."""
    p, q = (np.log(side[(joint[0] > 1e-250) & (joint[1] > 1e-250)]) for side in joint)
    return max(math.log(float(np.exp(order * a + (1 - order) * b).sum())) / (order - 1) for a, b in ((p, q), (q, p)))


def require_kept(joint: Atoms, total: object, *, precise: bool) -> None:
    """The promises in every notion hold of the joint law."""
    most = 2.0 if total.plain is None else float(total.plain[0])
    for epsilon in (0.0, most / 4, most / 2, most):
        assert excess(joint, epsilon) <= total.delta_at(epsilon, precise=False) * (1 + 1e-9) + 1e-10
    if precise:
        assert excess(joint, most / 2) <= total.delta_at(most / 2) * (1 + 1e-9) + 1e-10
    if total.epsilon is not None:
        assert largest_loss(joint) <= float(total.epsilon) + 1e-8
    if total.rho is not None:
        for order in (1.1, 2.0, 8.0):
            assert divergence(joint, order) <= order * float(total.rho) * (1 + 1e-9) + 1e-10


@pytest.mark.every_room
def test_every_format_has_a_small_instance_and_every_law_is_one() -> None:
    assert (tuple(on_elements()), tuple(on_rows())) == (ELEMENTS, ROWS)
    assert {mechanism.format for mechanism in (*on_elements().values(), *on_rows().values())} == set(KINDS)
    for name, mechanism in (on_elements() | on_rows()).items():
        found = law(mechanism.format, plain(mechanism.core()), X)
        assert sum(found.values()) == pytest.approx(1.0, abs=1e-10), name


def test_single_laws_spend_what_they_are_said_to_spend() -> None:
    """The oracle's laws know the budgets: of a tight mechanism the largest loss is the budget, and none is above it."""
    for name, mechanism in on_elements().items():
        change = SWAP if invariant(mechanism) else (-1, 0, 1, 0)
        total = composed(mechanism).cost(np.array(change))
        assert total is not None
        require_kept(atoms(mechanism, change), total, precise=False)
        if name in TIGHT:
            assert largest_loss(atoms(mechanism, change)) >= 0.99 * float(total.epsilon), name


def invariant(mechanism: FrozenMechanism) -> bool:
    return mechanism.format.split("/")[1] in ("lattice-mechanism", "row-mechanism", "odds-ratio-test")


def changes_for(first: FrozenMechanism, second: FrozenMechanism) -> list[tuple[int, ...]]:
    """One record from any element to any other; where a statistic is public, what keeps it."""
    if invariant(first) or invariant(second):
        return [SWAP, tuple(-a for a in SWAP)]
    return [tuple(int(k == j) - int(k == i) for k in range(4)) for i, j in permutations(range(4), 2)][::3]


PAIRS = list(combinations_with_replacement(ELEMENTS, 2))
PRECISE = {
    ("additive", "lattice"),
    ("additive rounded", "odds-ratio"),
    ("marginals", "marginals"),
    ("additive gaussian", "mwem"),
}


@pytest.mark.parametrize("names", PAIRS, ids=" and ".join)
def test_the_joint_law_of_two_mechanisms_keeps_what_they_promise_together(names: tuple[str, str]) -> None:
    first, second = (on_elements()[name] for name in names)
    made = composed(first, second)
    for change in changes_for(first, second):
        total = made.cost(np.array(change))
        assert total is not None
        joint = both(atoms(first, change), atoms(second, change))
        require_kept(joint, total, precise=names in PRECISE)
        if names[0] == names[1] and names[0] in TIGHT:
            alone = largest_loss(atoms(first, change))
            assert largest_loss(joint) == pytest.approx(2 * alone, rel=1e-9)  # reached by both at once: budgets truly add


def test_laplace_noise_spends_what_its_joint_law_spends() -> None:
    """The claimed delta of the very change is that of the enumerated joint law, not that of all pure mechanisms."""
    first, second = on_elements()["additive"], noisy(metrics.uniform(4, 0.8), 0.4)
    made = composed(first, second)
    for change in ((-1, 0, 1, 0), (-1, 1, 0, 0)):
        joint, total = both(atoms(first, change), atoms(second, change)), made.cost(np.array(change))
        for epsilon in (0.2, 0.5, 1.0):
            assert excess(joint, epsilon) == pytest.approx(total.delta_at(epsilon), rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("names", list(combinations_with_replacement(ROWS, 2)), ids=" and ".join)
def test_the_joint_law_of_two_releases_of_rows_keeps_what_they_promise_together(names: tuple[str, str]) -> None:
    first, second = (on_rows()[name] for name in names)
    made, tables = composed(first, second), any(name.startswith("table-plan") for name in names)
    for place in range(4):
        change = tuple(int(k == place) for k in range(4))
        record = {"a": str(place // 2), "b": str(place % 2), "size": place // 2 + 1}
        total = made.cost(record if tables else {place: 1})
        assert total is not None
        require_kept(both(atoms(first, change), atoms(second, change)), total, precise=False)


NOT_WITH_PLANS = ("additive gaussian", "lattice", "row", "odds-ratio", "mwem", "small-db", "channel")


def test_every_pair_of_formats_is_composed_above_or_refused_below() -> None:
    found = {frozenset(on_elements()[name].format for name in names) for names in PAIRS}
    found |= {frozenset(on_rows()[name].format for name in names) for names in combinations_with_replacement(ROWS, 2)}
    found |= {frozenset(("dp-designer/table-plan", on_elements()[name].format)) for name in NOT_WITH_PLANS}
    assert found == {frozenset(pair) for pair in combinations_with_replacement(KINDS, 2)} and len(found) == 91


@pytest.mark.parametrize("name", NOT_WITH_PLANS)
def test_a_plan_hides_rows_and_goes_with_nothing_that_makes_their_number_public(name: str) -> None:
    with pytest.raises(InvalidProblem, match="makes the number of records public"):
        composed(on_rows()["table-plan"], on_elements()[name])


def test_what_one_publishes_is_told_by_the_whole() -> None:
    """A change that the metric protects but a published margin does not: the joint law tells it for certain."""
    made = composed(on_elements()["additive"], on_elements()["lattice"])
    change = (-1, 0, 1, 0)
    assert made.cost(np.array(change)) is None and made.exact_budget(0, 2) is None
    moved = tuple(a + b for a, b in zip(X, change, strict=True))
    published = [TABLE.answers(np.array(x)).tolist() for x in (X, moved)]
    assert published[0] != published[1]
    assert composed(on_elements()["additive"]).cost(np.array(change)) is not None
