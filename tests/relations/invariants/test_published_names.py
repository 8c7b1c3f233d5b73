"""What is published exactly is listed whole, or with a hash of all names: different lists never read the same."""

from __future__ import annotations

import json

import pytest

from designer import Problem, Workload, design, invariants, metrics
from designer.base.json_text import plain
from designer.certificate.frozen import to_spec
from designer.verifier import standalone
from tests.verifier.altered import bytes_of, main_verdict, standalone_verdict


def said(regions: int, ages: int, margins: list[list[int]]) -> str:
    return " ".join(invariants.margins((regions, ages), margins).protect(1.0, adjacency=1).unprotected())


@pytest.mark.parametrize("regions", [12, 120])
def test_more_published_totals_read_otherwise(regions: int) -> None:
    one, both = said(regions, 2, [[0]]), said(regions, 2, [[0], [1]])
    assert one != both
    assert ("SHA-256" in one) == (regions > 100)
    if regions <= 100:
        assert one.count("axis0=") == regions and both.count("axis1=") == 2


@pytest.mark.parametrize("silent", [12, 120])
def test_answers_without_noise_are_all_named_and_both_verifiers_agree(silent: int) -> None:
    """Totals of parts, which no change within a part moves."""
    parts = [k // 2 for k in range(2 * silent)]
    rows = [[float(part == k) for part in parts] for k in range(silent)] + [[1.0] + [0.0] * (2 * silent - 1)]
    names = [f"part {k}" for k in range(silent)] + ["first"]
    problem = Problem(Workload(rows, queries=names), metrics.partition(parts, 1.0))
    made = design(problem, "laplace").mechanism
    sentence = made.guarantee.unprotected[0]
    assert sentence.startswith("Published exactly") and ("SHA-256" in sentence) == (silent > 100)
    if silent <= 100:
        assert all(f"part {k}" in sentence for k in range(silent))
    content = bytes_of(json.loads(json.dumps(plain(to_spec(made)))))
    assert (main_verdict(content), standalone_verdict(content)[0]) == ("holds", "holds")
    assert standalone.every_name(names[:-1]) in sentence
