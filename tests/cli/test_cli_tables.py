"""Records in, tables out: folders of CSV or Parquet files with the release beside them, whole or not at all."""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from designer import About, Domain, InvalidProblem, MarginalWorkload, Presence, Problem, Workload, design, invariants, metrics
from designer.accounts import Ledger, Total
from designer.base import output as folders
from designer.base.labels import unguarded
from designer.cli import main
from designer.cli import release_commands as table_commands
from designer.domains.marginals_plan import design_marginals
from designer.files.releases import read_release, release_document, save_release, verify_release
from designer.files.signatures import new_key
from designer.files.table_files import TableOptions, file_names, write_tables
from designer.files.table_writers import FORMATS
from designer.mechanism.agreeing_answers import consistent_answers
from designer.tables import Average, Count, Measure, TablePlan, hierarchy

EVIL = ["=cmd()", 'a,"b"', "two\nlines", "plain"]
DOMAIN = Domain.of({"sex": ["F", "M"], "town": EVIL})
RECORDS = [("F", EVIL[0]), ("F", EVIL[1]), ("M", EVIL[2]), ("M", EVIL[3]), ("M", EVIL[3])]
COUNTS = np.array([1, 1, 0, 0, 0, 0, 1, 2])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with (tmp_path / "records.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("sex", "town"), *RECORDS])
    workload = Workload(np.eye(8), DOMAIN.elements, elements=DOMAIN.elements, keys=DOMAIN.keys)
    design(Problem(workload, invariants.margins((2, 4)).protect(1.0)), "k_norm").mechanism.save(tmp_path / "spec.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def release(*more: str, spec: str = "spec.json", output: str = "tables/") -> int:
    return main(["release", spec, "--table", "records.csv", "-o", output, *more])


def rows(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def index(path: str = "tables") -> Any:
    return json.loads(Path(path, "tables.json").read_text())


def test_a_release_becomes_a_table_with_the_release_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release("--consistent", "integer") == 0
    assert "Written to tables/: 1 table, 8 answers" in capsys.readouterr().out
    assert (
        set(os.listdir("tables"))
        == {"answers.csv", "release.json", "tables.json", "README.md"}
        == {*index()["files"], "tables.json"}
    )
    table = rows("tables/answers.csv")
    assert list(table[0]) == [
        *("sex", "town", "answer", "consistent", "standard_error"),
        *("lower_95", "upper_95", "joint_lower_95", "joint_upper_95"),
    ]
    assert [(row["sex"], unguarded(row["town"])) for row in table] == list(DOMAIN.keys.rows)
    released = read_release("spec.json", "tables/release.json")
    (own,) = released.answer_tables()
    for simultaneous, prefix in ((False, ""), (True, "joint_")):
        found = own.intervals(0.95, simultaneous)
        assert [float(row[f"{prefix}lower_95"]) for row in table] == found.lower.tolist()
        assert [float(row[f"{prefix}upper_95"]) for row in table] == found.upper.tolist()
    assert [float(row["answer"]) for row in table] == own.answers.tolist()
    consistent = np.array([int(row["consistent"]) for row in table])
    assert consistent.min() >= 0
    margins = invariants.margins((2, 4))
    assert margins.answers(consistent).tolist() == margins.answers(COUNTS).tolist()


def test_the_index_says_of_every_column_what_it_is(folder: Path) -> None:
    assert release("--level", "0.9", "--consistent", "nonnegative") == 0
    found = index()
    (table,) = found["tables"]
    assert [column["name"] for column in table["columns"]] == list(rows("tables/answers.csv")[0])
    assert all(column["meaning"] for column in table["columns"]) and table["rows"] == 8 and found["level"] == 0.9
    kinds = {column["name"]: column["kind"] for column in table["columns"]}
    assert kinds["town"] == "category" and kinds["joint_upper_90"] == "number"
    assert (
        "no further protection is needed" in found["consistent"]["words"]
        and found["fingerprint"] in Path("tables/README.md").read_text()
    )


def test_units_are_said_once_or_by_row(folder: Path) -> None:
    made = design(Problem(Workload(np.eye(2), ["a", "b"]), metrics.add_remove(2, 1.0)), "laplace").mechanism
    released = made.release([1, 2])
    for units, column, row in (({"*": "persons"}, "persons", None), ({"a": "persons", "b": "EUR"}, None, ["persons", "EUR"])):
        told = made.described(About(title="A | title", units=units))
        write_tables(told, released, release_document(told, released), "tables", replace=True)
        columns = {own["name"]: own for own in index()["tables"][0]["columns"]}
        assert columns["answer"].get("unit") == column and columns["query"].get("unit") is None
        assert [own.get("unit") for own in rows("tables/answers.csv")] == (row or [None, None])
        assert index()["about"]["title"] == "A | title" and r"# A \| title" in Path("tables/README.md").read_text()


def test_tables_of_a_saved_release_are_the_same_files(folder: Path) -> None:
    assert release("--consistent", "integer") == 0
    assert main(["tables", "spec.json", "tables/release.json", "-o", "again", "--consistent", "integer"]) == 0
    for name in ("answers.csv", "tables.json", "README.md", "release.json"):
        assert Path("again", name).read_bytes() == Path("tables", name).read_bytes()
    verify_release("spec.json", "again/release.json")


def test_parquet_holds_the_same_and_names_as_they_are(folder: Path) -> None:
    assert release() == 0
    assert main(["tables", "spec.json", "tables/release.json", "-o", "p/", "--format", "parquet"]) == 0
    frame = pd.read_parquet("p/answers.parquet")
    assert list(zip(frame["sex"], frame["town"], strict=True)) == list(DOMAIN.keys.rows)
    assert (
        frame["answer"].tolist() == [float(row["answer"]) for row in rows("tables/answers.csv")] and index("p")["csv"] is None
    )


def test_several_marginals_agree_in_their_files(folder: Path) -> None:
    made = design_marginals(MarginalWorkload.of(DOMAIN, [["sex"], ["town"], ["sex", "town"]]), Presence(mu=1.0))
    made.save(folder / "marginals.json")
    Path("published.csv").write_text("sex,value\nF,2\nM,3\n")
    assert release("--consistent", "integer", "--published", "published.csv", spec="marginals.json") == 0
    assert [table["file"] for table in index()["tables"]] == ["sex.csv", "town.csv", "sex_x_town.csv"]
    sex, both = (
        {tuple(row.values())[:k]: int(row["consistent"]) for row in rows(f"tables/{name}.csv")}
        for name, k in (("sex", 1), ("sex_x_town", 2))
    )
    assert sex == {("F",): 2, ("M",): 3} == {key: sum(v for k, v in both.items() if k[:1] == key) for key in sex}


def test_what_is_said_of_a_column_of_all_tables_is_said_once_to_readers(folder: Path) -> None:
    made = design_marginals(MarginalWorkload.up_to(DOMAIN, 1), Presence(mu=1.0))
    released = made.release({"sex": ["F"], "town": [DOMAIN.values[1][0]]})
    write_tables(made, released, release_document(made, released), "both")
    words, tables = Path("both/README.md").read_text(), index("both")["tables"]
    assert len(tables) == 2 and words.count("- joint_lower_95; joint_upper_95: ") == words.count("- answer: ") == 1
    for table in tables:
        heading = words.index(f"## {table['name']}")
        assert words.index("## In every table") < heading and f"- {table['columns'][0]['name']}: " in words[heading:]


def test_a_plan_of_two_levels_agrees_and_says_what_has_no_number(folder: Path) -> None:
    levels = hierarchy(["sex", "town"], RECORDS)
    mean = Average("mean", levels[1], measure=Measure("age"), variance=9, count_variance=3)
    counts = [Count(name, level, variance=4) for name, level in zip(("All people", "all/people", "cells"), levels, strict=True)]
    TablePlan([*counts, mean]).save(folder / "plan.json")
    with (folder / "records.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("sex", "town", "age"), *((*record, 30) for record in RECORDS)])
    assert release("--consistent", "integer", spec="plan.json") == 0
    tables = {table["name"]: table for table in index()["tables"]}
    assert tables["All people"]["file"] == "All_people.csv" and tables["all/people"]["file"] == "all_people_2.csv"
    (everybody,) = rows("tables/All_people.csv")
    cells, sexes = (rows(f"tables/{tables[name]['file']}") for name in ("cells", "all/people"))
    assert (
        int(everybody["consistent"]) == sum(int(row["consistent"]) for row in cells) == sum(int(r["consistent"]) for r in sexes)
    )
    reasons = {column["name"]: column["reason"] for column in tables["mean"]["missing"]}
    assert "no sum of parts" in reasons["consistent"] and "consistent" not in rows("tables/mean.csv")[0]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_written_by_release_and_again_without_the_data(folder: Path, kind: str) -> None:
    assert release("--format", kind, "--consistent", "integer") == 0
    (table,) = index()["tables"]
    assert table["file"] in os.listdir("tables") and set(os.listdir("tables")) == {*index()["files"], "tables.json"}
    made = ["tables", "spec.json", "tables/release.json", "-o", "again", "--format", kind, "--consistent", "integer"]
    assert main(made) == 0
    for name in os.listdir("tables"):
        assert Path("again", name).read_bytes() == Path("tables", name).read_bytes()


def test_digits_are_those_of_the_format_unless_others_are_asked_for(folder: Path) -> None:
    assert release() == 0
    for digits, long in (("noise", False), ("all", True), (None, True)):
        more = [] if digits is None else ["--digits", digits]
        assert main(["tables", "spec.json", "tables/release.json", "-o", "d/", "--force", *more]) == 0
        assert any(len(row["standard_error"]) > 5 for row in rows("d/answers.csv")) is long
        assert index("d")["digits"]["asked"] == (digits or "all")


def test_options_that_do_not_fit_are_refused_before_data_are_touched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("records.csv").unlink()
    Path("records.csv").write_text("nothing\n")  # would fail if it were read
    Path("bad.csv").write_text("sex,value\nF,x\n")
    Path("kept.txt").write_text("x")
    for more, output, told in (
        (["--consistent", "integer"], "release.json", "--consistent: says how tables are written; give a folder"),
        (["--digits", "all"], "release.json", "--digits: says how tables are written; give a folder"),
        (["--level", "1.5"], "tables/", "--level: 1.5 is not between 0 and 1"),
        (["--published", "bad.csv"], "tables/", "published: row 1: 'x' is no whole number"),
        (["--published", "missing.csv"], "tables/", "missing.csv"),
        ([], "kept.txt/", "is a file"),
        ([], "missing/tables/", "create it first"),
        ([], "./", "holds an input"),
    ):
        assert release(*more, output=output) == 2
        assert told in capsys.readouterr().err
    assert sorted(name for name in os.listdir() if "tables" in name) == []


def test_an_existing_folder_is_refused_before_data_are_touched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release() == 0
    before = Path("tables/release.json").read_bytes()
    assert release() == 2 and "replace it with --force" in capsys.readouterr().err
    assert Path("tables/release.json").read_bytes() == before
    assert release("--force") == 0 and Path("tables/release.json").read_bytes() != before


def failing(*rest: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_release_whose_tables_fail_is_kept_and_tables_are_made_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(folders, "_write", failing)
        assert release() == 11
    told = capsys.readouterr().err
    assert "No space left on device" in told and "the release is saved as tables.release.json" in told
    assert not Path("tables").exists() and not [name for name in os.listdir() if name.endswith(".tmp")]
    assert main(["tables", "spec.json", "tables.release.json", "-o", "tables/"]) == 0


def test_an_interruption_between_release_and_tables_keeps_the_release(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*rest: object) -> Iterator[tuple[str, bytes]]:
        raise KeyboardInterrupt

    monkeypatch.setattr("designer.files.table_files.files_of_tables", interrupted)
    assert release() != 0 and "tables.release.json" in capsys.readouterr().err
    verify_release("spec.json", "tables.release.json")


def test_where_another_process_takes_the_place_the_release_is_kept_and_recorded(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first look at an empty place and the end of the tables somebody else writes a folder there."""
    Ledger.create("one.ledger", who="Ada").state("people", Total(epsilon=100), publishes=None)
    made = table_commands.write_tables

    def overtaken(*rest: Any, **named: Any) -> Path:
        Path("tables").mkdir()
        Path("tables", "theirs.csv").write_text("kept")
        return made(*rest, **named)

    monkeypatch.setattr(table_commands, "write_tables", overtaken)
    assert release("--ledger", "one.ledger", "--dataset", "people", "--who", "Ada") == 2
    assert "tables exists" in capsys.readouterr().err and os.listdir("tables") == ["theirs.csv"]
    assert main(["ledger", "check", "one.ledger", "--release", "tables.release.json"]) == 0
    assert "recorded as entry" in capsys.readouterr().out


def test_the_release_in_a_folder_is_signed_and_the_signature_goes_with_it(folder: Path) -> None:
    pytest.importorskip("cryptography")
    new_key(folder / "key.pem")
    assert release("--sign", "key.pem") == 0
    assert "release.json.sig" in index()["files"]
    assert main(["verify", "spec.json", "tables/release.json", "--signer", "key.pem.pub"]) == 0
    assert main(["tables", "spec.json", "tables/release.json", "-o", "again/"]) == 0
    assert main(["verify", "spec.json", "again/release.json", "--signer", "key.pem.pub"]) == 0
    assert release("--sign", "key.pem", "--force") == 0


def test_file_names_are_plain_and_differ() -> None:
    names = ["a/b", "a b", "..", "", "é", "=1", "README", "x" * 300, "release", "CON"]
    found = file_names(names, "csv")
    assert len({name.lower() for name in found}) == len(names) and all(name.isascii() and "/" not in name for name in found)
    assert max(map(len, found)) < 100 and not {"readme.csv", "release.csv"} & {name.lower() for name in found}


def test_nested_counts_become_whole_numbers_without_a_bias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They add up, are the released ones rounded down or up, and follow from the release: two folders are the same."""
    monkeypatch.chdir(tmp_path)
    levels = {"region": ["N", "N", "N", "S", "S"], "town": [f"t{k}" for k in range(5)]}
    problem = Problem(Workload.nested(5, levels), metrics.add_remove(5, 1.0), weights=[9, 9, 9, 1, 1, 1, 1, 1])
    made = design(problem, "hierarchy").mechanism
    made.save("spec.json")
    released = made.release([30, 0, 12, 7, 100])
    for folder in ("one", "two"):
        options = TableOptions(consistent="unbiased-integer")
        options.require(made)
        write_tables(made, released, release_document(made, released), folder, options)
    towns, regions, total = (
        np.array([int(row["consistent"]) for row in rows(f"one/{name}.csv")]) for name in ("town", "region", "total")
    )
    assert total == [towns.sum()] and regions.tolist() == [towns[:3].sum(), towns[3:].sum()]
    assert (np.abs(np.concatenate([total, regions, towns]) - released.answers) < 1).all()
    assert Path("one/region.csv").read_bytes() == Path("two/region.csv").read_bytes()
    assert index("one")["consistent"]["asked"] == "unbiased-integer" and "on average" in index("one")["consistent"]["words"]


def test_answers_agree_without_a_bias_with_errors_and_intervals_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Totals are sums of their parts as decimals, in every format; `unbiased` is what `--consistent` alone means."""
    monkeypatch.chdir(tmp_path)
    problem = Problem(Workload.nested(3, {"sex": ["f", "m", "x"]}), metrics.add_remove(3, 1.0))
    made = design(problem, "laplace").mechanism
    made.save("spec.json")
    save_release(made, made._release_of((911, 400, 500, 3)), "release.json")
    for kind in ("csv", "csv-semicolon"):
        assert main(["tables", "spec.json", "release.json", "--format", kind, "--force", "-o", f"{kind}/", "--consistent"]) == 0
    capsys.readouterr()
    (total,), parts = rows("csv/total.csv"), rows("csv/sex.csv")
    assert sum(Decimal(row["consistent"]) for row in parts) == Decimal(total["consistent"])
    assert len(total["consistent"].partition(".")[2]) <= 6 and total["consistent"] != total["answer"]
    best = consistent_answers(read_release("spec.json", "release.json"))
    assert best.standard_errors is not None
    assert float(total["consistent_standard_error"]) == best.standard_errors[0] < float(total["standard_error"])
    assert float(total["consistent_lower_95"]) < float(total["consistent"]) < float(total["consistent_joint_upper_95"])
    line = Path("csv-semicolon/total.csv").read_text().splitlines()[1]
    assert total["consistent"].replace(".", ",") in line
    meanings = {column["name"]: column["meaning"] for column in index("csv")["tables"][0]["columns"]}
    assert "on average the answer without noise" in meanings["consistent"]
    assert meanings["consistent_lower_95"].startswith("Of the column consistent. End of an interval")


def test_what_has_no_agreeing_numbers_without_a_bias_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("margins.csv").write_text("sex,town,value\nF,,2\n")
    assert release("--consistent", "unbiased", "--published", "margins.csv") == 2
    assert "does not keep --published margins; use --consistent integer" in capsys.readouterr().err
    assert not Path("tables").exists()
    pairs = Workload(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]), ["a", "b", "c"])
    three = design(Problem(pairs, metrics.add_remove(3, 1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="--consistent unbiased-integer: whole answers: groups overlap in three"):
        TableOptions(consistent="unbiased-integer").require(three)
    kept = design(Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="--consistent unbiased: does not keep published margins"):
        TableOptions(consistent="unbiased").require(kept)
