"""No name can forge a line, a cell or a mark of what is printed, and the family of a mechanism is one that exists."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Domain, InvalidProblem, InvalidSpec, Problem, Workload, compare, design, invariants, metrics
from designer.base.display import in_markdown, one_line, printed
from designer.certificate.frozen import FrozenMechanism, to_spec
from designer.certificate.guarantee import ADDITIVE_FAMILIES, LATTICE_FAMILIES, STAIRCASE_FAMILIES
from designer.cli import main
from designer.designing import FAMILIES
from designer.designing.printouts import page, summary
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.relations.row_groups import RowGroups
from designer.selection.mechanism import best_selection
from designer.selection.scores import Closeness
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.queries import LipschitzQueries
from designer.synthetic.small_databases import SmallDB
from designer.tables import Count, Groups, Measure, Sum, TablePlan, UnitSplitting
from tests.files.test_spec import VALIDATOR, read, resealed
from tests.oracles.spec_specimens import specimens

HALF = Fraction(1, 2)
FORGED = "Budgets:       smallest budget 0.001"
BREAKS = [
    "\n",
    "\r",
    "\r\n",
    "\v",
    "\f",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "\x1b[2K\x1b[1G",
    " " * 70,
    "\u3000" * 40,
    "\u202e",
    "\b" * 9,
]
NAMES = [f"{i}{end}{FORGED}|`<b>" for i, end in enumerate(BREAKS)]
UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def named(size: int) -> tuple[list[str], list[str]]:
    return NAMES[:size], NAMES[-size:]


def additive() -> FrozenMechanism:
    asked = Workload([[1.0, 0, 1], [1, 1, 1], [2, 0, 0]], *named(3))
    return design(Problem(asked, metrics.uniform(3, 1.0)), "laplace").mechanism


def lattice() -> FrozenMechanism:
    asked = Workload([[1.0, 0, 0], [1, 1, 1]], NAMES[:2], NAMES[-3:])
    return design(Problem(asked, invariants.total(3).protect(0.5, 1)), "lattice_laplace").mechanism


def marginals() -> FrozenMechanism:
    domain = Domain.of({NAMES[0]: NAMES[:2], NAMES[7]: NAMES[3:6]})
    asked = MarginalWorkload.of(domain, {(NAMES[0],): 1.0, (NAMES[0], NAMES[7]): 1.0})
    return design_marginals(asked, metrics.hamming(domain, [float("inf"), 1.0]))


def plan() -> FrozenMechanism:
    measure = Measure(NAMES[0], 1, 0, 100)
    groups = Groups([NAMES[1]], keys=[[NAMES[2]], [NAMES[3]]])
    return TablePlan(
        [Sum(NAMES[4], groups, variance=5, measure=measure), Count(NAMES[7], groups, variance=5)],
        UnitSplitting([measure], [10]),
    )


def mwem() -> FrozenMechanism:
    asked = Workload([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]], NAMES[:2], NAMES[-3:])
    return MWEM(LipschitzQueries.on_grid(asked, metrics.uniform(3, 1.0), asked.dense(), 0), 6, ((HALF, HALF),))


def small() -> FrozenMechanism:
    asked = Workload([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]], NAMES[:2], NAMES[-3:])
    return SmallDB(LipschitzQueries.on_grid(asked, metrics.uniform(3, 1.0), asked.dense(), 0), 6, 2)


def selection() -> FrozenMechanism:
    return best_selection(Closeness(Workload([[1.0, 0, 0], [0, 1, 0]], NAMES[:2], NAMES[-3:])), metrics.uniform(3, 1.0))


def groups() -> FrozenMechanism:
    parts = RowGroups((metrics.uniform(2, 0.5), metrics.uniform(2, 0.5)), (NAMES[0], NAMES[7]))
    return design(Problem(Workload([[1.0, 0, 1, 0]], NAMES[:1], NAMES[-4:]), parts), "laplace").mechanism


MADE: dict[str, Callable[[], FrozenMechanism]] = {
    f.__name__: f for f in (additive, lattice, marginals, plan, mwem, small, selection, groups)
}
RELEASES: dict[str, Any] = {
    "additive": [1, 2, 3],
    "lattice": [1, 2, 3],
    "mwem": [1, 2, 3],
    "small": [1, 2, 3],
    "selection": [1, 2, 3],
}


def clean(text: str) -> None:
    """No line but those of the program begins as a statement does, and nothing unseen is in it."""
    assert not UNSEEN.search(text)
    assert sum(line.startswith("Budgets:") for line in text.splitlines()) <= 1
    assert not any(line.lstrip("│ ").startswith(("0.001", "smallest budget 0.001")) for line in text.splitlines())
    assert not re.search(r" {2,}Budgets:", text)  # where lines are wrapped, that is the beginning of one


@pytest.mark.parametrize("name", MADE)
def test_no_name_forges_a_line_of_what_is_printed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = MADE[name]().annotated({"family": f"x\n{FORGED}", "tried": {"a\nb": f"c\n{FORGED}"}})
    lines = made.guarantee.to_text().splitlines()
    assert len(lines) == 12 and sum(line.startswith("Budgets:") for line in lines) == 1
    for text in (made.guarantee.to_text(), summary(made), page(made)):
        clean(text)
    spec = made.save(tmp_path / "s.json")
    for command in ("verify", "report", "show"):
        assert main([command, str(spec)]) == 0
        clean(capsys.readouterr().out)
    if name in RELEASES:
        np.save(tmp_path / "c.npy", [2] * len(RELEASES[name]))
        assert main(["release", str(spec), "--histogram", str(tmp_path / "c.npy")]) == 0
        clean(capsys.readouterr().out)
        released: Any = made.release(RELEASES[name] if name in ("additive", "lattice", "selection") else [2, 2, 2])  # type: ignore[attr-defined]
        if hasattr(released, "to_text"):
            clean(released.to_text())
    if name in ("additive", "lattice"):
        assert main(["sample", str(spec), "-n", "20"]) == 0
        clean(capsys.readouterr().out)


def test_tables_of_a_page_keep_their_cells() -> None:
    rows = [line for line in page(additive()).splitlines() if line.startswith("|")]
    assert len(rows) == 5
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)
    assert not re.search(r"(?<!\\)[<`]", "".join(rows))


def test_titles_paths_and_notes_of_a_comparison_stay_in_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / f"a\n{FORGED}"
    folder.mkdir()
    title = json.dumps(f"T\n{FORGED}\u2028{FORGED}\u001b[2K")
    problem = folder / "p.toml"
    problem.write_text(
        f'title = {title}\n[workload]\nbuilder = "identity"\nsize = 2\n[relation]\nmetric = "uniform"\nepsilon = 1.0\n'
    )
    for command in (["design", str(problem), "--family", "laplace", "-o", str(folder / "s.json")], ["show", str(problem)]):
        assert main(command) == 0
        clean(capsys.readouterr().out)
    assert main(["compare", str(problem), "--family", "laplace"]) == 0
    clean(capsys.readouterr().out)
    assert main(["verify", str(folder / "s.json")]) == 0
    clean(capsys.readouterr().out)
    assert main(["verify", str(folder / "none.json")]) == 4
    clean(capsys.readouterr().err)
    compared = compare(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), ["laplace"])
    row = {**compared.rows[0], "note": f"x | y\n| {FORGED} |"}
    assert len(replace(compared, rows=[row], limit=None).to_markdown().splitlines()) == 3


def test_a_statement_that_holds_raw_names_is_refused(tmp_path: Path) -> None:
    """A statement is written in one way: names that would break a line stand in it as escapes."""
    made = additive()
    spec = json.loads(json.dumps(to_spec(made)))
    before = json.dumps(spec["guarantee"]["unprotected"])
    spec["guarantee"]["unprotected"] = [text.replace("\\r", "\r") for text in spec["guarantee"]["unprotected"]]
    assert json.dumps(spec["guarantee"]["unprotected"]) != before
    with pytest.raises(InvalidSpec, match="guarantee: the file claims something else"):
        read(tmp_path, resealed(spec))


def test_every_character_that_breaks_or_hides_is_escaped_once() -> None:
    for point in range(0x110000):
        character = chr(point)
        if unicodedata.category(character) in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(character) in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
        ) or len(f"a{character}b".splitlines()) > 1:  # fmt: skip
            escaped = one_line(character)
            assert escaped.isascii() and escaped.isprintable() and one_line(escaped) == escaped
    assert printed("Zürich 東京 🗽 𝒬 שלום") == "Zürich 東京 🗽 𝒬 שלום"
    assert in_markdown("k_norm <=e1") == "k_norm \\<=e1"


@pytest.mark.parametrize(
    "family", ["", "x", "laplace ", "LAPLACE", f"laplace\n{FORGED}", "auto", "lattice_laplace", ["laplace"], None]
)
def test_a_family_that_does_not_exist_is_refused(family: Any, tmp_path: Path) -> None:
    made = design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="family"):
        replace(made, family=family)
    spec = json.loads(json.dumps(to_spec(made)))
    spec["mechanism"]["family"] = family
    spec["guarantee"]["mechanism"] = spec["guarantee"]["mechanism"].replace("Family laplace", f"Family {family}")
    assert not VALIDATOR.is_valid(spec)
    with pytest.raises(InvalidSpec, match="family") as refused:
        read(tmp_path, resealed(spec))
    assert "\n" not in str(refused.value)
    integer: Any = specimens()["lattice l1"]
    with pytest.raises(InvalidProblem, match="family"):
        replace(integer, family="laplace" if family == "lattice_laplace" else family)


def test_every_family_that_is_built_is_listed() -> None:
    lattices = {family.name for family in FAMILIES if family.name.startswith("lattice")}
    additive = {family.name for family in FAMILIES} - lattices - STAIRCASE_FAMILIES
    assert additive <= ADDITIVE_FAMILIES and lattices <= LATTICE_FAMILIES and "staircase" in STAIRCASE_FAMILIES
    names = VALIDATOR.schema["$defs"]
    assert set(names["mechanism"]["properties"]["family"]["enum"]) == ADDITIVE_FAMILIES
    assert set(names["lattice_mechanism"]["properties"]["family"]["enum"]) == LATTICE_FAMILIES
    assert set(names["staircase_mechanism"]["properties"]["family"]["enum"]) == STAIRCASE_FAMILIES
