"""What a release says before it spends, and what is refused because nothing sensible would be spent."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from designer import Problem, Workload, design, load, metrics
from designer.cli import main
from designer.limits import NO_PROTECTION
from designer.publish.content import Evidence
from designer.publish.page import board_page
from designer.relations.records.row_unit import RowUnit

PROBLEM = """title = "Two towns"
[elements]
table = "towns.csv"
names = ["town"]
[workload]
builder = "identity"
[relation]
metric = "METRIC"
epsilon = EPSILON
[design]
family = "laplace"
"""


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def problem(folder: Path, metric: str = "uniform", epsilon: float = 1, more: str = "") -> str:
    (folder / "towns.csv").write_text("town\na\nb\n")
    (folder / "records.csv").write_text("town,household\na,1\nb,1\na,2\n")
    (folder / "counts.csv").write_text("town,count\na,2\nb,1\n")
    (folder / "problem.toml").write_text(PROBLEM.replace("METRIC", metric).replace("EPSILON", str(epsilon)) + more)
    return str(folder / "problem.toml")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(tmp_path)
    assert main(["design", problem(tmp_path), "-o", "spec.json"]) == 0
    capsys.readouterr()
    return "spec.json"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_release_says_what_it_spends_for_whom(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("release", spec, "--table", "records.csv")
    code, _, err = run(capsys, *given)
    assert (code, err) == (0, "Will spend epsilon 1, delta 0, for each record; no ledger is used.\n")
    code, out, err = run(capsys, *given, "--entity", "household", "--rows-per-entity", "5")
    assert code == 0 and err == "Will spend epsilon 5, delta 0, for each household with at most 5 rows; no ledger is used.\n"
    assert "Privacy:     epsilon 5, delta 0" in out
    assert run(capsys, *given, "--quiet")[2] == ""
    run(capsys, "ledger", "create", "l", "--dataset", "towns", "--epsilon", "2", "--allow-unprotected")
    assert "recorded in the ledger l, data set towns." in run(capsys, *given, "--ledger", "l", "--dataset", "towns")[2]


def test_a_dry_run_opens_no_data_and_spends_nothing(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that every reader refuses stand in the place of the records, and the ledger stays as it is."""
    Path("records.csv").write_bytes(b"\x00")
    run(capsys, "ledger", "create", "l", "--dataset", "towns", "--epsilon", "2", "--allow-unprotected")
    ledger = Path("l").read_bytes()
    given = ("release", spec, "--table", "records.csv", "--ledger", "l", "--dataset", "towns", "-o", "r.json", "--dry-run")
    code, out, err = run(capsys, *given)
    assert (code, err) == (0, "") and "Will spend epsilon 1" in out and "nothing was spent" in out
    assert Path("l").read_bytes() == ledger and not Path("r.json").exists()
    assert "Will spend" in json.loads(run(capsys, *given, "--json")[1])["dry_run"][0]
    assert run(capsys, "release", spec, "--table", "records.csv")[0] == 2
    assert (
        run(capsys, "release", spec, "--dry-run")[0] == 2 and run(capsys, "release", spec, "--table", "x", "--dry-run")[0] == 2
    )


@pytest.mark.parametrize(
    ("typed", "more", "code"), [("n\n", [], 2), ("", [], 2), ("y\n", [], 0), ("Yes\n", [], 0), ("", ["--yes"], 0)]
)
def test_a_terminal_is_asked(
    typed: str, more: list[str], code: int, spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    assert main(["release", spec, "--table", "records.csv", "-o", "r.json", *more]) == code
    assert ("Go on? [y/N]" in shown.getvalue()) == (not more) and "Will spend epsilon 1" in shown.getvalue()
    assert Path("r.json").exists() == (code == 0) and ("nothing was spent" in shown.getvalue()) == (code == 2)


def test_a_second_release_of_the_same_data_is_named(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the file that it would replace, where that is a release of the same spec; a ledger knows by itself."""
    given = ("release", spec, "--table", "records.csv", "--force")
    words = "holds a release of this spec"
    for output, file in (("r.json", "r.json"), ("out/", "out/release.json")):
        assert words not in run(capsys, *given, "-o", output)[2]
        assert f"{file} {words}" in run(capsys, *given, "-o", output)[2]
    other = design(Problem(Workload.identity(2), metrics.uniform(2, 2.0)), "laplace").mechanism.save("other.json")
    np.save("counts.npy", np.array([1, 2]))
    assert words not in run(capsys, "release", str(other), "--histogram", "counts.npy", "-o", "r.json", "--force")[2]
    Path("r.json").write_text("{")
    assert words not in run(capsys, *given, "-o", "r.json")[2]


def test_counts_are_no_records(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Judged by the names of the columns; an entity says that each row is a record."""
    code, out, err = run(capsys, "release", spec, "--table", "counts.csv", "-o", "r.json")
    assert (code, out) == (2, "") and "--histogram counts.csv --column count" in err and not Path("r.json").exists()
    assert run(capsys, "release", spec, "--histogram", "counts.csv", "--column", "count")[0] == 0
    Path("counts.csv").write_text("town,count\na,2\n")
    assert run(capsys, "release", spec, "--table", "counts.csv")[0] == 2
    Path("counts.csv").write_text("town,Count,household\na,2,1\n")
    assert run(capsys, "release", spec, "--table", "counts.csv", "--entity", "household", "--rows-per-entity", "1")[0] == 0


def test_no_record_is_refused_where_their_number_is_public(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is reserved in the ledger; where presence is protected, no record is a data set like any other."""
    run(capsys, "ledger", "create", "l", "--dataset", "towns", "--epsilon", "2", "--allow-unprotected")
    ledger = Path("l").read_bytes()
    Path("records.csv").write_text("town\n")
    code, out, err = run(capsys, "release", spec, "--table", "records.csv", "--ledger", "l", "--dataset", "towns")
    assert (code, out) == (2, "") and "no record" in err and "number of records is public" in err
    assert Path("l").read_bytes() == ledger
    assert main(["design", problem(Path(), "add_remove"), "-o", "presence.json"]) == 0
    Path("records.csv").write_text("town\n")
    assert run(capsys, "release", "presence.json", "--table", "records.csv")[0] == 0


def test_budgets_that_protect_nobody_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, made = problem(tmp_path, epsilon=NO_PROTECTION), tmp_path / "s.json"
    code, _, err = run(capsys, "design", path, "-o", str(made))
    assert code == 2 and "1,000" in err and "--allow-vacuous" in err and not made.exists()
    assert run(capsys, "design", path, "-o", str(made), "--allow-vacuous")[0] == 0 and load(made)
    counts = ("--histogram", str(tmp_path / "counts.csv"), "--column", "count")
    assert run(capsys, "release", str(made), *counts)[0] == 2
    assert run(capsys, "release", str(made), *counts, "--allow-vacuous")[0] == 0
    accepted = problem(tmp_path, epsilon=NO_PROTECTION, more="[problem]\nallow_vacuous = true\n")
    assert run(capsys, "design", accepted)[0] == 0
    assert run(capsys, "design", problem(tmp_path, epsilon=NO_PROTECTION - 1))[0] == 0
    aimed = problem(tmp_path, more="[targets]\nstandard_error = 1e-150\n")
    assert run(capsys, "budget", aimed, "--step", "0.1")[0] == 2


def test_budget_names_queries_without_a_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aimed = problem(tmp_path, more="[targets]\nstandard_error = {a = 5}\n")
    code, out, err = run(capsys, "budget", aimed, "--step", "0.1")
    assert (code, out) == (2, "") and "['b']" in err and "--only-targets" in err
    code, out, _ = run(capsys, "budget", aimed, "--step", "0.1", "--only-targets")
    assert code == 0 and "the one target" in out
    marginals = tmp_path / "marginals.toml"
    marginals.write_text(
        'kind = "marginals"\n[domain]\na = ["x", "y"]\nb = ["u", "v"]\n[workload]\ntables = [["a"], ["b"]]\n'
        '[relation]\nmetric = "add_remove"\nmu = 1\n[targets]\nstandard_error = {a = 5}\n'
    )
    code, _, err = run(capsys, "budget", str(marginals))
    assert code == 2 and "['b']" in err and run(capsys, "budget", str(marginals), "--only-targets")[0] == 0


@pytest.mark.parametrize("metric", ["add_remove", "uniform"])
def test_every_command_speaks_of_the_entity_of_the_problem_file(
    metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of each is that of the guarantee of a release: of five rows, and of the noisy number of rows left out."""
    stated = problem(
        tmp_path, metric, more='[records]\nentity = "household"\nrows_per_entity = 5\n[targets]\nstandard_error = 5\n'
    )
    made, folder = str(tmp_path / "s.json"), str(tmp_path)
    assert run(capsys, "design", stated, "-o", made)[0] == 0
    mechanism = load(made)
    budget = mechanism.guarantee_for(RowUnit(entity="household", rows_per_entity=5)).parameters  # type: ignore[attr-defined]
    total = budget["budget_of_an_entity"] + budget.get("epsilon_of_rows_left_out", 0)
    assert total == (5.25 if metric == "add_remove" else 5)
    words = f"epsilon {total:g}, delta 0, at most, where one entity"
    for command in (
        ("show", stated),
        ("compare", stated, "--family", "laplace"),
        ("design", stated),
        ("show", made),
        ("report", made),
    ):
        assert words in run(capsys, *command)[1], command
    assert "One entity: all rows with one value in 'household'" in run(capsys, "report", made)[1]
    assert "where one entity" in run(capsys, "budget", stated, "--step", "0.1")[1]
    run(capsys, "ledger", "create", f"{folder}/l", "--dataset", "towns", "--epsilon", "9", "--allow-unprotected")
    planned = run(capsys, "ledger", "plan", made, "--ledger", f"{folder}/l", "--dataset", "towns")[1]
    assert f"costs:      epsilon {total:g} (pure)" in planned
    page = board_page(Evidence(made=mechanism, spec=Path(made)))
    (promise,) = [line for line in page.headlines if line.question.startswith("What is promised")]
    assert promise.answer == f"Epsilon {total:g}, delta 0" and "one entity" in promise.details
    (gain,) = [line for line in page.headlines if "attacker" in line.question]
    who = "Whether any one household took part, with" if metric == "add_remove" else "What any one household holds in"
    factor = "190.6" if metric == "add_remove" else "148.5"
    assert f"{who} up to 5 of its rows" in gain.details and f"at most a factor of {factor}. Guesses" in gain.details
    rows = ("--table", f"{folder}/records.csv")
    assert f"by at most a factor of {factor}." in run(capsys, "release", made, *rows)[1]
    (whom,) = [line for line in page.headlines if line.question == "About whom?"]
    assert "household" in whom.answer and "at most 5 rows of each" in whom.answer
