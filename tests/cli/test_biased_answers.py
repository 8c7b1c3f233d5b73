"""Answers that rounded weights make biased: no command states a margin of error for them, and every command says so."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.certificate.norms import weighted_l1
from designer.cli.entry import main
from designer.designing.factor_search import largest_biases
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid
from designer.publish.exploring import _answers_of
from designer.publish.meanings import off_by

WEIGHTS = np.array([[0.4, 0.0], [0.0, 1.0], [1e6, 0.0]])  # 0.4 rounds to 0 on a grid of whole numbers


def forgetful(first: float = 0.4) -> AdditiveMechanism:
    """Three answers, the last of large numbers with large noise; the first forgets its element where its weight is 0.4."""
    weights = WEIGHTS.copy()
    weights[0, 0] = first
    workload = Workload(weights, queries=["part", "all of B", "large"], elements=["A", "B"])
    return AdditiveMechanism("laplace", workload, metrics.uniform(2, 1.0), weighted_l1([0.25, 0.25, 2.0**-22]), Grid((0, 0, 0)))


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    forgetful().save("biased.json")
    forgetful(1.0).save("whole.json")
    np.save("counts.npy", np.array([1000, 1000]))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_every_command_tells_of_a_bias_and_none_of_it_where_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    for spec, told in (("biased", True), ("whole", False)):
        data = ("--histogram", "counts.npy", "-o", f"{spec}-r.json")
        said = [
            run(capsys, "release", f"{spec}.json", *data),
            run(capsys, "show", f"{spec}.json"),
            run(capsys, "verify", f"{spec}.json"),
            run(capsys, "verify", f"{spec}.json", f"{spec}-r.json"),
        ]
        line = "BIASED: for each record an answer may be off by up to 0.4 more than by its noise (part; 1 answer in all)"
        assert [line in one for one in said] == [told] * 4
        tables = run(capsys, "tables", f"{spec}.json", f"{spec}-r.json")
        assert ("in 95 of 100 releases" in tables) is not told and ("95 % interval" in tables) is not told
        assert ("biased by up to 0.4 for each record" in tables) is told
        for more in ([], [f"{spec}-r.json"]):
            data_of = json.loads(run(capsys, "verify", f"{spec}.json", *more, "--json"))
            assert data_of.get("biased") == ({"part": 0.4} if told else None)


@pytest.mark.usefixtures("folder")
def test_a_page_for_a_board_states_no_margin_of_biased_answers(capsys: pytest.CaptureFixture[str]) -> None:
    for spec, told in (("biased", True), ("whole", False)):
        run(capsys, "report", f"{spec}.json", "-o", f"{spec}.html")
        text = " ".join(html.unescape(re.sub("<[^>]*>", " ", Path(f"{spec}.html").read_text())).split())
        headline = text[text.index("How accurate is it?") :][:400]
        assert ("±" in text) is not told and ("BIASED" in text) is told
        assert ("and a bias of up to 0.4 for each record" in headline) is told


def test_large_noise_of_one_answer_does_not_excuse_the_bias_of_another() -> None:
    made = forgetful()
    assert made.biased == {"part": 0.4} and made.standard_errors()[2] > 1e6 * 0.4
    assert made._biases.tolist() == made.rounding().tolist() == [0.4, 0.0, 0.0]


def test_weights_that_are_rounded_far_below_the_noise_are_no_bias() -> None:
    workload = Workload([[0.1, 0.7, 1 / 3]])
    made = AdditiveMechanism("laplace", workload, metrics.uniform(3, 1.0), weighted_l1([0.25]), Grid((-35,)))
    assert 0 < made.rounding().max() < 1e-9 and made.biased == {}


def test_what_is_explored_of_biased_designs_has_their_bias_in_it() -> None:
    made = design(Problem(Workload([[0.0, 1.0, 5.0]]), metrics.uniform(3, 0.5), records=10), "laplace_joint")
    off = 10 * float(np.abs(made.mechanism.effective - made.problem.workload.dense()).max())
    assert off > 1e-3 and largest_biases(made.mechanism, made.problem).tolist() == [off]
    assert _answers_of(made)[0] == off_by(float(made.mechanism.margins()[0]) + off)
