"""Column generation beside the whole program, on budgets of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from examples.own_report import full_program
from solvers.channel_lp.cone import (
    Flow,
    checked_budgets,
    components,
    envelope,
    exactly_proven,
    near_edges,
    no_flow,
    poles,
    proven,
    spanner,
)
from solvers.channel_lp.generation import (
    ChannelLP,
    LossLimits,
    NoMixture,
    Prices,
    column_generation,
    exact_bound,
    mixture_of_poles,
)
from solvers.solution import Status
from solvers.work import within

Array = NDArray[np.float64]
KINDS = ("plane", "grid", "tree", "cycle", "uniform", "apart", "steep")


def budgets_of(kind: str, rng: np.random.Generator) -> Array:
    """A table with the triangle inequality, of 2 to 9 elements."""
    n = int(rng.integers(2, 10))
    if kind == "uniform":
        return np.asarray(float(rng.uniform(0.1, 3)) * (1 - np.eye(n)), dtype=float)
    if kind == "grid":
        at: Array = np.array([(i, j) for i in range(3) for j in range(3)], dtype=float)[:n]
        return np.asarray(float(rng.uniform(0.2, 2)) * np.abs(at[:, None] - at).sum(axis=2))
    if kind == "cycle":
        around = np.abs(np.arange(n)[:, None] - np.arange(n))
        return np.asarray(float(rng.uniform(0.2, 2)) * np.minimum(around, n - around))
    if kind == "tree":
        ways = np.full((n, n), np.inf)
        for k in range(1, n):
            ways[k, int(rng.integers(k))] = rng.uniform(0.2, 2)
        found = np.asarray(shortest_path(np.where(np.isfinite(ways), ways, 0), directed=False), dtype=float)
        return np.asarray(np.minimum(found, found.T))
    x = rng.uniform(0, 3, (n, 2))
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2)) * (6.0 if kind == "steep" else 1.0)
    if kind == "apart":
        part = rng.integers(0, 2, n)
        b = np.where(part[:, None] == part, b, np.inf)
    return np.asarray(b)


def problems(kind: str, count: int) -> Iterator[tuple[Array, Array, Array, np.random.Generator]]:
    """Budgets, a prior, which may be skewed, and a loss (N, M)."""
    for seed in range(count):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        b = budgets_of(kind, rng)
        n, m = len(b), int(rng.integers(1, 8))
        prior = rng.dirichlet(np.full(n, 0.3)) if seed % 2 else np.full(n, 1 / n)
        loss = rng.uniform(0, 3, (n, m)) if seed % 3 else np.where(np.isfinite(b), b, 5.0)
        yield b, prior, loss, rng


def keeps(table: Array, b: Array, slack: float = 1e-9) -> bool:
    """All pairs, all reports, rows that sum to 1."""
    with np.errstate(invalid="ignore", over="ignore"):
        limits = np.where(np.isinf(b)[:, :, None], np.inf, np.exp(np.minimum(b, 600))[:, :, None] * table[None])
    return bool(
        (table[:, None] <= limits + slack).all() and np.allclose(table.sum(axis=1), 1, atol=1e-11) and (table >= 0).all()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_the_whole_program(kind: str) -> None:
    for b, prior, loss, _ in problems(kind, 12):
        costs = prior[:, None] * loss
        found = column_generation(b, costs, poles(b), norm=prior, gap=1e-7)
        value = full_program(b, costs)[1]
        assert found.status is Status.OPTIMAL or found.value - found.lower_bound <= 1e-8
        assert found.lower_bound <= value + 1e-9 and found.value >= value - 1e-8
        assert abs(found.value - value) <= 1e-7 * value + 1e-8
        table = found.point.table(loss.shape[1])
        assert keeps(table, b)
        assert (costs * table).sum() == pytest.approx(found.value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_any_prices_prove_a_bound(kind: str) -> None:
    for b, prior, loss, rng in problems(kind, 8):
        costs = prior[:, None] * loss
        program = ChannelLP.of(b, costs, prior)
        value = full_program(b, costs)[1]
        prices = Prices(rng.normal(0, 1, len(b)), (), tuple(no_flow() for _ in range(loss.shape[1])))
        assert program.bound(prices) <= value + 1e-9


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "apart"])
def test_the_bound_holds_in_rationals_and_is_next_to_that_of_floats(kind: str) -> None:
    for b, prior, loss, _ in problems(kind, 6):
        costs = prior[:, None] * loss
        found = column_generation(b, costs, poles(b), norm=prior, gap=1e-6)
        exact = [[Fraction(c) for c in row] for row in costs.tolist()]
        even = [Fraction(1, len(b))] * len(b)

        def above(i: int, j: int, b: Array = b) -> Fraction:
            return Fraction(float(np.exp(b[i, j]))) * (1 + Fraction(1, 1 << 50))

        bound = exact_bound(found.point.prices, exact, even, above)
        assert bound <= full_program(b, costs)[1] + 1e-9
        ours = ChannelLP.of(b, costs, np.full(len(b), 1 / len(b))).bound(found.point.prices)
        assert ours <= bound and abs(float(bound) - ours) <= 1e-9 * max(1.0, abs(ours)) * np.exp(b.max())


@pytest.mark.parametrize("kind", KINDS)
def test_any_flow_bounds_every_column_in_floats_and_in_rationals(kind: str) -> None:
    for b, *_, rng in problems(kind, 20):
        n = len(b)
        norm, margin = rng.dirichlet(np.ones(n)) + 1e-3, rng.normal(size=n)
        i, j = np.nonzero(np.isfinite(b) & (b < 20) & (b > 0) & (rng.uniform(size=b.shape) < 0.5))
        flow = Flow(i, j, rng.uniform(0, 1, len(i)) * np.exp(-b[i, j]))
        d = proven(margin, norm, flow, b, np.ones(n, dtype=bool))
        ratios = {(x, y): Fraction(float(np.exp(b[x, y]))) for x, y in zip(i.tolist(), j.tolist(), strict=True)}
        amounts = [(x, y, Fraction(f)) for x, y, f in zip(i.tolist(), j.tolist(), flow.amounts.tolist(), strict=True)]
        rational = [list(map(Fraction, part.tolist())) for part in (margin, norm)]
        assert float(exactly_proven(rational[0], rational[1], amounts, ratios)) == pytest.approx(d, rel=1e-9, abs=1e-9)
        for column in envelope(b, np.hstack([np.eye(n), rng.uniform(0, 1, (n, 10)) ** 6])).T:
            assert margin @ column >= -d * (norm @ column) - 1e-12
        net = flow.net(b)[0]
        expected = [flow.amounts[i == x].sum() - (flow.amounts[j == x] * np.exp(b[i, j][j == x])).sum() for x in range(n)]
        assert np.allclose(net, expected) and d == pytest.approx(float(((-margin - expected) / norm).max()), rel=1e-6, abs=1e-6)


def test_a_norm_that_does_not_sum_to_one_and_flows_below_nothing_prove_nothing() -> None:
    one = Fraction(1)
    prices = Prices(np.zeros(2), (), (Flow(np.array([0]), np.array([1]), np.array([-1.0])),))
    with pytest.raises(ValueError, match="sum to 1"):
        exact_bound(prices, [[one], [one]], [one, one], lambda _i, _j: one)
    with pytest.raises(ValueError, match="at least 0"):
        exact_bound(prices, [[one], [one]], [one / 2, one / 2], lambda _i, _j: one)


@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_element_counts_where_limits_have_no_caps(kind: str) -> None:
    for b, _, loss, _ in problems(kind, 6):
        limits = (LossLimits(np.eye(len(b)), loss),)
        nothing = np.zeros_like(loss)
        found = column_generation(b, nothing, poles(b), limits=limits, gap=1e-6)
        value = full_program(b, nothing, limits)[1]
        assert abs(found.value - value) <= 1e-6 * value + 1e-8 and found.lower_bound <= value + 1e-9
        assert (found.point.table(loss.shape[1]) * loss).sum(axis=1).max() == pytest.approx(found.value, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_caps_on_another_loss_are_kept_or_refused_with_a_proof(kind: str) -> None:
    for k, (b, prior, loss, rng) in enumerate(problems(kind, 8)):
        costs, other = prior[:, None] * loss, rng.uniform(0, 1, loss.shape)
        at_best = column_generation(b, prior[:, None] * other, poles(b), norm=prior, gap=1e-7)
        cap = at_best.value * (0.9, 1.02, 1.3)[k % 3]
        limits = (LossLimits(prior[None], other, np.array([cap])),)
        if cap < at_best.lower_bound:
            with pytest.raises(NoMixture):
                column_generation(b, costs, poles(b), norm=prior, limits=limits)
            continue
        found = column_generation(b, costs, poles(b), norm=prior, limits=limits, gap=1e-6)
        value = full_program(b, costs, limits)[1]
        assert abs(found.value - value) <= 1e-6 * value + 1e-8 and found.lower_bound <= value + 1e-9
        assert (prior[:, None] * other * found.point.table(loss.shape[1])).sum() <= cap + 1e-9


@pytest.mark.parametrize("kind", ("plane", "apart"))
def test_reports_that_are_forbidden_to_one_are_given_by_none_of_its_component(kind: str) -> None:
    for b, prior, loss, rng in problems(kind, 10):
        allowed = rng.uniform(size=loss.shape) < 0.85
        costs = prior[:, None] * loss
        try:
            value = full_program(b, costs, allowed=allowed)[1]
        except NoMixture:
            with pytest.raises(NoMixture):
                column_generation(b, costs, poles(b), allowed=allowed)
            continue
        found = column_generation(b, costs, poles(b), allowed=allowed, gap=1e-7)
        assert abs(found.value - value) <= 1e-7 * value + 1e-8
        assert not found.point.table(loss.shape[1])[~allowed].any()


def test_poles_mix_no_better_than_the_optimum_and_are_private_wherever_they_lie() -> None:
    rng = np.random.default_rng(5)
    x, outside = rng.uniform(0, 3, (12, 2)), rng.uniform(-2, 5, (60, 2))
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    apart = np.hstack([np.sqrt(((x[:, None] - outside) ** 2).sum(axis=2)), np.full((12, 1), b.max())])
    found = mixture_of_poles(apart, b / 12)
    assert keeps(found.point.table(12), b, 1e-12)
    assert found.value >= full_program(b, b / 12)[1] - 1e-9 and found.gap == np.inf


def test_poles_that_do_not_mix_to_rows_of_one_are_refused() -> None:
    x = np.array([(i, j) for i in range(5) for j in range(5)]) * 0.5
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    with pytest.raises(NoMixture, match="25 poles do not mix"):
        mixture_of_poles(b, b / 25)


@pytest.mark.parametrize("kind", KINDS)
def test_near_edges_imply_all_pairs_and_a_spanner_all_but_for_its_stretch(kind: str) -> None:
    for b, *_ in problems(kind, 6):
        whole = np.where(b <= 25, b, np.inf)
        for edges, stretch in ((near_edges(b), 1.0), (spanner(b, 1.2), 1.2)):
            ways = np.full(b.shape, np.inf)
            ways[edges.left, edges.right] = edges.budgets
            ways[edges.right, edges.left] = edges.budgets
            np.fill_diagonal(ways, 0)
            for k in range(len(b)):
                ways = np.minimum(ways, ways[:, [k]] + ways[k])
            assert (ways[np.isfinite(whole)] <= stretch * whole[np.isfinite(whole)] * (1 + 1e-9)).all()


def test_the_program_on_a_spanner_keeps_all_pairs_and_costs_more() -> None:
    x = np.array([(i, j) for i in range(3) for j in range(3)])
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    found, kept = spanner(b, 1.3), np.full(b.shape, np.inf)
    kept[found.left, found.right] = kept[found.right, found.left] = found.budgets / 1.3
    np.fill_diagonal(kept, 0)
    table, value = full_program(kept, b / 9)
    assert keeps(table, b, 1e-8) and value >= full_program(b, b / 9)[1] - 1e-9


def test_an_envelope_is_the_least_column_of_the_cone_above() -> None:
    rng = np.random.default_rng(1)
    b = budgets_of("plane", rng)
    v = rng.uniform(0, 1, (len(b), 3))
    lifted = envelope(b, v)
    assert (lifted >= v).all() and np.allclose(envelope(b, lifted), lifted)
    assert (lifted[:, None] <= np.exp(b)[:, :, None] * lifted[None] * (1 + 1e-12)).all()
    assert components(np.array([[0, np.inf, 1], [np.inf, 0, np.inf], [1, np.inf, 0]])).tolist() == [0, 1, 0]


def test_a_search_without_work_ends_after_its_first_round_with_a_bound() -> None:
    x = np.array([(i, j) for i in range(4) for j in range(4)])
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    with within(0.0) as work:
        found = column_generation(b, b / 16, poles(b), gap=1e-9)
    assert work.cut and found.iterations == 1 and found.status is Status.STALLED
    assert 0 < found.lower_bound <= full_program(b, b / 16)[1] <= found.value


def test_the_same_question_has_the_same_answer() -> None:
    b = budgets_of("plane", np.random.default_rng(3))
    one, two = (column_generation(b, b / len(b), poles(b), gap=1e-6) for _ in range(2))
    assert one.value == two.value and (one.point.table(len(b)) == two.point.table(len(b))).all()


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ([[0, 1], [2, 0]], "symmetric"),
        ([[0, 0], [0, 0]], "merge"),
        ([[1.0]], "zeros on the diagonal"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
    ],
)
def test_budgets_that_make_no_cone_are_refused(budgets: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_budgets(budgets)


def test_what_does_not_fit_is_refused() -> None:
    b = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"costs of shape \(3, 2\)"):
        column_generation(b, np.zeros((3, 2)), poles(b))
    with pytest.raises(ValueError, match="norm of shape"):
        column_generation(b, b, poles(b), norm=[1.0, -1.0])
    with pytest.raises(ValueError, match="allowed of shape"):
        column_generation(b, b, poles(b), allowed=[True, False])
    with pytest.raises(ValueError, match="start of shape"):
        column_generation(b, b, -poles(b))


def test_poles_that_are_far_from_all_elements_are_mixed_like_near_ones() -> None:
    """All entries of a column below what a solver takes for 0: its weight makes up for that."""
    b = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    costs = b / 4
    near, far = mixture_of_poles(b, costs), mixture_of_poles(np.hstack([b + 23, b + 800]), costs)
    assert far.value == pytest.approx(near.value, rel=1e-9)
    assert np.abs((far.point.columns * far.point.weights).sum(axis=1) - 1).max() < 1e-12
