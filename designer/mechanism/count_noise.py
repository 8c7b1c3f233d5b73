"""Two laws of counts in closed form: by the number of records that move, and independent ones under (epsilon, delta).

Proofs: docs/theory/staircase.md, 7 and 8.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import count, rational, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.run_length import in_runs, numbers_from, or_runs
from designer.base.schema import COUNT, DELTA, POSITIVE_VECTOR, RATIONAL, keys, of_kind
from designer.limits import LARGEST_STAIR_UNIT
from designer.mechanism.noise import variances_along
from designer.mechanism.staircase_noise import Difference, DrawnNoise
from designer.sampling.entropy import Entropy, SeededEntropy
from designer.sampling.finite_law import TruncatedGeometric
from designer.sampling.integer_laplace import ZeroSum, chance_of_move
from designer.tradeoff.delta_rule import checked_delta
from solvers.lattices.cell_laws import l1_weight, law_of_cell

SIMULATED_DRAWS = 100_000
ROUNDED = 1e-8  # a bound of the probability that sums in floats leave out


class DrawnCounts(DrawnNoise):
    """Noise whose coordinates have known laws: exact for an answer that hears one of them; for others variances are exact,
    margins Chebyshev's bound, and mean absolute values simulated to about 0.3 %."""

    @abstractmethod
    def laws(self) -> tuple[list[Floats], NDArray[np.intp]]:
        """The probabilities of 0, 1, 2, ..., of both signs together, of each kind of coordinate, and the kinds of all, (s,)."""

    @cached_property
    def _laws(self) -> tuple[tuple[Floats, ...], NDArray[np.intp]]:
        known, places = self.laws()
        return tuple(map(frozen, known)), frozen(places)

    def tight(self, rows: Floats) -> bool:
        return bool((np.count_nonzero(rows, axis=1) <= 1).all())

    def mean_absolutes(self, rows: Floats) -> Floats:
        known, places = self._laws
        found = np.abs(rows) @ np.array([float(np.arange(len(law)) @ law) for law in known])[places]
        if (several := np.count_nonzero(rows, axis=1) > 1).any():
            drawn = self.draw(max(1, SIMULATED_DRAWS // (1 + len(places) // 16)), SeededEntropy(0))
            found[several] = np.abs(drawn @ rows[several].T).mean(axis=0)
        return np.asarray(found)

    def margins(self, rows: Floats, beyond: float) -> Floats:
        found = np.sqrt(self.variances(rows) / beyond)
        known, places = self._laws
        tails = [np.append(np.cumsum(law[:0:-1])[::-1], 0.0) + ROUNDED for law in known]
        reached = np.array([float((tail > beyond).argmin()) if tail[-1] <= beyond else math.inf for tail in tails])[places]
        single = np.count_nonzero(rows, axis=1) == 1
        with np.errstate(invalid="ignore"):
            found[single] = np.minimum(found[single], np.nanmax(np.abs(rows[single]) * reached, axis=1, initial=0.0))
        return np.asarray(found)


@dataclass(frozen=True)
class Moves:
    """Noise z in counts of `cells` classes that adds up to 0, `P(z)` proportional to `exp(-unit m(z))`, `m(z) = |z|_1 / 2` the
    number of records that have to move for z."""

    unit: Fraction
    cells: int
    kind = "moves"
    delta = None
    schema = of_kind(
        "noise",
        "moves",
        {"unit": RATIONAL, "cells": COUNT},
        note="exp(-unit m), m the number of records that move, on whole numbers that add up to 0.",
    )

    def __post_init__(self) -> None:
        count(self.cells, "noise.cells", least=2)
        if not 0 < self.unit <= LARGEST_STAIR_UNIT:
            raise InvalidProblem(f"noise.unit: {float(self.unit)} is not from 0 to 2^10; choose other budgets.")
        ZeroSum(self.cells, self.unit / 2)

    @property
    def dimension(self) -> int:
        """The number of counts."""
        return self.cells

    def over(self, moved: Sequence[Difference]) -> DrawnMoves:
        """The law, whatever the differences are; those that do not add up to 0 are refused."""
        drawn = DrawnMoves(self, ZeroSum(self.cells, self.unit / 2))
        if not all(map(drawn.reaches, moved)):
            raise InvalidProblem(
                "noise: some protected difference does not add up to 0; measure the counts of disjoint classes."
            )
        return drawn

    @property
    def coset(self) -> tuple[list[int], NDArray[Any] | None]:
        """0, and rows that generate all vectors that add up to 0."""
        rows = np.zeros((self.cells - 1, self.cells), dtype=object)
        rows[:, 1:] -= np.eye(self.cells - 1, dtype=object)
        rows[:, :-1] += np.eye(self.cells - 1, dtype=object)
        return [0] * self.cells, rows

    @property
    def sentence(self) -> str:
        """The law in words."""
        return (
            f"P(z) proportional to exp(-{float(self.unit)!r} m) on whole vectors z of {self.cells} counts that add up to 0, m "
            "the number of records that move"
        )

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "unit": self.unit, "cells": self.cells}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Moves:
        """From plain data."""
        require_keys(spec, keys(cls.schema), "noise")
        return cls(rational(spec["unit"], "noise.unit"), spec["cells"])


@dataclass(frozen=True)
class DrawnMoves(DrawnCounts):
    """Moves with their sampler."""

    noise: Moves
    sampler: ZeroSum

    def reaches(self, u: Difference) -> bool:
        return not sum(u.steps)

    def costs(self, moved: Sequence[Difference]) -> list[int]:
        return [sum(step for step in u.steps if step > 0) for u in moved]

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return self.sampler.draw(size, entropy)

    def laws(self) -> tuple[list[Floats], NDArray[np.intp]]:
        found = law_of_cell((self.noise.cells,), *l1_weight(float(self.noise.unit) / 2))
        if found is None:
            raise InvalidProblem(
                f"noise.unit: {float(self.noise.unit):.3g} is too small for a table of the law of a count; raise the budgets, "
                "or use capped_l1."
            )
        half = found.masses[len(found.masses) // 2 :].copy()
        half[1:] *= 2
        return [half], np.zeros(self.noise.cells, dtype=np.intp)

    def variances(self, rows: Floats) -> Floats:
        """The law is the same for all orders of the counts: `sum_k (r_k - mean r)^2` times `K / (K - 1)` variances of one."""
        (law,), cells = self._laws[0], self.noise.cells
        apart = rows - rows.mean(axis=1, keepdims=True)
        return np.asarray((apart**2).sum(axis=1) * float(np.arange(len(law)) ** 2 @ law) * cells / (cells - 1))

    def chances_of_losses(self, moved: Sequence[Difference]) -> Floats | None:
        if max(self.costs(moved)) > 1:
            return None
        return np.array([chance_of_move(self.noise.cells, self.noise.unit)])


@dataclass(frozen=True)
class Truncated:
    """Independent noise in counts, each of the least tails that (rate, delta) allows where one step is protected; see
    `designer.sampling.finite_law.TruncatedGeometric`."""

    rates: tuple[float, ...]
    delta: float
    kind = "truncated"
    unit = Fraction(1)  # of costs, which are rates
    coset = None
    schema = of_kind(
        "noise",
        "truncated",
        {"rates": or_runs(POSITIVE_VECTOR), "delta": DELTA},
        note="Independent: P(z >= k + 1) = max(0, a (P(z >= k) - delta)), a = exp(-rate), P(z >= 1) = a (1 - delta) / (1 + a).",
    )

    def __post_init__(self) -> None:
        checked_delta(self.delta, "noise.delta")
        if not self.rates or not all(type(rate) is float and 0 < rate <= LARGEST_STAIR_UNIT for rate in self.rates):
            raise InvalidProblem(
                f"noise.rates: {shown(self.rates[:4])} are not all numbers from 0 to 2^10; give one for each count.",
                value=self.rates,
            )

    @property
    def dimension(self) -> int:
        """The number of counts."""
        return len(self.rates)

    def over(self, moved: Sequence[Difference]) -> DrawnTruncated:
        """The law, whatever the differences are; those that move several counts, or one by several steps, are refused."""
        rate = {rate: TruncatedGeometric(Fraction(rate), Fraction(self.delta)) for rate in dict.fromkeys(self.rates)}
        drawn = DrawnTruncated(self, MappingProxyType(rate))
        if not all(map(drawn.reaches, moved)):
            raise InvalidProblem(
                "noise: some protected difference moves several counts, or one by several steps; a delta is proven for one "
                "step of one count."
            )
        return drawn

    @property
    def sentence(self) -> str:
        """The law in words."""
        low, high = min(self.rates), max(self.rates)
        told = repr(low) if low == high else f"from {low!r} to {high!r}"
        return (
            "independent even coordinates with P(z >= 1) = a (1 - delta) / (1 + a) and P(z >= k + 1) = max(0, a (P(z >= k) - "
            f"delta)), a = exp(-rate), delta {self.delta!r}, rates {told}"
        )

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "rates": in_runs(list(self.rates)), "delta": self.delta}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Truncated:
        """From plain data."""
        require_keys(spec, keys(cls.schema), "noise")
        rates = numbers_from(spec["rates"], "noise.rates")
        return cls(tuple(rates.tolist() if isinstance(rates, np.ndarray) else rates), spec["delta"])


@dataclass(frozen=True)
class DrawnTruncated(DrawnCounts):
    """Truncated laws with their samplers, by rate."""

    noise: Truncated
    samplers: Mapping[float, TruncatedGeometric]

    def reaches(self, u: Difference) -> bool:
        return sum(map(abs, u.steps)) == 1

    def costs(self, moved: Sequence[Difference]) -> list[Fraction]:
        return [Fraction(max(rate for rate, step in zip(self.noise.rates, u.steps, strict=True) if step)) for u in moved]

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        drawn = np.empty((size, self.noise.dimension), dtype=np.int64)
        rates = np.array(self.noise.rates)
        for rate, sampler in self.samplers.items():
            alike = np.flatnonzero(rates == rate)
            drawn[:, alike] = sampler.draw(size * len(alike), entropy).reshape(size, -1)
        return drawn

    def laws(self) -> tuple[list[Floats], NDArray[np.intp]]:
        kinds, places = np.unique(self.noise.rates, return_inverse=True)
        halves = [
            self.samplers[rate].masses * np.append(1.0, np.full(self.samplers[rate].reach, 2.0)) for rate in kinds.tolist()
        ]
        return halves, places.ravel()

    def variances(self, rows: Floats) -> Floats:
        known, places = self._laws
        return variances_along(rows, np.array([float(np.arange(len(law)) ** 2 @ law) for law in known])[places])
