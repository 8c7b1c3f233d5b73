"""Pseudo-inverses: what rounding leaves of dependent rows has no inverse, whatever version of numpy rounds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from designer import invariants
from solvers.lattices.kernel import pseudo_inverse

ROOT = Path(__file__).parents[3]


def test_rows_that_depend_on_each_other_but_for_rounding_have_the_inverse_of_independent_ones() -> None:
    public = invariants.margins((7, 7, 7), [(0, 1), (0, 2), (1, 2)]).matrix
    left, values, right = np.linalg.svd(public, full_matrices=False)
    rank = int((values > 1e-9).sum())
    assert rank < len(values)
    values[rank:] = 4e-15 * values[0]  # what another version of numpy leaves of them; it cuts at 1e-15
    inverse = pseudo_inverse((left * values) @ right)
    assert np.allclose(inverse, (right[:rank].T / values[:rank]) @ left[:, :rank].T, atol=1e-12)
    assert np.abs(np.linalg.pinv((left * values) @ right)).max() > 1e9


def test_independent_rows_keep_a_direction_of_little_weight() -> None:
    assert np.allclose(pseudo_inverse(np.diag([1.0, 1e-12])), np.diag([1.0, 1e12]))


def test_nothing_leaves_the_rank_to_the_default_of_numpy() -> None:
    calls = {
        f"{path.relative_to(ROOT)}: {call}"
        for folder in ("designer", "solvers")
        for path in (ROOT / folder).rglob("*.py")
        for call in re.findall(r"np\.linalg\.pinv\(.*", path.read_text())
        if "rcond=" not in call and "hermitian=" not in call
    }
    assert calls == set()
