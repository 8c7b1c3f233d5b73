"""Records of SPSS, Stata, SAS and Excel: one text for one value, whatever holds it and whatever other records hold."""

from __future__ import annotations

import datetime as dt
import itertools
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from designer.base.errors import InvalidProblem
from designer.files.office_files import _of_numbers, as_parquet, cells_of, dictionary_of, notes_on
from designer.problem.reading import Reading, code_text

pyreadstat = pytest.importorskip("pyreadstat")
xlsxwriter = pytest.importorskip("xlsxwriter")

NAN = float("nan")
EMP = [1, 2, 3, 99, 98, NAN, 1, 1.5]
EMP_TEXTS = ["1", "2", "3", "99", "98", None, "1", "1.5"]
LABELS = {1: "Employed", 2: "Unemployed", 4: "Student", 98: "Refused", 99: "Unknown"}


def sav(path: Path, values: list[Any], **options: Any) -> Path:
    """An SPSS file of one column `emp`, with its dictionary."""
    options = {"variable_value_labels": {"emp": LABELS}, "missing_ranges": {"emp": [98, 99]}, **options}
    pyreadstat.write_sav(pd.DataFrame({"emp": values, "n": np.arange(len(values))}), path, **options)
    return path


def texts(path: Path, name: str, reading: Reading | None = None, numbers: tuple[str, ...] = ()) -> list[Any]:
    """A column as it is read."""
    return [value for batch in cells_of(path, [name], reading or Reading(), numbers) for value in batch[name]]


def workbook(path: Path, rows: list[list[Any]], **sheets: list[list[Any]]) -> Path:
    """A workbook with a sheet `Data` and others; dates as dates."""
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, cells in {"Data": rows, **sheets}.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(cells):
                for j, cell in enumerate(row):
                    if isinstance(cell, (dt.date, dt.datetime)):
                        sheet.write_datetime(i, j, cell, day)
                    elif isinstance(cell, str):
                        sheet.write_string(i, j, cell)
                    elif cell is not None:
                        sheet.write(i, j, cell)
    return path


@pytest.mark.parametrize("options", [{}, {"row_compress": True}, {"compress": True}])
def test_codes_of_spss_are_those_of_the_oracle(tmp_path: Path, options: dict[str, Any]) -> None:
    path = sav(tmp_path / ("a.zsav" if "compress" in options else "a.sav"), EMP, **options)
    assert texts(path, "emp") == EMP_TEXTS
    (emp, n) = dictionary_of(path)
    assert dict(emp.labels) == {str(code): label for code, label in LABELS.items()}  # in the order of codes, unused ones too
    assert emp.missing == ("98", "99")
    assert (emp.is_number, n.is_number) == (False, True)


def test_codes_do_not_depend_on_the_order_of_records_or_on_other_records(tmp_path: Path) -> None:
    for place, order in enumerate(itertools.islice(itertools.permutations(range(len(EMP))), 0, 40320, 8000)):
        path = sav(tmp_path / f"{place}.sav", [EMP[k] for k in order])
        assert texts(path, "emp") == [EMP_TEXTS[k] for k in order]
    for left_out in range(len(EMP)):
        path = sav(tmp_path / "less.sav", EMP[:left_out] + EMP[left_out + 1 :])
        assert texts(path, "emp") == EMP_TEXTS[:left_out] + EMP_TEXTS[left_out + 1 :]


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_tags_of_stata_are_codes_in_every_order(tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("designer.files.office_files.BATCH", batch)
    values, expected = [1, 2, "a", "b", 3, NAN], ["1", "2", ".a", ".b", "3", None]
    for order in ((0, 1, 2, 3, 4, 5), (5, 3, 2, 1, 0, 4), (2, 5, 4, 0, 3, 1)):
        frame = pd.DataFrame({"x": [values[k] for k in order]}, dtype=object)
        pyreadstat.write_dta(frame, tmp_path / "a.dta", missing_user_values={"x": ["a", "b"]})
        assert texts(tmp_path / "a.dta", "x") == [expected[k] for k in order]
        numbers = texts(tmp_path / "a.dta", "x", numbers=("x",))
        assert numbers == [{"1": 1.0, "2": 2.0, "3": 3.0}.get(str(expected[k])) for k in order]


def test_texts_lose_the_blanks_of_their_format_only(tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": ["a  ", " b", "", "01", "NA", "ü"], "n": range(6)})
    pyreadstat.write_sav(frame, tmp_path / "a.sav")
    pyreadstat.write_xport(frame.drop(5), tmp_path / "a.xpt", file_format_version=5)
    pyreadstat.write_dta(frame, tmp_path / "a.dta")
    assert texts(tmp_path / "a.sav", "s") == ["a", " b", None, "01", "NA", "ü"]
    assert texts(tmp_path / "a.xpt", "s") == ["a", " b", None, "01", "NA"]
    assert texts(tmp_path / "a.dta", "s")[1:] == [" b", None, "01", "NA", "ü"]


def test_a_transport_file_without_numbers_is_refused(tmp_path: Path) -> None:
    pyreadstat.write_xport(pd.DataFrame({"s": ["a", "b", " "]}), tmp_path / "a.xpt", file_format_version=5)
    with pytest.raises(InvalidProblem, match=r"a\.xpt: has no column of numbers"):
        texts(tmp_path / "a.xpt", "s")


def test_days_months_and_moments_follow_their_formats(tmp_path: Path) -> None:
    spss = pd.DataFrame({"d": [dt.date(2021, 3, 5)], "t": [dt.datetime(2021, 3, 5, 12, 30)], "h": [dt.time(6, 0)]})
    pyreadstat.write_sav(spss, tmp_path / "a.sav")
    assert [texts(tmp_path / "a.sav", name) for name in "dth"] == [["2021-03-05"], ["2021-03-05 12:30:00"], ["21600"]]
    months = pd.DataFrame({"d": [22344.0, NAN], "m": [734.0, NAN], "q": [245.0, NAN], "y": [2021.0, NAN]})
    formats = {"d": "%td", "m": "%tm", "q": "%tq", "y": "%ty"}
    pyreadstat.write_dta(months, tmp_path / "a.dta", variable_format=formats)
    read = [texts(tmp_path / "a.dta", name)[0] for name in "dmqy"]
    assert read == ["2021-03-05", "2021-03", "2021-Q2", "2021"]
    assert all(texts(tmp_path / "a.dta", name)[1] is None for name in "dmqy")


def test_a_workbook_keeps_texts_and_spells_numbers(tmp_path: Path) -> None:
    rows = [["code", "n", "day"], ["01", 1.0, dt.date(2021, 3, 5)], ["1", 1.5, None], ["001", True, "x"], [None, None, None]]
    path = workbook(tmp_path / "a.xlsx", rows)
    assert texts(path, "code") == ["01", "1", "001"]
    assert texts(path, "n") == ["1", "1.5", "true"]
    assert texts(path, "day") == ["2021-03-05", None, "x"]
    assert any("formulas" in note for note in notes_on(path))


def test_the_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]], Other=[["b"], [2]])
    with pytest.raises(InvalidProblem, match=r"a\.xlsx: has the sheets \['Data', 'Other'\]; name one: sheet"):
        dictionary_of(path)
    assert texts(path, "b", Reading(sheet="Other")) == ["2"]
    with pytest.raises(InvalidProblem, match=r"a\.xlsx: has no sheet 'Othr'; .*'Other'"):
        dictionary_of(path, Reading(sheet="Othr"))


def protected_by_password(path: Path) -> Path:
    """A compound file as Excel writes a workbook with a password: its two streams, both empty here."""
    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    header = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<10I", 0, 1, 1, 0, 4096, end, 0, end, 0, 0) + struct.pack("<108I", *([free] * 108))

    def entry(name: str, kind: int, left: int = free, child: int = free) -> bytes:
        text = name.encode("utf-16-le") + b"\0\0"
        return struct.pack("<64sHBBIII16xI8x8xIQ", text, len(text), kind, 1, left, free, child, 0, end, 0)

    fat = struct.pack("<128I", 0xFFFFFFFD, end, *([free] * 126))
    folder = entry("Root Entry", 5, child=1) + entry("EncryptedPackage", 2, left=2) + entry("EncryptionInfo", 2) + bytes(128)
    path.write_bytes(header + fat + folder)
    return path


def test_a_workbook_with_a_password_is_refused_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"a\.xlsx: is protected by a password; save it without one"):
        dictionary_of(protected_by_password(tmp_path / "a.xlsx"))


def test_hidden_sheets_and_merged_cells_are_told(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        book.add_worksheet("Notes")
        sheet = book.add_worksheet("Data")
        sheet.hide()
        sheet.write_row(0, 0, ["a", "b"])
        sheet.merge_range(1, 0, 2, 0, "x")
        sheet.write_column(1, 1, [1, 2])
        sheet.write_formula(3, 0, "=1/0", None, "#DIV/0!")
        sheet.write(3, 1, 3)
    told = "\n".join(notes_on(tmp_path / "a.xlsx", Reading(sheet="Data")))
    assert "is hidden" in told and "1 merged ranges" in told
    assert texts(tmp_path / "a.xlsx", "a", Reading(sheet="Data")) == ["x", None, None]


def test_a_first_row_that_names_no_columns_is_refused(tmp_path: Path) -> None:
    for first in (["a", 1], ["a", "A"], ["a", "", "b"]):
        with pytest.raises(InvalidProblem, match=r"a\.xlsx.*name"):
            dictionary_of(workbook(tmp_path / "a.xlsx", [first, [1, 2]]))


@given(
    st.lists(st.none() | st.floats(allow_nan=False) | st.integers(-3, 3).map(float) | st.sampled_from([2.0**53, -0.0, 2.0**60]))
)
def test_many_numbers_at_once_are_read_as_each_alone(values: list[float | None]) -> None:
    assert _of_numbers(values, False).to_pylist() == list(map(code_text, values))
    assert _of_numbers(values, True).to_pylist() == [None if value is None else value + 0.0 for value in values]


@pytest.mark.parametrize("cut", [8, 200])
@pytest.mark.parametrize("suffix", [".sav", ".zsav", ".dta", ".xlsx"])
def test_a_file_that_was_cut_off_or_renamed_is_refused_by_name(tmp_path: Path, suffix: str, cut: int) -> None:
    frame = pd.DataFrame({"x": np.arange(5000) % 7 + 0.5, "s": ["abc"] * 5000})
    path = tmp_path / f"a{suffix}"
    if suffix == ".xlsx":
        workbook(path, [["x"], *([k] for k in range(500))])
    elif suffix == ".dta":
        pyreadstat.write_dta(frame, path)
    else:
        pyreadstat.write_sav(frame, path, compress=suffix == ".zsav")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - (cut if suffix != ".dta" else 20 * cut)])
    with pytest.raises(InvalidProblem, match=rf"a\{suffix}: .*save it"), as_parquet(path):
        pass
    shutil.copy(__file__, path)
    with pytest.raises(InvalidProblem, match=rf"a\{suffix}: cannot be read"):
        dictionary_of(path)


def test_what_is_missing_and_binned_is_said_by_the_reading_alone(tmp_path: Path) -> None:
    path = sav(tmp_path / "a.sav", [0, 14.5, 24, 65, 98, -3, NAN])
    reading = Reading.of({"columns": {"emp": {"bins": [0, 15, 25, 65], "missing": [98]}}})
    assert texts(path, "emp", reading) == ["0-14", "0-14", "15-24", "65+", None, "-3", None]
    plain = Reading.of({"columns": {"emp": {"missing": [[float("-inf"), -1], 98]}}})
    assert texts(path, "emp", plain, ("emp",)) == [0.0, 14.5, 24.0, 65.0, None, None, None]
    assert texts(path, "emp", None, ("emp",)) == [0.0, 14.5, 24.0, 65.0, 98.0, -3.0, None]


def test_every_file_of_the_same_records_gives_the_same_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"emp": EMP, "n": range(8)})
    sav(tmp_path / "a.sav", EMP)
    pyreadstat.write_dta(frame, tmp_path / "a.dta")
    pyreadstat.write_xport(frame, tmp_path / "a.xpt", file_format_version=8)
    pyreadstat.write_por(frame.rename(columns=str.upper), tmp_path / "a.por")
    frame.to_parquet(tmp_path / "a.parquet")
    workbook(tmp_path / "a.xlsx", [["emp", "n"], *([None if v != v else v, n] for n, v in enumerate(EMP))])
    for suffix in ("sav", "dta", "xpt", "por", "parquet", "xlsx"):
        assert texts(tmp_path / f"a.{suffix}", "EMP" if suffix == "por" else "emp") == EMP_TEXTS, suffix


def test_the_copy_for_the_engine_is_private_and_removed_on_error_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "private"))
    (tmp_path / "private").mkdir()
    path = sav(tmp_path / "a.sav", EMP)
    with as_parquet(path, ["emp", "n"], numbers=["n"]) as made:
        assert made.parent.stat().st_mode & 0o077 == 0
        table = parquet.read_table(made)
        assert table["emp"].to_pylist() == EMP_TEXTS
        assert table["n"].to_pylist() == [float(k) for k in range(8)]
    assert not list((tmp_path / "private").iterdir())
    with pytest.raises(ZeroDivisionError), as_parquet(path):
        _ = 1 / 0
    pyreadstat.write_sav(pd.DataFrame({"n": ["1", "x"]}), tmp_path / "b.sav")
    with pytest.raises(InvalidProblem) as refused, as_parquet(tmp_path / "b.sav", numbers=["n"]):
        pass
    assert "x" not in str(refused.value).split()
    with pytest.raises(InvalidProblem, match="has no column 'm'"), as_parquet(path, ["m"]):
        pass
    assert not list((tmp_path / "private").iterdir())
