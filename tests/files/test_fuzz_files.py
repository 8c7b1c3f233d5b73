"""A sample of the fuzz of spec and problem files, and a proof that its oracle sees what it looks for."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import metrics
from designer.base.json_text import plain
from tests.files.test_spec import mechanisms
from tests.oracles.additive_promises import additive, at_most
from tests.oracles.fuzz_files import PROBLEMS, designed, judged, one, prepare, problem_text, run, subjects
from tests.oracles.promises import LOSSES
from tests.oracles.spec_specimens import names_of

ADDITIVE = [*names_of("dp-designer/mechanism"), *(f"{name} by norm or name" for name in mechanisms() if name != "vacuous")]
RECOMPUTED = [*names_of(*LOSSES), *ADDITIVE, "vacuous by norm or name"]


@pytest.mark.parametrize("number", [150, pytest.param(400, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", ["spec", "problem"])
def test_a_sample_of_altered_files_is_refused_or_keeps_its_promise(kind: str, number: int) -> None:
    outcomes = [one((case, kind)) for case in range(number)]
    assert [failure for _, failure, _ in outcomes if failure] == []
    assert len({outcome for outcome, _, _ in outcomes}) > 2


@pytest.mark.heavy
def test_a_hundred_thousand_altered_files_are_refused_or_keep_their_promises() -> None:
    counts, failures, longest = run(100_000, seed=1, workers=2)
    assert failures == [] and sum(counts.values()) == 100_000 and longest < 10


def core_of(name: str) -> dict[str, Any]:
    core: dict[str, Any] = json.loads(json.dumps(plain(subjects()[name].core())))
    return core


def longer(norm: dict[str, Any]) -> dict[str, Any]:
    """A norm by which everything is a hundredth longer: the noise falls short by as much."""
    if "scale" in norm:
        return {**norm, "scale": norm["scale"] / 1.01}
    if "bundles" in norm:
        return {**norm, "bundles": [{**bundle, "gauge": longer(bundle["gauge"])} for bundle in norm["bundles"]]}
    rows = np.vectorize(lambda w: w if w == "inf" else 1.01 * w, otypes=[object])(np.array(norm["map"], dtype=object))
    return {**norm, "map": rows.tolist()}


@pytest.mark.parametrize("name", RECOMPUTED)
def test_unaltered_specs_keep_their_promises_by_the_recomputation(name: str) -> None:
    assert judged(subjects()[name], "loaded") == "loaded, recomputed"


@pytest.mark.parametrize("text", PROBLEMS)
def test_unaltered_problem_files_are_designed_and_recomputed(text: str, tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "problem.toml").write_text(problem_text(tomllib.loads(text)), encoding="utf-8")
    assert judged(designed(tmp_path / "problem.toml"), "designed") == "designed, recomputed"


@pytest.mark.parametrize("name", ADDITIVE)
def test_the_recomputation_agrees_with_the_certificate_and_sees_a_hundredth_more(name: str) -> None:
    core, proven = core_of(name), float(subjects()[name].privacy.worst_ratio)
    assert additive(core) == pytest.approx(proven, rel=1e-6)
    core["norm"] = longer(core["norm"])
    assert additive(core) == pytest.approx(1.01 * proven, rel=1e-6)


def test_both_decide_a_distance_at_the_threshold_from_the_floats_as_they_are() -> None:
    """In decimals the points are 1.5 apart; the floats 0.3 and 0.1 are a little less and more, which makes 5.5e-18 over 1.5."""
    points = [[1.5, 1.0], [0.3, 0.1], [0.0, 1.0]]
    near = at_most(1.5, points, 1.0, "euclidean")
    relation = metrics.blowfish(points, 1.5, 0.5)
    assert [relation.exact_budget(i, j) is not None for i, j in ((0, 1), (0, 2), (1, 2))] == [True, True, True]
    assert [near[i, j] for i, j in ((0, 1), (0, 2), (1, 2))] == [False, True, True]
    assert relation.exact_budget(0, 1) == 2 * relation.exact_budget(0, 2)
