"""Work that is estimated, or not needed, before it is done: whether anything is protected, ranks, bases and lists of changes.
What a release asks for beside its noise, counted and not timed: what follows from the frozen object is found once.
"""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import solvers.lattices.enumeration
import solvers.lattices.kernel
from designer import DesignFailed, Problem, Workload, design, invariants, metrics
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import Guarantee
from designer.mechanism import additive
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid, noise_for
from designer.problem import relation
from designer.problem.histogram import ExactRows, Universe
from designer.relations.invariants import Invariant
from designer.relations.metrics.graphs import Graph
from designer.sampling import entropy
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace
from solvers.lattices.kernel import integer_kernel
from tests.oracles.metric_kinds import SPECIMENS
from tests.oracles.spec_specimens import names_of, specimens


def not_wanted(*_: Any, **__: Any) -> None:
    pytest.fail("the long computation was started")


def test_whether_anything_is_protected_needs_no_basis_and_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers.lattices.kernel, "integer_kernel", not_wanted)
    monkeypatch.setattr(solvers.lattices.enumeration, "short_vectors", not_wanted)
    monkeypatch.setattr(Graph, "needed", property(not_wanted))
    counties = invariants.total(3143)
    assert not counties.protect(1.0, per_distance="l1").is_vacuous()
    assert not counties.protect(1.0).is_vacuous()
    assert not metrics.graph([(i, i + 1) for i in range(9_999)]).is_vacuous()
    assert metrics.graph([], nodes=3).is_vacuous()


@pytest.mark.parametrize("name", SPECIMENS)
def test_vacuous_relations_are_those_without_any_finite_budget(name: str) -> None:
    relation = SPECIMENS[name]
    points = relation.size + (name == "appear_or_change")
    finite = [relation.exact_budget(i, j) is not None for i, j in itertools.combinations(range(points), 2)]
    assert relation.is_vacuous() is not any(finite)


@pytest.mark.parametrize("records_public", [True, False])
def test_vacuous_invariants_are_those_that_leave_no_change(records_public: bool) -> None:
    """Small statistics at random: all integer changes within the radius, one by one."""
    generator, found = np.random.default_rng(5), set()
    for _ in range(60):
        invariant = invariants.linear(generator.integers(-1, 2, (2, 4)).tolist(), records_public=records_public)
        adjacency = int(generator.integers(1, 3))
        radius = 2 * adjacency if records_public else adjacency
        near = (v for v in itertools.product(range(-radius, radius + 1), repeat=4) if 0 < sum(map(abs, v)) <= radius)
        vacuous = not any(not (invariant.constraints @ v).any() for v in near)
        assert invariant.protect(1.0, adjacency).is_vacuous() is vacuous
        assert invariant.freedom == integer_kernel(invariant.constraints).dimension
        assert invariant.protect(1.0, per_distance="l1").is_vacuous() is (invariant.freedom == 0)
        found.add(vacuous)
    assert found == {True, False}


def test_an_l1_distance_over_a_thousand_cells_is_designed_without_a_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers.lattices.kernel, "integer_kernel", not_wanted)
    problem = Problem(Workload.identity(1000), invariants.total(1000).protect(1.0, per_distance="l1"))
    made = design(problem, "lattice_laplace", shape="l1").mechanism
    assert made.dimension == 999 and made.draw(1, seed=1).sum() == 0


def test_bases_and_lists_beyond_reach_are_refused_before_they_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers.lattices.kernel, "integer_kernel", not_wanted)
    monkeypatch.setattr(solvers.lattices.enumeration, "short_vectors", not_wanted)
    counties: Invariant = invariants.total(3143)
    problem = Problem(Workload([np.ones(3143)]), counties.protect(1.0, per_distance="l1"))
    with pytest.raises(DesignFailed, match=r"rank 3142.*shape l1"):
        design(problem, "lattice_laplace", shape="l2")
    with pytest.raises(DesignFailed, match="more than 31816 changes of 1 records of 3143 elements"):
        _ = counties.protect(1.0).changes


ADDED = ("mechanism", "lattice-mechanism", "row-mechanism", "staircase-mechanism", "hierarchy-mechanism")


FROM_COUNTS = [name for name in names_of(*(f"dp-designer/{form}" for form in ADDED)) if "impossible" not in name]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each is asked for; the bits are those of a seed, so that counts repeat."""
    calls: Counter[str] = Counter()

    def counted(holder: Any, name: str, as_: str) -> None:
        function: Callable[..., Any] = getattr(holder, name)

        def called(*args: Any, **kwargs: Any) -> Any:
            calls[as_] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(holder, name, called)

    bits = SimpleNamespace(urandom=np.random.default_rng(7).bytes)
    monkeypatch.setattr(entropy, "os", bits)
    counted(bits, "urandom", "reads")
    counted(Guarantee, "__init__", "guarantees")
    counted(relation, "graph_components", "components")
    counted(additive, "kept_rows", "kept rows")
    counted(additive, "noise_for", "samplers")
    counted(ExactRows, "__init__", "plans of answers")
    counted(Universe, "__init__", "universes")
    assert additive.noise_for is not noise_for
    return calls


def new(made: FrozenMechanism) -> Any:
    return pickle.loads(pickle.dumps(made))


@pytest.mark.parametrize("name", FROM_COUNTS)
def test_a_later_release_asks_for_nothing_but_bits(name: str, asked: Counter[str]) -> None:
    made = new(specimens()[name])
    data = [3] * len(made.universe.elements)
    asked.clear()
    first = made.release(data)
    assert asked["guarantees"] >= 1, "it is counted"
    asked.clear()
    later = made.release(data)
    assert set(asked) == {"reads"}, dict(asked)
    assert later.guarantee is first.guarantee


def test_components_samplers_and_plans_are_found_once(asked: Counter[str]) -> None:
    made = new(design(Problem(Workload(np.tri(5)), metrics.add_remove(5, 1.0)), "laplace").mechanism)
    asked.clear()
    made.release([1, 2, 3, 4, 5])
    found = Counter(asked)
    assert found["kept rows"] == found["plans of answers"] == found["guarantees"] == 1 and found["components"] <= 2
    for _ in range(3):
        made.release([1, 2, 3, 4, 5])
    assert asked - found == Counter(reads=3)


@pytest.mark.parametrize("size", [1, 3, 10, 24, 100, 3_000])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_one_read_of_bits_is_enough_for_a_small_release_and_few_for_a_large_one(
    size: int, law: str, asked: Counter[str]
) -> None:
    """Laplace noise needs one read up to a block of 2^15 numbers, but for a draw in 8,000 that is in doubt; Gaussian noise of
    one deviation another one for each round of what was refused."""
    matrix = np.random.default_rng(1).integers(0, 2, (size, 4)).astype(float)
    moved = np.linalg.norm(matrix, ord=1 if law == "laplace" else 2, axis=0).max() or 1.0
    weights = np.full(size, (1 - 1e-12) / moved)
    made = AdditiveMechanism(
        "laplace" if law == "laplace" else "diagonal_gaussian",
        Workload(matrix),
        metrics.add_remove(4, 1.0),
        additive.Norm(weights, "l1" if law == "laplace" else "l2"),
        Grid.for_scales(matrix, 1 / weights, whole=True),
        "exponential" if law == "laplace" else "gaussian",
    )
    assert isinstance(made.noise.sampler, DiscreteLaplace if law == "laplace" else DiscreteGaussian)
    made.release([5] * 4)
    asked.clear()
    for _ in range(20):
        made.release([5] * 4)
    reads = asked["reads"] / 20
    assert reads <= (1.2 if law == "laplace" and size <= 24 else 2 if law == "laplace" or size <= 24 else 6)


def test_a_lattice_release_asks_for_nothing_but_bits(asked: Counter[str]) -> None:
    table = invariants.margins((6, 6)).protect(1.0, adjacency=2)
    made = new(design(Problem(Workload.identity(36), table), "lattice_laplace", shape="l2").mechanism)
    made.release([5] * 36)
    asked.clear()
    made.release([5] * 36)
    assert set(asked) == {"reads"} and asked["reads"] <= 4
