"""A ratio is stated in one way wherever it is: rounded up to a float."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from designer.certified.certificate import PrivacyCertificate
from solvers.exact.rational import float_above
from tests.oracles.spec_specimens import specimens


@pytest.mark.parametrize("name", [name for name in specimens() if name != "table plan"])
def test_guarantee_and_certificate_state_one_ratio_and_never_a_smaller_one(name: str) -> None:
    made = specimens()[name]
    assert isinstance(made.privacy, PrivacyCertificate)
    exact = made.privacy.worst_ratio
    assert exact is not None
    ratio = made.privacy.ratio
    assert ratio >= exact and (exact == 0 or np.nextafter(ratio, -1) < exact)
    assert made.guarantee.parameters.get("worst_ratio", ratio) == ratio
    assert f" {ratio!r} (" in made.privacy.lines()[0]


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
