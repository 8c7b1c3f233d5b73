"""Averages over rows: images and their budgets against brute force over all rows,
designs against those on the full domain, program (14)."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    DesignFailed,
    Domain,
    InvalidProblem,
    Problem,
    Statistic,
    StatisticalQueries,
    Term,
    Workload,
    design,
    load,
    metrics,
)
from designer.averages.averages import average_bounds, separable, worst_row_bias
from designer.averages.queries import image_of
from designer.relations.metrics.metric import Metric
from designer.relations.row_groups import RowGroups
from solvers.programs.lipschitz import Distances as Limits
from solvers.programs.lipschitz import defect

DOMAIN = Domain.of({"a": 4, "b": 3, "c": [0, 1, 3], "unused": 2})
PLACES = [0, 1, 3]
JOINT = np.random.default_rng(5).integers(0, 3, (4, 3)).astype(float)
STATISTICS: dict[str, Any] = {
    "joint": (("a", "b"), JOINT),
    "single": ("c", lambda c: float(c) ** 2),
    "sum": [("a", [0, 0, 1, 1]), ("c", {0: 1, 1: 1, 3: 0})],
}
BUDGETS: dict[str, float | Metric] = {"a": 0.5, "b": 1.0, "c": metrics.euclidean(PLACES, per_unit=0.25), "unused": 2.0}
ROWS = list(product(*DOMAIN.values))


def answers(row: tuple[str, ...]) -> list[float]:
    """The three statistics of a row, written down again."""
    a, b, c = (int(v) for v in row[:3])
    return [JOINT[a, b], float(c**2), [0, 0, 1, 1][a] + {0: 1, 1: 1, 3: 0}[c]]


def distance(u: tuple[str, ...], v: tuple[str, ...], amounts: tuple[float, ...] = (0.5, 1.0, 0.25, 2.0)) -> float:
    """The budget of a change of rows."""
    moved = [amount for amount, x, y in zip(amounts, u, v, strict=True) if x != y]
    along = abs(int(u[2]) - int(v[2])) if u[2] != v[2] else 1
    return sum(moved) + (amounts[2] * (along - 1) if u[2] != v[2] else 0.0)


def queries(**changed: float | Metric) -> StatisticalQueries:
    return StatisticalQueries.of(DOMAIN, STATISTICS, {**BUDGETS, **changed})


def full(notion: Any = "pure", **options: Any) -> Problem:
    d = np.array([[distance(u, v) for v in ROWS] for u in ROWS])
    return Problem(Workload(np.array([answers(row) for row in ROWS]).T), metrics.from_matrix(d), notion=notion, **options)


@pytest.mark.parametrize("family", ["laplace", "k_norm", "ellipsoid", "box", "strategy_2", "gaussian", "diagonal_gaussian"])
def test_the_optimum_is_that_of_the_full_domain(family: str) -> None:
    notion: Any = "zcdp" if "gaussian" in family else "pure"
    small, large = design(queries().problem(notion=notion), family), design(full(notion), family)
    assert small.privacy.holds and small.problem.workload.shape[1] == 9 < len(ROWS)
    assert small.loss == pytest.approx(large.loss, rel=1e-6)


def test_the_optimum_under_one_metric_for_whole_rows() -> None:
    """No sum over attributes: places in the plane that the query does not tell apart."""
    points = np.random.default_rng(3).integers(0, 20, (12, 2)).astype(float)
    domain, table = Domain.of({"x": 4, "y": 3}), np.random.default_rng(4).integers(0, 3, (4, 3)).astype(float)
    asked = StatisticalQueries.of(domain, {"f": (("x", "y"), table)}, metrics.euclidean(points))
    small = design(asked.problem(), "laplace")
    everything = Problem(Workload(table.reshape(1, -1)), metrics.euclidean(points))
    assert asked.workload.shape == (1, 3)
    rounded = 2.0**-28  # weights are rounded to 32 bits, each by itself
    assert small.loss == pytest.approx(design(everything, "laplace").loss, rel=rounded)


def test_metrics_that_add_up_over_attributes_are_taken_apart() -> None:
    amounts = {"a": 0.5, "b": 1.0, "c": 0.25, "unused": 2.0}
    parts = [metrics.uniform(4, 0.5), metrics.uniform(3, 1.0), BUDGETS["c"], metrics.uniform(2, 2.0)]
    for whole, apart in ((metrics.hamming(DOMAIN, amounts), queries(c=0.25)), (metrics.product(DOMAIN, parts), queries())):  # type: ignore[arg-type]
        asked = StatisticalQueries.of(DOMAIN, STATISTICS, whole)
        assert asked.workload == apart.workload and asked.relation.to_spec().keys() == apart.relation.to_spec().keys()
        assert design(asked.problem(), "laplace").mechanism == design(apart.problem(), "laplace").mechanism


def brute_force_budgets(index: np.ndarray, d: list[list[int]]) -> list[list[int]]:
    """Least budgets over all preimages, closed by Floyd and Warshall, in whole numbers."""
    images = range(int(index.max()) + 1)
    inside = [[u for u, i in enumerate(index) if i == s] for s in images]
    least = [[0 if s == t else min(d[u][v] for u in inside[s] for v in inside[t]) for t in images] for s in images]
    for k in images:
        for s, t in product(images, images):
            least[s][t] = min(least[s][t], least[s][k] + least[k][t])
    return least


@pytest.mark.parametrize("seed", range(8))
def test_budgets_between_images(seed: int) -> None:
    generator = np.random.default_rng(seed)
    shape = tuple(int(n) for n in generator.integers(2, 5, 3))
    domain = Domain.of(dict(zip("abc", shape, strict=True)))
    places = generator.permutation(30)[: shape[0]]
    amounts = generator.integers(1, 9, 3)
    parts = [
        metrics.euclidean(places.tolist()),
        *(metrics.uniform(n, float(e)) for n, e in zip(shape[1:], amounts[1:], strict=True)),
    ]
    table = generator.integers(0, 3, (2, domain.size)).astype(float)
    rows = list(product(*map(range, shape)))
    d = [
        [
            int(abs(places[u[0]] - places[v[0]]))
            + sum(int(e) * (x != y) for e, x, y in zip(amounts[1:], u[1:], v[1:], strict=True))
            for v in rows
        ]
        for u in rows
    ]
    for image in (image_of(domain, table, parts), image_of(domain, table, metrics.from_matrix(d))):
        assert (image.columns[:, image.index] == table).all()
        found = image.metric.distances()
        # The line's float budgets are taken 2e-13 lower, sums of them are rounded up by N roundings.
        assert found == pytest.approx(np.array(brute_force_budgets(image.index, d)), rel=1e-12)


def test_every_change_of_rows_is_within_its_budget_exactly() -> None:
    """The certificate speaks of images; here every pair of rows is measured, in rationals."""
    asked = queries()
    made = design(asked.problem(), "laplace").mechanism
    weights = [Fraction(float(w)) for w in made.norm.map]
    columns = [
        [int(v) for v in made.integers @ asked.histogram([dict(zip(DOMAIN.attributes, row, strict=True))])] for row in ROWS
    ]
    worst = Fraction(0)
    for (i, u), (j, v) in product(enumerate(ROWS), enumerate(ROWS)):
        loss = sum(
            w * abs(a - b) * made.grid.step(k) for k, (w, a, b) in enumerate(zip(weights, columns[i], columns[j], strict=True))
        )
        assert loss <= Fraction(distance(u, v))
        worst = max(worst, loss / Fraction(distance(u, v)) if i != j else Fraction(0))
    assert worst > Fraction(999_999, 1_000_000)


def test_averages_and_release() -> None:
    asked, generator = queries(), np.random.default_rng(1)
    rows = [ROWS[i] for i in generator.integers(0, len(ROWS), 500)]
    records = [dict(zip(DOMAIN.attributes, row, strict=True)) for row in rows]
    truth = np.mean([answers(row) for row in rows], axis=0)
    columns = {name: [row[k] for row in rows] for k, name in enumerate(DOMAIN.attributes[:3])}
    assert asked.answer(records) == pytest.approx(truth) and asked.answer(columns) == pytest.approx(truth)
    assert asked.answer(record for record in records) == pytest.approx(truth)
    made = design(asked.problem(), "laplace").mechanism
    released = asked.release(made, records)
    # |Laplace noise| exceeds 40 scales with probability e^-40 for each of three answers.
    assert (np.abs(released.answers - truth) <= 40 * made.scales / 500).all() and (released.answers != truth).any()
    assert released.fingerprint == made.fingerprint and released.queries == ("joint", "single", "sum")
    assert (
        released.guarantee.relation.startswith("Any one record may change in any of its attributes; ")
        and "b 1.0" in released.guarantee.relation
    )


def test_attributes_may_be_named_in_any_order() -> None:
    by_pairs = {(a, b): JOINT[a, b] for a, b in product(range(4), range(3))}
    forms = [(("b", "a"), JOINT.T), (("b", "a"), lambda b, a: JOINT[int(a), int(b)]), (("a", "b"), by_pairs)]
    for form in forms:
        asked = StatisticalQueries.of(DOMAIN, {**STATISTICS, "joint": form}, BUDGETS)
        for row in ROWS:
            assert asked.answer([dict(zip(DOMAIN.attributes, row, strict=True))]).tolist() == answers(row)


def test_relation_of_groups() -> None:
    both = RowGroups(
        (metrics.uniform(2, 0.5), metrics.from_matrix([[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]])),
        ("a", "b"),
    )
    assert both.components().tolist() == [0, 0, 1, 1, 2]
    expected = {(0, 1): Fraction(1, 2), (2, 3): Fraction(1), (3, 4): None, (1, 2): None}
    assert {pair: both.exact_budget(*pair) for pair in expected} == expected
    assert both.largest_budget() == 1.5 and both.facts() == {"connected_components": 2}
    assert any("of a group" in sentence for sentence in both.unprotected())
    assert both.public_rows().tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]


def test_a_constant_is_published_exactly() -> None:
    asked = StatisticalQueries.of(DOMAIN, {"one": ("a", [3.0] * 4), "mean b": ("b", float)}, BUDGETS)
    made = design(asked.problem(), "laplace").mechanism
    assert made.scales.tolist() == [0.0, pytest.approx(2.0, rel=1e-9)]
    assert asked.release(made, [{"a": 0, "b": 1}] * 7).answers[0] == 3.0


def test_a_domain_of_10_to_the_100() -> None:
    """A score of 100 attributes: only one attribute at a time matters, so the scale is the largest range over its budget."""
    names = [f"item {k}" for k in range(100)]
    ranges = np.random.default_rng(0).integers(1, 50, 100) / 4
    budgets = np.random.default_rng(1).integers(1, 9, 100) / 8
    domain = Domain.of(dict.fromkeys(names, 10))
    terms = [(name, np.linspace(0.0, r, 10)) for name, r in zip(names, ranges, strict=True)]
    asked = StatisticalQueries.of(domain, {"score": terms}, dict(zip(names, budgets, strict=True)))
    made = design(asked.problem(), "laplace")
    assert asked.workload.shape == (1, 1000)
    assert made.mechanism.scales[0] == pytest.approx((ranges / budgets).max(), rel=1e-9)


def test_attributes_apart_do_not_share_their_budgets() -> None:
    names = [f"x{k}" for k in range(20)]
    domain = Domain.of({name: [0, 1] for name in names})
    asked = StatisticalQueries.of(domain, {name: (name, float) for name in names}, dict.fromkeys(names, 0.5))
    assert design(asked.problem(), "laplace").mechanism.scales == pytest.approx(np.full(20, 2.0), rel=1e-9)


def test_an_unprotected_attribute_is_published_exactly() -> None:
    asked = queries(c=math.inf)
    made = design(asked.problem(), "laplace").mechanism
    assert made.scales[1] == 0.0 and (made.scales[[0, 2]] > 0).all()
    assert made.guarantee.parameters["connected_components"] == 3
    assert any("Published exactly" in s and "single" in s for s in made.guarantee.unprotected)
    assert not any("group" in s for s in design(queries().problem(), "laplace").mechanism.guarantee.unprotected)


def test_bias_is_designed_for_single_records_only() -> None:
    with pytest.raises(DesignFailed, match="single records"):
        design(queries().problem(records=100), "laplace_joint")


# Program (14) and Theorem 11


def marginals(seed: int, n: float) -> tuple[StatisticalQueries, list[np.ndarray], list[np.ndarray]]:
    """Two attributes with values and metrics at random: the queries, the values and the distances of each."""
    generator = np.random.default_rng(seed)
    values = [np.sort(generator.choice(20, size, replace=False)) / 4.0 for size in (3, 4)]
    places = [generator.choice(9, len(v), replace=False).tolist() for v in values]
    distances = [np.abs(np.subtract.outer(p, p)) * rate / n for p, rate in zip(places, (1.0, 2.5), strict=True)]
    domain = Domain.of({"a": 3, "b": 4})
    budgets = {name: metrics.from_matrix(d) for name, d in zip("ab", distances, strict=True)}
    return StatisticalQueries.of(domain, {"mean a": ("a", values[0]), "mean b": ("b", values[1])}, budgets), values, distances


def least_bias(values: list[np.ndarray], distances: list[np.ndarray], scales: np.ndarray, n: float) -> float:
    """`min_p max_u ||p(u) - u||_1` over ALL functions p of rows, not only separable ones, by linear programming with HiGHS."""
    from scipy.optimize import linprog

    rows = list(product(range(3), range(4)))
    size = len(
        rows
    )  # variables: p_a, p_b, |p_a - u_a|, |p_b - u_b| of every row, then the maximum, then |differences| of every pair
    pairs = [(i, j) for i in range(size) for j in range(i)]
    total = 4 * size + 1 + 2 * len(pairs)
    matrix: list[np.ndarray] = []
    right: list[float] = []

    def limit(entries: dict[int, float], bound: float) -> None:
        matrix.append(np.zeros(total))
        matrix[-1][list(entries)] = list(entries.values())
        right.append(bound)

    for i, row in enumerate(rows):
        for k in (0, 1):
            for sign in (1.0, -1.0):
                limit({k * size + i: sign, (2 + k) * size + i: -1.0}, sign * values[k][row[k]])
        limit({2 * size + i: 1.0, 3 * size + i: 1.0, 4 * size: -1.0}, 0.0)
    for m, (i, j) in enumerate(pairs):
        at = 4 * size + 1 + 2 * m
        for k in (0, 1):
            for sign in (1.0, -1.0):
                limit({k * size + i: sign, k * size + j: -sign, at + k: -1.0}, 0.0)
        budget = sum(distances[k][rows[i][k], rows[j][k]] for k in (0, 1))
        limit({at: 1 / scales[0], at + 1: 1 / scales[1]}, n * budget)
    objective = np.zeros(total)
    objective[4 * size] = 1.0
    solved = linprog(objective, np.array(matrix), right, bounds=(None, None))
    assert solved.status == 0
    return float(solved.fun)


@pytest.mark.parametrize("seed", range(4))
def test_separable_answers_are_best_among_all_functions_of_a_row(seed: int) -> None:
    n = 10.0
    _, values, distances = marginals(seed, n)
    for scales in np.random.default_rng(seed).uniform(0.05, 0.8, (3, 2)):
        envelopes = [defect(v, Limits(n * d))(float(c)) for v, d, c in zip(values, distances, scales, strict=True)]
        assert least_bias(values, distances, scales, n) == pytest.approx(sum(envelopes), abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_program_14_against_a_scan_of_scales(seed: int) -> None:
    n = 10.0
    asked, values, distances = marginals(seed, n)
    made = separable(asked, n)
    scales = np.linspace(0, 6, 60_001)
    scanned = []
    for v, d in zip(values, distances, strict=True):
        i, j = np.triu_indices(len(v), 1)
        bias = np.maximum(np.abs(v[i] - v[j]) - n * scales[:, None] * d[i, j], 0).max(axis=1) / 2
        scanned.append(float((bias + scales).min()))
    assert made.privacy.holds and made.optimality is not None
    assert made.optimality.value == pytest.approx(sum(scanned), abs=1e-3)
    assert made.optimality.value <= sum(scanned) + 1e-9
    assert made.optimality.gap < 1e-9


@pytest.mark.parametrize(("n", "scale"), [(100, 0.04), (5, 0.8), (3.9, 0.0), (1, 0.0)])
def test_signs_in_closed_form(n: float, scale: float) -> None:
    """Two values at distance 2 with budget e: scale 2 / (n e) without bias while that is below 1,
    else the constant answer 0, off by 1."""
    asked = StatisticalQueries.of(Domain.of({"a": [-1, 1]}), {"a": ("a", float)}, {"a": 0.5})
    made = separable(asked, n)
    assert made.scales[0] / n == pytest.approx(scale, abs=1e-12)
    assert made.optimality is not None and made.optimality.value == pytest.approx(min(1.0, 4 / n), rel=1e-9)


def test_bounds_of_theorem_11() -> None:
    """Against every row of the domain: bias by enumeration, moments and tail of continuous Laplace noise in closed form."""
    n, delta = 10.0, 0.1
    asked, _, _ = marginals(0, n)
    made = separable(asked, n)
    bounds, c = average_bounds(asked, made, n, delta), made.scales / n
    off = made.effective - asked.workload.dense()
    every = [off[:, i] + off[:, 3 + j] for i, j in product(range(3), range(4))]
    assert off.any()
    for order, bias in zip((1, 2, math.inf), bounds.bias, strict=True):
        assert bias == pytest.approx(max(np.linalg.norm(row, order) for row in every), rel=1e-12)
    assert bounds.squared == pytest.approx(2 * (bounds.bias[1] ** 2 + 2 * (c**2).sum()), rel=1e-9)
    assert bounds.centred == pytest.approx(max((row**2).sum() for row in every) + 2 * (c**2).sum(), rel=1e-9)
    assert bounds.l1 == pytest.approx(bounds.bias[0] + c.sum(), rel=1e-9)
    reached = bounds.high_probability - bounds.bias[2]
    assert reached <= math.log(2 / delta) * c.max() * (1 + 1e-6)
    assert 1 - np.prod(1 - np.exp(-reached / c[c > 0])) == pytest.approx(delta, rel=1e-5)


def test_bias_of_statistics_that_share_groups_is_bounded() -> None:
    """The grid moves roots, which have no common unit, a little: that bias is enumerated over all rows."""
    asked = StatisticalQueries.of(
        DOMAIN, {"f": [("a", [0, 3**-0.5, 7**-0.5, 1]), ("c", [3**-0.5, 11**-0.5, 7**-0.5])]}, BUDGETS
    )
    made = design(asked.problem(), "laplace").mechanism
    off = made.effective - asked.workload.dense()
    every = [off @ asked.histogram([dict(zip(DOMAIN.attributes, row, strict=True))]) for row in ROWS]
    for order in (1, 2, math.inf):
        largest = max(np.linalg.norm(row, order) for row in every)
        assert 0 < largest <= worst_row_bias(asked, made, order) * (1 + 1e-9)
        assert worst_row_bias(asked, made, order) <= 3 * largest


# Spec


def test_a_design_over_groups_is_saved_and_loaded(tmp_path: Path) -> None:
    for asked in (queries(), queries(c=math.inf)):
        made = design(asked.problem(), "laplace").mechanism
        loaded = load(made.save(tmp_path / "spec.json"))
        assert loaded == made and loaded.verify().holds  # type: ignore[attr-defined]
        assert asked.release(loaded, [dict(zip(DOMAIN.attributes, ROWS[0], strict=True))]).answers.shape == (3,)  # type: ignore[arg-type]


# Refusals


@pytest.mark.parametrize(
    ("statistics", "budgets", "words"),
    [
        ({}, BUDGETS, "asks nothing"),
        ({"f": []}, BUDGETS, "is not \\(attributes, function\\)"),
        ({"f": "a"}, BUDGETS, "is not \\(attributes, function\\)"),
        ({"f": (["a", "a"], [0] * 16)}, BUDGETS, "each named once"),
        ({"f": ("z", float)}, BUDGETS, "'z' is not one of"),
        ({"f": ("a", [1, 2])}, BUDGETS, "give an array of shape \\(4,\\)"),
        ({"f": ("a", {0: 1.0})}, BUDGETS, "has no number for"),
        ({"f": ("a", lambda a: math.nan)}, BUDGETS, "is nan"),
        ({"f": ("a", float)}, {"a": 1.0}, "name each once"),
        ({"f": ("a", float)}, {**BUDGETS, "a": -1.0}, "budgets\\[a\\]"),
        ({"f": ("a", float)}, {**BUDGETS, "a": metrics.uniform(3, 1.0)}, "on 3 elements for 4 values"),
        ({"f": ("a", float)}, metrics.uniform(3, 1.0), "on 3 elements for a domain of 72"),
    ],
)  # fmt: skip
def test_refusals(statistics: Any, budgets: Any, words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        StatisticalQueries.of(DOMAIN, statistics, budgets)


def test_refusals_of_sizes() -> None:
    huge = Domain.of({"a": 4000, "b": 4000})
    with pytest.raises(InvalidProblem, match="combinations"):
        StatisticalQueries.of(huge, {"f": (("a", "b"), lambda a, b: 0.0)}, {"a": 1.0, "b": 1.0})
    wide = Domain.of({"a": 2500, "b": 2})
    with pytest.raises(InvalidProblem, match="different answers"):
        StatisticalQueries.of(wide, {"f": (("a", "b"), lambda a, b: float(a))}, {"a": 1.0, "b": 1.0})
    many = Domain.of(dict.fromkeys("abcde", 40))
    chained = {f"{x}{y}": ((x, y), np.ones((40, 40))) for x, y in zip("abcd", "bcde", strict=True)}
    with pytest.raises(InvalidProblem, match="sums of terms"):
        StatisticalQueries.of(many, chained, dict.fromkeys("abcde", 1.0))


def test_refusals_of_releases_do_not_depend_on_values() -> None:
    asked = queries()
    made = design(asked.problem(), "laplace").mechanism
    texts = set()
    for record in ({"a": 9, "b": 0, "c": 0}, {"a": 0, "b": "secret", "c": 0}, {"a": 0}):
        with pytest.raises(InvalidProblem) as refusal:
            asked.release(made, [record])
        texts.add(str(refusal.value))
    assert len(texts) == 1 and "secret" not in texts.pop()
    with pytest.raises(InvalidProblem, match="there are none"):
        asked.release(made, [])
    with pytest.raises(InvalidProblem, match="other queries"):
        queries(b=3.0).release(made, [{"a": 0, "b": 0, "c": 0}])


def test_refusals_of_separable() -> None:
    with pytest.raises(DesignFailed, match="groups that decide one statistic"):
        separable(queries(), 10)
    zero = metrics.from_matrix([[0, 0], [0, 0]])
    asked = StatisticalQueries.of(Domain.of({"a": [0, 1], "b": 2}), {"a": ("a", float)}, {"a": zero, "b": 1.0})
    with pytest.raises(DesignFailed, match="budget 0"):
        separable(asked, 10)
    made = design(queries().problem(), "ellipsoid").mechanism
    with pytest.raises(InvalidProblem, match="independent Laplace"):
        average_bounds(queries(), made, 10)
    with pytest.raises(InvalidProblem, match="probability"):
        average_bounds(queries(), made, 10, delta=0.0)


def test_refusals_of_columns_and_tables() -> None:
    with pytest.raises(InvalidProblem, match="different lengths"):
        queries().answer({"a": [0, 1], "b": [0], "c": [0, 1]})
    with pytest.raises(InvalidProblem, match="does not fit"):
        StatisticalQueries(DOMAIN, (Statistic("f", (Term(("a",), np.zeros(3)),)),), (1.0, 1.0, 1.0, 1.0))


def test_queries_are_frozen_and_survive_pickling() -> None:
    asked = queries()
    again = pickle.loads(pickle.dumps(asked))
    assert again.workload == asked.workload and again.sentence() == asked.sentence()
    for array in (asked.statistics[0].terms[0].table, asked.groups[0].columns, asked.groups[0].index):
        assert not array.flags.writeable


def test_refusals_of_groups() -> None:
    with pytest.raises(InvalidProblem, match="parts"):
        RowGroups((), ())
    with pytest.raises(InvalidProblem, match="names"):
        RowGroups((metrics.uniform(2, 1.0),), ("a", "b"))
