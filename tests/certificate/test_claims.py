"""Which claims of a file are those that were just proven, but for digits of floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.certificate.certificate import settled_claim
from designer.certificate.frozen import to_spec

MADE = design(Problem(Workload([[1, 2, 4], [0, 1, 1]]), metrics.line([0, 1, 3], period=1, epsilon=1.0)), "laplace").mechanism
PROVEN = to_spec(MADE)["certificate"]


def test_a_claim_without_the_pair_that_was_found_is_another_claim() -> None:
    assert PROVEN["witness"] is not None
    assert settled_claim(MADE, PROVEN, PROVEN) == PROVEN
    for witness in (None, "no pair", {}, {**PROVEN["witness"], "left": 99}, {**PROVEN["witness"], "left": "0"}):
        claimed = {**PROVEN, "witness": witness}
        assert settled_claim(MADE, claimed, PROVEN)["witness"] == witness


def test_a_pair_is_claimed_where_none_is_proven() -> None:
    claimed, proven = PROVEN, {**PROVEN, "witness": None}
    assert settled_claim(MADE, claimed, proven)["witness"] == PROVEN["witness"] is not None


@pytest.mark.parametrize("off", [0, 2.0**-50, -(2.0**-50), 2.0**-30, -(2.0**-30)])
def test_digits_of_floats_are_the_same_claim_and_others_are_not(off: float) -> None:
    ratio = Fraction(PROVEN["worst_ratio"]) + Fraction(off)
    settled = settled_claim(MADE, {**PROVEN, "worst_ratio": str(ratio)}, PROVEN)
    assert (settled == PROVEN) == (abs(off) <= 2.0**-40)


def test_the_pair_of_another_ratio_is_another_claim() -> None:
    """Every pair of elements, its ratio computed in rationals."""
    rows, budgets = np.array([[1, 2, 4], [0, 1, 1]]), {(0, 1): 1, (0, 2): 3, (1, 2): 2}
    weights = [Fraction(float(w)) for w in MADE.norm.map]
    lengths = {
        (a, b): sum(w * abs(int(row[a] - row[b])) for w, row in zip(weights, rows, strict=True)) / budget
        for (a, b), budget in budgets.items()
    }
    worst = max(lengths.values())
    for (a, b), ratio in lengths.items():
        claimed = {**PROVEN, "witness": {**PROVEN["witness"], "left": a, "right": b}}
        words = MADE.privacy.witness
        assert words is not None
        if ratio < worst and {a, b} != {words.left, words.right}:
            assert settled_claim(MADE, claimed, PROVEN) != PROVEN
