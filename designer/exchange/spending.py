"""What a mechanism spends as a function of how far two histograms are apart: the privacy map that other tools ask for.

A distance must be one under which the loss of any two histograms is bounded by their distance alone. Three are offered:

- "records": the least number of protected changes that lead from one histogram to the other; under a budget for each unit of
  distance of two tables, that distance;
- "budget": the least sum of their budgets, a transport distance in units of the metric itself;
- "l1": the l1 distance of the counts, whatever the relation says, as other tools measure tables of counts.

All three are infinite where nothing leads from one to the other. Proofs: docs/guides/exchange.md, "The privacy map".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast, get_args

import numpy as np

from designer.accounts.composition.terms import largest_budget, rule_of
from designer.base.arrays import Floats
from designer.base.checks import rational, shown
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.norms import Norm
from designer.files.kinds import mechanism_kind
from designer.mechanism.additive import WITH_DELTA, AdditiveMechanism, is_unwritten
from designer.mechanism.interface import Mechanism
from designer.problem.relation import Relation
from designer.relations.metrics.presence import AddRemove
from solvers.exact.rational import float_above

Distance = Literal["records", "budget", "l1"]
MOST_POINTS = 2_000  # whose differences are all looked at
MOST_ENTRIES = 200_000  # of columns whose norms are computed exactly
FLOAT_ERROR = 2.0**-36  # relative, of the norm of a column in floats, beside its `image_error`


@dataclass(frozen=True)
class Spending:
    """A map from a distance of histograms to what is promised of them: `length_of(d)` in the norm of the noise, d >= 0.

    notion: "pure" (epsilon), "zcdp" (rho of zCDP) or "approximate" (epsilon at `delta`). distance: see the module.
    per_unit: the most that one unit of distance moves the noise in its norm, exact or rounded up.
    """

    notion: Literal["pure", "zcdp", "approximate"]
    distance: Distance
    per_unit: Fraction
    delta: float | None = None
    falloff: str = "exponential"

    def length_of(self, apart: object) -> Fraction:
        """How far noise is moved at most, in its norm, by histograms that are `apart` or closer."""
        return self.per_unit * rational(apart, "d_in")

    def of(self, apart: object) -> float:
        """What histograms that are `apart` or closer spend: epsilon, or rho, rounded up to a float."""
        length = self.length_of(apart)
        if length < 0:
            raise InvalidProblem(f"d_in: {shown(apart)} is negative; a distance is at least 0.", value=apart)
        if self.notion == "approximate":
            return self._budget(length)
        return float_above(length if self.notion == "pure" else length**2 / 2)

    def _budget(self, length: Fraction) -> float:
        """The least epsilon, rounded up, at which a move of this length spends at most delta."""
        if not length:
            return 0.0
        assert self.delta is not None
        return float(WITH_DELTA[self.falloff](Fraction(self.delta)).spent_budget(float_above(length)))


def spending_of(mechanism: FrozenMechanism, distance: Distance = "records") -> Spending:
    """Recompute the privacy map of a mechanism that adds noise to answers from its certificate and its frozen numbers.
    `InvalidProblem`, with the reason, for other mechanisms, and for distances under which a bounded distance does not bound
    the loss.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    distance : see the module.
    """
    if distance not in get_args(Distance):
        raise InvalidProblem(f"distance: {shown(distance)} is unknown; use one of {list(get_args(Distance))}.", value=distance)
    noisy = require_noisy(mechanism)
    if noisy.delta is not None and noisy.falloff not in WITH_DELTA:
        raise InvalidProblem(
            "mechanism: its delta is proven for no change but one record's, so it has no privacy map; use gaussian or laplace."
        )
    if noisy.delta is not None:
        notion: Literal["pure", "zcdp", "approximate"] = "approximate"
    else:
        notion = "zcdp" if noisy.falloff == "gaussian" else "pure"
    makers = {"records": _per_record, "budget": _per_budget, "l1": _per_count}
    return Spending(notion, distance, makers[distance](noisy), noisy.delta, noisy.falloff)


def require_noisy(mechanism: FrozenMechanism) -> Mechanism:
    """The mechanism, if it adds noise of one law to the answers of any histogram; refused with the reason otherwise."""
    kind = mechanism_kind(mechanism)
    if kind is None or kind.noise_law is None:
        raise InvalidProblem(
            f"mechanism: a {type(mechanism).__name__} adds no noise of one law to the answers of a histogram; additive, "
            "lattice and staircase mechanisms do."
        )
    rule_of(mechanism).require_proven(mechanism)
    if mechanism.vacuous:
        raise InvalidProblem(f"mechanism: hides nothing ({mechanism.vacuous}), so it has no privacy map; design one that does.")
    return cast(Mechanism, mechanism)


def _worst(mechanism: Mechanism) -> Fraction:
    """The largest norm of a protected difference over what its budget allows, at most 1."""
    return mechanism.privacy.worst_ratio or Fraction(0)


def _per_record(mechanism: Mechanism) -> Fraction:
    """Of one protected change: the certificate says `norm(u) <= ratio b`, or `ratio` times the length that b allows; and no
    change of one record is longer than the points of the records are apart."""
    budget = largest_budget(mechanism.relation)
    if mechanism.delta is not None:
        budget = WITH_DELTA[mechanism.falloff](Fraction(mechanism.delta)).most(budget)
    certified = _worst(mechanism) * budget
    if not isinstance(mechanism, AdditiveMechanism) or is_unwritten(mechanism) or not mechanism.relation.single_records:
        return certified
    return min(certified, _spread(mechanism))


def _spread(mechanism: AdditiveMechanism) -> Fraction:
    """The largest norm of a difference of two points of the relation, rounded up; of many points twice the largest from one.
    Where records only appear, of a point from the origin. What gets no noise is left out: no protected change moves it."""
    norm, relation = mechanism.norm, mechanism.relation
    points = relation.points(mechanism.grid.values(mechanism.integers).T)
    images, factor = norm.image(points), 1
    if isinstance(relation, AddRemove):
        apart = norm.length(images)
    elif len(points) <= MOST_POINTS:
        apart = norm.between(images, images)
    else:
        apart, factor = norm.between(images[:1], images), 2
    return factor * _rounded_up(float(apart.max()), norm.image_error(points))


def _rounded_up(length: float, error: float) -> Fraction:
    """A bound above what a length in floats stands for."""
    return Fraction(length) * (1 + Fraction(FLOAT_ERROR)) + Fraction(error)


def _per_budget(mechanism: Mechanism) -> Fraction:
    """Of a unit of budget: norms of changes one after the other add up, and so do their budgets."""
    if mechanism.delta is not None:
        raise InvalidProblem(
            'distance: "budget" does not bound what is spent under a delta, because every change adds a delta of its own, '
            'however small its budget; use "records".'
        )
    return _worst(mechanism)


def _per_count(mechanism: Mechanism) -> Fraction:
    """Of one record more or less, the largest norm of a column of what is measured: a norm is convex, so that on the l1 ball it
    is largest at a corner."""
    if mechanism.relation.impossible or mechanism.relation.agreeing is not None:
        raise InvalidProblem(
            'distance: "l1" speaks of all tables of counts, and this mechanism refuses some of them; use "records".'
        )
    if isinstance(mechanism, AdditiveMechanism):
        found: Fraction | None
        if is_unwritten(mechanism):
            found = mechanism.sensitivity().longest_column(mechanism.norm)
        else:
            found = _longest_column(mechanism.norm, mechanism.grid.values(mechanism.integers))
        if found is not None:
            return found
    if counts_alone(mechanism.relation):
        return _per_record(mechanism)
    raise InvalidProblem(
        'distance: "l1" does not bound what is spent, because a record that appears or disappears moves what is published '
        'exactly; use "records", whose changes are those that the mechanism protects.'
    )


def counts_alone(relation: Relation) -> bool:
    """Whether the protected changes are that any one record appears or disappears: then "records" is the l1 distance."""
    return isinstance(relation, AddRemove) and bool(np.isfinite(relation.epsilons).all())


def _longest_column(norm: Norm, measured: Floats) -> Fraction | None:
    """The largest norm of a column of `measured`, (R, N): exact of few, rounded up of many; None where one is infinite."""
    columns = np.unique(measured.T, axis=0)
    if columns[:, norm.silent].any():
        return None
    lengths, error = norm(columns), norm.image_error(columns)
    worst = float(lengths.max())
    near = columns[lengths >= worst * (1 - 2 * FLOAT_ERROR) - 2 * error]
    if near.size > MOST_ENTRIES:
        return _rounded_up(worst, error)
    exact = [norm.exact([Fraction(x) for x in column]) for column in near.tolist()]
    return max(length for length in exact if length is not None)
