"""Integer noise on tables with published margins, drawn row by row: each row on its sum, then the columns balanced.

It serves tables of any size under an l1 norm, where hulls and acceptances do not reach. The released table is computed from
`x + y` and the published margins of x, y with `P(y) ~ exp(-||y||)` on rows that sum to 0, so whatever `||v|| <= b` promises of
`x + y` holds for it; and it is `x + z`, z one law whatever the data (docs/theory/lattice.md, section 10).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem, NoAttribute, NoFeasibleAttribute
from designer.base.json_text import require_keys
from designer.base.schema import PLACE, Named, keys, one_of, record
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.frozen import SpecForm
from designer.certificate.guarantee import ROW_FAMILIES, Guarantee
from designer.certificate.norm_kinds import NORM, norm_from_spec, norm_to_spec
from designer.lattice.accuracy import error_bounds_of_rows, margin_bounds_of_rows
from designer.lattice.mechanism import LatticeMechanism
from designer.lattice.sampler_choice import LatticeChoice
from designer.lattice.table_gaussians import BalancedRows
from designer.mechanism.release import ErrorSource
from designer.problem.workload import WORKLOAD, workload_from_spec, workload_to_spec
from designer.relations.invariants.statistics import Structure
from designer.relations.kinds import OF_INVARIANTS, relation_from_spec
from designer.sampling.margins import NoiseFacts
from solvers.lattices.cell_laws import ZeroSumMoments

THEOREM = (
    "P(y) is proportional to exp(-||y||) on integer tables whose slices along one axis sum to 0, which contain every protected "
    "change v, so adding v changes it by at most exp(||v||) <= exp(b); the release is computed from x + y and the published "
    "margins alone."
)


@dataclass(frozen=True, eq=False)
class RowMechanism(LatticeMechanism):
    """Releases the table `x + z` and the answers `Q (x + z)`, z = y less what balances its margins.

    As `LatticeMechanism`, for statistics that are crossed classes (`Structure` "margins"), with one weight for all cells in an
    l1 norm. axis: which of the published margins has the classes that are drawn on their sums, the rows; the others are
    balanced. Construction certifies `||v||_1 weight <= b` for every protected change and raises `NotPrivate` otherwise.
    """

    format = "dp-designer/row-mechanism"
    spec_form = SpecForm(
        Named(
            "row_mechanism",
            record(
                {
                    "family": one_of(*sorted(ROW_FAMILIES)),
                    "workload": WORKLOAD,
                    "relation": OF_INVARIANTS,
                    "norm": NORM,
                    "axis": PLACE,
                },
                note=(
                    "A table with published margins plus integer noise: drawn on its sums over the classes of the margin `axis`"
                    ", and balanced over the others."
                ),
            ),
        ),
        LatticeMechanism.spec_form.parameters,
    )

    axis: int = 0

    def __post_init__(self) -> None:
        if self.family not in ROW_FAMILIES:
            raise InvalidProblem(
                f"family: {shown(self.family)} is unknown; use one of {sorted(ROW_FAMILIES)}.", value=self.family
            )
        _ = self.crossed
        super().__post_init__()
        if self.cells is not None or self.chain is not None or self.falloff != "exponential" or not self.law.equal_weights:
            raise InvalidProblem("norm: rows are drawn for one weight on all cells, exponential and exactly; give no others.")
        if self.norm.order != "l1":
            raise InvalidProblem(f"norm: rows are drawn for an l1 norm, not {self.norm.order}; give an l1 norm.")

    @property
    def crossed(self) -> Structure:
        """The classes of the published margins."""
        found = self.relation.invariant.structure
        if found is None or found.kind != "margins":
            raise NoFeasibleAttribute(
                f"{self.family}: serves margins of a table that share no feature; for classes without a second margin use "
                "lattice_laplace with shape='l1', for other statistics lattice_laplace or lattice_gaussian."
            )
        if not 0 <= count(self.axis, "axis", least=0) < len(found.levels):
            raise NoAttribute(f"axis: {self.axis} of {len(found.levels)} published margins; give one of them, from 0 on.")
        return found

    @cached_property
    def choice(self) -> LatticeChoice:
        """The sampler: every draw is kept."""
        crossed, rate = self.crossed, Fraction(float(self.norm.map[0]))
        sampler = BalancedRows(crossed.levels, crossed.repeats, rate, self.axis, crossed.order)
        return LatticeChoice("balanced rows", 1.0, sampler, ("Rows on their sums, margins balanced: nothing is rejected.",))

    def verify(self) -> PrivacyCertificate:
        return replace(super().verify(), theorem=THEOREM)

    @property
    def _rounding(self) -> float:
        """A bound of the covariance of what balancing rounds, along any direction: at most 1/4 in a cell, and alike in all."""
        places = [(self.crossed.size // level, level) for i, level in enumerate(self.crossed.levels) if i != self.axis]
        return sum(m * n / (4 * (m - 1) * (n - 1)) for m, n in places)

    @property
    def _summed(self) -> None:
        """The law is that of the norm on rows alone, so that no sum over the lattice has its moments."""

    @property
    def _cells(self) -> None:
        """Nor has any of its cells the law that the norm gives it on the lattice."""

    def standard_errors(self) -> Floats:
        return np.sqrt(self.query_variances())

    @property
    def error_source(self) -> ErrorSource:
        return super().error_source if self._mean_square is None else ErrorSource()

    @cached_property
    def _mean_square(self) -> float | None:
        return row_mean_square(self.crossed, self.axis, float(self.norm.map[0]))

    def _error_bounds(self) -> Floats:
        """Independent Laplace noise, and the most that rounding adds."""
        return error_bounds_of_rows(self, self._rounding)

    def _proven_margins(self, level: float) -> Floats:
        return margin_bounds_of_rows(self, self._rounding, len(self.crossed.levels) - 1, 1 - level)

    @property
    def _noise_facts(self) -> NoiseFacts:
        return NoiseFacts("proven bounds of noise that is drawn row by row and balanced", False, self.relation.size)

    def covariance(self) -> Floats:
        """Covariance of the noise in the K answers: computed for a table of two margins, simulated for others."""
        mean = self._mean_square
        if mean is None:
            return super().covariance()
        rest = self.crossed.projected(self.workload.dense())
        return np.asarray(rest @ rest.T * (mean / self.dimension))

    def query_variances(self) -> Floats:
        """Variance of each answer, computed or simulated as `covariance` is."""
        mean = self._mean_square
        if mean is None:
            return super().query_variances()
        return np.asarray(np.square(self.crossed.projected(self.workload.dense())).sum(axis=1) * (mean / self.dimension))

    def _statement(self) -> Guarantee:
        return replace(
            super()._statement(),
            mechanism=(
                f"Family {self.family}: integer noise z = y - w on a table with published margins, P(y) proportional to "
                f"exp(-||y||) on tables whose slices along margin {self.axis} sum to 0, ||y|| an l1 norm, w an integer table "
                "with the margins of y that depends on them alone."
            ),
        )

    def core(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "workload": workload_to_spec(self.workload),
            "relation": self.relation.to_spec(),
            "norm": norm_to_spec(self.norm),
            "axis": self.axis,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> RowMechanism:
        require_keys(core, keys(cls.spec_form.core), "mechanism")
        return cls(
            family=core["family"],
            workload=workload_from_spec(core["workload"]),
            relation=relation_from_spec(core["relation"]),  # type: ignore[arg-type]  # the constructor checks it
            norm=norm_from_spec(core["norm"]),
            axis=core["axis"],
        )


def row_mean_square(crossed: Structure, axis: int, rate: float) -> float | None:
    """`E |z|_2^2` of two margins with a cell for each combination, a float right to about 1e-9; None for other tables.

    With R rows of C cells, y_ij of variance V, and f the fractional part of a column's mean: `(R - 1) C V + R C E f (1 - f)`.
    The covariance is this over (R - 1)(C - 1) times the projection onto the lattice: rows and columns are exchangeable.
    """
    if len(crossed.levels) != 2 or crossed.repeats != 1:
        return None
    rows, columns = crossed.levels[axis], crossed.levels[1 - axis]
    moments = ZeroSumMoments(columns, rate)
    return columns * math.fsum([(rows - 1) * moments.variance, rows * moments.rounding(rows)])
