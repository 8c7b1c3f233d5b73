"""The page of the seven questions is made of their table, and current."""

from __future__ import annotations

from tests.house.decide_page import PAGE, PICTURE, page, picture

REMEDY = "run python -m tests.house.decide_page"


def test_the_page_and_its_picture_are_those_of_the_table() -> None:
    assert PAGE.read_text() == page(), REMEDY
    assert PICTURE.read_text() == picture(), REMEDY
