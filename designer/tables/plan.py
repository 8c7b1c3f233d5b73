"""The frozen plan of a release over a table: queries, their noise, and the per-record policy that follows from them.

What a spec of a plan for a table holds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, ConfidenceLimits
from designer.base.arrays import Floats
from designer.base.checks import assign, count, rational, rational_from
from designer.base.errors import InvalidProblem, InvalidSpec, NoAttribute, hides_data_in_errors
from designer.base.json_text import require_keys
from designer.base.schema import COUNT, RATIONAL, Named, keys, list_of, needs_one_of, noted, number, or_null, record, text
from designer.certificate import frozen as facts
from designer.certificate.frozen import FrozenMechanism, SpecForm
from designer.certificate.guarantee import TIMING, Guarantee
from designer.limits import MOST_PLAN_QUERIES
from designer.problem.histogram import (
    IN_SPECS,
    REFUSE,
    UNREADABLE,
    Counts,
    Unlisted,
    checked_rule,
    needs_others,
    rule_entry,
    rule_from,
)
from designer.relations.records.counting import NO_COUNTS, records_of, require_public
from designer.relations.records.engines import listed_column, unreadable
from designer.relations.records.row_unit import (
    RowUnit,
    guarantee_as_stated,
    left_out_rate,
    require_there,
    required_unit,
    row_unit_of,
)
from designer.relations.records.values import entry
from designer.sampling.entropy import Entropy, SystemEntropy, simulation_entropy, stamp_of_each
from designer.tables.answers import Answer, TableRelease, TableSimulation
from designer.tables.groups import Groups
from designer.tables.intervals import limits_of_answers
from designer.tables.loss_rate import RowCost, cost_per_row, selection_policy, splitting_policy
from designer.tables.measure import Measure
from designer.tables.other_noise import OtherNoise, PureSum, Quantile
from designer.tables.partition_selection import PartitionSelection, delta_of_rows
from designer.tables.plan_words import (
    FOUND,
    GAUSSIANS,
    NO_NUMBER,
    NOTION,
    OF_ENTITIES,
    OF_OTHER_NOISE,
    OTHER_LAWS,
    PURE,
    THEOREM,
    PolicyCertificate,
)
from designer.tables.policies import policies
from designer.tables.policies.policy import Policy
from designer.tables.queries import Additive, Aggregated, Average, Count, CountDistinct, Query, Sum
from designer.tables.query_file import QUERY, query_from_spec, query_to_spec
from designer.tables.scans import ExactNumbers, exact_numbers_of, noisy_answers
from designer.tables.unit_splitting import UnitSplitting

PLAN = Named(
    "table_plan",
    record(
        {
            "levels": list_of(Groups.schema),
            "queries": list_of(QUERY, most=MOST_PLAN_QUERIES),
            "splitting": or_null(UnitSplitting.schema),
            "rho": noted("The loss of a split row.", or_null(RATIONAL)),
        },
        {"constant": RATIONAL, **IN_SPECS},
        note="Queries of one table, each with its noise; `groups` of a query is its place among `levels`. `constant` "
        "is the loss of every record beside that of its split rows.",
    ),
)
DELTAS = {"delta": number(least=0, most=1), "delta_of_one_row": number(least=0, most=1)}
PARAMETERS = Named(
    "parameters_of_table_plans",
    record(
        {"queries": COUNT},
        {"rho_per_split_row": number(least=0), "constant_loss": number(least=0), **DELTAS},
        note="The delta of found groups, of every record or of a record of one row.",
        anyOf=needs_one_of(*DELTAS),
    ),
)
RHO_IS_STATED = {
    "if": {"properties": {"mechanism": {"properties": {"rho": text()}}}},
    "then": {"properties": {"guarantee": {"properties": {"parameters": {"required": ["rho_per_split_row"]}}}}},
}


@dataclass(frozen=True, eq=False)
class TablePlan(FrozenMechanism):
    """Queries of one table, each with its noise; the policy `P(r)`, what adding or removing record r costs,
    is the sum of their losses.

    splitting, rho, constant: a coarser policy to publish, too, `constant + rho m(r)^2`, m(r) the rows of r after `splitting`
    (Algorithm 1 of Seeman et al.). Without rho, the least that holds. The constant part, 0 unless stated, is for what costs
    every record the same (counts, quantiles; Lemma 5.6). Construction proves that the policy is above P for every
    record, and raises `NotPrivate` otherwise. unlisted: what happens to a record that a query asks about and that is in none of
    its listed groups, or lacks a label. See `designer.problem.histogram`.

    >>> from designer.tables import Count, Groups, Measure, Sum, variance_for
    >>> emp, industry = Measure("emp"), Groups(["industry"], keys=[["Retail"], ["Mining"]])
    >>> jobs = Sum("jobs", industry, variance=variance_for(50, "0.1"), measure=emp)
    >>> plan = TablePlan([jobs, Count("firms", industry, variance=5)])
    >>> plan.loss({"industry": "Retail", "emp": 150}), plan.policy.sentence()
    (Fraction(1, 1), 'emp^2 / 25000 + 1 / 10')
    """

    format = "dp-designer/table-plan"
    spec_form = SpecForm(PLAN, PARAMETERS, PolicyCertificate.schema, rules=RHO_IS_STATED)
    takes = ("records",)

    queries: Sequence[Query]
    splitting: UnitSplitting | None = None
    rho: Fraction | None = None
    constant: Fraction | None = None
    unlisted: Unlisted = REFUSE
    privacy: PolicyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        queries = tuple(self.queries)
        if not 1 <= len(queries) <= MOST_PLAN_QUERIES or not all(isinstance(query, Query) for query in queries):
            raise InvalidProblem(f"queries: give 1 to {MOST_PLAN_QUERIES} queries of designer.tables.")
        assign(self, queries=queries)
        names = _names(self)
        if len(set(names)) != len(names):
            raise InvalidProblem(f"queries: two are named {max(names, key=names.count)!r}; rename one.")
        self._require_one_rule()
        self._require_others()
        if (self.rho is not None or self.constant is not None) and self.splitting is None:
            raise InvalidProblem("rho, constant: say what a record costs by its split rows; give the splitting, too.")
        if self.constant is not None:
            assign(self, constant=rational_from(self.constant, "constant", 0))
        if self.splitting is not None:
            assign(self, rho=self._rate() if self.rho is None else rational(self.rho, "rho"))
        assign(self, privacy=self.verify().require())

    def _require_one_rule(self) -> None:
        """One rule for each measured column, so that `amounts` is a function and formulas speak of one thing."""
        for column in {measure.column for measure in self.measures}:
            if len({measure for measure in self.measures if measure.column == column}) > 1:
                raise InvalidProblem(
                    f"measures: {column!r} is clipped or rounded in two ways; use one Measure for both.", value=column
                )

    def _require_others(self) -> None:
        """Where records of no listed group are counted, every level has groups for them."""
        if checked_rule(self.unlisted) != "count as others":
            return
        for level in self.levels:
            if not level.is_complete:
                by = " x ".join(key.name for key in level.columns)
                remedy = "a selection lists no groups" if level.keys is None else "give them with `others` (others = true)"
                raise needs_others(f"in groups by {by}, below every listed label", remedy)

    @cached_property
    def noisy(self) -> tuple[Aggregated, ...]:
        """All sums and counts that get noise, the parts of averages among them."""
        parts = (
            (query,) if isinstance(query, Aggregated) else query.parts if isinstance(query, Average) else ()
            for query in self.queries
        )
        return tuple(part for group in parts for part in group)

    @property
    def _selections(self) -> list[PartitionSelection]:
        return [level.selection for level in self.levels if level.selection]

    @cached_property
    def levels(self) -> list[Groups]:
        """The different groups, in the order of their first query."""
        return list(dict.fromkeys(query.groups for query in self.queries))

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """All measures that queries, selections and the splitting read."""
        splittings = [selection.splitting for selection in self._selections] + [self.splitting]
        measured = [measure for query in self.queries if isinstance(measure := getattr(query, "measure", None), Measure)]
        return tuple(dict.fromkeys([*measured, *(measure for split in splittings if split for measure in split.measures)]))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers: what to name in `open_table` for a file without types."""
        compared = [c.column for query in self.queries for c in query.where if c.values and isinstance(c.values[0], int)]
        return tuple(dict.fromkeys([*(measure.column for measure in self.measures), *compared]))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        keys = [key.column for level in self.levels for key in level.columns]
        return tuple(dict.fromkeys([*keys, *self._read_otherwise, *(measure.column for measure in self.measures)]))

    @property
    def counted_keys(self) -> tuple[str, ...]:
        """Those of `numbers` that tell groups apart as well, hence whole numbers: `whole` of `open_table`."""
        keys = {key.column for level in self.levels for key in level.columns}
        return tuple(name for name in self.numbers if name in keys)

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        """`P(r)` of a public or hypothetical record, exact.
        At a record of confidential data the value is as confidential as the record.

        record: by the names of its columns.
        """
        selections = (
            level.selection.loss(record) for level in self.levels if level.selection and level.label(record) is not None
        )
        return sum((query.loss(record) for query in self.queries), sum(selections, Fraction(0)))

    def delta(self, record: Mapping[str, Any]) -> float:
        """`delta(r)`: the probability, rounded up, that a group is found because of this record alone;
        0 without private selection.

        record: by the names of its columns.
        """
        found = [level.selection for level in self.levels if level.selection and level.label(record) is not None]
        return min(1.0, sum(selection.delta_of(selection.contribution(record)) for selection in found) * (1 + 2.0**-40))

    @property
    def pure(self) -> bool:
        """Has every query a pure budget, and is no group found privately?"""
        budgets = (isinstance(query, OtherNoise) and query.pure_policy is not None for query in self.queries)
        return all(budgets) and not self._selections

    def pure_loss(self, record: Mapping[str, Any]) -> Fraction:
        """`E(r)` of a public or hypothetical record: no release is more than `exp(E(r))` times as likely with it as without it.
        InvalidProblem unless the plan is `pure`.

        record: by the names of its columns.
        """
        if not self.pure:
            raise InvalidProblem("queries: one of them, or a selection, has no pure budget; ask for `loss`, in zCDP.")
        return sum((query.pure_loss(record) for query in self.queries if isinstance(query, OtherNoise)), Fraction(0))

    def amounts(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The record as the plan measures it, clipped and rounded: what `policy` is a function of.

        record: by the names of its columns.
        """
        splittings = [self.splitting, *(selection.splitting for selection in self._selections)]
        labels = {split.by.name: split.by.label(record) for split in splittings if split and split.by}
        return {
            **record,
            **labels,
            **{measure.column: measure.units(entry(record, measure.column)) * measure.step for measure in self.measures},
        }

    @cached_property
    def policy(self) -> Policy:
        """The exact policy of records that count in every query, of the least noise where groups differ:
        `loss(r) <= policy.exact(amounts(r))`."""
        parts: list[Policy] = [query.rho_policy() for query in self.queries if isinstance(query, (Quantile, OtherNoise))]
        parts += map(selection_policy, self._selections)
        sums: dict[str, Fraction] = {}
        counts = []
        gaussian = [query for query in self.noisy if isinstance(query, Additive)]
        for query in gaussian:
            precision = 1 / query.least_variance / query.step**2
            if (measure := getattr(query, "measure", None)) is None:
                counts.append(1 / precision)
            else:
                sums[measure.column] = sums.get(measure.column, Fraction(0)) + precision
        if gaussian:
            parts.insert(0, policies.GaussianSums({column: 1 / p for column, p in sums.items()}, tuple(counts)))
        return parts[0] if len(parts) == 1 else policies.SumOfPolicies(tuple(parts))

    def _rate(self) -> Fraction:
        return self._row_cost.rho(self.constant)

    @cached_property
    def _row_cost(self) -> RowCost:
        assert self.splitting is not None
        parts: list[Query | PartitionSelection] = [*self.queries, *self._selections]
        return sum((cost_per_row(part, self.splitting) for part in parts), RowCost())

    @property
    def split_policy(self) -> Policy:
        """The coarser policy, `constant + rho m(r)^2`, a function of `amounts(record)`.

        >>> from designer.tables import Groups, Measure, Quantile, Sum, variance_for
        >>> pay = Measure("pay")
        >>> median = Quantile("median", Groups(), (), pay, 0.5, (0, 10, 20), "0.1")
        >>> total = Sum("total", Groups(), variance=variance_for(5, "0.2"), measure=pay)
        >>> plan = TablePlan([median, total], UnitSplitting([pay], [5]), constant="0.1")
        >>> [float(plan.split_policy.exact({"pay": pay})) for pay in (15, 10, 3)]
        [1.9, 0.9, 0.3]
        """
        if self.splitting is None or self.rho is None:
            raise NoAttribute("splitting: missing; state one to have a policy by split rows.")
        rows = splitting_policy(self.splitting, self.rho)
        return policies.SumOfPolicies((policies.ConstantPolicy(self.constant), rows)) if self.constant else rows

    def verify(self) -> PolicyCertificate:
        """The certificate, recomputed from the frozen numbers: the losses of all queries,
        and the least rho that covers them."""
        selected = self._selections
        for query in self.queries:
            if isinstance(query, Quantile):
                query.choice.verify().require()
        terms = tuple(query.sentence() for query in self.queries) + tuple(
            f"{s.sentence()}: loss c^2 / (2 * {s.variance}), delta {s.delta!r} "
            + ("of every record" if s.uniform else "of a record of one row")
            for s in selected
        )
        rate = None if self.splitting is None else self._rate()
        holds = rate is None or (self.rho is not None and rate <= self.rho)
        theorem = THEOREM + (OF_OTHER_NOISE if self._has_other_noise else "")
        return PolicyCertificate(
            holds, terms, None if rate is None else str(rate), "exact rationals; tails rounded up", theorem
        )

    @property
    def _has_other_noise(self) -> bool:
        return any(isinstance(query, OtherNoise) for query in self.queries)

    @hides_data_in_errors
    def check(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        """See `FrozenMechanism.check`: a table of records, with the options of `release`."""
        super().check(data)
        require_there(
            self.columns, row_unit_of(unit, entity, rows_per_entity, self.about.records).present(_records(data), self.columns)
        )

    @hides_data_in_errors
    def release(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> TableRelease:
        """Noisy answers of a confidential data frame, or of an Ibis table on any engine that tells texts apart by bytes;
        levels share aggregations where the engine can roll them up, and only aggregates travel.

        The table is a row-wise view of one table, so that a row is a record; anything else, such as a join, needs a `unit`, the
        caller's word for what one row is. entity, rows_per_entity: a column, and how many rows of each of its values count; the
        rest are left out by a rule that looks at the rows of that entity alone. The guarantee of the release states both.
        """
        self.check(data, unit=unit, entity=entity, rows_per_entity=rows_per_entity)
        row = row_unit_of(unit, entity, rows_per_entity, self.about.records).read_from(data)
        stated, exact = self.guarantee_for(row), self._exact(data, row)
        answers = noisy_answers(self.queries, self.noisy, exact, self._release_entropy())
        row = row.with_left_out(_records(data), facts.rate_of_left_out(self))
        return TableRelease(answers, stated, self.fingerprint, row=row, law=self)

    @hides_data_in_errors
    def simulate(
        self,
        size: int,
        seed: int | None = None,
        *,
        data: Any = None,
        unit: str | None = None,
        entity: str | None = None,
        rows_per_entity: int | None = None,
    ) -> tuple[TableSimulation, ...]:
        """What `size` releases of `data` would be, a PUBLIC or invented table: each is stamped as not private."""
        entropy, row = simulation_entropy(seed), row_unit_of(unit, entity, rows_per_entity, self.about.records)
        stamps = stamp_of_each(seed, count(size, "size"))
        exact = self._exact(require_public(data), row, entropy)
        return tuple(TableSimulation(noisy_answers(self.queries, self.noisy, exact, entropy), stamp) for stamp in stamps)

    def _exact(self, data: Any, row: RowUnit, entropy: Entropy = SystemEntropy()) -> ExactNumbers:  # noqa: B008
        """What the records that count say; refused where one is in no listed group and the plan says so.

        entropy: of the choice of the rows of entities.
        """
        rows = row.rows(_records(data), self.columns, self.numbers, self.counted_keys, unlisted=self.unlisted, entropy=entropy)
        if refusing := self.unlisted == REFUSE:
            self._require_readable(rows)
        return exact_numbers_of(self.queries, self.noisy, self._with_labels(rows), all_listed=refusing)

    def _require_readable(self, rows: Any) -> None:
        """Refuse rows in which a text of a column of numbers spells none."""
        held = [rows[name] for name in self.numbers if name in rows.columns and rows[name].type().is_string()]
        if held and rows.filter(reduce(operator.or_, map(unreadable, held))).count().to_pyarrow().as_py():
            raise InvalidProblem(UNREADABLE)

    def _with_labels(self, rows: Any) -> Any:
        """The same rows, columns that list nothing but numbers, booleans or days in every level as the labels that their
        values are, whatever holds them; but for those that are read for something else, too."""
        kept = {*self.numbers, *self._read_otherwise}
        listed: dict[str, list[tuple[str, ...]]] = {}
        for level in self.levels:
            for place, (key, known) in enumerate(zip(level.columns, level.spelled, strict=True)):
                if known is None:
                    kept.add(key.column)
                listed.setdefault(key.column, []).extend((labels[place],) for labels in level.keys or ())
        labels = {name: Groups([name], list(dict.fromkeys(own))).spelled[0] for name, own in listed.items() if name not in kept}
        named = {name: listed_column(rows[name], own) for name, own in labels.items() if own and name in rows.columns}
        return rows.mutate(**named) if named else rows

    @property
    def _read_otherwise(self) -> tuple[str, ...]:
        """The columns that are read for something else than groups and measures."""
        splittings = [self.splitting, *(selection.splitting for selection in self._selections)]
        found = [split.by.column for split in splittings if split and split.by]
        found += [condition.column for query in self.queries for condition in query.where]
        return (*found, *(query.of for query in self.queries if isinstance(query, CountDistinct)))

    def noise_in_answers(self, size: int, entropy: Entropy) -> Floats:
        """`size` draws of the noise in all answers, (size, K), in the order of `answer_layout`; of averages, quantiles and sums
        whose noise depends on them not a number."""
        return np.concatenate([part.draws(size, entropy) for part in _in_order(self)], axis=1)

    def _limits_of(self, released: TableRelease, level: float, simultaneous: bool) -> ConfidenceLimits:
        """Intervals of all answers of all queries, in order; see `designer.tables.intervals`."""
        return limits_of_answers(self.queries, self.noisy, released, level, simultaneous)

    def core(self) -> dict[str, Any]:
        return {
            "levels": [level.to_spec() for level in self.levels],
            "queries": [query_to_spec(query, self.levels) for query in self.queries],
            "splitting": None if self.splitting is None else self.splitting.to_spec(),
            "rho": None if self.rho is None else str(self.rho),
            **({} if self.constant is None else {"constant": str(self.constant)}),
            **rule_entry(self.unlisted),
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> TablePlan:
        stated = {"constant", "unlisted"} & set(core)
        require_keys(core, keys(cls.spec_form.core) | stated, "mechanism")
        if not all(isinstance(core[key], list) for key in ("levels", "queries")):
            raise InvalidSpec("levels, queries: must be lists.")
        levels = [Groups.from_spec(level) for level in core["levels"]]
        splitting = None if core["splitting"] is None else UnitSplitting.from_spec(core["splitting"])
        queries = tuple(query_from_spec(query, levels) for query in core["queries"])
        return cls(queries, splitting, core["rho"], core.get("constant"), rule_from(core))

    def _statement(self) -> Guarantee:
        flat = f"{self.constant} + " if self.constant else ""
        rows = "" if self.splitting is None else f"m(r) the rows of r after splitting at {self.splitting.threshold_words()}."
        split = rows and f" P(r) <= {flat}{self.rho} * m(r)^2, {rows}"
        return Guarantee(
            unit="One record of the table, with a loss P(r) of its own: a public function of the record.",
            relation="Any one record may appear or disappear, whatever the others are.",
            unprotected=self._unprotected(),
            notion=NOTION + (FOUND if self._selections else "") + (PURE if self.pure else ""),
            parameters=self._parameters(),
            mechanism=(
                "P(r) adds up what follows over the queries in which r counts, r clipped and rounded as stated: "
                f"{'; '.join(self.privacy.terms)}. Where r counts in all of them, with the least noise of each, that is "
                f"{self.policy.sentence()}.{split}"
            ),
            sampling=OTHER_LAWS if self._has_other_noise else GAUSSIANS,
            floating_point=(
                "Every record is rounded to whole steps by a fixed rule of its own; sums, noise and thresholds are exact "
                "integers. The float returned is computed from the noisy integer alone."
            ),
            timing=f"{TIMING} The time of an aggregation may depend on the table, too.",
            post_processing=(
                "Anything computed from a release alone keeps the guarantee. Policies of several releases about the same "
                "records add up; a group of records loses at most (sum of sqrt(P(r)))^2."
            ),
            fingerprint=self.fingerprint,
        )

    def guarantee_for(self, unit: RowUnit) -> Guarantee:
        """The same statement for what one row is: a record, what the caller declares it to be,
        or one of the few rows of an entity.

        unit: what one row is.
        """
        stated = required_unit(unit).stated(self.guarantee, self.unlisted, rate=facts.rate_of_left_out(self))
        if self.measures:
            stated = replace(stated, unit=f"{stated.unit} {NO_NUMBER}")
        if unit.rows_per_entity is None:
            return stated
        name, selections = self._delta_name, self._selections
        total = sum(delta_of_rows(selection, unit.rows_per_entity) for selection in selections)
        return replace(
            stated,
            notion=stated.notion + OF_ENTITIES.format(k=unit.rows_per_entity),
            parameters={**stated.parameters, name: min(1.0, total * (1 + 2.0**-40)) if selections else 0.0},
        )

    def _unprotected(self) -> tuple[str, ...]:
        told = [
            "The schema of the table, its columns and their types, is public.",
            "The value of P at a record of the data is as confidential as the record: publish the function, not its values.",
        ]
        if any(level.keys is not None and level.columns for level in self.levels):
            told.append("The listed groups are public and must not have been chosen by looking at the data.")
        if not all(selection.uniform for selection in self._selections):
            told.append(
                "A record that is alone in its group makes the group appear with probability delta(r), near 1 for records "
                "of very many split rows."
            )
        return tuple(told)

    @property
    def _delta_name(self) -> str:
        uniform = all(selection.uniform for selection in self._selections)
        return "delta" if uniform else "delta_of_one_row"

    def _parameters(self) -> dict[str, float | int | None]:
        from solvers.exact.rational import float_above

        rows = {} if self.rho is None else {"rho_per_split_row": float_above(self.rho)}
        rows |= {} if self.constant is None else {"constant_loss": float_above(self.constant)}
        selections = self._selections
        total = sum(selection.delta for selection in selections)
        return {**rows, self._delta_name: min(1.0, total * (1 + 2.0**-40)) if selections else 0.0, "queries": len(self.queries)}


@facts.deviations_in_units.register(TablePlan)
def _deviations_in_units(mechanism: TablePlan) -> Iterable[tuple[str, float]]:
    """Of the groups of each count and sum that with the least noise, in steps."""
    for query in mechanism.noisy:
        if isinstance(query, Additive):
            yield query.name, math.sqrt(query.least_variance)
        elif isinstance(query, OtherNoise) and (variance := query.noise_variance()) is not None:
            yield query.name, math.sqrt(variance) / float(query.step)


@facts.below_by_noise.register(TablePlan)
def _below_by_noise(mechanism: TablePlan, table: AnswerTable) -> NDArray[np.bool_]:
    """Of counts, and of sums of what is never below 0, over groups that were listed."""
    counts = any(
        query.name == table.name
        and query.groups.keys is not None
        and isinstance(query, (Count, CountDistinct, Sum, PureSum))
        and (not isinstance(query, (Sum, PureSum)) or query.measure.lower >= 0)
        for query in mechanism.noisy
    )
    return (table.answers < 0) & counts


@facts.stated_budgets.register(TablePlan)
def _stated_budgets(mechanism: TablePlan) -> tuple[str, Floats]:
    """Of every query: what the smallest record costs that moves it, by one step; a pure budget, or the b of `b^2 / 2`."""
    rhos = [1 / (2 * q.least_variance) for q in mechanism.noisy if isinstance(q, Additive)]
    rhos += [query.rho for query in mechanism.queries if isinstance(query, Quantile)]
    pure = []
    for query in mechanism.noisy:
        if isinstance(query, OtherNoise):
            smallest, policy = {query.measure.column: query.step}, query.pure_policy
            rhos += [query.rho_policy().exact(smallest)] if policy is None else []
            pure += [] if policy is None else [float(policy.exact(smallest))]
    return "queries, at the smallest record that counts,", np.array([*(math.sqrt(2 * rho) for rho in rhos), *pure])


@facts.named_answers.register(TablePlan)
def _names(mechanism: TablePlan) -> tuple[str, ...]:
    return tuple(query.name for query in _in_order(mechanism))


def _in_order(plan: TablePlan) -> list[Query]:
    """The queries of all answers, the parts of averages among them."""
    return [*plan.noisy, *(query for query in plan.queries if not isinstance(query, Aggregated))]


@facts.answer_layout.register(TablePlan)
def _answer_layout(mechanism: TablePlan) -> list[AnswerTable] | None:
    if any(level.keys is None for level in mechanism.levels):
        return None
    keys = [(query, query.groups.keys or ()) for query in _in_order(mechanism)]
    columns = (tuple(key.name for key in query.groups.columns) for query, _ in keys)
    return [Answer(q.name, own, k, np.zeros(len(k))).table() for (q, k), own in zip(keys, columns, strict=True)]


# By what the smallest record costs that moves a query, of the query where that is most.
facts.stated_guarantee.register(TablePlan, guarantee_as_stated)
facts.rate_of_left_out.register(TablePlan, lambda plan: left_out_rate(float(_stated_budgets(plan)[1].max())))


def _records(data: Any) -> Any:
    """Records in one of the forms that are read; counts are refused."""
    if isinstance(data, Counts):
        raise InvalidProblem(NO_COUNTS)
    return records_of(data)
