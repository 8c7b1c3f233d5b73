"""Where a descent ends is measured, whatever the solver says of it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from solvers.programs.loads import minimised


def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
    return float(((x - 2) ** 2).sum()), 2 * (x - 2)


def test_a_descent_ends_where_the_slope_is_none() -> None:
    assert minimised(bowl, np.zeros(3), 100)[0] == pytest.approx([2.0] * 3)


@pytest.mark.parametrize("end", [[np.nan, 1.0], [np.inf, 1.0], [9.0, 9.0], [-5.0, 2.0]])
def test_an_end_that_is_worse_than_the_start_gives_way_to_it(end: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    told = SimpleNamespace(x=np.array(end), nit=3, status=0, success=True, fun=-1.0)
    monkeypatch.setattr("scipy.optimize.minimize", lambda *_, **__: told)
    assert minimised(bowl, np.array([1.0, 1.0]), 100) == (pytest.approx([1.0, 1.0]), 3)


def test_numbers_below_0_are_0_where_none_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    told = SimpleNamespace(x=np.array([2.0, -1e-9]), nit=3, status=2, success=False)
    monkeypatch.setattr("scipy.optimize.minimize", lambda *_, **__: told)
    assert minimised(bowl, np.zeros(2), 100, nonnegative=True)[0].tolist() == [2.0, 0.0]
