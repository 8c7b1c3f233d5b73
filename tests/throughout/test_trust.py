"""What is left of the list of attacks: extreme parameters, vacuous promises, public policies, and what a guarantee states."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest

import designer
from designer import Design, DesignFailed, InvalidProblem, NotPrivate, Problem, Workload, compare, design, metrics
from designer.relations.metrics.metric import Metric

EXTREMES = [5e-324, 1e-300, 1e-160, 1e-100, 1e-30, 1e-6, 1e6, 1e30, 1e100, 1e160, 1e300, 1.7e308]
FAMILIES = ["laplace", "strategy_1", "strategy_2", "strategy_3", "uniform_budget"]


def geometric_variance(scale: float, unit: float) -> float:
    """Of the two-sided geometric law on the multiples of a unit, `P(z) ~ exp(-|z| / scale)`."""
    return 0.0 if unit > 700 * scale else unit * (unit / (2 * math.sinh(unit / scale / 2) ** 2))


def correct(made: Design, scale: float, unit: float) -> None:
    """The design of `unit` times identity queries under one budget: the closed form is known."""
    assert made.privacy.holds
    np.testing.assert_allclose(made.mechanism.scales, scale, rtol=1e-6)
    assert made.mechanism.error() == pytest.approx(3 * geometric_variance(scale, unit), rel=1e-6)
    assert np.isfinite(made.mechanism.release([1, 2, 3]).answers).all()
    if made.optimality:
        assert 0 <= made.optimality.gap < 1e-6
        assert made.optimality.lower_bound <= made.optimality.value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
@pytest.mark.parametrize("epsilon", EXTREMES)
def test_extreme_budgets_are_designed_or_refused(epsilon: float, loss: str, family: str) -> None:
    problem = Problem(Workload.identity(3), metrics.uniform(3, epsilon), loss=loss)
    try:
        made = design(problem, family)
    except (DesignFailed, InvalidProblem) as refusal:
        assert not 1e-9 < epsilon < 1e9
        assert "choose" in str(refusal) or "raise its budgets" in str(refusal)
    else:
        correct(made, (3 if family == "strategy_1" else 2) / epsilon, 1.0)  # equal shares give each query a third


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("unit", EXTREMES)
def test_extreme_queries_are_designed_or_refused(unit: float, family: str) -> None:
    problem = Problem(Workload(np.eye(3) * unit), metrics.uniform(3, 1.0))
    try:
        made = design(problem, family)
    except (DesignFailed, InvalidProblem) as refusal:
        assert not 1e-90 < unit < 1e90
        assert "choose" in str(refusal)
    else:
        correct(made, (3 if family == "strategy_1" else 2) * unit, unit)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("offset", [1e3, 1e9, 1e12, 1e15, 1e300])
def test_large_constants_in_a_query_are_designed_or_refused(offset: float) -> None:
    problem = Problem(Workload([[offset, offset + 1, offset + 2]]), metrics.uniform(3, 1.0))
    try:
        made = design(problem, "laplace")
    except DesignFailed as refusal:
        assert offset > 1e9
        assert "subtract a constant" in str(refusal) or "choose" in str(refusal)
    except InvalidProblem as refusal:
        assert np.ptp(problem.workload.dense()) == 0  # 1e300 + 2 is 1e300
        assert "hides nothing" in str(refusal)
    else:
        assert made.mechanism.scales[0] == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_vacuous_relation_is_refused_unless_asked_for(family: str) -> None:
    nothing = metrics.from_matrix([[0, math.inf], [math.inf, 0]])
    for relation in (nothing, metrics.uniform(1, 1.0), metrics.add_remove(2, [math.inf, math.inf])):
        workload = Workload.identity(relation.size)
        with pytest.raises(InvalidProblem, match="protects no change at all"):
            Problem(workload, relation)
        problem = Problem(workload, relation, allow_vacuous=True)
        try:
            made = design(problem, family).mechanism
        except DesignFailed as refusal:
            assert "no positive finite budget" in str(refusal)
            continue
        assert (made.scales == 0).all()
        assert made.privacy.witness is None
        assert "Published exactly" in made.guarantee.to_text()


def test_components_of_the_protected_graph_are_reported() -> None:
    inf = math.inf
    islands = metrics.from_matrix([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, 1], [inf, inf, 1, 0]])
    guarantee = design(Problem(Workload.prefix(4), islands), "laplace").mechanism.guarantee
    assert guarantee.parameters["connected_components"] == 2
    text = guarantee.to_text()
    assert "different connected components of the relation are not protected" in text
    assert "The number of records is public" in text
    # The count of the first island, and the total, are known to everybody who knows who lives where.
    assert "<=e1, <=e3" in text
    assert (
        "The number of records is public"
        not in design(Problem(Workload.prefix(4), metrics.add_remove(4, 1.0)), "laplace").mechanism.guarantee.to_text()
    )


@pytest.mark.parametrize(
    ("relation", "smallest", "largest"),
    [
        (metrics.euclidean([0.0, 1.0, 10.0], 0.5), 0.5, 5.0),
        (metrics.hamming(designer.Domain.of({"a": 3, "b": 1}), [0.25, 4.0]), 0.25, 0.25),
        (metrics.from_matrix([[0, 1, 3], [1, 0, 2], [3, 2, 0]]), 1.0, 3.0),
        (metrics.add_remove(3, [1.0, 2.0, math.inf]), 1.0, 2.0),
        (metrics.great_circle([[0, 0], [0, 1], [0, 3]]), 111.195, 333.585),
    ],
)
def test_the_range_of_budgets_covers_implied_pairs(relation: Metric, smallest: float, largest: float) -> None:
    parameters = design(Problem(Workload.identity(3), relation), "laplace").mechanism.guarantee.parameters
    assert parameters["smallest_budget"] == pytest.approx(smallest, rel=1e-4)
    assert parameters["largest_finite_budget"] == pytest.approx(largest, rel=1e-4)


def test_the_guarantee_states_all_that_it_must() -> None:
    made = design(
        Problem(Workload([[1.0, 0.0], [1.0, 1.0]], queries=["first", "all"]), metrics.uniform(2, 0.5)), "laplace"
    ).mechanism
    text = made.guarantee.to_text()
    for part in (
        "Any one record may change to any other value, with budget 0.5",
        "Pure dX-privacy",
        "Published exactly, because no protected change moves them: all.",
        "Family laplace",
        "Exact: random bits of the operating system",
        "integer multiple of a step fixed at design time",
        "may depend on the noise and is not covered",
        "keeps the guarantee",
        "dp-designer 0.",
        made.fingerprint,
    ):
        assert part in text
    assert "np." not in text
    assert "float64" not in text
    released = made.release([3, 4])
    assert released.guarantee == made.guarantee
    assert released.fingerprint == made.fingerprint


def test_the_mechanism_does_not_depend_on_data() -> None:
    made = design(Problem(Workload.identity(3), metrics.euclidean([0.0, 1.0, 5.0])), "laplace").mechanism
    before = made.fingerprint, made.verify(), made.integers.tolist()
    for histogram in ([0, 0, 0], [10**9, 0, 3]):
        made.release(histogram)
    vars(made).pop("fingerprint")
    assert (made.fingerprint, made.verify(), made.integers.tolist()) == before


def test_no_random_generator_with_state_is_near_a_release() -> None:
    """Generators of numpy and the standard library occur in the builders of random workloads, in the seeded stream, and in
    the directions in which a search of pairs starts."""
    allowed = {
        "workload.py": {"default_rng"},
        "entropy.py": {"Philox"},
        "max_ratio_search.py": {"default_rng"},
    }
    for path in Path(designer.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not re.search("random|secrets", text):
            continue
        tree = ast.parse(text)
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not imported & {"random", "numpy.random", "secrets"}, path
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "random"
        }
        assert used <= allowed.get(path.name, set()), path


@pytest.mark.parametrize("problems", [24, pytest.param(200, marks=pytest.mark.nightly)])
def test_no_baseline_beats_the_optimum_and_every_certificate_holds(problems: int) -> None:
    """Random problems, every loss, metrics with ties, zeros of Q and silent queries among them."""
    generator = np.random.default_rng(20)
    for round_number in range(problems):
        n, queries = int(generator.integers(2, 7)), int(generator.integers(1, 4))
        matrix = np.round(generator.random((queries, n)) * generator.integers(0, 2, (queries, n)), 1 + round_number % 3)
        places = generator.permutation(40)[: 2 * n].reshape(n, 2) / 7
        relation = (metrics.euclidean(places), metrics.uniform(n, 0.3), metrics.add_remove(n, generator.random(n) + 0.1))[
            round_number % 3
        ]
        loss = ("squared", "absolute", "max")[round_number % 2]
        problem = Problem(Workload(matrix), relation, loss=loss, allow_vacuous=True)  # some of the matrices are 0
        rows = {row["family"]: row for row in compare(problem, FAMILIES).rows}
        assert all(row["worst_ratio"] <= 1 for row in rows.values())
        best = rows["laplace"][problem.loss]
        assert all(best <= row[problem.loss] * (1 + 1e-8) + 1e-300 for row in rows.values())


def test_not_private_is_not_silenced() -> None:
    with pytest.raises(NotPrivate, match=r"Widen the noise .* or raise the budget"):
        designer.AdditiveMechanism(
            "custom",
            Workload.identity(2),
            metrics.uniform(2, 1.0),
            designer.certificate.norms.weighted_l1([1.0, 1.0]),
            designer.mechanism.noise.Grid((-30, -30)),
        )
