"""What is said of files of counts whose column is not named."""

from __future__ import annotations

from pathlib import Path

import pytest

from designer import InvalidProblem
from designer.files.data_files import _column_words, require_histogram_file


def test_a_column_that_was_not_named_is_asked_for() -> None:
    assert _column_words(None, ["a", "b"]).startswith("has 2 columns; name the one that holds the counts")
    assert _column_words("c", ["a", "b"]).startswith("has no column 'c'")
    assert _column_words(None, []).startswith("is empty")


def test_a_path_without_a_file_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("none.csv", "folder.csv", "none.npy", "none.parquet"):
        with pytest.raises(InvalidProblem, match=rf"{name}: no such file; give the file that holds the counts"):
            require_histogram_file(tmp_path / name)
    with pytest.raises(InvalidProblem, match=r"none.txt: is not a .csv, .npy or .parquet file"):
        require_histogram_file(tmp_path / "none.txt")
    (tmp_path / "here.csv").write_text("1\n")
    require_histogram_file(tmp_path / "here.csv")
