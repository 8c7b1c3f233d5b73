"""Counted work: blocks within blocks, what ends a search, and who is told."""

from __future__ import annotations

import time

import pytest

from solvers.work import CALLS, ENTRIES, FLOPS, PIVOTS, OutOfWork, finishing, go_on, is_over, proving, spend, units_left, within


def test_units_are_what_was_counted() -> None:
    with within() as budget:
        spend(2.0, flops=FLOPS, entries=3 * ENTRIES, calls=CALLS / 2, pivots=PIVOTS)
    assert budget.spent == pytest.approx(7.5) and not budget.cut and not is_over()


def test_inner_blocks_spend_what_outer_ones_have() -> None:
    with within(2.0) as outer:
        with within(5.0) as inner:
            spend(1.5)
            assert not is_over() and units_left() == 0.5
            spend(1.0)
            assert is_over() and inner.cut and outer.cut and not inner.by_clock
        assert inner.spent == outer.spent == 2.5
        with pytest.raises(OutOfWork):
            go_on()
    assert not is_over() and units_left() == float("inf")


def test_an_inner_block_that_ends_leaves_the_outer_one_whole() -> None:
    with within(9.0) as outer, within(1.0) as inner:
        spend(1.0)
        assert is_over() and inner.cut and not outer.cut


def test_what_is_made_ready_is_not_ended() -> None:
    with within(0.0) as outer:
        with finishing():
            spend(1.0)
            assert not is_over() and units_left() == float("inf")
            go_on()
        assert not outer.cut and outer.spent == 1.0
        with pytest.raises(OutOfWork):
            go_on()
        assert outer.cut


def test_only_a_clock_ends_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    with within(0.0, seconds=5.0) as outer:
        with proving() as budget:
            spend(1.0)
            assert not is_over() and units_left() == float("inf")
            now[0] = 5.0
            with pytest.raises(OutOfWork):
                go_on()
            assert budget.cut and budget.by_clock
            with finishing():
                go_on()
        assert outer.cut and outer.by_clock and outer.spent == 1.0


def test_the_clock_is_read_only_where_seconds_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> float:
        raise AssertionError("a clock was read")

    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", read)
        with within(1.0):
            assert not is_over()
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    with within(9.0, seconds=5.0) as budget:
        assert not is_over()
        now[0] = 6.0
        assert is_over() and budget.cut and budget.by_clock


@pytest.mark.parametrize(("units", "seconds"), [(-1.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_less_than_nothing_is_refused(units: float, seconds: float) -> None:
    with pytest.raises(ValueError, match="less than nothing; give 0 or more"), within(units, seconds):
        pass
