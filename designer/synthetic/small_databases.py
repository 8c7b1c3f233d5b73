"""The small database mechanism under a metric (DX Algorithm 1,
corrected): choose a database of m records that answers like the real one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign, count, positive, shown
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.schema import COUNT, Named, record
from designer.certificate.certificate import PrivacyCertificate, settled_claim
from designer.certificate.frozen import SpecForm, settle_claim
from designer.certificate.guarantee import Guarantee, Optimality
from designer.limits import LARGEST_STEP_EXPONENT, MOST_SMALL_DATABASE_STEPS, MOST_SMALL_DATABASE_SUMS, MOST_SMALL_DATABASES
from designer.problem.histogram import exact_answers
from designer.relations.problem import Problem
from designer.sampling.entropy import Entropy
from designer.sampling.selection import ExponentialLaw, PermuteAndFlipLaw
from designer.synthetic.queries import LipschitzQueries, public_records, read_core, require_queries, whole_histogram
from designer.synthetic.release import (
    LAWS,
    PARAMETERS,
    RECORDS,
    SELECTION,
    SynthesisedFromCounts,
    SyntheticRelease,
    SyntheticSimulation,
    statement,
)

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SmallDB(SynthesisedFromCounts):
    """Chooses y among the histograms of m records, with weight `exp(-s(y) / (2 c))`, `s(y) = max_k |P_k x - (n / m) P_k y|`.

    queries: P with Lipschitz constants at most c. records: n, public. size: m. Answers and histogram are those of y scaled to n
    records (DX Algorithm 1 compares and answers with y of m records as it stands). See docs/theory/synthetic.md, 3. Histograms
    whose answers are all equal are one candidate. The choice falls among the distinct vectors P y, drawn exactly, so the law
    needs no list of all histograms.
    selection: "exponential", or "permute_and_flip", which is never worse.
    Raises `DesignFailed` above 50,000 candidates: no exact sampler is known there,
    and a chain proves nothing (`examples/papers/dx/small_database_chain.py` simulates one).
    """

    format: ClassVar[str] = "dp-designer/small-db"
    proves_bound: ClassVar[bool] = True  # of what is released
    bound_proof: ClassVar[str] = "docs/theory/synthetic.md, 3"
    spec_form = SpecForm(
        Named(
            "small_db",
            record(
                {"queries": LipschitzQueries.schema, "records": RECORDS, "size": COUNT, "selection": SELECTION},
                note="One histogram of `size` records is chosen, and scaled to all records.",
            ),
        ),
        PARAMETERS,
    )

    queries: LipschitzQueries
    records: int
    size: int
    selection: str = "exponential"
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        assign(self, records=public_records(self.records), size=count(self.size, "size"))
        if not isinstance(self.selection, str) or self.selection not in LAWS:
            raise InvalidProblem(
                f"selection: {shown(self.selection)} is unknown; use one of {sorted(LAWS)}.", value=self.selection
            )
        require_queries(self.queries)
        assign(self, privacy=self.queries.privacy.require())
        _ = self.candidates

    def verify(self) -> PrivacyCertificate:
        """The certificate of the queries: the score moves by no more than the worst of them,
        and the whole budget goes to one choice."""
        return self.queries.verify()

    @cached_property
    def candidates(self) -> ColumnSums:
        """The distinct vectors P y over the histograms y of m records."""
        return ColumnSums.of(self.queries.integers, self.size)

    def _statement(self) -> Guarantee:
        words = (
            f"SmallDB: one of {len(self.candidates.answers)} distinct answer vectors of histograms of {self.size} records, "
            f"by the {self.selection} law of its largest error; the histogram is scaled to all records. Lipschitz constant c "
            f"= {self.queries.constant!r}."
        )
        return statement(self.queries, self.privacy, words, self.fingerprint)

    @hides_data_in_errors
    def _release_counts(self, given: NDArray[np.int64], /) -> SyntheticRelease:
        return self._release_of(self._draw(given, self._release_entropy()))

    @property
    def preprocessing(self) -> tuple[Floats, Floats]:
        """The dX paper's `(Q', c)`, (K, N) and (K,), read-only; see `LipschitzQueries`."""
        return self.queries.preprocessing

    def _release_of(self, candidate: int) -> SyntheticRelease:
        """The release of the candidate of this number."""
        y = self._synthetic(candidate)
        return SyntheticRelease(y, *self._answered(y), (), self.guarantee, self.fingerprint, law=self)

    def _simulated(self, given: NDArray[np.int64], entropy: Entropy, stamp: str) -> SyntheticSimulation:
        y = self._synthetic(self._draw(given, entropy))
        return SyntheticSimulation(y, *self._answered(y), (), stamp)

    def pmf(self, histogram: object) -> Floats:
        """The probability of each candidate, for analysis on public counts: it is confidential otherwise."""
        return self._law(histogram).pmf()

    def _draw(self, histogram: object, entropy: Entropy) -> int:
        return int(self._law(histogram).draw(1, entropy)[0])

    def _law(self, histogram: object) -> ExponentialLaw | PermuteAndFlipLaw:
        """Scores in units of a grid step over m, exact integers: the one place where the counts are touched."""
        counts = whole_histogram(histogram, self.universe, self.records)
        exact = exact_answers(self.queries.integers, counts).astype(object) * self.size
        errors = np.abs(self.candidates.answers.astype(object) * self.records - exact).max(axis=1)
        return LAWS[self.selection]((-errors).tolist(), self.queries.rate * self.queries.step / (2 * self.size))

    def _synthetic(self, candidate: int) -> Floats:
        return frozen(self.candidates.histogram(candidate) * (self.records / self.size))

    def bound(self, beta: float = 0.05) -> float:
        """With probability 1 - beta no answer is further off than this (DX Proposition 1,
        sharpened in docs/theory/synthetic.md, 3).

        `n max |P - Q| + n R sqrt(log(2 K) / 2 m) + 2 c (log(candidates) + log(1 / beta))`, R the largest range of a row.
        """
        positive(beta, "beta")
        n, q = self.records, self.queries
        sampling = n * q.spread * math.sqrt(math.log(2 * len(q.weights)) / (2 * self.size))
        return n * q.bias + sampling + 2 * q.constant * (math.log(len(self.candidates.answers)) + math.log(1 / beta))

    def core(self) -> dict[str, Any]:
        return {"queries": self.queries.to_spec(), "records": self.records, "size": self.size, "selection": self.selection}

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> SmallDB:
        queries, records = read_core(core, cls.spec_form.core)
        if type(core["size"]) is not int:
            raise InvalidSpec("size: must be a whole number.")
        return cls(queries, records, core["size"], core["selection"])


settle_claim.register(SmallDB, lambda mechanism, claimed, proven: settled_claim(mechanism.queries, claimed, proven))


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """The distinct sums of m columns of an integer matrix: `answers` (C, K),
    and for each number of records the last step that led there.

    `steps[r]` has for each sum of r + 1 columns the sum of r columns it came from and the group of the added column;
    `groups` labels equal columns.
    """

    answers: Integers
    steps: tuple[tuple[Integers, Integers], ...]
    groups: Integers

    @classmethod
    def of(cls, integers: Integers, size: int) -> ColumnSums:
        """All sums of `size` columns of `integers` (K, N), by adding one column at a time to the distinct sums so far.

        A column is one number in a mixed radix that the sums cannot overflow, so sums of columns are sums of numbers.
        """
        columns, groups = np.unique(integers.T, axis=0, return_inverse=True)
        if int(np.abs(columns).max()) * size >= 2**62 or size >= 2**53:
            raise DesignFailed(f"size: {size} records overflow the grid; use a coarser grid (a larger exponent).")
        least = columns.min(axis=0)
        unit = np.maximum(np.gcd.reduce(columns - least, axis=0), 1)
        digits = (columns - least) // unit
        places = [1]
        for width in (size * digits.max(axis=0) + 1).tolist():
            places.append(places[-1] * width)
        codes = digits.astype(object) @ np.array(places[:-1], dtype=object)
        reached, steps = _distinct_sums(codes.astype(np.int64 if places[-1] < 2**62 else object), size)
        sums = [(reached % after) // before for before, after in pairwise(places)]
        answers = np.stack([digit.astype(np.int64) for digit in sums], axis=1) * unit + size * least
        return cls(frozen(answers), steps, frozen(groups.ravel()))

    def histogram(self, candidate: int) -> Floats:
        """A histogram of m records with the answers of a candidate;
        records of equal columns are spread evenly over their elements."""
        drawn = np.zeros(int(self.groups.max()) + 1)
        for parents, added in self.steps[::-1]:
            drawn[added[candidate]] += 1
            candidate = int(parents[candidate])
        return np.asarray((drawn / np.bincount(self.groups))[self.groups])


def _distinct_sums(codes: NDArray[Any], size: int) -> tuple[NDArray[Any], tuple[tuple[Integers, Integers], ...]]:
    """The distinct sums of `size` codes, and for each number of codes the way there."""
    sums, steps, done = codes[:1] * 0, list[tuple[Integers, Integers]](), 0
    for _ in range(size):
        _refuse_many(size, len(sums) * len(codes), MOST_SMALL_DATABASE_SUMS)
        # A step takes 30 microseconds even where there is little to add: all sums equal, 2^53 records.
        # Wide codes take 20 times as long.
        done += (len(sums) * len(codes) + 1000) * (20 if codes.dtype == object else 1)
        _refuse_many(size, done, MOST_SMALL_DATABASE_STEPS)
        sums, first = np.unique((sums[:, None] + codes[None, :]).ravel(), return_index=True)
        _refuse_many(size, len(sums), MOST_SMALL_DATABASES)
        steps.append(divmod(first.astype(np.int64), len(codes)))
    return sums, tuple(steps)


def _refuse_many(size: int, found: int, limit: int) -> None:
    if found <= limit:
        return
    raise DesignFailed(
        f"size: histograms of {size} records give more than {MOST_SMALL_DATABASES} distinct answers, too many to choose from "
        "exactly, or too many sums on the way; ask fewer queries, use fewer records or a coarser grid (a larger exponent), "
        "or use mwem."
    )


def literal_size(queries: int, alpha: float) -> int:
    """Compute the paper's m = log K / alpha^2, rounded up, at least 1 (one query alone would give 0).

    Parameters
    ----------
    queries : K, their number.
    alpha : the relative accuracy, above 0.
    """
    return max(1, math.ceil(math.log(queries) / alpha**2))


def proposition_1(queries: LipschitzQueries, records: int, alpha: float, beta: float) -> float:
    """Compute DX Proposition 1 as printed, for ranges R at most 1 and m = log K / alpha^2, K >= 2:
    `n max |P - Q| + alpha n + 2 c (log N log K / alpha^2 + log(1 / beta))`. Entries are measured in R, which scales alpha n.

    Parameters
    ----------
    queries : certified, with their constant c.
    records : n, the public number.
    alpha : the relative accuracy, above 0.
    beta : the probability that the bound fails.
    """
    size, elements = queries.workload.shape
    choice = 2 * queries.constant * (math.log(elements) * math.log(size) / alpha**2 + math.log(1 / beta))
    return records * queries.bias + alpha * records * queries.spread + choice


def small_db(
    problem: Problem,
    size: int | None = None,
    constant: str | float = "unbiased",
    exponent: int | None = None,
    selection: str = "exponential",
) -> SmallDB:
    """Build the SmallDB of a problem.

    Parameters
    ----------
    problem : with a public number of records.
    size : m, None for the one that makes the bound least.
    constant
        "unbiased" for P = Q, which measures best (docs/theory/synthetic.md, 1), or a number c. "optimal" for the least
        bound, program (8) with the price of `preprocessing.small_db_price`, which wants constant answers for few records
        and refuses those.
    exponent : the grid of P is 2^exponent; a coarse one makes fewer candidates.
    selection : "exponential", or "permute_and_flip", which is never worse.
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem: {shown(problem)} is none; give a `Problem` with its number of records.", value=problem)
    from designer.synthetic.queries import prepared, records_of, small_db_price

    if exponent is not None and (type(exponent) is not int or abs(exponent) > LARGEST_STEP_EXPONENT):
        raise InvalidProblem(
            f"exponent: {shown(exponent)} is not a whole number from -{LARGEST_STEP_EXPONENT} to {LARGEST_STEP_EXPONENT}; the "
            "grid is 2^exponent.",
            value=exponent,
        )
    price = small_db_price(problem)
    queries, optimality = prepared(problem, price, constant, exponent)
    made = SmallDB(queries, records_of(problem), price.best(queries.constant) if size is None else size, selection)
    return made.annotated({"family": "small_db"}, optimality)
