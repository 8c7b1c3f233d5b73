"""Times in files: one form, read back, and nothing else taken for a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from designer import InvalidProblem
from designer.base.json_text import is_utc_text, utc_text


def test_a_time_is_said_in_utc_and_reads_back() -> None:
    there = datetime(2026, 3, 1, 0, 30, 5, tzinfo=timezone(timedelta(hours=2)))
    assert utc_text(there) == "2026-02-28T22:30:05Z"
    assert is_utc_text(utc_text(there)) and is_utc_text(utc_text())


def test_every_year_that_there_is_has_four_digits_and_reads_back() -> None:
    for year in (1, 12, 123, 999, 1000, 9999):
        text = utc_text(datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
        assert text == f"{year:04}-12-31T23:59:59Z" and is_utc_text(text)


def test_a_time_of_the_right_form_that_no_calendar_has_is_none() -> None:
    assert is_utc_text("2028-02-29T23:59:59Z")
    for text in ("2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z"):
        assert not is_utc_text(text), text


def test_another_form_or_type_is_none() -> None:
    for value in (
        "2026-01-31 12:00:00Z",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00+00:00",
        "2026-1-31T12:00:00Z",
        "",
        None,
        0,
    ):
        assert not is_utc_text(value), value


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidProblem, match=r"^time: '2026-01-31 00:00:00' says no zone"):
        utc_text(datetime(2026, 1, 31))
