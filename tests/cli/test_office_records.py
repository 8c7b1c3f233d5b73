"""From .sav, .dta and .xlsx to a release by the commands: what the problem file says of its records holds for each of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from designer.cli import main
from designer.problem_file.kinds import read_request
from tests.files.test_office_files import workbook

pyreadstat = pytest.importorskip("pyreadstat")

EMP = {1: "Employed", 2: "Not employed", 4: "Student", 98: "Refused", 99: "Unknown"}
AGES, CODES = [3, 14, 15, 24, 25, 64, 65, 99], [1, 2, 4, 1, 98, 99, 2, 1]
FRAME = pd.DataFrame({"household": [1, 1, 1, 2, 2, 3, 3, 3], "emp": CODES, "age": AGES, "pay": [10.5, 20, 0, 30, 98, 5, 1, 2]})
RECORDS = '[records]\nentity = "household"\nrows_per_entity = 3\n'
DOMAIN = """
[domain]
emp = { labels = { "1" = "Employed", "2" = "Not employed", "4" = "Student" }, missing = [98, 99] }
age = { bins = [0, 15, 25, 65] }
"""
LINEAR = """
title = "Work"
unlisted = "drop"
{records}{domain}
[workload]
marginals = [["emp"], ["age"]]
[relation]
metric = "add_remove"
epsilon = 900.0
[design]
family = "laplace"
"""
MARGINALS = """
kind = "marginals"
unlisted = "drop"
{records}{domain}
[workload]
tables = [["emp"], ["age"]]
[relation]
metric = "add_remove"
mu = 900.0
"""
PLAN = """
kind = "table_plan"
unlisted = "drop"
{records}
[columns.emp]
labels = {{ "1" = "Employed", "2" = "Not employed" }}
missing = [98, 99]
[columns.age]
bins = [0, 15, 25, 65]
[columns.pay]
missing = [98]
[groups.emp]
columns = ["emp"]
keys = ["1", "2", "4"]
[groups.age]
columns = ["age"]
keys = ["0-14", "15-24", "25-64", "65+"]
[measures.pay]
column = "pay"
step = 0.5
lower = 0
upper = 100
[queries.records]
ask = "count"
groups = ["emp", "age"]
variance = 0.0001
[queries.pay]
ask = "sum"
measure = "pay"
variance = 0.0001
"""
KINDS = {"linear": LINEAR, "marginals": MARGINALS, "plan": PLAN}


def written(folder: Path, name: str) -> Path:
    """The records in a file of a type."""
    path = folder / name
    if path.suffix == ".sav":
        pyreadstat.write_sav(FRAME, path, variable_value_labels={"emp": EMP}, missing_ranges={"emp": [98, 99], "pay": [98]})
    elif path.suffix == ".dta":
        pyreadstat.write_dta(FRAME, path, variable_value_labels={"emp": EMP})
    elif path.suffix == ".xlsx":
        workbook(path, [list(FRAME), *FRAME.values.tolist()])
    elif path.suffix == ".parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.astype({"pay": str}).assign(pay=[str(v).replace(".", ",") for v in FRAME.pay]).to_csv(path, index=False, sep=";")
    return path


def problem(folder: Path, kind: str, records: str = RECORDS) -> Path:
    """A problem file of a kind."""
    path = folder / "problem.toml"
    path.write_text(KINDS[kind].format(records=records, domain=DOMAIN))
    return path


def released(folder: Path, capsys: Any, table: Path, *options: str) -> dict[str, Any]:
    """What `release` prints as data."""
    capsys.readouterr()
    assert main(["release", "--json", str(folder / "spec.json"), "--table", str(table), *options]) == 0
    return dict(json.loads(capsys.readouterr().out))


def designed(folder: Path, kind: str, records: str = RECORDS) -> None:
    assert main(["design", str(problem(folder, kind, records)), "-o", str(folder / "spec.json"), "--force"]) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a.sav", "a.dta", "a.xlsx", "a.csv", "a.parquet"])
def test_records_of_every_type_are_released_as_the_problem_file_reads_them(
    tmp_path: Path, capsys: Any, kind: str, name: str
) -> None:
    marks = 'delimiter = ";"\ndecimal = ","\n' if name.endswith("csv") else ""
    designed(tmp_path, kind, RECORDS + marks)
    spec, table = str(tmp_path / "spec.json"), str(written(tmp_path, name))
    assert main(["release", spec, "--table", table, "-o", f"{tmp_path}/r/"]) == 0
    tables = [pd.read_csv(path) for path in sorted((tmp_path / "r").rglob("*.csv"))]
    rows = json.loads((tmp_path / "r" / "release.json").read_text())["rows"]
    assert (rows["entity"], rows["rows_per_entity"]) == ("household", 3)
    counts = sorted(round(value) for table in tables for value in table["answer"])
    # Every record counts where 3 rows of a household do. Codes 98 and 99 are missing, and left out.
    emp, age = ([3, 2, 1], [2, 2, 2, 2])
    expected = sorted([*emp, *age, *([round(10.5 + 20 + 0 + 30 + 5 + 1 + 2)] if kind == "plan" else [])])
    if kind != "plan":  # a record without a listed value is left out whole
        kept = FRAME[FRAME.emp < 98]
        by_age = np.histogram(kept.age, [0, 15, 25, 65, 1000])[0]
        expected = sorted([*emp, *by_age.tolist()])
    assert counts == pytest.approx(expected, abs=1)


def test_the_entity_of_the_problem_file_holds_and_is_not_contradicted(tmp_path: Path, capsys: Any) -> None:
    designed(tmp_path, "linear")
    assert "one entity appears or disappears with its at most 3 rows" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "problem.toml")]) == 0
    assert "household, of which at most 3 records count" in capsys.readouterr().out
    table = written(tmp_path, "a.sav")
    found = released(tmp_path, capsys, table, "--entity", "household", "--rows-per-entity", "3")
    assert (found["rows"]["entity"], found["rows"]["rows_per_entity"]) == ("household", 3)
    for option in (["--entity", "emp"], ["--rows-per-entity", "2"]):
        assert main(["release", str(tmp_path / "spec.json"), "--table", str(table), *option]) == 2
        assert "contradicts" in capsys.readouterr().err
    assert main(["check", str(table), str(tmp_path / "problem.toml"), "--entity", "emp", "--rows-per-entity", "3"]) == 2
    assert "contradicts" in capsys.readouterr().err


def test_both_verifiers_accept_a_spec_that_says_how_records_are_read(tmp_path: Path) -> None:
    path = problem(tmp_path, "linear")
    path.write_text(path.read_text().replace("900.0", "1.0").replace('unlisted = "drop"', ""))
    assert main(["design", str(path), "-o", str(tmp_path / "spec.json")]) == 0
    assert main(["verify", str(tmp_path / "spec.json"), "--independent"]) == 0


def test_python_takes_the_entity_of_the_problem_file_too(tmp_path: Path) -> None:
    made = read_request(problem(tmp_path, "linear")).made().mechanism
    frame = FRAME.assign(emp=FRAME.emp.astype(str), age="0-14")
    assert made.release(frame).row.entity == "household"


def test_averages_are_released_from_them_too(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "averages.toml"
    domain = '[domain]\nemp = { labels = { "1" = "Employed", "2" = "Not employed" } }\n'
    asked = '[statistics]\nshare = { of = "emp", values = { "1" = 1, "2" = 0 } }\n'
    hidden = '[relation]\nmetric = "hamming"\nbudgets = { emp = 1.0 }\n[problem]\nrecords = 90\n'
    path.write_text(f'kind = "statistical_queries"\n{RECORDS}{domain}{asked}{hidden}')
    frame = pd.DataFrame({"household": np.arange(90) // 3, "emp": np.arange(90) % 2 + 1.0})
    pyreadstat.write_sav(frame, tmp_path / "a.sav")
    assert main(["design", str(path), "-o", str(tmp_path / "spec.json")]) == 0
    found = released(tmp_path, capsys, tmp_path / "a.sav", "--counted-by", str(path))
    assert (found["rows"]["entity"], found["rows"]["rows_per_entity"]) == ("household", 3)


def test_labels_stand_beside_their_codes(tmp_path: Path, capsys: Any) -> None:
    table = written(tmp_path, "a.sav")
    for kind, line in (("linear", "emp=2 (Not employed)"), ("marginals", "2 (Not employed)"), ("plan", "2 (Not employed)")):
        designed(tmp_path, kind)
        assert main(["release", str(tmp_path / "spec.json"), "--table", str(table)]) == 0
        assert line in (out := capsys.readouterr().out)
        assert "Codes of emp: 1 = Employed, 2 = Not employed" in out


def test_check_compares_the_dictionary_with_the_problem_file(tmp_path: Path, capsys: Any) -> None:
    table = written(tmp_path, "a.sav")
    path = problem(tmp_path, "plan")
    path.write_text(path.read_text().replace('"2" = "Not employed"', '"2" = "Unemployed"').replace("missing = [98]\n", ""))
    assert main(["check", str(table), str(path)]) == 9
    out = capsys.readouterr().out
    assert "Warning: emp: '2' is 'Not employed' in the file and 'Unemployed' in the problem file" in out
    assert "Warning: pay: the file declares ['98'] missing" in out
    path = problem(tmp_path, "linear")
    path.write_text(path.read_text().replace('"4" = "Student"', '"5" = "Other"'))
    main(["check", str(table), str(path)])
    assert "emp: codes with a label in the file that are not listed here: ['4']" in capsys.readouterr().out


def test_the_other_decimal_mark_is_found_and_nothing_is_released_or_spent(tmp_path: Path, capsys: Any) -> None:
    path = problem(tmp_path, "plan", '[records]\ndelimiter = ";"\n')
    path.write_text(path.read_text().replace('unlisted = "drop"', 'unlisted = "refuse"'))
    table, ledger = written(tmp_path, "a.csv"), tmp_path / "ledger"
    assert main(["check", str(table), str(path)]) == 9
    out = capsys.readouterr().out
    assert "cannot be read as numbers" in out and "the first is record 1" in out
    assert 'say [records] decimal = ","' in out
    assert main(["design", str(path), "-o", str(tmp_path / "spec.json")]) == 0
    assert main(["ledger", "create", str(ledger), "--dataset", "a", "--rho", "1e9", "--allow-unprotected"]) == 0
    before = ledger.read_bytes()
    given = ["release", str(tmp_path / "spec.json"), "--table", str(table), "--ledger", str(ledger), "--dataset", "a"]
    assert main([*given, "-o", str(tmp_path / "r.json")]) != 0
    assert "10,5" not in capsys.readouterr().err
    assert ledger.read_bytes() == before and not (tmp_path / "r.json").exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('[records]\nentity = "h"\n', "rows_per_entity"),
        ('[records]\nenity = "h"\n', "enity"),
        ("[columns.emp]\nlabels = { '1' = 'A' }\n", "say it in one place"),
        ("[columns.x]\nbins = [1, 1]\n", "lower ends that rise"),
    ],
)
def test_what_is_wrong_with_these_sections_is_said_with_the_file(tmp_path: Path, capsys: Any, said: str, words: str) -> None:
    assert main(["design", str(problem(tmp_path, "linear", said))]) == 2
    error = capsys.readouterr().err
    assert words in error and "problem.toml" in error


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("{ values = [1, 98], missing = [98] }", "'98' is listed and missing"),
        ('{ values = [1, 2], labels = { "3" = "A" } }', "'3' is a label, and no value"),
        ("{ bins = [0, 15], values = ['0-15'] }", "none of the bins"),
        ("{ missing = [98] }", "values: are missing"),
        ("{ bin = [0] }", "bin: unknown key; .*bins"),
    ],
)
def test_what_is_wrong_with_an_attribute_is_said(tmp_path: Path, capsys: Any, attribute: str, words: str) -> None:
    path = problem(tmp_path, "linear")
    path.write_text(path.read_text().replace("{ bins = [0, 15, 25, 65] }", attribute))
    assert main(["design", str(path)]) == 2
    error = capsys.readouterr().err
    assert re.search(words, error) and "problem.toml" in error


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('keys = ["0-14", ', 'keys = ["0-15", ', r"\[groups.age\] keys = '0-15': is none of the bins"),
        ("missing = [98]\n", "bins = [0, 50]\n", r"\[measures.pay\] column = 'pay': has bins"),
    ],
)
def test_groups_are_bins_and_what_is_summed_has_none(tmp_path: Path, capsys: Any, old: str, new: str, words: str) -> None:
    path = problem(tmp_path, "plan")
    path.write_text(path.read_text().replace(old, new))
    assert main(["design", str(path)]) == 2
    assert re.search(words, capsys.readouterr().err)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_those_of_a_code_list(tmp_path: Path, capsys: Any, kind: str) -> None:
    path, listed = problem(tmp_path, kind), tmp_path / "codes.csv"
    whole = path.read_text()
    stated = re.search(r"labels = ({.*?})", whole)
    assert stated is not None
    expected = read_request(path)
    listed.write_text("code,label\n" + "".join(f"{code},{label}\n" for code, label in re.findall('"(.)" = "(.*?)"', stated[1])))
    path.write_text(whole.replace(stated[1], '"codes.csv"'))
    found = read_request(path)
    assert found.about == expected.about and found.files == (path, listed)
    for content, words in (
        ("code,label\n1,A\n1,B\n", "codes.csv, line 3: has the code '1' once more"),
        ("code,label\n1,A\n2,\n", "codes.csv, line 3: lacks a code or its label"),
        ("code\n1\n", "codes.csv: has one column"),
        ("code,label\n1,A\n2,A\n", "'A' is the label of"),
    ):
        listed.write_text(content)
        assert main(["design", str(path)]) == 2
        assert words in capsys.readouterr().err


XML = """<?xml version="1.0"?>
<m:Structure xmlns:m="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
 xmlns:s="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"
 xmlns:c="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common"><m:Structures><s:Codelists>
<s:Codelist id="CL_NACE" agencyID="A" version="1.0"><c:Name xml:lang="en">Sectors</c:Name>
<s:Code id="10"><c:Name xml:lang="fr">Aliments</c:Name><c:Name xml:lang="en">Food</c:Name></s:Code>
<s:Code id="47"><c:Name xml:lang="fr">Commerce</c:Name></s:Code>
</s:Codelist></s:Codelists></m:Structures></m:Structure>"""
DERIVED = """
kind = "table_plan"
unlisted = "drop"
[columns.sector]
column = "v17"
prefix = 2
labels = "nace.xml"
[columns.division]
column = "v17"
[columns.pay]
sum = ["wage", "bonus"]
missing = [-9]
[columns.hourly]
quotient = ["wage", "hours"]
missing = [-9]
[columns.weighted]
product = ["wage", "hours"]
missing = [-9]
[columns.band]
column = "born"
bins = [1900, 1960, 1990]
[groups.sector]
columns = ["sector"]
keys = ["10", "47"]
[groups.division]
columns = ["division"]
keys = ["1011"]
[groups.band]
columns = ["band"]
keys = ["1900-1959", "1960-1989", "1990+"]
[measures.pay]
step = 0.5
upper = 1000
[measures.hourly]
step = 0.5
upper = 100
[measures.weighted]
upper = 10000
[queries.weighted]
ask = "sum"
measure = "weighted"
variance = 0.001
[queries.persons]
ask = "count"
groups = ["sector", "division", "band"]
variance = 0.01
[queries.pay]
ask = "sum"
measure = "pay"
groups = "sector"
variance = 0.001
[queries.hourly]
ask = "sum"
measure = "hourly"
variance = 0.001
"""
DERIVED_FRAME = pd.DataFrame(
    {
        "v17": ["1011", "1089", "4711", "9999", "4711"],
        "wage": [100.0, 200, 300, 400, -9],
        "bonus": [10.5, 0, -9, 5, 7],
        "hours": [10.0, 0, 30, 40, 5],
        "born": [1950, 1960, 1989, 1990, 2001],
    }
)


@pytest.mark.parametrize("name", ["a.csv", "a.sav", "a.parquet"])
def test_columns_are_computed_from_those_of_the_file_by_a_closed_list(tmp_path: Path, capsys: Any, name: str) -> None:
    """Without noise, but for a probability of e^-50; a part that is missing, and a divisor of 0, make a number missing."""
    path, spec, table = tmp_path / "p.toml", tmp_path / "s.json", tmp_path / name
    path.write_text(DERIVED)
    (tmp_path / "nace.xml").write_text(XML)
    {".csv": lambda: DERIVED_FRAME.to_csv(table, index=False), ".sav": lambda: pyreadstat.write_sav(DERIVED_FRAME, table)}.get(
        table.suffix, lambda: DERIVED_FRAME.to_parquet(table)
    )()
    assert dict(read_request(path).about.records.columns["sector"].labels) == {"10": "Food", "47": "Commerce"}
    assert main(["check", str(table), str(path)]) == 9
    assert "'99': 1" in capsys.readouterr().out
    assert main(["design", str(path), "-o", str(spec)]) == 0
    assert main(["release", str(spec), "--table", str(table), "-o", str(tmp_path / "r.json")]) == 0
    found = json.loads((tmp_path / "r.json").read_text())["answers"]
    assert {name: own["values"] for name, own in found.items()} == {
        "persons by sector": [2.0, 2.0],
        "persons by division": [1.0],
        "persons by band": [1.0, 2.0, 2.0],
        "pay": [310.5, 0.0],
        "hourly": [30.0],
        "weighted": [20000.0],  # 1,000 and 0 and 9,000 and 16,000, which counts as 10,000
    }


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('column = "a"\nsum = ["a", "b"]', "give one of column, sum, product and quotient"),
        ("prefix = 2\nbins = [0, 5]", "a prefix of codes alone, without bins"),
        ('sum = ["a"]', "columns.x"),
        ('quotient = ["a", "b", "c"]', "columns.x"),
        ("prefix = 0", "prefix"),
    ],
)
def test_what_is_computed_of_columns_is_refused_where_it_says_two_things(
    tmp_path: Path, capsys: Any, said: str, words: str
) -> None:
    assert main(["design", str(problem(tmp_path, "linear", f"[columns.x]\n{said}\n"))]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("content", "words"), [("<a", "is no XML that can be read"), ("<a/>", "has 0 code lists")])
def test_a_code_list_in_xml_that_is_none_is_refused(tmp_path: Path, capsys: Any, content: str, words: str) -> None:
    (tmp_path / "p.toml").write_text(DERIVED)
    (tmp_path / "nace.xml").write_text(content)
    assert main(["design", str(tmp_path / "p.toml")]) == 2
    assert words in capsys.readouterr().err


def test_kinds_without_records_refuse_what_is_said_of_them(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "own.toml"
    path.write_text(f'kind = "own_report"\n{RECORDS}[domain]\na = 2\n[relation]\nmetric = "uniform"\nepsilon = 1\n[report]\n')
    assert main(["design", str(path)]) == 2
    assert "reads no file of records" in capsys.readouterr().err


def test_a_starting_file_is_made_of_the_dictionary_alone(tmp_path: Path, capsys: Any) -> None:
    table, made = written(tmp_path, "a.sav"), tmp_path / "start.toml"
    assert main(["init", str(table), "-o", str(made), "--column", "emp"]) == 0
    text = made.read_text()
    assert "decide of each line whether it was public" in text and 'missing codes of emp: ["98", "99"]' in text
    made.write_text(text.replace('"FILL IN: a positive number, such as 0.5"', "1"))
    capsys.readouterr()
    request = read_request(made)
    assert request.problem.workload.keys.rows == (("1",), ("2",), ("4",), ("98",), ("99",))
    assert request.about.records.label("emp", "4") == "Student"
    other = tmp_path / "b.sav"
    options: dict[str, Any] = {"variable_value_labels": {"emp": EMP}, "missing_ranges": {"emp": [98, 99]}}
    pyreadstat.write_sav(FRAME.assign(emp=7, age=1)[:1], other, **options)
    assert main(["init", str(other), "--column", "emp"]) == 0
    start = capsys.readouterr().out.rstrip("\n")
    assert start.replace('title = "b"', 'title = "a"') == text.rstrip("\n")
