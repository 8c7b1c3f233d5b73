"""Progress: names and a sane time left on a terminal, nothing in pipes, nothing of what confidential data do."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from designer import InvalidProblem
from designer.base import progress, progress_line
from designer.base.errors import hides_data_in_errors
from designer.base.progress import announce, each_of, showing_progress, step, track
from designer.base.progress_line import Display, Step


class Screen(io.StringIO):
    """A terminal that shows one line."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.getvalue().split("\r") if line.strip()]


class Clock:
    """Seconds that pass when they are told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def shown_on(stream: Screen, clock: Clock) -> Iterator[Display]:
    """What is drawn on a screen by a fake clock, without the thread that draws from time to time."""
    display = Display(stream, drawn_over=True, clock=clock)
    token = progress._display.set(display)
    try:
        yield display
    finally:
        progress._display.reset(token)
        display.erase()


def test_alike_items_take_the_time_that_they_took() -> None:
    own = Step("counting", 0.0, of=10, since=0.0)
    assert own.left(50.0) is None
    for k in range(1, 10):
        own.advance(None, 3.0 * k)
        assert own.left(3.0 * k) == pytest.approx(3.0 * (10 - k))
        assert own.left(3.0 * k + 1) == pytest.approx(3.0 * (10 - k) - 1)
    own.advance(None, 30.0)
    assert own.left(30.0) == 0.0


def test_the_time_left_never_falls_below_what_an_item_that_stalls_takes() -> None:
    own = Step("counting", 0.0, of=4, since=0.0)
    own.advance(None, 2.0)
    times = [own.left(2.0 + 0.1 * k) for k in range(1000)]
    assert all(left is not None and left >= 0.1 * k for k, left in enumerate(times, -10) if k > 10)
    assert times[0] == pytest.approx(6.0) and max(abs(b - a) for a, b in pairwise(times)) < 1.0  # type: ignore[operator]


def test_weights_and_shares_scale_the_time_left() -> None:
    clock, screen = Clock(), Screen()
    with shown_on(screen, clock) as display:
        for item in each_of([1.0, 1.0, 8.0], "designing", lambda item: item):
            clock.now += item * 3
            if item == 8.0:
                assert display.steps[0].left(clock.now - 24.0) == pytest.approx(24.0, rel=0.6)
    clock, screen = Clock(), Screen()
    with shown_on(screen, clock) as display:
        for row in track(iter(range(1, 5)), "scanning", lambda row: row**2 / 16):
            if row > 1:
                assert f"{(row - 1) ** 2 / 16:.0%}" in display.line(clock.now)
            clock.now += 2 * row - 1


def test_a_limit_bounds_the_time_left_and_is_said_where_nothing_else_is_known() -> None:
    clock, screen = Clock(), Screen()
    with shown_on(screen, clock) as display, step("solving") as own:
        assert own is not None
        own.end = clock.now + 60
        clock.now += 20
        assert display.line(clock.now) == "solving, about 40 s left"
        own.of = 1000
        own.advance(None, clock.now)
        assert own.left(clock.now) == 40.0
        clock.now += 50
        assert own.left(clock.now) is None and display.line(clock.now) == "solving 0%"


def test_names_are_drawn_after_half_a_second_and_figures_once_a_second() -> None:
    clock, screen = Clock(), Screen()
    with shown_on(screen, clock), step("outer"):
        for _ in track(range(100), "inner"):
            clock.now += 0.1
    assert screen.lines[0].startswith("outer > inner") and "about" in screen.lines[-1]
    assert 8 <= len(screen.lines) <= 12 and screen.getvalue().endswith("\r") and "\x1b" not in screen.getvalue()
    lines = screen.getvalue().split("\r")
    assert not lines[-2].strip() and len(lines[-2]) >= len(lines[-3].rstrip())


def test_short_steps_are_never_shown_and_announced_ones_at_once() -> None:
    clock, screen = Clock(), Screen()
    with shown_on(screen, clock), step("short"):
        clock.now += 0.4
        for _ in track(range(3), "inner"):
            clock.now += 0.01
        assert not screen.lines
        announce("proving a hull, about 40 s")
        assert screen.lines == ["short > proving a hull, about 40 s"]
    assert not screen.getvalue().split("\r")[-2].strip()


def test_an_announced_step_ends_with_the_one_around_it() -> None:
    clock = Clock()
    with shown_on(Screen(), clock) as display, step("outer"):
        with step("inner"):
            announce("a")
            announce("b")
            assert [own.name for own in display.steps] == ["outer", "inner", "b"]
            for _ in track([1], "counted"):
                assert [own.name for own in display.steps] == ["outer", "inner", "counted"]
        assert [own.name for own in display.steps] == ["outer"]


def test_what_is_left_early_leaves_nothing_on_the_screen() -> None:
    with shown_on(Screen(), Clock()) as display:
        for _ in track(range(5), "left early"):
            break
        with pytest.raises(KeyError), step("failing"):
            abandoned = track(range(5), "abandoned")
            next(iter(abandoned))
            raise KeyError
        assert display.steps == []


def test_a_narrow_terminal_shows_the_inner_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    with shown_on(Screen(), clock) as display, step("o" * 30), step("m" * 30), step("scanning"):
        assert display.line(clock.now, 80) == f"{'o' * 30} > {'m' * 30} > scanning"
        assert display.line(clock.now, 60) == f"{'m' * 30} > scanning"
        assert display.line(clock.now, 6) == "sca..."


def test_confidential_work_shows_nothing_of_itself() -> None:
    """Neither names, nor counts, nor times: what is drawn is the same for any data."""
    seen = []
    for records in (3, 5000):
        clock, screen = Clock(), Screen()

        @hides_data_in_errors
        def reading(count: int, clock: Clock = clock) -> int:
            announce(f"{count} records")
            for _ in track(range(count), "counting"):
                clock.now += 0.5
            return count

        with shown_on(screen, clock), step("release spec.json"):
            clock.now += 1.0
            assert reading(records) == records
        seen.append(screen.getvalue())
    assert seen[0] == seen[1] and "release spec.json" in seen[0] and "record" not in seen[0].replace("release", "")


def test_a_refusal_of_confidential_work_lets_progress_go_on() -> None:
    clock, screen = Clock(), Screen()

    @hides_data_in_errors
    def failing() -> None:
        raise KeyError("a record")

    with shown_on(screen, clock) as display:
        with pytest.raises(InvalidProblem):
            failing()
        assert display.hidden == 0


def test_nothing_is_written_where_nobody_asked(capsys: pytest.CaptureFixture[str]) -> None:
    announce("loud")
    with step("a"), showing_progress(False):
        assert list(track(range(3), "b")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_what_is_asked_for_comes_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_line, "FIRST", 0.0)
    stream = io.StringIO()
    with showing_progress(stream=stream), step("outer"):
        announce("a long step")
    assert stream.getvalue().splitlines()[-1] == "outer > a long step" and "\r" not in stream.getvalue()


def test_a_closed_stream_stops_no_work() -> None:
    stream = Screen()
    with showing_progress(stream=stream):
        stream.close()
        announce("nobody looks")
        assert list(track(range(3), "b")) == [0, 1, 2]


LONG = """
from designer.base.progress import showing_progress, step
with showing_progress(True), step("a task that reports nothing"):
    input()
print("done")
"""


def test_a_long_task_shows_its_name_on_a_terminal_and_is_erased() -> None:
    """Also where it reports nothing: the task ends once its name was seen."""
    outer, inner = pty.openpty()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", LONG], stdin=pipe, stdout=pipe, stderr=inner) as process:
        os.close(inner)
        drawn = b""
        while True:
            try:
                piece = os.read(outer, 4096)
            except OSError:
                break
            if not piece:
                break
            drawn += piece
            if b"a task that reports nothing" in drawn and process.stdin is not None and not process.stdin.closed:
                process.stdin.write(b"\n")
                process.stdin.close()
        assert process.stdout is not None and process.stdout.read() == b"done\n"
    os.close(outer)
    lines = drawn.decode().split("\r")
    assert lines[1].startswith("a task that reports nothing") and not lines[-1] and not lines[-2].strip()
    assert b"\x1b" not in drawn and b"\n" not in drawn


def test_commands_are_quiet_in_pipes(tmp_path: Path) -> None:
    problem = tmp_path / "p.toml"
    problem.write_text('[workload]\nbuilder = "identity"\nsize = 40\n[relation]\nmetric = "uniform"\nepsilon = 1.0\n')
    command = [sys.executable, "-m", "designer", "compare", str(problem), "--family", "laplace"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr == "" and "\r" not in ended.stdout and "\x1b" not in ended.stdout


def test_drawing_never_slows_counting_much() -> None:
    """Not a timer: a million items call the clock of the screen no more than twice each."""
    calls = 0

    def clock() -> float:
        nonlocal calls
        calls += 1
        return time.monotonic()

    display = Display(Screen(), drawn_over=True, clock=clock)
    token = progress._display.set(display)
    try:
        for _ in track(range(10_000), "counting"):
            pass
    finally:
        progress._display.reset(token)
    assert calls <= 3 * 10_000
