"""Releases with noise of least loss as files: what was measured lies on a coset of the lattice of all protected differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.mechanisms.additive.spec import GridForm, OnAGrid
from designer.mechanisms.staircase.noise import Peaks


class StaircaseForm(GridForm):
    """The coset is half a lattice away from the answers where the law says so."""

    def coset(self, mechanism: OnAGrid) -> tuple[list[int], NDArray[Any] | None]:
        law = getattr(mechanism, "noise", None)
        if not isinstance(law, Peaks):
            return super().coset(mechanism)
        basis = np.array(law.basis, dtype=object)
        return (np.array(law.halves, dtype=object) @ basis // 2).tolist(), basis
