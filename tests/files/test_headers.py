"""The columns of a file of records: the first line or the schema, and nothing of any row."""

from __future__ import annotations

from pathlib import Path

import pytest

from designer.base.errors import InvalidProblem
from designer.files.data_files import LONGEST, FileColumn, columns_of_file

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
    with pytest.raises(InvalidProblem, match="first line") as refused:
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
