"""Unit splitting for a design: thresholds of least policy, proven,
and the split of rho over queries that goes with any thresholds.

The noise is that of the design: `sigma_af` for measure a and family f. Thresholds T make it the noise of
`rho = sum_a q_a T_a^2` on split rows, `q_a = sum_f 1 / (2 sigma_af^2)`, so `P(r) = (c + rho) m(r)^2`,
`m = max(1, max_a ceil(r_a / T_a))`, where c is what one split row costs the queries that count split rows (private partition
selection). The exact policy of the same noise, `c m^2 + sum_a q_a r_a^2`, is never above it, because `r_a <= T_a m`. Without
such queries thresholds change the published bound only; with them they change the loss: small thresholds multiply split rows,
large ones charge every record for the noise (docs/theory/record_design.md, 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from designer.base.arrays import Floats, Immutable
from designer.base.checks import count, positive, shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.certified.guarantee import Optimality
from designer.tables.policies.design import RecordDesign
from designer.tables.policies.policies import ConstantPolicy, Splitting, SumOfPolicies
from designer.tables.policies.targets import COUNT, PriorRecords
from solvers.programs.ceiling_product import CeilingProduct, least_product


@dataclass(frozen=True, eq=False)
class SplitDesign(Immutable):
    """Thresholds for the noise of a design. `split_rows` is c above, `rho` what the sums cost one split row,
    `unsplit` the counts of records."""

    design: RecordDesign
    thresholds: Mapping[str, float]
    split_rows: float = 0.0
    optimality: Optimality | None = None

    def __post_init__(self) -> None:
        missing = set(split_measures(self.design)) ^ set(self.thresholds)
        if missing:
            raise InvalidProblem(
                f"thresholds: {shown(sorted(missing))} is missing or not summed; give one for each summed measure."
            )
        assign(self, thresholds={a: positive(T, f"thresholds[{a!r}]") for a, T in self.thresholds.items()})

    @property
    def shares(self) -> dict[str, Floats]:
        """For each summed measure (F,), `T^2 / (2 sigma^2)`: its queries' parts of `rho`."""
        return {a: T**2 / 2 * self.design.charged[self.design.row(a)] for a, T in self.thresholds.items()}

    @property
    def rho(self) -> float:
        """What one split row costs the sums together."""
        return float(sum(share.sum() for share in self.shares.values()))

    @property
    def unsplit(self) -> float:
        """What a record costs the counts of records, asked before splitting."""
        return constant_loss(self.design)

    def policy(self) -> SumOfPolicies:
        """The published policy: splitting for everything asked on split rows,
        and a constant for the counts of records before."""
        exact = self.design.policy()
        loss = Fraction(self.split_rows) + sum(Fraction(T) ** 2 / (2 * exact.variances[a]) for a, T in self.thresholds.items())
        split = Splitting(loss, {a: Fraction(T) for a, T in self.thresholds.items()})
        return SumOfPolicies((ConstantPolicy(exact.constant), split))

    def rows(self, records: PriorRecords) -> Floats:
        """(K,), `m`: the split rows of public records."""
        ratios = [records.column(a) / T for a, T in self.thresholds.items()]
        return np.asarray(np.maximum(1.0, np.ceil(np.max(ratios, axis=0))))

    @property
    def value(self) -> float:
        """The functional of the splitting policy over the whole prior."""
        return self.design.prior.combine(self.losses(self.design.prior))

    @property
    def exact_value(self) -> float:
        """The same of the exact policy, which describes the same release."""
        return self.design.prior.combine(self.exact_losses(self.design.prior))

    def losses(self, records: PriorRecords) -> Floats:
        """(K,) losses under the splitting policy."""
        return np.asarray(self.unsplit + (self.split_rows + self.rho) * self.rows(records) ** 2)

    def exact_losses(self, records: PriorRecords) -> Floats:
        """(K,) losses under the exact policy: split rows are charged only for the queries that count them."""
        return np.asarray(self.design.losses(records) + self.split_rows * self.rows(records) ** 2)


def split_measures(design: RecordDesign) -> tuple[str, ...]:
    """The measures that are summed, in order."""
    return tuple(name for name in design.measures if name != COUNT)


def constant_loss(design: RecordDesign) -> float:
    """What every record pays for the counts of records."""
    return float(design.charged[design.row(COUNT)].sum() / 2) if COUNT in design.measures else 0.0


def design_thresholds(
    design: RecordDesign,
    *,
    split_rows: float = 0.0,
    most_rows: int = 1000,
    points: int = 200,
    tolerance: float = 0.01,
) -> SplitDesign:
    """The thresholds of least functional of the splitting policy over the design's prior, to a proven relative gap.

    split_rows: c, 0 where nothing counts split rows. most_rows: no prior record may be split into more. points: sums over more
    prior records are solved on that many, grouped by size, and the bound then speaks of those alone.
    """
    if not design.uniform:
        raise InvalidProblem(
            "design: noise differs between groups; design the thresholds of each group from a design of its own."
        )
    measures = split_measures(design)
    if not measures:
        raise InvalidProblem("design: has counts of records only; nothing is split.")
    values, weights = _fewer(design.prior, measures, count(points, "points"))
    squares = np.array([design.charged[design.row(a)].sum() / 2 for a in measures])
    product = CeilingProduct(values, weights, squares, split_rows, constant_loss(design), design.prior.largest)
    high = values.max(axis=0)
    solution = least_product(product, high / count(most_rows, "most_rows"), high, tolerance=tolerance)
    words = f"{design.prior.form} of weight times splitting policy over {len(values)} prior records"
    optimality = Optimality(words, solution.value, solution.lower_bound, f"{solution.method}, {solution.iterations} boxes")
    return SplitDesign(design, dict(zip(measures, solution.point.tolist(), strict=True)), split_rows, optimality)


def _fewer(prior: PriorRecords, measures: tuple[str, ...], points: int) -> tuple[Floats, Floats]:
    """The records, or groups of records next to each other in size,
    each with its largest values: an upper estimate of the sum."""
    values = np.stack([prior.column(a) for a in measures], axis=1)
    if not values.any(axis=0).all():
        raise InvalidProblem("prior: some summed measure is 0 in every record; give records with positive values.")
    if prior.largest or len(values) <= points:
        return values, prior.weights
    scale = values.max(axis=0)
    order = np.argsort((values / scale).max(axis=1), kind="stable")
    # Half of the groups hold equal numbers of records, half single out the largest ones, which decide the sum.
    ends = np.unique(
        np.concatenate([np.linspace(0, len(order), points // 2), len(order) - np.geomspace(1, len(order), points // 2)]).astype(
            int
        )
    )
    groups = [part for part in np.split(order, ends[1:-1]) if len(part)]
    return np.array([values[part].max(axis=0) for part in groups]), np.array([prior.weights[part].sum() for part in groups])
