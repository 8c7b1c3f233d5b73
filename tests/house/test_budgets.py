"""What each room may have: a number in `budgets.toml` is raised by a commit of its own, which says what a user got for it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.house.figures import classes_given_twice, rooms

BUDGETS: dict[str, dict[str, int]] = tomllib.loads((Path(__file__).parent / "budgets.toml").read_text())


def test_every_room_has_a_budget() -> None:
    assert set(BUDGETS) == {room or "public" for room in rooms()}


def test_a_room_keeps_its_budget() -> None:
    over, measured = {}, rooms()
    for room, most in BUDGETS.items():
        own = measured["" if room == "public" else room]
        assert set(most) == set(own), room
        over[room] = {what: f"{own[what]} of {most[what]}" for what in own if own[what] > most[what]}
    assert {room: what for room, what in over.items() if what} == {}


def test_no_class_name_is_given_twice() -> None:
    assert classes_given_twice() == []
