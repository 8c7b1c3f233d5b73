"""CSV that reads back exactly, and that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.base.labels import as_csv, guarded, unguarded

NAMES = [
    *("plain", "a,b", 'say "x"', "two\nlines", "\r", "a\r\nb", "\t", "", " ", "=1+1", "+1", "-1", "@x", "-5+cmd|'/C calc'!A0"),
    *("\x07bell", "\\\x1b", "\\x1b", "\\\\u202e", "C:\\new", "\x85", "\u2066x", "=\x1b"),
    *("'", "''=", "'t Zandt", "\x00\x1b[31m", "\u202eabc", "é", "😀", "NA", "1e5", "＝1"),
]


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_names_read_back() -> None:
    rows = read(as_csv({"name": NAMES, "answer": np.arange(len(NAMES)) / 8}))
    assert [unguarded(row[0]) for row in rows[1:]] == NAMES and [float(row[1]) * 8 for row in rows[1:]] == list(
        range(len(NAMES))
    )


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
@settings(max_examples=200, deadline=None)
def test_every_text_reads_back_and_none_begins_like_a_formula(names: list[str]) -> None:
    rows = read(as_csv({"name": names}))
    assert [unguarded(row[0]) for row in rows[1:]] == names
    assert not any(unicodedata.category(c) == "Cc" or c in "\u202e\u2066\u2028" for row in rows for c in row[0])
    assert all(row[0][:1] not in tuple("=+-@\t\r＝＋－＠") or _is_number(row[0]) for row in rows[1:])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text


@given(st.lists(st.floats(allow_nan=False), min_size=1))
@settings(max_examples=100, deadline=None)
def test_every_number_reads_back(numbers: list[float]) -> None:
    rows = read(as_csv({"x": np.array(numbers), "k": np.arange(len(numbers))}))
    assert [float(row[0]) for row in rows[1:]] == numbers


def test_numbers_are_short_and_what_is_none_is_empty() -> None:
    assert as_csv({"x": np.array([1.0, -0.0, 0.1, np.nan, np.inf])}) == '"x"\n1\n0\n0.1\n\ninf\n'


@pytest.mark.parametrize("library", [pd, pl])
def test_libraries_read_it(library: object) -> None:
    names = [name for name in NAMES if name not in ("", "NA", "\r", "a\r\nb", "\x00\x1b[31m")]
    text = as_csv({"name": names, "answer": np.arange(len(names)) + 0.5}).encode()
    frame = library.read_csv(io.BytesIO(text))  # type: ignore[attr-defined]
    assert list(map(unguarded, frame["name"])) == names and list(frame["answer"]) == (np.arange(len(names)) + 0.5).tolist()


def test_formulas_are_guarded_and_numbers_are_not() -> None:
    assert [guarded(text) for text in ("=A1", "-5", "+1.5e3", "-", "@SUM")] == ["'=A1", "-5", "+1.5e3", "'-", "'@SUM"]
