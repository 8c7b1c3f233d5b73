"""Pairs of equal ratio are evaluated once for all: the certificate is that of all of them, one by one."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import Problem, Workload, design, invariants, metrics
from designer.certificate.certificate import BOUND, PrivacyCertificate, _RatioSearch, certify
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet

DIAGONALS = ([0.3, 0.3, 0.3], [0.3, 0.1, 0.3], [0.25, np.inf, 0.25], [np.inf, np.inf, np.inf])
MAPS = (*DIAGONALS, [[0.3, -0.1, 0.7], [0.0, 0.2, 0.1], [0.1, 0.1, 0.1], [0.3, 0.0, -0.3]])


def one_by_one(sensitivity: SensitivitySet, norm: Norm) -> PrivacyCertificate:
    """The certificate where every pair has a key of its own."""
    with patch.object(_RatioSearch, "_ratios_alike", lambda search, waiting: list(range(len(waiting)))):
        return certify(sensitivity, norm)


@pytest.mark.parametrize("order", ["l1", "l2", "linf"])
@pytest.mark.parametrize("entries", MAPS)
def test_differences_that_a_norm_calls_alike_have_one_exact_length(order: str, entries: list[float]) -> None:
    norm = Norm(np.array(entries), order)
    differences = np.array(np.meshgrid(*[range(-2, 3)] * 3)).reshape(3, -1).T.astype(float)
    lengths: dict[bytes, set[Fraction | None]] = {}
    for row, difference in zip(norm.alike(differences) + 0.0, differences.tolist(), strict=True):
        lengths.setdefault(row.tobytes(), set()).add(norm.exact([Fraction(c) for c in difference]))
    assert all(len(told) == 1 for told in lengths.values())
    assert len(lengths) < len(differences)


def test_entries_of_equal_weights_are_alike_in_any_order_and_others_are_not() -> None:
    norm = Norm(np.array([0.3, 0.1, 0.3, np.inf]), "l1")
    one, other, third = norm.alike(np.array([[1.0, 5, -2, 0], [2, -5, 1, 0], [1, 2, 5, 0]]))
    assert (one == other).all() and not (one == third).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_the_certificate_is_that_of_all_pairs_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, queries = int(random.integers(2, 7)), int(random.integers(1, 4))
    matrix = random.integers(-2, 3, (queries, n)) * random.choice([1.0, 1.0, 0.1])
    budgets = random.choice([0.5, 1.0, 1.5], n)
    norm = Norm(
        random.choice([0.1, 0.3], queries) if random.random() < 0.7 else random.normal(size=(queries + 1, queries)),
        random.choice(["l1", "l2", "linf"]),
    )
    for relation in (metrics.add_remove(n, budgets), metrics.per_element(budgets), metrics.line(list(range(n)), 1.0, 0.5)):
        sensitivity = SensitivitySet.of(matrix, relation)
        assert certify(sensitivity, norm) == one_by_one(sensitivity, norm)


def test_swaps_of_a_table_are_measured_in_fractions_once() -> None:
    made = design(
        Problem(Workload.identity(36), invariants.margins((6, 6)).protect(1.0, adjacency=2)), "lattice_laplace"
    ).mechanism
    calls, exact = [], Norm.exact
    with patch.object(Norm, "exact", lambda norm, u: calls.append(u) or exact(norm, u)):
        found = made.verify()
    assert found.pairs == 225
    assert "exact rationals for the 225 pairs that decide" in found.arithmetic
    assert len(calls) == 1
    alone = one_by_one(made.sensitivity(), made.norm)
    assert (found.worst_ratio, found.pairs, found.arithmetic) == (alone.worst_ratio, alone.pairs, alone.arithmetic)


def test_budgets_that_floats_hardly_tell_apart_are_told_apart() -> None:
    """The two ratios have one float, and the pair of the smaller budget is not the one that is looked at first."""
    budget = next(b for b in np.linspace(1.9, 1.95, 1000).tolist() if 1 / b == 1 / np.nextafter(b, 2.0))
    sensitivity = SensitivitySet.of(np.ones((1, 2)), metrics.add_remove(2, np.array([budget, np.nextafter(budget, 2.0)])))
    assert certify(sensitivity, Norm(np.ones(1), "l1")).worst_ratio == 1 / Fraction(budget)


def test_a_worst_ratio_that_floats_bound_says_how_far_it_is_above_its_pair() -> None:
    """600 counts of equal weights, more than are evaluated exactly: all ratios are that weight, which the bound for the rest is
    above by more than the 2^-40 that two verifiers may differ by."""
    weight = Fraction(0.3)
    found = certify(SensitivitySet.of(np.eye(600), metrics.add_remove(600, 1.0)), Norm(np.full(600, 0.3), "l1"))
    said = BOUND.fullmatch(found.arithmetic)
    assert said is not None and found.worst_ratio is not None and found.place.startswith("a bound; the worst pair seen is ")
    assert weight * (1 + Fraction(1, 1 << 40)) < found.worst_ratio <= weight * (1 + Fraction(said[1]) / 100)
