"""A ratio is stated in one way wherever it is: rounded up to a float."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from solvers.exact.rational import float_above


def test_files_of_the_corpus_state_the_ratio_of_their_certificate_once() -> None:
    root = Path(__file__).parents[2]
    files = [*root.glob("tests/data/specs/*.json"), *root.glob("examples/**/*.json")]
    found = []
    for path in files:
        data = json.loads(path.read_text())
        spec = data.get("spec", data)
        ratio, stated = spec["certificate"].get("worst_ratio"), spec["guarantee"]["parameters"].get("worst_ratio")
        if ratio is not None and stated is not None:
            found.append(path)
            assert stated == float_above(Fraction(ratio)), path.name
    assert len(found) > 30
