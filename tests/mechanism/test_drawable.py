"""What is constructed can be drawn from: odd maps, weights and grids are refused at construction, or a release succeeds."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import DesignFailed, InvalidProblem, NotPrivate, Problem, Workload, design, invariants, load, metrics
from designer.certificate.norms import Norm
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid

weights = st.one_of(st.sampled_from([1e-130, 2.0**-56, 2.0**-20, 0.01, 0.25, math.inf]), st.floats(1e-12, 0.5))
exponents = st.one_of(st.sampled_from([-1500, -300, -60, -40, 0, 30, 61, 300, 1000]), st.integers(-70, 70))


def built(norm: Norm, steps: tuple[int, ...], falloff: str) -> AdditiveMechanism:
    rows = norm.dimension
    return AdditiveMechanism("custom", Workload(np.eye(rows, 2)), metrics.uniform(2, 1.0), norm, Grid(steps), falloff)  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_odd_maps_and_grids_are_refused_at_construction_or_release(data: st.DataObject) -> None:
    order, falloff = data.draw(
        st.sampled_from([("l1", "exponential"), ("l2", "exponential"), ("l2", "gaussian"), ("linf", "exponential")])
    )
    rows = data.draw(st.integers(1, 3))
    tall = data.draw(st.sampled_from([None, rows, rows + 1, max(1, rows - 1)])) if order == "l2" else None
    finite = weights.filter(math.isfinite)
    across = st.lists(st.one_of(finite, st.just(0.0)), min_size=rows, max_size=rows)
    diagonal = st.lists(weights, min_size=rows, max_size=rows)
    listed = data.draw(diagonal if tall is None else st.lists(across, min_size=tall, max_size=tall))
    steps = tuple(data.draw(st.lists(exponents, min_size=rows, max_size=rows)))
    try:
        made = built(Norm(np.array(listed), order), steps, falloff)  # type: ignore[arg-type]
    except (InvalidProblem, NotPrivate):
        return
    assert len(made.release([3, 4]).answers) == rows


@pytest.mark.parametrize(
    ("shape", "step"),
    [([[0.25, -0.25], [0.25, -0.25]], -40), ([[0.1, 0], [0, 0.1], [0.1, 0.1]], -40), ([[0.25, 0], [0, 0.25]], -80)],
    ids=["singular", "tall", "too fine"],
)
def test_ellipsoids_that_cannot_be_drawn_are_refused(shape: list[list[float]], step: int) -> None:
    with pytest.raises(InvalidProblem, match=r"no noise can be drawn exactly|beyond 2\^52"):
        built(Norm(np.array(shape), "l2"), (step, step), "exponential")


def test_rates_below_those_of_the_sampler_are_refused() -> None:
    with pytest.raises(InvalidProblem, match="no noise can be drawn exactly"):
        built(Norm(np.array([2.0**-30, 2.0**-30]), "l1"), (-40, -40), "exponential")


SCALES = st.one_of(st.sampled_from([1e-130, 2.0**-56, 2.0**-41, 1e-9, 0.25, 2.0**19, 1e9, 1e130]), st.floats(1e-12, 1e3))


def on_a_lattice(map_: list[float], order: str, falloff: str) -> LatticeMechanism:
    relation = invariants.total(len(map_)).protect(4 * max(map_), 1)
    return LatticeMechanism("custom", Workload.identity(len(map_)), relation, Norm(np.array(map_), order), falloff)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([("l1", "exponential"), ("l2", "exponential"), ("l2", "gaussian"), ("linf", "exponential")]),
    SCALES,
    st.sampled_from([(1.0, 1.0), (1.0, 1.0, 1.0, 1.0), (1.0, 0.125, 1.0)]),
)
def test_odd_norms_on_a_lattice_are_refused_at_construction_or_release(
    kind: tuple[str, str], scale: float, shares: tuple[float, ...]
) -> None:
    tmp = Path(tempfile.mkdtemp())
    try:
        made = on_a_lattice([scale * share for share in shares], *kind)
        made = load(made.save(tmp / "spec.json"))
    except (InvalidProblem, DesignFailed):
        return
    assert sum(made.release([3] * len(shares)).table) == 3 * len(shares)


@pytest.mark.parametrize(
    ("order", "falloff", "scale"),
    [
        ("l1", "exponential", 1e-30),
        ("l2", "exponential", 1e-30),
        ("l2", "gaussian", 1e-30),
        ("l2", "gaussian", 1e9),
        ("linf", "exponential", 1),
    ],
)
def test_lattice_noise_that_cannot_be_drawn_is_refused_at_construction(order: str, falloff: str, scale: float) -> None:
    with pytest.raises(InvalidProblem, match=r"no noise can be drawn exactly|no exact sampler"):
        on_a_lattice([scale] * 4, order, falloff)


@pytest.mark.parametrize("step", [-60, -40, -20, 0, 20])
def test_gauges_that_cannot_be_drawn_are_refused_at_construction(step: int) -> None:
    """The noise is 2^40 wide: 64 bits hold it in steps of 1, not in steps of 2^-40."""
    made = design(Problem(Workload.identity(3), metrics.add_remove(3, 2.0**-40)), "k_norm").mechanism
    assert isinstance(made, AdditiveMechanism)
    try:
        coarse = AdditiveMechanism("k_norm", made.workload, made.relation, made.norm, Grid((step,) * 3))
    except (InvalidProblem, NotPrivate):
        assert step != 0
        return
    assert len(coarse.release([1, 2, 3]).answers) == 3
