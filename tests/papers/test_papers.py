"""The pages on the papers: every item has a row, what a row names is there, and the stored numbers are those computed."""

from __future__ import annotations

import contextlib
import io
from datetime import date
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import examples.papers.__main__ as command
from designer.designing.listed import family_named
from examples.papers.__main__ import KEYS, paper
from examples.papers.frame import Choice, Erratum, Numbers, Paper, Read, Row, Section, Setting, Severity, Verdict
from examples.papers.items import found, listed
from examples.papers.names import names_of, page_of
from examples.papers.pages import NOTHING, OUTSIDE, PAGES, items, number_lines, numbers_of, runs_of, stored_runs, verdicts
from examples.papers.places import lacking, unsatisfied
from tests.house.test_markdown import broken
from tests.house.test_public_names import DEEPER, NAMES


@pytest.fixture(params=KEYS)
def one(request: pytest.FixtureRequest) -> Paper:
    return paper(request.param)


def test_every_numbered_item_of_a_paper_has_one_row(one: Paper) -> None:
    known = [row.item for row in one.rows]
    assert len(known) == len(set(known))
    assert [item for item in listed(one.key) if item not in known] == []


def test_what_a_row_names_is_there_and_carries_its_verdict(one: Paper) -> None:
    assert {row.item: lacking(row) for row in one.rows if lacking(row)} == {}


def test_every_item_has_a_public_name_and_an_entry_in_the_reference(one: Paper) -> None:
    """Of names that are promised: a class, a function, one of their members, or a family of `design`."""
    names = names_of(one.key)
    assert list(names) == [row.item for row in one.rows] and all(names.values())
    public = {f"{module}.{name}" for module, listed_names in (NAMES | DEEPER).items() for name in listed_names.split()}
    for name in {name for each in names.values() for name in each}:
        called, _, family = name.partition(":")
        resolve_name(called)
        assert any(called == known or called.startswith(f"{known}.") for known in public), f"{name} is not promised"
        assert page_of(name), f"{name} has no entry in the reference"
        assert not family or (called == "designer.design" and family_named(family).name == family)


def test_every_erratum_contradicts_the_paper(one: Paper) -> None:
    for row in one.rows:
        for erratum in row.errata:
            assert erratum.holds(), f"{row.item}: {erratum.contradiction()}"


def stored(key: str) -> dict[tuple[str, str], tuple[str, str, str]]:
    """The numbers that the pages show."""
    return numbers_of((PAGES / "numbers" / f"{key}.txt").read_text())


@pytest.mark.nightly
def test_stored_numbers_are_what_sampled_ones_say(one: Paper) -> None:
    """The paper's values to the letter; computed values within what their verdicts allow."""
    numbers, again = stored(one.key), numbers_of(number_lines(one, full=False))
    assert {line: again[line][:2] for line in again} == {line: numbers[line][:2] for line in again if line in numbers}
    assert {line for line in again if (OUTSIDE in again[line][2]) != (OUTSIDE in numbers[line][2])} == set()
    assert {row.item: unsatisfied(row, full=False) for row in one.rows if unsatisfied(row, full=False)} == {}


def test_pictures_of_a_page_are_there(one: Paper) -> None:
    files = [name for section in one.sections for picture in section.pictures for name in picture.files]
    assert [name for name in files if not (PAGES / "pictures" / name).is_file()] == []


def test_a_page_shows_each_item_number_and_erratum_in_sound_markdown(one: Paper) -> None:
    shown, numbers = items(one), stored(one.key)
    assert broken(shown) == [] and {item for item, _ in numbers} <= {row.item for row in one.rows}
    assert all(f"\n| {row.item} | {row.says} | {row.verdict} | " in shown for row in one.rows)
    compared = {line: cells for line, cells in numbers.items() if cells[0] != NOTHING}
    assert all(f"\n| {' | '.join([*line, *cells])} |" in shown for line, cells in compared.items())
    assert all(f"### Erratum: {erratum.title}\n" in shown for row in one.rows for erratum in row.errata)
    assert all(" ".join(row.because.split()) in shown for row in one.rows)
    assert sum(OUTSIDE in cells[2] for cells in numbers.values()) <= shown.count(f"{OUTSIDE}. ") + shown.count("**, **")


def test_the_index_counts_the_items_and_faults_of_all_papers() -> None:
    papers = [paper(key) for key in KEYS]
    told, _, _, _, *lines = verdicts(papers).split("\n")
    counts = [sum(map(int, line.split(" | ")[1:-2])) for line in lines]
    assert counts == [len(each.rows) for each in papers] and all(
        f"({key}.md)" in line for key, line in zip(KEYS, lines, strict=True)
    )
    errata = [erratum for each in papers for row in each.rows for erratum in row.errata]
    alone = {id(erratum) for erratum in errata if not erratum.follows}
    assert told == f"{sum(counts)} items. {len(set(map(id, errata)))} errata tell of {len(alone)} faults: the others follow" + (
        " from one of these."
    )


def test_what_follows_from_a_fault_names_it(one: Paper) -> None:
    titles = {erratum.title for erratum in one.faults}
    assert len(titles) == len(one.faults)
    for erratum in one.errata:
        assert not erratum.follows or (erratum.follows in titles and f'Follows from "{erratum.follows}".' in items(one))


def test_the_stored_table_has_every_item_with_its_verdict_and_a_day(one: Paper) -> None:
    runs = [run for run in stored_runs() if run.paper == one.key]
    assert [(run.item, run.verdict) for run in runs] == [(row.item, str(row.verdict)) for row in one.rows]
    assert len({date.fromisoformat(run.day) for run in runs}) == 1 and all(float(run.seconds) >= 0 for run in runs)
    counted = {item: [cells for (name, _), cells in stored(one.key).items() if name == item] for item in (r.item for r in runs)}
    for run in runs:
        expected = [cells for cells in counted[run.item] if cells[0] != NOTHING]
        assert run.reached == f"{sum(OUTSIDE not in cells[2] for cells in expected)} of {len(expected)}"


STATED = Setting("numbers that the paper states")


def reproduce_one(full: bool = False) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    return {"one": 1.0}, {"one": (1.0, 1.0)}


def row(verdict: Verdict = Verdict.REPRODUCED, **fields: Any) -> Row:
    """A row that is as it should be, but for what is given."""
    numbers = Numbers(lambda full=False: ({"one": 1.0}, {"one": (1.0, 1.0)}))
    given: dict[str, Any] = {
        "lives": ("examples/papers/frame.py:Row",),
        "run": "python -m examples.papers",
        "numbers": (numbers,),
    }
    return Row("Lemma 1", "says so", verdict, **{**given, **fields})


def test_rows_without_what_their_verdict_asks_for_are_seen() -> None:
    assert lacking(row()) == [] and unsatisfied(row(), False) == []
    assert lacking(row(lives=("designer/base/errors.py:NoSuchName",))) == ["designer/base/errors.py:NoSuchName"]
    assert lacking(row(run="tests/papers/test_papers.py::test_that_is_not_there")) != []
    assert lacking(row(run="python -m examples.nothing")) == ["python -m examples.nothing"]
    assert lacking(row(numbers=())) == ["reproduced without numbers"]
    assert len(lacking(row(Verdict.CONSISTENT, numbers=()))) == 1
    assert lacking(row(Verdict.PROVEN)) == ["proven and tested without a test"]
    assert len(lacking(row(Verdict.ERRATUM))) == len(lacking(row(Verdict.DIFFERS))) == 1
    other = Numbers(lambda full=False: ({"one": 2.0}, {"one": (1.0, 1.0)}))
    assert len(unsatisfied(row(numbers=(other,)), False)) == 2
    explained = Numbers(lambda full=False: ({"one": 1.0}, {"one": (1.0, 1.0)}), differences={"one": "not so"})
    assert unsatisfied(row(numbers=(explained,)), False) == ["one is explained, and inside its interval"]
    right = Erratum("nothing", "", "at most", lambda: (2, 1), severity=Severity.SLIP, force="Lemma 1")
    assert unsatisfied(row(errata=(right,)), False) == ["nothing: no contradiction"]


def test_a_row_without_its_design_and_choices_is_no_part_of_a_page() -> None:
    def misfit(verdict: Verdict, settings: dict[str, Setting], **fields: Any) -> str:
        with pytest.raises(ValueError) as refused:
            Paper("rec", "A small paper", (Section("Section 1", (row(verdict, **fields),)),), 0, settings)
        return str(refused.value)

    chosen = Setting("so", (Choice("the seed", "nothing"),))
    for verdict in (Verdict.REPRODUCED, Verdict.CONSISTENT, Verdict.DIFFERS):
        assert "Lemma 1: no setting" in misfit(verdict, {}, numbers=())
    assert "Lemma 1: no setting" in misfit(Verdict.PROVEN, {})
    assert "reproduced, with a choice" in misfit(Verdict.REPRODUCED, {"Lemma 1": chosen})
    assert "without a choice" in misfit(Verdict.CONSISTENT, {"Lemma 1": STATED})
    assert "without a choice" in misfit(Verdict.DIFFERS, {"Lemma 1": STATED})
    assert "Lemma 2: no row" in misfit(Verdict.REPRODUCED, {"Lemma 1": STATED, "Lemma 2": STATED})
    for empty in (lambda: Setting(""), lambda: Choice("", "nothing"), lambda: Choice("the seed", "")):
        with pytest.raises(ValueError):
            empty()
    with pytest.raises(ValueError, match="force"):
        Erratum("", "", "equal", lambda: (0, 1), severity=Severity.SLIP, force="")


def test_what_the_paper_does_not_give_is_an_own_check(one: Paper) -> None:
    read_from = {read for expected, read, _ in stored(one.key).values() if expected != NOTHING}
    assert read_from <= {str(read) for read in Read}
    assert {read for expected, read, _ in stored(one.key).values() if expected == NOTHING} <= {str(Read.OWN)}


def test_a_value_that_the_paper_does_not_give_reproduces_nothing() -> None:
    for read in (Read.WORDS, Read.THEOREM, Read.OWN):
        assert len(unsatisfied(row(numbers=(Numbers(reproduce_one, (), read),)), False)) == 1
    own, words = ((Numbers(reproduce_one, (), read),) for read in (Read.OWN, Read.WORDS))
    assert len(unsatisfied(row(Verdict.CONSISTENT, numbers=own), False)) == 1
    assert unsatisfied(row(Verdict.CONSISTENT, numbers=words), False) == []
    unknown = Numbers(lambda full=False: ({"one": 1.0}, {}), read=Read.TABLE)
    assert [value.read for value in unknown.values(False)] == [Read.OWN]


def test_numbered_items_are_found_where_they_begin_a_line() -> None:
    lines = [
        "1. Start",
        "2. Tools",
        "",
        "Definition 0 (A).",
        "  Lemma 2.2.",
        "as Table 7 shows",
        "Fig. 3: x",
        "• Theorem 4 (B)",
    ]
    text = "\n".join([*lines, "3. More", "Example 0.", "Lemma 2.2."])
    assert found(text) == ["Definition 2.1", "Lemma 2.2", "Figure 3", "Theorem 4", "Example 3.1"]


def run_of_a_small_paper(monkeypatch: pytest.MonkeyPatch, one: Row, *arguments: str) -> tuple[str, object]:
    """What a sampled run says, and its status."""
    small = Paper("rec", "A small paper", (Section("Section 1", (one,)),), 0, {"Lemma 1": STATED})
    monkeypatch.setattr(command, "paper", lambda key: small)
    with contextlib.redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit) as ended:
        command.main(["rec", "--quick", *arguments])
    return said.getvalue(), ended.value.code


def test_a_sampled_run_tells_each_item_and_writes_only_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "PAGES", tmp_path / "pages")
    said, status = run_of_a_small_paper(monkeypatch, row())
    assert status == 0 and said.startswith("1 items; this takes about") and not (tmp_path / "pages").exists()
    assert "rec Lemma 1: reproduced; 0.0 s\n  one: published (text) 1, computed 1\n" in said
    run_of_a_small_paper(monkeypatch, row(), "--to", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["numbers"]
    assert numbers_of((tmp_path / "numbers" / "rec.txt").read_text()) == {("Lemma 1", "one"): ("1", "text", "1")}
    (run,) = runs_of((tmp_path / "numbers" / "runs.txt").read_text())
    assert run[:5] == ("rec", "Lemma 1", "reproduced", "1 of 1", "0.0") and date.fromisoformat(run.day)


def test_a_run_of_one_paper_keeps_the_items_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "numbers" / "runs.txt"
    table.parent.mkdir()
    other, old = (
        "| dx | Theorem 4 | erratum | 0 of 0 | 0.1 | 2020-01-01 |\n",
        "| rec | Lemma 9 | gone | 0 of 0 | 0.1 | 2020-01-01 |\n",
    )
    table.write_text(old + other)
    run_of_a_small_paper(monkeypatch, row(), "--to", str(tmp_path))
    first, second = table.read_text().splitlines(keepends=True)
    assert first == other and second.startswith("| rec | Lemma 1 | reproduced | 1 of 1 |")


def test_a_run_with_an_item_that_is_not_as_its_verdict_says_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Numbers(lambda full=False: ({"one": 2.0}, {"one": (1.0, 1.0)}))
    said, status = run_of_a_small_paper(monkeypatch, row(numbers=(other,)))
    assert status == 1 and "NOT AS THE VERDICT SAYS: one is outside its interval" in said and "computed 2; outside" in said


@pytest.mark.heavy
def test_all_numbers_are_computed_in_full(one: Paper) -> None:
    numbers, again = stored(one.key), numbers_of(number_lines(one, full=True))
    assert {line: cells[:2] for line, cells in numbers.items()} == {line: cells[:2] for line, cells in again.items()}
    problems = {row.item: unsatisfied(row, full=True) + [m for n in row.numbers for m in n.missing()] for row in one.rows}
    assert {item: problem for item, problem in problems.items() if problem} == {}
