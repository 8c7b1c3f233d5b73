"""The columns of a file of records: the first line or the schema, and nothing of any row. What is said of files of counts
whose column is not named. A path with a zero byte, or with half of a surrogate pair, is refused by everything that reads a
file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from designer import load, read_problem
from designer.accounts.store import content_hash
from designer.base.errors import InvalidProblem, Refusal
from designer.files.data_files import LONGEST, FileColumn, _column_words, columns_of_file, require_histogram_file
from designer.files.signatures import SigningKey
from designer.problem_file.kinds import read_request

CANARY = "982451653"


ROWS = b'4,x\n5\n"broken,\n\xff\xfe\0\n'


def written(tmp_path: Path, content: bytes, name: str = "data.csv") -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


@pytest.mark.parametrize(
    ("first", "names"),
    [
        (b"age,sex\n", ["age", "sex"]),
        (b"\xef\xbb\xbfage,sex\r\n", ["age", "sex"]),
        (b'"a, b","say ""x"""\n', ["a, b", 'say "x"']),
        ("Größe, 年齢\n".encode(), ["Größe", " 年齢"]),
    ],
)
def test_names_are_those_of_the_first_line_whatever_stands_below(first: bytes, names: list[str], tmp_path: Path) -> None:
    for rows in (b"", b"1,2\n", ROWS, b"\0" * 5000, b'"' * 999):
        assert columns_of_file(written(tmp_path, first + rows)) == tuple(map(FileColumn, names))


def test_other_separators_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, b"age;sex\n1;2\n")
    assert [column.name for column in columns_of_file(path, ";")] == ["age", "sex"]
    with pytest.raises(InvalidProblem, match="--delimiter"):
        columns_of_file(path)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\nage,sex\n",
        f"{CANARY},F\n".encode(),
        f"{CANARY}x,{CANARY}x\n".encode(),
        f"{CANARY}x,\n".encode(),
        f'{CANARY}x,"open\n'.encode(),
        f"{CANARY}x,\x01\n".encode(),
        f"{CANARY}x\xff\n".encode("latin-1"),
        f"{CANARY}x\n".encode("utf-16"),
        f"age,sex\r{CANARY}x,1\r".encode(),
        b"x" * LONGEST + b"\n",
    ],
)
def test_a_first_line_that_may_be_a_record_is_refused_and_not_quoted(first: bytes, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"first line|UTF-16") as refused:
        columns_of_file(written(tmp_path, first + ROWS))
    assert CANARY not in str(refused.value) and refused.value.__cause__ is None


def test_a_parquet_file_states_types_and_its_values_do_not_matter(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    types = {
        "age": pyarrow.int64(),
        "pay": pyarrow.decimal128(9, 2),
        "sex": pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
    }
    for number, (age, sex) in enumerate(((1, "F"), (99, "other"))):
        columns = {"age": [age], "pay": [age], "sex": [sex]}
        parquet.write_table(pyarrow.table(columns, pyarrow.schema(list(types.items()))), tmp_path / f"{number}.parquet")
    first, second = (columns_of_file(tmp_path / f"{number}.parquet") for number in (0, 1))
    assert first == second and [column.name for column in first] == list(types)
    assert [column.is_number for column in first] == [True, True, False] and first[2].type == "dictionary"


@pytest.mark.parametrize(("name", "told"), [("data.txt", "are not read"), ("data.parquet", "is not a Parquet file")])
def test_other_files_are_refused(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=told):
        columns_of_file(written(tmp_path, b"age,sex\n", name))
    with pytest.raises(InvalidProblem, match="no such file"):
        columns_of_file(tmp_path / "nothing.csv")


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


READERS: dict[str, Callable[[str], object]] = {
    "load": load,
    "read_problem": read_problem,
    "read_request": read_request,
    "SigningKey.read": SigningKey.read,
    "content_hash": lambda path: content_hash([Path(path)], "ledger"),
}


@pytest.mark.parametrize("path", ["specs\0.json", "\ud800.json"], ids=["zero byte", "surrogate"])
@pytest.mark.parametrize("name", READERS)
def test_a_path_that_names_no_file_is_refused(name: str, path: str) -> None:
    with pytest.raises(Refusal, match="cannot"):
        READERS[name](path)
