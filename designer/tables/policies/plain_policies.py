"""Per-record privacy policies in closed form, and their compositions (Seeman et al., sections 3 to 5; docs/theory/records.md).

>>> split = Splitting("1/2", {"emp": 50, "payroll": 5_000_000})
>>> split.exact({"emp": 150, "payroll": 10_000_000})
Fraction(9, 2)
>>> GaussianSums({"emp": 50**2}).exact({"emp": 150})
Fraction(9, 2)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import checked
from designer.tables.policies.policy import (
    Amounts,
    Columns,
    Policy,
    Read,
    Unit,
    bracketed,
    column,
    length,
    magnitude,
    magnitudes,
    measure,
    parameter,
    parameters,
    raised,
    require_unit,
)
from solvers.exact.rational import float_above, root_above


@dataclass(frozen=True)
class ConstantPolicy(Policy):
    """`P(r) = loss`: ordinary zCDP (Lemma 5.6) or pure privacy under adding and removing a record.

    loss: of every record, at least 0. in_unit: "zcdp" or "pure".
    """

    loss: Fraction = field(metadata=checked(parameter, zero=True))
    in_unit: Unit = field(default="zcdp", metadata=checked(require_unit))
    kind = "constant"

    @property
    def attributes(self) -> tuple[str, ...]:
        return ()

    @property
    def unit(self) -> Unit:
        return self.in_unit

    def exact(self, record: Mapping[str, object]) -> Fraction:
        return self.loss

    def __call__(self, columns: Columns) -> Floats:
        return np.full(length(columns), float_above(self.loss))

    def expression(self, table: Any) -> Any:
        import ibis

        return ibis.literal(float(self.loss))

    def sentence(self) -> str:
        return f"{self.loss}"

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(spec["loss"], spec["in_unit"])


@dataclass(frozen=True)
class Splitting(Policy):
    """`P(r) = loss m^2`, or `loss m` in unit "pure", with `m = max(1, ceil(max_a |r_a| / T_a))`
    rows after splitting (Lemma 5.1).

    `loss` is what one split row costs all queries on the split table together. A record of size 0 is still one row.

    thresholds: T_a, for each measure by name. loss: of one split row. in_unit: "zcdp" or "pure".
    """

    loss: Fraction = field(metadata=checked(parameter, zero=True))
    thresholds: Mapping[str, Fraction] = field(metadata=checked(Amounts))
    in_unit: Unit = field(default="zcdp", metadata=checked(require_unit))
    kind = "splitting"

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self.thresholds)

    @property
    def unit(self) -> Unit:
        return self.in_unit

    @property
    def power(self) -> int:
        """How the loss grows with the rows: 2 for zCDP, 1 for pure privacy."""
        return 2 if self.in_unit == "zcdp" else 1

    def splits(self, record: Mapping[str, object]) -> int:
        """`m`, the number of rows that a record is split into."""
        return max(1, *(math.ceil(magnitude(record, a) / T) for a, T in self.thresholds.items()), 1)

    def exact(self, record: Mapping[str, object]) -> Fraction:
        return self.of_rows(self.splits(record))

    def of_rows(self, m: int) -> Fraction:
        """The loss of a record that becomes m rows."""
        return self.loss * (m * m if self.power == 2 else m)

    def __call__(self, columns: Columns) -> Floats:
        rows = np.ones(length(columns))
        for attribute, threshold in self.thresholds.items():
            rows = np.maximum(rows, ceilings(column(columns, attribute), threshold))
        loss = float_above(self.loss)
        with np.errstate(over="ignore"):
            losses = rows**self.power * loss
            # A product of integers below 2^53 is exact, so losses that are floats stay what they are;
            # one row always costs `loss`.
            digits = float((self.loss.numerator & -self.loss.numerator) or 1)
            exact = (Fraction(loss) == self.loss) & (rows**self.power * (float(self.loss.numerator) / digits) < 2.0**53)
        return np.where(exact | (rows == 1), losses, raised(losses, 3))

    def expression(self, table: Any) -> Any:
        import ibis

        m = ibis.literal(1.0)
        for attribute, T in self.thresholds.items():
            size = measure(table, attribute)
            exact = T.numerator < 2**53 and T.denominator < 2**53
            quotient = size * float(T.denominator) / float(T.numerator) if exact else size / float(T)
            # Engines round up to a 64-bit integer; a quotient of 2^53 or more is an integer already.
            m = ibis.greatest(m, ibis.least(quotient, 2.0**53).ceil().cast("float64"), quotient)
        return (m * m if self.power == 2 else m) * float(self.loss)

    def sentence(self) -> str:
        ratios = ", ".join(f"|{attribute}| / {bracketed(T)}" for attribute, T in self.thresholds.items())
        return f"{self.loss} * max(1, ceil(max({ratios})))" + ("^2" if self.power == 2 else "")

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(spec["loss"], spec["thresholds"], spec["in_unit"])


@dataclass(frozen=True)
class NoisySums(Policy):
    """What independent noise on sums of attributes and on counts of records costs:
    `P(r) = sum_a (|r_a| u_a)^p + sum_c u_c^p`."""

    power: ClassVar[int]

    @property
    @abstractmethod
    def amounts(self) -> Mapping[str, Fraction]:
        """The noise parameter of each summed attribute."""

    @property
    @abstractmethod
    def counts(self) -> tuple[Fraction, ...]:
        """The noise parameters of the counts."""

    @staticmethod
    @abstractmethod
    def weight(amount: Fraction) -> Fraction:
        """`u^p` for a noise parameter."""

    @staticmethod
    @abstractmethod
    def term(measure: str, amount: Fraction) -> str:
        """The loss of one sum, in words."""

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self.amounts)

    @property
    def constant(self) -> Fraction:
        """The part that every record pays: that of the counts."""
        return sum(map(self.weight, self.counts), Fraction(0))

    def exact(self, record: Mapping[str, object]) -> Fraction:
        losses = (magnitude(record, a) ** self.power * self.weight(amount) for a, amount in self.amounts.items())
        return self.constant + sum(losses, Fraction(0))

    def __call__(self, columns: Columns) -> Floats:
        total = np.full(length(columns), float_above(self.constant))
        with np.errstate(over="ignore"):
            for a, amount in self.amounts.items():
                sizes = magnitudes(column(columns, a))
                root = self.weight(amount) if self.power == 1 else root_above(self.weight(amount))
                # Tiny measures count as 2^-500: their squares would underflow to no loss at all.
                total += np.maximum(sizes * float_above(root), np.where(sizes > 0, 2.0**-500, 0.0)) ** self.power
            return raised(total, 8 + len(self.amounts))

    def expression(self, table: Any) -> Any:
        import ibis

        total = ibis.literal(float(self.constant))
        for attribute, amount in self.amounts.items():
            size = measure(table, attribute)
            total = total + (size * size if self.power == 2 else size) * float(self.weight(amount))
        return total

    def sentence(self) -> str:
        summed = [self.term(attribute, amount) for attribute, amount in self.amounts.items()]
        return " + ".join(summed + [self.term("1", amount) for amount in self.counts]) or "0"


@dataclass(frozen=True)
class GaussianSums(NoisySums):
    """`P(r) = sum_a r_a^2 / (2 v_a) + sum_c 1 / (2 v_c)`: Gaussian noise of variance v_a on sums of a,
    v_c on counts of records.

    It is the exact loss of that mechanism, and never above that of `Splitting` for it: `T_a^2 / (2 v_a) = rho_a` gives
    `sum_a rho_a (r_a / T_a)^2 <= (sum_a rho_a) m^2`. A variance, not a deviation,
    because calibrated ones are `T^2 / (2 rho)`, rational.

    variances: v_a, for each measure by name. counts: v_c, one for each count of records.
    """

    variances: Mapping[str, Fraction] = field(metadata=checked(Amounts))
    counts: tuple[Fraction, ...] = field(default=(), metadata=checked(parameters))
    kind = "gaussian_sums"
    power = 2

    @classmethod
    def of_deviations(cls, sigmas: Mapping[str, object], counts: Sequence[object] = ()) -> Self:
        """From standard deviations.

        sigmas: standard deviations by measure. counts: standard deviations of counts of records.
        """
        variances = {name: sigma**2 for name, sigma in Amounts(sigmas, "sigmas").items()}
        return cls(variances, tuple(sigma**2 for sigma in parameters(counts, "counts")))

    @property
    def amounts(self) -> Mapping[str, Fraction]:
        return self.variances

    @staticmethod
    def weight(amount: Fraction) -> Fraction:
        return 1 / (2 * amount)

    @staticmethod
    def term(measure: str, amount: Fraction) -> str:
        return f"{measure if measure == '1' else measure + '^2'} / {bracketed(2 * amount)}"

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(spec["variances"], spec["counts"])


@dataclass(frozen=True)
class LaplaceSums(NoisySums):
    """`P(r) = sum_a |r_a| / b_a + sum_c 1 / b_c`, unit "pure": Laplace noise of scale b_a on sums of a,
    b_c on counts of records."""

    scales: Mapping[str, Fraction] = field(metadata=checked(Amounts))
    counts: tuple[Fraction, ...] = field(default=(), metadata=checked(parameters))
    kind = "laplace_sums"
    power = 1

    @property
    def unit(self) -> Unit:
        return "pure"

    @property
    def amounts(self) -> Mapping[str, Fraction]:
        return self.scales

    @staticmethod
    def weight(amount: Fraction) -> Fraction:
        return 1 / amount

    @staticmethod
    def term(measure: str, amount: Fraction) -> str:
        return f"{measure if measure == '1' else f'|{measure}|'} / {bracketed(amount)}"

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(spec["scales"], spec["counts"])


def ceilings(values: NDArray[Any], threshold: Fraction) -> Floats:
    """`ceil(|values| / threshold)`, exact below 2^50 and rounded up beyond.

    With threshold p / q and |r| q an integer below 2^53, as p: the quotient of two such floats never rounds up or down to an
    integer. It is at least 1 / p away from one where it is none, and that is more than half a unit in its last place. Other
    quotients are settled as rationals, where their rounding error leaves the ceiling open.
    values: (n,). Returns (n,).
    """
    sizes, p, q = magnitudes(values), threshold.numerator, threshold.denominator
    converted = (
        values.dtype.kind not in "biuf" or values.dtype.itemsize > 8
    )  # so that an integer may be what a fraction was rounded to
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = sizes * min(float(q), 2.0**53)
        whole = (sizes == np.rint(sizes)) & (scaled < 2.0**53) & (p < 2**53 and not converted)
        quotient = sizes * float_above(1 / threshold)
        result = np.where(whole, np.ceil(scaled / min(float(p), 2.0**53)), np.ceil(quotient * (1 + 2.0**-50)))
    result = np.where(sizes > 0, np.maximum(result, 1.0), 0.0)  # a quotient may underflow
    open_ = ~whole & (np.ceil(quotient * (1 - 2.0**-50)) != result) & (quotient < 2.0**50)
    for i in np.flatnonzero(open_).tolist():
        result[i] = math.ceil(magnitude({"": values[i]}, "") / threshold)
    return result
