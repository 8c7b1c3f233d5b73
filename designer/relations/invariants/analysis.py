"""What a published invariant makes of the promise of an existing mechanism,
and how two such promises compare (SEMI sections 3 and 6).

A mechanism that promises f for one replaced record promises `f o ... o f`, a(t) times, for the databases that an invariant
leaves (Propositions 11 and 15, Corollary 18), and only for those. So a promise is a scope, the pairs of databases that it
speaks of, and a tradeoff function. A promise in rho-zCDP becomes `a(t)^2 rho` (Lemma 39).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from designer.base.errors import InvalidProblem
from designer.relations.invariants.adjacency import Conforming
from designer.relations.invariants.statistics import Statistics
from designer.promises.account import Account
from designer.promises.accounting import zcdp_epsilon, zcdp_epsilon_bun_steinke, zcdp_group_rho
from designer.promises.order import Strength, compare_tradeoffs, compose
from designer.promises.piecewise import PiecewiseLinear
from designer.promises.tradeoff import Gaussian, Tradeoff
from designer.base.checks import count, rational, shown
from solvers.exact.rational import integer_rank


@dataclass(frozen=True)
class ZCDP:
    """rho-zCDP as a promise: Renyi divergence at most `rho alpha` for every order alpha > 1 (SEMI Definition 38)."""

    rho: Fraction

    @classmethod
    def of(cls, rho: object) -> ZCDP:
        """From a float, a fraction or a text such as "2.56", taken exactly."""
        value = rational(rho, "rho")
        if value < 0:
            raise InvalidProblem(f"rho: {shown(float(value))} is negative; a budget is at least 0.")
        return cls(value)

    def group(self, size: int) -> ZCDP:
        """`size^2 rho` for groups of `size` (SEMI Lemma 39)."""
        return ZCDP(zcdp_group_rho(self.rho, size))

    def sentence(self) -> str:
        """The promise in a few words."""
        return f"{float(self.rho):g}-zCDP"


Promise = Tradeoff | ZCDP


@dataclass(frozen=True)
class Scope:
    """Pairs of databases that a promise speaks of, IND(D, A) of SEMI Definition 19: databases at most `adjacency` records apart
    that agree in the statistics of `invariant` (None: all databases). conforming: the databases where they are written out."""

    adjacency: int
    invariant: Statistics | None = None
    conforming: Conforming | None = None

    def __post_init__(self) -> None:
        count(self.adjacency, "adjacency")

    def within(self, other: Scope) -> bool:
        """Is every pair of this scope one of the other's?

        Written out: by looking. Otherwise from the adjacencies and from whether the other's
        statistics follow from this scope's.
        """
        if self.conforming is not None and other.conforming is not None:
            return self.conforming.indistinguishable(self.adjacency) <= other.conforming.indistinguishable(other.adjacency)
        if (self.conforming is None) != (other.conforming is None) and other.invariant is not None:
            raise InvalidProblem(
                "scope: one lists its databases and the other does not; list both, or state both by invariants."
            )
        return self.adjacency <= other.adjacency and _follows(other.invariant, self.invariant)

    def sentence(self) -> str:
        """The scope in words."""
        if self.conforming is not None:
            return f"the {len(self.conforming.databases)} conforming databases, up to {self.adjacency} records apart"
        if self.invariant is None:
            return f"all databases up to {self.adjacency} records apart"
        return f"databases that agree in {len(self.invariant.names)} published statistics, up to {self.adjacency} records apart"


def _follows(statistics: Statistics | None, known: Statistics | None) -> bool:
    """Are the statistics a linear function of those that are known?"""
    if statistics is None:
        return True
    if known is None:
        return False
    if statistics.size != known.size:
        raise InvalidProblem(f"scope: the invariants speak of {statistics.size} and {known.size} elements.")
    rows = known.constraints.tolist()
    return integer_rank(rows + statistics.constraints.tolist()) == integer_rank(rows)


@dataclass(frozen=True)
class ScopedPromise:
    """(D, A, f)-DP: a promise for the pairs of a scope."""

    scope: Scope
    promise: Promise

    def sentence(self) -> str:
        """The promise in a sentence."""
        return f"{self.promise.sentence()} for {self.scope.sentence()}."


def under_invariant(promise: Promise, scope: Scope) -> ScopedPromise:
    """What a mechanism that promises `promise` for one replaced record promises within a scope (SEMI Proposition 15,
    Corollary 18).

    >>> from designer.relations.invariants.invariant import partition
    >>> states = partition(["Ohio", "Ohio", "Utah"])
    >>> under_invariant(ZCDP.of("2.56"), Scope(states.semi_adjacency_bound, states)).promise.sentence()
    '10.24-zCDP'
    """
    if scope.conforming is not None and scope.conforming.is_vacuous(scope.adjacency):
        raise InvalidProblem(
            f"scope: no two conforming databases are within {scope.adjacency} records, so the promise would be about nothing; "
            "raise the adjacency, or publish less."
        )
    return ScopedPromise(scope, promise.group(scope.adjacency))


def by_distance(promise: Promise, conforming: Conforming) -> Mapping[int, Promise]:
    """The full characterisation (SEMI Proposition 11): what is promised for each distance
    that occurs among the conforming databases."""
    here = range(len(conforming.databases))
    distances = {conforming.distance(k, m) for k in here for m in range(k)} - {0}
    return {distance: promise.group(distance) for distance in sorted(distances)}


@dataclass(frozen=True)
class Verdict:
    """Which of two scoped promises is stronger (SEMI Definition 20), and why."""

    order: Strength
    reason: str


def compare_promises(first: ScopedPromise, second: ScopedPromise) -> Verdict:
    """The partial order of SEMI Definition 20: the scope and the tradeoff function must both be at least as good.

    >>> from designer.promises.tradeoff import Gaussian
    >>> group = ScopedPromise(Scope(2), Gaussian.of(2))
    >>> semi = under_invariant(Gaussian.of(1), Scope(2, Statistics([[1, 1, 0]], ("t",))))
    >>> compare_promises(group, semi).order.name
    'STRONGER'
    """
    wider, narrower = second.scope.within(first.scope), first.scope.within(second.scope)
    better, worse = _at_least(first.promise, second.promise), _at_least(second.promise, first.promise)
    implies, implied = wider and better, narrower and worse
    order = (
        (Strength.EQUAL if implied else Strength.STRONGER)
        if implies
        else (Strength.WEAKER if implied else Strength.INCOMPARABLE)
    )
    scopes = {
        (True, True): "Both speak of the same pairs of databases",
        (True, False): "The first speaks of more pairs of databases",
        (False, True): "The second speaks of more pairs of databases",
        (False, False): "Each speaks of pairs of databases that the other leaves out",
    }[wider, narrower]
    functions = {
        (True, True): "the protection of a pair is the same",
        (True, False): "the first protects a pair better",
        (False, True): "the second protects a pair better",
        (False, False): "neither protects a pair better at every error",
    }[better, worse]
    return Verdict(order, f"{scopes}, and {functions}.")


def _at_least(first: Promise, second: Promise) -> bool:
    if isinstance(first, ZCDP) and isinstance(second, ZCDP):
        return first.rho <= second.rho
    if isinstance(first, ZCDP) or isinstance(second, ZCDP):
        raise InvalidProblem(
            "promise: zCDP and a tradeoff function are not compared as they are; convert one with "
            "designer.promises.accounting first."
        )
    return compare_tradeoffs(first, second).order in (Strength.EQUAL, Strength.STRONGER)


def semi_first(promises: Sequence[Promise], adjacency: int) -> Promise:
    """Several releases under one invariant, groups taken first: `f_1^(o a) x ... x f_k^(o a)` (SEMI Proposition 21);
    the sharper way. Products that are not exact, those of pure promises among them, are bounded from below."""
    return _composed([promise.group(adjacency) for promise in _some(promises)])


def composition_first(promises: Sequence[Promise], adjacency: int) -> Promise:
    """The same releases composed first: `(f_1 x ... x f_k)^(o a)`, never the stronger statement (SEMI Proposition 21)."""
    return _composed(_some(promises)).group(adjacency)


def _some(promises: Sequence[Promise]) -> list[Promise]:
    if not promises:
        raise InvalidProblem("promises: none is given; name at least one.")
    return list(promises)


def _composed(promises: list[Promise]) -> Promise:
    """zCDP adds up, Gaussians and piecewise linear functions have exact products; of all others a piecewise linear function
    that is proven to be at most the product (`designer.promises.account`)."""
    if all(isinstance(promise, ZCDP) for promise in promises):
        return ZCDP(sum((promise.rho for promise in promises if isinstance(promise, ZCDP)), Fraction(0)))
    functions = [promise for promise in promises if isinstance(promise, Tradeoff)]
    if len(functions) < len(promises):
        raise InvalidProblem(
            "promises: zCDP and tradeoff functions do not compose as they are; convert with designer.promises.accounting first."
        )
    if len(functions) == 1 or all(isinstance(f, Gaussian) for f in functions) or all(map(_is_piecewise, functions)):
        return reduce(compose, functions)
    return Account.of(functions).tradeoff_below()


def _is_piecewise(function: Tradeoff) -> bool:
    return isinstance(function, PiecewiseLinear)


def allocation(
    rho: object, levels: Mapping[str, object], queries: Mapping[str, object], adjacency: int, delta: object
) -> list[dict[str, Any]]:
    """How a zCDP budget is spread over levels and queries, as announced and under an invariant (SEMI section 6).

    levels, queries: shares, each adding up to 1 exactly (texts such as "104/4099" are). One row for each pair and one for the
    whole: rho and the smallest epsilon known at delta, and beside them Bun and Steinke's, before and after the invariant.
    """
    whole = ZCDP.of(rho)
    shares = {}
    for field, given in (("levels", levels), ("queries", queries)):
        shares[field] = {name: rational(share, f"{field}[{name}]") for name, share in given.items()}
        if sum(shares[field].values()) != 1 or min(shares[field].values(), default=Fraction(-1)) < 0:
            raise InvalidProblem(
                f"{field}: shares add up to {float(sum(shares[field].values()))!r}; give nonnegative shares that add up to "
                "exactly 1."
            )
    parts = [
        (level, query, ZCDP(whole.rho * a * b))
        for level, a in shares["levels"].items()
        for query, b in shares["queries"].items()
    ]
    return [_row(*part, adjacency, delta) for part in [*parts, ("all", "all", whole)]]


def _row(level: str, query: str, announced: ZCDP, adjacency: int, delta: object) -> dict[str, Any]:
    under = announced.group(adjacency)
    return {
        "level": level,
        "query": query,
        "rho": float(announced.rho),
        "rho_under_invariant": float(under.rho),
        "epsilon": zcdp_epsilon(announced.rho, delta),
        "epsilon_under_invariant": zcdp_epsilon(under.rho, delta),
        "epsilon_bun_steinke": zcdp_epsilon_bun_steinke(announced.rho, delta),
        "epsilon_bun_steinke_under_invariant": zcdp_epsilon_bun_steinke(under.rho, delta),
    }
