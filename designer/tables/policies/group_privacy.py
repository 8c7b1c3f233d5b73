"""What a policy promises to groups of records, to replaced records and to sensitive ones (Seeman et al., section 4;
docs/theory/records.md, 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import rational_from
from designer.base.errors import InvalidProblem
from designer.tables.policies.policy import Policy, Unit, raised, require_unit
from solvers.exact.rational import root_above


def group_loss(losses: Iterable[object], unit: Unit = "zcdp") -> Fraction:
    """What a group of records with these losses may lose together: `(sum_j sqrt(P_j))^2` for zCDP,
    `sum_j P_j` for pure privacy.

    In any order; never above `simple_group_loss` and `advanced_group_loss`, and attained by Gaussian noise where all
    contributions point the same way. Rounded up by less than 2^-77. Derivation: docs/theory/records.md, 3.

    losses: P(r) of each record, at least 0. unit: "zcdp" or "pure".

    >>> group_loss([1, 4]), simple_group_loss([1, 4]), round(float(advanced_group_loss([1, 4])), 3)
    (Fraction(9, 1), Fraction(10, 1), 10.472)
    """
    require_unit(unit)
    listed = _losses(losses)
    if unit == "pure":
        return sum(listed, Fraction(0))
    # Relative to the largest loss, roots are exact where the ratios are squares, of equal losses above all.
    largest = max(listed, default=Fraction(0))
    roots = sum((_root(loss / largest) for loss in listed if loss), Fraction(0))
    return largest * roots * roots


def group_policy_loss(policy: Policy, records: Sequence[Mapping[str, object]]) -> Fraction:
    """`group_loss` of hypothetical records.

    policy: by which each record loses. records: each with its measures and keys.
    """
    return group_loss([policy.exact(record) for record in records], policy.unit)


def simple_group_loss(losses: Iterable[object]) -> Fraction:
    """Lemma 4.4 of the paper, zCDP: `J sum_j P_j`.

    losses: P(r) of each of the J records.
    """
    listed = _losses(losses)
    return len(listed) * sum(listed, Fraction(0))


def advanced_group_loss(losses: Iterable[object]) -> Fraction:
    """Lemma 4.5 of the paper, zCDP: `inf_k sum_j k^j / (k - 1) P_(j)`, largest loss first,
    at a rational k within 10^-9 of the best found.

    The bound holds at every k > 1; as a function of log(k - 1) it has one minimum: each `k^j / (k - 1)` is convex in k.

    losses: P(r) of each record.
    """
    listed = sorted(_losses(losses), reverse=True)

    def bound(k: Fraction) -> Fraction:
        return sum((k ** (j + 1) * loss for j, loss in enumerate(listed)), Fraction(0)) / (k - 1)

    sizes = np.array([float(loss) for loss in listed])

    def rough(t: float) -> float:
        return float(np.logaddexp.reduce(np.log1p(np.exp(t)) * np.arange(1, len(sizes) + 1) + np.log(sizes))) - t

    sizes = sizes[sizes > 0]
    if not len(sizes):
        return Fraction(0)
    low, high = -30.0, 30.0
    for _ in range(64):
        left, right = low + 0.382 * (high - low), high - 0.382 * (high - low)
        low, high = (low, right) if rough(left) < rough(right) else (left, high)
    return bound(1 + Fraction(float(np.exp(low))))


def one_sided_loss(sensitive: object, other: object | None = None, unit: Unit = "zcdp") -> Fraction:
    """One-sided privacy: what replacing a record with `P(r) <= sensitive` may cost,
    by any record with `P(r') <= other` (`sensitive` by default).

    `(sqrt(sensitive) + sqrt(other))^2` under zCDP. The paper's Lemma 4.8 states `2 sensitive` whatever r' is; that fails for
    Gaussian sums: r = -1 replaced by r' = 1 costs four times P(1), and by a huge r' any multiple (docs/theory/records.md, 4).

    sensitive: the largest loss of the record that is replaced. other: the largest loss of the record in its place. unit: "zcdp"
    or "pure".

    >>> one_sided_loss("1/2"), one_sided_loss("1/2", 8)
    (Fraction(2, 1), Fraction(25, 2))
    """
    return group_loss([sensitive, sensitive if other is None else other], unit)


def epsilon(loss: object, delta: object, unit: Unit = "zcdp") -> float:
    """The epsilon at which a record (or a group) with this loss has (epsilon, delta)-privacy, rounded up."""
    from designer.promises.accounting import zcdp_epsilon
    from solvers.exact.rational import float_above

    require_unit(unit)
    return zcdp_epsilon(loss, delta) if unit == "zcdp" else float_above(rational_from(loss, "loss", 0))


def group_losses(losses: Floats, groups: NDArray[np.generic], unit: Unit = "zcdp") -> Floats:
    """`group_loss` of every group of records, shape (number of groups,), in the order of `np.unique(groups)`; rounded up.

    losses: (n,), P(r) of each record. groups: (n,), the group of each. unit: "zcdp" or "pure".
    """
    require_unit(unit)
    labels = np.asarray(groups)
    if labels.shape != losses.shape:
        raise InvalidProblem(f"groups: shape {labels.shape} for {losses.shape} losses; give the group of every record.")
    where = np.unique(labels, return_inverse=True)[1].ravel()
    counts = np.bincount(where)
    sums = np.bincount(where, np.sqrt(losses) if unit == "zcdp" else losses)
    # Sums of c terms are within c roundings, squaring doubles them; a group of one loses what its record does.
    together = raised((sums**2 if unit == "zcdp" else sums) * (1 + 2 * (counts + 4) * 2.0**-53), 4)
    return np.where(counts == 1, np.bincount(where, losses), together)


def _root(square: Fraction) -> Fraction:
    """A root, exact where it is rational, rounded up elsewhere."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else root_above(square)


def _losses(losses: Iterable[object]) -> list[Fraction]:
    return [rational_from(loss, f"losses[{j}]", 0) for j, loss in enumerate(losses)]
