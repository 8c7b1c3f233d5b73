"""The certificate of rows that are not written out, under relations in which every change has one budget.

Nothing of K times N numbers is formed. For a diagonal norm and a column p_i of the measured matrix, `S_i = sum_k |w_k p_ki|^p`
is a sum over the entries that are not 0, found for all elements at once in exact integers:

- A record of element i appears: its length is `S_i^(1/p)`, exactly.
- A record changes from i to j: `|p_i - p_j|` is found exactly for the elements of largest S. For all other pairs it is bounded
  by the two ends' distances from a centre m: `S_i + S_j` in l1, twice that for squares, or once where no entries have opposite
  signs and m is the origin. m is the origin or the middle column, whichever gives less.

docs/theory/foundations.md, section 2.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.certificate.certificate import WORST_SEEN, PrivacyCertificate, Witness
from designer.certificate.norms import Norm
from designer.problem.compressed_rows import WRITTEN_OUT, IntervalRows, Matrix, distinct_columns, extremes, row_places
from designer.problem.relation import Relation, SimpleBudgets
from designer.problem.workload import Workload
from solvers.exact.rational import float_above, max_float, root_above

LARGE = 2**21  # entries from which on rows are never written out
LARGE_OF_PAIRS = 2**25  # the same where a record changes: then the largest difference may be known as a bound alone
FEW, LOOKED_AT = 64, 2_000_000  # columns all of whose pairs are looked at, and the most entries of theirs
EXACT = "exact rationals: the largest length of all, from sums over the entries that are not 0"


def is_described(workload: Workload, relation: Relation) -> bool:
    """Whether a mechanism for these queries never writes them out: they are kept as they are described, every change has one
    budget, and they are large, or no element is in two of them."""
    if isinstance(workload.matrix, np.ndarray) or relation.simple is None:
        return False
    entries = workload.shape[0] * workload.shape[1]
    return entries > (LARGE if relation.simple.change is None else LARGE_OF_PAIRS) or (
        entries > WRITTEN_OUT and disjoint(workload.matrix)
    )


def disjoint(rows: Matrix) -> bool:
    """Whether no element is in two rows."""
    if isinstance(rows, IntervalRows):
        order = np.argsort(rows.starts, kind="stable")
        order = order[rows.lengths[order] > 0]
        return bool((rows.ends[order][:-1] <= rows.starts[order][1:]).all())
    if isinstance(rows, np.ndarray):
        return bool((np.count_nonzero(rows, axis=0) <= 1).all())
    return len(np.unique(rows.indices)) == len(rows.indices)


@dataclass(frozen=True, eq=False)
class DescribedSet:
    """All differences that a relation of simple budgets allows in rows that are not written out.

    rows: (K, N), intervals, or compressed rows of whole numbers. exponents: (K,), an entry n of row k stands for
    `n 2^exponents[k]`; intervals have 0.
    """

    relation: Relation
    rows: Matrix
    exponents: NDArray[np.int64]

    @property
    def budgets(self) -> SimpleBudgets:
        """Those of the relation."""
        found = self.relation.simple
        assert found is not None, "described rows go with simple budgets"
        return found

    def silent_coordinates(self) -> NDArray[np.bool_]:
        """The rows that no protected change moves, (K,): empty ones, and constant ones where no record appears."""
        return ~self._moves(appears=bool(self.budgets.appear), changes=self.budgets.change is not None)

    def _moves(self, *, appears: bool, changes: bool) -> NDArray[np.bool_]:
        least, most = extremes(self.rows)
        return np.asarray((appears & ((least != 0) | (most != 0))) | (changes & (least != most)))

    def largest(self, norm: Norm) -> RatioBound:
        """The largest `||u|| / b` of all, at most, and the pair of largest ratio among those that were looked at."""
        order = norm.order
        if norm.map.ndim != 1 or type(norm) is not Norm or order not in ("l1", "l2"):
            raise InvalidProblem(
                "norm: queries that are not written out take a diagonal norm of order l1 or l2; give one weight for each query."
            )
        if found := self._moved_without_noise(norm):
            return found
        power = 1 if order == "l1" else 2
        heard = np.where(norm.silent, 0.0, norm.map)
        best = RatioBound(Fraction(0), Fraction(0), None, Fraction(0))
        for one in (*self._appearing(heard, power), *self._changing(heard, power)):
            best = one.beside(best)
        return best

    def longest_column(self, norm: Norm) -> Fraction | None:
        """The largest norm of a column, of one record more or less; None where one has an entry without noise."""
        if (norm.silent & self._moves(appears=True, changes=False)).any():
            return None
        power = 1 if norm.order == "l1" else 2
        factors, unit = self._factors(np.where(norm.silent, 0.0, norm.map), power)
        return _length(max(self._sums(factors, power).tolist()) * unit, power)

    def _moved_without_noise(self, norm: Norm) -> RatioBound | None:
        """A change that moves a row without noise; None where there is none."""
        for appears, changes in ((True, False), (False, True)):
            if not (self.budgets.appear if appears else self.budgets.change is not None):
                continue
            moving = np.flatnonzero(norm.silent & self._moves(appears=appears, changes=changes))
            if len(moving):
                row, size = np.asarray(self.rows[moving[:1]].toarray()[0]), self.rows.shape[1]
                pair = (int(np.flatnonzero(row)[0]), size) if appears else (0, int(np.flatnonzero(row != row[0])[0]))
                budget = self.relation.exact_budget(*pair)
                assert budget is not None
                return RatioBound(None, None, pair, budget)
        return None

    def _appearing(self, heard: Floats, power: int) -> Iterator[RatioBound]:
        """For each budget the element whose record is longest."""
        factors, unit = self._factors(heard, power)
        if not self.budgets.appear:
            return
        sums = self._sums(factors, power)
        for kind, budget in enumerate(self.budgets.appear):
            places = np.flatnonzero(self.budgets.kinds == kind)
            longest = max(places.tolist(), key=sums.__getitem__)
            ratio = _length(sums[longest] * unit, power) / budget
            yield RatioBound(ratio, ratio, (longest, self.rows.shape[1]), budget)

    def _changing(self, heard: Floats, power: int) -> Iterator[RatioBound]:
        """The largest difference of two columns: exact where it is attained by elements of large sums, else a bound."""
        budget, size = self.budgets.change, self.rows.shape[1]
        if budget is None or size < 2:
            return
        moving = self._moves(appears=False, changes=True)
        factors, unit = self._factors(np.where(moving, heard, 0.0), power)
        signs = isinstance(self.rows, IntervalRows) or bool((self.rows.data >= 0).all() or (self.rows.data <= 0).all())
        found = None
        for middle in (None, size // 2):
            sums = self._sums(factors, power, middle)
            top = heapq.nlargest(FEW + 1, self._different, key=sums.__getitem__)
            if len(top) < 2:
                return
            few = min(FEW, max(4, math.isqrt(LOOKED_AT // max(1, len(self.column(top[0])) + len(self.column(top[-1]))))))
            twice = 1 if power == 1 or (signs and middle is None) else 2
            longest, pair = self._longest_of(top[:few], factors, power, twice * (sums[top[0]] + sums[top[1]]))
            rest = twice * (sums[top[0]] + sums[top[few]]) if len(top) > few else 0
            one = (max(longest, rest if longest < twice * (sums[top[0]] + sums[top[1]]) else 0), longest, pair)
            found = one if found is None else (min(found[0], one[0]), *max(found[1:], one[1:], key=lambda part: part[0]))
            if found[0] == found[1]:
                break
        assert found is not None
        bound, longest, pair = found
        lengths = [_length(square * unit, power) / budget for square in (max(bound, longest), longest)]
        yield RatioBound(lengths[0], lengths[1], pair, budget)

    def _longest_of(self, places: list[int], factors: Any, power: int, most: int) -> tuple[int, tuple[int, int]]:
        """The largest power of a distance between two of these elements, and which; a pair that attains `most` is enough."""
        columns = [self.column(place) for place in places]
        best, pair = -1, (places[0], places[1])
        for second in range(1, len(places)):
            for first in range(second):
                one, other = columns[first], columns[second]
                keys = one.keys() | other.keys()
                length = sum(factors[k] * abs(one.get(k, 0) - other.get(k, 0)) ** power for k in keys)
                if length > best:
                    best, pair = int(length), (places[first], places[second])
                if best >= most:
                    return best, pair
        return best, pair

    def _factors(self, weights: Floats, power: int) -> tuple[Any, Fraction]:
        """Whole numbers n, (K,) of Python integers, and a unit, with `(w_k 2^e_k)^p = n_k unit`."""
        mantissas, shifts = np.frexp(weights)
        whole = np.ldexp(mantissas, 53).astype(np.int64)
        shifts = shifts.astype(np.int64) - 53 + self.exponents
        low = int(shifts[whole != 0].min(initial=2**20))
        shifts = np.where(whole != 0, shifts - low, 0)
        numbers, number = np.unique(whole, return_inverse=True)
        rises, rise = np.unique(shifts, return_inverse=True)
        kinds, place = np.unique(number.ravel() * len(rises) + rise.ravel(), return_inverse=True)
        pairs = [divmod(kind, len(rises)) for kind in kinds.tolist()]
        made = np.array([(int(numbers[n]) << int(rises[s])) ** power for n, s in pairs], dtype=object)
        return made[place.ravel()], Fraction(2) ** (low * power) if whole.any() else Fraction(1)

    def _sums(self, factors: Any, power: int, middle: int | None = None) -> Any:
        """`sum_k n_k |p_ki - m_k|^p` of every element, (N,) of Python integers; m is the column `middle`, or the origin."""
        size = self.rows.shape[1]
        centre = {} if middle is None else self.column(middle)
        if isinstance(self.rows, IntervalRows):
            inside = factors.copy()
            for k in centre:
                inside[k] = -factors[k]
            steps = np.zeros(size + 1, dtype=object)
            np.add.at(steps, self.rows.starts, inside)
            np.subtract.at(steps, self.rows.ends, inside)
            return np.cumsum(steps[:-1]) + sum(factors[k] for k in centre)
        place = row_places(self.rows)
        shift = np.zeros(self.rows.shape[0], dtype=np.int64)
        shift[list(centre)] = list(centre.values())
        terms = factors[place] * (_powers(self.rows.data - shift[place], power) - _powers(shift[place], power))
        columns = np.argsort(self.rows.indices, kind="stable")
        sums = np.zeros(size, dtype=object)
        if len(columns):
            ordered = self.rows.indices[columns]
            begins = np.flatnonzero(np.diff(ordered, prepend=-1))
            sums[ordered[begins]] = np.add.reduceat(terms[columns], begins)
        return sums + sum(factors[k] * abs(v) ** power for k, v in centre.items())

    @cached_property
    def _different(self) -> list[int]:
        """Elements among whose columns are all that there are."""
        places: list[int] = distinct_columns(self.rows)[0].tolist()
        return places

    def column(self, place: int) -> dict[int, int]:
        """The entries of an element's column that are not 0, by row."""
        if isinstance(self.rows, IntervalRows):
            inside = np.flatnonzero((self.rows.starts <= place) & (place < self.rows.ends))
            return dict.fromkeys(inside.tolist(), 1)
        at = np.flatnonzero(self.rows.indices == place)
        rows = np.searchsorted(self.rows.indptr, at, side="right") - 1
        return dict(zip(rows.tolist(), self.rows.data[at].tolist(), strict=True))

    def exact(self, left: int, right: int) -> tuple[list[Fraction], Fraction | None]:
        """One pair as rational numbers: u, (K,), and b (None when infinite); `right` is N where a record appears."""
        u = [Fraction(0)] * self.rows.shape[0]
        for place, sign in ((left, 1), (right, -1)):
            for k, value in ({} if place == self.rows.shape[1] else self.column(place)).items():
                u[k] += sign * value * Fraction(2) ** int(self.exponents[k])
        return u, self.relation.exact_budget(left, right)


@dataclass(frozen=True)
class RatioBound:
    """The largest ratio of length to budget, at most `bound`, infinite where None; `reached` by `pair`, of this budget."""

    bound: Fraction | None
    reached: Fraction | None
    pair: tuple[int, int] | None
    budget: Fraction

    def beside(self, other: RatioBound) -> RatioBound:
        """The larger of two."""
        assert self.bound is not None and other.bound is not None and self.reached is not None and other.reached is not None
        seen = self if self.reached > other.reached else other
        return RatioBound(max(self.bound, other.bound), seen.reached, seen.pair, seen.budget)


def _powers(values: NDArray[np.int64], power: int) -> Any:
    """`|v|^p`, of whole numbers of any size."""
    sizes = np.abs(values)
    return sizes.astype(object) ** 2 if power == 2 and sizes.max(initial=0) >= 2**31 else sizes**power


def _length(power_of_it: Fraction, power: int) -> Fraction:
    """The length, from itself or from its square; roots are rounded up by less than 2^-79."""
    return power_of_it if power == 1 or not power_of_it else root_above(power_of_it)


@step("recomputing the certificate")
def certify_described(
    found_in: DescribedSet, norm: Norm, theorem: str = "", elements: Sequence[str] | None = None
) -> PrivacyCertificate:
    """The certificate of `norm` over a described set, in exact arithmetic throughout: what two machines find is the same."""
    found = found_in.largest(norm)
    size, simple = found_in.rows.shape[1], found_in.budgets
    pairs = (size if simple.appear else 0) + (size * (size - 1) // 2 if simple.change is not None else 0)
    witness, arithmetic = None, EXACT
    if found.pair is not None:
        words = found_in.relation.pair_words(*found.pair, elements or [str(i) for i in range(size)])
        told = float(min(found.budget, Fraction(max_float))) or float_above(found.budget)
        witness = Witness(*found.pair, words, (), told)
    if found.bound is not None and found.reached is not None and found.bound > found.reached:
        over = math.inf if not found.reached else 100 * float_above(found.bound / found.reached - 1)
        arithmetic += f", as a bound for the pairs that were not looked at, up to {over:.3g} {WORST_SEEN}"
    return PrivacyCertificate(found.bound is not None and found.bound <= 1, found.bound, witness, pairs, arithmetic, theorem)


def worst_ratio(found_in: DescribedSet, norm: Norm) -> float:
    """The factor, a float rounded up, by which a norm must be divided so that every change is within its budget; 0 where none
    moves anything. `InvalidProblem` where a row without noise moves."""
    found = found_in.largest(norm).bound
    if found is None:
        raise InvalidProblem("norm: a row that protected changes move has no noise; give it a finite weight.")
    return float_above(found)
