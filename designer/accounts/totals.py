"""Totals: the most that all releases of one data set may cost together, in one notion, as exact rationals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

from designer.base.arrays import Immutable
from designer.base.checks import assign, rational_from, shown
from designer.base.display import rounded
from designer.base.errors import InvalidLedger, InvalidProblem
from designer.base.progress import announce
from designer.tradeoff.costs import Cost, TotalCost

NOTHING = Fraction(0)
HALVINGS = 60  # of an interval, until it is a small part of its end
FINE, COARSE = Fraction(1, 2**20), Fraction(1, 2**7)
ANNOUNCED = 20  # releases from which on adding them up tightly may take seconds
WRITTEN = re.compile(r"[0-9]{1,60}(\.[0-9]{1,60})?[eE][-+]?[0-9]{1,3}")


@dataclass(frozen=True)
class Total(Immutable):
    """What may be spent: `epsilon` of pure privacy; `epsilon` and `delta`; or `rho` of zero-concentrated privacy.

    Integers, fractions, floats (at their exact value) and texts such as "0.3", "1/3" or "1e-6". Raises `InvalidProblem`.

    epsilon: above 0. delta: between 0 and 1, with an epsilon. rho: above 0, alone.

    >>> Total(epsilon="0.3", delta="1e-6").delta
    Fraction(1, 1000000)
    """

    epsilon: Fraction | float | str | None = None
    delta: Fraction | float | str | None = None
    rho: Fraction | float | str | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidProblem("total: needs epsilon (with or without delta) or rho, one of them; give --epsilon or --rho.")
        if self.delta is not None and self.rho is not None:
            raise InvalidProblem("total.delta: goes with epsilon, not with rho; leave it out.")
        for field in ("epsilon", "delta", "rho"):
            if (given := getattr(self, field)) is not None:
                assign(self, **{field: exact_number(given, f"total.{field}")})
        if self.delta == 0:
            assign(self, delta=None)
        if self.delta is not None and not Fraction(self.delta) < 1:
            raise InvalidProblem(
                f"total.delta: {shown(str(self.delta))} is not below 1; give a small probability such as 1e-6.",
                value=self.delta,
            )

    @property
    def notion(self) -> str:
        """pure, zcdp or approximate."""
        return "zcdp" if self.rho is not None else "pure" if self.delta is None else "approximate"

    def covers(self, spent: TotalCost) -> bool:
        """Is all of this, proven and rounded up, within the total? What takes longer to prove is tried last."""
        if self._allows(self.measured(spent, precise=False)):
            return True
        if self.delta is None:
            return False
        if spent.releases > ANNOUNCED:
            announce(f"ledger: adding up {spent.releases} releases as tightly as can be")
        return self._allows(self.measured(spent))

    def _allows(self, value: Fraction | None) -> bool:
        return value is not None and value <= self.limit

    @property
    def limit(self) -> Fraction:
        """What `measured` must not exceed."""
        found = self.rho if self.rho is not None else self.epsilon if self.delta is None else self.delta
        return Fraction(found if found is not None else 0)

    def measured(self, spent: TotalCost, *, precise: bool = True) -> Fraction | None:
        """What is spent in terms of the total: epsilon, rho, or the delta at its epsilon; None where there is none.

        precise: for deltas, see `TotalCost.delta_at`.
        """
        if self.rho is not None:
            return spent.rho
        return spent.epsilon if self.delta is None else Fraction(spent.delta_at(self.epsilon, precise=precise))

    def left(self, spent: TotalCost) -> dict[str, Fraction | None]:
        """A further release of each notion that would be covered, rounded down; None where not even a free one is.

        pure: its epsilon. zcdp: its rho. The largest there is; of totals with a delta, the largest that is proven quickly.
        """
        return {"pure": self._most(spent, Cost.pure), "zcdp": self._most(spent, Cost.concentrated)}

    @property
    def _edge(self) -> Fraction:
        """What is too little to look for beyond a plain sum: 1 in 65,536 of the total."""
        return Fraction((self.epsilon if self.rho is None else self.rho) or 0) / 2**16

    def _most(self, spent: TotalCost, maker: Callable[[Fraction], Cost]) -> Fraction | None:
        quick = self._allows(self.measured(spent, precise=False))

        def covered(size: Fraction) -> bool:
            return self._allows(self.measured(spent.with_one_more(maker(size)), precise=not quick))

        if not covered(NOTHING):
            return None
        sums = (self.rho, spent.rho) if self.rho is not None else (self.epsilon, spent.epsilon)
        plain = Fraction(sums[0] or 0) - (sums[1] or NOTHING)
        if plain >= 0 and covered(plain) and not covered(plain + self._edge):
            return plain
        bound = Fraction(self.epsilon if self.epsilon is not None else 2 + 2 * self.limit)
        return _largest(covered, bound, FINE if quick else COARSE)

    def to_dict(self) -> dict[str, str | None]:
        """Plain data, exact."""
        return {name: None if (value := getattr(self, name)) is None else str(value) for name in ("epsilon", "delta", "rho")}

    @classmethod
    def from_dict(cls, data: Any) -> Total:
        """From the plain data of an entry."""
        if not isinstance(data, Mapping) or set(data) != {"epsilon", "delta", "rho"}:
            raise InvalidLedger(
                f"total: {shown(data)} has not exactly the keys epsilon, delta, rho; the entry was not written by this "
                "program.",
                value=data,
            )
        return cls(**data)

    def to_text(self) -> str:
        """A phrase."""
        parts = {name: getattr(self, name) for name in ("epsilon", "delta", "rho")}
        return ", ".join(f"{name} {decimal_text(value)}" for name, value in parts.items() if value is not None)


def _largest(holds: Callable[[Fraction], bool], bound: Fraction, width: Fraction) -> Fraction:
    """The largest number up to a bound for which something holds, and so for all smaller ones; below it by a relative width."""
    if holds(bound):
        return bound
    low, high = NOTHING, bound
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
        if low and high - low <= low * width:
            break
    return low


def exact_number(value: object, field: str) -> Fraction:
    """A rational of at least 0 from a number, or from a text in which an exponent may stand."""
    if isinstance(value, str) and WRITTEN.fullmatch(value):
        value = Fraction(Decimal(value))
    return rational_from(value, field, 0)


def decimal_text(value: Fraction, *, up: bool = True, digits: int = 6) -> str:
    """A rational as a decimal of so many digits, rounded up, or down; exactly where that takes at most 12 of them.

    >>> decimal_text(Fraction(3, 10)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(1, 3), up=False)
    ('0.3', '0.333334', '0.333333')
    """
    exact = rounded(value, 12, ROUND_CEILING)
    found = exact if Fraction(exact) == value else rounded(value, digits, ROUND_CEILING if up else ROUND_FLOOR)
    return f"{found:f}" if found == 0 or -5 < found.adjusted() < 12 else f"{found:e}"
