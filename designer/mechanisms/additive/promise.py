"""What additive noise promises, in words: the theorem, the notion and the arithmetic that guarantees quote."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.base.schema import Schema, one_of
from designer.certified.certificate import Witness
from designer.certified.guarantee import APPROXIMATE, NOTIONS, POST_PROCESSING
from designer.certified.norms import Norm
from designer.certified.sensitivity import SensitivitySet
from designer.mechanisms.additive.interface import Falloff
from designer.problem.relation import BUDGETS_ADD, Relation
from designer.promises.approximate import Allowance, GaussianAllowance, PureAllowance, checked_delta
from designer.relations.allowed import Allowed
from solvers.exact.rational import float_above

PURE_SHIFT = (
    "P(z) is proportional to exp(-||z||) on the grid, so a shift by u changes it by at most exp(||u||) <= exp(b) "
    "(triangle inequality; DX Theorem 1 for the weighted l1 norm, docs/theory/foundations.md for any norm). Every u "
    "lies on the grid."
)
CONCENTRATED = (
    "P(z) is proportional to exp(-||z||^2 / 2) on the grid, ||.|| Euclidean, so a shift by a grid vector u has Renyi "
    "divergence of every order alpha at most alpha ||u||^2 / 2 <= alpha b^2 / 2 (Poisson summation; "
    "docs/theory/foundations.md). Every u lies on the grid."
)
PURE_WITH_DELTA = (
    "P(z) is proportional to exp(-||z||) on the grid, so a shift by u changes it by at most exp(||u||), and a pure promise of "
    "m is (b, delta) for delta = (e^m - e^b) / (1 + e^m) (docs/theory/approximate.md). ||u|| is at most the m that this allows "
    "at the budget b, for every protected pair, those that others imply among them. Every u lies on the grid."
)
ROUNDED = (
    "z is normal noise y, of density proportional to exp(-||y||^2 / 2), ||.|| Euclidean, rounded to the grid. Every answer and "
    "every u lies on the grid, so the release is a rounding of the answers plus y: post-processing. A shift of y by u with "
    "||u|| = m is (b, delta) exactly if Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) <= delta (Balle and Wang 2018, Theorem 8), which "
    "increases with m. ||u|| is at most the m that this allows at the budget b, rounded down, for every protected pair, those "
    "that others imply among them (docs/theory/approximate.md)."
)
BUDGETS_DO_NOT_ADD = (
    "for groups budgets do not add up under one delta; the privacy loss of a change of several records says what it spends."
)
DELTAS_ADD = (
    "Anything computed from a release alone keeps the guarantee. Of several releases about the same records both the budgets "
    "and the deltas add up, pair by pair."
)
_SAMPLED = "Exact: random bits of the operating system, compared with probabilities in exact arithmetic."
_ROUNDED_EXACTLY = (
    "Exact: normal numbers are functions of random bits of the operating system, of which as many are drawn as their rounding "
    "to the grid takes."
)
SAMPLING = {"exponential": _SAMPLED, "gaussian": _SAMPLED, "rounded_gaussian": _ROUNDED_EXACTLY}
LAWS = {
    "exponential": "P(z) proportional to exp(-||z||), ||z|| {norm}",
    "gaussian": "P(z) proportional to exp(-||z||^2 / 2), ||z|| {norm}",
    "rounded_gaussian": "z is y rounded to the grid, the density of y proportional to exp(-||y||^2 / 2), ||y|| {norm}",
}
WITH_DELTA: dict[str, type[Allowance]] = {"exponential": PureAllowance, "rounded_gaussian": GaussianAllowance}


# A spec whose mechanism has a delta states it, and no other does.
DELTA_IS_STATED: Schema = {
    "if": {"properties": {"mechanism": {"required": ["delta"]}}},
    "then": {
        "properties": {
            "mechanism": {"properties": {"falloff": one_of(*WITH_DELTA)}},
            "guarantee": {"properties": {"parameters": {"required": ["delta"]}}},
        }
    },
    "else": {
        "properties": {
            "mechanism": {"properties": {"falloff": one_of(*NOTIONS)}},
            "guarantee": {"properties": {"parameters": {"not": {"required": ["delta"]}}}},
        }
    },
}


def theorem(falloff: Falloff, delta: float | None) -> str:
    """Why the certificate proves the promise."""
    if falloff == "exponential":
        return PURE_SHIFT if delta is None else PURE_WITH_DELTA
    return CONCENTRATED if falloff == "gaussian" else ROUNDED


def law_words(falloff: Falloff, norm: Norm, reconstruction: Floats | None) -> str:
    """The law of the noise in words. reconstruction: (K, R), or None."""
    after = "" if reconstruction is None else "; the answers are a fixed linear map of the noisy measurements"
    return f"{LAWS[falloff].format(norm=norm.sentence)}{after}"


def notion_words(falloff: Falloff, delta: float | None) -> str:
    """What is promised."""
    return NOTIONS[falloff] if delta is None else APPROXIMATE.format(delta=delta)


def protected_unit(relation: Relation, delta: float | None) -> str:
    """What is protected, and what of groups."""
    unit = relation.protected_unit()
    return unit if delta is None else unit.replace(BUDGETS_ADD, BUDGETS_DO_NOT_ADD)


def afterwards(delta: float | None) -> str:
    """What several releases promise together."""
    return POST_PROCESSING if delta is None else DELTAS_ADD


def with_lengths(relation: Relation, falloff: Falloff, delta: float | None) -> Relation:
    """The relation that a norm is held against: itself, or under a delta the lengths that its budgets allow."""
    return relation if delta is None else Allowed(relation, WITH_DELTA[falloff](Fraction(delta)))


def budgets_spent(lengths: Floats, falloff: Falloff, delta: float | None) -> Floats:
    """The budgets that changes of these lengths spend, (M,) or (): the lengths, under a delta the least b with (b, delta)."""
    if delta is None:
        return lengths
    law = WITH_DELTA[falloff](Fraction(delta))
    told = [law.spent_budget(length) if math.isfinite(length) else math.inf for length in lengths.ravel().tolist()]
    return np.reshape(told, lengths.shape)


def budget_of_several(budget: Fraction, changes: int, falloff: Falloff, delta: float) -> float:
    """The least b with (b, delta) for so many changes of this budget together, rounded up: their difference is at most so many
    times as long as one may be."""
    law = WITH_DELTA[falloff](Fraction(delta))
    return law.spent_budget(float_above(changes * law.most(budget)))


def spent_delta(sensitivity: SensitivitySet, norm: Norm, pair: Witness) -> float:
    """The delta that a pair spends at its own budget, from its exact difference and in balls, rounded up."""
    relation = sensitivity.relation
    assert isinstance(relation, Allowed)
    length = norm.exact(sensitivity.exact(pair.left, pair.right)[0])
    budget = relation.part.exact_budget(pair.left, pair.right)
    assert length is not None and budget is not None, "certified"
    return relation.allowance.spent_delta(length, budget)


def checked_notion(relation: Relation, falloff: Falloff, delta: object) -> float | None:
    """The delta: it goes with noise whose delta is proven, and rounded normal noise goes with a delta."""
    if delta is None:
        if falloff not in NOTIONS:
            raise InvalidProblem(
                f"delta: missing, but a {falloff!r} fall-off promises (b, delta); give one, or use 'gaussian'."
            )
        return None
    checked = checked_delta(delta, "delta")
    if falloff not in WITH_DELTA:
        raise InvalidProblem(f"falloff: no delta is proven for a {falloff!r} fall-off; use one of {sorted(WITH_DELTA)}.")
    relation.every_pair()
    return checked
