"""How many records must change with one record when invariants are published: the semi-adjacent parameter a(t)
(SEMI Definition 13).

`a(t) = sup over i, x, y of inf { d(X, Y) : X, Y conform to t, X_i = x, Y_i = y }`, d the Hamming distance, x and y values that
record i can have. Read literally the infimum is over X and Y ("literal"); SEMI Example 5 takes the worst X and the best Y
("worst_case"), and only that lets every database pretend about every record. SEMI Theorem 16 bounds it ("bound"). The
conservative readings are the defaults.

What a published invariant makes of the promise of an existing mechanism,
and how two such promises compare (SEMI sections 3 and 6).

A mechanism that promises f for one replaced record promises `f o ... o f`, a(t) times, for the databases that an invariant
leaves (Propositions 11 and 15, Corollary 18), and only for those. So a promise is a scope, the pairs of databases that it
speaks of, and a tradeoff function. A promise in rho-zCDP becomes `a(t)^2 rho` (Lemma 39).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import permutations, product
from typing import Any, Literal

import numpy as np

from designer.base.checks import Declared, checked, count, rational, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.relations.invariants.invariant import Invariant
from designer.relations.invariants.statistics import Integers, Statistics, proven_adjacency
from designer.tradeoff.account import Account
from designer.tradeoff.comparison import Strength, compare_tradeoffs, compose
from designer.tradeoff.conversions import zcdp_epsilon, zcdp_epsilon_bun_steinke, zcdp_group_rho
from designer.tradeoff.functions import Gaussian, Tradeoff
from designer.tradeoff.piecewise import PiecewiseLinear
from solvers.exact.rational import integer_rank
from solvers.lattices.conforming_tables import Fibre, most_moves


@dataclass(frozen=True)
class ZCDP:
    """rho-zCDP as a promise: Renyi divergence at most `rho alpha` for every order alpha > 1 (SEMI Definition 38).

    rho: at least 0.
    """

    rho: Fraction

    @classmethod
    def of(cls, rho: object) -> ZCDP:
        """From a float, a fraction or a text such as "2.56", taken exactly."""
        value = rational(rho, "rho")
        if value < 0:
            raise InvalidProblem(f"rho: {shown(float(value))} is negative; a budget is at least 0.", value=value)
        return cls(value)

    def group(self, size: int) -> ZCDP:
        """`size^2 rho` for groups of `size` (SEMI Lemma 39)."""
        return ZCDP(zcdp_group_rho(self.rho, size))

    def sentence(self) -> str:
        """The promise in a few words."""
        return f"{float(self.rho):g}-zCDP"


Promise = Tradeoff | ZCDP


@dataclass(frozen=True)
class Scope(Declared):
    """Pairs of databases that a promise speaks of, IND(D, A) of SEMI Definition 19. They are at most `adjacency` records apart
    and agree in the statistics of `invariant` (None: all databases). conforming: the databases where they are written out."""

    adjacency: int = field(metadata=checked(count))
    invariant: Statistics | None = None
    conforming: Conforming | None = None

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
        raise InvalidProblem(f"scope: the invariants speak of {statistics.size} and {known.size} elements; make them equal.")
    rows = known.constraints.tolist()
    return integer_rank(rows + statistics.constraints.tolist()) == integer_rank(rows)


@dataclass(frozen=True)
class ScopedPromise:
    """(D, A, f)-DP: a promise for the pairs of a scope.

    scope: the pairs of databases. promise: what holds for each of them.
    """

    scope: Scope
    promise: Promise

    def sentence(self) -> str:
        """The promise in a sentence."""
        return f"{self.promise.sentence()} for {self.scope.sentence()}."


def under_invariant(promise: Promise, scope: Scope) -> ScopedPromise:
    """Find what a mechanism that promises `promise` for one replaced record promises within a scope (SEMI Proposition 15,
    Corollary 18).

    Parameters
    ----------
    promise : for one replaced record.
    scope : the databases, and how many records of them may differ.

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
    """Give the full characterisation (SEMI Proposition 11): what is promised for each distance that occurs among the conforming
    databases.

    Parameters
    ----------
    promise : for one replaced record.
    conforming : the databases.
    """
    here = range(len(conforming.databases))
    distances = {conforming.distance(k, m) for k in here for m in range(k)} - {0}
    return {distance: promise.group(distance) for distance in sorted(distances)}


@dataclass(frozen=True)
class Verdict:
    """Which of two scoped promises is stronger (SEMI Definition 20), and why."""

    order: Strength
    reason: str


def compare_promises(first: ScopedPromise, second: ScopedPromise) -> Verdict:
    """Compare by the partial order of SEMI Definition 20: the scope and the tradeoff function must both be at least as good.

    Parameters
    ----------
    first : one promise.
    second : the other.

    >>> from designer.tradeoff.functions import Gaussian
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
            "designer.tradeoff.conversions first."
        )
    return compare_tradeoffs(first, second).order in (Strength.EQUAL, Strength.STRONGER)


def semi_first(promises: Sequence[Promise], adjacency: int) -> Promise:
    """Compose several releases under one invariant, groups taken first: `f_1^(o a) x ... x f_k^(o a)` (SEMI Proposition 21);
    the sharper way. Products that are not exact, those of pure promises among them, are bounded from below.

    Parameters
    ----------
    promises : of each release, for one replaced record.
    adjacency : a, the number of records that may change together.
    """
    return _composed([promise.group(adjacency) for promise in _some(promises)])


def composition_first(promises: Sequence[Promise], adjacency: int) -> Promise:
    """State the same releases composed first: `(f_1 x ... x f_k)^(o a)`, never the stronger statement (SEMI Proposition 21).

    Parameters
    ----------
    promises, adjacency : as for `semi_first`.
    """
    return _composed(_some(promises)).group(adjacency)


def _some(promises: Sequence[Promise]) -> list[Promise]:
    if not promises:
        raise InvalidProblem("promises: none is given; name at least one.")
    return list(promises)


def _composed(promises: list[Promise]) -> Promise:
    """zCDP adds up, Gaussians and piecewise linear functions have exact products; of all others a piecewise linear function
    that is proven to be at most the product (`designer.tradeoff.account`)."""
    if all(isinstance(promise, ZCDP) for promise in promises):
        return ZCDP(sum((promise.rho for promise in promises if isinstance(promise, ZCDP)), Fraction(0)))
    functions = [promise for promise in promises if isinstance(promise, Tradeoff)]
    if len(functions) < len(promises):
        raise InvalidProblem(
            "promises: zCDP and tradeoff functions do not compose as they are; "
            "convert with designer.tradeoff.conversions first."
        )
    if len(functions) == 1 or all(isinstance(f, Gaussian) for f in functions) or all(map(_is_piecewise, functions)):
        return reduce(compose, functions)
    return Account.of(functions).tradeoff_below()


def _is_piecewise(function: Tradeoff) -> bool:
    return isinstance(function, PiecewiseLinear)


def allocation(
    rho: object, levels: Mapping[str, object], queries: Mapping[str, object], adjacency: int, delta: object
) -> list[dict[str, Any]]:
    """Tabulate how a zCDP budget is spread over levels and queries, as announced and under an invariant (SEMI section 6).

    One row for each pair and one for the whole: rho and the smallest epsilon known at delta. Bun and Steinke's stand beside
    them, before and after the invariant.

    Parameters
    ----------
    rho : the whole budget.
    levels, queries : the share of each, by name; each adds up to 1 exactly (texts such as "104/4099" are).
    adjacency : how many records may change together.
    delta : at which epsilon is stated.
    """
    whole = ZCDP.of(rho)
    shares = {}
    for what, given in (("levels", levels), ("queries", queries)):
        shares[what] = {name: rational(share, f"{what}[{name}]") for name, share in given.items()}
        if sum(shares[what].values()) != 1 or min(shares[what].values(), default=Fraction(-1)) < 0:
            raise InvalidProblem(
                f"{what}: shares add up to {float(sum(shares[what].values()))!r}; give nonnegative shares that add up to "
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


Reading = Literal["literal", "worst_case", "bound"]
TABLES = 2_000  # each is compared with every other for every pair of values: some seconds


@dataclass(frozen=True)
class SemiAdjacency:
    """a(t), how Definition 13 was read, and how the number was found."""

    value: int
    reading: Reading
    method: str


@dataclass(frozen=True)
class Conforming:
    """Databases of equal length that share one value of an invariant, D_t, written out;
    adjacency is Hamming distance (SEMI section 3).

    databases: each a tuple of records, all of one length.
    """

    databases: tuple[tuple[Hashable, ...], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.databases, tuple) or not all(isinstance(database, tuple) for database in self.databases):
            raise InvalidProblem(
                "databases: must be a tuple of tuples, a value for each record; make them with `Conforming.of`."
            )
        if not self.databases:
            raise InvalidProblem("databases: none conforms to the invariant; check the value of t.")
        if len({len(database) for database in self.databases}) != 1:
            raise InvalidProblem("databases: have different numbers of records; Hamming distance needs one number.")

    @classmethod
    def of(
        cls, space: Iterable[Sequence[Hashable]], statistic: Callable[[tuple[Any, ...]], object], value: object
    ) -> Conforming:
        """D_t = {X in space : statistic(X) = value}.

        >>> three = Conforming.of(product((0, 1), repeat=3), sum, 2)
        >>> three.databases, three.semi_adjacency().value
        (((0, 1, 1), (1, 0, 1), (1, 1, 0)), 2)
        """
        if not isinstance(space, Iterable) or not callable(statistic):
            raise InvalidProblem(
                "space, statistic: give databases, tuples with a value for each record, and a function of one."
            )
        return cls(tuple(sorted((tuple(X) for X in space if statistic(tuple(X)) == value), key=repr)))

    def distance(self, one: int, other: int) -> int:
        """Number of records in which two of the databases differ."""
        return sum(x != y for x, y in zip(self.databases[one], self.databases[other], strict=True))

    def values(self, record: int) -> tuple[Hashable, ...]:
        """D_t^i: the values that record i has in some conforming database."""
        return tuple(sorted({database[record] for database in self.databases}, key=repr))

    def semi_adjacency(self, reading: Reading = "worst_case") -> SemiAdjacency:
        """a(t) by enumeration; 0 where a single database conforms: then nothing is left to protect."""
        if reading not in ("literal", "worst_case"):
            raise InvalidProblem(
                f"reading: {shown(reading)}; enumeration reads Definition 13 as 'literal' or 'worst_case'.", value=reading
            )
        outer = min if reading == "literal" else max
        largest = 0
        for i in range(len(self.databases[0])):
            for x, y in product(self.values(i), repeat=2):
                before = [k for k, X in enumerate(self.databases) if X[i] == x]
                after = [k for k, Y in enumerate(self.databases) if Y[i] == y]
                largest = max(largest, outer(min(self.distance(k, m) for m in after) for k in before))
        return SemiAdjacency(largest, reading, f"enumeration of {len(self.databases)} databases")

    def least_distance(self) -> int | None:
        """a_min of SEMI Remark 14: the least distance of two different conforming databases;
        some may have no neighbour that near."""
        return min(filter(None, self._nearest()), default=None)

    def largest_least_distance(self) -> int | None:
        """a_maxmin of SEMI Remark 14: every database has another at most this far; says nothing about single records."""
        return max(filter(None, self._nearest()), default=None)

    def _nearest(self) -> list[int | None]:
        here = range(len(self.databases))
        return [min((self.distance(k, m) for m in here if m != k), default=None) for k in here]

    def indistinguishable(self, adjacency: int) -> frozenset[tuple[tuple[Hashable, ...], tuple[Hashable, ...]]]:
        """IND(D_t, A_a) of SEMI Definition 19: the ordered pairs of different databases at most `adjacency` records apart."""
        here = range(len(self.databases))
        return frozenset(
            (self.databases[k], self.databases[m]) for k in here for m in here if k != m and self.distance(k, m) <= adjacency
        )

    def components(self, adjacency: int) -> tuple[tuple[tuple[Hashable, ...], ...], ...]:
        """Databases that chains of adjacent ones connect; what lies in different components is told apart without limit."""
        left, found = set(self.databases), []
        pairs = self.indistinguishable(adjacency)
        while left:
            queue = [min(left, key=repr)]
            for X in queue:
                queue += [Y for Y in sorted(left, key=repr) if (X, Y) in pairs and Y not in queue]
            left -= set(queue)
            found.append(tuple(sorted(queue, key=repr)))
        return tuple(found)

    def is_vacuous(self, adjacency: int) -> bool:
        """Whether the guarantee protects no pair at all: a single database, or none within reach of another."""
        return not self.indistinguishable(adjacency)


def semi_adjacency(invariant: Invariant, totals: Sequence[int] | Integers, reading: Reading = "worst_case") -> SemiAdjacency:
    """Compute a(t) of a linear invariant at the published value `totals`, which is public.

    "literal": an integer program for each pair of values, whose tables are checked. "worst_case": from every conforming table
    to the best other one, where at most `TABLES` of them exist; otherwise the bound, where one is known. "bound": p + 1 for p
    disjoint groups of features (SEMI Theorem 16), whatever t is. `DesignFailed` where a solver finds no table and nothing
    proves that there is none.

    Parameters
    ----------
    invariant : p linear statistics.
    totals : (p,), their published values.
    reading : "worst_case", "literal" or "bound".

    >>> from designer import invariants
    >>> margins = invariants.margins((2, 2))
    >>> [semi_adjacency(margins, [2, 1, 2, 1], reading).value for reading in ("literal", "worst_case", "bound")]
    [2, 3, 3]
    """
    if not isinstance(invariant, Invariant):
        raise InvalidProblem(f"invariant: {shown(invariant)} is none; make one with designer.invariants.", value=invariant)
    if not isinstance(reading, str) or reading not in ("literal", "worst_case", "bound"):
        raise InvalidProblem(f"reading: {shown(reading)} is unknown; use 'literal', 'worst_case' or 'bound'.", value=reading)
    if reading == "bound":
        return SemiAdjacency(invariant.semi_adjacency_bound, "bound", "SEMI Theorem 16: groups of features + 1")
    if not invariant.records_public:
        raise InvalidProblem("semi_adjacency: Definition 13 replaces records; use an invariant with records_public=True.")
    fibre = _fibre(invariant, totals)
    try:
        possible = [entry for entry in range(fibre.size) if fibre.with_positive(entry) is not None]
        moves = [fibre.fewest_moves(x, y) for x, y in permutations(possible, 2)] if reading == "literal" else []
    except RuntimeError as unproven:
        raise DesignFailed(
            f"semi_adjacency: {unproven} What is impossible has to be proven, or fewer changes would be protected than there "
            "are; read it as 'bound', or state how many records may change."
        ) from None
    if not possible:
        raise InvalidProblem("totals: no table of nonnegative counts has these statistics, or the table is empty; check them.")
    if reading == "literal":
        return SemiAdjacency(max(filter(None, moves), default=0), reading, f"{len(moves)} integer programs")
    tables = fibre.vectors(TABLES) if (fibre.matrix >= 0).all() else None
    return _bounded(invariant, fibre) if tables is None else _worst_case(invariant, tables)


def _worst_case(invariant: Invariant, tables: Integers) -> SemiAdjacency:
    """From every conforming table to the best other one, for every pair of values;
    a known bound ends the search where it is reached."""
    bound = proven_adjacency(invariant)
    value = most_moves(tables, bound)
    ended = "until the bound of SEMI Theorem 16 was reached" if value == bound else "every pair of them"
    return SemiAdjacency(value, "worst_case", f"{len(tables)} conforming tables written out, {ended}")


def _bounded(invariant: Invariant, fibre: Fibre) -> SemiAdjacency:
    """The bound in place of tables that are not written out; `InvalidProblem` where there is none."""
    why = (
        f"more than {TABLES} tables conform" if (fibre.matrix >= 0).all() else "tables of signed statistics are not written out"
    )
    if proven_adjacency(invariant) is None:
        raise InvalidProblem(
            f"semi_adjacency: {why}, and no bound is known for this invariant; read it as 'literal', or state how many "
            "records may change."
        )
    return SemiAdjacency(invariant.semi_adjacency_bound, "bound", f"{why}: the bound of SEMI Theorem 16 instead")


def _fibre(invariant: Invariant, totals: Sequence[int] | Integers) -> Fibre:
    """The conforming tables; the number of records follows from the statistics, or is not needed where they do not fix it."""
    from solvers.exact.rational import integer_rank

    try:
        given = np.asarray(totals)
    except ValueError:
        raise InvalidProblem("totals: is not a list of whole numbers; give one for each statistic.") from None
    if given.shape != (len(invariant.matrix),) or given.dtype.kind not in "iu":
        raise InvalidProblem(
            f"totals: has shape {given.shape}; give {len(invariant.matrix)} whole numbers, one for each statistic."
        )
    if integer_rank(invariant.sums.tolist()) != integer_rank(invariant.matrix.tolist()):
        raise InvalidProblem("totals: do not tell the number of records; add the total to the invariant's rows.")
    none = invariant.constraints[len(invariant.sums) :]
    return Fibre(np.concatenate([invariant.matrix, none]), np.append(given, np.zeros(len(none), dtype=np.int64)))
