"""Numbers for people stay on the side on which what is said of them is true, and tables stay within the terminal."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal

import pytest

from designer.base.display import (
    TIE_TOLERANCE,
    Column,
    at_least,
    at_most,
    closest,
    share_at_least,
    share_at_most,
    text_table,
    wrapped,
)
from designer.base.progress_line import time_words

DRAWN = random.Random(5)
VALUES = [DRAWN.choice((1, -1)) * DRAWN.random() * 10.0 ** DRAWN.randint(-12, 14) for _ in range(3000)]


def value_of(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


@pytest.mark.parametrize("digits", [1, 3, 4, 7])
def test_figures_are_on_the_side_that_is_claimed_and_near(digits: int) -> None:
    for value in VALUES:
        exact, slack = Decimal(value), abs(Decimal(value)) * TIE_TOLERANCE
        low, middle, high = (value_of(write(value, digits)) for write in (at_least, closest, at_most))
        assert low <= exact + slack and high >= exact - slack and low <= middle <= high
        last = Decimal(10) ** (exact.adjusted() + 1 - digits)
        assert high - low <= last * (1 + TIE_TOLERANCE) and abs(middle - exact) <= last / 2 * (1 + TIE_TOLERANCE)


def test_round_numbers_that_floats_miss_are_round() -> None:
    assert at_most(16 * (1 + 1e-12)) == at_least(16 * (1 - 1e-12)) == "16"
    assert at_most(16 * (1 + 1e-8)) == "16.01" and at_least(16 * (1 - 1e-8)) == "15.99"
    assert share_at_least(1 - 1e-12) == "100 %" and share_at_least(1 - 1e-6) == "99.9 %"
    assert share_at_most(0.0100001) == "1.1 %"


@pytest.mark.parametrize("write", [at_most, at_least, closest])
def test_what_is_no_number_is_said_in_a_word(write: Callable[[float], str]) -> None:
    assert [write(value) for value in (float("inf"), float("-inf"), float("nan"), 0.0, -0.0)] == [
        "infinite",
        "-infinite",
        "unknown",
        "0",
        "0",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.0, "0.00 s"), (59.6, "1 min"), (3599.7, "1 h"), (86399.9, "1 d"), (9.97, "10 s")]
)
def test_times_carry_over(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


ROWS = [Column("name", ("a" * 60, "b"), number=False), *(Column(f"c{k}", ("1,234.5", "6")) for k in range(9))]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_table_is_no_wider_than_the_terminal(width: int) -> None:
    lines = text_table(ROWS, width)
    assert max(map(len, lines)) <= width and len({len(line) for line in lines[1:2]}) == 1 and len(lines) == 4
    assert lines[0].split()[:2] == ["name", "c0"] and "1,234.5" in lines[2]
    assert ("c8" in lines[0]) == (width >= 200)


def test_decimal_marks_stand_one_below_another() -> None:
    names = Column("name", tuple("abcde"), number=False)
    lines = text_table([names, Column("value", ("1,234.5", "0.25", "7", "2.5e-7", "infinite"))], 80)[2:]
    assert lines[0].index(".") == lines[1].index(".") == lines[2].index("7") + 1
    shares = text_table([names, Column("share", ("12 %", "100.5 %", "1.25 %", "", "3 %"))], 80)[2:]
    assert len({line.index("%") for line in shares if "%" in line}) == 1
    assert shares[1].index(".") == shares[2].index(".") == shares[4].index("3") + 1


def test_long_lines_are_wrapped_behind_their_label_and_words_are_kept() -> None:
    text = "Efficiency:  " + "a word and another " * 20
    lines = wrapped(text.strip(), 60)
    assert max(map(len, lines)) <= 60 and all(line.startswith(" " * 13) for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert wrapped("a" * 90, 60) == ["a" * 90] and wrapped("", 60) == [""]
