"""Budgets by level under published branches of a taxonomy: exchanges against lists of all changes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, invariants, load, metrics
from designer.base.json_text import plain
from designer.certificate.certificate import certify
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.relations.invariants.transport import InvariantMetric, levels_within
from designer.relations.kinds import relation_from_spec
from designer.relations.metrics.algebra import restriction
from designer.relations.metrics.metric import Metric

STATES = ["a", "a", "a", "b", "b", "c", "c", "d"]
REGIONS = ["N", "N", "N", "N", "N", "S", "S", "S"]
NESTED = [[1] * 5 + [0] * 3, [0, 0, 0, 1, 1, 0, 0, 0]]  # a region, and one state of it
PUBLISHED = {
    "nation": lambda: invariants.total(8),
    "regions": lambda: invariants.partition(REGIONS),
    "states": lambda: invariants.partition(STATES),
    "one state": lambda: invariants.linear([NESTED[1]]),
    "two states": lambda: invariants.linear([[0, 0, 0, 0, 0, 1, 1, 0]]),
    "nested": lambda: invariants.linear(NESTED),
    "impossible": lambda: invariants.partition(REGIONS).without([4]),
}


def tree(form: str = "sum", budgets: tuple[float, ...] = (0.75, 0.5, 0.25)) -> Metric:
    return metrics.taxonomy(list(zip(REGIONS, STATES, strict=True)), budgets, form=form)


def both(name: str, adjacency: int = 2, metric: Metric | None = None) -> tuple[InvariantMetric, InvariantMetric]:
    """The relation by its list, and by exchanges."""
    listed = InvariantMetric(tree() if metric is None else metric, PUBLISHED[name](), adjacency)
    return listed, replace(listed, by_exchanges=True)


def matched_within(levels, change: np.ndarray) -> Fraction | None:
    """The cheapest matching of the moved records by exchanges that are counted, tried one by one."""
    origins, targets = (np.repeat(np.arange(len(change)), np.maximum(sign * change, 0)) for sign in (-1, 1))
    sums = ([levels.exact_budget(i, j) for i, j in zip(origins, order, strict=True)] for order in permutations(targets))
    return min((sum(costs, Fraction(0)) for costs in sums if None not in costs), default=None)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize(
    ("form", "budgets"), [("sum", (0.75, 0.5, 0.25)), ("max", (0.5, 0.75, 0.25)), ("sum", (np.inf, 0.5, 1.0))]
)
def test_the_cheapest_transport_of_every_change_stays_within_classes(name, form, budgets):
    listed, _ = both(name, 3, tree(form, budgets))
    assert listed.listed and len(listed.changes) > 10
    levels = listed.levels
    assert [matched_within(levels, change) for change in listed.changes] == [
        listed.exact_budget(m, len(listed.changes)) for m in range(len(listed.changes))
    ]


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("order", ["l1", "l2", "linf"])
def test_exchanges_decide_every_norm_as_the_list_does(name, order):
    rng = np.random.default_rng(0)
    listed, exchanged = both(name)
    for matrix in (np.eye(8), np.diag([1.0, 2, 4, 8, 4, 2, 1, 1]), rng.integers(-3, 4, (3, 8)).astype(float)):
        for weights in (np.ones(len(matrix)), rng.uniform(0.01, 2, len(matrix))):
            norm = Norm(weights, order)
            by_list, by_exchange = (certify(SensitivitySet.of(matrix, one), norm) for one in (listed, exchanged))
            assert float(by_exchange.worst_ratio) == pytest.approx(float(by_list.worst_ratio), rel=1e-12)
            if order != "l2":
                assert by_exchange.worst_ratio == by_list.worst_ratio
    assert exchanged.largest_exact_budget() == listed.largest_exact_budget()
    assert exchanged.spans_kernel == listed.spans_kernel
    rows = [one.public_rows() for one in (listed, exchanged)]
    assert np.linalg.matrix_rank(rows[0]) == np.linalg.matrix_rank(rows[1]) == np.linalg.matrix_rank(np.vstack(rows))


@pytest.mark.parametrize("name", ["nation", "regions", "nested"])
@pytest.mark.parametrize(
    ("family", "notion", "options"),
    [
        ("laplace", "pure", {}),
        ("projected_laplace", "pure", {}),
        ("k_norm", "pure", {}),
        ("ellipsoid", "pure", {}),
        ("gaussian", "zcdp", {}),
        ("isotropic_gaussian", "zcdp", {}),
        ("group_laplace", "pure", {}),
        ("lattice_laplace", "pure", {"shape": "l1"}),
        ("lattice_laplace", "pure", {"shape": "ellipsoid"}),
        ("lattice_gaussian", "zcdp", {}),
    ],
)
def test_families_design_by_exchanges_what_they_design_from_the_list(name, family, notion, options, tmp_path):
    made = [design(Problem(Workload.identity(8), one, notion=notion), family, **options).mechanism for one in both(name)]
    errors = [float((one.standard_errors() ** 2).sum()) for one in made]
    assert errors[1] == pytest.approx(errors[0], rel=1e-4)
    again = load(made[1].save(tmp_path / "spec.json"))
    assert again.fingerprint == made[1].fingerprint and again.privacy.holds
    over_the_list = replace(made[1], relation=made[0].relation)
    assert float(over_the_list.privacy.worst_ratio) == pytest.approx(float(made[1].privacy.worst_ratio), rel=1e-9)


def test_sums_that_split_a_branch_are_listed_and_cheaper_than_exchanges():
    """Classes {0, 1} and {2, 3} across two states: two short moves keep both sums, where exchanges are long."""
    across = metrics.taxonomy([["a"], ["b"], ["a"], ["b"]], [1.0, 0.125])
    relation = across & invariants.partition([0, 0, 1, 1])
    assert relation.levels is None and relation.listed
    place = relation.changes.tolist().index([1, -1, -1, 1])
    assert relation.exact_budget(place, len(relation.changes)) == Fraction(1, 4) < 2 * across.exact_budget(0, 1)
    with pytest.raises(InvalidProblem, match=r"relation\.by_exchanges"):
        replace(relation, by_exchanges=True)


def test_other_metrics_and_crossed_margins_are_not_read_by_exchanges():
    assert levels_within(metrics.euclidean([[0.0], [1.0], [3.0], [4.0]], 1.0), invariants.partition([0, 0, 1, 1])) is None
    assert levels_within(metrics.taxonomy([["a"], ["a"], ["b"], ["b"]], [1.0, 1.0]), invariants.margins((2, 2))) is None


def test_multiples_and_restrictions_of_taxonomies_have_their_levels():
    chosen = [7, 0, 1, 3, 4]
    metric = 2.0 * restriction(tree(), chosen)
    relation = InvariantMetric(metric, invariants.partition([REGIONS[i] for i in chosen]), 2)
    for i in range(5):
        for j in range(5):
            same = REGIONS[chosen[i]] == REGIONS[chosen[j]]
            assert relation.levels.exact_budget(i, j) == (metric.exact_budget(i, j) if same else None)


def test_an_altered_flag_is_refused_and_a_spec_without_one_is_listed():
    listed, exchanged = both("regions")
    for one in (listed, exchanged):
        spec = json.loads(json.dumps(plain(one.to_spec())))
        assert ("by_exchanges" in spec) == one.by_exchanges
        assert plain(relation_from_spec(spec).to_spec()) == spec
    with pytest.raises(Exception, match="by_exchanges"):
        relation_from_spec(plain(exchanged.to_spec()) | {"by_exchanges": False})


def test_any_number_of_records_goes_by_exchanges_but_a_delta_does_not():
    relation = replace(both("regions")[1], adjacency=50)
    assert relation.largest_exact_budget() == 50 * Fraction(3, 4)
    assert InvariantMetric(tree(), PUBLISHED["regions"](), 50).exchanges
    with pytest.raises(InvalidProblem, match=r"invariant\.at\(1\)"):
        relation.every_pair()
    single = replace(relation, adjacency=1)
    assert sum(np.isfinite(block.budgets).sum() for block in single.every_pair()) == 10 + 3


def counties(size: int, states: int = 40) -> tuple[list[str], list[str]]:
    """Counties of unequal states in regions of five states."""
    state = np.sort(np.random.default_rng(1).integers(0, states, size))
    return [f"r{s // 5}" for s in state], [f"s{s}" for s in state]


@pytest.mark.parametrize(
    ("family", "notion"),
    [("laplace", "pure"), ("gaussian", "zcdp"), ("projected_laplace", "pure"), ("lattice_gaussian", "zcdp")],
)
def test_counties_keep_the_sums_of_regions(family, notion, tmp_path):
    regions, states = counties(400)
    relation = metrics.taxonomy(list(zip(regions, states, strict=True)), [0.5, 0.25, 0.125]) & invariants.partition(regions)
    assert isinstance(relation, InvariantMetric) and relation.by_exchanges
    made = design(Problem(Workload.identity(400), relation, notion=notion), family).mechanism
    again = load(made.save(tmp_path / "spec.json"))
    assert again.fingerprint == made.fingerprint and 1 - 1e-9 < float(again.privacy.worst_ratio) <= 1
    table = np.arange(400) % 7
    noise = np.asarray(again.release(table).answers) - table
    assert noise.any()
    if family != "laplace":
        np.testing.assert_allclose([noise[np.array(regions) == r].sum() for r in set(regions)], 0, atol=1e-6)


def test_lonely_counties_get_less_noise():
    """A state of one county has no neighbour within it: its least exchange costs what leaving the state does."""
    regions, states = ["r"] * 120, ["s"] * 119 + ["alone"]
    relation = metrics.taxonomy(list(zip(regions, states, strict=True)), [8.0, 4.0, 1.0]) & invariants.total(120)
    norm = design(Problem(Workload.identity(120), relation), "laplace").mechanism.norm
    np.testing.assert_allclose(norm.map, [0.5] * 119 + [2.5], rtol=1e-3)


def test_a_state_published_within_the_nation_keeps_its_inhabitants():
    relation = tree() & invariants.linear([NESTED[1]]).at(1)
    made = design(Problem(Workload.identity(8), replace(relation, by_exchanges=True)), "lattice_laplace").mechanism
    noise = np.asarray(made.release(np.full(8, 20)).answers) - 20
    assert noise[3:5].sum() == 0 and noise.sum() == 0


def test_a_ball_in_thousands_of_counts_is_refused_before_it_starts():
    regions, states = counties(1200)
    relation = metrics.taxonomy(list(zip(regions, states, strict=True)), [0.5, 0.25, 0.125]) & invariants.partition(regions)
    with pytest.raises(DesignFailed, match="ball in 1200 dimensions"):
        design(Problem(Workload.identity(1200), relation), "ellipsoid")
