"""Sums with noise that is not Gaussian: Laplace noise with a pure budget, and noise whose loss grows slowly with the record.

What they cost, and what they cost beside Gaussian sums: docs/theory/tables.md, section 7.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import assign, rational, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import (
    COUNT,
    POSITIVE,
    RATIONAL,
    SIGNED_RATIONAL,
    ClosedList,
    Named,
    either,
    exactly,
    list_of,
    number,
    of_kind,
    one_of,
    record,
)
from designer.limits import LARGEST_QUANTILE_RHO, MOST_QUANTILE_CANDIDATES
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.sampling.integer_samplers import SMALLEST_RATE
from designer.tables.condition import Condition
from designer.tables.exact_sums import amounts
from designer.tables.measure import Measure, Rational
from designer.tables.policies.plain_policies import LaplaceSums
from designer.tables.policies.policies import AsZcdp, ConstantPolicy
from designer.tables.policies.policy import Policy
from designer.tables.policies.slow_policies import StudentNoise, TransformedNoise
from designer.tables.queries import ASKED, Aggregated, OfMeasure, Query, with_value
from designer.tables.unit_splitting import quotient
from designer.tradeoff.conversions import rho_of_laplace
from solvers.exact.rational import float_below, root_below

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy
    from designer.selection.mechanism import Selection


ROUNDED_UP = 1 + Fraction(1, 2**50)  # losses are rounded up to floats; the bounds of split rows are above that


@dataclass(frozen=True)
class OtherNoise(OfMeasure, Aggregated):
    """A sum whose noise is of a law of its own. All of them cost zCDP (`loss`), some a pure budget (`pure_policy`)."""

    measure: Measure = None  # type: ignore[assignment]  # required; behind `where`, which is not

    def __post_init__(self) -> None:
        self.require_measure()
        super().__post_init__()

    @property
    @abstractmethod
    def pure_policy(self) -> Policy | None:
        """The most that a log-likelihood ratio can be, as a function of the measured record; None where it has no bound."""

    @abstractmethod
    def rho_policy(self) -> Policy:
        """The zCDP policy of records that count."""

    @abstractmethod
    def row_rate(self, threshold: Fraction) -> Fraction:
        """rho with `loss <= rho m^2` for every record of m rows of at most the threshold."""

    @abstractmethod
    def noisy(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """The confidential numbers of steps of groups enter, noisy integers come out."""

    @abstractmethod
    def estimates(self, noisy: Sequence[int]) -> Floats:
        """The sums, from noisy integers alone."""

    @property
    @abstractmethod
    def grid(self) -> Fraction | None:
        """What noisy integers are multiples of; None where they are no multiples of sums."""

    @abstractmethod
    def noise_variance(self) -> float | None:
        """The variance of an estimate; None where it depends on the sum."""

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        return self._cost(self.rho_policy(), record)

    def pure_loss(self, record: Mapping[str, Any]) -> Fraction:
        """The pure budget that a public or hypothetical record costs.

        record: by the names of its columns.
        """
        if self.pure_policy is None:
            raise InvalidProblem(f"noise: that of {self.name!r} has no pure budget; ask for its loss in zCDP.")
        return self._cost(self.pure_policy, record)

    def _cost(self, policy: Policy, record: Mapping[str, Any]) -> Fraction:
        size = self.amount(record) * self.step
        return Fraction(0) if self.group_of(record) is None else policy.exact({self.measure.column: size})

    def sentence(self) -> str:
        pure = "" if self.pure_policy is None else f" (pure: {self.pure_policy.sentence()})"
        return (
            f"{self.name}: SUM {self.measure.sentence()} {self.condition_words()}, {self.law_words()}, loss "
            f"{self.rho_policy().sentence()}{pure}"
        )

    @abstractmethod
    def law_words(self) -> str:
        """The noise in words."""

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "measure": self.measure.to_spec()}


@dataclass(frozen=True)
class PureSum(OtherNoise):
    """`SUM(measure)` with discrete Laplace noise. A record of value x, clipped and rounded by its measure, changes no
    likelihood by more than `exp(|x| / scale)`. It costs `e - (1 - exp(-e)) r / sinh(r)` of zCDP, e = |x| / scale, r that of one
    step (docs/theory/tradeoff.md, 9).

    scale: of the noise, in the unit of the answer; T / epsilon is the scale at which a row of size T costs epsilon.

    >>> from designer.tables.groups import Groups
    >>> total = PureSum("total", Groups(), measure=Measure("emp"), scale=100)
    >>> total.pure_loss({"emp": 50}), float(total.loss({"emp": 50})) <= 0.125
    (Fraction(1, 2), True)
    """

    scale: Rational = Fraction(0)  # type: ignore[assignment]
    kind = "pure_sum"
    schema = of_kind("query", kind, {**ASKED, "measure": Measure.schema, "scale": RATIONAL}, "A sum with Laplace noise.")

    def __post_init__(self) -> None:
        super().__post_init__()
        scale = rational(self.scale, "scale")
        if not 0 < scale * SMALLEST_RATE <= self.step:
            raise InvalidProblem(
                f"scale: {shown(float(scale))} is not above 0, and at most 2^55 steps of {self.step}.", value=scale
            )
        assign(self, scale=scale)

    @property
    def pure_policy(self) -> LaplaceSums:
        return LaplaceSums({self.measure.column: self.scale})

    def rho_policy(self) -> AsZcdp:
        """`e - (1 - exp(-e)) r / sinh(r)`."""
        return AsZcdp(self.pure_policy, self._rate)

    def row_rate(self, threshold: Fraction) -> Fraction:
        """That of one row: over m^2, the cost of m rows falls with m."""
        return rho_of_laplace(threshold / self.scale, self._rate) * ROUNDED_UP

    @property
    def _rate(self) -> Fraction:
        """What one step costs at most."""
        return self.step / self.scale

    @property
    def _law(self) -> DiscreteLaplace:
        return DiscreteLaplace([self._rate])

    def noisy(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        noise = self._law.draw(len(exact), entropy).ravel().tolist()
        return tuple(number + z for number, z in zip(exact, noise, strict=True))

    def draws(self, size: int, entropy: Entropy) -> Floats:
        count = len(self.groups.keys or ())
        drawn = self._law.draw(size * count, entropy).reshape(size, count)
        return np.asarray(drawn * float(self.step), dtype=np.float64)

    def estimates(self, noisy: Sequence[int]) -> Floats:
        return amounts(noisy, self.step)

    @property
    def grid(self) -> Fraction:
        return self.step

    def noise_variance(self) -> float:
        return float(self._law.variance()[0]) * float(self.step) ** 2

    def law_words(self) -> str:
        return f"discrete Laplace noise of scale {self.scale}"

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "scale": str(self.scale)}


STUDENT = record({"law": exactly("student"), "scale": RATIONAL, "power": COUNT})
GAUSSIAN = record({"law": exactly("gaussian"), "shape": one_of("log", "root"), "offset": RATIONAL, "deviation": RATIONAL})
SLOW = Named("slow_noise", either(STUDENT, GAUSSIAN))


@dataclass(frozen=True)
class SlowlyScaledSum(OtherNoise):
    """`SUM(measure)` with a loss that grows like a logarithm, or like a root, of the record.

    noise: `StudentNoise`, heavy tails on the sum itself, a pure budget of `2 power asinh(|x| / (2 scale))`. Or
    `TransformedNoise`, Gaussian noise on a logarithm or a root of the sum, where a negative sum counts as 0.

    >>> from designer.tables.groups import Groups
    >>> total = SlowlyScaledSum("total", Groups(), measure=Measure("pay"), noise=StudentNoise.of_deviation(1000))
    >>> [round(float(total.pure_loss({"pay": pay})), 2) for pay in (100, 10**4, 10**6)]
    [0.2, 9.25, 27.63]
    """

    noise: StudentNoise | TransformedNoise = None  # type: ignore[assignment]  # required, too
    kind = "slow_sum"
    schema = of_kind("query", kind, {**ASKED, "measure": Measure.schema, "noise": SLOW}, "A sum with slowly growing loss.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.noise, (StudentNoise, TransformedNoise)):
            raise InvalidProblem(f"noise: {shown(self.noise)}; give a StudentNoise or a TransformedNoise.", value=self.noise)

    @property
    def pure_policy(self) -> Policy | None:
        return self.noise.policy(self.measure.column) if isinstance(self.noise, StudentNoise) else None

    def rho_policy(self) -> Policy:
        """That of Gaussian noise on the transformed sum, or what the pure one is under zCDP."""
        return AsZcdp(self.pure_policy) if self.pure_policy else self.noise.policy(self.measure.column)

    def row_rate(self, threshold: Fraction) -> Fraction:
        """A record of m T moves at most m (T + step), or m (f(T) + step): asinh is below its argument, f is concave."""
        noise = self.noise
        if isinstance(noise, StudentNoise):
            return (noise.power * (threshold + noise.step) / noise.scale) ** 2 / 2 * ROUNDED_UP
        return ((noise.moves(threshold) + 1) * noise.step / noise.deviation) ** 2 / 2

    def noisy(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        return self.noise.noisy_each([number * self.step for number in exact], entropy)

    def estimates(self, noisy: Sequence[int]) -> Floats:
        return np.array([self.noise.estimate(number) for number in noisy])

    @property
    def grid(self) -> Fraction | None:
        return self.noise.step if isinstance(self.noise, StudentNoise) else None

    def noise_variance(self) -> float | None:
        return self.noise.standard_deviation() ** 2 if isinstance(self.noise, StudentNoise) else None

    def law_words(self) -> str:
        noise = self.noise
        if isinstance(noise, StudentNoise):
            return f"Student noise of scale {noise.scale} and {2 * noise.power - 1} degrees of freedom"
        return f"Gaussian noise of deviation {noise.deviation} on its {noise.shape} with offset {noise.offset}"

    def to_spec(self) -> dict[str, Any]:
        law = "student" if isinstance(self.noise, StudentNoise) else "gaussian"
        return {**super().to_spec(), "noise": {"law": law, **self.noise.to_spec()}}


def slow_noise_from_spec(spec: Any) -> StudentNoise | TransformedNoise:
    """The noise of a slowly scaled sum, one of two kinds, from plain data."""
    return LAWS.read(spec)


LAWS: ClosedList[StudentNoise | TransformedNoise] = ClosedList(
    "noise",
    {
        "student": (STUDENT, lambda spec: StudentNoise(spec["scale"], spec["power"])),
        "gaussian": (GAUSSIAN, lambda spec: TransformedNoise(spec["shape"], spec["offset"], spec["deviation"])),
    },
    key="law",
)


# Quantiles by group through ordinary zCDP, before any splitting: the exponential mechanism over a public grid of candidates.


@dataclass(frozen=True)
class Quantile(Query):
    """The q-quantile of a measure in each group, as one of some public candidates; every record of a group costs `rho` of zCDP.

    Candidate g scores `-max(0, q n - #{x <= g}, #{x < g} - q n)` for n records. That is 0 where a share q is at most g and a
    share 1 - q at least g, however many records equal g. The exponential mechanism with budget epsilon is `epsilon^2 / 8`-zCDP
    (bounded range; docs/theory/tables.md, 3), so `epsilon = sqrt(8 rho)`, rounded down.
    candidates: rising, whole numbers of steps. The groups are public and disjoint, so rho is the cost of all of them together.
    Records whose value is missing (NULL, NaN) are in no quantile and cost nothing;
    who wants them as zeros fills them in the table.
    """

    measure: Measure = None  # type: ignore[assignment]  # required; behind `where`, which is not
    q: float = 0.5
    candidates: tuple[Fraction, ...] = ()
    rho: Fraction = Fraction(0)
    rate: float | None = None
    kind = "quantile"
    schema = of_kind(
        "query",
        kind,
        {
            **ASKED,
            "measure": Measure.schema,
            "q": number(above=0, below=1),
            "candidates": list_of(SIGNED_RATIONAL, least=2),
            "rho": RATIONAL,
            "rate": POSITIVE,
        },
        "One of the candidates, chosen by the exponential mechanism with `rate`, whose loss is at most rho.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.measure, Measure) or self.groups.keys is None:
            raise InvalidProblem("measure, groups: a quantile needs a Measure and public groups.")
        q = float(rational(self.q, "q"))
        if not 0 < q < 1:
            raise InvalidProblem(f"q: {shown(self.q)} is not between 0 and 1.", value=self.q)
        exact = tuple(rational(g, "candidates") for g in self.candidates)
        units = [g / self.measure.step for g in exact]
        if not 2 <= len(units) <= MOST_QUANTILE_CANDIDATES or any(u.denominator != 1 or abs(u) > 2**52 for u in units):
            raise InvalidProblem(
                f"candidates: give 2 to {MOST_QUANTILE_CANDIDATES} whole numbers of steps of {self.measure.step}."
            )
        if not all(low < high for low, high in pairwise(units)):
            raise InvalidProblem("candidates: must rise.")
        rho = rational(self.rho, "rho")
        if not 0 < rho <= LARGEST_QUANTILE_RHO:
            raise InvalidProblem(f"rho: {float(rho)!r} is not above 0, and at most 10^6.", value=rho)
        assign(self, q=q, candidates=exact, rho=rho)
        assign(self, rate=self.choice.rate)

    @cached_property
    def choice(self) -> Selection:
        """The selection among the candidates, certified for a record that appears;
        its universe is the cells below, at and between the candidates, in rising order."""
        from designer.problem.workload import Workload
        from designer.relations import metrics
        from designer.selection.mechanism import Selection, best_selection
        from designer.selection.scores import RankError

        cells = np.arange(2 * len(self.candidates) + 1)
        at_most, below = (cells < 2 * np.arange(len(self.candidates))[:, None] + past for past in (2, 1))
        excess = np.vstack([np.where(at_most, self.q - 1, self.q), np.where(below, 1 - self.q, -self.q)])
        forms = Workload(excess, queries=[f"{g}{side}" for side in ("", " below") for g in self.candidates])
        relation = metrics.add_remove(len(cells), float_below(root_below(8 * self.rho)))
        if self.rate is None:
            return best_selection(RankError(forms), relation)
        return Selection(RankError(forms), relation, self.rate)

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        counted = [condition.meets(record) for condition in self.population]
        return self.rho if self.group_of(record) is not None and all(counted) else Fraction(0)

    @property
    def population(self) -> tuple[Condition, ...]:
        """What a record must meet to be in the quantile: the conditions, and to have a value."""
        return with_value(self.where, self.measure)

    def rho_policy(self) -> ConstantPolicy:
        """The same cost for every record."""
        return ConstantPolicy(self.rho)

    def cell(self, table: Any) -> Any:
        """The place of a record, 0 .. 2 R: how many candidates are below it, and how many at most it. By divisions where the
        candidates are equally far apart, by a balanced tree of comparisons elsewhere."""
        import ibis

        units = self.measure.expression(table)
        whole = [int(g / self.measure.step) for g in self.candidates]
        apart = whole[1] - whole[0]
        largest = max(map(abs, whole)) + max(map(abs, self.measure.bounds)) + apart + 1
        if all(high - low == apart for low, high in pairwise(whole)) and largest < 2**53:
            below, at_most = (_even_cell(units, first, apart, len(whole)) for first in (whole[0], whole[0] - 1))
            return below + at_most
        bounds = sorted(bound for g in whole for bound in (g - 1, g))

        def place(low: int, high: int) -> Any:
            if low == high:
                return ibis.literal(low, "int64")
            middle = (low + high) // 2
            return (units <= bounds[middle]).ifelse(place(low, middle), place(middle + 1, high))

        return place(0, len(bounds))

    def sentence(self) -> str:
        return (
            f"{self.name}: quantile {self.q} of the present values of {self.measure.sentence()} {self.condition_words()}, "
            f"among {len(self.candidates)} public candidates, loss {self.rho}"
        )

    def to_spec(self) -> dict[str, Any]:
        own = {"q": self.q, "candidates": [str(g) for g in self.candidates], "rho": str(self.rho), "rate": self.rate}
        return {**super().to_spec(), "measure": self.measure.to_spec(), **own}


def _even_cell(units: Any, first: int, apart: int, most: int) -> Any:
    """How many of `most` bounds first, first + apart, ... are below u: `ceil((u - first) / apart)`, at least 0, at most all.

    Sizes stay below 2^53, so that the quotient is right however the engine divides (docs/theory/tables.md, 5)."""
    import ibis

    above = ibis.greatest(units - first + (apart - 1), ibis.literal(0, "int64"))
    return ibis.least(quotient(above, ibis.literal(apart, "int64")), ibis.literal(most, "int64"))
