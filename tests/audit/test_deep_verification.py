"""Deep verification: right mechanisms of every format pass, samplers that are a little wrong do not, and the verdict says so.

Seeds are fixed. FALSE_ALARM: of a whole verdict under a right sampler, as each asks of itself. A wrong sampler is told with
probability 0.99 where its draws suffice; the faults below are several times as large as that, or get all the draws they take.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.audit_power import GROSS, faults, limits, rejected, subjects
from designer import InvalidProblem, Problem, ReportProblem, Workload, design, metrics
from designer.audit import DeepVerdict, TestPower, audit, deep
from designer.audit import mean_tests as tally
from designer.audit.mean_tests import needed_draws, watched
from designer.audit.pairs import SUBJECT
from designer.cli.entry import main
from designer.files.kinds import KINDS
from designer.mechanism.noise import noise_for
from designer.sampling.entropy import SeededEntropy
from tests.oracles.spec_specimens import one_of_each_format, specimens

FALSE_ALARM = 1e-6
LOOK = 0.02
# By that clock, where a draw is dear or there are many sources; other mechanisms have 1.5 seconds, 80,000 draws or more.
SECONDS = {"mwem": 0.15, "small-db": 0.3, "table plan": 5.0}
QUICK = [subject for subject in subjects() if subject.name in ("laplace, whole", "lattice, l1")]
ONE_OF_EACH = one_of_each_format()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock takes `LOOK` seconds, so that no number of draws depends on the machine."""
    looks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: LOOK * next(looks))
    for module in (deep, tally):
        monkeypatch.setattr(module, "time", clock)


def laplace() -> Any:
    return design(Problem(Workload([[1.0, 0, 0], [0, 1, 0]]), metrics.uniform(3, 0.5)), "laplace").mechanism


@pytest.mark.every_room
def test_every_format_is_looked_at() -> None:
    assert set(ONE_OF_EACH) == set(KINDS)


@pytest.mark.parametrize("name", sorted(ONE_OF_EACH.values()))
def test_a_mechanism_of_every_format_holds(name: str) -> None:
    verdict = audit(specimens()[name], seconds=SECONDS.get(name, 1.5), seed=11)
    assert verdict.holds and "no time" not in verdict.to_text(), verdict.to_text()
    assert {finding.subject for finding in verdict.of("proven")} >= {"certificate", "constructible", "injective"}
    assert all(finding.words for finding in verdict.findings)
    shares = [f.numbers["false_alarm"] for f in verdict.of("tested") if f.subject != "noisy"]
    assert sum(shares) <= FALSE_ALARM * (1 + 1e-9) and f"probability {FALSE_ALARM:g}, by laws" in verdict.to_text()


@pytest.mark.parametrize("fault", [name for name in faults() if "tail" not in name])
@pytest.mark.parametrize("subject", QUICK, ids=lambda subject: subject.name)
def test_samplers_that_are_a_little_wrong_are_rejected(subject: Any, fault: str) -> None:
    most = 2**15 if fault in GROSS else None
    assert rejected(subject, faults()[fault], 77, TestPower(), most)


@pytest.mark.parametrize("subject", QUICK, ids=lambda subject: subject.name)
def test_right_samplers_are_not(subject: Any) -> None:
    assert sum(rejected(subject, None, 300 + run, TestPower(), 2**13) for run in range(10)) == 0


def test_a_verdict_names_what_fails_and_how_sharp_it_was() -> None:
    made = laplace()
    wider = noise_for(made.norm.divided(1.05), made.grid, made.falloff)
    object.__setattr__(made.noise, "sampler", wider.sampler)
    verdict = audit(made, seconds=20.0, seed=3)
    assert not verdict.holds
    failed = {finding.subject: finding for finding in verdict.failures}
    assert "noise" in failed and "FAILS" in verdict.to_text()
    assert failed["noise"].numbers["power"] > 0.98 and any("scale" in name for name in failed["noise"].numbers["rejected_by"])
    assert json.loads(json.dumps(verdict.to_dict()))["holds"] is False


def test_too_little_time_is_said_and_not_hidden() -> None:
    verdict = audit(laplace(), seconds=0.05, seed=5)
    noise = next(finding for finding in verdict.findings if finding.subject == "noise")
    if noise.manner == "tested":
        assert noise.numbers["draws"] < noise.numbers["needed"] and noise.numbers["power"] < 0.9
        assert "% with the declared probability" in noise.words
    else:
        assert "give more seconds" in noise.words


def test_draws_that_are_needed_grow_with_the_square_of_what_is_to_be_seen() -> None:
    source = QUICK[0].source(SeededEntropy(1))
    pilot = source.draw(source.pilot)
    watch: Any = source.watch(pilot)
    from designer.audit.mean_tests import Tally

    sums = Tally()
    sums.add(watch.columns(pilot))
    wanted = [needed_draws(watch.effects(pilot, sees), sums, TestPower(sees=sees))[0] for sees in (0.02, 0.01)]
    assert wanted[1] == pytest.approx(4 * wanted[0], rel=0.35)


def test_a_draw_that_cannot_be_is_found_alone() -> None:
    source = QUICK[1].source(SeededEntropy(1))

    def astray(size: int) -> np.ndarray:
        drawn = source.draw(size)
        drawn[0, 0] += 1
        return drawn

    found = watched(replace(source, draw=astray), TestPower(), 5.0)
    assert [finding.holds for finding in found] == [False] and "draws are not an integer table" in found[0].words


# The second verifier checks no great circles: their pairs are gone through here.
PLACES = [[52.52, 13.40], [52.40, 13.06], [48.14, 11.58]]


def certified(made: Any) -> Any:
    """What is found of the pairs."""
    return next(finding for finding in audit(made, seconds=0.05, seed=5).findings if finding.subject == SUBJECT)


@pytest.mark.parametrize("relation", [metrics.uniform(3, 0.5), metrics.great_circle(PLACES, per_km=0.01)], ids=lambda r: r.kind)
def test_pairs_one_by_one_find_what_a_certificate_does_not_say(relation: Any) -> None:
    made = design(Problem(Workload([[1.0, 0, 0], [0, 1, 0]]), relation), "laplace").mechanism
    found = certified(made)
    assert found.manner == "proven" and found.holds and "second verifier" in found.words
    assert ("pairs in rationals" in found.words) == (relation.kind == "great_circle")
    object.__setattr__(made, "norm", made.norm.divided(0.5))
    assert certified(made).holds is False


def test_reports_that_the_second_verifier_cannot_check_are_compared_here() -> None:
    made = design(ReportProblem(metrics.great_circle(PLACES, per_km=0.01)), "exponential").mechanism
    found = certified(made)
    assert found.manner == "proven" and found.holds and "ordered pairs" in found.words and "great_circle" in found.words


def test_confidence_limits_hold_known_shares() -> None:
    assert limits(20, 20)[0] == pytest.approx(0.025 ** (1 / 20), abs=1e-9) and limits(20, 20)[1] == 1.0
    assert limits(0, 100)[1] == pytest.approx(1 - 0.025 ** (1 / 100), abs=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seconds": 0}, "seconds: 0 is not a positive number"),
        ({"seconds": True}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"seed": -1}, "seed"),
        ({"power": 0.99}, "power: 0.99 is none"),
    ],
)
def test_bad_arguments_are_refused_by_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        audit(laplace(), **given)
    with pytest.raises(InvalidProblem, match="mechanism"):
        audit("spec.json")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"sees": 0.0}, {"sees": "1 %"}, {"probability": 1.0}, {"false_alarm": 0.5}])
def test_powers_beyond_what_tests_have_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblem, match=f"power.{next(iter(given))}"):
        TestPower(**given)


def test_the_command_prints_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(laplace().save(tmp_path / "spec.json"))
    assert main(["verify", path, "--deep", "--seconds", "0.3"]) == 0
    text = capsys.readouterr().out
    assert "PROVEN" in text and "TESTED" in text and "NOT LOOKED AT" in text and "holds" in text
    assert main(["verify", path, "--deep", "--seconds", "0.3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["deep"]["holds"] and found["fingerprint"] == found["deep"]["fingerprint"]
    for wrong in (["--seconds", "5"], [path, "--deep"]):
        assert main(["verify", path, *wrong]) == 2
        assert "--deep" in capsys.readouterr().err


def test_a_failing_verdict_ends_the_command_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(laplace().save(tmp_path / "spec.json"))
    good = audit(laplace(), seconds=0.1, seed=1)
    bad = replace(good, findings=(replace(good.findings[0], holds=False), *good.findings[1:]))
    monkeypatch.setattr("designer.audit.deep.audit", lambda *_, **__: bad)
    assert main(["verify", path, "--deep"]) == 4
    said = capsys.readouterr()
    assert "FAILS" in said.out and "fails its deep verification" in said.err


def test_a_page_has_a_row_for_each_line() -> None:
    verdict: DeepVerdict = audit(laplace(), seconds=0.1, seed=1)
    assert len([line for line in verdict.page_lines() if line.startswith("| ")]) == len(verdict.findings) + 2
