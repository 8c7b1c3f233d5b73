"""A ratio is stated in one way wherever it is: rounded up to a float."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from designer.certified.certificate import PrivacyCertificate
from tests.oracles.spec_specimens import specimens

RATIOS = {
    name: made
    for name, made in specimens().items()
    if isinstance(getattr(made, "privacy", None), PrivacyCertificate) and made.privacy.worst_ratio is not None
}


@pytest.mark.parametrize("name", RATIOS)
def test_guarantee_and_certificate_state_one_ratio_and_never_a_smaller_one(name: str) -> None:
    made = RATIOS[name]
    exact: Fraction = made.privacy.worst_ratio
    ratio = made.privacy.ratio
    assert ratio >= exact and (exact == 0 or np.nextafter(ratio, -1) < exact)
    assert made.guarantee.parameters.get("worst_ratio", ratio) == ratio
    assert f" {ratio!r} (" in made.privacy.lines()[0]
