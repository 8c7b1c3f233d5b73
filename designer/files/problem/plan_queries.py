"""The queries of a table, from the section [queries] of a problem file of kind "table_plan"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.schema import Fragment, Named, either, exactly, noted, record, text
from designer.files.problem.plan_forms import ASKED, CANDIDATES, COUNT_NOISE, EXACT, NOISE, OF_MEASURE, SLOW
from designer.files.problem.plan_parts import PlanParts, key_column
from designer.tables.condition import Condition
from designer.tables.groups import Groups
from designer.tables.other_noise import PureSum, SlowlyScaledSum
from designer.tables.policies.slow_policies import StudentNoise, TransformedNoise
from designer.tables.quantile import MOST_CANDIDATES, Quantile
from designer.tables.queries import Average, Count, CountDistinct, Query, Sum, variance_for
from designer.tables.variance_by import VarianceBy

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
        if apart <= 0 or not 0 < (last - first) / apart < MOST_CANDIDATES or ((last - first) / apart).denominator != 1:
            remedy = f"`to` should be above `from` by a whole number of steps, below {MOST_CANDIDATES}"
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
