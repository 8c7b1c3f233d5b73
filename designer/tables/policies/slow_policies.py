"""Sums whose policy grows like a logarithm or a root of the record: noise on a transformed sum, or noise with heavy tails.

The idea of slowly scaling policies is that of Finley et al. (2024); mechanisms, grids and proofs here are those of
docs/theory/records.md, sections 5 and 6. Each mechanism is a frozen object with the policy it keeps, an exact sampler on a grid
fixed beforehand, and an estimate that is computed from the noisy integer alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from designer.base.arrays import Floats, Immutable
from designer.base.checks import Declared, assign, checked, count, positive, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import as_data
from designer.certificate.guarantee import Optimality
from designer.limits import LARGEST_TAIL_POWER
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_tails import DiscreteStudent
from designer.tables.policies.design import COUNT, PriorRecords, RecordDesign
from designer.tables.policies.policies import ConstantPolicy, Splitting, SumOfPolicies
from designer.tables.policies.policy import (
    Columns,
    Policy,
    Read,
    Unit,
    bracketed,
    column,
    magnitude,
    magnitudes,
    measure,
    parameter,
    raised,
)
from solvers.exact.balls import fraction_above, fraction_below, rational_ball
from solvers.exact.rational import float_above, root_above
from solvers.programs.budget_shares import CeilingProduct, least_product

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy


SlowShape = Literal["log", "root"]
FINENESS = 20  # the grid has at least 2^20 steps to the noise's scale
SLACK = Fraction(1, 2**150)  # two transformed numbers are each known to 2^-159


class SlowNoise(Declared, Immutable):
    """Noise in whole steps on sums of one measure, whose loss grows slowly with the record."""

    @abstractmethod
    def noisy_each(self, totals: Sequence[Fraction], entropy: Entropy) -> tuple[int, ...]:
        """Confidential sums enter, noisy steps come out, each with noise of its own."""

    def noisy(self, total: Fraction, entropy: Entropy) -> int:
        """The same of one sum."""
        return self.noisy_each([total], entropy)[0]

    def to_spec(self) -> dict[str, Any]:
        held: Any = self
        return {field.name: as_data(getattr(self, field.name)) for field in fields(held)}


@dataclass(frozen=True)
class TransformedNoise(SlowNoise):
    """Gaussian noise of standard deviation `deviation` on f(S) for a sum S >= 0, f concave, increasing and f(0) = 0.

    "log": `f(x) = log(1 + x / offset)`; the error of the estimate is in proportion to `S + offset`. "root": `f(x) = sqrt(x +
    offset) - sqrt(offset)`; it is in proportion to `sqrt(S + offset)`. A negative sum counts as 0.

    f(S) is rounded to a grid of steps of at most `2^-20 deviation`, in ball arithmetic,
    and the noise is an exact discrete Gaussian on it.

    shape: "log" or "root". offset: above 0, in the unit of the measure. deviation: above 0.

    >>> noise = TransformedNoise("log", 1000, "0.05")
    >>> [round(float(noise.policy("pay").exact({"pay": pay})), 1) for pay in (100, 10**4, 10**6)]
    [1.8, 1150.0, 9546.2]
    """

    shape: SlowShape
    offset: Fraction = field(metadata=checked(parameter))
    deviation: Fraction = field(metadata=checked(parameter))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape not in ("log", "root"):
            raise InvalidProblem(f"shape: {shown(self.shape)} is unknown; 'log' or 'root'.", value=self.shape)

    @property
    def step(self) -> Fraction:
        """The step of the grid, a power of two from `2^-22` to `2^-20` deviations."""
        return power_of_two_below(self.deviation) * Fraction(1, 1 << FINENESS)

    def policy(self, attribute: str) -> TransformedSum:
        """The zCDP policy of a sum of an attribute.

        attribute: the measure that is summed.
        """
        return TransformedSum(attribute, self)

    def moves(self, size: Fraction) -> int:
        """How many steps adding a record of that size moves any sum at most: `ceil(f(size) / step)`,
        one more where that is a tie."""
        return math.ceil(fraction_above(lambda: self._ball(size) / rational_ball(self.step)) + SLACK) if size else 0

    def place(self, total: Fraction) -> int:
        """The step next to f(total)."""
        if total <= 0:
            return 0
        return math.floor(fraction_below(lambda: self._ball(total) / rational_ball(self.step)) + Fraction(1, 2))

    def noisy_each(self, totals: Sequence[Fraction], entropy: Entropy) -> tuple[int, ...]:
        noise = DiscreteGaussian([(self.deviation / self.step) ** 2]).draw(len(totals), entropy).ravel().tolist()
        return tuple(self.place(Fraction(total)) + z for total, z in zip(totals, noise, strict=True))

    def estimate(self, step: int) -> float:
        """The sum, from a noisy step alone; unbiased up to the rounding of f(S): `E e^(sN) = e^(s^2 / 2)`,
        `E (m + sN)^2 = m^2 + s^2`."""
        z, variance, offset = float(step * self.step), float(self.deviation) ** 2, float(self.offset)
        if self.shape == "root":
            return (z + math.sqrt(offset)) ** 2 - variance - offset
        return offset * math.expm1(z - variance / 2)

    def standard_deviation(self, total: float) -> float:
        """Of the estimate of a sum: `(S + offset) sqrt(e^(s^2) - 1)`, or `sqrt(4 s^2 (S + offset) + 2 s^4)`.

        total: the sum that is asked for.
        """
        variance, shifted = float(self.deviation) ** 2, total + float(self.offset)
        if self.shape == "root":
            return math.sqrt(4 * variance * shifted + 2 * variance**2)
        return shifted * math.sqrt(math.expm1(variance))

    def transformed(self, sizes: Floats) -> Floats:
        """f of an array, as floats.

        sizes: (n,). Returns (n,).
        """
        offset = float(self.offset)
        if self.shape == "log":
            return np.log1p(sizes / offset)
        # Not a difference of roots: that of neighbours loses its digits.
        with np.errstate(invalid="ignore"):
            roots = sizes / (np.sqrt(sizes + offset) + math.sqrt(offset))
        return np.where(np.isinf(sizes), np.inf, roots)

    def _ball(self, size: Fraction) -> arb:
        x, offset = rational_ball(size), rational_ball(self.offset)
        ball: arb = (x / offset).log1p() if self.shape == "log" else x / ((x + offset).sqrt() + offset.sqrt())
        return ball


@dataclass(frozen=True)
class StudentNoise(SlowNoise):
    """Noise on a grid with weights `(scale^2 + z^2)^-power`: a Student law of `2 power - 1` degrees of freedom,
    variance `scale^2 / (2 power - 3)`.

    The likelihood ratio between z and z + r is at most `exp(2 power asinh(|r| / (2 scale)))`, the exact supremum over real z.

    scale: above 0, in the unit of the measure. power: a whole number of at least 2.

    >>> noise = StudentNoise.of_deviation(1000)
    >>> [round(float(noise.policy("pay").exact({"pay": pay})), 2) for pay in (100, 10**4, 10**6)]
    [0.2, 9.25, 27.63]
    """

    scale: Fraction = field(metadata=checked(parameter))
    power: int = field(default=2, metadata=checked(count, least=2))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power > LARGEST_TAIL_POWER:
            raise InvalidProblem(
                f"power: {self.power} is above {LARGEST_TAIL_POWER}; Gaussian noise is what it would come to.", value=self.power
            )

    @classmethod
    def of_deviation(cls, deviation: object, power: int = 2) -> Self:
        """With a given standard deviation, exceeded by less than 2^-79 of it.

        deviation: the standard deviation, above 0. power: a whole number of at least 2.
        """
        return cls(parameter(deviation, "deviation") * root_above(Fraction(2 * count(power, "power", least=2) - 3)), power)

    @property
    def step(self) -> Fraction:
        """The step of the grid, a power of two from `2^-21` to `2^-20` scales."""
        return power_of_two_below(self.scale) * Fraction(1, 1 << FINENESS)

    def policy(self, attribute: str) -> StudentSum:
        """The pure policy of a sum of an attribute.

        attribute: the measure that is summed.
        """
        return StudentSum(attribute, self)

    def moves(self, size: Fraction) -> int:
        """How many steps adding a record of that size moves any sum at most."""
        return math.ceil(size / self.step)

    def noisy_each(self, totals: Sequence[Fraction], entropy: Entropy) -> tuple[int, ...]:
        noise = DiscreteStudent(self.scale / self.step, self.power).draw(len(totals), entropy).tolist()
        places = (math.floor(Fraction(total) / self.step + Fraction(1, 2)) for total in totals)
        return tuple(place + z for place, z in zip(places, noise, strict=True))

    def estimate(self, step: int) -> float:
        """The sum, from a noisy step alone; unbiased where sums are multiples of the step, within half a step elsewhere."""
        return float(step * self.step)

    def standard_deviation(self, total: float = 0.0) -> float:
        """Of the estimate, the same for every sum."""
        return float(self.step) * math.sqrt(DiscreteStudent(self.scale / self.step, self.power).variance())


@dataclass(frozen=True)
class SlowSum(Policy):
    """The policy of one sum with the noise of one of the mechanisms above."""

    attribute: str
    mechanism: TransformedNoise | StudentNoise
    law: ClassVar[type[TransformedNoise | StudentNoise]]

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.attribute,)

    @abstractmethod
    def of_moves(self, moves: int) -> Fraction:
        """The loss of moving the sum by some steps."""

    def exact(self, record: Mapping[str, object]) -> Fraction:
        return self.of_moves(self.mechanism.moves(magnitude(record, self.attribute)))

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        require_keys(spec["mechanism"], {field.name for field in fields(cls.law)}, "policy.mechanism")
        return cls(spec["attribute"], cls.law(**spec["mechanism"]))


@dataclass(frozen=True)
class TransformedSum(SlowSum):
    """`P(r) = f(|r|)^2 / (2 deviation^2)` in unit "zcdp", f(|r|)
    in whole steps: `f(S + r) - f(S) <= f(r)` because f is concave with f(0) = 0."""

    mechanism: TransformedNoise
    kind: ClassVar[str] = "transformed_sum"
    law = TransformedNoise

    def of_moves(self, moves: int) -> Fraction:
        ratio = moves * self.mechanism.step / self.mechanism.deviation
        return ratio * ratio / 2

    def __call__(self, columns: Columns) -> Floats:
        sizes, noise = magnitudes(column(columns, self.attribute)), self.mechanism
        # Two steps more, relative to the deviation, are above any rounding up to whole steps;
        # the smallest records pay them in full.
        roots = raised(noise.transformed(sizes), 16) + 2 * float(noise.step)
        return np.where(sizes > 0, raised((roots / float(noise.deviation)) ** 2 / 2, 12), 0.0)

    def expression(self, table: Any) -> Any:
        size, offset = measure(table, self.attribute), float(self.mechanism.offset)
        roots = (size + offset).sqrt() + math.sqrt(offset)
        f = (1.0 + size / offset).ln() if self.mechanism.shape == "log" else size / roots
        return f * f * float(1 / (2 * self.mechanism.deviation**2))

    def sentence(self) -> str:
        x, noise = f"|{self.attribute}|", self.mechanism
        a = noise.offset
        f = f"log(1 + {x} / {bracketed(a)})" if noise.shape == "log" else f"(sqrt({x} + {a}) - sqrt({a}))"
        return f"{f}^2 / {bracketed(2 * noise.deviation**2)}, {f} rounded up to a multiple of {bracketed(noise.step)}"


@dataclass(frozen=True)
class StudentSum(SlowSum):
    """`P(r) = 2 power asinh(|r| / (2 scale))` in unit "pure", |r| in whole steps;
    `policies.AsZcdp` of it is the zCDP policy."""

    mechanism: StudentNoise
    kind: ClassVar[str] = "student_sum"
    law = StudentNoise

    @property
    def unit(self) -> Unit:
        return "pure"

    def of_moves(self, moves: int) -> Fraction:
        ratio = moves * self.mechanism.step / (2 * self.mechanism.scale)
        return fraction_above(lambda: 2 * self.mechanism.power * rational_ball(ratio).asinh()) if moves else Fraction(0)

    def __call__(self, columns: Columns) -> Floats:
        sizes, step = magnitudes(column(columns, self.attribute)), float(self.mechanism.step)
        # A power of two divides exactly; the size is rounded by 2^-53, and half a step lies in the scale's 2^-21.
        moves = np.ceil(sizes / step * (1 + 2.0**-51))
        losses = 2 * self.mechanism.power * np.arcsinh(moves * step * float_above(1 / (2 * self.mechanism.scale)))
        return np.where(sizes > 0, raised(losses, 16), 0.0)

    def expression(self, table: Any) -> Any:
        ratio = measure(table, self.attribute) * float(1 / (2 * self.mechanism.scale))
        return (ratio + (ratio * ratio + 1.0).sqrt()).ln() * float(2 * self.mechanism.power)

    def sentence(self) -> str:
        x, noise = f"|{self.attribute}|", self.mechanism
        size = f"{x} / {bracketed(2 * noise.scale)}"
        return f"{2 * noise.power} asinh({size}), {x} rounded up to a multiple of {bracketed(noise.step)}"


def power_of_two_below(number: Fraction) -> Fraction:
    """A power of two from a quarter of a positive number up to it, half of it unless the number is next to one.

    >>> power_of_two_below(Fraction(1000)), power_of_two_below(Fraction(1, 3))
    (Fraction(512, 1), Fraction(1, 4))
    """
    power: Fraction = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length())
    return power if power <= number else power / 2


# Unit splitting for a design: thresholds of least policy, proven, and the split of rho over queries that goes with any
# thresholds.
#
# The noise is that of the design: `sigma_af` for measure a and family f. Thresholds T make it the noise of `rho = sum_a q_a
# T_a^2` on split rows, `q_a = sum_f 1 / (2 sigma_af^2)`, so `P(r) = (c + rho) m(r)^2`, `m = max(1, max_a ceil(r_a / T_a))`,
# where c is what one split row costs the queries that count split rows (private partition selection). The exact policy of the
# same noise, `c m^2 + sum_a q_a r_a^2`, is never above it, because `r_a <= T_a m`. Without such queries thresholds change the
# published bound only; with them they change the loss: small thresholds multiply split rows, large ones charge every record
# for the noise (docs/theory/record_design.md, 4).


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
