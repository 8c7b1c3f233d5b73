"""The mutation run: its list follows the code, it sees a break, and it can see that nothing was seen."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutation import __main__ as command
from tests.mutation.drawn import changes, drawn, rooms
from tests.mutation.equivalent import EQUIVALENT, reason_for
from tests.mutation.forks import Ran
from tests.mutation.listed import MUTANTS, ROOMS
from tests.mutation.mutant import Misfit, Mutant
from tests.mutation.report import lines, markdown
from tests.mutation.runner import ROOT, Verdict, killer_of, run, taken_over

JSON_TEXT = "designer/base/json_text.py"
READING = ("tests/base/test_json_text.py::test_numbers_within_the_floats_are_read_as_they_are",)
# Few and cheap: they stand for the run of all, which takes half an hour.
SEEN = Mutant(JSON_TEXT, "number = float(text)\n", "number = 2 * float(text)\n", "floats of a file are doubled", READING)
CHEAP = ("fractions below a real number are above it", "of the pairs of children one is never opened")
UNSEEN = Mutant(JSON_TEXT, '"""A JSON object from a file of limited size."""', '"""Reads."""', "nothing", READING)


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
def test_every_mutant_fits_the_source(room: object) -> None:
    for mutant in room.MUTANTS:  # type: ignore[attr-defined]
        assert mutant.applied((ROOT / mutant.file).read_text())


def test_every_named_test_is_there_and_no_mutant_stands_twice() -> None:
    sources = {
        path: (ROOT / path).read_text() for mutant in MUTANTS for path, _, _ in (t.partition("::") for t in mutant.tests)
    }
    for mutant in MUTANTS:
        assert mutant.tests and mutant.breaks
        for path, _, name in (test.partition("::") for test in mutant.tests):
            assert not name or re.search(rf"^ *def {re.escape(name.partition('[')[0])}\(", sources[path], re.MULTILINE), (
                path,
                name,
            )
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS) >= 100


def test_breaks_are_made_wherever_privacy_is() -> None:
    """Every room of the package whose code decides what is promised or drawn has mutants."""
    rooms = {mutant.file.split("/")[1] for mutant in MUTANTS if mutant.file.startswith("designer/")}
    free = {"designing", "families", "cli", "audit"}
    there = {path.name for path in (ROOT / "designer").iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert there - rooms - free == {"docs"}


def test_text_that_moved_or_means_the_same_is_no_mutant() -> None:
    with pytest.raises(Misfit, match="0 times, not once"):
        replace(SEEN, old="no such text").applied("x = 1\n")
    with pytest.raises(Misfit, match="2 times, not once"):
        replace(SEEN, old="x").applied("x = x\n")
    with pytest.raises(Misfit, match="means the same"):
        replace(SEEN, old="x = 1", new="x = 1  # one").applied("x = 1\n")
    with pytest.raises(Misfit, match="is no Python"):
        replace(SEEN, old="1", new="(").applied("x = 1\n")


def test_what_pytest_says_is_told_apart() -> None:
    assert killer_of(Ran(0, "", 0.0), 1.0) is None
    assert killer_of(Ran(1, "FAILED tests/a.py::test_b[x] - assert 1 == 2\n1 failed\n", 0.0), 1.0) == "tests/a.py::test_b[x]"
    assert killer_of(Ran(2, "ERROR tests/a.py - NotPrivate: too much\n", 0.0), 1.0) == "tests/a.py"
    assert "no end" in str(killer_of(Ran(None, "", 0.0), 1.0))
    for text, code in (("FAILED tests/a.py::test_b - NameError: x\n", 1), ("no tests ran\n", 5), ("", 3)):
        with pytest.raises(Misfit):
            killer_of(Ran(code, text, 0.0), 1.0)


@pytest.mark.slow
def test_a_break_is_seen_and_what_breaks_nothing_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """End to end, by the command: a survivor ends it with 1, and is named in what it writes; without one it ends with 0."""
    listed = tuple(mutant for mutant in MUTANTS if mutant.breaks in CHEAP)
    monkeypatch.setattr(command, "MUTANTS", (SEEN, UNSEEN, *listed))
    table = tmp_path / "table.json"
    assert command.main(["--wider", "none", "--json", str(table), "--markdown", str(tmp_path / "page.md")]) == 1
    seen, unseen, *others = json.loads(table.read_text())
    assert seen["killer"] == READING[0] and unseen["killer"] is None
    assert seen["commit"] == command.source() == unseen["commit"]
    assert len(others) == len(CHEAP) and all(other["killer"].startswith(tuple(other["mutant"]["tests"])) for other in others)
    assert command.main(["float", "--wider", "none", "--since", str(table)]) == 0
    assert "**none**" in (tmp_path / "page.md").read_text()
    assert (ROOT / JSON_TEXT).read_text().count(SEEN.old) == 1
    told = json.loads(table.read_text())
    assert [verdict.mutant for verdict in taken_over((SEEN, UNSEEN), told)] == [SEEN]
    assert taken_over((replace(SEEN, tests=("tests/base/test_output.py",)), replace(SEEN, new="number = 3.0\n")), told) == []


@pytest.mark.slow
def test_tests_that_fail_anyway_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Misfit, match="fail without any mutant"):
        run([replace(SEEN, tests=("tests/base/test_json_text.py::test_that_is_not_there",))], ())


def test_a_sample_is_drawn_by_its_seed_and_words_choose() -> None:
    assert command.chosen([], 3, 1) == command.chosen([], 3, 1) != command.chosen([], 3, 2)
    assert command.chosen(["discrete_laplace"], None, 0) and not command.chosen(["no such word"], None, 0)
    assert len(command.chosen([], None, 0)) == len(MUTANTS)


def test_lines_are_drawn_by_their_seed_from_every_room_of_the_trusted_base_in_turn() -> None:
    found, places = drawn(60, 5), rooms()
    assert found == drawn(60, 5) and found[:20] == drawn(20, 5) != drawn(20, 6)
    assert len(set(found)) == 60 and {mutant.room for mutant in found} == set(places)
    for mutant in found:
        assert mutant.drawn and mutant.applied((ROOT / mutant.file).read_text())


def test_a_draw_tells_the_commit_that_it_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words choose of what was drawn, so that rooms are run one by one and no line of the draw changes by it."""
    asked: list[Mutant] = []

    def pretended(mutants: list[Mutant], wider: object, workers: int) -> list[Verdict]:
        asked.extend(mutants)
        return [Verdict(mutant, "tests/a.py::test_b", "named", 1.0) for mutant in mutants]

    monkeypatch.setattr(command, "run", pretended)
    monkeypatch.setattr(command, "source", lambda: "0123abcd-dirty")
    table = tmp_path / "table.json"
    assert command.main(["designer/promises/", "--random", "60", "--seed", "5", "--json", str(table)]) == 0
    assert asked == [mutant for mutant in drawn(60, 5) if mutant.file.startswith("designer/promises/")] != []
    assert capsys.readouterr().out.splitlines()[-1] == "drawn from 0123abcd-dirty: --random 60 --seed 5"
    assert {verdict["commit"] for verdict in json.loads(table.read_text())} == {"0123abcd-dirty"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x < y", {"(x <= y)", "(x > y)"}),
        ("not x", {"(x)"}),
        ("x and f(y)", {"(x or f(y))", "(x)", "(f(y))"}),
        ("max(x, 1)", {"(min(x, 1))", "(max(1, x))", "(2)", "(0)"}),
        ("x[1:y]", {"(x[1:y + 1])", "(2)", "(0)"}),
        ("x if y else True", {"(True if y else x)", "(False)"}),
        ("-0.5", {"(0.5)", "(0.495)", "(0.505)"}),
    ],
)
def test_each_expression_is_changed_in_every_way_that_is_told(old: str, new: set[str]) -> None:
    tree = ast.parse(f"def f(x: 3, y):\n    return {old}\n")
    assert {f"({ast.unparse(changed)})" for _, changed in changes(tree)} == new


def test_refusals_calls_and_guards_are_dropped_and_texts_are_left() -> None:
    tree = ast.parse("if x > 0:\n    raise ValueError(f'{x + 1}')\ny += 1\nf(y)\n")
    dropped = [getattr(node, "lineno", 0) for node, changed in changes(tree) if isinstance(changed, ast.Pass)]
    assert dropped == [1, 2, 3, 4] and not any("x +" in ast.unparse(changed) for _, changed in changes(tree))


@pytest.mark.slow
def test_a_drawn_break_is_held_against_the_tests_of_its_room_that_call_it() -> None:
    """One that is seen, and one that only makes a root finer."""
    file, kept = "solvers/exact/rational.py", "return nearest if Fraction(nearest) <= value"
    broken = Mutant(file, kept, kept.replace("<=", ">="), "", ())
    unseen = Mutant(file, "shift = 84 + max(0,", "shift = 85 + max(0,", "", ())
    verdicts = run([replace(mutant, drawn=True) for mutant in (broken, unseen)], ())
    assert verdicts[0].killer and verdicts[1].killer is None
    assert all(test.startswith("tests/solvers/exact") for verdict in verdicts for test in verdict.mutant.tests[2:])


def test_what_is_excused_still_fits_and_says_why() -> None:
    for mutant in EQUIVALENT:
        assert mutant.applied((ROOT / mutant.file).read_text()) and len(mutant.breaks.split()) > 3
        assert reason_for(mutant, ROOT) == mutant.breaks
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in EQUIVALENT}) == len(EQUIVALENT)


def test_a_report_puts_survivors_last_and_counts_them() -> None:
    verdicts = [Verdict(UNSEEN, None, "room", 1.0), Verdict(SEEN, READING[0] + "[x]", "named", 2.0)]
    told = lines(verdicts)
    assert told[0].startswith("killed") and told[1].startswith("SURVIVED") and told[-1] == "2 mutants, 1 survivors"
    assert f"`{READING[0].removeprefix('tests/')}` |" in markdown(verdicts)
