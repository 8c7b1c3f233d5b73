"""What an office's files may have wrong with them: `check` says what and where, nothing is released, and nothing is spent."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from designer.cli import main
from tests.files.test_office_files import protected_by_password, workbook

pyreadstat = pytest.importorskip("pyreadstat")

PROBLEM = """
kind = "table_plan"
{records}
[columns.emp]
labels = {{ "1" = "Employed", "2" = "Not employed", "4" = "Student" }}
[groups.emp]
columns = ["emp"]
keys = ["1", "2", "4"]
[measures.pay]
step = 0.5
upper = 100
[queries.persons]
ask = "count"
groups = ["emp"]
variance = 1
[queries.pay]
ask = "sum"
measure = "pay"
variance = 1
"""
FRAME = pd.DataFrame({"emp": [1, 2, 4], "pay": [10.5, 20.5, 0]})
LABELS = {1: "Employed", 2: "Not employed", 4: "Student"}
SEMICOLONS = '[records]\ndelimiter = ";"\n'
CSV = "emp,pay\n1,10.5\n2,20.5\n4,0\n"
Make = Callable[[Path], Any]


def sav(labels: dict[int, str], frame: pd.DataFrame = FRAME) -> Make:
    return lambda path: pyreadstat.write_sav(frame, path, variable_value_labels={"emp": labels})


def text(content: str, encoding: str = "utf-8") -> Make:
    return lambda path: path.write_bytes(content.encode(encoding))


def sheet(*rows: list[Any], **others: list[list[Any]]) -> Make:
    return lambda path: workbook(path, list(rows), **others)


def half(make: Make) -> Make:
    def made(path: Path) -> None:
        make(path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])

    return made


@dataclass
class Dirty:
    """name: of the file. words: a pattern of what `check` says. records: a section of the problem file. release: what `release`
    does: "refused" before anything is reserved. "spent", where a code that is not listed is found while records are counted, so
    that what was reserved stays: who asks lists the codes, and a free refusal would answer any such question. "made", where a
    refusal would itself tell of a record, or codes are right whatever their labels."""

    name: str
    make: Make
    words: str
    records: str = ""
    release: str = "refused"


LONG = pd.concat([FRAME] * 500)
CASES = [
    Dirty(
        "swapped.sav", sav({1: "Not employed", 2: "Employed"}), "emp: '1' is 'Not employed' in the file and 'Employed' in the"
    ),
    Dirty("twice.sav", sav({**LABELS, 2: "Employed"}), "emp: the file has the label 'Employed' for several codes"),
    Dirty("other.sav", sav({**LABELS, 1: "At work"}), "emp: '1' is 'At work' in the file and 'Employed' in", release="made"),
    Dirty("gap.sav", sav({**LABELS, 3: "Retired"}), r"emp: codes with a label .* not listed here: \['3'\]", release="made"),
    Dirty("cut.sav", half(sav(LABELS, LONG)), "cut.sav: cannot be read: it is damaged, cut off, .* save it again"),
    Dirty("cut.dta", half(lambda path: pyreadstat.write_dta(LONG, path)), "cut.dta: cannot be read: .* save it again"),
    Dirty("cut.xlsx", half(sheet(["emp", "pay"], [1, 2])), "cut.xlsx: cannot be read: .* save it again"),
    Dirty("empty.sav", text(""), "empty.sav: cannot be read: .* save it again"),
    Dirty("renamed.sav", text(CSV), "renamed.sav: cannot be read: .* of another type than its name says"),
    Dirty(
        "texts.sav",
        lambda path: pyreadstat.write_sav(FRAME.assign(pay=["a", "b", "3"]), path),
        "pay: 2 of 3 cannot be read .*; the first",
    ),
    Dirty("password.xlsx", protected_by_password, "password.xlsx: is protected by a password; save it without one"),
    Dirty("sheet.xlsx", sheet(["emp", "pay"]), "no sheet 'People'; it has .'Data'.; correct", '[records]\nsheet = "People"\n'),
    Dirty("sheets.xlsx", sheet(["emp", "pay"], Notes=[["a"]]), r"sheets.xlsx: has the sheets \['Data', 'Notes'\]; name one"),
    Dirty("title.xlsx", sheet(["Pay"], ["emp", "pay"]), "title.xlsx, sheet 'Data': has no column 'emp'; its first row names"),
    Dirty("merged.xlsx", sheet(["emp", None, "pay"]), "merged.xlsx, sheet 'Data': .* column 2 has no name; write one above it"),
    Dirty("numbers.xlsx", sheet([1, 2], [1, 3]), "numbers.xlsx, sheet 'Data': its first row is no line of names"),
    Dirty("decimal.csv", text("emp;pay\n1;10,5\n2;1\n"), 'pay: .* mark .,.; say .records. decimal = ","', SEMICOLONS),
    Dirty("grouped.csv", text('emp,pay\n1,"1,234"\n2,1\n'), 'say .records. thousands = "," or decimal = ","'),
    Dirty("commas.csv", text("emp,pay\n1,10,5\n2,1\n"), "1 record with more fields than .* first is record 1", release="made"),
    Dirty("delimiter.csv", text("emp;pay\n1;2\n"), "delimiter.csv: its first line is separated by ';', not by ','"),
    Dirty("blanks.csv", text('emp,pay\n"1 ",10.5\n'), "'1 ' .listed: '1'; blanks", release="spent"),
    Dirty("code.csv", text("emp,pay\n1,1\n7,1\n"), "emp: 1 of 2 are in none of the listed groups\n +'7': 1", release="spent"),
    Dirty("twice.csv", text("emp,pay,Pay\n1,2,3\n"), "twice.csv, line 1: .* columns 2 and 3 are both 'Pay'; rename one"),
    Dirty("column.csv", text("emp,income\n1,2\n"), r"column.csv: has no column 'pay'; it has \['emp', 'income'\]; correct"),
    Dirty(
        "words.csv",
        text("emp,pay\n1,ten\n"),
        "pay: 1 of . cannot be read as numbers, and are refused; the first is record 1\n +'ten'",
    ),
    Dirty("empty.csv", text(""), "empty.csv: is empty, or its first line is; write the names of its columns there"),
    Dirty("header.csv", text("emp,pay\n"), "there is no record; a release would hold noise alone", release="made"),
    Dirty("wide.csv", text(CSV, "utf-16"), "wide.csv: is a text in UTF-16; save it as UTF-8"),
    Dirty("latin.csv", text("emp,pay\nß,1\n", "latin-1"), "bytes that are not UTF-8: save the file as UTF-8", release="spent"),
    Dirty(
        "quote.csv",
        text('emp,pay\n1,"2\n2,3\n'),
        "pay: 1 of . cannot be read as numbers, and are refused; the first is record 1",
    ),
    Dirty("absent.sav", lambda path: None, "absent.sav: no such file; give a file of records"),
    Dirty("old.xls", text("x"), "old.xls: is of a type that is not read; give one of .csv, .parquet, .sav"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_wrong_is_said_and_nothing_is_spent(case: Dirty, tmp_path: Path, capsys: Any) -> None:
    with chdir(tmp_path):
        Path("problem.toml").write_text(PROBLEM.format(records=case.records))
        case.make(Path(case.name))
        assert main(["design", "problem.toml", "-o", "spec.json"]) == 0
        assert main(["ledger", "create", "ledger", "--dataset", "a", "--rho", "1e9", "--allow-unprotected"]) == 0
        before = Path("ledger").read_bytes()
        capsys.readouterr()
        assert main(["check", case.name, "problem.toml"]) in (2, 9)
        said = capsys.readouterr()
        assert re.search(case.words, said.out + said.err)
        given = ["release", "spec.json", "--table", case.name, "--ledger", "ledger", "--dataset", "a", "-o", "r.json"]
        assert Path("ledger").read_bytes() == before
        assert (main(given) == 0) == Path("r.json").exists() == (case.release == "made")
        assert (Path("ledger").read_bytes() == before) == (case.release == "refused")
        left = {"problem.toml", "spec.json", "ledger", case.name}
        assert {path.name for path in tmp_path.iterdir()} <= left | ({"r.json"} if case.release == "made" else set())
