"""What goes wrong ends in one sentence and an exit code, never in a traceback, and says nothing of confidential data."""

from __future__ import annotations

import ast
import datetime
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, metrics
from designer.base.version import installed_from
from designer.cli import main
from designer.problem.histogram import UNUSABLE
from designer.relations.records.record_files import open_table
from designer.tables import Count, Groups, TablePlan
from designer.tables.condition import Condition

ROOT = Path(__file__).parents[2]
PROBLEM = '[workload]\nbuilder = "identity"\nsize = 3\n[relation]\nmetric = "uniform"\nepsilon = 1\n'
CANARY = "982451653"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism.save("spec.json")
    TablePlan((Count("n", Groups(["state"], [["DE"], ["MD"]]), variance=2),)).save("plan.json")
    Path("problem.toml").write_text(PROBLEM)
    Path("counts.csv").write_text("count\n5\n1\n0\n")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and message of a command that fails."""
    capsys.readouterr()
    code = main([*arguments, "--quiet"])
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("dp-designer: ") and len(err) < 2000 and err.count("\n") == 1
    return code, err


@pytest.mark.parametrize("option", ["tolerance = 1e-6", "problem = 1", "seconds = 'x'", "none = [1]"])
@pytest.mark.parametrize("family", ["", 'family = "laplace"\n'])
def test_options_that_nothing_takes_are_named(
    option: str, family: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("problem.toml").write_text(PROBLEM + f"[design]\n{family}{option}\n")
    if family and option.startswith("tolerance"):
        pytest.skip("this family has a tolerance")
    code, err = told(capsys, "design", "problem.toml")
    assert code == 2 and option.split()[0] in err


def test_a_header_beyond_the_limits_of_the_reader_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("wide.csv").write_text(f"{'x' * 200_000},count\n{CANARY},1\n2,2\n")
    for column in ([], ["--column", "count"]):
        code, err = told(capsys, "release", "spec.json", "--histogram", "wide.csv", *column)
        assert code == 2 and CANARY not in err
    code, err = told(capsys, "release", "plan.json", "--table", "wide.csv")
    assert code == 2 and "line of column names" in err


DAMAGED: dict[str, bytes] = {
    "empty.parquet": b"",
    "short.parquet": b"PAR1",
    "text.parquet": f"state,n\nDE,{CANARY}\n".encode(),
    "empty.csv": b"",
    "binary.csv": bytes(range(256)),
    "folder/*.parquet": b"",
}


@pytest.mark.parametrize("name", ["none.parquet", "none.csv", "folder.csv", "folder.parquet", "records.txt", *DAMAGED])
def test_tables_that_cannot_be_read_are_refused(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    for directory in ("folder.csv", "folder.parquet"):
        Path(directory).mkdir()
    if name in DAMAGED and "*" not in name:
        Path(name).write_bytes(DAMAGED[name])
    code, err = told(capsys, "release", "plan.json", "--table", name)
    assert code == 2 and name in err and CANARY not in err
    code, err = told(capsys, "release", "spec.json", "--histogram", name, "--column", "n")
    assert code == 2 and CANARY not in err


def test_a_table_damaged_inside_ends_in_the_fixed_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"state": [f"DE{CANARY}{i}" for i in range(2000)]}), "t.parquet", compression="none")
    content = bytearray(Path("t.parquet").read_bytes())
    content[20:4000] = b"\xff" * 3980
    Path("t.parquet").write_bytes(content)
    code, err = told(capsys, "release", "plan.json", "--table", "t.parquet")
    assert code in (2, 5) and CANARY not in err and "DuckDB" not in err and "Error" not in err


@pytest.mark.parametrize("missing", ["ibis", "duckdb"])
def test_missing_extras_are_named(
    missing: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("records.csv").write_text("state\nDE\n")
    monkeypatch.setitem(sys.modules, missing, None)
    code, err = told(capsys, "release", "plan.json", "--table", "records.csv")
    assert code == 2 and f"pip install '{installed_from()}[tables]'" in err


@pytest.mark.parametrize("settings", [{"memory": "x"}, {"threads": -1}, {"threads": "x"}, {"delimiter": "ab\0"}])
def test_settings_of_the_engine_are_checked(settings: dict[str, Any], folder: Path) -> None:
    Path("records.csv").write_text("state\nDE\n")
    with pytest.raises(InvalidProblem):
        open_table("records.csv", **settings)


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("cryptography.exceptions", f'"{installed_from()}[signing]"'),
        ("narwhals", '"narwhals>=2.8,<3"'),
        ("cvxpy", '"cvxpy>=1.6,<2"'),
    ],
)
def test_what_brings_a_missing_module_is_named(
    module: str, package: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that only releases is not told to install everything."""

    def lacking(*_: Any, **__: Any) -> Any:
        raise ModuleNotFoundError("gone", name=module)

    monkeypatch.setattr("designer.problem_file.forms.design", lacking)
    code, err = told(capsys, "design", "problem.toml")
    assert code == 2 and f"pip install {package}" in err and "[all]" not in err


def test_missing_solvers_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("designer.problem_file.forms.design", lambda *_, **__: __import__("no_such_solver"))
    code, err = told(capsys, "design", "problem.toml")
    assert code == 2 and "no_such_solver" in err and f'{installed_from()}[all]"' in err


@pytest.mark.parametrize("error", [ValueError(CANARY), TypeError(CANARY), RuntimeError(CANARY), ZeroDivisionError(CANARY)])
def test_what_nobody_foresaw_is_exit_code_5_and_silent_about_data(
    error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("designer.mechanism.additive.AdditiveMechanism.release", fails)
    monkeypatch.setattr("designer.problem_file.forms.design", fails)
    first = told(capsys, "release", "spec.json", "--histogram", "counts.csv")
    assert first[0] == 5 and CANARY not in first[1] and type(error).__name__ not in first[1]
    assert "nothing was released" in first[1]
    code, err = told(capsys, "design", "problem.toml")
    assert code == 5 and CANARY in err and type(error).__name__ in err


def test_an_interruption_is_one_word(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("designer.files.spec.from_spec", interrupted)
    assert told(capsys, "verify", "spec.json") == (130, "dp-designer: interrupted.\n")


@pytest.mark.parametrize(("closed", "code"), [(">&-", 2), (">&- 2>&-", 2), ("2>&-", 0), (">/dev/full", 11)])
def test_closed_streams_are_no_crash(closed: str, code: int, folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for command in ("verify spec.json", "release spec.json --histogram counts.csv -o new.json"):
        command = f"{sys.executable} -m designer {command} {closed}"
        done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, (command, done.stderr)
        assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert Path("new.json").exists() == (">&-" not in closed.split("2>&-")[0])


DESIGN, RELEASE = "design problem.toml -o NEW", "release spec.json --histogram counts.csv -o NEW"


@pytest.mark.parametrize("command", [DESIGN, RELEASE, "keys new NEW"])
@pytest.mark.parametrize("full", [True, False], ids=["a full disk", "a folder that takes nothing"])
def test_nothing_is_left_half_written(command: str, full: bool, folder: Path) -> None:
    """A process that may write so many bytes a file stands for a full disk; nobody is root in the other folder."""
    if not full and os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    Path("out").mkdir(mode=0o777 if full else 0o555)
    arguments = [*command.replace("NEW", "out/new").split()]
    limited = f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({20 if full else 10**9},) * 2)\n"
    ignore = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    program = f"{limited}{ignore}from designer.cli import main\nsys.exit(main({arguments!r}))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("Will spend ")]
    assert done.returncode == 11 and len(said) == 1 and "cannot be written" in said[0], done.stderr
    assert list(Path("out").iterdir()) == []


def test_a_release_that_nobody_reads_is_no_success(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    codes = {}
    for command in ("show spec.json", "release spec.json --histogram counts.csv"):
        reader, writer = os.pipe()
        os.close(reader)
        ran = [sys.executable, "-m", "designer", *command.split()]
        done = subprocess.run(ran, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
        os.close(writer)
        assert "Traceback" not in done.stderr
        codes[command.split()[0]] = done.returncode
    assert codes == {"show": 0, "release": 11}


SIGNALLING = Decimal("sNaN")
VALUES = [datetime.date(2024, 1, 1), "a", [1], {}, ..., np.array([1, 2]), b"1", 1j]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_records_that_cannot_be_compared_are_refused_with_the_column(value: Any) -> None:
    for op in ("<", "<=", ">", ">="):
        with pytest.raises(InvalidProblem, match="day"):
            Condition("day", op, 1).meets({"day": value})


def test_records_that_can_be_compared_are() -> None:
    given = [1, 1.5, Fraction(3, 2), Decimal("1.5"), np.int64(2), np.float64(1.0), True]
    assert [Condition("n", ">=", 1).meets({"n": value}) for value in given] == [True] * 7
    missing = [None, float("nan"), np.float64("nan"), Decimal("NaN"), SIGNALLING, np.datetime64("NaT")]
    for op, value in (("==", 1), ("!=", 1), ("present", None)):
        assert not any(Condition("n", op, value).meets({"n": absent}) for absent in missing)


def test_conditions_on_columns_of_other_types_are_refused_before_the_engine_sees_them() -> None:
    ibis = pytest.importorskip("ibis")
    columns = {"day": "date", "at": "timestamp", "who": "string", "many": "array<int64>", "n": "decimal(5, 2)"}
    table = ibis.duckdb.connect().create_table("records", schema=ibis.schema(columns))
    for column in ("day", "at", "many"):
        for op in ("<", ">=", "==", "!="):
            with pytest.raises(InvalidProblem, match=column):
                Condition(column, op, 1).expression(table)
    for column in ("day", "at", "many", "n"):
        with pytest.raises(InvalidProblem, match=column):
            Condition(column, "==", "a").expression(table)
    assert Condition("n", ">=", 1).expression(table).type().is_boolean()


def test_texts_meet_conditions_on_numbers_by_what_each_spells() -> None:
    ibis = pytest.importorskip("ibis")
    records = {"who": ["0", "2", "x", None, "1", "1.0"]}
    table = ibis.duckdb.connect().create_table("records", ibis.memtable(records))
    met = {op: table.mutate(met=Condition("who", op, 1).expression(table)).met.to_list() for op in ("<", ">=", "==", "!=")}
    assert met == {
        "<": [True, False, False, False, False, False],
        ">=": [False, True, False, False, True, True],
        "==": [False, False, False, False, True, True],
        "!=": [True, True, False, False, False, False],
    }


def test_no_module_raises_what_main_does_not_know() -> None:
    """Every refusal is one of `designer.base.errors`; a plain ValueError would be taken for a defect of the program."""
    plain = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "designer").rglob("*.py"))
        if "ValueError(" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and getattr(node.exc.func, "id", "") == "ValueError"
    ]
    assert plain == []
    assert UNUSABLE.endswith("nothing was released.")
