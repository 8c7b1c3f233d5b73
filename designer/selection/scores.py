"""Scores of candidates: what a selection should make large, built from linear forms so that their sensitivity is known exactly.

Five kinds suffice for linear utilities, for finding the query that is answered worst (MWEM), for what lies nearest to a target,
for quantiles, and for choosing a small database that answers well (SmallDB). Entries of matrices and targets are the rational
numbers that their float64 values are: nothing is rounded.
What a score may move: docs/theory/selection.md, sections 1 and 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import assign, names, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import MATRIX, NAMES, VECTOR, Named, of_kind
from designer.certificate.norms import Norm, NormOrder
from designer.limits import MOST_CANDIDATES
from designer.problem.histogram import Universe, exact_answers
from designer.problem.relation import Relation
from designer.problem.workload import WORKLOAD, Workload, workload_to_spec
from solvers.exact.rational import dyadic_integers

# How far a protected change can pull two candidates' scores apart: the seminorms that decide whether a selection is private.
#
# A law that depends on score differences only (exponential, permute-and-flip) changes by at most `exp(max over r, t of (v_t -
# v_r))` when score r moves by v_r (docs/theory/selection.md, 2). Each kind of score turns a change u of its linear forms into
# a bound of that maximum.


CACHED = 2**17  # float64 numbers, 1 MB


@dataclass(frozen=True, eq=False)
class Spread(Norm):
    """A seminorm of the rows of a diagonal map that is at most twice their largest absolute value."""

    order: NormOrder = "linf"

    def divided(self, factor: float) -> Self:
        """The seminorm divided by a positive factor."""
        return type(self)(self.map / factor)

    def image_error(self, points: Floats) -> float:
        """Twice that of the maximum norm, because an error e in the images moves the seminorm by at most `2 max |e_r|`.

        points: (n, R).
        """
        return 2 * Norm(self.map, "linf").image_error(points)

    def between(self, left: Floats, right: Floats) -> Floats:
        """The seminorm of the differences of all rows of two sets of images.

        left: (n, R). right: (m, R). Returns (n, m).
        """
        result = np.empty((len(left), len(right)))
        # A piece of the cache at a time: 1,000 points and 1,000 candidates take 1.3 s for two largest, 4.8 s in one piece.
        width = max(1, CACHED // right.shape[1])
        for start in range(0, len(right), width):
            piece = right[start : start + width]
            for row, target in zip(left, result, strict=True):
                target[start : start + width] = self.length(row - piece)
        return result

    def _images(self, u: Sequence[Fraction]) -> list[Fraction]:
        return [Fraction(float(weight)) * c for weight, c in zip(self.map, u, strict=True)]


class Range(Spread):
    """`max_r w_r u_r - min_r w_r u_r`: the scores are the forms themselves.

    >>> Range(np.array([0.5, 0.5, 0.5])).exact([Fraction(1), Fraction(3), Fraction(2)])
    Fraction(1, 1)
    """

    def length(self, images: Floats) -> Floats:
        """Range along the last axis.

        images: (..., R). Returns (...,).
        """
        return np.asarray(images.max(axis=-1) - images.min(axis=-1))

    def exact(self, u: Sequence[Fraction]) -> Fraction:
        """The range as a rational number."""
        images = self._images(u)
        return max(images) - min(images)


class TwoLargest(Spread):
    """The sum of the two largest `w_r |u_r|`: score r is the absolute value of form r, whose sign the data decide.

    >>> TwoLargest(np.array([0.5, 0.5, 0.5])).exact([Fraction(1), Fraction(-3), Fraction(2)])
    Fraction(5, 2)
    """

    def length(self, images: Floats) -> Floats:
        """Sum of the two largest absolute values along the last axis.

        images: (..., R). Returns (...,).
        """
        sizes = np.abs(images)
        where = sizes.argmax(axis=-1, keepdims=True)
        first = np.take_along_axis(sizes, where, axis=-1)[..., 0]
        np.put_along_axis(sizes, where, 0.0, axis=-1)
        return np.asarray(first + sizes.max(axis=-1))

    def exact(self, u: Sequence[Fraction]) -> Fraction:
        """The sum as a rational number."""
        return sum(sorted(map(abs, self._images(u)))[-2:], Fraction(0))


Integers = NDArray[Any]  # of Python integers


OF_FORMS = {"workload": WORKLOAD, "targets": VECTOR}


@dataclass(frozen=True, eq=False)
class Score(Immutable, ABC):
    """One number for each of R >= 2 candidates: a function of the answers `Q x`, Q of shape (K, N), and of public targets t.

    A histogram x enters through `Q x` only, so a change of x acts through `u = Q x' - Q x`.
    """

    workload: Workload
    targets: Floats | None = None
    kind: ClassVar[str]
    schema: ClassVar[Named]  # of `to_spec()`

    def __post_init__(self) -> None:
        _require_workload(self.workload)
        shape = (self.workload.shape[0],)
        targets = np.zeros(shape) if self.targets is None else real_array(self.targets, "targets", 1)
        if targets.shape != shape:
            raise InvalidProblem(f"targets: {len(targets)} for {shape[0]} candidates; give one for each query of the workload.")
        assign(self, targets=frozen(targets))
        _require_choice(len(self.candidates))

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of what there is to choose from."""
        return self.workload.queries

    @property
    def size(self) -> int:
        """N, the number of universe elements."""
        return self.workload.shape[1]

    @property
    def universe(self) -> Universe:
        """What counts are joined by."""
        return self.workload.universe

    def changes(self, relation: Relation) -> Relation:
        """The protected changes as pairs of columns of the workload."""
        return relation

    @abstractmethod
    def spread(self, rate: float) -> Norm:
        """A seminorm of u that bounds `rate * max over r, t of (v_t - v_r)`, v_r the change of score r."""

    @abstractmethod
    def combine(self, answers: Integers, targets: Integers) -> Integers:
        """The scores, (R,), from answers (K,) and targets in one unit."""

    @abstractmethod
    def sentence(self) -> str:
        """The formula."""

    def exact(self, counts: NDArray[np.int64]) -> tuple[list[int], Fraction]:
        """The scores as integers, and the step that they count. Confidential where the counts are.

        counts: (N,). R scores.
        """
        (forms, form_exponent), (targets, target_exponent) = self._dyadic
        exponent = min(form_exponent, target_exponent)
        wide = forms.dtype == object
        answers = (forms @ counts.astype(object) if wide else exact_answers(forms, counts)).astype(object)
        scores = self.combine(answers << (form_exponent - exponent), targets.astype(object) << (target_exponent - exponent))
        return [int(score) for score in scores], Fraction(2) ** exponent

    def floats(self, counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The scores of many histograms at once, and how far each row of them may be off. Confidential where the counts are.

        counts: (G, N). Returns (G, R), not finite where a kind of score has no such form, and (G,).
        """
        return np.full((len(counts), len(self.candidates)), np.nan), np.full(len(counts), np.inf)

    @cached_property
    def _dyadic(self) -> tuple[tuple[Integers, int], tuple[Integers, int]]:
        given = np.asarray(self.targets)
        targets, exponent = _dyadic(np.atleast_2d(given))
        return _dyadic(self.workload.dense()), (targets.reshape(given.shape), exponent)

    def to_spec(self) -> dict[str, Any]:
        """Plain data, `kind` first."""
        return {"kind": self.kind, "workload": workload_to_spec(self.workload), "targets": self.targets}


class Linear(Score):
    """`s_r(x) = (Q x)_r - t_r`: the candidates are the queries of the workload.

    >>> counts = Linear(Workload.identity(3))  # the most frequent element
    >>> counts.exact(np.array([5, 0, 7]))
    ([5, 0, 7], Fraction(1, 1))
    """

    kind = "linear"
    schema = of_kind("score", kind, OF_FORMS, "Of candidate r: the answer to query r less its target.")

    def spread(self, rate: float) -> Norm:
        """The range of u: v = u."""
        return Range(np.full(len(self.candidates), rate))

    def combine(self, answers: Integers, targets: Integers) -> Integers:
        """`answers - targets`.

        answers, targets: (R,). Returns (R,).
        """
        return np.asarray(answers - targets)

    def sentence(self) -> str:
        return "the answer to the candidate's query less its public target"


class AbsoluteError(Score):
    """`s_r(x) = |(Q x)_r - t_r|`: the query that the public answers t serve worst scores highest (MWEM's choice)."""

    kind = "absolute_error"
    schema = of_kind("score", kind, OF_FORMS, "Of candidate r: the absolute value of the answer to query r less its target.")

    def spread(self, rate: float) -> Norm:
        """The sum of the two largest |u_r|: `|v_r| <= |u_r|`, with either sign."""
        return TwoLargest(np.full(self.workload.shape[0], rate))

    def combine(self, answers: Integers, targets: Integers) -> Integers:
        """`|answers - targets|`.

        answers, targets: (R,). Returns (R,).
        """
        return np.asarray(abs(answers - targets))

    def sentence(self) -> str:
        return "the absolute error of the public target as an answer to the candidate's query"


class Closeness(AbsoluteError):
    """`s_r(x) = -|(Q x)_r - t_r|`: the query whose answer is nearest to its target scores
    highest (a median: below - above nearest to 0)."""

    kind = "closeness"
    schema = of_kind(
        "score", kind, OF_FORMS, "Of candidate r: minus the absolute value of the answer to query r less its target."
    )

    def combine(self, answers: Integers, targets: Integers) -> Integers:
        """`-|answers - targets|`.

        answers, targets: (R,). Returns (R,).
        """
        return np.asarray(-abs(answers - targets))

    def floats(self, counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Sums of N products, each rounded once, and one difference: N + 3 roundings of at most the sum of their sizes.

        counts: (G, N). Returns (G, R) and (G,).
        """
        assert self.targets is not None
        forms, given = self.workload.dense(), counts.astype(np.float64)
        sizes = (np.abs(given) @ np.abs(forms).T).max(axis=1) + np.abs(self.targets).max()
        error = (forms.shape[1] + 4) * 2.0**-52 * sizes
        return self.combine(given @ forms.T, self.targets), error

    def sentence(self) -> str:
        return "minus the absolute difference of the answer to the candidate's query and its public target"


class RankError(Closeness):
    """`s_r(x) = -max(0, (Q x)_r - t_r, (Q x)_(R + r) - t_(R + r))`: the candidate whose two answers exceed their targets least
    scores highest (a quantile: too few records at most it, or too many below it).

    The workload has 2 R queries, R >= 2; the first R have the names of the candidates.
    """

    kind = "rank_error"
    schema = of_kind("score", kind, OF_FORMS, "Minus the larger excess of a candidate's two answers over their targets, or 0.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workload.shape[0] % 2:
            raise InvalidProblem(f"workload: {self.workload.shape[0]} queries; give two for each candidate.")

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the first half of the queries."""
        return self.workload.queries[: self.workload.shape[0] // 2]

    def combine(self, answers: Integers, targets: Integers) -> Integers:
        """`-max(0, excess of r, excess of R + r)`.

        answers, targets: (2 R,). Returns (R,).
        """
        first, second = np.split(answers - targets, 2, axis=-1)
        return np.asarray(-np.maximum(np.maximum(first, second), 0))

    def sentence(self) -> str:
        return "minus the larger of what the answers to the candidate's two queries exceed their public targets by, or 0"


@dataclass(frozen=True, eq=False)
class LargestError(Score):
    """`s_r(x) = -max_k |(Q x)_k - t_rk|`: the candidate whose public answers t_r (row of targets, (R, K))
    err least scores highest (SmallDB's choice).

    `named` holds the names of the candidates, `c0, c1, ...` by default.
    """

    named: Sequence[object] | None = field(default=None)
    kind = "largest_error"
    schema = of_kind(
        "score",
        kind,
        {"workload": WORKLOAD, "targets": MATRIX, "candidates": NAMES},
        "Minus the largest absolute error of a candidate's answers, its row of targets.",
    )

    def __post_init__(self) -> None:
        _require_workload(self.workload)
        if self.targets is None:
            raise InvalidProblem("targets: missing; give each candidate's answers as a row.")
        targets = real_array(self.targets, "targets", 2)
        if targets.shape[1] != self.workload.shape[0]:
            raise InvalidProblem(
                f"targets: rows of {targets.shape[1]} answers for {self.workload.shape[0]} queries; give one for each."
            )
        assign(self, targets=targets)
        if self.named is not None and not isinstance(self.named, (list, tuple)):
            raise InvalidProblem(
                f"named: {shown(self.named)} is not a list of names; give one for each candidate.", value=self.named
            )
        assign(self, named=names(self.named, len(targets), "named", "c"))
        _require_choice(len(targets))

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the rows of targets."""
        return tuple(map(str, self.named or ()))

    def spread(self, rate: float) -> Norm:
        """`2 max_k |u_k|`: maxima and absolute values move by no more than what is inside, with either sign."""
        return Norm(np.full(self.workload.shape[0], 2 * rate), "linf")

    def combine(self, answers: Integers, targets: Integers) -> Integers:
        """`-max |answers - targets|` over each row.

        answers: (K,). targets: (R, K). Returns (R,).
        """
        return np.asarray(-abs(answers - targets).max(axis=1))

    def sentence(self) -> str:
        return "minus the largest absolute error of the candidate's public answers over all queries"

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "candidates": list(self.candidates)}


def _require_workload(workload: object) -> None:
    if not isinstance(workload, Workload):
        raise InvalidProblem(f"workload: {shown(workload)} is none; give a `Workload` of linear forms.", value=workload)


def _require_choice(candidates: int) -> None:
    if not 2 <= candidates <= MOST_CANDIDATES:
        raise InvalidProblem(f"candidates: {candidates}; a choice needs from 2 to {MOST_CANDIDATES} of them.")


def _dyadic(matrix: Floats) -> tuple[Integers, int]:
    """Integers n and an exponent e with `matrix = n 2^e` exactly; 64-bit integers where they suffice."""
    if (np.abs(matrix) < 2.0**52).all() and (matrix == np.rint(matrix)).all():
        return matrix.astype(np.int64), 0
    rows, exponent = dyadic_integers(matrix)
    return np.array(rows, dtype=object), exponent
