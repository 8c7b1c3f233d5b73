"""Which of two promises is stronger, and what two releases promise together.

`f >= g` everywhere is decided at finitely many places. Where f is piecewise linear: at its corners, because g is convex and
lies below its own chords. Where g is: by its segments,
because f >= a line of slope -s means `delta_f(log s) <= 1 - height`. Two Gaussians: by mu. Laplace noise: where beta = alpha.
What is decided exactly: docs/theory/tradeoff.md, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats
from designer.base.checks import checked, rational_from, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import RATIONAL, ClosedList, Named, either, of_kind, spec_of
from designer.tradeoff.breakpoints import Kinks
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Group, LaplaceTradeoff, Tradeoff
from designer.tradeoff.piecewise import PiecewiseLinear
from designer.tradeoff.response_mixture import ResponseMixture
from solvers.exact.balls import exp_ball, float_above_real, normal_cdf, rational_ball, sign

if TYPE_CHECKING:
    from flint import arb


class Strength(Enum):
    """The verdict on a pair of promises."""

    EQUAL = "The two promises are the same."
    STRONGER = "The first promise implies the second, and not the other way round."
    WEAKER = "The second promise implies the first, and not the other way round."
    INCOMPARABLE = "Neither promise implies the other."


@dataclass(frozen=True)
class StrengthComparison:
    """A verdict, and type I errors that witness it: where the first function is above the second, and where it is below."""

    order: Strength
    above_at: float | Fraction | None
    below_at: float | Fraction | None


def compare_tradeoffs(first: Tradeoff, second: Tradeoff) -> StrengthComparison:
    """Find the order of two tradeoff functions, with witnesses; exact for rational corners.

    With irrational numbers, differences below the first 4096 bits count as ties.

    Parameters
    ----------
    first : one tradeoff function.
    second : the other.

    >>> from designer.tradeoff.functions import EpsilonDelta
    >>> [compare_tradeoffs(EpsilonDelta(1), other).order.name for other in (EpsilonDelta(2), Gaussian.of(1))]
    ['STRONGER', 'INCOMPARABLE']
    """
    below, above = shortfall(first, second), shortfall(second, first)
    if below is None:
        return StrengthComparison(Strength.EQUAL if above is None else Strength.STRONGER, above, None)
    return StrengthComparison(Strength.WEAKER if above is None else Strength.INCOMPARABLE, above, below)


def shortfall(first: Tradeoff, second: Tradeoff) -> float | Fraction | None:
    """A type I error at which the first function is below the second,
    or None where it is nowhere: then the first promise implies the second."""
    if first == second:
        return None
    if isinstance(first, PiecewiseLinear) and isinstance(second, PiecewiseLinear):
        return next((alpha for alpha, beta in first.points if beta < second.exact(alpha)), None)
    if first.kinks() is not None:
        return _at_corners(first, second)
    if second.kinks() is not None and isinstance(first, (Gaussian, LaplaceTradeoff)):
        return _at_segments(first, second)
    if isinstance(first, Gaussian) and isinstance(second, Gaussian):
        return None if first.mu_squared <= second.mu_squared else 0.5
    if isinstance(first, LaplaceTradeoff) and isinstance(second, (Gaussian, LaplaceTradeoff)):
        return _at_fixed_point(first, second)
    if isinstance(first, Gaussian) and isinstance(second, LaplaceTradeoff):
        return None if first.trivial else _steep(first, second)
    raise InvalidProblem(f"first: {first.sentence()} cannot be compared with {second.sentence()}; give two of one kind.")


def _corner(tradeoff: Tradeoff, place: int) -> tuple[arb, arb]:
    kinks = tradeoff.kinks()
    assert kinks is not None
    return kinks[min(place, len(kinks) - 1)]


def _corners(tradeoff: Tradeoff) -> int:
    kinks = tradeoff.kinks()
    assert kinks is not None
    return len(kinks)


def _at_corners(first: Tradeoff, second: Tradeoff) -> float | None:
    def excess(place: int) -> arb:
        alpha, beta = _corner(first, place)
        return beta - second.ball(alpha, 1 - alpha)

    for place in range(_corners(first)):
        if sign(lambda place=place: excess(place)) < 0:  # type: ignore[misc]
            return float(_corner(first, place)[0])
    return None


def _at_segments(first: Gaussian | LaplaceTradeoff, second: Tradeoff) -> float | None:
    def line(place: int) -> tuple[arb, arb]:
        (left, high), (right, low) = _corner(second, place), _corner(second, place + 1)
        slope = (high - low) / (right - left)
        return slope, high + slope * left

    def slack(place: int) -> arb:
        slope, height = line(place)
        return 1 - height - first.delta_ball(slope)

    for place in range(_corners(second) - 1):
        if float(line(place)[0]) > 0 and sign(lambda place=place: slack(place)) < 0:  # type: ignore[misc]
            return _touching(first, line(place)[0])
    return None


def _touching(function: Gaussian | LaplaceTradeoff, slope: arb) -> float:
    """Where a function touches its tangent of slope -s."""
    if isinstance(function, Gaussian):  # at `Phi(-log(s) / mu - mu / 2)`
        mu = function.mu_ball()
        return 0.5 if function.trivial else float(normal_cdf(-slope.log() / mu - mu / 2))
    alpha = float((exp_ball(-function.epsilon) / slope).sqrt() / 2)
    return min(0.5, max(alpha, float(exp_ball(-function.epsilon) / 2)))


def _at_fixed_point(first: LaplaceTradeoff, second: Gaussian | LaplaceTradeoff) -> float | None:
    """Enough against Laplace noise: where `alpha beta` is constant for it, it is largest for normal noise at beta = alpha."""
    fixed = float(first.fixed_point())
    return fixed if sign(lambda: first.fixed_point() - second.fixed_point()) < 0 else None


def _steep(first: Gaussian, second: LaplaceTradeoff) -> float:
    """A type I error so small that a normal function, which falls without bound there, is below one that does not."""
    found = 2.0**-4
    while not first.power(found) > second.power(found) and found > 1e-300:
        found /= 16
    return found


def compose(first: Tradeoff, second: Tradeoff) -> Tradeoff:
    """The tensor product, exactly: two Gaussians (`mu^2` add) or two piecewise linear functions. Others: see `Account` in
    `designer.tradeoff.account`.

    >>> compose(Gaussian.of(3), Gaussian.of(4)) == Gaussian.of(5)
    True
    """
    if isinstance(first, Gaussian) and isinstance(second, Gaussian):
        return Gaussian(first.mu_squared + second.mu_squared)
    if isinstance(first, PiecewiseLinear) and isinstance(second, PiecewiseLinear):
        return first @ second
    raise InvalidProblem(
        f"first: {first.sentence()} and {second.sentence()} have no exact composition here; use `Account` "
        "(designer.tradeoff.account), which bounds it from both sides."
    )


# The closed list of tradeoff functions, and how one is read from plain data.
#
# Promises of releases from a random sample: each record is drawn by itself with the same probability (Poisson sampling).
#
# Derivation: docs/theory/tradeoff.md, section 10.


@dataclass(frozen=True)
class Subsampled(Tradeoff):
    """`rate beta(alpha) + (1 - rate) (1 - alpha)`: a record that is there is drawn with probability `rate`, independently.

    The null is the absence of the record, and base is the promise for it to appear among the sampled ones, in that direction.
    It is not symmetric: its inverse is the promise for a record that disappears, and `Account` covers both.
    """

    kind = "subsampled"

    base: Tradeoff
    rate: Fraction = field(metadata=checked(rational_from, 0, 1))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.base, Tradeoff) or isinstance(self.base, Subsampled):
            raise InvalidProblem(
                f"base: {shown(self.base)} is not a tradeoff function of a release that sees every record of the sample; "
                "of two samples, one within the other, give the product of the rates.",
                value=self.base,
            )

    @property
    def _missed(self) -> Fraction:
        return 1 - self.rate

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        return np.asarray(float(self.rate) * self.base._floats(alpha, complement) + float(self._missed) * complement)

    def power(self, alpha: ArrayLike) -> Floats:
        given = np.asarray(alpha, dtype=np.float64)
        return np.asarray(float(self.rate) * self.base.power(given) + float(self._missed) * given)

    def ball(self, alpha: arb, complement: arb) -> arb:
        value: arb = rational_ball(self.rate) * self.base.ball(alpha, complement) + rational_ball(self._missed) * complement
        return value

    def kinks(self) -> Kinks | None:
        base, rate, missed = self.base.kinks(), rational_ball(self.rate), rational_ball(self._missed)
        return None if base is None else tuple((alpha, rate * beta + missed * (1 - alpha)) for alpha, beta in base)

    def delta_ball(self, slope: arb) -> arb:
        """`rate delta(t)` at `t = (slope - 1 + rate) / rate`, and `1 - slope` where t is negative."""
        plain: arb = (1 - slope).nonnegative_part()
        if self.rate == 0:
            return plain
        rate = rational_ball(self.rate)
        inner = (slope - 1) / rate + 1
        if inner > 0:
            gap: arb = rate * self.base.delta_ball(inner)
            return gap
        return plain if inner <= 0 else plain.union(rate)

    @property
    def symmetric(self) -> bool:
        return self.trivial or (self.rate == 1 and self.base.symmetric)

    @property
    def trivial(self) -> bool:
        return self.rate == 0 or self.base.trivial

    @property
    def piecewise(self) -> bool:
        return self.base.piecewise

    def largest_loss(self) -> Fraction | None:
        most = self.base.largest_loss()
        return None if most is None else min(most, Fraction(sampled_epsilon(most, self.rate)))

    def loss_unit(self) -> Fraction | None:
        return self.largest_loss()

    def certain_ball(self) -> arb:
        certain: arb = rational_ball(self.rate) * self.base.certain_ball()
        return certain

    def unseen_ball(self) -> arb:
        return self.base.unseen_ball() if self.rate == 1 else rational_ball(Fraction(0))

    def to_spec(self) -> dict[str, Any]:
        return spec_of(self, SUBSAMPLED)

    def sentence(self) -> str:
        return f"{self.base.sentence()}, of records that are each sampled with probability {float(self.rate)!r}"


def sampled_epsilon(epsilon: object, rate: object) -> float:
    """Find what sampling each record with probability `rate` makes of (epsilon, delta):
    `(log(1 + rate (e^epsilon - 1)), rate delta)`, in both directions; the first number, rounded up.

    For records that appear or disappear (Li, Qardaji and Su 2012, Theorem 1).

    Parameters
    ----------
    epsilon : of the release about its sample.
    rate : the probability of each record, in [0, 1].
    """
    power, share = rational_from(epsilon, "epsilon", 0), rational_from(rate, "rate", 0, 1)
    if power > 1 << 30 or share == 1:
        return float_above_real(lambda: rational_ball(power)) if share else 0.0
    return float_above_real(lambda: (rational_ball(share) * (exp_ball(power) - 1)).log1p())


def poisson_subsampled(
    promise: Tradeoff, rate: object, relation: Literal["add_remove", "replace_one"] = "add_remove"
) -> Tradeoff:
    """State the promise of a release that sees a Poisson sample, for records that appear or disappear.

    Refused (`InvalidProblem`): records that are replaced by others: no such simple pair is proven for them.

    Parameters
    ----------
    promise : of the release about its sample.
    rate : the probability of each record, in [0, 1].
    relation : "add_remove"; "replace_one" is refused.
    """
    if relation != "add_remove":
        raise InvalidProblem(
            f"relation: {shown(relation)}; sampling is proven to amplify here only for records that appear or disappear "
            '("add_remove"). Replacing one is removing one and adding one: `EpsilonDelta(sampled_epsilon(epsilon, rate), '
            "rate * delta).group(2)` is promised then.",
            value=relation,
        )
    share = rational_from(rate, "rate", 0, 1)
    if isinstance(promise, Subsampled):
        return poisson_subsampled(promise.base, share * promise.rate)
    return promise if share == 1 else Subsampled(promise, share)


SYMMETRIC = (
    EpsilonDelta.schema,
    Gaussian.schema,
    LaplaceTradeoff.schema,
    PiecewiseLinear.schema,
    Group.schema,
    ResponseMixture.schema,
)
TRADEOFFS = Named("tradeoff", either(*SYMMETRIC))
SUBSAMPLED = of_kind("tradeoff", Subsampled.kind, {"base": TRADEOFFS, "rate": RATIONAL}, "Poisson sampling before it.")


def tradeoff_from_spec(spec: Any) -> Tradeoff:
    """The tradeoff function of plain data, from a closed list of kinds."""
    return KINDS.read(spec)


KINDS: ClosedList[Tradeoff] = ClosedList(
    "tradeoff",
    {
        "epsilon_delta": (EpsilonDelta.schema, lambda spec: EpsilonDelta(spec["epsilon"], spec["delta"])),
        "gaussian": (Gaussian.schema, lambda spec: Gaussian(spec["mu_squared"])),
        "laplace": (LaplaceTradeoff.schema, lambda spec: LaplaceTradeoff(spec["epsilon"])),
        "piecewise_linear": (
            PiecewiseLinear.schema,
            lambda spec: PiecewiseLinear(tuple(spec["alphas"]), tuple(spec["betas"])),
        ),
        "group": (Group.schema, lambda spec: Group(tradeoff_from_spec(spec["base"]), spec["size"])),
        "response_mixture": (ResponseMixture.schema, lambda spec: ResponseMixture(spec["unit"], tuple(spec["weights"]))),
        "subsampled": (SUBSAMPLED, lambda spec: Subsampled(tradeoff_from_spec(spec["base"]), spec["rate"])),
    },
)
