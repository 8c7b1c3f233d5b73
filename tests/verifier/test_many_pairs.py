"""So many pairs that the second verifier does not look at them one by one: it has a bound for all, in l1 and in l2."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer.verifier import standalone


def core(columns: list[list[int]], weight: float, order: str) -> dict[str, Any]:
    """A mechanism for these columns, with one weight for all answers, under one budget of 1."""
    rows = np.array(columns, dtype=float).T.tolist()
    names = {"queries": [f"q{k}" for k in range(len(rows))], "elements": [f"e{i}" for i in range(len(columns))]}
    return {
        "family": "custom",
        "workload": {**names, "matrix": rows},
        "relation": {"kind": "uniform", "elements": len(columns), "epsilon": 1.0},
        "norm": {"order": order, "map": [weight] * len(rows)},
        "grid": [0] * len(rows),
        "falloff": "exponential" if order == "l1" else "gaussian",
        "measured": None,
        "reconstruction": None,
    }


@pytest.mark.parametrize("order", ["l1", "l2"])
def test_the_bound_is_at_least_every_pair(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(5).integers(-4, 5, (30, 3)).tolist()
    power = 1 if order == "l1" else 2
    longest = max(sum(abs(a - b) ** power for a, b in zip(p, q, strict=True)) for p in columns for q in columns)
    fits, too_much = (float(Fraction(1) / Fraction(longest ** (1 / power))) * factor for factor in (0.999, 1.001))
    monkeypatch.setattr(standalone, "MOST_PAIRS", 100)
    with pytest.raises(standalone.DoesNotHold, match="spends its budget"):
        standalone.Additive(core(columns, too_much, order))
    with pytest.raises(standalone.CannotCheck, match="no bound for all"):
        standalone.Additive(core(columns, fits, order))
    found = standalone.Additive(core(columns, fits / 3, order))
    assert found.bounded and found.worst <= Fraction(1)


def test_columns_on_both_sides_of_0_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two farthest columns lie opposite: each alone is within the budget, and their difference is twice as long."""
    columns = [[k - 32] for k in range(65)]
    monkeypatch.setattr(standalone, "MOST_PAIRS", 100)
    assert standalone.Additive(core(columns, 1 / 64, "l1")).worst == 1
    with pytest.raises(standalone.DoesNotHold, match="spends its budget"):
        standalone.Additive(core(columns, 1 / 63, "l1"))
