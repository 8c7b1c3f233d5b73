"""Releases from other languages: the format, the vectors, and R and JavaScript that come to the same whole numbers."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    About,
    AdditiveMechanism,
    InvalidProblem,
    InvalidSpec,
    Mechanism,
    Problem,
    Workload,
    design,
    invariants,
    metrics,
    verify_release,
)
from designer.certificate.norms import weighted_l1
from designer.exchange.device import byte_laws, portable_noise, portable_text, release_vectors
from designer.exchange.opendp import noise_document
from designer.files.releases import sealed
from designer.files.spec import from_spec
from designer.mechanism.noise import Grid
from tests.oracles.spec_specimens import specimens

ROOT = Path(__file__).parents[2]
HERE = ROOT / "examples" / "other_languages"
STORED = sorted((HERE / "vectors").glob("*.json"))
HOSTILE = ['a"b\t@', "c\\d\n", "é\u2028"]
PAIR = Workload([[1, 1, 0], [0, 0, 1]], queries=["n\t\"rth'", "süd\n"], elements=HOSTILE)
THREE, PREFIX = Workload.identity(3), Workload(np.tri(3))
PRESENT = metrics.add_remove(3, 1.0)
TOOLS = {"R": ["Rscript", "release.R"], "JavaScript": ["node", "release.js"]}


@cache
def made(family: str = "laplace", workload: Workload = PAIR, relation: Any = PRESENT, **options: Any) -> Mechanism:
    notion = "zcdp" if family == "gaussian" else "pure"
    return design(Problem(workload, relation, **{"notion": notion, **options}), family).mechanism


def fine() -> AdditiveMechanism:
    """Steps of 2^-40: numbers of noise beyond 2^32, and answers beyond the whole numbers of floats."""
    return AdditiveMechanism("custom", PAIR, PRESENT, weighted_l1([0.4, 0.3]), Grid((-40, -38)))


MECHANISMS: dict[str, Callable[[], Any]] = {
    "laplace": made,
    "described": lambda: made().described(About(title="Töwns \\ <1>", units={"*": "persons"})),
    "gaussian": lambda: made("gaussian", THREE),
    "strategy": lambda: made("strategy_laplace", PREFIX),
    "fine": fine,
}


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_the_stored_vectors_are_what_our_sampler_comes_to(path: Path) -> None:
    stored = json.loads(path.read_text())
    mechanism: Any = from_spec(stored["spec"])
    for case in stored["cases"]:
        noise, used = portable_noise(mechanism, bytes.fromhex(case["random"]))
        assert noise == case["noise"] and used == len(case["random"]) // 2
        exact = [int(x) for x in mechanism.integers.astype(object) @ np.array(case["counts"], dtype=object)]
        assert [a + z for a, z in zip(exact, noise, strict=True)] == case["multiples"]
        assert "made" in verify_release(mechanism, case["release"]).to_text()
    assert len(stored["cases"]) >= 3 and STORED
    assert json.loads(json.dumps(release_vectors(mechanism))) == stored, "make the file again: dp-designer export --as vectors"


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_reader_of_the_lines_alone_makes_a_release_that_verifies(name: str) -> None:
    """The pieces of the file, filled in by a reader written here, are the release file that we write."""
    mechanism = MECHANISMS[name]()
    vectors = release_vectors(mechanism)
    lines = [line.split("\t") for line in vectors["portable"].split("\n")]
    for case in vectors["cases"]:
        answers = list(case["release"]["answers"].values())
        fill: dict[str, Any] = {
            "text": lambda text: text,
            "time": lambda: json.dumps(case["time"]),  # noqa: B023
            "answer": lambda k: repr(float(f"{answers[int(k)]:.14e}")),  # noqa: B023
            "multiple": lambda k: str(case["multiples"][int(k)]),  # noqa: B023
        }
        body = json.loads("".join(fill[line[1]](*line[2:]) for line in lines if line[0] == "piece"))
        verify_release(mechanism, sealed(body))
        wrong = {**body, "measured": {**body["measured"], "multiples": [m + 2**60 for m in case["multiples"]]}}
        with pytest.raises(InvalidSpec):
            verify_release(mechanism, sealed(wrong))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("language", TOOLS)
def test_another_language_comes_to_the_same_release(language: str, name: str, tmp_path: Path) -> None:
    program, script = TOOLS[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so {script} cannot run")
    mechanism = MECHANISMS[name]()
    vectors = release_vectors(mechanism, [[0, 3, 10**6], [2**40, 5, 17]])
    (tmp_path / "portable.txt").write_text(vectors["portable"])
    for place, case in enumerate(vectors["cases"]):
        (tmp_path / "counts.txt").write_text("\n".join(map(str, case["counts"])) + "\n")
        (tmp_path / "random.hex").write_text(case["random"])
        target = tmp_path / f"{place}.json"
        inputs = [str(tmp_path / "portable.txt"), str(tmp_path / "counts.txt"), str(target)]
        known = ["--random-hex", str(tmp_path / "random.hex"), "--time", case["time"]]
        subprocess.run([program, str(HERE / script), *inputs, *known], check=True, capture_output=True)
        written = json.loads(target.read_text())
        assert written["measured"]["multiples"] == case["multiples"] and written["time"] == case["time"]
        verify_release(mechanism, target)


@pytest.mark.parametrize("language", TOOLS)
def test_another_language_draws_its_own_bytes_and_refuses_in_one_line(language: str, tmp_path: Path) -> None:
    program, script = TOOLS[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so {script} cannot run")
    mechanism = made()
    (tmp_path / "portable.txt").write_text(portable_text(mechanism))
    (tmp_path / "counts.txt").write_text("5\n6\n7\n")

    def run(target: str, counts: str = "counts.txt") -> subprocess.CompletedProcess[str]:
        names = [str(tmp_path / name) for name in ("portable.txt", counts, target)]
        return subprocess.run([program, str(HERE / script), *names], capture_output=True, text=True)

    assert run("out.json").returncode == 0
    released = json.loads((tmp_path / "out.json").read_text())
    verify_release(mechanism, released)
    assert max(abs(m - a) for m, a in zip(released["measured"]["multiples"], (11, 7), strict=True)) < 60  # e^-60
    again = run("out.json")
    assert again.returncode == 1 and "exists" in again.stderr
    (tmp_path / "bad.txt").write_text("5\n-6\n987654321987654321\n")
    refused = run("other.json", "bad.txt")
    assert refused.returncode == 1 and "counts: must hold" in refused.stderr and "987654321" not in refused.stderr
    assert not (tmp_path / "other.json").exists()


def test_the_laws_in_the_file_are_those_of_the_mechanism() -> None:
    for make in MECHANISMS.values():
        mechanism: Any = make()
        lines = [line.split("\t") for line in portable_text(mechanism).splitlines()]
        told = [[int(x) for x in line[3:]] for line in lines if line[0] == "coordinate"]
        law = noise_document(mechanism)["law"]
        if law["kind"] == "discrete_laplace":
            assert [Fraction(s, t) for s, t in told] == [Fraction(r) for r in law["rates"]]
        else:
            assert [Fraction(p, q) for p, q, _ in told] == [Fraction(v) for v in law["variances"]]
            assert all((t - 1) ** 2 * q <= p < t * t * q for p, q, t in told)  # t = floor(sigma) + 1
        assert len(byte_laws(mechanism)) == len(told) == len(mechanism.integers)


def test_what_other_languages_do_not_release_is_refused_with_the_reason() -> None:
    reasons = {}
    for name, specimen in specimens().items():
        try:
            portable_text(specimen)
        except InvalidProblem as refusal:
            reasons[name] = str(refusal)
    assert len(reasons) > 8 and len(reasons) < len(specimens())
    assert all(words.startswith("mechanism: ") for words in reasons.values())
    box = made("box", Workload.identity(3))
    with pytest.raises(InvalidProblem, match="not drawn one number by one"):
        portable_text(box)
    with pytest.raises(InvalidProblem, match="without noise"):
        portable_text(made("laplace", Workload([[1, 1, 1], [0, 1, 0]]), metrics.uniform(3, 1.0)))
    kept = made("projected_laplace", Workload.identity(4), invariants.margins((2, 2)).protect(0.5, adjacency=2))
    with pytest.raises(InvalidProblem, match=r"without noise|public statistics"):
        portable_text(kept)
