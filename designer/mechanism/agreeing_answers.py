"""Answers that agree with one another and have no bias: least squares of the released answers on the space of the queries; and
the same in whole numbers.

Let y be the released answers, S the covariance of their noise, and C (c, K) all that holds of the queries: `C Q = 0`. Then
`y - S C' (C S C')^+ C y` agrees, has the mean of y, and of all unbiased linear answers the least variances (Gauss-Markov). An
answer without noise is kept. These are the answers of the same noise under another reconstruction, so errors and intervals are
found as those of any design.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import shown
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.certificate.agreement import AgreeingTables
from designer.certificate.guarantee import Guarantee
from designer.limits import LARGEST_MULTIPLE, MOST_CONSISTENT_ANSWERS, MOST_CONSISTENT_ENTRIES
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.consistency import keeps_published
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.mechanism.interface import GridMechanism, Mechanism
from designer.mechanism.nesting import described_rows, tree_of, with_nodes
from designer.mechanism.release import Release
from designer.mechanism.spec import CountAgreement, known_statistics
from designer.mechanism.staircase import StaircaseMechanism
from designer.problem.workload import ROUNDING, Workload
from designer.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from solvers.lattices.controlled_rounding import crossing_families, rounded_cells
from solvers.trees import Tree

DEPENDENT = 1e-9  # of the largest number of a decomposition: what is below it is 0
SILENT = 1e-6  # of a standard error: what moves answers less is the rounding of a grid
FIRST = 10.0  # times as long as any other query is one whose answer has no noise
DIGITS = 6  # that decimals have of the least standard error


@dataclass(frozen=True, eq=False)
class AnswerSpace(Immutable):
    """What holds of answers to queries (K, N) whatever the counts are: all are sums of some of them.

    cells: the queries over elements that none tells apart, (K, n). basis: places of independent queries, (r,). sums: all
    answers as sums of these, (K, r); `whole` where its entries are whole numbers, so that decimals add up as decimals.
    """

    cells: Floats
    basis: NDArray[np.intp]
    sums: Floats

    @classmethod
    def of(cls, queries: Floats, exact: NDArray[np.bool_]) -> AnswerSpace:
        """Of queries, (K, N). exact: (K,), whose answers have no noise; they are in the basis, so that nothing moves them."""
        from scipy.linalg import qr, solve_triangular

        cells = np.unique(queries, axis=1)
        sizes = np.abs(cells).sum(axis=1)
        scales = 1 / np.where(sizes > 0, sizes, 1.0)  # cells before their sums, which are then whole multiples of them
        scales[exact] *= FIRST * queries.shape[1]
        triangle, order = qr((cells * scales[:, None]).T, mode="r", pivoting=True)
        known = np.abs(triangle.diagonal())
        rank = int((known > DEPENDENT * known.max(initial=0.0)).sum())
        basis = np.asarray(order[:rank], dtype=np.intp)
        sums = np.zeros((len(queries), rank))
        sums[basis] = np.eye(rank)
        if rank:
            parts = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
            sums[order[rank:]] = (parts * scales[basis][:, None] / scales[order[rank:]]).T
        near = np.rint(sums)
        if np.array_equal(near @ cells[basis], cells):
            sums = near + 0.0
        return cls(frozen(cells), basis, frozen(sums))

    @property
    def whole(self) -> bool:
        """Whether all answers are whole multiples of those of the basis."""
        return bool((self.sums == np.rint(self.sums)).all())

    def decimals(self, answers: Floats, errors: Floats) -> Floats:
        """Answers, (K,), that agree up to rounding, as decimals that add up as decimals: `DIGITS` digits of the least standard
        error. As they are where sums are no whole multiples, and where floats do not hold so many digits."""
        least = float(errors[errors > 0].min(initial=math.inf))
        places = DIGITS - 1 - math.floor(math.log10(least)) if least < math.inf else 0
        if not self.whole or not 0 <= places < 300 or not np.isfinite(answers).all():
            return answers
        units = np.rint(answers[self.basis] * 10.0**places)
        if (np.abs(self.sums) @ np.abs(units)).max(initial=0.0) >= LARGEST_MULTIPLE:
            return answers
        return np.asarray(self.sums @ units / 10.0**places + 0.0)


@lru_cache(maxsize=4)
def space_of(mechanism: Mechanism) -> AnswerSpace:
    """The space of the answers of a mechanism, found once; `InvalidProblem` for more than `MOST_CONSISTENT_ANSWERS`."""
    require_few(*mechanism.workload.shape)
    return AnswerSpace.of(mechanism.workload.dense(), np.isin(mechanism.workload.queries, mechanism.exact))


def require_few(answers: int, cells: int) -> None:
    """Refuse more answers than are made to agree without a bias."""
    if answers > MOST_CONSISTENT_ANSWERS or answers * cells > MOST_CONSISTENT_ENTRIES:
        raise InvalidProblem(
            f"--consistent: {answers:,} answers over {cells:,} cells are more than the {MOST_CONSISTENT_ANSWERS:,} answers, or "
            f"{MOST_CONSISTENT_ENTRIES:,} entries, that are made to agree without a bias; ask for fewer in one release, or for "
            "nested counts by the family hierarchy, which agree as they are."
        )


@dataclass(frozen=True, eq=False)
class Agreeing(Immutable):
    """The mechanism of least squares of the answers of another one, from the same noise, and the answers of the basis of its
    space from all of those, (r, K)."""

    law: Mechanism
    space: AnswerSpace
    kept: Floats

    def answers(self, answers: Floats) -> Floats:
        """The answers that agree, (K,), from released ones, (K,)."""
        return frozen(self.space.sums @ (self.kept @ answers))


def best_basis(space: AnswerSpace, covariance: Floats) -> Floats | None:
    """The answers of the basis in the least squares of all answers, (r, K), as weights of these; None where all answers agree
    whatever noise of this covariance, (K, K), is drawn."""
    from scipy.linalg import pinvh

    size = len(space.sums)
    others = np.setdiff1d(np.arange(size), space.basis)
    broken = np.eye(size)[others]
    broken[:, space.basis] -= space.sums[others]
    moved = covariance @ broken.T
    gaps = broken @ moved
    spread = np.sqrt(np.maximum(gaps.diagonal(), 0.0))
    if (spread <= SILENT * (np.abs(broken) @ np.sqrt(covariance.diagonal()))).all():
        return None
    scales = 1 / np.where(spread > 0, spread, 1.0)
    inverse = scales[:, None] * pinvh(scales[:, None] * gaps * scales, rtol=DEPENDENT) * scales
    return frozen(np.eye(size)[space.basis] - moved[space.basis] @ inverse @ broken)


@lru_cache(maxsize=4)
def best_answers(mechanism: Mechanism) -> Agreeing | None:
    """How the answers of an unbiased mechanism agree; None where they do as they are. `InvalidProblem` for more answers than
    are made to agree."""
    if not isinstance(mechanism, (AdditiveMechanism, StaircaseMechanism)):
        return None  # answers of a noisy table, or least squares already
    space = space_of(mechanism)
    kept = best_basis(space, mechanism.covariance())
    if kept is None:
        return None
    map = space.sums @ kept
    rebuilt = map if mechanism.reconstruction is None else map @ mechanism.reconstruction
    return Agreeing(replace(mechanism, reconstruction=rebuilt), space, kept)


def consistent_answers(released: Release) -> Release:
    """Make the answers of a release agree with one another without a bias: totals are the sums of their parts.

    They are the least squares of all answers, weighted by the covariance of their noise. Answers that agree, as those of
    `hierarchy` do, are left as they are. Standard errors and intervals are those of the new answers. Post-processing: the
    guarantee is that of the release. Raises `InvalidProblem` for biased answers, and for more than `MOST_CONSISTENT_ANSWERS`.
    Counts of nested groups with Laplace noise have no such limit. Source: Gauss-Markov theorem.

    >>> from designer import Problem, Workload, design, metrics
    >>> asked = Workload([[1, 1], [1, 0], [0, 1]], ["total", "women", "men"])
    >>> made = design(Problem(asked, metrics.add_remove(2, 1.0)), "laplace").mechanism
    >>> total, women, men = consistent_answers(made.release([30, 40])).answers
    >>> bool(abs(total - women - men) < 1e-9)
    True
    """
    found = _agreeing(_law_of(released))
    if isinstance(found, Agreeing):
        return replace(released, answers=found.answers(released.answers), law=found.law)
    if found is None:
        return released
    assert released.multiples is not None, "whole numbers with noise, each an answer"
    return replace(released, answers=found._release_of(released.multiples).answers, law=found)


def _law_of(released: Release) -> Any:
    if not isinstance(getattr(released.law, "workload", None), Workload):
        raise InvalidProblem("released: does not know what was asked; read it with its spec.")
    return released.law


def _agreeing(mechanism: Any) -> Agreeing | HierarchyMechanism | None:
    """How answers agree; None where they do as they are."""
    if mechanism.biased:
        name = shown(next(iter(mechanism.biased)))
        raise InvalidProblem(
            f"--consistent: the answers to {name} and others are biased by their rounding; leave the option out."
        )
    try:
        return best_answers(mechanism)
    except InvalidProblem:
        if (nested := _as_hierarchy(mechanism)) is None:
            raise
        return nested


@lru_cache(maxsize=2)
def _as_hierarchy(made: Mechanism) -> HierarchyMechanism | None:
    """The least squares of noisy counts of nested groups, whole numbers with Laplace noise; None for other answers."""
    if not isinstance(made, AdditiveMechanism) or made.norm.map.ndim != 1 or any(made.grid.exponents):
        return None
    if (made.norm.order, made.falloff, made.measured, made.delta) != ("l1", "exponential", None, None):
        return None
    try:
        return HierarchyMechanism("custom", made.workload, made.relation, described_rows(made.workload.matrix), made.norm.map)
    except InvalidProblem:
        return None


FRACTION = 48  # bits of a count behind the point
_WHOLE = (
    "Whole numbers that agree: every {what}. Each is on average the released answer, or where these did not agree their least "
    "squares; its variance is at most 1/4 more; counts may be below 0. Post-processing: computed from the release and random "
    "bits that know nothing else of the data, so the guarantee is that of the release."
)
WHOLE_WORDS = _WHOLE.format(
    what="counted group is rounded down or up by one random number for all of them, so that nested counts add up"
)
CROSSING_WORDS = _WHOLE.format(what="answer is rounded down or up, by random moves of cells that keep all sums in between")


@dataclass(frozen=True)
class WholeAnswers:
    """Whole numbers, (K,), in the place of the answers of the release of `fingerprint`, whose guarantee they keep.

    post_processing: what was done, in sentences.
    """

    answers: tuple[int, ...]
    queries: tuple[str, ...]
    post_processing: str
    guarantee: Guarantee
    fingerprint: str


def whole_answers(released: Release, entropy: Entropy | None = None) -> WholeAnswers:
    """Round the answers to counts of groups to whole numbers that add up, without a bias; first see `consistent_answers`.

    Of nested groups C are the sums of the finest counts, those of every group together, and U is uniform on [0, 1). A group
    from i to j has floor(C_j + U) - floor(C_i + U). Groups that are nested in two ways, such as the cells and both margins of a
    table, are rounded along cycles of cells. Raises `InvalidProblem` for other groups, whose whole numbers need not exist, and
    for weights other than 0 and 1. Source: docs/theory/strategies.md, section 8, and Cox 1987.

    Parameters
    ----------
    released : of counts of groups; of sums of these where a hierarchy made it.
    entropy : of what is drawn; that of the operating system where none is given.

    >>> from designer import Problem, Workload, design, metrics
    >>> asked = Workload.nested(4, {"region": ["N", "N", "S", "S"], "town": ["a", "b", "c", "d"]})
    >>> made = design(Problem(asked, metrics.add_remove(4, 1.0)), "hierarchy").mechanism
    >>> whole = whole_answers(made.release([3, 1, 0, 5])).answers
    >>> whole[0] == sum(whole[1:3]) == sum(whole[3:])
    True
    """
    source = SystemEntropy() if entropy is None else entropy
    crossing = _crossing(_law_of(released))
    agreed = consistent_answers(released)
    answers = _rounded_nested(agreed, source) if crossing is None else crossing.rounded(agreed.answers, source)
    words = WHOLE_WORDS if crossing is None else CROSSING_WORDS
    return WholeAnswers(tuple(answers), released.queries, words, released.guarantee, released.fingerprint)


def _rounded_nested(released: Release, entropy: Entropy) -> list[int]:
    """Of nested counts that agree, (K,)."""
    tree, leaves, asked = _finest(released.law, released.answers, released.multiples or ())
    fine = np.empty(len(tree.leaves), dtype=object)
    fine[tree.first_leaf[tree.leaves]] = [int(part) for part in np.rint(np.ldexp(leaves, FRACTION)).tolist()]
    random = int(entropy.random_words(1)[0]) >> (64 - FRACTION)
    sums = [total >> FRACTION for total in itertools.accumulate(fine.tolist(), initial=random)]
    ends = tree.first_leaf + tree.leaf_counts
    nodes = [sums[end] - sums[start] for start, end in zip(tree.first_leaf.tolist(), ends.tolist(), strict=True)]
    entries = zip(asked.indices.tolist(), map(int, asked.data.tolist()), strict=True)
    parts = [factor * nodes[node] for node, factor in entries]
    return [sum(parts[a:b]) for a, b in itertools.pairwise(asked.indptr.tolist())]


def _finest(law: Any, answers: Floats, multiples: Sequence[int]) -> tuple[Tree, Floats, Any]:
    """A tree, the released counts of its leaves, (C,), and the queries as sums of its nodes, (K, V), compressed."""
    if isinstance(law, HierarchyMechanism):
        nesting, counts = law.nesting, np.array([float(number) for number in multiples])
        return nesting.tree, nesting.node_estimates(counts[:, None])[nesting.tree.leaves, 0], nesting.asked
    tree, node, label = tree_of(described_rows(law.workload.matrix))
    found = np.zeros(len(tree.parent))
    found[node] = answers
    asked = with_nodes(tree, label, law.workload.matrix)
    leaves = found[tree.leaves]
    sums = np.append(0.0, np.cumsum(leaves[np.argsort(tree.first_leaf[tree.leaves])]))
    off = np.abs(sums[tree.first_leaf + tree.leaf_counts] - sums[tree.first_leaf] - found)[node]
    if (off > ROUNDING * np.abs(answers).max()).any():
        worst = law.workload.queries[int(np.argmax(off))]
        raise InvalidProblem(
            f"whole answers: {shown(worst)} is not the sum of the counts within it; design the family hierarchy, whose answers "
            "agree."
        )
    return tree, leaves, asked


@dataclass(frozen=True, eq=False)
class Crossing(Immutable):
    """Groups that are nested in two ways, with cells of which each answer of the basis determines one more.

    columns: places of these cells, (r,). inverse: the cells from the answers of the basis, whole numbers, (r, r). second: (K,),
    in which of the two ways each group is nested.
    """

    space: AnswerSpace
    columns: NDArray[np.intp]
    inverse: Floats
    second: NDArray[np.bool_]

    @classmethod
    def of(cls, space: AnswerSpace, names: Sequence[str]) -> Crossing:
        """Of the answers of queries, (K,), by name; `InvalidProblem` where they are no counts of such groups."""
        from scipy.linalg import qr

        if ((space.cells != 0) & (space.cells != 1)).any():
            raise InvalidProblem("whole answers: some queries have weights other than 0 and 1; ask for counts of groups.")
        second = crossing_families(space.cells == 1)
        if isinstance(second, tuple):
            one, other = (printed(names[k]) for k in second)
            raise InvalidProblem(
                f"whole answers: groups overlap in three ways or more, such as {one} and {other}, so whole numbers that add up "
                "and are each rounded down or up need not exist; ask for tables by two attributes, or for nested groups."
            )
        basis = space.cells[space.basis]
        columns = np.sort(np.asarray(qr(basis, mode="r", pivoting=True)[1][: len(basis)], dtype=np.intp))
        return cls(space, columns, np.rint(np.linalg.inv(basis[:, columns])), second)

    def rounded(self, answers: Floats, entropy: Entropy) -> list[int]:
        """Answers that agree, (K,), rounded down or up."""
        if not np.isfinite(answers).all():
            raise InvalidProblem("released: some answer is not finite, so it has no whole number beside it; release anew.")
        known = np.array([int(unit) for unit in np.rint(np.ldexp(answers[self.space.basis], FRACTION)).tolist()], dtype=object)
        values = [sum(int(row[k]) * known[k] for k in np.flatnonzero(row).tolist()) for row in self.inverse]
        sets = self.space.cells[:, self.columns] == 1

        def below(part: int, of: int) -> bool:
            return int(entropy.random_words(1)[0]) * of < part << 64

        counts = np.array(rounded_cells(values, 1 << FRACTION, sets, self.second, below), dtype=object)
        return [sum(counts[own].tolist()) for own in sets]


@lru_cache(maxsize=2)
def _crossing(law: Any) -> Crossing | None:
    """How groups that are nested in two ways are rounded; None for those that are nested in one, and for sums of these from a
    hierarchy. `InvalidProblem` for all others."""
    if not law.workload.whole_rows.all():
        raise InvalidProblem("whole answers: some queries have weights that are no whole numbers; ask for counts.")
    if isinstance(law, HierarchyMechanism):
        return None
    if not law.exact and _is_nested(law.workload):
        return None
    space = space_of(law)
    return Crossing.of(space, law.workload.queries)


def _is_nested(workload: Workload) -> bool:
    try:
        tree_of(described_rows(workload.matrix))
    except InvalidProblem:
        return False
    return True


def require_whole_answers(mechanism: Any) -> None:
    """Refuse, before any data are touched, a mechanism whose releases `whole_answers` cannot round; `InvalidProblem` with the
    reason."""
    if not isinstance(getattr(mechanism, "workload", None), Workload):
        raise InvalidProblem("whole answers: are those of counts of groups; this mechanism asks about something else.")
    _crossing(mechanism)
    _agreeing(mechanism)


HASHED = "The random numbers are a hash of the release, so that they are always the same."


def _hashed(*parts: object) -> SeededEntropy:
    """Random numbers that all who have a release find."""
    return SeededEntropy(int.from_bytes(hashlib.sha256(str(parts).encode()).digest(), "big"))


def whole_tables_of(queries: Any, released: Any) -> AgreeingTables:
    """Tables of answers that agree, to counts of groups of cells (K, N), sparse, rounded to whole numbers without a bias."""
    tables = released.answer_tables()
    answers, errors = (np.concatenate(part) for part in zip(*((t.answers, t.standard_errors) for t in tables), strict=True))
    made = crossing_tables(queries, [name for table in tables for name in table.names()], errors == 0)
    whole = made.rounded(np.where(errors == 0, np.rint(answers), answers), _hashed(released.fingerprint, answers.tolist()))
    return AgreeingTables.joined(np.array(whole, dtype=np.float64), tables, f"{CROSSING_WORDS} {HASHED}", True)


def crossing_tables(queries: Any, names: Sequence[str], exact: NDArray[np.bool_]) -> Crossing:
    """How counts of groups of cells, (K, N), sparse, are rounded; `InvalidProblem` for more than are, and see `Crossing.of`."""
    require_few(*queries.shape)
    return Crossing.of(AnswerSpace.of(queries.toarray(), exact), names)


LEAST_SQUARES = (
    "Post-processing: numbers that agree with one another, so that totals are the sums of their parts; the least squares of "
    "all released answers, weighted by the covariance of their noise. Each is on average the answer without noise and may be "
    "below 0. Computed from the release alone, so the guarantee stays."
)


class LinearAgreement(CountAgreement):
    """The same; without a bias by least squares, and of counts of groups also in whole numbers."""

    def require_unbiased(self, mechanism: GridMechanism, whole: bool) -> None:
        option = f"--consistent {'unbiased-integer' if whole else 'unbiased'}"
        if known_statistics(mechanism.relation) if whole else not keeps_published(mechanism):
            raise InvalidProblem(f"{option}: does not keep published margins; use --consistent integer.")
        try:
            require_whole_answers(mechanism) if whole else _agreeing(mechanism)
        except InvalidProblem as reason:
            raise InvalidProblem(f"{option}: {reason} Or use --consistent integer.") from reason

    def unbiased(self, mechanism: GridMechanism, released: Release, whole: bool) -> AgreeingTables:
        """The random numbers of whole ones are a hash of the release, so that all who have the release make the same."""
        tables = released.answer_tables()
        if whole:
            found = whole_answers(released, _hashed(released.fingerprint, released.multiples, released.answers.tolist()))
            numbers = np.array(found.answers, dtype=np.float64)
            return AgreeingTables.joined(numbers, tables, f"{found.post_processing} {HASHED}", True)
        made = consistent_answers(released)
        if made is released:
            return super().unbiased(mechanism, released, False)
        numbers, how = made.answers, _agreeing(mechanism)
        if isinstance(how, Agreeing):
            numbers = how.space.decimals(numbers, how.law.standard_errors())
        return replace(AgreeingTables.joined(numbers, tables, LEAST_SQUARES, False), laws=made.answer_tables())
