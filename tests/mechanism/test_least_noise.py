"""The staircase: numbers known in closed form, independent programs, laws against promises, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, NotPrivate, Problem, Workload, compare, design, invariants, load, metrics
from designer.certificate.frozen import to_spec
from designer.certificate.sensitivity import SensitivitySet
from designer.mechanism.staircase import StaircaseMechanism
from designer.mechanism.staircase_noise import Difference, Peaks, Stairs, protected_differences
from designer.sampling.entropy import SeededEntropy
from solvers.programs import lattice_law
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value
from tests.oracles.staircase_laws import largest_loss, lowest_heights, moved_steps

TRIANGLE = [[0, 0.3, 1.1], [0.3, 0, 1.0], [1.1, 1.0, 0]]


def test_of_equal_differences_the_least_budget_counts_to_the_last_bit() -> None:
    """Two pairs move the answers alike, and their budgets differ by 2^-50: the smaller one is kept, whichever comes first."""
    larger = 1 + 2.0**-50
    for budgets in ((1.0, larger), (larger, 1.0)):
        d = np.full((4, 4), 1.5)
        np.fill_diagonal(d, 0.0)
        (d[0, 1], d[2, 3]), (d[1, 0], d[3, 2]) = budgets, budgets
        sensitivity = SensitivitySet(metrics.from_matrix(d), np.array([[0.0], [1.0], [0.0], [1.0]]))
        found = protected_differences(sensitivity, np.array([True]), np.array([1.0]))
        assert [(u.steps, u.budget) for u in found] == [((1,), 1)]


def counts(size: int, budget: float, **rest: Any) -> Problem:
    return Problem(Workload.identity(size), metrics.add_remove(size, budget), **rest)


def steps_up_to(delta: int, budget: float, **rest: Any) -> Problem:
    """One query of whole values 0 to delta."""
    return Problem(Workload([np.arange(delta + 1.0)]), metrics.uniform(delta + 1, budget), **rest)


STEPS = steps_up_to(5, 2.0)

# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "told"), [(1.0, 1.841), (2.0, 0.362), (4.0, 0.038), (8.0, 0.00067)])
def test_one_count_has_the_geometric_law(budget: float, told: float) -> None:
    made = design(counts(1, budget), "staircase")
    assert made.loss == pytest.approx(1 / (2 * math.sinh(budget / 2) ** 2), rel=1e-9)
    assert made.loss == pytest.approx(told, rel=3e-3)
    assert made.optimality is not None and made.optimality.gap < 1e-4
    assert made.mechanism.noise.to_spec()["peaks"] == [[0]]


@pytest.mark.parametrize(("size", "budget"), [(2, 1.0), (2, 2.0), (3, 2.0)])
def test_independent_geometric_laws_are_best_for_counts(size: int, budget: float) -> None:
    made = design(counts(size, budget), "staircase")
    assert made.loss == pytest.approx(size / (2 * math.sinh(budget / 2) ** 2), rel=1e-9)
    assert made.optimality is not None and made.optimality.gap < 1e-4


def test_absolute_and_largest_losses_of_counts() -> None:
    assert design(counts(2, 1.0, loss="absolute"), "staircase").loss == pytest.approx(2 / math.sinh(1.0), rel=1e-9)
    assert design(counts(2, 1.0, loss="max"), "staircase").loss == pytest.approx(1 / (2 * math.sinh(0.5) ** 2), rel=1e-9)


@pytest.mark.parametrize(
    ("problem", "offset", "told"),
    [
        (steps_up_to(5, 1.0), "whole", 48.03),
        (steps_up_to(5, 2.0), "whole", 10.52),
        (steps_up_to(5, 4.0), "whole", 1.7536),
        (steps_up_to(5, 4.0), "best", 1.5416),
        (
            Problem(
                Workload([[0.0, 2, 4, 3]]),
                metrics.from_matrix([[0, 1.5, 3, 3], [1.5, 0, 1.5, 3], [3, 1.5, 0, 3], [3] * 3 + [0]]),
            ),
            "whole",
            None,
        ),
    ],
)
def test_one_number_against_the_program_of_its_coset(problem: Problem, offset: str, told: float | None) -> None:
    made = design(problem, "staircase", offset=offset)
    assert told is None or made.loss == pytest.approx(told, rel=3e-4)
    assert made.optimality is not None and made.optimality.gap < 1e-4
    whole = made.mechanism.noise
    assert isinstance(whole, Peaks)
    assert made.loss == pytest.approx(enumerated_program(made.mechanism, 110), rel=1e-6)


def enumerated_program(made: StaircaseMechanism, reach: int, kind: str = "squared") -> float:
    """The least loss on the coset within a box, with CVXPY, from the differences alone. What is outside counts as
    nothing, which matters less than 1e-7 where the box is wide."""
    noise = made.noise
    assert isinstance(noise, Peaks)
    least = moved_steps(to_plain(made))
    half = [sum(h * x for h, x in zip(noise.halves, column, strict=True)) // 2 for column in zip(*noise.basis, strict=True)]
    points = [
        tuple(
            int(sum(n * b for n, b in zip(row, column, strict=True)) + h)
            for column, h in zip(zip(*noise.basis, strict=True), half, strict=True)
        )
        for row in product(range(-reach, reach + 1), repeat=len(half))
    ]
    place = {z: i for i, z in enumerate(points)}
    y = cp.Variable(len(points), nonneg=True)  # relative to s, which falls off about as fast: probabilities far out are tiny
    pace = min(budget / max(map(abs, u)) for u, budget in least.items())
    s = np.exp(-pace * np.abs(np.array(points)).max(axis=1))
    rules = [s @ y == 1]
    for u, budget in least.items():
        ends = [
            (i, place[further])
            for z, i in place.items()
            if (further := tuple(a + b for a, b in zip(z, u, strict=True))) in place
        ]
        i, j = (list(part) for part in zip(*ends, strict=True))
        rules.append(y[i] <= cp.multiply(math.exp(budget) * s[j] / s[i], y[j]))
    each = np.abs(np.array(points) @ made._rows.T) ** (1 if kind == "absolute" else 2)
    parts = each if kind == "max" else each.sum(axis=1, keepdims=True)
    program = cp.Problem(cp.Minimize(cp.max((parts * s[:, None]).T @ y)), rules)
    # By the simplex method: an interior point, which some versions of Clarabel leave too early, is above the optimum by 1e-5.
    program.solve(solver=cp.HIGHS)
    return float(program.value)


def to_plain(made: StaircaseMechanism) -> Any:
    import json

    return json.loads(json.dumps(to_spec(made)["mechanism"]))


@pytest.mark.parametrize(
    ("relation", "queries", "reach"),
    [
        (metrics.uniform(4, 3.0), [[0.0, 1, 2, 2], [0, 2, 1, 2]], 17),
        (metrics.from_matrix([[0, 2.5, 4], [2.5, 0, 3], [4, 3, 0]]), [[0.0, 1, 2], [1, 0, 1]], 9),
        (metrics.uniform(4, 5.0), np.eye(4).tolist(), 4),
    ],
)
def test_two_and_three_dimensions_against_a_program_with_cvxpy(relation: Any, queries: Any, reach: int) -> None:
    made = design(Problem(Workload(queries), relation), "staircase")
    assert made.optimality is not None and made.optimality.gap < 1e-4
    assert made.loss == pytest.approx(enumerated_program(made.mechanism, reach), rel=1e-6)


@pytest.mark.parametrize("kind", ["absolute", "max"])
def test_absolute_and_largest_losses_against_a_program_with_cvxpy(kind: Any) -> None:
    relation = metrics.from_matrix([[0, 2.5, 4], [2.5, 0, 3], [4, 3, 0]])
    made = design(Problem(Workload([[0.0, 1, 2], [1, 0, 1]]), relation, loss=kind), "staircase")
    assert made.optimality is not None and made.optimality.gap < 1e-4
    assert made.loss == pytest.approx(enumerated_program(made.mechanism, 9, kind), rel=1e-6)


def test_a_small_table_that_keeps_its_margins() -> None:
    """Three counts of a public total, against a program; and every release of a 2 x 3 table keeps its margins."""
    total = design(Problem(Workload.identity(3), invariants.total(3).protect(2.0, 1)), "staircase")
    assert total.loss == pytest.approx(enumerated_program(total.mechanism, 11), rel=1e-6)
    made = design(Problem(Workload.identity(6), invariants.margins((2, 3)).protect(2.0, 2)), "staircase")
    noise = np.asarray(made.mechanism.simulate(50, seed=1)).reshape(50, 2, 3)
    assert not noise.sum(axis=1).any() and not noise.sum(axis=2).any() and noise.any()


# Geng and Viswanath ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.5, 2.0, 5.0])
def test_real_numbers_get_the_staircase_of_geng_and_viswanath(budget: float) -> None:
    delta, b = 2.7182818, math.exp(-budget)
    asked = Workload([[0.0, 0.3, delta]])
    squared = design(Problem(asked, metrics.uniform(3, budget)), "staircase")
    absolute = design(Problem(asked, metrics.uniform(3, budget), loss="absolute"), "staircase")
    assert isinstance(squared.mechanism.noise, Stairs) and squared.privacy.worst_ratio == 1
    least = delta**2 * (2 ** (-2 / 3) * b ** (2 / 3) * (1 + b) ** (2 / 3) + b) / (1 - b) ** 2
    assert squared.loss == pytest.approx(least, rel=1e-6)
    assert absolute.loss == pytest.approx(delta * math.exp(budget / 2) / math.expm1(budget), rel=1e-6)


def test_stairs_are_drawn_as_their_moments_say_and_keep_unequal_budgets() -> None:
    made = design(Problem(Workload([[0.0, 0.31, 2.9]]), metrics.from_matrix(TRIANGLE)), "staircase").mechanism
    assert isinstance(made.noise, Stairs) and made.privacy.holds
    assert (largest_loss(to_plain(made)) or 9) <= float(made.privacy.worst_ratio or 0) * (1 + 1e-9)
    drawn = Stairs(Fraction(1, 2), 5, 2).over(()).draw(2_000_000, SeededEntropy(3))[:, 0]
    values, levels = np.arange(-150, 151), np.arange(31)
    assert fits(drawn + 150, np.exp(-0.5 * np.maximum(0, -(-(np.abs(values) - 2) // 5))))
    reached = np.maximum(0, -(-(np.abs(drawn) - 2) // 5))
    crowds = np.where(levels == 0, 5, 10)
    assert fits(reached, crowds * np.exp(-0.5 * levels)) and not fits(reached, crowds * np.exp(-0.5 * levels / 1.01))


def fits(places: Any, masses: Any) -> bool:
    """Chi-square at `FAILURE_PROBABILITY`, what lies outside left out."""
    inside = places[(places >= 0) & (places < len(masses))]
    return p_value(np.bincount(inside, minlength=len(masses)), masses / masses.sum()) > FAILURE_PROBABILITY


# Laws and promises ---------------------------------------------------------------------------------------------------

LAWS = {
    "unequal budgets": Problem(Workload([[0, 1, 2], [1, 0, 1]]), metrics.from_matrix(TRIANGLE)),
    "three counts": counts(3, 1.5),
    "largest loss": Problem(Workload([[0, 1, 2, 1], [1, 0, 1, 3]]), metrics.uniform(4, 2.0), loss="max"),
    "euclidean": Problem(Workload([[0, 1, 2], [2, 0, 1]]), metrics.euclidean([[0.0], [1.0], [2.5]], 1.5)),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_probability_keeps_the_promise(name: str) -> None:
    made = design(LAWS[name], "staircase").mechanism
    loss, ratio = largest_loss(to_plain(made), 4000), float(made.privacy.worst_ratio or 0)
    assert loss is not None and 0.99 * ratio <= loss <= ratio * (1 + 1e-9) and ratio <= 1


@pytest.mark.parametrize("name", ["unequal budgets", "three counts", "largest loss"])
def test_draws_follow_the_law_by_definition(name: str) -> None:
    """Against Dijkstra's heights; a law that is 1 % wider is rejected."""
    made = design(LAWS[name], "staircase").mechanism
    heights = lowest_heights(to_plain(made)["noise"], moved_steps(to_plain(made)), 12_000)
    drawn = made._drawn.draw(400_000, SeededEntropy(5))
    place = {z: i for i, z in enumerate(heights)}
    kinds, counted = np.unique(drawn, axis=0, return_counts=True)
    found = np.zeros(len(heights), dtype=np.int64)
    for z, n in zip(map(tuple, kinds.tolist()), counted.tolist(), strict=True):
        if z in place:
            found[place[z]] = n
    exponents = float(made.noise.unit) * np.array(list(heights.values()), dtype=float)
    masses = np.exp(-exponents)
    assert p_value(found, masses / masses.sum()) > FAILURE_PROBABILITY
    level = np.floor(exponents).astype(int)
    for wider, right in ((1.0, True), (1.01, False)):
        pooled = np.bincount(level, np.exp(-exponents / wider))
        seen = np.bincount(level, found).astype(np.int64)
        assert (p_value(seen, pooled / pooled.sum()) > FAILURE_PROBABILITY) == right


def test_draws_outside_the_table_follow_the_law_too() -> None:
    """The same law from a table so small that every fifth draw is outside."""
    noise = design(steps_up_to(5, 4.0), "staircase", offset="best").mechanism._drawn
    object.__setattr__(noise.sampler, "shells", 1)  # type: ignore[attr-defined]
    drawn = noise.draw(15_000, SeededEntropy(8))[:, 0]
    heights = lowest_heights(
        to_plain(design(steps_up_to(5, 4.0), "staircase", offset="best").mechanism)["noise"],
        {(2 * u,): 4.0 for u in range(-5, 6) if u},
        60,
    )
    masses = np.zeros(201)
    for (z,), h in heights.items():
        masses[z + 100] = math.exp(-4.0 * h)
    assert (np.abs(drawn) > 2).mean() > 0.05
    assert fits(drawn + 100, masses) and not fits(
        drawn + 100, np.where(masses > 0, masses * np.exp(0.05 * np.abs(np.arange(-100, 101))), 0)
    )


def test_variances_are_those_of_the_enumerated_law() -> None:
    for name in ("unequal budgets", "euclidean"):
        made = design(LAWS[name], "staircase").mechanism
        heights = lowest_heights(to_plain(made)["noise"], moved_steps(to_plain(made)), 40_000)
        points = np.array(list(heights)) @ made._rows.T
        masses = np.exp(-float(made.noise.unit) * np.array(list(heights.values()), dtype=float))
        assert made.query_variances() == pytest.approx(masses @ points**2 / masses.sum(), rel=1e-6)
        assert made.query_mean_absolutes() == pytest.approx(masses @ np.abs(points) / masses.sum(), rel=1e-6)
        assert made.covariance() == pytest.approx((points.T * masses) @ points / masses.sum(), rel=1e-5, abs=1e-9)


def test_losses_are_never_below_their_bounds_nor_above_other_families() -> None:
    rng = np.random.default_rng(4)
    for budget in (1.5, 3.0, 6.0):
        queries = rng.integers(0, 3, (2, 5)).astype(float)
        problem = Problem(Workload(queries), metrics.uniform(5, budget))
        made = design(problem, "staircase")
        assert made.optimality is not None and made.optimality.lower_bound <= made.loss
        assert made.loss <= min(design(problem, family).loss for family in ("laplace", "k_norm"))


# Mechanisms ----------------------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_no_point_of_small_loss_outside_the_domain_spoils_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is wide along one direction of small loss: the bound was that of a point outside, 16 % below the law."""
    rows = np.random.default_rng(3).integers(0, 3, (3, 5)).astype(float)
    monkeypatch.setattr(lattice_law, "DOMAINS", ((2500, 16, 0.0, 0.0),))
    made = design(Problem(Workload(rows), metrics.uniform(5, 1.0)), "staircase")
    claim = made.optimality
    assert claim is not None and made.loss * 0.97 < claim.lower_bound <= made.loss


def test_releases_of_whole_queries_are_whole_and_files_come_back(tmp_path: Path) -> None:
    made = design(LAWS["largest loss"], "staircase").mechanism
    twin = load(made.save(tmp_path / "s.json"), StaircaseMechanism)
    assert twin == made and twin.privacy == made.privacy
    answers = np.array([twin.release([5, 6, 7, 8]).answers for _ in range(20)])
    assert (answers == np.rint(answers)).all() and len(set(answers[:, 0])) > 1


def test_thirds_are_whole_multiples_of_a_third() -> None:
    made = design(Problem(Workload([[0, 1 / 3, 2 / 3], [1, 0, 1]]), metrics.uniform(3, 2.0)), "staircase").mechanism
    answers = made.release([3, 3, 3]).answers
    assert answers[0] * 3 == pytest.approx(round(answers[0] * 3), abs=1e-9)
    assert made.effective == pytest.approx(made.workload.dense(), abs=1e-15)


@pytest.mark.parametrize(("parts", "budget"), [(2, 1.0), (2, 4.0), (5, 1.0), (5, 4.0), (10, 4.0)])
def test_one_sum_of_parts_is_never_behind_the_continuous_staircase_nor_behind_its_lattice(parts: int, budget: float) -> None:
    b = math.exp(-budget)
    continuous = (2 ** (-2 / 3) * b ** (2 / 3) * (1 + b) ** (2 / 3) + b) / (1 - b) ** 2
    problem = Problem(Workload([np.arange(parts + 1) / parts]), metrics.uniform(parts + 1, budget))
    made = design(problem, "staircase")
    lattice = design(problem, "staircase", offset="whole")
    assert made.loss <= min(continuous, lattice.loss) * (1 + 1e-9)


def test_halves_are_taken_for_fractions_while_queries_of_whole_numbers_stay_whole() -> None:
    mixed = Workload([[0, 1 / 3, 2 / 3, 2 / 3], [1, 0, 1, 0]])
    problem = Problem(mixed, metrics.uniform(4, 3.0))
    kept, best, whole = (design(problem, "staircase", offset=offset) for offset in ("fitting", "best", "whole"))
    assert best.loss <= kept.loss < 0.999 * whole.loss
    draws = kept.mechanism.simulate(300, seed=2)
    assert (draws[:, 1] == np.rint(draws[:, 1])).all()
    steps = draws[:, 0] * 6
    assert np.abs(steps - np.rint(steps)).max() < 1e-9 and (np.rint(steps) % 2 == 1).any()


def test_the_loss_of_a_change_is_the_cheapest_way() -> None:
    made = design(counts(2, [0.5, 1.0]), "staircase").mechanism  # type: ignore[arg-type]
    assert made.privacy_loss([1, 0]) == pytest.approx(0.5) and made.privacy_loss([[2, 1], [0, 0]]) == pytest.approx([2.0, 0.0])


def test_comparisons_and_auto_take_it() -> None:
    rows = {row["family"]: row for row in compare(STEPS).rows}
    assert rows["staircase"]["loss"] < rows["laplace"]["loss"] and rows["staircase"]["gap"] < 1e-4
    assert design(STEPS).mechanism.family == "staircase"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (counts(6, 1.0), "6 dimensions, more than 4"),
        (counts(3, 1e-3), "too wide for a table"),
        (Problem(Workload([[1.0, 1.0]]), metrics.uniform(2, 1.0)), "nothing to shape"),
        (Problem(Workload(np.random.default_rng(0).random((2, 3))), metrics.uniform(3, 1.0)), "no multiples of a unit"),
    ],
)
def test_what_is_beyond_it_is_refused_with_a_way_on(problem: Problem, message: str) -> None:
    with pytest.raises(DesignFailed, match=f"{message}.*"):
        design(problem, "staircase")


def test_a_law_that_breaks_a_budget_is_no_mechanism() -> None:
    good = design(Problem(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0)), "staircase").mechanism
    narrow = Stairs(Fraction(2), 2, 1)
    with pytest.raises(NotPrivate, match="spends its budget"):
        StaircaseMechanism("staircase", good.workload, good.relation, narrow, good.grid)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"peaks": ((0,), (2,)), "levels": (0, 1)}, "no opposite"),
        ({"peaks": ((-2,), (0,), (2,)), "levels": (1, 0, 1)}, "leave it out"),
        ({"peaks": ((1,),), "levels": (0,)}, "another coset"),
        ({"basis": ((4,),)}, "no whole combination"),
        ({"basis": ((2**45 + 2,),)}, r"beyond 2\^45 steps"),
        ({"basis": ((1,),)}, "generate less"),
        ({"unit": Fraction(3)}, "does not go into every budget"),
        ({"peaks": ((-400_000,), (400_000,)), "levels": (0, 0), "unit": Fraction(1, 10**6)}, "so wide|another one"),
    ],
)
def test_peaks_that_are_no_law_are_refused(change: Any, message: str) -> None:
    good = design(Problem(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0)), "staircase").mechanism
    fields = {"unit": Fraction(1), "basis": ((2,),), "halves": (0,), "peaks": ((0,),), "levels": (0,)}
    assert good.noise == Peaks(**fields)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match=message):
        StaircaseMechanism("staircase", good.workload, good.relation, Peaks(**{**fields, **change}), good.grid)


def test_no_more_differences_than_a_law_has_steps() -> None:
    """Both signs count: 400 differences are taken, 401 refused before any table."""
    noise = Peaks(Fraction(1), ((1,),), (0,), ((0,),), (0,))
    moved = [Difference((k,), Fraction(k), 0, k) for k in range(1, 402)]
    assert noise.over(moved[:400]).draw(2, SeededEntropy(1)).shape == (2, 1)
    with pytest.raises(InvalidProblem, match="802 protected differences, more than 800"):
        noise.over(moved)
