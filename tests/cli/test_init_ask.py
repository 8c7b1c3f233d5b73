"""`dp-designer init --ask`: every way through the questions ends in a file that is checked and designed."""

from __future__ import annotations

import io
import json
import math
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from designer.accounts.composition.privacy_in_words import cost_words
from designer.base.errors import InvalidProblem
from designer.cli import main
from designer.problem_file.kinds import read_request
from designer.problem_file.templates import QUESTIONS, columns_of, decided_file, paths
from designer.publish.meanings import times
from designer.tradeoff.costs import Cost

TYPED = ("region: north, east, south", "region: north, east; sex: F, M", "region: north, east; age: 0-95 by 40; pay: 0 to 500")
RANGES = {
    "region: 01; 02": {"region": ["01", "02"]},
    "region: 01; 02; sex: F, M": {"region": ["01", "02"], "sex": ["F", "M"]},
    "age: 0-95": {"age": [str(at) for at in range(96)]},
    "age: 0-95 by 10": {"age": {"bins": [*range(0, 91, 10)]}},
    "age: 18-20; sex: F, M": {"age": ["18", "19", "20"], "sex": ["F", "M"]},
    "age: 0-17, 18+": {"age": ["0-17", "18+"]},  # texts, as in files that hold groups already
}
LEAVES = list(paths(TYPED))


def answer(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def lines_for(answers: dict[str, str]) -> list[str]:
    """What somebody types to give these answers: a number for each question that is asked."""
    typed: list[str] = []
    known: dict[str, str] = {}
    for question in QUESTIONS:
        left = [choice.name for choice in question.open_choices(known)]
        if len(left) != 1:
            typed.append(str(left.index(answers[question.name]) + 1) if left else answers[question.name])
        known[question.name] = answers[question.name]
    return typed


def test_there_are_seven_questions_and_many_ways_through_them() -> None:
    assert len(QUESTIONS) == 7 and len(LEAVES) > 100
    assert {name for leaf in LEAVES for name in leaf} == {question.name for question in QUESTIONS}
    for question in QUESTIONS:
        assert {leaf[question.name] for leaf in LEAVES} >= {choice.name for choice in question.choices}


def test_every_leaf_is_a_problem_file(tmp_path: Path) -> None:
    for leaf in LEAVES:
        (tmp_path / "leaf.toml").write_text(decided_file(leaf))
        assert read_request(tmp_path / "leaf.toml").description()


@pytest.mark.parametrize("promise", ["pure", "zcdp", "approximate"])
@pytest.mark.parametrize(
    "strength", ["1", pytest.param("0.1", marks=pytest.mark.heavy), pytest.param("3", marks=pytest.mark.heavy)]
)
@pytest.mark.parametrize("typed", TYPED, ids=["one", "two", "number"])
@pytest.mark.nightly
def test_every_leaf_is_checked_and_designed(
    typed: str, strength: str, promise: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("records.csv").write_text("region,sex,age,pay\nnorth,F,3,20\neast,M,90,450\n")
    Path("own.csv").write_text("region,sex,age\nnorth,F,0-39\neast,M,80+\n")  # who reports takes one of the ranges
    asked = {"values": typed, "strength": strength, "promise": promise}
    leaves = [leaf for leaf in LEAVES if asked.items() <= leaf.items()]
    assert leaves
    for leaf in leaves:
        Path("leaf.toml").write_text(decided_file(leaf))
        of_reports = columns_of(leaf["values"])  # of own reports there are no records; a report names a group
        Path("reports.csv").write_text("\n".join(",".join(row) for row in (of_reports, [v[0] for v in of_reports.values()])))
        held = "reports.csv" if leaf["holder"] == "nobody" else "records.csv"
        assert main(["check", held, "leaf.toml"]) == 0, leaf
        effort = [] if leaf["holder"] == "nobody" or leaf["asked"] in ("sum", "average") else ["--effort", "quick"]
        assert main(["design", "leaf.toml", *effort]) == 0, leaf


@pytest.mark.parametrize("leaf", LEAVES[::17], ids=lambda leaf: "-".join(list(leaf.values())[2:]))
def test_numbers_on_lines_give_the_file_of_these_answers(
    leaf: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer(monkeypatch, *lines_for(leaf))
    assert main(["init", "--ask", "-o", "made.toml"]) == 0
    assert Path("made.toml").read_text() == decided_file(leaf)


def test_tables_have_a_weight_for_each_number() -> None:
    leaf = next(leaf for leaf in LEAVES if leaf["asked"] == "tables" and leaf["promise"] == "zcdp")
    number = sum(map(len, columns_of(leaf["values"]).values()))
    read = tomllib.loads(decided_file(leaf))
    assert read["problem"]["weights"] == [1] * number


def test_empty_lines_are_the_defaults_and_the_end_says_error_and_guarantee(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    answer(monkeypatch, *[""] * 7)
    assert main(["init", "--ask", "-o", "made.toml"]) == 0
    said = capsys.readouterr()
    assert "expected total squared error 9.48898" in said.out and "Privacy:     epsilon 1, delta 0" in said.out
    assert "Guarantee:   Any one record may change to any other value" in said.out
    assert said.out.endswith("Written to made.toml.\nNext: dp-designer design made.toml -o spec.json\n")
    assert "1 of 7. Who holds the records?\n  1  An organisation" in said.err
    assert tomllib.loads(Path("made.toml").read_text())["relation"] == {"metric": "uniform", "epsilon": 1}


def test_without_a_file_what_is_printed_is_the_file_and_comments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, "2", *[""] * 6)
    assert main(["init", "--ask"]) == 0
    printed = capsys.readouterr().out
    assert tomllib.loads(printed)["kind"] == "own_report" and "# Attacker:" in printed
    answer(monkeypatch, "2", *[""] * 6)
    assert main(["init", "--ask", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"]["holder"] == "nobody"


@pytest.mark.parametrize("typed", RANGES)
def test_ranges_groups_and_semicolons_between_values_are_understood(typed: str, tmp_path: Path) -> None:
    answers = {**LEAVES[0], "values": typed, "asked": "cells", "public": "number", "protected": "any"}
    (tmp_path / "p.toml").write_text(decided_file(answers))
    assert tomllib.loads((tmp_path / "p.toml").read_text())["domain"] == RANGES[typed]
    assert read_request(tmp_path / "p.toml").description()["elements"] == math.prod(map(len, columns_of(typed).values()))


@pytest.mark.parametrize("asked", ["sum", "average"])
@pytest.mark.parametrize("strength", ["1", "3"])
def test_a_number_is_added_up_at_the_budget_that_was_asked_for(asked: str, strength: str, tmp_path: Path) -> None:
    """A record with the largest number costs mu^2 / 2 of zCDP in all."""
    answers = next(leaf for leaf in LEAVES if (leaf["asked"], leaf["strength"]) == (asked, strength))
    (tmp_path / "p.toml").write_text(decided_file(answers))
    plan = read_request(tmp_path / "p.toml").made().mechanism
    (largest,) = plan.policy({"region": ["north"], "age": ["80+"], "pay": [500]})
    wanted = float(strength) ** 2 / 2
    assert 0.999 * wanted <= largest <= (1 + 1e-12) * wanted  # the policy is rounded up


BAD = {
    "backwards": (["1", "age: 95-0"], "question 2 of 7: answer: 'age: 95-0' is not a column"),
    "no values": (
        ["1", "pay: 0 to 5"],
        "question 2 of 7: answer: 'pay: 0 to 5' has no column of values; give the one by which",
    ),
    "two numbers": (["1", "sex: F, M; a: 0 to 5; b: 1 to 2"], "['a', 'b'] are several numbers to add up; give one"),
    "empty range": (["1", "sex: F, M; a: 5 to 5"], "'a: 5 to 5' is not a column"),
    "too many": (["1", "age: 0-99999"], "question 2 of 7"),
    "few": (["1", "", "1"], "ended before question 4 of 7"),
    "none": ([], "ended before question 1 of 7"),
    "number": (["3"], "question 1 of 7: answer: '3' is none of 1 to 2"),
    "column": (["1", "region north"], "question 2 of 7: answer: 'region north' is not a column"),
    "twice": (["1", "region: north, north"], "question 2 of 7"),
}


@pytest.mark.parametrize("name", BAD)
def test_lines_that_are_missing_or_wrong_are_refused_and_nothing_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, words = BAD[name]
    monkeypatch.chdir(tmp_path)
    answer(monkeypatch, *lines)
    assert main(["init", "--ask", "-o", "made.toml"]) == 2
    assert words in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_init_needs_a_file_or_questions_and_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 2
    assert "give the records whose columns are asked about, or --ask" in capsys.readouterr().err
    assert main(["init", "records.csv", "--ask"]) == 2
    assert "--ask: reads no records" in capsys.readouterr().err


def test_factors_in_the_words_are_those_of_the_reports() -> None:
    (strength,) = [question for question in QUESTIONS if question.name == "strength"]
    for choice in strength.choices:
        assert f"at most {times(Fraction(choice.name)).removeprefix('×')} times" in choice.words


def test_what_zcdp_comes_to_is_what_its_cost_comes_to() -> None:
    (promise,) = [question for question in QUESTIONS if question.name == "promise"]
    (concentrated,) = [choice for choice in promise.choices if choice.name == "zcdp"]
    for strength in ("1", "0.1", "3"):
        told = cost_words(Cost.concentrated(Fraction(strength) ** 2 / 2)).split(": epsilon ")[1]
        assert f"({told.split(' at ')[0]}, 1e-6) for mu {strength}" in concentrated.words


def test_a_question_with_one_answer_left_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer(monkeypatch, "1", "", "", "2", "", "")
    assert main(["init", "--ask"]) == 0
    assert (
        "5 of 7. Which values must be hard to distinguish? Only this is left: Any value of one record"
        in capsys.readouterr().err
    )


def test_totals_of_the_first_column_alone_can_be_published() -> None:
    leaf = next(leaf for leaf in LEAVES if leaf["public"] == "margin")
    assert tomllib.loads(decided_file(leaf))["invariant"] == {"margins": [["region"]]}


def test_names_of_columns_are_written_so_that_toml_reads_them() -> None:
    leaf = {**LEAVES[0], "values": 'home "place": a\\b, c; x y: 1, 2'}
    assert tomllib.loads(decided_file(leaf))["domain"] == {'home "place"': ["a\\b", "c"], "x y": ["1", "2"]}
    with pytest.raises(InvalidProblem, match="combinations of values; give at most 1,000"):
        columns_of("; ".join(f"c{k}: a, b" for k in range(11)))
