"""Products whose noise is too narrow for their budgets are no mechanism, whoever made them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from designer import NotPrivate
from designer.structured.mechanism import StructuredMechanism
from tests.oracles.spec_specimens import structured

MADE = structured()


@pytest.mark.parametrize("name", MADE)
def test_noise_that_is_a_hundredth_too_strong_is_not_private(name: str) -> None:
    """Strengths are precisions or rates: a hundredth more of each spends more than the whole budget."""
    made = MADE[name]
    assert isinstance(made, StructuredMechanism)
    blocks = tuple(replace(block, strength=block.strength * 1.01) for block in made.blocks)
    with pytest.raises(NotPrivate):
        replace(made, blocks=blocks)
    assert replace(made, blocks=tuple(replace(b, strength=b.strength / 2) for b in made.blocks)).privacy.holds
