"""The closed list of tradeoff functions, and how one is read from plain data.

Promises of releases from a random sample: each record is drawn by itself with the same probability (Poisson sampling).

Derivation: docs/theory/tradeoff.md, section 10.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats
from designer.base.checks import rational_from, shown
from designer.base.declared import checked
from designer.base.errors import InvalidProblem
from designer.base.schema import RATIONAL, ClosedList, Named, either, of_kind
from designer.promises.kinks import Kinks
from designer.promises.laplace import LaplaceTradeoff
from designer.promises.piecewise import PiecewiseLinear
from designer.promises.tradeoff import EpsilonDelta, Gaussian, Group, Tradeoff
from solvers.exact.balls import exp_ball, float_above_real, rational_ball

if TYPE_CHECKING:
    from flint import arb


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
        return {"kind": self.kind, "base": self.base.to_spec(), "rate": str(self.rate)}

    def sentence(self) -> str:
        return f"{self.base.sentence()}, of records that are each sampled with probability {float(self.rate)!r}"


def sampled_epsilon(epsilon: object, rate: object) -> float:
    """Sampling each record with probability `rate` makes (epsilon, delta) of
    `(log(1 + rate (e^epsilon - 1)), rate delta)`, in both directions; the first number, rounded up.

    For records that appear or disappear (Li, Qardaji and Su 2012, Theorem 1).

    epsilon: of the release about its sample. rate: the probability of each record, in [0, 1].
    """
    power, share = rational_from(epsilon, "epsilon", 0), rational_from(rate, "rate", 0, 1)
    if power > 1 << 30 or share == 1:
        return float_above_real(lambda: rational_ball(power)) if share else 0.0
    return float_above_real(lambda: (rational_ball(share) * (exp_ball(power) - 1)).log1p())


def poisson_subsampled(
    promise: Tradeoff, rate: object, relation: Literal["add_remove", "replace_one"] = "add_remove"
) -> Tradeoff:
    """The promise of a release that sees a Poisson sample, for records that appear or disappear.

    promise: of the release about its sample. rate: the probability of each record, in [0, 1]. Refused (`InvalidProblem`):
    records that are replaced by others: no such simple pair is proven for them.
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


SYMMETRIC = (EpsilonDelta.schema, Gaussian.schema, LaplaceTradeoff.schema, PiecewiseLinear.schema, Group.schema)
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
        "subsampled": (SUBSAMPLED, lambda spec: Subsampled(tradeoff_from_spec(spec["base"]), spec["rate"])),
    },
)
