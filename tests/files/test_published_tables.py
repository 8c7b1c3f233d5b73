"""Published tables, read by readers that others wrote: codes, labels, numbers, status, units and periods are what went in."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from designer import About, Domain, InvalidProblem, Problem, Workload, design, metrics
from designer.base.answer_table import NamedColumns
from designer.base.labels import unguarded
from designer.files import published_table
from designer.files.published_table import Dimension, PublishedTable, number_text, with_noise_digits
from designer.files.releases import release_document
from designer.files.table_files import TableOptions, files_of_tables
from designer.files.table_writers import FORMATS
from designer.problem.reading import Reading

LABELS = {"sex": {"F": "Women", "M": "Men"}, "age": {"01": "0-4", "02": "5-9", "09": "Not stated; other"}}
KEYS = [(sex, age) for sex in LABELS["sex"] for age in LABELS["age"]]
VALUES = [12, -3, 0, np.nan, 12345678901, 7]
TITLED = About(title="A title")
Cells = dict[tuple[str, ...], tuple[str, str]]  # the text of a number and the status, by codes


def table(
    keys: list[tuple[str, ...]],
    values: list[float],
    status: list[str],
    labels: dict[str, dict[str, str]],
    names: tuple[str, ...] = ("sex", "age"),
    about: About = TITLED,
) -> PublishedTable:
    columns = {name: [key[k] for key in keys] for k, name in enumerate(names)}
    meanings = {name: f"About {name}." for name in (*names, "answer")}
    made = NamedColumns({**columns, "answer": np.array(values, dtype=float)}, meanings, {}, len(names))
    dimensions = tuple(Dimension.of(name, columns[name], labels.get(name, {})) for name in names)
    return PublishedTable("oracle", made, dimensions, keys, ["persons"] * len(keys), status, about, "2026-11-29T10:00:00+00:00")


ORACLE = table(KEYS, VALUES, ["", "", "", "c", "", ""], LABELS)


def written(published: PublishedTable, kind: str) -> bytes:
    published.require()
    return FORMATS[kind].write([published])


def code_columns(header: list[str], names: tuple[str, ...]) -> list[int]:
    return [header.index(name) for name in names]


def sheet_cells(rows: list[list[Any]], published: PublishedTable) -> Cells:
    """The cells of a sheet whose header comes after the empty row."""
    first = next(k for k, row in enumerate(rows) if all(cell in (None, "") for cell in row)) + 1
    header = rows[first]
    places = code_columns(header, tuple(d.name for d in published.dimensions))
    value, status = header.index("answer"), header.index("status")
    return {
        tuple(row[place] for place in places): (
            "" if row[value] in (None, "") else str(row[value]).removesuffix(".0"),
            row[status] or "",
        )
        for row in rows[first + 1 :]
    }


def by_openpyxl(published: PublishedTable, folder: Path) -> Cells:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(written(published, "xlsx")))
    return sheet_cells([list(row) for row in book["oracle"].iter_rows(values_only=True)], published)


def by_calamine(published: PublishedTable, folder: Path) -> Cells:
    calamine = pytest.importorskip("python_calamine")
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(written(published, "xlsx")))
    rows = book.get_sheet_by_name("oracle").to_python(skip_empty_area=False)
    return sheet_cells([[repr(c) if isinstance(c, float) else c for c in row] for row in rows], published)


def by_pyjstat(published: PublishedTable, folder: Path) -> Cells:
    pyjstat = pytest.importorskip("pyjstat.pyjstat")
    text = written(published, "json-stat").decode()
    frame = pyjstat.Dataset.read(text).write("dataframe", naming="id")
    status = json.loads(text).get("status", {})
    names = [d.name for d in published.dimensions]
    return {
        tuple(row[name] for name in names): (number_text(row["value"]), status.get(str(k), ""))
        for k, row in enumerate(frame.to_dict("records"))
        if status.get(str(k)) != "z"
    }


def by_pyaxis(published: PublishedTable, folder: Path) -> Cells:
    pyaxis = pytest.importorskip("pyaxis.pyaxis")
    path = folder / "oracle.px"
    path.write_bytes(written(published, "px"))
    found = pyaxis.parse(str(path), "utf-8")
    rows, names = found["DATA"].to_dict("records"), [d.name for d in published.dimensions]
    known = [dict(zip(found["METADATA"][f"VALUES({n})"], found["METADATA"][f"CODES({n})"], strict=True)) for n in names]
    cells = {tuple(own[row[name]] for own, name in zip(known, names, strict=True)): row["DATA"] for row in rows}
    keys = [tuple(code.replace('"', "”") for code in key) for key in published.keys]
    expected = dict(zip(keys, published.status, strict=True))
    assert all(cells[key] != cells[key] for key in cells if key not in expected)  # NaN
    return {key: (cells[key], expected[key]) for key in cells if key in expected}


def by_sdmx1(published: PublishedTable, folder: Path) -> Cells:
    sdmx = pytest.importorskip("sdmx")
    from sdmx.model import v30

    content = written(published, "sdmx-csv")
    header = next(csv.reader(io.StringIO(content.decode())))
    structure = v30.DataStructureDefinition(id="ORACLE")
    names = header[3 : header.index("OBS_VALUE")]
    for name in names:
        structure.dimensions.getdefault(id=name)
    structure.measures.getdefault(id="OBS_VALUE")
    for name in header[header.index("OBS_VALUE") + 1 :]:
        structure.attributes.getdefault(id=name)
    path = folder / "oracle.csv"
    path.write_bytes(content)
    states = {("A", "F"): "", ("Q", "C"): "c", ("O", "F"): "m"}
    cells: Cells = {}
    for one in sdmx.read_sdmx(str(path), structure=structure).data[0].obs:
        marks = tuple(str(one.attached_attribute[name].value) for name in ("OBS_STATUS", "CONF_STATUS"))
        cells[tuple(one.dimension[name].value for name in names if name != "TIME_PERIOD")] = (one.value, states[marks])
    return cells


def by_csv(published: PublishedTable, folder: Path) -> Cells:
    rows = list(csv.reader(io.StringIO(written(published, "csv-semicolon").decode()), delimiter=";"))
    expected = dict(zip(published.keys, published.status, strict=True))
    keys = [tuple(map(unguarded, row[:-1])) for row in rows[1:]]
    return {key: (row[-1].replace(",", "."), expected[key]) for key, row in zip(keys, rows[1:], strict=True)}


def by_lxml(published: PublishedTable, folder: Path) -> Cells:
    html = pytest.importorskip("lxml.html")
    rows = html.document_fromstring(written(published, "html").decode()).xpath("//tbody/tr")
    known = [dict(zip(d.labels, d.codes, strict=True)) for d in published.dimensions]
    cells: Cells = {}
    for row in rows:
        texts = [cell.text or "" for cell in row]
        status = {"suppressed": "c", "no number": "m"}.get(texts[-1], "")
        key = tuple(own[text] for own, text in zip(known, texts, strict=False))
        cells[key] = ("" if status else texts[-1], status)
    return cells


READERS: dict[str, Callable[[PublishedTable, Path], Cells]] = {
    "openpyxl": by_openpyxl,
    "calamine": by_calamine,
    "pyjstat": by_pyjstat,
    "pyaxis": by_pyaxis,
    "sdmx1": by_sdmx1,
    "csv": by_csv,
    "lxml": by_lxml,
}


@pytest.mark.parametrize("reader", READERS)
def test_foreign_readers_find_the_cells_of_the_oracle(reader: str, tmp_path: Path) -> None:
    numbers = ["12", "-3", "0", "", "12345678901", "7"]
    expected = dict(zip(KEYS, zip(numbers, ["", "", "", "c", "", ""], strict=True), strict=True))
    found = READERS[reader](ORACLE, tmp_path)
    assert found == expected and [*found] == KEYS


def test_json_stat_has_all_cells_labels_units_and_periods() -> None:
    about = About(title="A title", period="2026-Q3", publisher="An office")
    found = json.loads(written(table(KEYS, VALUES, ["", "", "", "c", "", ""], LABELS, about=about), "json-stat"))
    assert found["value"] == [12, -3, 0, None, 12345678901, 7] and found["status"] == {"3": "c"}
    assert found["id"] == ["sex", "age", "period", "measure"] and found["size"] == [2, 3, 1, 1]
    assert found["dimension"]["age"]["category"] == {"index": ["01", "02", "09"], "label": LABELS["age"]}
    assert found["dimension"]["measure"]["category"]["unit"] == {"answer": {"label": "persons"}}
    assert found["role"] == {"metric": ["measure"], "time": ["period"]} and found["source"] == "An office"


@pytest.mark.parametrize("reader", ["pyjstat", "pyaxis"])
def test_nested_columns_are_one_dimension_whose_labels_name_those_above(reader: str, tmp_path: Path) -> None:
    keys = [(f"{n // 4}", f"{n // 2}b", f"{n}c", sex) for n in range(8) for sex in "FM"]
    names, labels = ("part", "state", "place", "sex"), {"part": {"0": "North"}, "place": {"0c": "Village"}}
    published = table(keys, [float(n) for n in range(16)], [""] * 16, labels, names)
    nested = published.nested()
    assert [d.name for d in nested.dimensions] == ["place", "sex"]
    assert nested.dimensions[0].labels[:2] == ("North / 0b / Village", "North / 0b / 1c")
    found = READERS[reader](nested, tmp_path)
    assert found == {(f"{n}c", sex): (f"{2 * n + k}", "") for n in range(8) for k, sex in enumerate("FM")}
    assert json.loads(written(published, "json-stat"))["size"] == [8, 2, 1]
    crossed = table([*keys, ("1", "0b", "0c", "F")], [0.0] * 17, [""] * 17, labels, names)
    assert [d.name for d in crossed.nested().dimensions] == ["part", "place", "sex"]
    assert ORACLE.nested() == ORACLE


def test_pysdmx_reads_numbers_as_they_are_and_guesses_codes() -> None:
    io_of = pytest.importorskip("pysdmx.io")
    (found,) = io_of.read_sdmx(written(ORACLE, "sdmx-csv").decode()).data
    assert list(found.data["OBS_VALUE"]) == ["12", "-3", "0", "", "12345678901", "7"]
    assert list(found.data["age"]) == ["1", "2", "9"] * 2  # without a structure; the file has 01


@pytest.mark.parametrize(
    ("period", "there"), [("2026-Q3", True), ("2026-13", False), ("summer of 2026", False), ("2026", True)]
)
def test_a_period_of_sdmx_stands_in_its_column(period: str, there: bool) -> None:
    published = table(KEYS, VALUES, [""] * 6, LABELS, about=About(period=period))
    rows = list(csv.DictReader(io.StringIO(written(published, "sdmx-csv").decode())))
    assert {row.get("TIME_PERIOD") for row in rows} == {period if there else None}
    assert {row["UNIT_MEASURE"] for row in rows} == {"persons"} and rows[3]["OBS_STATUS"] == "O"


ODD = [
    "NA",
    "None",
    "TRUE",
    "1E5",
    "01",
    "1",
    "001",
    "nan",
    "a;b",
    "a,b",
    'say "x"',
    "=1+1",
    "k=v",
    "-5",
    "@x",
    "..",
    "Ünï",
    "DATA=",
]
texts = st.one_of(
    st.sampled_from(ODD), st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp", "Zs"]), min_size=1)
)
whole = st.integers(-(2**53), 2**53)
half = st.integers(-(10**6), 10**6).map(lambda k: k / 8)


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    codes=st.lists(texts, min_size=1, max_size=6, unique=True),
    labels=st.dictionaries(texts, texts, max_size=4),
    numbers=st.lists(st.one_of(whole, half, st.just(float("nan"))), min_size=18, max_size=18),
    random=st.randoms(use_true_random=False),
)
def test_every_cell_comes_back(
    codes: list[str], labels: dict[str, str], numbers: list[float], random: Any, reader: str, tmp_path: Path
) -> None:
    keys = [(code, second) for code in codes for second in ("01", "1", "=x")]
    keys = random.sample(keys, random.randint(1, len(keys)))
    values = numbers[: len(keys)]
    published = table(keys, values, ["m" if v != v else "" for v in values], {"sex": labels})
    if reader in ("pyjstat", "pyaxis"):
        published = published.nested()
    cells = [(number_text(float(v)), "m" if v != v else "") for v in values]
    expected = dict(zip(published.keys, cells, strict=True))
    if reader == "pyaxis":
        if any("DATA=" in text for text in (*codes, *labels.values())):
            return  # its reader looks for the keyword in texts, too
        for dimension in published.dimensions:
            known = {*dimension.codes, *dimension.labels}
            if len({text.replace('"', "”") for text in known}) < len(known):
                return  # refused, or a label that is the same as another code
        expected = {tuple(code.replace('"', "”") for code in key): cell for key, cell in expected.items()}
    found = READERS[reader](published, tmp_path)
    if reader in ("openpyxl", "calamine"):
        big = {key for key, cell in expected.items() if abs(float(cell[0] or 0)) > 10**15}
        assert all(found[key][0] == expected[key][0] for key in big)
    assert found == expected


def test_an_odd_record_and_the_order_of_rows_change_no_other_label() -> None:
    more = table([*KEYS, ("X", "1E5")], [*VALUES, 1], [""] * 7, LABELS)
    turned = table([*reversed(KEYS)], [*reversed(VALUES)], [""] * 6, LABELS)
    for dimension, further, other in zip(ORACLE.dimensions, more.dimensions, turned.dimensions, strict=True):
        own = dict(zip(dimension.codes, dimension.labels, strict=True))
        assert own.items() <= dict(zip(further.codes, further.labels, strict=True)).items()
        assert own == dict(zip(other.codes, other.labels, strict=True))


def test_labels_that_are_shared_or_anothers_code_have_their_code_behind_them() -> None:
    made = Dimension.of("d", ["1", "2", "3"], {"1": "one", "2": "one", "3": "1"})
    assert made.labels == ("one (1)", "one (2)", "1 (3)")
    with pytest.raises(InvalidProblem, match="one label"):
        Dimension.of("d", ["1", "2", "3", "4"], {"1": "one", "2": "one", "3": "one (1)", "4": "one (1) (1)"})


def decimals(value: float | Decimal, places: int, rounding: str) -> float:
    return float(Decimal(value).quantize(Decimal(1).scaleb(-places), rounding=rounding)) + 0.0


@given(st.floats(1e-6, 1e6), st.floats(-1e7, 1e7), st.floats(0, 1e4), st.integers(-1000, 1000))
def test_digits_are_those_that_the_noise_leaves(spread: float, answer: float, width: float, whole: int) -> None:
    columns = {
        "g": ["a", "b"],
        "answer": np.array([answer, whole]),
        "standard_error": np.array([spread, spread]),
        "lower_95": np.array([answer, whole]) - width,
        "upper_95": np.array([answer, whole]) + width,
    }
    made = with_noise_digits(NamedColumns(columns, {}, {}, 1)).columns
    place = 1 - Decimal(repr(spread)).adjusted()
    kept = min(12, max(0, place))
    assert made["answer"].tolist() == [decimals(answer, kept, ROUND_HALF_EVEN), whole]
    error = made["standard_error"][0]
    assert len(Decimal(number_text(error)).normalize().as_tuple().digits) <= 2
    assert error == pytest.approx(decimals(Decimal(repr(spread)), place, ROUND_CEILING), rel=1e-12) and error >= spread * (
        1 - 1e-12
    )
    assert made["lower_95"][0] <= columns["lower_95"][0] and made["upper_95"][0] >= columns["upper_95"][0]
    for name, rounding in (("lower_95", ROUND_FLOOR), ("upper_95", ROUND_CEILING)):
        own = columns[name][0]
        assert made[name][0] in (own, decimals(own, kept, rounding)) and abs(made[name][0] - own) <= 10.0**-kept


def test_exact_answers_keep_all_digits() -> None:
    columns = {"g": ["a"], "answer": np.array([0.123456789]), "standard_error": np.array([0.0])}
    assert with_noise_digits(NamedColumns(columns, {}, {}, 1)).columns["answer"].tolist() == [0.123456789]


def released(values: list[str], about: About, options: TableOptions) -> dict[str, bytes]:
    domain = Domain.of({"item": values})
    workload = Workload(np.eye(len(values)), values, elements=domain.elements, keys=domain.keys)
    made = design(Problem(workload, metrics.add_remove(len(values), 1.0)), "laplace").mechanism.described(about)
    options.require(made)
    drawn = made.release([3] * len(values))
    document = release_document(made, drawn)
    files = dict(files_of_tables(made, drawn, document, options))
    assert files == dict(files_of_tables(made, drawn, document, options))
    return files


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_listed_described_and_the_same_each_time(kind: str) -> None:
    options = TableOptions(kind, labels={"item": {"a": "first"}})
    files = released(["a", "b"], About(title="Counts", units={"a": "persons", "b": "EUR"}), options)
    index = json.loads(files["tables.json"])
    (own,) = index["tables"]
    assert own["file"] in files and own["file"] in index["files"] and own["columns"][0]["labels"] == {"a": "first", "b": "b"}
    assert own["file"].endswith(FORMATS[kind].suffix) and index["file_format"]["name"] == kind
    assert FORMATS[kind].words in files["README.md"].decode() and index["digits"]["asked"] == FORMATS[kind].digits
    if kind not in ("parquet", "xlsx"):
        assert b"persons" in files[own["file"]] and b"EUR" in files[own["file"]]


@pytest.mark.parametrize(("given", "label"), [({}, "Women"), ({"sex": {"F": "Females"}}, "Females")])
def test_labels_of_the_problem_file_stand_beside_codes_unless_others_are_given(given: dict[str, Any], label: str) -> None:
    about = About(records=Reading.of({"columns": {"sex": {"labels": {"F": "Women", "M": "Men"}}}}))
    workload = Workload.marginals(Domain.of({"sex": ["F", "M"]}), [["sex"]])
    made = design(Problem(workload, metrics.add_remove(2, 1.0)), "laplace").mechanism.described(about)
    drawn = made.release([3, 3])
    options = TableOptions("json-stat", labels=given)
    files = dict(files_of_tables(made, drawn, release_document(made, drawn), options))
    assert json.loads(files["answers.json"])["dimension"]["sex"]["category"]["label"]["F"] == label


def test_the_period_of_a_release_in_a_ledger_comes_first() -> None:
    workload = Workload(np.eye(2), ["a", "b"])
    made = design(Problem(workload, metrics.add_remove(2, 1.0)), "laplace").mechanism.described(About(period="2025"))
    drawn = made.release([3, 3])
    for ledger, period in ((None, "2025"), ({"period": "2026-Q3"}, "2026-Q3")):
        document = {**release_document(made, drawn), "ledger": ledger}
        content = dict(files_of_tables(made, drawn, document, TableOptions("sdmx-csv")))["answers.csv"].decode()
        assert {row["TIME_PERIOD"] for row in csv.DictReader(io.StringIO(content))} == {period}


def test_a_page_calls_columns_by_words_and_says_once_what_both_ends_of_an_interval_are() -> None:
    ends = {name: np.zeros(6) for name in ("lower_95", "upper_95", "joint_lower_95", "joint_upper_95")}
    made = NamedColumns(
        {**ORACLE.made.columns, **ends}, {**ORACLE.made.meanings, **dict.fromkeys(ends, "An end.")}, {}, ORACLE.made.categories
    )
    page = written(replace(ORACLE, made=made), "html").decode()
    assert "_95" not in page and page.count("An end.") == 1
    assert ">95 % interval for all rows at once, to</th>" in page


def test_columns_of_a_sheet_have_names_of_their_own() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    published = table([("a", "b")], [1], [""], {"status": {"a": "A"}}, ("status", "status_label"))
    rows = list(openpyxl.load_workbook(io.BytesIO(written(published, "xlsx")))["oracle"].iter_rows(values_only=True))
    assert rows[-2] == ("status", "status_label", "status_label_", "answer", "status_") and rows[-1][:4] == ("a", "A", "b", 1)


def test_a_workbook_has_a_sheet_for_each_table(tmp_path: Path) -> None:
    calamine = pytest.importorskip("python_calamine")
    content = FORMATS["xlsx"].write([ORACLE, ORACLE])
    assert calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)).sheet_names == ["oracle", "oracle 2"]


def test_what_a_format_cannot_hold_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidProblem, match="category without a name in column 'sex'; name it"):
        written(table([("", "1")], [1], [""], {}), "sdmx-csv")
    with pytest.raises(InvalidProblem, match=r"two rows of \['a', '1'\]; write csv"):
        written(table([("a", "1"), ("a", "1")], [1, 2], ["", ""], {}), "px")
    with pytest.raises(InvalidProblem, match="px has no quotation marks, so two codes would be the same"):
        written(table([('"', "1"), ("”", "1")], [1, 2], ["", ""], {"sex": {'"': "one", "”": "two"}}), "px")
    with pytest.raises(InvalidProblem, match="a text of 40,000 characters"):
        written(table([("a" * 40_000, "1")], [1], [""], {}), "xlsx")
    monkeypatch.setattr(published_table, "MOST_CROSSED_CELLS", 5)
    with pytest.raises(InvalidProblem, match=r"all 6 combinations .* more than 5 cells; write sdmx-csv"):
        written(ORACLE, "json-stat")
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InvalidProblem, match="xlsx needs xlsxwriter; pip install"):
        FORMATS["xlsx"].require()


@pytest.mark.parametrize(
    ("options", "message"), [({"kind": "xls"}, "--format: 'xls' is none"), ({"digits": "few"}, "--digits")]
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        released(["a"], About(), TableOptions(**options))


def test_whole_numbers_beyond_those_of_excel_are_texts() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    published = table([("a", "1"), ("b", "1")], [2.0**53, -(10.0**15)], ["", ""], {})
    book = openpyxl.load_workbook(io.BytesIO(written(published, "xlsx")))
    found = [row[2].value for row in book["oracle"].iter_rows() if row[0].value in ("a", "b")]
    assert found == ["9007199254740992", -(10**15)]


def test_the_guide_has_every_format() -> None:
    guide = Path("docs/guides/tables_out.md").read_text()
    assert [name for name in FORMATS if f"| `{name}` |" not in guide] == []
