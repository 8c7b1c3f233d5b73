"""`solver=` in Python, in problem files and on the command line: any solver of CVXPY, repaired, certified and on record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, load, metrics
from designer.base.lazy_imports import at_address
from designer.cli import main
from designer.designing import FAMILIES
from designer.designing.printouts import design_summary

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
PROGRAMS = {family.name: at_address(family.program) for family in FAMILIES if family.program}
PLACES = [[0.0, 1.0], [2.0, 0.0], [1.0, 5.0]]


def prefixes(family: str = "laplace") -> Problem:
    """Those of a biased family are multiples of nothing: on whole numbers its own solver has unbiased noise, too."""
    known = next(one for one in FAMILIES if one.name == family)
    sizes = np.sqrt([2, 3, 5]) if known.biased else np.ones(3)
    return Problem(Workload(Workload.prefix(3).dense() * sizes), metrics.euclidean(PLACES, 0.5), known.notion, records=100)


def test_the_families_that_say_so_are_those_that_have_a_program() -> None:
    stated = {family.name: family.notion for family in FAMILIES if family.program}
    assert stated == {name: program.notion for name, program in PROGRAMS.items()}
    assert all(name.startswith(program.title) for name, program in PROGRAMS.items())


@pytest.mark.parametrize(
    ("family", "solver"),
    [*((family, "CLARABEL") for family in PROGRAMS), ("laplace", "SCS"), ("ellipsoid", "SCS"), ("gaussian", "SCS")],
)
def test_any_solver_gives_a_certified_design_that_says_how_far_it_was_off(family: str, solver: str, tmp_path: Path) -> None:
    own, made = (design(prefixes(family), family, solver=chosen) for chosen in ("auto", solver.lower()))
    notes = made.mechanism.provenance
    assert made.privacy.holds and made.mechanism.family == family and "solver" not in own.mechanism.provenance
    assert notes["solver"] == solver and notes["raw_violation"] >= 0 and notes["repaired_loss"] == made.loss
    if family == "laplace_joint":  # several queries: both are descents to a local optimum
        assert made.loss <= 1.02 * own.loss
    else:
        assert made.loss == pytest.approx(own.loss, rel=1e-6 if solver == "CLARABEL" else 1e-3)
    assert f"Solver:      {solver}, " in design_summary("title", made)
    loaded = load(made.mechanism.save(tmp_path / "spec.json"))
    assert loaded.fingerprint == made.mechanism.fingerprint and loaded.provenance["solver"] == solver


def test_a_sloppy_answer_is_repaired_and_that_is_on_record() -> None:
    made = design(prefixes(), "laplace", solver="SCS", solver_options={"eps_abs": 1e-2, "eps_rel": 1e-2})
    worst = made.privacy.worst_ratio
    assert made.mechanism.provenance["raw_violation"] > 1e-5 and worst is not None and 0.999999 < worst <= 1
    assert made.mechanism.provenance["options"] == {"eps_abs": 1e-2, "eps_rel": 1e-2}
    assert "broke a budget by" in design_summary("title", made)


@pytest.mark.parametrize("asked", ["gaussian", pytest.param("laplace", marks=pytest.mark.heavy)])
def test_auto_with_a_solver_takes_the_best_family_that_has_a_program(asked: str) -> None:
    problem = prefixes(asked)
    made = design(problem, solver="CLARABEL")
    tried = made.mechanism.provenance["tried"]
    stated = {name for name, words in tried.items() if not words.startswith("left out: no program")}
    own = {name for name, program in PROGRAMS.items() if program.notion == problem.notion}
    assert stated == own | {name for name, program in PROGRAMS.items() if program.notion == "pure"}
    assert made.loss == pytest.approx(min(design(problem, name).loss for name in own), rel=1e-6)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no program": ("k_norm", {"solver": "SCS"}, r"no program states family 'k_norm' as a whole. .*'laplace'.*'ellipsoid'"),
    "unknown solver": ("laplace", {"solver": "MOSEC"}, r"'MOSEC' is not an installed solver of CVXPY; use one of .*'CLARABEL'"),
    "unknown solver of auto": ("auto", {"solver": "MOSEC"}, "is not an installed solver"),
    "options of the own solver": ("laplace", {"solver": "SCS", "tolerance": 1e-3}, r"\['tolerance'\] are of the family's own"),
    "settings without a solver": ("laplace", {"solver_options": {"eps": 1}}, "solver_options: belong to a solver of CVXPY"),
    "settings of no kind": ("laplace", {"solver": "SCS", "solver_options": 3}, "solver_options: 3 is no mapping"),
    "unknown setting": ("laplace", {"solver": "SCS", "solver_options": {"zeal": 1}}, "SCS does not take {'zeal': 1}"),
    "no text": ("laplace", {"solver": 7}, "solver: 7 is no solver"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_together_is_refused(name: str) -> None:
    family, options, text = REFUSED[name]
    with pytest.raises(InvalidProblem, match=text):
        design(prefixes(), family, **options)


def test_a_solver_that_cannot_take_the_program_is_refused_with_those_that_can() -> None:
    with pytest.raises(DesignFailed, match=r"OSQP cannot take a program of this kind.*CLARABEL"):
        design(prefixes(), "laplace", solver="OSQP")


def test_the_own_solver_loads_no_cvxpy() -> None:
    code = (
        "import sys; from designer import Problem, Workload, design, metrics; "
        "design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), 'laplace', "
        "solver='auto'); print({'cvxpy', 'designer.programs'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


FILE = '[domain]\nvalue = 4\n[workload]\nbuilder = "prefix"\nsize = 4\n[relation]\nmetric = "uniform"\nepsilon = 1\n[design]\n'


def designed(tmp_path: Path, capsys: pytest.CaptureFixture[str], section: str, *flags: str) -> dict[str, Any]:
    (tmp_path / "problem.toml").write_text(FILE + section)
    code = main(["design", str(tmp_path / "problem.toml"), "--json", *flags])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    notes: dict[str, Any] = json.loads(captured.out)["provenance"]
    return notes


def test_problem_files_and_the_command_line_name_a_solver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    section = 'family = "laplace"\nsolver = "SCS"\nsolver_options = {eps_abs = 1e-3}\n'
    assert designed(tmp_path, capsys, section)["options"] == {"eps_abs": 1e-3}
    assert designed(tmp_path, capsys, section, "--solver", "clarabel")["solver"] == "CLARABEL"
    assert "solver" not in designed(tmp_path, capsys, section, "--solver", "auto")
    assert "solver" not in designed(tmp_path, capsys, section, "--family", "ellipsoid")
    more = designed(tmp_path, capsys, section, "--solver-option", "max_iters=5000", "--solver-option", "verbose=false")
    assert more["options"] == {"eps_abs": 1e-3, "max_iters": 5000, "verbose": False}
    assert main(["design", str(tmp_path / "problem.toml"), "--family", "k_norm", "--solver", "SCS"]) == 2
    assert "no program states family 'k_norm'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["design", str(tmp_path / "problem.toml"), "--solver-option", "eps"])
