"""The mutation run: its list follows the code, it sees a break, and it can see that nothing was seen."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutation import __main__ as command
from tests.mutation import scopes
from tests.mutation.drawn import changes, drawn, rooms
from tests.mutation.forks import Ran
from tests.mutation.listed import LISTS, MUTANTS, equivalent, named_tests, read, reason_for, written
from tests.mutation.mutant import Mutant
from tests.mutation.patterns import Misfit
from tests.mutation.report import lines, markdown
from tests.mutation.runner import Verdict, killer_of, run, taken_over
from tests.mutation.scopes import ROOT

READING = ("tests/base/test_json_text.py::test_numbers_within_the_floats_are_read_as_they_are",)
# Few and cheap: they stand for the run of all, which takes half an hour.
SEEN = Mutant("json_text:_finite", "float(text)", "2 * float(text)", "floats of a file are doubled", READING)
CHEAP = ("fractions below a real number are above it", "of the pairs of children one is never opened")
UNSEEN = Mutant("json_text:read_json", '"""A JSON object from a file of limited size."""', '"""Reads."""', "nothing", READING)
IN_TEXT = Mutant("f", "x = 1", "x = 2", "a number")
# Source, snippet, replacement and what the source becomes.
REPLACED = (
    ("def f():\n    x = (  # one\n        1)\n    y = 1  # two", "x = 1", "x = 2", "def f():\n    x = 2\n    y = 1  # two"),
    ("class f:\n    def g(x=1):\n        return x + 1", "x + 1", "x", "class f:\n    def g(x=1):\n        return (x)"),
    ("f = ['a', 2 * x]  # two", "2 * x", "x", "f = ['a', (x)]  # two"),
    ("def f():\n    g(x, a=1)\n    a = 2", "a=1", "a=2", "def f():\n    (g(x, a=2))\n    a = 2"),
    ("def f():\n    g(x, a=1)\n    a = 2", "a=1", "", "def f():\n    (g(x))\n    a = 2"),
    ("def f():\n    return {'a': 1, **x}", '"a": 1', '"a": 2', "def f():\n    return ({'a': 2, **x})"),
    ("def f():\n    return {'a': 1, **x}", '"a": 1', "", "def f():\n    return ({**x})"),
    ("def f():\n    if y:\n        x()", "x()", "if 1: return", "def f():\n    if y:\n        if 1:\n            return"),
    ("def f():\n    return f'{x + 1:>{y}} is'", "x + 1", "x", "def f():\n    return f'{(x):>{y}} is'"),
    (
        "def f():\n    if x:\n        y()\n        z()",
        "if x: ...",
        "if not x: ...",
        "def f():\n    if not x:\n        y()\n        z()",
    ),
    (
        "def f():\n    if x:\n        y()\n    elif z:\n        a()",
        "z",
        "b",
        "def f():\n    if x:\n        y()\n    elif (b):\n        a()",
    ),
    ("def f():\n    y()\n    x()\n    z()", "y()\nx()", "x()", "def f():\n    x()\n    z()"),
    ("def f():\n    if x:\n        y()\n        z()", "z()", "", "def f():\n    if x:\n        y()\n        "),
    ("def f():\n    return any(x for x in y)", "any(x for x in y)", "any(y)", "def f():\n    return (any(y))"),
    ("@g(1)\ndef f(x):\n    return 2", "@g(1)\ndef f(x): ...", "def f(x): ...", "def f(x):\n    return 2"),
    (
        "def f():\n    pass\ndef g():\n    x = 1\ndef f():\n    x = 1",
        "x = 1",
        "x = 2",
        "def f():\n    pass\ndef g():\n    x = 1\ndef f():\n    x = 2",
    ),
)


def test_every_mutant_fits_the_source_once_in_one_form() -> None:
    for mutant in (*MUTANTS, *equivalent()):
        assert mutant.site() and len(mutant.breaks.split()) > 1
    assert len({(mutant.file, mutant.where, mutant.old, mutant.new, mutant.nth) for mutant in MUTANTS}) == len(MUTANTS) > 800


def test_every_named_test_is_there() -> None:
    assert all(mutant.tests for mutant in MUTANTS)
    assert named_tests() == {test for mutant in MUTANTS for test in mutant.tests}
    sources = {path: (ROOT / path).read_text() for path in {test.partition("::")[0] for test in named_tests()}}
    for path, _, name in (test.partition("[")[0].partition("::") for test in named_tests()):
        assert not name or re.search(rf"^ *def {re.escape(name)}\(", sources[path], re.MULTILINE), (path, name)


def test_breaks_are_made_wherever_privacy_is() -> None:
    """Every room of the package whose code decides what is promised or drawn has mutants."""
    rooms = {mutant.file.split("/")[1] for mutant in MUTANTS if mutant.file.startswith("designer/")}
    free = {"designing", "cli", "audit"}
    there = {path.name for path in (ROOT / "designer").iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert there - rooms - free == {"docs"}


def test_a_pattern_is_replaced_in_its_scope_and_the_rest_of_the_text_stays() -> None:
    """Layout, comments, quotes and parentheses of the place itself do not matter."""
    for source, old, new, broken in REPLACED:
        assert replace(IN_TEXT, old=old, new=new).applied(source) == broken


def test_code_that_moved_or_means_the_same_is_no_mutant() -> None:
    source = "def f():\n    x = 1\n    x = 1\n    y = 1\ndef g():\n    z = 1\n"
    for old, new, refused in (
        ("z = 1", "z = 2", "0 times, not once"),
        ("x = 1", "x = 2", "2 times, not once"),
        ("y = 1", "y = (1)  # one", "means the same"),
        ("y = 1", "y = (", "is no Python"),
        ("", "y", "is everywhere"),
        ("y = 1", "return *", "is no Python"),
    ):
        with pytest.raises(Misfit, match=refused):
            replace(IN_TEXT, old=old, new=new).applied(source)
    assert replace(IN_TEXT, nth=2).applied(source).splitlines()[1:3] == ["    x = 1", "    x = 2"]
    with pytest.raises(Misfit, match="put `pass`"):
        replace(IN_TEXT, old="x = 1", new="").applied("def f():\n    x = 1\n")
    with pytest.raises(Misfit, match="2 times, not at least 3 times"):
        replace(IN_TEXT, nth=3).applied(source)


def test_a_key_is_as_long_as_tells_modules_apart() -> None:
    assert scopes.module_of("LazyUniform.refine") == scopes.module_of("sampling.integer_samplers:LazyUniform.refine")
    with pytest.raises(Misfit, match="no module of the packages has it"):
        scopes.module_of("no_such_name")
    for where in [mutant.where for mutant in MUTANTS if ":" in mutant.where][:5]:
        name = where.rpartition(":")[2]
        with pytest.raises(Misfit, match=rf"not one: [\w.]+:{re.escape(name)}, "):
            scopes.module_of(name)
        for module in scopes.modules_of(name):
            assert scopes.module_of(scopes.key_of(module, name)) == module


def test_lists_are_read_as_they_are_written(tmp_path: Path) -> None:
    long = "a + " * 40 + "b"
    made = [replace(IN_TEXT, tests=("tests/a.py", "tests/b.py::c[x y]"), old=old, new=new, nth=nth)
            for old, new, nth in (("x", "", 0), ("x = 1\ny", "if x:\n    y", 2), (long, "b", 0))]  # fmt: skip
    path = tmp_path / "room.txt"
    path.write_text("# Words.\n\ntests/a.py\ntests/b.py::c[x y]\n" + "\n".join(map(written, made)))
    assert list(read(path)) == made
    for text in ("f: lost\n    x\n", "f lost\n    x => y\n", "f: lost\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"room\.txt, line 1: not `key"):
            list(read(path))
    assert all("\n\n\n" not in path.read_text() for path in LISTS)


def test_what_pytest_says_is_told_apart() -> None:
    assert killer_of(Ran(0, "", 0.0), 1.0) is None
    assert killer_of(Ran(1, "FAILED tests/a.py::test_b[x] - assert 1 == 2\n1 failed\n", 0.0), 1.0) == "tests/a.py::test_b[x]"
    assert killer_of(Ran(1, "FAILED tests/a.py::test_b[x y] - assert\n", 0.0), 1.0) == "tests/a.py::test_b[x y]"
    assert killer_of(Ran(2, "ERROR tests/a.py - NotPrivate: too much\n", 0.0), 1.0) == "tests/a.py"
    assert "no end" in str(killer_of(Ran(None, "", 0.0), 1.0))
    for text, code in (("FAILED tests/a.py::test_b - NameError: x\n", 1), ("no tests ran\n", 5), ("", 3)):
        with pytest.raises(Misfit):
            killer_of(Ran(code, text, 0.0), 1.0)


@pytest.mark.nightly
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
    assert command.main(["floats of a file", "--wider", "none", "--since", str(table)]) == 0
    assert "**none**" in (tmp_path / "page.md").read_text()
    assert SEEN.site()
    told = json.loads(table.read_text())
    assert [verdict.mutant for verdict in taken_over((SEEN, UNSEEN), told)] == [SEEN]
    assert taken_over((replace(SEEN, tests=("tests/base/test_output.py",)), replace(SEEN, new="3.0")), told) == []


@pytest.mark.nightly
def test_every_mutant_is_python() -> None:
    for mutant in MUTANTS:
        assert mutant.becomes(ROOT)


@pytest.mark.nightly
def test_tests_that_fail_anyway_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Misfit, match="fail without any mutant"):
        run([replace(SEEN, tests=("tests/base/test_json_text.py::test_that_is_not_there",))], ())


def test_a_sample_is_drawn_by_its_seed_and_words_choose() -> None:
    assert command.chosen([], 3, 1) == command.chosen([], 3, 1) != command.chosen([], 3, 2)
    assert command.chosen(["discrete_laplace"], None, 0) and not command.chosen(["no such word"], None, 0)
    assert len(command.chosen([], None, 0)) == len(MUTANTS)


@pytest.mark.nightly
def test_lines_are_drawn_by_their_seed_from_every_room_of_the_trusted_base_in_turn() -> None:
    found, places = drawn(60, 5), rooms()
    assert found[:20] == drawn(20, 5) != drawn(20, 6)
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
    assert command.main(["designer/tradeoff/", "--random", "60", "--seed", "5", "--json", str(table)]) == 0
    assert asked == [mutant for mutant in drawn(60, 5) if mutant.file.startswith("designer/tradeoff/")] != []
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


@pytest.mark.nightly
def test_a_drawn_break_is_held_against_the_tests_of_its_room_that_call_it() -> None:
    """One that is seen, and one that only makes a root finer."""
    broken = Mutant("rational:float_below", "Fraction(nearest) <= value", "Fraction(nearest) >= value", "", drawn=True)
    unseen = Mutant("rational:root_below", "84", "85", "", drawn=True)
    verdicts = run([broken, unseen], ())
    assert verdicts[0].killer and verdicts[1].killer is None
    assert all(test.startswith("tests/solvers/exact") for verdict in verdicts for test in verdict.mutant.tests)


def test_what_is_excused_says_why() -> None:
    """However its place is written."""
    for mutant in equivalent()[:3]:
        assert reason_for(mutant, ROOT) == mutant.breaks
        where = f"{scopes.module_of(mutant.where)}:{mutant.where.rpartition(':')[2]}"
        assert reason_for(replace(mutant, where=where, breaks=""), ROOT) == mutant.breaks
    assert reason_for(SEEN, ROOT) is None


def test_a_report_puts_survivors_last_and_counts_them() -> None:
    verdicts = [Verdict(UNSEEN, None, "room", 1.0), Verdict(SEEN, READING[0] + "[x]", "named", 2.0)]
    told = lines(verdicts)
    assert told[0].startswith("killed") and told[1].startswith("SURVIVED") and told[-1] == "2 mutants, 1 survivors"
    assert f"`{READING[0].removeprefix('tests/')}` |" in markdown(verdicts)
