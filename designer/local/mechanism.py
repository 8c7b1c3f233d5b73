"""One person's own report under a metric: a public report for each value, drawn from a table of whole numbers.

A channel K, N x M, keeps the promise when `K[x, z] <= exp(b(x, x')) K[x', z]` for every report z and every two values x, x'
(docs/theory/own_reports.md, 1). Frozen, K is a table of whole numbers over one denominator; the promise is checked pair by pair
in whole numbers, against a rational that is proven to be at most exp(b).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, count, names, shown
from designer.base.errors import InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.json_text import array, require_keys
from designer.base.schema import MATRIX, NAMES, POSITIVE_VECTOR, Named, either, keys, list_of, noted, record, whole
from designer.certificate.agreement import RESTORE, ReleaseForm, ReleaseKeys, named_whole_numbers
from designer.certificate.certificate import PrivacyCertificate, Witness
from designer.certificate.frozen import SpecForm
from designer.certificate.guarantee import BUDGET_OR_NONE, NOTIONS, RATIO, Guarantee, budget_range
from designer.limits import MOST_CHANNEL_BITS, MOST_CHANNEL_ENTRIES
from designer.local.collector import Estimate, Reports, SimulatedReports, covariance, estimated, queries_of, tally
from designer.local.peaks import DESCRIBED, RULED, DescribedTable, LossRule
from designer.mechanism.composition import CompositionOfCounts
from designer.problem.histogram import Keys, Universe
from designer.problem.relation import finite_pairs
from designer.problem.workload import keys_from_spec
from designer.relations.kinds import METRIC, relation_from_spec, require_listed
from designer.relations.metrics.metric import Metric
from designer.relations.records.counting import TakesCounts, require_public
from designer.relations.records.row_unit import RowUnit
from designer.sampling.entropy import Entropy, simulation_entropy, simulation_stamp
from designer.sampling.integer_samplers import draw_from_table
from designer.tradeoff.costs import Cost
from solvers.exact.balls import exp_ball, fraction_below

BITS = 192  # of the rationals below exp(budget)
CLEAR = 1e-11  # by how much a logarithm of a float quotient has to be below its budget, to need no whole numbers
STEP = 2**24  # of the worst ratio that is stated
TIE = 1e-9  # ratios that floats do not tell apart
CHUNK = 2**18  # entries of rows that are compared at once
THEOREM = (
    "K[x, z] <= exp(b) K[x', z] for every report z and both orders of every pair, so no report is more than exp(b) times as "
    "likely from one value as from the other (docs/theory/own_reports.md, 1; DX Definition 2)."
)
ARITHMETIC = (
    "whole numbers for every report of every pair that floats with a proven error do not settle, against a rational at most "
    "exp(budget); the worst ratio is rounded up to a multiple of 2^-24"
)
SAMPLING = (
    "Exact: one uniform whole number below the denominator, from random bits of the operating system, by rejection; nothing "
    "is truncated and no float is involved."
)
NUMBERS = "A report is a name of a public list. Estimates are computed from reports and public numbers alone."
TIMING = (
    "How many random bits a report takes does not depend on the value; the time of a look-up in a table may, and is not "
    "covered. The guarantee does not cover attackers who can time single reports precisely."
)
UNIT = (
    "The value of one person. A report is drawn from one person's value alone, so the guarantee holds for each report by "
    "itself, "
    "before anybody collects it; the budgets of several reports of a person add up pair by pair."
)


@dataclass(frozen=True, eq=False)
class Channel(TakesCounts[Reports]):
    """Replaces a value x by a report z with probability `numerators[x][z] / denominator`.

    relation: a metric on the N values, all budgets finite. elements, reports: their names. numerators: N rows of M whole
    numbers above 0, which each sum to the denominator; or a `DescribedTable`, which stands for them. prior: (N,), above 0, of
    sum 1; losses: (N, M), or a `LossRule`: what `loss` averages over. keys: columns of a table of records that name the
    values. Raises `NotPrivate` where some pair exceeds its budget.

    >>> from designer import metrics
    >>> both = ("no", "yes")
    >>> answer = Channel(metrics.uniform(2, 1.1), both, both, ((3, 1), (1, 3)), 4, [0.5, 0.5], [[0, 1], [1, 0]])
    >>> answer.privacy.holds, answer.loss, answer.report("yes") in ("no", "yes")
    (True, 0.25, True)
    """

    format = "dp-designer/channel"
    spec_form = SpecForm(
        Named(
            "channel",
            record(
                {
                    "relation": METRIC,
                    "elements": NAMES,
                    "reports": NAMES,
                    "numerators": noted(
                        "A row for each element, a column for each report; or, of large tables, peaks that they follow from.",
                        either(list_of(list_of(whole(least=1))), DESCRIBED),
                    ),
                    "denominator": whole(least=1, most=2**MOST_CHANNEL_BITS),
                    "prior": POSITIVE_VECTOR,
                    "losses": either(MATRIX, RULED),
                },
                {"keys": Keys.schema},
                note="A table of probabilities in whole numbers over one denominator.",
            ),
        ),
        Named(
            "parameters_of_channels",
            record({"smallest_budget": BUDGET_OR_NONE, "largest_finite_budget": BUDGET_OR_NONE, "worst_ratio": RATIO}),
        ),
    )

    relation: Metric
    elements: Sequence[object]
    reports: Sequence[object]
    numerators: Sequence[Sequence[int]]
    denominator: int
    prior: Any
    losses: Any
    keys: Keys | None = None
    loss_rule: LossRule | None = field(init=False, repr=False)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_finite(self.relation)
        described = isinstance(self.numerators, DescribedTable)
        rows = self._described() if described else _table(self.numerators, count(self.denominator, "denominator"))
        if len(rows) != self.relation.size:
            raise InvalidProblem(
                f"numerators: {len(rows)} rows for {self.relation.size} elements of the metric; give one for each."
            )
        assign(self, numerators=rows, denominator=int(self.denominator))
        assign(self, elements=names(self.elements, len(rows), "elements", "e"))
        assign(self, reports=names(self.reports, len(rows[0]), "reports", "r"))
        rule = self.losses if isinstance(self.losses, LossRule) else None
        losses = real_array(self.losses, "losses", 2) if rule is None else frozen(rule.matrix(self.relation))
        assign(self, prior=checked_prior(self.prior, len(rows)), losses=losses, loss_rule=rule)
        if self.losses.shape != (len(rows), len(rows[0])):
            shape = f"{len(rows)} x {len(rows[0])}"
            raise InvalidProblem(f"losses: shape {self.losses.shape}; give one for each of {shape} entries.")
        if self.keys is not None:
            self.keys.require_spelled(self.universe.elements)
        assign(self, privacy=self.verify().require())

    def _described(self) -> Sequence[Sequence[int]]:
        """A table that is described for this metric and this denominator."""
        given = self.numerators
        assert isinstance(given, DescribedTable)
        if given.metric is not self.relation or given.denominator != self.denominator:
            raise InvalidProblem("numerators: are described for another metric or denominator; describe them for this one.")
        return given

    @cached_property
    def channel(self) -> Floats:
        """The probabilities, (N, M), as floats: row x is the law of the report of x."""
        if isinstance(self.numerators, DescribedTable):
            return frozen(self.numerators.numbers / self.denominator)
        return frozen(np.array([[entry / self.denominator for entry in row] for row in self.numerators]))

    @property
    def loss(self) -> float:
        """`sum_x p_x sum_z K[x, z] L(x, z)`, of the table that is drawn from."""
        return float((self.prior[:, None] * self.channel * self.losses).sum())

    @property
    def worst_loss(self) -> float:
        """`max_x sum_z K[x, z] L(x, z)`."""
        return float((self.channel * self.losses).sum(axis=1).max())

    @property
    def universe(self) -> Universe:
        return Universe(tuple(map(str, self.elements)), self.keys)

    @property
    def best_guess(self) -> float:
        """The chance of guessing a value from its report, by who knows the prior and the channel: `sum_z max_x p_x K[x, z]`."""
        return float((self.prior[:, None] * self.channel).max(axis=0).sum())

    def verify(self) -> PrivacyCertificate:
        """The privacy certificate, recomputed from the frozen table."""
        return certify_table(self.relation, self.numerators, tuple(map(str, self.elements)), tuple(map(str, self.reports)))

    @hides_data_in_errors
    def report(self, x: object, /) -> str | int:
        """The report of a person whose value is x: drawn anew at each call, which spends the budget each time.

        x: the name of an element, or its position; the report is a name, or a position, likewise.
        """
        place = place_of(x, self.elements, "value")
        drawn = int(draw_from_table(self.numerators[place], 1, self._release_entropy())[0])
        return str(self.reports[drawn]) if isinstance(x, str) else drawn

    @hides_data_in_errors
    def _release_counts(self, given: NDArray[np.int64], /) -> Reports:
        return self._release_of(self._drawn(given, self._release_entropy()))

    def _drawn(self, given: NDArray[np.int64], entropy: Entropy) -> list[int]:
        """How often each report comes from so many people of each value."""
        found = np.zeros(len(self.reports), dtype=np.int64)
        for row, people in zip(self.numerators, given.tolist(), strict=True):
            if people:
                found += np.bincount(draw_from_table(row, people, entropy), minlength=len(found))
        return found.tolist()

    def _release_of(self, counted: Sequence[int]) -> Reports:
        """The release of so many reports of each kind."""
        named = tuple(map(str, self.reports)), tuple(map(str, self.elements))
        found = frozen(np.array(counted, dtype=np.int64))
        return Reports(found, *named, self.channel, self.prior, self.guarantee, self.fingerprint)

    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> SimulatedReports:
        """The reports of `size` collections from `data`, which are PUBLIC or invented: counts, or records. Stamped."""
        entropy, (_, given) = simulation_entropy(seed), self._given(require_public(data), RowUnit())
        drawn = np.array([self._drawn(given, entropy) for _ in range(count(size, "size"))])
        return SimulatedReports(frozen(drawn), tuple(map(str, self.reports)), simulation_stamp(seed, f"{size} collections"))

    def estimate(self, reports: object, queries: object = None) -> Estimate:
        """What reports say of the number of people of each value, or of linear queries of these numbers; see `Estimate`.

        reports: a release; names or positions of reports, one for each person; or how often each came, by name. queries: a
        matrix, (Q, N), or a `Workload`; the counts themselves by default. Raises `InvalidProblem` for reports that the channel
        cannot make, and where the reports of different counts have the same law, so that nothing unbiased exists.
        """
        given = dict(zip(reports.reports, reports.counts.tolist(), strict=True)) if isinstance(reports, Reports) else reports
        counted = tally(given, tuple(map(str, self.reports)))
        return estimated(self.channel, self.prior, counted, queries, tuple(map(str, self.elements)))

    def covariance(self, people: object, queries: object = None) -> Floats:
        """The exact covariance, (Q, Q), of what `estimate` answers when `people`, (N,), public or invented, report once each.

        queries: as for `estimate`; the counts themselves by default.
        """
        given = real_array(people, "people", 1)
        matrix, _ = queries_of(queries, tuple(map(str, self.elements)))
        if len(given) != len(matrix[0]) or (given < 0).any():
            raise InvalidProblem(f"people: give a number from 0 on for each of {len(matrix[0])} values.")
        return covariance(self.channel, self.prior, given, matrix)

    def _require_listed(self) -> None:
        require_listed(self.relation)

    def core(self) -> dict[str, Any]:
        """Everything that decides what the channel does, and what its loss is an average of."""
        named, table = {} if self.keys is None else {"keys": self.keys.to_spec()}, self.numerators
        return {
            "relation": self.relation.to_spec(),
            "elements": list(self.elements),
            "reports": list(self.reports),
            "numerators": table.to_spec() if isinstance(table, DescribedTable) else [list(row) for row in table],
            "denominator": self.denominator,
            "prior": self.prior,
            "losses": self.losses if self.loss_rule is None else self.loss_rule.to_spec(),
            **named,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> Channel:
        optional = {key for key in ("keys",) if key in core}
        require_keys(core, (keys(cls.spec_form.core) - {"keys"}) | optional, "mechanism")
        relation = relation_from_spec(core["relation"])
        if not isinstance(relation, Metric):
            raise InvalidSpec(f"mechanism.relation: {relation.kind!r} is not a metric.", value=relation.kind)
        table, reports, total, losses = (core[key] for key in ("numerators", "reports", "denominator", "losses"))
        ruled = isinstance(losses, Mapping)
        if isinstance(table, Mapping):
            table = DescribedTable.from_spec(table, relation, len(reports) if isinstance(reports, (list, tuple)) else 0, total)
        return cls(
            relation,
            core["elements"],
            reports,
            table,
            total,
            array(core["prior"], 1, "mechanism.prior"),
            LossRule.from_spec(losses) if ruled else array(losses, 2, "mechanism.losses"),
            keys_from_spec(core["keys"]) if optional else None,
        )

    def _display_facts(self) -> Mapping[str, object]:
        """How many values and reports, and the fingerprint."""
        facts = super()._display_facts()
        return {"elements": len(self.elements), "reports": len(self.reports), "fingerprint": facts["fingerprint"]}

    def _statement(self) -> Guarantee:
        """The statement of what is promised."""
        least, most = budget_range(self.relation)
        return Guarantee(
            unit=UNIT,
            relation=self.relation.sentence(),
            unprotected=self.relation.unprotected(),
            notion=NOTIONS["exponential"],
            parameters={"smallest_budget": least, "largest_finite_budget": most, "worst_ratio": self.privacy.ratio},
            mechanism=(
                f"Each of {len(self.elements)} values has its own row of a public table of probabilities over "
                f"{len(self.reports)} public reports, whole numbers over one denominator of {self.denominator.bit_length()} "
                "bits."
            ),
            sampling=SAMPLING,
            floating_point=NUMBERS,
            timing=TIMING,
            fingerprint=self.fingerprint,
        )


def place_of(x: object, listed: Sequence[object], field: str) -> int:
    """The position that a name or a position means; the refusal says nothing of what was given, which may be confidential."""
    if isinstance(x, str) and x in listed:
        return list(listed).index(x)
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool) and 0 <= x < len(listed):
        return int(x)
    raise InvalidProblem(
        f"{field}: is neither the name nor the position of one of {len(listed)} elements. Nothing was reported."
    )


def require_finite(relation: object) -> None:
    """`InvalidProblem` for what is no metric, and for one with budgets that protect nothing."""
    if not isinstance(relation, Metric):
        raise InvalidProblem(
            f"metric: {shown(relation)} is no metric; build one with designer.metrics (who is asked is known, so nobody "
            "appears or disappears).",
            value=relation,
        )
    relation.require_symmetric("metric")
    if relation.components().any():
        raise InvalidProblem(
            "metric: has infinite budgets, between elements that it does not protect from each other; give every pair a finite "
            "budget, or ask about each component by itself."
        )


def checked_prior(prior: object, size: int) -> Floats:
    """A prior of N probabilities above 0 that sum to 1, up to rounding."""
    given = real_array(prior, "prior", 1)
    if len(given) != size:
        raise InvalidProblem(f"prior: {len(given)} probabilities for {size} elements; give one for each.")
    if not (given > 0).all():
        place = int(np.argmin(given > 0))
        raise InvalidProblem(
            f"prior: entry {place} is {float(given[place])!r}; give probabilities above 0, or leave out what nobody has.",
            value=float(given[place]),
        )
    if abs(math.fsum(given) - 1) > 1e-9:
        raise InvalidProblem(
            f"prior: sums to {math.fsum(given)!r}; divide by that, so that it sums to 1.", value=math.fsum(given)
        )
    return given


def _table(numerators: object, denominator: int) -> tuple[tuple[int, ...], ...]:
    if denominator.bit_length() > MOST_CHANNEL_BITS + 1:
        raise InvalidProblem(f"denominator: has {denominator.bit_length()} bits; use at most {MOST_CHANNEL_BITS}.")
    rows: tuple[tuple[int, ...], ...] = ()
    if isinstance(numerators, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in numerators):
        rows = tuple(map(tuple, numerators))
    if not rows or not rows[0] or {len(row) for row in rows} != {len(rows[0])}:
        raise InvalidProblem("numerators: are no rows of equal length; give one row for each element.")
    if len(rows) * len(rows[0]) > MOST_CHANNEL_ENTRIES:
        raise InvalidProblem(
            f"numerators: {len(rows)} x {len(rows[0])} entries; at most {MOST_CHANNEL_ENTRIES} are written out: describe "
            "larger tables by peaks, merge elements, or allow fewer reports."
        )
    for place, row in enumerate(rows):
        if not all(type(entry) is int and entry > 0 for entry in row):
            raise InvalidProblem(
                f"numerators: row {place} holds what is no whole number above 0; a report that some element never gives would "
                "tell it apart from those that do. Leave such reports out."
            )
        if sum(row) != denominator:
            raise InvalidProblem(f"numerators: row {place} does not sum to the denominator; probabilities sum to 1.")
    return rows


def certify_table(
    relation: Metric, numerators: Sequence[Sequence[int]], elements: Sequence[str], reports: Sequence[str]
) -> PrivacyCertificate:
    """Whether a table of whole numbers above 0 keeps every budget of a metric, both ways, and how near it comes.

    Pairs whose budgets others imply exactly are implied here, too. Source: docs/theory/own_reports.md, 1.
    """
    # Each within 1e-13: entries are below 2^512.
    logs = np.array([np.fromiter(map(math.log, row), dtype=np.float64, count=len(row)) for row in numerators])
    holds, pairs, worst, witness = True, 0, -1.0, (0, 0)
    reach, step = float(np.ptp(logs, axis=0).max()), -(-CHUNK // logs.shape[1])
    for block in relation.blocks():
        ends, finite = finite_pairs(block), block.budgets[np.isfinite(block.budgets)]
        for start in range(0, len(finite), step):
            i, j, budgets = (part[start : start + step] for part in (*ends, finite))
            pairs += len(i)
            # No report tells two values apart by more than the largest reach of a column.
            asked = (reach > budgets * (1 - relation.budget_error) - CLEAR) | (reach > worst * budgets)
            i, j, budgets = i[asked], j[asked], budgets[asked]
            if not len(i):
                continue
            apart = np.abs(logs[i] - logs[j])
            most, sure = apart.max(axis=1), budgets * (1 - relation.budget_error) - CLEAR
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where((budgets == 0) & (most <= CLEAR), 0.0, most / budgets)
            for k in np.flatnonzero(most > sure):
                a, b = int(i[k]), int(j[k])
                tight = np.flatnonzero(apart[k] > sure[k]).tolist()
                if not _keeps(numerators[a], numerators[b], tight, relation.exact_budget(a, b)):
                    holds, ratios[k] = False, max(ratios[k], 1 + 2 * TIE)
            if ratios.max() > worst * (1 + TIE):
                first = int(np.argmax(ratios >= ratios.max() * (1 - TIE)))
                worst, witness = float(ratios.max()), (int(i[first]), int(j[first]))
    if not pairs:
        return PrivacyCertificate(True, Fraction(0), None, 0, ARITHMETIC, THEOREM)
    nearly = worst + TIE if worst > 0 else 0.0
    stated = None if not math.isfinite(worst) else Fraction(math.ceil(nearly * STEP), STEP)
    if holds:
        stated = Fraction(1) if stated is None else min(stated, Fraction(1))
    a, b = witness
    apart_here = np.abs(logs[a] - logs[b])
    z = int(np.argmax(apart_here >= apart_here.max() - CLEAR))
    budget = relation.exact_budget(a, b)
    words = f"{relation.pair_words(a, b, elements)}, report {reports[z]}"
    found = Witness(a, b, words, (), float(budget or 0))
    return PrivacyCertificate(holds, stated, found, pairs, ARITHMETIC, THEOREM)


def _keeps(one: Sequence[int], other: Sequence[int], columns: Sequence[int], budget: Fraction | None) -> bool:
    """Whether no entry of either row is more than exp(budget) times that of the other, in whole numbers."""
    if budget is None:
        return True
    if budget > MOST_CHANNEL_BITS:  # no two positive entries of the table are as far apart
        return True
    least = fraction_below(lambda: exp_ball(budget), BITS)
    up, down = least.numerator, least.denominator
    return all(one[z] * down <= up * other[z] and other[z] * down <= up * one[z] for z in columns)


# Reports as files: how often each came.
#
# What several reports cost together: budgets add.


class ReportsForm(ReleaseForm[Channel, Reports]):
    """How often each report came, by name."""

    schema: ClassVar[ReleaseKeys] = {
        "reports": noted(
            "How often each report came.", {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
        )
    }
    checked = ("Every report is one that the channel makes, and is counted.",)

    def content(self, mechanism: Channel, released: Reports) -> dict[str, Any]:
        return {"reports": released.to_dict()["reports"]}

    def rebuilt(self, mechanism: Channel, content: Mapping[str, Any]) -> Reports:
        counted = named_whole_numbers(content["reports"], list(map(str, mechanism.reports)), "reports")
        if not all(0 <= times < 2**53 for times in counted):
            raise InvalidSpec(f"reports: hold what is no count; {RESTORE}")
        return mechanism._release_of(counted)

    def unchecked(self, mechanism: Channel) -> tuple[str, ...]:
        return ("That each person reported once.",)


class ChannelComposition(CompositionOfCounts[Channel]):
    """Pure."""

    def of_budget(self, made: Channel, budget: Fraction) -> Cost:
        return Cost.pure(budget)
