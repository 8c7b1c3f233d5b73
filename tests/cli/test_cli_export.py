"""`dp-designer export`: what it writes is what the library makes, and what it refuses it names."""

from __future__ import annotations

import csv
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from designer import Mechanism, Problem, Workload, design, metrics, save_release
from designer.accounts import Ledger, Total
from designer.base.labels import unguarded
from designer.certificate.guarantee import About
from designer.cli import main
from designer.exchange.device import portable_text, release_vectors
from designer.exchange.opendp import noise_document

COUNTS = Workload([[1, 1, 0], [0, 0, 1]], queries=["coast", "inland"], elements=["a", "b", "c"])


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mechanism:
    monkeypatch.chdir(tmp_path)
    found = design(Problem(COUNTS, metrics.add_remove(3, 1.0)), "laplace").mechanism
    found = found.described(About(title="Towns", publisher="Office"))
    found.save("spec.json")
    return found


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["export", *arguments])
    return code, *capsys.readouterr()


def test_noise_is_written_as_json_and_as_a_table(made: Mechanism, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "spec.json", "--as", "noise", "-o", "noise.json")[0] == 0
    assert json.loads(Path("noise.json").read_text()) == json.loads(json.dumps(noise_document(made)))
    assert json.loads(run(capsys, "spec.json", "--as", "noise", "--json")[1]) == json.loads(json.dumps(noise_document(made)))
    assert run(capsys, "spec.json", "--as", "noise", "-o", "noise.csv")[0] == 0
    rows = list(csv.DictReader(Path("noise.csv").read_text().splitlines()))
    assert [row["query"] for row in rows] == ["coast", "inland"]
    assert [float(row["standard_error"]) for row in rows] == made.standard_errors().tolist()


def test_names_of_a_table_of_noise_are_obeyed_by_no_terminal_and_run_by_no_spreadsheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["\x1b[31mred\x07", '=1+"1"']
    odd = Workload([[1, 1, 0], [0, 0, 1]], queries=names, elements=["a", "b", "c"])
    design(Problem(odd, metrics.add_remove(3, 1.0)), "laplace").mechanism.save("spec.json")
    assert run(capsys, "spec.json", "--as", "noise", "-o", "noise.csv")[0] == 0
    written = Path("noise.csv").read_text()
    assert all(character.isprintable() or character == "\n" for character in written)
    assert [unguarded(row["query"]) for row in csv.DictReader(written.splitlines())] == names and "'=1+" in written


def test_lines_for_other_languages_and_their_vectors(made: Mechanism, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "spec.json", "--as", "portable")[1] == portable_text(made)
    assert run(capsys, "spec.json", "--as", "vectors", "--seed", "3", "-o", "vectors.json")[0] == 0
    assert json.loads(Path("vectors.json").read_text()) == json.loads(json.dumps(release_vectors(made, seed=3)))


def test_a_module_makes_the_measurement_of_opendp(made: Mechanism, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="OpenDP is an optional extra")
    (tmp_path / "below").mkdir()
    code, out, _ = run(capsys, "spec.json", "--as", "opendp", "--distance", "l1", "-o", "below/measurement.py")
    assert code == 0 and "Written to" in out
    module = runpy.run_path("below/measurement.py")
    assert 0.999999 < module["measurement"]().map(1) <= 1.0 and "epsilon 0.99" in (module["__doc__"] or "")
    design(Problem(COUNTS, metrics.add_remove(3, 2.0)), "laplace").mechanism.save("spec.json")
    with pytest.raises(ValueError, match="another one"):
        runpy.run_path("below/measurement.py")["measurement"]()


def test_an_entry_of_the_registry_says_what_is_left_to_people(made: Mechanism, capsys: pytest.CaptureFixture[str]) -> None:
    yaml: Any = pytest.importorskip("yaml", reason="PyYAML reads what is written here")
    save_release(made, made.release([1, 2, 3]), "release.json")
    people = Ledger.create("l").state("people", Total(epsilon=2), publishes=made.guarantee.unprotected)
    people.release(made, [1, 2, 3])
    more = ("--release", "release.json", "--ledger", "l", "--dataset", "people", "-o", "entry.yaml")
    code, out, _ = run(capsys, "spec.json", "--as", "registry", *more)
    assert code == 0 and "intended_use" in out and "marked UNKNOWN" in out
    entry = yaml.safe_load(Path("entry.yaml").read_text())["deployment"]
    assert entry["basic"]["name"] == "Towns" and entry["basic"]["data_curators"] == ["Office"]
    assert entry["deployment_model"]["release_type"] == "One release"
    data = json.loads(run(capsys, "spec.json", "--as", "registry", "--json")[1])
    assert data["entry"]["deployment"]["basic"]["name"] == "Towns" and "deployment.basic.intended_use" in data["unknown"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--as", "noise", "--distance", "l1"], "--distance: goes with --as opendp"),
        (["--as", "portable", "--seed", "1"], "--seed: goes with --as vectors"),
        (["--as", "registry", "--ledger", "l"], "--ledger, --dataset: go together"),
        (["--as", "registry", "--release", "spec.json"], "release"),
        (["--as", "noise", "-o", "spec.json"], "is an input"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    made: Mechanism, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, "spec.json", *arguments)
    assert code in (2, 4) and words in err and not out


def test_shared_noise_is_no_table(made: Mechanism, capsys: pytest.CaptureFixture[str]) -> None:
    design(Problem(COUNTS, metrics.add_remove(3, 1.0)), "ellipsoid").mechanism.save("shared.json")
    code, _, err = run(capsys, "shared.json", "--as", "noise", "-o", "noise.csv")
    assert code == 2 and "name a .json file" in err and not Path("noise.csv").exists()
    code, _, err = run(capsys, "shared.json", "--as", "portable")
    assert code == 2 and "one number by one" in err
