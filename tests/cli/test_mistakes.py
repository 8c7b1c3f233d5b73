"""Mistakes that strangers make: each is answered by what was given and what to give instead, in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from designer.cli import main

TOWNS = "name,people,x,y\nA,10,0,0\nB,20,1,3\nC,30,4,0\n"
PROBLEM = """title = "Towns"
[elements]
table = "towns.csv"
names = ["name"]
[workload]
builder = "identity"
[relation]
metric = "add_remove"
epsilon = 1.0
"""
COUNTS = "name,count\nA,10\nB,20\nC,30\n"
TEXTS = {
    "counts.csv": COUNTS,
    "semicolons.csv": COUNTS.replace(",", ";"),
    "floats.csv": COUNTS.replace("10", "10.5"),
    "negative.csv": COUNTS.replace("10", "-10"),
    "nan.csv": COUNTS.replace("10", "nan"),
    "blank.csv": COUNTS.replace("10", ""),
    "thousands.csv": COUNTS.replace("10", '"1,000"'),
    "windows.csv": COUNTS.replace("\n", "\r\n"),
    "marked.csv": "\ufeff" + COUNTS,
    "records.csv": "id,name\n1,A\n2,A\n3,B\n",
    "other.csv": COUNTS.replace("name", "town"),
    "missing.csv": COUNTS.replace("C,30\n", ""),
    "extra.csv": COUNTS + "D,1\n",
    "capital.csv": COUNTS.replace("count", "Count"),
    "spaced.csv": COUNTS.replace("count", " count"),
    "empty.csv": "",
    "empty.toml": "",
    "empty.json": "",
    "list.json": "[1, 2]",
    "unquoted.toml": PROBLEM.replace('"Towns"', "Towns"),
    "twice.toml": PROBLEM + "[relation]\n",
    "no_equals.toml": PROBLEM.replace("epsilon = 1.0", "epsilon 1.0"),
    "windows_path.toml": PROBLEM.replace("towns.csv", "C:\\Users\\towns.csv"),
    "comma.toml": PROBLEM.replace("1.0", "0,5"),
    "yaml.toml": "title: Towns\n",
    "windows.toml": PROBLEM.replace("\n", "\r\n"),
    "marked.toml": "\ufeff" + PROBLEM,
    "zero.toml": PROBLEM.replace("1.0", "0"),
    "below.toml": PROBLEM.replace("1.0", "-1"),
    "nan.toml": PROBLEM.replace("1.0", "nan"),
    "quoted.toml": PROBLEM.replace("1.0", '"1.0"'),
    "huge.toml": PROBLEM.replace("1.0", "1e300"),
    "no_budget.toml": PROBLEM.replace("epsilon = 1.0", ""),
    "typo.toml": PROBLEM.replace("epsilon", "epsillon"),
    "metric.toml": PROBLEM.replace("add_remove", "addremove"),
    "column.toml": PROBLEM.replace('["name"]', '["nmae"]'),
    "table.toml": PROBLEM.replace("towns.csv", "town.csv"),
    "section.toml": PROBLEM.replace("[workload]", "[workloads]"),
    "builder.toml": PROBLEM.replace("identity", "identiy"),
    "family.toml": PROBLEM + '[design]\nfamily = "laplas"\n',
    "notion.toml": PROBLEM + '[problem]\nnotion = "gauss"\n',
    "target.toml": PROBLEM + "[targets]\nstandard_error = -1\n",
    "header.csv": "name,count\n",
    "double.csv": COUNTS.replace("name,count", "count,count"),
    "spaced.toml": PROBLEM.replace("[workload]", "[work load]"),
    "percent.toml": PROBLEM.replace("1.0", "1%"),
    "quoted_percent.toml": PROBLEM.replace("1.0", '"1%"'),
    "percent_target.toml": PROBLEM + '[targets]\nstandard_error = "5 %"\n',
    "aim.toml": PROBLEM + '[targets]\nregion = "1%"\n',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    for name, text in {"towns.csv": TOWNS, "p.toml": PROBLEM, **TEXTS}.items():
        (made / name).write_bytes(text.encode())
    (made / "latin.toml").write_bytes(PROBLEM.replace("Towns", "Zürich").encode("latin-1"))
    (made / "wide.toml").write_bytes(PROBLEM.encode("utf-16"))
    (made / "wide.csv").write_bytes(COUNTS.encode("utf-16"))
    (made / "latin.csv").write_bytes(COUNTS.replace("A", "Ä").encode("latin-1"))
    (made / "sheet.xlsx").write_bytes(b"PK\x03\x04rest")
    (made / "dir.toml").mkdir()
    (made / "dir.json").mkdir()
    (made / "out").mkdir()
    (made / "out" / "release.json").write_text("{}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert main(["design", "p.toml", "--family", "laplace", "-o", "spec.json"]) == 0
        assert main(["release", "spec.json", "--histogram", "counts.csv", "--column", "count", "-o", "release.json"]) == 0
        assert main(["ledger", "create", "towns.ledger", "--dataset", "towns", "--epsilon", "3"]) == 0
    spec = (made / "spec.json").read_text()
    for name, version in {"older": 0, "newer": 2}.items():
        (made / f"{name}.json").write_text(re.sub(r'("version": ?)1\b', rf"\g<1>{version}", spec, count=1))
    (made / "cut.json").write_bytes((made / "spec.json").read_bytes()[:500])
    return made


RELEASE = "release spec.json --column count --histogram"
UNUSABLE = "must hold one nonnegative whole number below 2^53 for each universe element: digits alone, no decimal"
NAMES = "must name every universe element exactly once, and nothing else; write 0 where there is no record"
MISTAKES = [
    ("design none.toml", 2, "none.toml: cannot be read (No such file or directory); give the path of a problem file"),
    ("design dir.toml", 2, "dir.toml: cannot be read (Is a directory)"),
    ("design empty.toml", 2, "empty.toml: section [workload] is missing; a problem needs a workload"),
    ("design spec.json", 2, "spec.json: is a spec, not a problem file (TOML)"),
    ("compare release.json", 2, "release.json: is a release, not a problem file (TOML); it goes behind its spec"),
    ("budget counts.csv", 2, "counts.csv: is a table (CSV), not a problem file (TOML)"),
    ("design towns.ledger", 2, "towns.ledger: is a ledger, not a problem file"),
    ("design sheet.xlsx", 2, "is a spreadsheet, or another archive, not a problem file (TOML); save the sheet as CSV"),
    ("design latin.toml", 2, "latin.toml: is not TOML: no text in UTF-8; save it as UTF-8"),
    ("design wide.toml", 2, "wide.toml: is a text in UTF-16, not a problem file (TOML); save it as UTF-8"),
    ("design unquoted.toml", 2, "line 1 is 'title = Towns': write texts in quotes, as title = \"Towns\""),
    ("design twice.toml", 2, "line 10 is '[relation]': every section stands once; write all its keys below one [section]"),
    ("design no_equals.toml", 2, "line 9 is 'epsilon 1.0': write = between key and value"),
    ("design windows_path.toml", 2, "write paths with / in the place of the backslash"),
    ("design comma.toml", 2, "line 9 is 'epsilon = 0,5': write decimals with a point, as 0.5"),
    ("design yaml.toml", 2, "line 1 is 'title: Towns': write = in the place of the colon"),
    ("design spaced.toml", 2, "line 5 is '[work load]': write the name of a section without spaces, such as [workload]"),
    ("design percent.toml", 2, "line 9 is 'epsilon = 1%': write a percentage as a fraction, as 0.05 for 5 %"),
    ("design quoted_percent.toml", 2, "[relation] epsilon = '1%': should be a number; write 0.01"),
    ("budget percent_target.toml", 2, "[targets] standard_error: '5 %' is not a number; write 0.05"),
    ("budget p.toml --target region=1%", 2, 'in the problem file: [targets] relative_error = { "region" = 0.01 }'),
    ("budget aim.toml", 2, 'for a query of that name write [targets] relative_error = { "region" = 0.01 }; [targets] takes'),
    ("design p.toml -o /proc/x.json", 2, "/proc/x.json is in /proc, where no file is kept; name a file in another folder"),
    ("tables spec.json release.json --level 95", 2, "--level: 95.0 is not between 0 and 1; write 0.95 for 95 %"),
    ("design zero.toml", 2, "[relation] epsilon: 0.0 is not a positive finite number; give one above 0"),
    ("design below.toml", 2, "[relation] epsilon: -1.0 is not a positive finite number; give one above 0"),
    ("design nan.toml", 2, "[relation] epsilon: nan is not a positive finite number; give one above 0"),
    ("design quoted.toml", 2, "[relation] epsilon = '1.0': should be a number without quotes"),
    ("design no_budget.toml", 2, "[relation] epsilon is missing; give it, as a number"),
    ("design huge.toml", 3, ": problem: differences of the answers, or their ratios to"),
    ("design typo.toml", 2, "[relation] epsillon = 1.0: does not go with metric 'add_remove'; perhaps 'epsilon' is meant"),
    ("design metric.toml", 2, "[relation] metric = 'addremove': unknown; perhaps 'add_remove' is meant"),
    ("design column.toml", 2, "[elements] names = ['nmae']: the table has no column 'nmae'; perhaps 'name' is meant"),
    ("design table.toml", 2, "town.csv: no such file; paths are relative to the file that names them"),
    ("design section.toml", 2, "section [workloads] is unknown; perhaps 'workload' is meant"),
    ("design builder.toml", 2, "[workload] builder = 'identiy': unknown; perhaps 'identity' is meant"),
    ("design family.toml", 2, "family: 'laplas' is unknown; perhaps 'laplace' is meant"),
    ("design notion.toml", 2, "problem.notion: 'gauss' is unknown; use one of"),
    ("budget target.toml", 2, "[targets] standard_error: -1.0 is not a positive finite number; give one above 0"),
    ("budget p.toml", 2, "section [targets] is missing; say there how accurate the answers must be"),
    ("design p.toml -o p.toml", 2, "p.toml is an input"),
    ("design p.toml -o spec.json", 2, "spec.json exists; name another file, or replace it with --force"),
    ("design p.toml -o none/spec.json", 2, "none is not a folder; create it first"),
    ("design p.toml --seconds -1", 2, "seconds: -1.0 is no limit on the clock; give a number above 0, or leave it out"),
    ("report spec.json --release r.json", 2, "--release r.json; only pack has this option"),
    ("design p.toml --effort thorogh", 2, "effort: 'thorogh' is unknown; perhaps 'thorough' is meant"),
    ("compare p.toml --plot x.xyz", 2, "'x.xyz' cannot be drawn; end its name in .png, .svg or .pdf"),
    ("release p.toml --histogram counts.csv", 2, "p.toml is a problem file, not a spec or a release (JSON)"),
    ("release counts.csv --histogram spec.json", 2, "counts.csv is a table (CSV), not a spec or a release (JSON)"),
    ("release release.json --histogram counts.csv", 4, "spec: is a release; give its spec, and the release behind it"),
    ("release towns.ledger --histogram counts.csv", 2, "is a ledger, not a spec or a release (JSON)"),
    ("release spec.json", 2, "--histogram: is missing; this spec releases from counts of the universe elements"),
    ("release spec.json --histogram none.csv", 2, "none.csv: no such file; give the file that holds the counts"),
    ("release spec.json --histogram counts.csv", 2, "has 2 columns; name the one that holds the counts (--column); where"),
    ("release spec.json --column counts --histogram counts.csv", 2, "has no column 'counts'; perhaps 'count' is meant"),
    (f"{RELEASE} capital.csv", 2, "has no column 'count'; perhaps 'Count' is meant"),
    (f"{RELEASE} spaced.csv", 2, "has no column 'count'; perhaps ' count' is meant"),
    (f"{RELEASE} semicolons.csv", 2, "its fields are separated by another mark: give --delimiter ';'"),
    (f"{RELEASE} records.csv", 2, "has no column 'count'; name the one that holds the counts (--column), letter"),
    (f"{RELEASE} wide.csv", 2, "wide.csv: is a text in UTF-16; save it as UTF-8 (in a spreadsheet: CSV UTF-8)"),
    ("release spec.json --table wide.csv", 2, "wide.csv: is a text in UTF-16; save it as UTF-8"),
    ("release spec.json --table empty.csv", 2, "empty.csv: is empty, or its first line is; write the names of its columns"),
    ("check wide.csv p.toml --column count", 2, "wide.csv: is a text in UTF-16; save it as UTF-8"),
    ("check other.csv p.toml --column count", 2, "data: has no column 'name'; it has ['town', 'count']"),
    (f"{RELEASE} double.csv", 2, "double.csv: has 2 columns named 'count'; rename all but one"),
    ("release spec.json --table records.csv --entity idd --rows-per-entity 2", 2, "has no column 'idd'; perhaps 'id' is meant"),
    (f"{RELEASE} empty.csv", 2, "empty.csv: is empty; give the file that holds the counts"),
    (f"{RELEASE} sheet.xlsx", 2, "is not a .csv, .npy or .parquet file; give the file that holds the counts; save a"),
    *((f"{RELEASE} {name}.csv", 2, f"{name}.csv: {UNUSABLE}") for name in ("floats", "negative", "nan", "blank")),
    *((f"{RELEASE} {name}.csv", 2, f"{name}.csv: {UNUSABLE}") for name in ("thousands", "latin")),
    *((f"{RELEASE} {name}.csv", 2, f"{name}.csv: {NAMES}") for name in ("missing", "extra", "header")),
    (f"{RELEASE} other.csv", 2, "other.csv: has no column 'name'; the elements are named by the columns ['name']"),
    (f"{RELEASE} counts.csv --table records.csv", 2, "--table, --histogram: both are given"),
    (f"{RELEASE} counts.csv -o spec.json", 2, "spec.json is an input"),
    (f"{RELEASE} counts.csv --ledger spec.json --dataset towns", 7, "spec.json' is a spec, not a ledger"),
    (f"{RELEASE} counts.csv --ledger towns.ledger", 2, "--dataset: is missing; name the data set of the ledger"),
    (f"{RELEASE} counts.csv --ledger towns.ledger --dataset town", 2, "the ledger has no 'town'; it has ['towns']"),
    ("verify release.json", 4, "spec: is a release; give its spec, and the release behind it: dp-designer verify SPEC RELEASE"),
    ("verify spec.json spec.json", 4, "release: is a spec; give the release behind its spec: dp-designer verify SPEC RELEASE"),
    ("verify p.toml", 2, "p.toml is a problem file, not a spec or a release (JSON); make a spec of it: dp-designer design"),
    ("verify spec.json p.toml", 2, "p.toml is a problem file, not a spec or a release (JSON)"),
    ("verify older.json", 4, "spec: has version 0 of its format; this program reads 1; design it again from its problem file"),
    ("verify newer.json", 4, "spec: has version 2 of its format; this program reads 1; a newer program may have written it"),
    ("verify cut.json", 4, "it ends in the middle: restore it, or make it again"),
    ("verify list.json", 4, "holds no JSON object; give a spec, or a release behind its spec"),
    ("verify empty.json", 4, "empty.json is empty; restore it, or make it again"),
    ("verify dir.json", 4, "cannot read dir.json: Is a directory; give the path of a spec or a release"),
    ("verify spec.json out", 4, "cannot read out: Is a directory; give out/release.json"),
    ("verify none.json", 4, "cannot read none.json: No such file or directory; give the path of a spec or a release"),
    ("report p.toml", 2, "p.toml is a problem file, not a spec or a release (JSON); make a spec of it"),
    ("sample spec.json -n 0", 2, "size: 0 is not a whole number of at least 1"),
    ("ledger show spec.json", 7, "spec.json' is a spec, not a ledger"),
    ("ledger show none.ledger", 2, "none.ledger' is not there; name a ledger that is, or make one (create)"),
    ("sign release.json --key spec.json", 2, "key: spec.json is a spec, not a key"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "code", "words"), MISTAKES, ids=[command for command, _, _ in MISTAKES])
def test_a_mistake_is_answered_with_what_to_do(
    command: str, code: int, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if command.startswith("sign"):
        pytest.importorskip("cryptography")
    monkeypatch.chdir(folder)
    assert main(command.split()) == code
    told = capsys.readouterr()
    said = [line for line in told.err.splitlines() if not line.startswith("Will spend ")]
    assert told.out == "" and len(said) == 1 and words in said[0] and "dp-designer: path: " not in said[0]


def test_sixty_mistakes_at_least_are_tried() -> None:
    assert len({command for command, _, _ in MISTAKES}) >= 60


@pytest.mark.parametrize(("command", "words"), [("desing p.toml", "'design'"), ("design p.toml --famly x", "'--family'")])
def test_a_mistyped_command_or_option_is_guessed(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(command.split())
    told = capsys.readouterr().err
    assert f"; perhaps {words} is meant" in told and "choose from" not in told


def test_the_name_alone_and_help_print_the_commands_and_where_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    told = capsys.readouterr().err
    assert "init --ask" in told and "differential privacy" in told and "error:" not in told
    for command in (["help"], ["help", "release"]):
        with pytest.raises(SystemExit) as end:
            main(command)
        assert end.value.code == 0
        assert ("--histogram" in capsys.readouterr().out) == (command[1:] == ["release"])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("tables spec.json release.json --level 95%", "argument --level: invalid float value: '95%'; write 0.95; "),
        ("sample spec.json -n many", "argument -n/--size: invalid int value: 'many'; "),
    ],
)
def test_an_option_that_is_not_understood_is_answered_in_one_line(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(command.split())
    told = capsys.readouterr().err
    assert end.value.code == 2 and told.count("\n") == 1 and words in told and "--help` lists the options" in told


def test_data_without_their_option_are_answered_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["release", "spec.json", "people.csv"])
    assert "give records as --table people.csv, counts as --histogram people.csv --column COLUMN" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["design marked.toml", "design windows.toml", f"{RELEASE} marked.csv", f"{RELEASE} windows.csv"]
)
def test_marks_of_the_byte_order_and_ends_of_lines_of_windows_are_no_mistakes(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main([*command.split(), *(["--family", "laplace"] if command.startswith("design") else [])]) == 0


def test_a_line_that_may_hold_data_is_not_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of records that was given as a problem: its lines stay where they are, whatever its form."""
    (folder / "ragged.csv").write_text("Smith,42,cancer\nJones,17\n")
    monkeypatch.chdir(folder)
    for name in ("ragged.csv", "records.csv"):
        assert main(["design", name]) == 2 and main(["verify", name]) in (2, 4)
    told = capsys.readouterr().err
    assert "Smith" not in told and "Jones" not in told and "cancer" not in told


def test_a_budget_that_hides_nothing_is_said_before_all_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "weak.toml").write_text(PROBLEM.replace("1.0", "999.0"))
    assert main(["design", "weak.toml", "--family", "laplace"]) == 0
    assert "WEAK: the smallest budget is 999; budgets above 20 hide next to nothing" in capsys.readouterr().out
    assert main(["design", "p.toml", "--family", "laplace"]) == 0
    assert "WEAK" not in capsys.readouterr().out


def test_answers_below_zero_are_explained(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 200 counts of 0, none is below 0 with probability below 2^-150."""
    monkeypatch.chdir(folder)
    (folder / "many.toml").write_text(
        '[workload]\nbuilder = "identity"\nsize = 200\n[relation]\nmetric = "add_remove"\nepsilon = 0.1\n'
    )
    (folder / "zeros.csv").write_text("0\n" * 200)
    assert main(["design", "many.toml", "--family", "laplace", "-o", "many.json"]) == 0
    capsys.readouterr()
    assert main(["release", "many.json", "--histogram", "zeros.csv"]) == 0
    told = capsys.readouterr().out
    assert "of 200 answers, where noise makes them so; they are unbiased as they are" in told and "--consistent integer" in told
