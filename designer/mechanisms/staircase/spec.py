"""Releases with noise of least loss as files: what was measured lies on a coset of the lattice of all protected differences.

What releases cost together: budgets add.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.mechanisms.additive.spec import GridForm, OnAGrid
from designer.mechanisms.composition import Composition, Protected
from designer.mechanisms.staircase.mechanism import StaircaseMechanism
from designer.mechanisms.staircase.noise import Peaks
from designer.problem.histogram import Universe
from designer.promises.costs import Cost


class StaircaseForm(GridForm):
    """The coset is half a lattice away from the answers where the law says so."""

    def coset(self, mechanism: OnAGrid) -> tuple[list[int], NDArray[Any] | None]:
        law = getattr(mechanism, "noise", None)
        if not isinstance(law, Peaks):
            return super().coset(mechanism)
        basis = np.array(law.basis, dtype=object)
        return (np.array(law.halves, dtype=object) @ basis // 2).tolist(), basis


class StaircaseComposition(Composition[StaircaseMechanism]):
    """Pure."""

    def protected(self, made: StaircaseMechanism) -> Protected:
        return made.relation

    def counted(self, made: StaircaseMechanism) -> Universe:
        return made.universe

    def of_budget(self, made: StaircaseMechanism, budget: Fraction) -> Cost:
        return Cost.pure(budget)
