"""The command line: every command on good and bad input, exit codes, JSON, and silence about true values."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Problem, Workload, datasets, design, load, metrics
from designer.certificate.frozen import seal
from designer.cli import main
from designer.domains.marginals_plan import design_marginals
from designer.problem.histogram import UNUSABLE
from designer.selection.mechanism import best_selection

PROBLEM = """
title = "Four towns"
[elements]
table = "towns.csv"
names = ["name"]
[workload]
columns = ["height", "north"]
[relation]
metric = "euclidean"
points = ["x", "y"]
per_unit = 0.1
[design]
family = "laplace"
"""
TOWNS = "name,height,north,x,y\nA,10,1,0,0\nB,20,1,3,0\nC,35,0,0,4\nD,50,0,9,9\n"
# Large primes: none of their digits come out of anything else.
CANARIES = [982451653, 961748941, 941083981, 920419823]


@pytest.fixture(scope="module")
def designed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The spec of the problem, designed once for all tests of this file."""
    here = tmp_path_factory.mktemp("designed")
    (here / "towns.csv").write_text(TOWNS)
    (here / "problem.toml").write_text(PROBLEM)
    assert main(["design", str(here / "problem.toml"), "-o", str(here / "spec.json")]) == 0
    return (here / "spec.json").read_text()


@pytest.fixture
def folder(tmp_path: Path, designed: str) -> Path:
    (tmp_path / "towns.csv").write_text(TOWNS)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    (tmp_path / "counts.csv").write_text("count\n" + "\n".join(map(str, CANARIES)) + "\n")
    (tmp_path / "table.csv").write_text(
        "name,count\n" + "\n".join(f"{n},{c}" for n, c in zip("ABCD", CANARIES, strict=True)) + "\n"
    )
    np.save(tmp_path / "counts.npy", np.array(CANARIES))
    (tmp_path / "binary.json").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "folder").mkdir()
    (tmp_path / "spec.json").write_text(designed)
    return tmp_path


EXAMPLES = Path(__file__).parents[2] / "examples"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of one command."""
    try:
        code = main([str(a) for a in arguments])
    except SystemExit as end:  # argparse
        code = int(end.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def commands(file: Path, folder: Path) -> list[list[object]]:
    return [
        ["design", file],
        ["compare", file],
        ["release", file, "--histogram", folder / "table.csv", "--column", "count", "--quiet"],
        ["sample", file, "-n", "10"],
        ["verify", file],
        ["report", file],
        ["show", file],
    ]


def test_every_command_works_and_says_something(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem, spec = folder / "problem.toml", folder / "spec.json"
    expected = {
        "design": (problem, "Certificate: holds"),
        "compare": (problem, "uniform_budget"),
        "release": (spec, "Noisy answers"),
        "sample": (spec, "simulation, not private"),
        "verify": (spec, "holds"),
        "report": (spec, "## Privacy certificate"),
        "show": (spec, "Fingerprint"),
    }
    for arguments in commands(problem, folder):
        name = str(arguments[0])
        arguments[1], text = expected[name]
        if name == "compare":
            arguments += ["--family", "laplace", "--family", "uniform_budget"]
        code, out, err = run(capsys, *arguments)
        assert (code, err) == (0, "")
        assert text in out
        assert "np." not in out
        code, out, err = run(capsys, *arguments, "--json")
        assert (code, err) == (0, "")
        assert isinstance(json.loads(out), dict)
    assert run(capsys, "show", problem)[0] == 0


@pytest.mark.nightly
def test_json_is_complete(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def data(*arguments: object) -> dict[str, Any]:
        code, out, _ = run(capsys, *arguments, "--json")
        assert code == 0
        return json.loads(out)

    spec, problem = folder / "spec.json", folder / "problem.toml"
    saved = json.loads(spec.read_text())
    assert data("show", spec) == saved
    designed = data("design", problem)
    assert designed == saved
    released = data("release", spec, "--histogram", folder / "table.csv", "--column", "count")
    assert {"answers", "standard_errors", "published", "time", "fingerprint", "guarantee", "seal"} <= set(released)
    assert list(released["answers"]) == ["height", "north"]
    assert released["fingerprint"] == saved["fingerprint"]
    assert released["guarantee"] == saved["guarantee"]
    verified = data("verify", spec)
    (who,) = verified.pop("verified_by")
    assert who.startswith("this program (dp-designer ")
    assert verified == {**saved["certificate"], "fingerprint": saved["fingerprint"]} and verified["holds"]
    compared = data("compare", problem, "--effort", "quick")
    automatic = data("design", problem, "--family", "auto", "--effort", "quick")
    losses = {row["family"]: row["loss"] for row in compared["rows"] if row["loss"] is not None}
    assert 0 < compared["limit"]["value"] <= min(losses.values()) and compared["limit"]["reason"].startswith("T")
    tried = automatic["provenance"]["tried"]
    reached = {name: float(text.split(" ")[1]) for name, text in tried.items() if text.startswith("loss ")}
    assert automatic["mechanism"]["family"] == min(reached, key=lambda name: reached[name]).split(",")[0]
    assert set(tried) <= {row["family"] for row in compared["rows"]}
    assert {row["family"] for row in compared["rows"]} >= {
        "laplace",
        "strategy_1",
        "strategy_2",
        "strategy_3",
        "uniform_budget",
    }
    scales = ("laplace", "strategy_1", "strategy_2", "strategy_3", "uniform_budget")
    best = min(row["squared"] for row in compared["rows"] if row["family"] in scales)
    assert next(row for row in compared["rows"] if row["family"] == "laplace")["squared"] == best
    assert data("report", spec)["markdown"] == run(capsys, "report", spec)[1].removesuffix("\n")
    sampled = data("sample", spec, "-n", 100, "--seed", 1)
    assert set(sampled) == {"stamp", "expected", "drawn", "queries"}
    shown = data("show", problem)
    assert (shown["title"], shown["queries"], shown["elements"], shown["family"]) == ("Four towns", 2, 4, "laplace")
    problem.write_text(PROBLEM.partition("[design]")[0])
    assert data("show", problem)["family"] == "auto"


def test_show_report_and_seeded_samples_repeat(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = folder / "spec.json"
    for arguments in (
        ["show", spec],
        ["report", spec],
        ["verify", spec],
        ["sample", spec, "--seed", 5, "-o", folder / "draws.npy", "--force"],
    ):
        assert run(capsys, *arguments) == run(capsys, *arguments)
    first = np.load(folder / "draws.npy")
    run(capsys, "sample", spec, "--seed", 5, "-o", folder / "more.npy")
    assert first.tolist() == np.load(folder / "more.npy").tolist()
    assert run(capsys, "sample", spec)[1] != run(capsys, "sample", spec)[1]
    assert run(capsys, "report", spec, "-o", folder / "page.md")[0] == 0
    assert (folder / "page.md").read_text() + "\n" == run(capsys, "report", spec)[1]


@pytest.mark.parametrize(
    "name", ["none.json", "folder", "binary.json", "binary.toml", "empty", "list.json", "towns.csv", "counts.npy"]
)
def test_wrong_files_are_refused_by_every_command(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in commands(folder / name, folder):
        code, out, err = run(capsys, *arguments)
        other = name.endswith((".csv", ".npy")) or (arguments[0] == "show" and name.endswith(".toml"))  # files of other kinds
        assert code == (2 if arguments[0] in ("design", "compare") or other else 4), arguments
        assert out == ""
        said = [line for line in err.splitlines() if not line.startswith("Will spend ")]
        assert said[0].startswith("dp-designer: ")
        assert name in err or arguments[0] in ("release", "verify")
        assert "Traceback" not in err
        assert len(said) <= 2


def unusable(path: Path) -> str:
    """The one text for counts that cannot be used, with the name of their file."""
    return f"dp-designer: {path}: {UNUSABLE.removeprefix('histogram: ')}\n"


def test_specs_and_problems_are_not_interchangeable(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("design", "compare"):
        code, _, err = run(capsys, command, folder / "spec.json")
        assert (code, "is a spec, not a problem file (TOML)" in err) == (2, True)
    for command in ("verify", "report", "sample"):
        code, _, err = run(capsys, command, folder / "problem.toml")
        assert (code, "not a spec or a release (JSON)" in err) == (2, True)


def altered(folder: Path, resealed: bool) -> Path:
    spec = json.loads((folder / "spec.json").read_text())
    spec["mechanism"]["norm"]["map"] = [w * 2 for w in spec["mechanism"]["norm"]["map"]]
    path = folder / "altered.json"
    path.write_text(json.dumps({**spec, "seal": seal(spec)} if resealed else spec))
    return path


@pytest.mark.parametrize("resealed", [False, True])
def test_an_altered_spec_is_exit_code_4(resealed: bool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = altered(folder, resealed)
    for arguments in commands(path, folder)[2:]:
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (4, "")
        assert ("spends its budget" if resealed else "seal") in err


def test_no_mechanism_is_exit_code_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "towns.csv").write_text(TOWNS.replace("B,20,1,3,0", "B,20,1,0,0"))  # A and B at one place, of different height
    code, out, err = run(capsys, "design", folder / "problem.toml", "-o", folder / "x.json")
    assert (code, out) == (3, "")
    assert "budget 0" in err
    assert not (folder / "x.json").exists()
    code, out, _ = run(capsys, "compare", folder / "problem.toml")
    assert code == 0 and out.splitlines()[3] == "No family has a mechanism for this problem."
    assert out.count("budget 0") == 1  # one reason, said once
    code, out, _ = run(capsys, "compare", folder / "problem.toml", "--markdown")
    assert code == 0
    assert (
        out.count("budget 0") == out.count("\n| ") - 4
    )  # every row but the head and two biased families, which miss the records first
    (folder / "towns.csv").write_text(TOWNS)
    assert run(capsys, "design", folder / "problem.toml", "--family", "gaussian")[0] == 3


BAD_ARGUMENTS: list[tuple[list[str], int, str]] = [
    ([], 2, "usage"),
    (["destroy", "x"], 2, "invalid choice"),
    (["design"], 2, "required"),
    (["release", "spec.json"], 2, "--histogram"),
    (["design", "problem.toml", "--family", "magic"], 2, "family: 'magic'"),
    (["compare", "problem.toml", "--family", "magic"], 2, "family: 'magic'"),
    (["compare", "problem.toml", "--family", "laplace", "--plot", "picture.xyz"], 2, "picture.xyz"),
    (["compare", "problem.toml", "--family", "laplace", "--plot", "none/picture.png"], 2, "none"),
    (["design", "problem.toml", "-o", "none/spec.json"], 2, "is not a folder"),
    (["design", "problem.toml", "-o", "folder"], 2, "folder"),
    (["report", "spec.json", "-o", "none/page.md"], 2, "is not a folder"),
    (["sample", "spec.json", "-n", "0"], 2, "size: 0"),
    (["sample", "spec.json", "-n", "-5"], 2, "size: -5"),
    (["sample", "spec.json", "-n", "x"], 2, "invalid int"),
    (["sample", "spec.json", "-n", "99999999999999"], 2, "memory"),
    (["sample", "spec.json", "--seed", "-1"], 2, "seed: -1"),
    (["sample", "spec.json", "-o", "none/draws.npy"], 2, "none"),
    (["release", "spec.json", "--histogram", "none.csv"], 2, "none.csv"),
    (["release", "spec.json", "--histogram", "folder"], 2, "folder"),
    (["release", "spec.json", "--histogram", "table.csv"], 2, "--column"),
    (["release", "spec.json", "--histogram", "table.csv", "--column", "nothing"], 2, "no column 'nothing'"),
    (["release", "spec.json", "--histogram", "table.csv", "--column", "name"], 2, "must hold one nonnegative"),
    (["release", "spec.json", "--histogram", "problem.toml"], 2, "problem.toml"),
    (["release", "spec.json", "--histogram", "counts.npy", "-o", "none/release.json"], 2, "is not a folder"),
    (["release", "spec.json", "--histogram", "counts.csv"], 2, "name their elements in columns ['name']"),
    (["release", "spec.json", "--histogram", "none.npy"], 2, "no such file"),
    (["release", "spec.json", "--table", "none.csv"], 2, "no such file"),
    (["release", "spec.json", "--histogram", "table.csv", "--column", "count", "--delimiter", ";;"], 2, "delimiter: ';;'"),
    (["release", "spec.json", "--table", "table.csv", "--decimal", "x"], 2, "decimal: 'x'"),
    (["release", "spec.json", "--table", "table.csv", "--thousands", "."], 2, "thousands: '.'"),
    (["release", "spec.json", "--table", "none.parquet"], 2, "no such file"),
    (["release", "spec.json", "--table", "table.csv", "--histogram", "table.csv"], 2, "not from both"),
]


@pytest.mark.parametrize(("arguments", "code", "text"), BAD_ARGUMENTS)
def test_bad_arguments_are_answered(
    arguments: list[str],
    code: int,
    text: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    found, out, err = run(capsys, *arguments)
    assert found == code
    assert text in err
    assert out == ""
    assert "Traceback" not in err
    assert not any(str(canary) in err for canary in CANARIES)


@pytest.mark.parametrize("source", [["table.csv", "--column", "count"], ["counts.npy"]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_release_shows_and_saves_no_true_value(
    source: list[str], form: list[str], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    # Noise of 10^9 and more in whole numbers is 0, and shows the truth by chance, once in 10^8 releases.
    (folder / "problem.toml").write_text(PROBLEM.replace("0.1", "1e-9"))
    assert run(capsys, "design", "problem.toml", "-o", "spec.json", "--force")[0] == 0
    made = load("spec.json")
    truth = [str(v) for v in (made.workload.dense() @ np.array(CANARIES)).tolist()]
    code, out, err = run(capsys, "release", "spec.json", "--histogram", *source, "-o", "release.json", *form)
    assert code == 0
    for text in (out, err, (folder / "release.json").read_text(), run(capsys, "report", "spec.json")[1]):
        for canary in [*map(str, CANARIES), *truth]:
            assert not re.search(rf"(?<![\d.]){re.escape(canary)}(?!\d)", text)
    saved = json.loads((folder / "release.json").read_text())
    for answer, true, deviation in zip(saved["answers"].values(), truth, np.sqrt(made.query_variances()), strict=True):
        assert 0 < abs(answer - float(true)) < 60 * deviation and deviation > 1e9


BAD_COUNTS = {
    "negative": f"count\n{CANARIES[0]}\n-{CANARIES[1]}\n1\n2\n",
    "not a number": f"count\n{CANARIES[0]}\nx{CANARIES[1]}\n1\n2\n",
    "nan": f"count\n{CANARIES[0]}\nnan\n1\n2\n",
    "infinite": f"count\n{CANARIES[0]}\ninf\n1\n2\n",
    "empty cell": f'count\n{CANARIES[0]}\n""\n1\n2\n',
    "fraction": f"count\n{CANARIES[0]}\n{CANARIES[1]}.5\n1\n2\n",
    "huge": f"count\n{CANARIES[0]}\n{2**61 - 1}\n1\n2\n",
    "beyond floats": f"count\n{CANARIES[0]}\n1e999\n1\n2\n",
    "arabic digits": f"count\n{CANARIES[0]}\n١٢٣\n1\n2\n",
    "grouped digits": f"count\n{CANARIES[0]}\n7_654_321\n1\n2\n",
    "grouped by commas": f'count\n{CANARIES[0]}\n"7,654,321"\n1\n2\n',
    "minus zero": f"count\n{CANARIES[0]}\n-0\n1\n2\n",
    "minus zero point": f"count\n{CANARIES[0]}\n-0.0\n1\n2\n",
    "ragged": f"count\n{CANARIES[0]}\n{CANARIES[1]},3\n1\n2\n",
    "zero byte": f"count\n{CANARIES[0]}\n\0{CANARIES[1]}\n1\n2\n",
    "not UTF-8": f"count\n{CANARIES[0]}\n\udcff{CANARIES[1]}\n1\n2\n",
}


@pytest.mark.parametrize("column", [[], ["--column", "count"]])
@pytest.mark.parametrize("name", BAD_COUNTS)
def test_unusable_counts_give_one_text(name: str, column: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a table that names its elements, and in a column without names for elements without names."""
    path, spec, text = folder / "bad.csv", folder / "spec.json", BAD_COUNTS[name]
    if column:
        lines = zip(["name", *"ABCD"], text.splitlines(), strict=True)
        text = "".join(f"{element},{line}\n" for element, line in lines)
    else:
        spec = design(Problem(Workload.prefix(4), metrics.uniform(4, 1.0)), "laplace").mechanism.save(folder / "plain.json")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    code, out, err = run(capsys, "release", spec, "--histogram", path, *column, "--quiet")
    assert (code, out, err) == (2, "", unusable(path))


def test_unusable_arrays_give_the_same_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "bad.npy"
    release = ("release", folder / "spec.json", "--histogram", path, "--quiet")
    for array in (
        np.array(["1"] * 4),
        np.array([1j] * 4),
        np.array([{}] * 4, dtype=object),
        np.array([-1, 0, 0, 0]),
        np.full(4, np.nan),
    ):
        np.save(path, array, allow_pickle=True)
        assert run(capsys, *release) == (2, "", unusable(path))
    path.write_bytes(b"\x93NUMPY")
    assert run(capsys, *release) == (2, "", unusable(path))


def test_names_from_files_cannot_write_to_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "towns.csv").write_text(TOWNS.replace("height", "\x1b[2Jheight").replace("A,", "\x07A\u202e,"), encoding="utf-8")
    (folder / "problem.toml").write_text(PROBLEM.replace('"height"', '"\\u001b[2Jheight"'))
    assert run(capsys, "design", folder / "problem.toml", "-o", folder / "odd.json")[0] == 0
    for arguments in (
        ["show", folder / "odd.json"],
        ["report", folder / "odd.json"],
        ["release", folder / "odd.json", "--histogram", folder / "counts.npy"],
    ):
        code, out, _ = run(capsys, *arguments)
        assert code == 0
        assert not set(out) & {"\x1b", "\x07", "\u202e"}
        assert "\\x1b[2Jheight" in out.replace("\\\\", "\\").replace("\\[", "[")  # Markdown escapes both marks


@pytest.mark.nightly
def test_output_survives_an_encoding_without_the_names(folder: Path) -> None:
    (folder / "towns.csv").write_text(TOWNS.replace("A,", "Zürich東,"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[2])}
    for command in (
        ["design", "problem.toml"],
        ["verify", "none-東.json"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "designer", *command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (4 if "none-東.json" in command else 0)
        assert "Traceback" not in done.stderr


def test_a_reader_that_has_enough_is_no_error(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = f"{sys.executable} -m designer show spec.json --json | head -c 10"
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (len(done.stdout), done.stderr) == (10, "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--version")
    assert (code, out.startswith("dp-designer 0.")) == (0, True)


def test_a_selection_is_verified_shown_reported_and_released(tmp_path, capsys):
    from designer import Workload, metrics
    from designer.selection.scores import Linear

    made = best_selection(Linear(Workload(np.eye(3), queries=["a", "b", "c"])), metrics.uniform(3, 1.0))
    spec, counts = made.save(tmp_path / "choice.json"), tmp_path / "counts.csv"
    counts.write_text("count\n5\n1\n0\n")
    for command in (["verify"], ["show"], ["report"], ["release", "--histogram", str(counts)]):
        assert main([command[0], str(spec), *command[1:]]) == 0
        assert made.fingerprint[:12] in capsys.readouterr().out
    assert main(["sample", str(spec)]) == 2
    assert "independent of the data" in capsys.readouterr().err


@pytest.mark.nightly
def test_a_real_table_with_fixed_margins_from_problem_file_to_verified_release(tmp_path, capsys):
    """The 16 x 5 table of examples/adult_margins.toml: both margins of the release are those of the data."""
    spec, release, data = tmp_path / "spec.json", tmp_path / "release.json", datasets.adult_education_race().path
    assert main(["design", str(EXAMPLES / "adult_margins.toml"), "-o", str(spec)]) == 0
    assert main(["release", str(spec), "--histogram", str(data), "--column", "count", "-o", str(release)]) == 0
    assert main(["verify", str(spec)]) == 0
    said = capsys.readouterr().out
    assert "95 % interval" in said and "... and 40 more, in the file that was saved" in said
    answers = np.array(list(json.loads(release.read_text())["answers"].values())).reshape(16, 5)
    counts = np.genfromtxt(data, delimiter=",", skip_header=1)[:, -1].reshape(16, 5)
    np.testing.assert_allclose(answers.sum(axis=0), counts.sum(axis=0), atol=1e-6)
    np.testing.assert_allclose(answers.sum(axis=1), counts.sum(axis=1), atol=1e-6)
    assert 1 < np.abs(answers - counts).mean() < 3  # 2.12 sqrt(2 / pi) = 1.69 expected


def test_records_are_released_by_plans_and_marginals_and_counts_are_not(tmp_path, capsys):
    pytest.importorskip("duckdb")
    from designer import Domain, MarginalWorkload, metrics
    from designer.tables import Count, Groups, TablePlan

    people = tmp_path / "people.csv"
    people.write_text("state,sex\nDE,F\nDE,M\nMD,F\n")
    plan = TablePlan((Count("n", Groups(["state"], [["DE"], ["MD"]]), variance=2),)).save(tmp_path / "plan.json")
    domain = Domain.of({"state": ["DE", "MD"], "sex": ["F", "M"]})
    budgets = metrics.hamming(domain, {"state": 1.0, "sex": 1.0})
    marginals = design_marginals(MarginalWorkload.up_to(domain, 1), budgets).save(tmp_path / "marginals.json")
    for spec in (plan, marginals):
        assert main(["release", str(spec), "--table", str(people), "-o", str(tmp_path / "out.json"), "--force"]) == 0
        assert json.loads((tmp_path / "out.json").read_text())["fingerprint"] in capsys.readouterr().out
        assert main(["release", str(spec), "--histogram", str(people)]) == 2
        assert "--table: is missing" in capsys.readouterr().err


def test_few_lines_are_printed_and_full_prints_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is left out is what --full adds; cautions, what is not protected and the fingerprint are always there."""
    problem, spec = str(tmp_path / "p.toml"), str(tmp_path / "s.json")
    Path(problem).write_text(
        'title = "Two counts"\n[workload]\nbuilder = "identity"\nsize = 2\n[relation]\nmetric = "add_remove"\nepsilon = 30\n'
    )
    np.save(tmp_path / "counts.npy", np.array([3, 4]))

    def said(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    few, full = said("design", problem, "-o", spec), said("design", problem, "-o", spec, "--force", "--full")
    assert len(few.splitlines()) <= 12 < len(full.splitlines()) and "WEAK" in few
    assert (
        "of this loss" in few
        and "Relation:" not in few
        and "Relation:" in full
        and "T" not in few.partition("Efficiency:")[2][:30]
    )
    made = load(spec)
    short, whole = (said("release", spec, "--histogram", str(tmp_path / "counts.npy"), *more) for more in ((), ("--full",)))
    assert made.fingerprint in short and made.guarantee.not_protected in short and "Sampling:" not in short
    assert made.guarantee.to_text() in whole and len(short.splitlines()) < len(whole.splitlines())
    few, full = (said("compare", problem, "--effort", "quick", *more) for more in ((), ("--full",)))
    assert "theory" not in few and "Without a mechanism: " in few and "Efficiency: " in full
