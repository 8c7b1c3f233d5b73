"""What is said of files of counts whose column is not named."""

from __future__ import annotations

from designer.files.data_files import _column_words


def test_a_column_that_was_not_named_is_asked_for() -> None:
    assert _column_words(None, ["a", "b"]).startswith("has 2 columns; name the one that holds the counts")
    assert _column_words("c", ["a", "b"]).startswith("has no column 'c'")
    assert _column_words(None, []).startswith("is empty")
