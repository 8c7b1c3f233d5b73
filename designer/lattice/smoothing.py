"""Privacy that fades with distance under an invariant (INT Definition 2), what it says about records,
and what several releases keep.

`P(M(x) in S) <= e^(eps r) P(M(x') in S) + delta (e^(eps r) - 1) / (e^eps - 1)`, r = ||x - x'||, for all x,
x' with equal statistics.
Derivations: docs/theory/lattice.md, section 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from designer.base.checks import count, positive, shown
from designer.base.errors import InvalidProblem
from designer.lattice.mechanism import LatticeMechanism
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.statistics import Distance
from designer.tradeoff.conversions import smooth_epsilon
from solvers.exact.balls import float_above_real, rational_ball
from solvers.exact.rational import float_above, root_above

LARGEST_GROWTH = 1500  # a logarithm: the smallest delta grows beyond the floats


@dataclass(frozen=True)
class SmoothPrivacy:
    """(epsilon, delta) of INT Definition 2 in the l1 or l2 distance of histograms,
    for changes of length at least 1 (all integer ones).

    epsilon: at least 0. delta: from 0 to 1. distance: "l1" or "l2".
    """

    epsilon: float
    delta: float
    distance: Distance

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if isinstance(self.delta, bool) or not isinstance(self.delta, (int, float)) or not 0 <= self.delta < math.inf:
            raise InvalidProblem(f"delta: {shown(self.delta)} is no finite number of at least 0.", value=self.delta)
        if self.distance not in ("l1", "l2"):
            raise InvalidProblem(f"distance: {self.distance!r} is unknown; use 'l1' or 'l2'.", value=self.distance)

    def at(self, length: float) -> tuple[float, float]:
        """The epsilon and delta, as in ordinary (epsilon, delta)-privacy, for two databases that far apart.

        >>> tuple(round(v, 6) for v in SmoothPrivacy(0.25, 1e-6, "l1").at(4.0))
        (1.0, 6e-06)
        """
        if not 1 <= length < math.inf:
            raise InvalidProblem(f"length: {length!r}; different integer histograms are at least 1 apart.", value=length)
        return self._at(Fraction(length))

    def _at(self, length: Fraction) -> tuple[float, float]:
        """The same, both numbers rounded up; infinite beyond the floats."""
        epsilon, delta = Fraction(self.epsilon), Fraction(self.delta)
        if not delta or length == 1:
            return float_above(epsilon * length), float(self.delta)
        if epsilon * (length - 1) > LARGEST_GROWTH:
            return float_above(epsilon * length), math.inf
        grown = float_above_real(
            lambda: rational_ball(delta) * rational_ball(epsilon * length).expm1() / rational_ball(epsilon).expm1()
        )
        return float_above(epsilon * length), grown

    def for_records(self, records: int, replaced: bool = True) -> tuple[float, float]:
        """(epsilon, delta) for databases that differ in at most that many records, whichever they are: the Semi-DP adjacency.

        A replaced record moves 2 in l1, so epsilon is `2 a eps`; in l2 all may go from one cell to one other, `root 2 a`.
        Records added or removed move 1 each.
        """
        a = count(records, "records")
        squared = (4 if self.distance == "l1" else 2) if replaced else 1
        return self._at(root_above(Fraction(squared * a**2)))

    def within(self, relation: ChangeRelation) -> tuple[float, float]:
        """(epsilon, delta) for the changes that a relation lists: the longest of them that its invariant in fact leaves.

        Sharper than `for_records`: three records of a table with fixed margins move no more than root 6 in l2, not root 18.
        """
        changes = np.abs(relation.changes.astype(object))
        squared = changes.sum(axis=1) ** 2 if self.distance == "l1" else (changes**2).sum(axis=1)
        return self._at(root_above(Fraction(int(squared.max()))))


def smooth_privacy(mechanism: LatticeMechanism, delta: float = 0.0) -> SmoothPrivacy:
    """State what a mechanism with a budget per distance keeps in the form of INT Definition 2: (epsilon, delta) for databases
    one unit apart. Raises `InvalidProblem` for a mechanism without a budget per distance, and for Gaussian noise without a
    delta.

    Exponential noise: its epsilon, and no delta (INT Theorem 10), or the estimated one of a chain. Gaussian noise with budget b
    for every unit of distance, standard deviation 1/b: `epsilon = b root(2 log 1/delta) + b^2 / 2`
    for the delta asked for, whatever the dimension.

    Parameters
    ----------
    mechanism : with a budget per distance.
    delta : the probability at which epsilon is stated; Gaussian noise needs one above 0.
    """
    relation = mechanism.relation
    if not isinstance(relation, InvariantDistance):
        raise InvalidProblem("mechanism: has no budget per distance; design it under protect(epsilon, per_distance=...).")
    if mechanism.falloff == "gaussian":
        if not 0 < delta < 1:
            raise InvalidProblem(f"delta: {delta!r}; Gaussian noise needs one between 0 and 1.", value=delta)
        return SmoothPrivacy(smooth_epsilon(relation.epsilon, delta), delta, relation.distance)
    added = mechanism.guarantee.parameters.get("estimated_delta") or 0.0
    return SmoothPrivacy(relation.epsilon, max(delta, float(added)), relation.distance)


def composed_smooth(*parts: SmoothPrivacy) -> SmoothPrivacy:
    """Compose releases on databases that are equivalent for all of them: epsilons and deltas add (INT Proposition 6).

    The growth `(e^(eps r) - 1) / (e^eps - 1)` rises in eps for r >= 1, which integer histograms always are apart. Of different
    distances the l1 distance, which is the larger, serves all.

    parts: what each release keeps.
    """
    if not parts:
        raise InvalidProblem("parts: none is given; give at least one.")
    distance: Distance = "l2" if all(part.distance == "l2" for part in parts) else "l1"
    epsilon, delta = (
        sum(map(Fraction, each), Fraction(0)) for each in zip(*((p.epsilon, p.delta) for p in parts), strict=True)
    )
    return SmoothPrivacy(float_above(epsilon), float_above(delta), distance)
