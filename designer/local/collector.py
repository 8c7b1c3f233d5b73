"""What a collector learns from reports: unbiased counts with their covariance, intervals that hold, a consistent histogram.

Reports r, (M,), of people c, (N,), have the mean `K^T c`. For queries Q, any B with `B K^T = Q` makes `B r` unbiased. The one
used has the least total variance where people are spread as the prior says; its exact covariance is
`B diag(K^T c) B^T - Q diag(c) Q^T` (docs/theory/own_reports.md, 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import LEVEL, AnswerTable, ConfidenceLimits, Tabular
from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import probability, shown
from designer.base.errors import InvalidProblem
from designer.certificate.guarantee import Guarantee
from designer.problem.workload import Workload
from designer.relations.records.row_unit import RowUnit
from solvers.channel_lp.mixtures import likeliest_shares

SINGULAR = 1e-10  # of singular values, beside the largest
UNBIASED = 1e-7  # how far B K^T may be from Q, beside the largest entry of Q
LIKELY = 1e-6  # how near a log-likelihood is to the largest one, where steps and floats suffice
BERNSTEIN = (
    "Bernstein's inequality over the independent reports, whatever the values of the people are: the number without noise is "
    "inside with at least the stated probability"
)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Unbiased answers, (Q,), to linear queries of the number of people of each value.

    names: of the queries. covariance: (Q, Q), itself unbiased where the channel tells all values apart, and at least that on
    average elsewhere. reports: (M,), how often each came. Intervals hold for any people, by Bernstein's inequality.
    """

    names: tuple[str, ...]
    answers: Floats
    covariance: Floats
    reports: NDArray[np.int64]
    channel: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    queries: Floats = field(repr=False)

    @property
    def people(self) -> int:
        """How many reported."""
        return int(self.reports.sum())

    @cached_property
    def standard_errors(self) -> Floats:
        """(Q,), roots of the diagonal of the covariance, which is an estimate: 0 where that is below 0."""
        return frozen(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    def margins(self, level: float = LEVEL, simultaneous: bool = False) -> Floats:
        """Half-widths, (Q,), of intervals that hold with probability `level` each, or all at once."""
        left_out = (1 - probability(level, "level")) / (len(self.names) if simultaneous else 1)
        spread = (self.channel @ (self.weights**2).T - self.queries.T**2).max(axis=0)
        reach = np.ptp(self.weights, axis=1) * math.log(2 / left_out) / 3
        variance = 2 * math.log(2 / left_out) * self.people * np.maximum(spread, 0.0)
        return frozen((reach + np.sqrt(reach**2 + variance)) * (1 + 1e-9))

    def limits(self, level: float, simultaneous: bool) -> ConfidenceLimits:
        """Both ends of all intervals."""
        margins = self.margins(level, simultaneous)
        return ConfidenceLimits(self.answers - margins, self.answers + margins, BERNSTEIN)

    def intervals(self, level: float = LEVEL, simultaneous: bool = False) -> ConfidenceLimits:
        """The same, (Q,) each; by which inequality, in `law`."""
        return self.limits(level, simultaneous)

    @cached_property
    def _likeliest(self) -> tuple[Floats, float, float]:
        """Shares, (N,), that make the reports most likely, their log-likelihood, and a bound on that of all; equal shares of
        no reports."""
        if not self.people:
            return frozen(np.full(len(self.channel), 1 / len(self.channel))), 0.0, 0.0
        found = likeliest_shares(self.channel, self.reports, LIKELY)
        return frozen(found.point), -found.value, -found.lower_bound

    @cached_property
    def histogram(self) -> Floats:
        """(N,), the number of people of each value, none below 0, that makes the reports most likely (biased, where counts are
        near 0; docs/theory/columns.md, section 5)."""
        return frozen(self._likeliest[0] * self.people)

    @property
    def log_likelihood(self) -> float:
        """Of the reports under `histogram`, but for the multinomial coefficient."""
        return self._likeliest[1]

    @property
    def log_likelihood_bound(self) -> float:
        """No list of counts of as many people has a larger log-likelihood, but for rounding."""
        return self._likeliest[2]


def estimated(
    channel: Floats, prior: Floats, reports: NDArray[np.int64], queries: object, elements: tuple[str, ...]
) -> Estimate:
    """The estimate behind `Channel.estimate`: channel (N, M), prior (N,), reports (M,)."""
    matrix, names = queries_of(queries, elements)
    weights, told = left_inverse(channel, prior, matrix)
    answers = weights @ reports
    covariance = (weights * reports) @ weights.T
    if told is not None:
        covariance -= (matrix * (told @ reports)) @ matrix.T
    return Estimate(names, frozen(answers), frozen(covariance), reports, channel, frozen(weights), frozen(matrix))


def left_inverse(channel: Floats, prior: Floats, queries: Floats) -> tuple[Floats, Floats | None]:
    """`B` with `B K^T = Q` of least total variance where people are spread as the prior says, (Q, M), and the same for the
    counts themselves, (N, M); None where the channel does not tell all values apart.

    channel: (N, M); prior: (N,); queries: (Q, N). `InvalidProblem` where no such B exists.
    """
    root = 1 / np.sqrt(prior @ channel)
    inverse = np.linalg.pinv((channel * root).T, rcond=SINGULAR) * root
    told = np.abs(inverse @ channel.T - np.eye(len(channel))).max() <= UNBIASED
    weights = queries @ inverse
    if not np.abs(weights @ channel.T - queries).max() <= UNBIASED * max(1e-300, np.abs(queries).max()):
        raise InvalidProblem(
            f"queries: the channel has {len(channel)} values and {channel.shape[1]} reports, and people of different counts "
            "lead to the same law of reports, so no unbiased answer exists; ask for sums over values that it tells apart, take "
            "`histogram` of an estimate of the total, or design a channel that tells all values apart, such as 'exponential'."
        )
    return weights, inverse if told else None


def estimation_losses(channel: Floats, prior: Floats, queries: Floats) -> Floats:
    """`|B_z - Q_x|^2`, (N, M): what a report z of a person of value x is off by in the answers of Q, (Q, N). Its mean over
    reports and prior is the expected squared error of all answers, for each person."""
    weights, _ = left_inverse(channel, prior, queries)
    own, reports = (queries**2).sum(axis=0), (weights**2).sum(axis=0)
    return np.asarray(np.maximum(own[:, None] - 2 * queries.T @ weights + reports, 0.0))


def covariance(channel: Floats, prior: Floats, people: Floats, queries: Floats) -> Floats:
    """The exact covariance, (Q, Q), of the unbiased answers of Q, (Q, N), when `people`, (N,), report once each by the channel,
    (N, M)."""
    weights, _ = left_inverse(channel, prior, queries)
    return np.asarray((weights * (people @ channel)) @ weights.T - (queries * people) @ queries.T)


def tally(reports: object, names: tuple[str, ...]) -> NDArray[np.int64]:
    """How often each report came, (M,): from names or positions of reports, or from counts by name."""
    place = {name: k for k, name in enumerate(names)}
    found = np.zeros(len(names), dtype=np.int64)
    if isinstance(reports, Mapping):
        for name, times in reports.items():
            if name not in place or type(times) is not int or times < 0:
                raise InvalidProblem(f"reports: {shown(name)}: {shown(times)} is no count of a report of this channel.")
            found[place[name]] += times
        return frozen(found)
    if isinstance(reports, (str, bytes)) or not isinstance(reports, (Sequence, np.ndarray)):
        raise InvalidProblem(f"reports: {shown(reports)} is no list; give the report of each person, or counts by name.")
    for given in reports:
        k = place.get(given) if isinstance(given, str) else given
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 0 <= k < len(names):
            raise InvalidProblem(
                f"reports: {shown(given)} is neither the name nor the position of one of {len(names)} reports; give what "
                "`report` returned.",
                value=given,
            )
        found[int(k)] += 1
    return frozen(found)


def queries_of(queries: object, elements: tuple[str, ...]) -> tuple[Floats, tuple[str, ...]]:
    """Queries of the counts as a matrix, (Q, N), with their names; the counts themselves where none are given."""
    if queries is None:
        return np.eye(len(elements)), elements
    if isinstance(queries, Workload):
        matrix, names = np.asarray(queries.dense()), tuple(map(str, queries.queries))
    else:
        matrix = real_array(queries, "queries", 2)
        names = tuple(f"q{k}" for k in range(len(matrix)))
    if matrix.shape[1] != len(elements):
        raise InvalidProblem(f"queries: have {matrix.shape[1]} columns for {len(elements)} values; give one for each.")
    return matrix, names


# What comes out of a channel: how often each report came, and what that says of the people who reported.


NO_ESTIMATE = "these are counts of reports; different counts of people lead to the same law of reports, so none is estimated"


@dataclass(frozen=True, eq=False)
class Reports(Tabular):
    """How often each report came, (M,), from people who each reported once; `estimate` is of the people.

    reports, elements: the names of reports and values. channel: (N, M), the probabilities; prior: (N,), how likely each value
    is.
    """

    counts: NDArray[np.int64]
    reports: tuple[str, ...]
    elements: tuple[str, ...]
    channel: Floats = field(repr=False)
    prior: Floats = field(repr=False)
    guarantee: Guarantee
    fingerprint: str
    row: RowUnit | None = field(default=None, kw_only=True)

    @cached_property
    def estimate(self) -> Estimate | None:
        """The number of people of each value; None where the channel does not tell all values apart."""
        try:
            return estimated(self.channel, self.prior, self.counts, None, self.elements)
        except InvalidProblem:
            return None

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The estimated number of people of each value; the reports themselves where nothing unbiased follows from them."""
        found = self.estimate
        if found is None:
            keys = tuple((name,) for name in self.reports)
            return (AnswerTable("reports", ("report",), keys, self.counts.astype(np.float64), None, limits=_no_limits),)
        keys = tuple((name,) for name in found.names)
        return (AnswerTable("people", ("value",), keys, found.answers, found.standard_errors, limits=found.limits),)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "reports": dict(zip(self.reports, self.counts.tolist(), strict=True)),
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


def _no_limits(level: float, simultaneous: bool) -> ConfidenceLimits:
    raise InvalidProblem(f"intervals: {NO_ESTIMATE}; ask `estimate(reports, queries)` for sums that are.")


@dataclass(frozen=True, eq=False)
class SimulatedReports:
    """How often each report came in each collection, (size, M), with a `stamp` that says they are not private."""

    counts: NDArray[np.int64]
    reports: Sequence[str]
    stamp: str

    def __len__(self) -> int:
        return len(self.counts)

    def to_dict(self) -> Mapping[str, Any]:
        """Plain data."""
        return {"reports": list(self.reports), "counts": self.counts.tolist(), "stamp": self.stamp}
