"""Problem files of kind "table_plan": queries of a table of records, each with its noise, or designed to be accurate enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.base.labels import number_of, texts_of
from designer.base.schema import Fragment, Named, Schema, either, exactly, needs_one_of, noted, record, text
from designer.designing.dispatch import design
from designer.files.data_files import numeric_column
from designer.limits import MOST_QUANTILE_CANDIDATES
from designer.problem.histogram import OTHERS
from designer.problem.reading import ColumnReading
from designer.problem.targets import Targets
from designer.problem_file.forms import ProblemFile
from designer.problem_file.linear_forms import TARGETS
from designer.problem_file.sections import Choices, ExpectedValues, Outcome
from designer.tables.condition import Condition
from designer.tables.groups import Groups, tree
from designer.tables.least import least_plan
from designer.tables.measure import Measure
from designer.tables.other_noise import PureSum, Quantile, SlowlyScaledSum
from designer.tables.plan import TablePlan
from designer.tables.plan_sections import (
    ASKED,
    CANDIDATES,
    CONDITION,
    COUNT_NOISE,
    DESIGN,
    EXACT,
    GROUPS,
    HIERARCHY,
    MEASURE,
    NOISE,
    OF_MEASURE,
    SLOW,
    SPLITTING,
    Levels,
    PlanParts,
    by_name,
    key_column,
    rows_of,
)
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords
from designer.tables.policies.slow_policies import StudentNoise, TransformedNoise
from designer.tables.problem import HierarchyProblem, PlanProblem
from designer.tables.queries import Additive, Average, Count, CountDistinct, Query, Sum, variance_for
from designer.tables.variance_by import VarianceBy

# The queries of a table, from the section [queries] of a problem file of kind "table_plan".


Asked = tuple[str, Groups, tuple[Condition, ...]]  # name, groups, conditions
NO_NOISE = "noise is missing; give {noise}, or a target in [targets] under {name!r}"


class QueryReader(PlanParts):
    """Queries by name."""

    def queries(self) -> tuple[Query, ...]:
        """All that are stated; those whose noise a target decides have that of variance 1 step until then."""
        return tuple(query for name, given in self.named("queries").items() for query in self._asked(name, given))

    def _asked(self, name: str, given: Mapping[str, Any]) -> list[Query]:
        """One query, or one for each of several groups."""
        section, groups = f"queries.{name}", given.get("groups")
        for group in [groups] if isinstance(groups, str) else groups or []:
            self.require_known(section, "groups", group, [*self.groups], "[groups] and [hierarchies]")
        asked = {name: Groups()} if groups is None else {name: self.groups[groups]} if isinstance(groups, str) else {}
        asked |= {f"{name} by {group}": self.groups[group] for group in groups} if isinstance(groups, list) else {}
        build = QUERIES[given["ask"]].read
        with self.at(section):
            where = self.where(section, given)
            return [build(self, section, given, (title, group, where)) for title, group in asked.items()]

    def _count(self, section: str, given: Mapping[str, Any], asked: Asked) -> Query:
        return Count(*asked, variance=self._variance(section, given, asked[0]))

    def _count_distinct(self, section: str, given: Mapping[str, Any], asked: Asked) -> Query:
        return CountDistinct(*asked, variance=self._variance(section, given, asked[0]), of=given["of"])

    def _sum(self, section: str, given: Mapping[str, Any], asked: Asked) -> Query:
        measure = self.measure(section, "measure", given["measure"])
        return Sum(*asked, variance=self._variance(section, given, asked[0], measure.step), measure=measure)

    def _average(self, section: str, given: Mapping[str, Any], asked: Asked) -> Query:
        measure = self.measure(section, "measure", given["measure"])
        sums = self._variance(section, given, f"{asked[0]}.sum", measure.step)
        counts = self._variance(section, given, f"{asked[0]}.count", of="count_")
        return Average(*asked, measure=measure, variance=sums, count_variance=counts)

    def _quantile(self, section: str, given: Mapping[str, Any], asked: Asked) -> Query:
        measure = self.measure(section, "measure", given["measure"])
        rho = self.exact(given["rho"], "rho")
        q, candidates = float(self.exact(given["q"], "q")), self._candidates(section, given)
        return Quantile(*asked, measure=measure, q=q, candidates=candidates, rho=rho)

    def _pure_sum(self, section: str, given: Mapping[str, Any], asked: Asked) -> Query:
        measure = self.measure(section, "measure", given["measure"])
        return PureSum(*asked, measure=measure, scale=self.exact(given["scale"], "scale"))

    def _slow_sum(self, section: str, given: Mapping[str, Any], asked: Asked) -> Query:
        measure, own = self.measure(section, "measure", given["measure"]), dict(given["noise"])
        law = own.pop("law")
        exact: dict[str, Any] = {k: v if k in ("power", "shape") else self.exact(v, k) for k, v in own.items()}
        if law == "gaussian":
            return SlowlyScaledSum(*asked, measure=measure, noise=TransformedNoise(**exact))
        made = StudentNoise.of_deviation if "deviation" in exact else StudentNoise
        return SlowlyScaledSum(*asked, measure=measure, noise=made(**exact))

    def _candidates(self, section: str, given: Mapping[str, Any]) -> tuple[Any, ...]:
        listed = given["candidates"]
        if isinstance(listed, list):
            return tuple(self.exact(value, "candidates") for value in listed)
        first, last, apart = (self.exact(listed[key], f"candidates.{key}") for key in ("from", "to", "step"))
        if apart <= 0 or not 0 < (last - first) / apart < MOST_QUANTILE_CANDIDATES or ((last - first) / apart).denominator != 1:
            remedy = f"`to` should be above `from` by a whole number of steps, below {MOST_QUANTILE_CANDIDATES}"
            raise self.refuse(section, "candidates", listed, remedy)
        return tuple(first + place * apart for place in range(int((last - first) / apart) + 1))

    def _variance(self, section: str, given: Mapping[str, Any], name: str, step: Any = None, of: str = "") -> Any:
        """The noise of a number: stated, or by what a record costs; `step` is that of its measure, None for counts."""
        stated, loss = given.get(f"{of}variance"), given.get(f"{of}loss")
        if stated is not None and loss is not None:
            raise self.refuse(section, f"{of}loss", loss, f"does not go with {of}variance; give one of the two")
        if (stated is not None or loss is not None) and self._has_target(name):
            key = f"{of}variance" if loss is None else f"{of}loss"
            raise self.refuse(section, key, given[key], f"{shown(name)} has a target in [targets], too; keep one of the two")
        if isinstance(loss, dict):
            if step is not None and "size" not in loss:
                raise self.refuse(
                    section, f"{of}loss", loss, "give the size of the record that costs rho, in the unit of the column"
                )
            return variance_for(self.exact(loss.get("size", 1), f"{of}loss.size"), self.exact(loss["rho"], f"{of}loss.rho"))
        if stated is not None:
            return self._stated(stated, f"{of}variance")
        if not self._has_target(name):
            noise = f"{of}variance, {of}loss"
            raise InvalidProblem(f"{self.path}: [{section}] {NO_NOISE.format(noise=noise, name=name)}.")
        return 1 if step is None else step**2

    def _has_target(self, name: str) -> bool:
        """Does [targets] speak of this number, by its name or of all?"""
        given = [values for key, values in self.named("targets").items() if key != "reference"]
        return any(not isinstance(values, dict) or name in values for values in given)

    def _stated(self, given: Any, field: str) -> Any:
        if isinstance(given, list):
            return [self.exact(value, field) for value in given]
        if not isinstance(given, dict):
            return self.exact(given, field)
        own = {label: self.exact(value, f"{field}.own") for label, value in given["own"].items()}
        return VarianceBy(key_column(given["by"]), own, self.exact(given["other"], f"{field}.other"))


@dataclass(frozen=True)
class Asking:
    """What may be asked: the form of such a query, and what reads it."""

    form: Named
    read: Callable[[QueryReader, str, Mapping[str, Any], Asked], Query]


def _asking(
    ask: str,
    note: str,
    read: Callable[[QueryReader, str, Mapping[str, Any], Asked], Query],
    needed: Mapping[str, Fragment] | None = None,
    free: Mapping[str, Fragment] | None = None,
) -> tuple[str, Asking]:
    keys = {"ask": noted(note, exactly(ask)), **(needed or {})}
    return ask, Asking(Named(f"plan_{ask}", record(keys, {**ASKED, **(free or {})})), read)


QUERIES: Mapping[str, Asking] = dict(
    [
        _asking("count", "How many records there are.", QueryReader._count, free=NOISE),
        _asking(
            "count_distinct",
            "How many different values a column has.",
            QueryReader._count_distinct,
            {"of": noted("The column.", text())},
            NOISE,
        ),
        _asking("sum", "The sum of a measure.", QueryReader._sum, OF_MEASURE, NOISE),
        _asking("average", "A noisy sum over a noisy count.", QueryReader._average, OF_MEASURE, {**NOISE, **COUNT_NOISE}),
        _asking(
            "quantile",
            "One of some candidates, chosen by the exponential mechanism.",
            QueryReader._quantile,
            {
                **OF_MEASURE,
                "q": noted("The share of records below.", either(EXACT)),
                "candidates": noted("Public values, rising.", CANDIDATES),
                "rho": noted("What every record costs.", either(EXACT)),
            },
        ),
        _asking(
            "pure_sum",
            "A sum with Laplace noise, of a pure budget.",
            QueryReader._pure_sum,
            {
                **OF_MEASURE,
                "scale": noted("Of the noise: size / epsilon, for a record of a size to cost epsilon.", either(EXACT)),
            },
        ),
        _asking(
            "slow_sum",
            "A sum whose loss grows slowly with the record.",
            QueryReader._slow_sum,
            {**OF_MEASURE, "noise": noted("Its law.", SLOW)},
        ),
    ]
)


ROWS_SHOWN = 24


def _deviations(variances: Sequence[float | Fraction]) -> str:
    """One standard deviation, or the least and the largest."""
    low, high = (float(pick(variances)) ** 0.5 for pick in (min, max))
    return f"{low:.6g}" if f"{low:.6g}" == f"{high:.6g}" else f"{low:.6g} .. {high:.6g}"


class TablePlanReader(QueryReader):
    """A file of kind "table_plan" being read."""

    def read(self) -> Mapping[str, Any]:
        self._require_bins()
        queries = self.queries()
        with self.at("splitting"):
            split = self.named("splitting")
            stated: dict[str, Any] = {key: self.exact(split[key], key) for key in ("rho", "constant") if key in split}
        problem, given = self._problem(queries), self.data.get("design", {})
        options = {"tolerance": given["tolerance"]} if "tolerance" in given else {}
        return {"problem": problem, "options": options, "targets": self._targets(queries), **stated}

    def _require_bins(self) -> None:
        """Refuse labels of groups that are no bins of their column, and measures of a column that has bins."""
        binned = {name: ColumnReading.of(own, f"[columns.{name}]") for name, own in self.data.get("columns", {}).items()}
        for name, groups in self.groups.items():
            for place, key in enumerate(groups.columns):
                bins = binned.get(key.column, ColumnReading())
                listed = {labels[place] for labels in groups.keys or ()} - {OTHERS}
                if isinstance(bins.bins, tuple) and (unknown := sorted(listed - set(bins.values))):
                    raise self.refuse(
                        f"groups.{name}", "keys", unknown[0], f"is none of the bins of {key.column!r}, {list(bins.values)}"
                    )
        for name, measure in self.measures.items():
            if measure.column in binned and binned[measure.column].bins is not None:
                raise self.refuse(
                    f"measures.{name}", "column", measure.column, "has bins, which are no numbers; group by it, or sum it"
                )

    def _targets(self, queries: tuple[Query, ...]) -> Targets | None:
        if "targets" in self.data and not queries:
            raise InvalidProblem(
                f"{self.path}: [targets] speaks of [queries], of which there are none; a [design] has accuracies."
            )
        noisy = [part.name for part in TablePlan(queries).noisy if isinstance(part, Additive)] if queries else []
        return self.targets_of(noisy)

    def _problem(self, queries: tuple[Query, ...]) -> PlanProblem | HierarchyProblem:
        """The queries alone, or beside those of the design that is asked for."""
        if "design" not in self.data:
            return PlanProblem(queries, self.splitting, self.unlisted)
        given = self.data["design"]
        name = given["hierarchy"]
        self.require_known("design", "hierarchy", name, [*self.levels], "[hierarchies]")
        if COUNT in self.measures:
            raise self.refuse(
                "measures", COUNT, self.data["measures"][COUNT], "is what the number of records is called; rename it"
            )
        with self.at("design"):
            measures = [self.measure("design.accuracy", measure, measure) for measure in given["accuracy"] if measure != COUNT]
            accuracies = [self._accuracy(measure, own, self.levels[name]) for measure, own in given["accuracy"].items()]
            return HierarchyProblem(
                levels=self.levels[name],
                measures=measures,
                accuracies=accuracies,
                prior=self._prior(given["prior"], measures),
                where=self.where("design", given),
                beside=queries,
                splitting=self.splitting,
                unlisted=self.unlisted,
            )

    def column_of(self, measure: str) -> str:
        """What a design calls a measure: its column."""
        return measure if measure == COUNT else self.measures[measure].column

    def _accuracy(self, measure: str, given: Mapping[str, Any], levels: Levels) -> Accuracy:
        """Targets of all groups of a measure."""
        hierarchy, section = tree([*levels.values()]), f"design.accuracy.{measure}"
        deviations = np.full(hierarchy.size, np.inf)
        for level, target in given["levels"].items():
            self.require_known(f"{section}.levels", level, level, [*levels], "the hierarchy")
            rows = hierarchy.slices[[*levels].index(level)]
            listed = np.zeros(hierarchy.size, dtype=bool)
            listed[rows] = [OTHERS not in key for key in levels[level].keys or ()]
            if "standard_error" in target:
                deviations[listed] = target["standard_error"]
            else:
                totals = self._totals(f"{section}.levels.{level}", target, measure, levels, rows, hierarchy.size)
                own = {key: target[key] for key in ("confidence", "share") if key in target}
                asked = Accuracy.relative(measure, totals, target["relative_error"], asked=listed, **own)
                deviations = np.minimum(deviations, asked.deviations)
        return Accuracy(self.column_of(measure), deviations, given.get("on_average", False))

    def _totals(self, section: str, target: Mapping[str, Any], measure: str, levels: Levels, rows: slice, size: int) -> Floats:
        """(n,) public totals of the groups of one level, by adding up the rows of a table."""
        groups = [*levels.values()][[*levels].index(section.rsplit(".", 1)[1])]
        column = target.get("column", None if measure == COUNT else self.column_of(measure))
        keys = [key.column for key in groups.columns]
        table = self.public_table(section, "totals_from", target["totals_from"], [*keys, *([column] if column else [])])
        path = self.path.parent / target["totals_from"]
        values = numeric_column(table, column, path) if column else np.ones(len(next(iter(table.values()), [])))
        totals = np.zeros(size)
        for row, value in zip(rows_of(table), values.tolist(), strict=True):
            label = groups.label(row)
            if label is not None:
                totals[rows.start + groups.place[label]] += value
        return totals

    def _prior(self, given: Mapping[str, Any], measures: Sequence[Measure]) -> PriorRecords:
        """The public records whose losses count."""
        if "cap" in given:
            for name in given["cap"]:
                self.require_known("design.prior.cap", name, name, [*self.measures, COUNT], "[measures]")
            return PriorRecords.cap({self.column_of(name): size for name, size in given["cap"].items()})
        names, path = [measure.column for measure in measures], self.path.parent / given["records_from"]
        table = self.public_table("design.prior", "records_from", given["records_from"], names)
        columns: dict[str, object] = {name: numeric_column(table, name, path) for name in names}
        if not columns:
            columns = {COUNT: np.ones(len(next(iter(table.values()), [])))}
        if "quantiles" in given:
            return PriorRecords.quantiles(columns, given["quantiles"], given.get("allowed"))
        return PriorRecords.sample(columns)


@dataclass(frozen=True, kw_only=True)
class PlanValues(ExpectedValues):
    """groups: each with the conditions of the queries about it."""

    groups: Mapping[Groups, Sequence[tuple[Condition, ...]]]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(name for each in self.groups.items() for name in _columns_of(*each)[0]), *self.numbers]))

    @property
    def compared(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.numbers, *(name for each in self.groups.items() for name in _columns_of(*each)[1])]))

    def outside(self, columns: Mapping[str, Sequence[object]]) -> Iterator[tuple[str, Mapping[Any, int], Iterable[str]]]:
        for groups, wheres in self.groups.items():
            asked, numbers = _columns_of(groups, wheres)
            seen = ([number_of(v) for v in columns[name]] if name in numbers else texts_of(columns[name]) for name in asked)
            rows: Counter[tuple[object, ...]] = Counter()
            for cell, count in Counter(zip(*seen, strict=True)).items():
                record = dict(zip(asked, cell, strict=True))
                met = any(all(condition.meets(record) for condition in where) for where in wheres)
                if met and groups.label(record) is None:
                    rows[tuple(record[key.column] for key in groups.columns)] += count
            if rows:
                known = {label for key in groups.keys or () for label in key}
                yield " x ".join(key.name for key in groups.columns), rows, known


def _columns_of(groups: Groups, wheres: Sequence[tuple[Condition, ...]]) -> tuple[list[str], list[str]]:
    """The columns that groups and conditions look at, and those that conditions compare with numbers."""
    conditions = [condition for where in wheres for condition in where]
    asked = dict.fromkeys([*(key.column for key in groups.columns), *(each.column for each in conditions)])
    return list(asked), [each.column for each in conditions if each.values and isinstance(each.values[0], int)]


@dataclass(frozen=True, kw_only=True)
class TablePlanFile(ProblemFile):
    """A problem file for queries of a table. rho, constant: of a coarser policy that is stated beside the exact one."""

    kind = "table_plan"
    note = "Sums, counts, averages and quantiles of a table of records, by group."
    reader = TablePlanReader
    problem: PlanProblem | HierarchyProblem
    rho: Fraction | None = None
    constant: Fraction | None = None

    @classmethod
    def form(cls) -> Schema:
        """The sections of a file: queries that are stated, a design, or both."""
        return record(
            {},
            {
                "measures": by_name(MEASURE, "Numeric columns as whole steps between public bounds, by name."),
                "conditions": by_name(CONDITION, "Conditions on a record, by name."),
                "groups": by_name(GROUPS, "Groups that queries ask by, by name."),
                "hierarchies": by_name(HIERARCHY, "Nested groups, by name."),
                "queries": by_name(either(*(asking.form for asking in QUERIES.values())), "Queries, by name."),
                "design": DESIGN,
                "splitting": SPLITTING,
                "targets": noted("By name of a noisy number; an average has two, NAME.sum and NAME.count.", TARGETS),
            },
            anyOf=needs_one_of("queries", "design"),
        )

    @property
    def named_answers(self) -> tuple[str, ...] | None:
        if self.wanted is not None:
            return None
        return tuple(dict.fromkeys([query.name for query in self.queries]))

    @property
    def wanted(self) -> HierarchyProblem | None:
        """What is asked of the levels of a hierarchy."""
        return self.problem if isinstance(self.problem, HierarchyProblem) else None

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries that are stated, or whose targets are."""
        return tuple(self.problem.queries if isinstance(self.problem, PlanProblem) else self.problem.beside)

    def make(self, choices: Choices) -> TablePlan:
        asked, beside = self.problem, self.queries
        if self.targets is not None:
            beside = tuple(least_plan(beside, self.targets).queries)
        if isinstance(asked, PlanProblem):
            plan = TablePlan(beside, unlisted=asked.unlisted)
        else:
            plan = design(replace(asked, beside=beside, splitting=None), **self.options).mechanism
        if asked.splitting is None:
            return plan
        made = TablePlan(plan.queries, asked.splitting, self.rho, self.constant, asked.unlisted)
        return made.annotated(plan.provenance, plan.optimality)

    def listing(self) -> ExpectedValues:
        queries: list[tuple[Groups, tuple[Condition, ...]]] = [(query.groups, query.where) for query in self.queries]
        measures = [measure for query in self.queries if isinstance(measure := getattr(query, "measure", None), Measure)]
        if self.wanted is not None:
            queries += [(level, tuple(self.wanted.where)) for level in self.wanted.levels.values()]
            measures += self.wanted.measures
        levels: dict[Groups, list[tuple[Condition, ...]]] = {}
        for groups, where in queries:
            levels.setdefault(groups, []).append(where)
        numbers = {measure.column: (measure.lower, measure.upper) for measure in measures}
        return PlanValues(rule=self.problem.unlisted, groups=levels, numbers=numbers)

    def description(self) -> Mapping[str, object]:
        names = [query.name for query in self.queries]
        designed = [] if self.wanted is None else [a.measure for a in self.wanted.accuracies]
        return {
            "kind": self.kind,
            "queries": ", ".join(names) or "none stated",
            **({"designed": f"{', '.join(designed)} by {', '.join(self.wanted.levels)}"} if self.wanted else {}),
            "relation": "Any one record may appear or disappear.",
            "notion": "zCDP with a loss of its own for every record",
        }

    def accuracy_lines(self, made: Any) -> list[str]:
        noisy = [part for part in made.noisy if isinstance(part, Additive)]
        lines = [f"Noise:       {printed(part.name)}: standard error {_deviations(part.variances)}" for part in noisy]
        rest = [f"             and {len(lines) - ROWS_SHOWN} more"] if len(lines) > ROWS_SHOWN else []
        return [*lines[:ROWS_SHOWN], *rest, *self._consistent_lines(made)]

    def _consistent_lines(self, made: TablePlan) -> list[str]:
        """How accurate the answers of each level are when they are made consistent."""
        if self.wanted is None:
            return []
        hierarchy, lines = tree([*self.wanted.levels.values()]), []
        for accuracy in self.wanted.accuracies:
            precisions = np.zeros(hierarchy.size)
            for (level, groups), rows in zip(self.wanted.levels.items(), hierarchy.slices, strict=True):
                asked = [part for part in made.noisy if part.name == f"{accuracy.measure} by {level}"]
                for part in asked:
                    assert isinstance(part, Additive)
                    precisions[rows] = [float(1 / part.variance_of(key)) for key in groups.keys or ()]
            variances = hierarchy.variances(precisions)
            for level, rows in zip(self.wanted.levels, hierarchy.slices, strict=True):
                title = f"{accuracy.measure} by {level}"
                lines.append(f"Consistent:  {printed(title)}: standard error {_deviations(variances[rows].tolist())}")
        return lines

    def least(self, choices: Choices | None = None, *, step: float | None = None) -> Outcome:
        """None is searched for: noise by targets, and a design, cost every record least already."""
        raise self.without("budget", "with [targets] or [design], dp-designer design makes the plan of least loss already")
