"""What each section of a problem file of kind "table_plan" may hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from designer.base.checks import meant, rational, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import (
    BOOLEAN,
    COUNT,
    POSITIVE,
    Fragment,
    Named,
    Schema,
    either,
    exactly,
    list_of,
    needs_one_of,
    noted,
    number,
    one_of,
    record,
    text,
    whole,
)
from designer.files.data_files import Table, read_table
from designer.limits import MOST_LABEL_COMBINATIONS
from designer.problem.histogram import OTHERS
from designer.problem_file.forms import Reader
from designer.problem_file.keys import FILE
from designer.tables.condition import OPERATORS, Condition
from designer.tables.groups import Groups, hierarchy
from designer.tables.measure import Measure
from designer.tables.partition_selection import PartitionSelection
from designer.tables.unit_splitting import Key, UnitSplitting

EXACT = Named(
    "exact_number",
    noted("A number, or a fraction or decimal in quotes that stands for itself: '1/3', '0.1'.", either(number(), text())),
)
LABEL = either(text(), whole(), BOOLEAN)


def by_name(form: Fragment, note: str, least: int = 1) -> Schema:
    """A table of parts, each under the name that other sections call it by."""
    return noted(note, {"type": "object", "minProperties": least, "additionalProperties": form})


MEASURE = Named(
    "plan_measure",
    record(
        {},
        {
            "column": noted("The column; that of the measure's name where nothing is said.", text()),
            "step": noted("Values are rounded to multiples of it.", either(EXACT), 1),
            "lower": noted("The public bound below, not above 0.", either(EXACT), 0),
            "upper": noted("The public bound above; 2^52 - 1 steps unless given.", either(EXACT)),
        },
    ),
)
CONDITION = Named(
    "plan_condition",
    record(
        {"column": noted("The column that is looked at.", text()), "op": noted("How it compares.", one_of(*OPERATORS))},
        {
            "value": noted(
                "What it compares with; a list for 'in', nothing for 'present'.",
                either(text(), whole(), list_of(either(text(), whole()))),
            )
        },
    ),
)
KEY = either(
    text(),
    record(
        {"column": noted("The key column.", text())},
        {"prefix": noted("Its first so many characters, of nested codes.", COUNT)},
    ),
)
KEYS: Mapping[str, Fragment] = {
    "keys": noted(
        "The public groups, a list of labels each (one label alone, for one column); or the labels of every key column by its "
        "name, for a group of each combination.",
        either(
            list_of(either(LABEL, list_of(LABEL))),
            {"type": "object", "minProperties": 1, "additionalProperties": list_of(LABEL)},
        ),
    ),
    "keys_from": noted("A PUBLIC table with a row for each group, its columns called like the key columns.", either(FILE)),
}
OWN = Named("own_numbers", {"type": "object", "minProperties": 1, "additionalProperties": either(EXACT)})
SPLIT: Mapping[str, Fragment] = {
    "thresholds": noted("By measure: what one row holds of it at most.", either(OWN)),
    "by": noted("A key column whose labels may have thresholds of their own.", KEY),
    "own": noted(
        "By label: thresholds by measure.", {"type": "object", "minProperties": 1, "additionalProperties": either(OWN)}
    ),
}
SELECTION = record(
    {
        "rho": noted("What one record, or one split row, costs in finding groups.", either(EXACT)),
        "delta": noted(
            "The probability that a group is found because of one record of one row (of `at_most`).", number(above=0, below=1)
        ),
    },
    {
        **SPLIT,
        "split": noted("Split rows are counted: those of [splitting].", exactly(True)),
        "at_most": noted("For how many split rows a record counts at most.", COUNT),
    },
    note="Groups are found privately: those with enough records.",
    dependentRequired={"by": ["thresholds", "own"], "own": ["thresholds", "by"]},
)
GROUPS = Named(
    "plan_groups",
    record(
        {"columns": noted("The key columns.", list_of(KEY, least=0))},
        {
            **KEYS,
            "selection": SELECTION,
            "others": noted(
                "Groups of all records whose keys are not listed: one, and below each listed label one more.", BOOLEAN
            ),
        },
    ),
)
HIERARCHY = Named(
    "plan_hierarchy",
    record(
        {"columns": noted("The key columns, coarse to fine.", list_of(KEY))},
        {
            **KEYS,
            "levels": noted(
                "Names of the levels, everybody first; queries ask by them.", list_of(text(), least=2, distinct=True)
            ),
            "others": noted("Below each group one more, of what is not listed there.", BOOLEAN, True),
        },
        oneOf=needs_one_of(*KEYS),
    ),
)
LOSS = Named(
    "plan_loss",
    noted(
        "The noise at which a record of a size costs rho.",
        record(
            {"rho": noted("Its zCDP.", either(EXACT))},
            {"size": noted("The size, in the unit of the column.", either(EXACT), 1)},
        ),
    ),
)
VARIANCE = noted(
    "Of the noise: for all groups, one for each listed key, or by label of a key column.",
    either(
        EXACT,
        list_of(either(EXACT)),
        record(
            {
                "by": noted("The key column.", KEY),
                "own": noted("By label.", either(OWN)),
                "other": noted("Of all other labels.", either(EXACT)),
            }
        ),
    ),
)
ASKED: Mapping[str, Fragment] = {
    "groups": noted(
        "By which [groups] or level of [hierarchies]; of several, one query for each. Everybody unless given.",
        either(text(), list_of(text(), distinct=True)),
    ),
    "where": noted("Names of [conditions] that all must hold.", list_of(text(), distinct=True)),
}
OF_MEASURE: Mapping[str, Fragment] = {"measure": noted("One of [measures].", text())}
NOISE: Mapping[str, Fragment] = {"variance": VARIANCE, "loss": LOSS}
COUNT_NOISE: Mapping[str, Fragment] = {"count_variance": VARIANCE, "count_loss": LOSS}
CANDIDATES = either(
    list_of(either(EXACT), least=2),
    record(
        {
            "from": noted("The least.", either(EXACT)),
            "to": noted("The largest.", either(EXACT)),
            "step": noted("How far apart they are.", either(EXACT)),
        }
    ),
)
SLOW = either(
    record(
        {"law": exactly("student")},
        {
            "scale": noted("Of the noise.", either(EXACT)),
            "deviation": noted("Or its standard deviation.", either(EXACT)),
            "power": noted("Of the tails.", whole(least=2), 2),
        },
        oneOf=needs_one_of("scale", "deviation"),
    ),
    record(
        {
            "law": exactly("gaussian"),
            "shape": noted("On the logarithm of the sum, or on its root.", one_of("log", "root")),
            "offset": noted("What is added to the sum before.", either(EXACT)),
            "deviation": noted("Of the noise there.", either(EXACT)),
        }
    ),
)


TARGET = either(
    record({"standard_error": noted("Of a consistent answer, at most.", POSITIVE)}),
    record(
        {
            "relative_error": noted("Of the noise, at most, at the public totals.", POSITIVE),
            "totals_from": noted(
                "A PUBLIC table, such as last year's, with the key columns and one for the measure.", either(FILE)
            ),
        },
        {
            "confidence": noted("With this probability.", number(above=0, below=1), 0.95),
            "share": noted("For at least this share of the groups, the largest.", number(above=0, most=1), 1),
            "column": noted("The column of the totals; that of the measure unless given.", text()),
        },
    ),
)
ACCURACY = Named(
    "plan_accuracy",
    record(
        {
            "levels": noted(
                "By level: how accurate each of its listed groups must be.",
                {"type": "object", "minProperties": 1, "additionalProperties": TARGET},
            )
        },
        {"on_average": noted("Only the mean of (deviation / target)^2 must be at most 1.", BOOLEAN, False)},
    ),
)
PRIOR = either(
    record(
        {
            "cap": noted(
                "By measure: the loss of the record of these sizes is least.",
                {"type": "object", "minProperties": 1, "additionalProperties": POSITIVE},
            )
        }
    ),
    record(
        {"records_from": noted("A table of PUBLIC or synthetic records; their mean loss is least.", either(FILE))},
        {
            "quantiles": noted(
                "Instead, the losses of the records at these quantiles of every measure.", list_of(number(least=0, most=1))
            ),
            "allowed": noted("What each of them may lose: the largest loss over it is least.", list_of(POSITIVE)),
        },
        dependentRequired={"allowed": ["quantiles"]},
    ),
)
DESIGN = record(
    {
        "hierarchy": noted("One of [hierarchies].", text()),
        "accuracy": by_name(ACCURACY, "By measure, or `count` for the number of records."),
        "prior": noted("The public records for which the policy shall be small.", PRIOR),
    },
    {
        "where": noted("Names of [conditions] that all designed queries have.", list_of(text(), distinct=True)),
        "tolerance": noted("The relative gap to the optimum at which the design stops.", number(above=0, below=1), 1e-6),
    },
    note="Sums and counts over all levels, at the least policy for which consistent answers are as accurate as asked.",
)
SPLITTING = record(
    {"thresholds": SPLIT["thresholds"]},
    {
        "by": SPLIT["by"],
        "own": SPLIT["own"],
        "rho": noted("What a split row is stated to cost; the least that holds unless given.", either(EXACT)),
        "constant": noted("What every record is stated to cost besides.", either(EXACT)),
    },
    note="A coarser policy beside the exact one: constant + rho m^2, m the rows that a record is split into.",
    dependentRequired={"by": ["own"], "own": ["by"]},
)


# What queries of a table are made of, from the sections of a problem file of kind "table_plan": measures, conditions, groups,
# hierarchies, splitting.


Levels = Mapping[str, Groups]  # of a hierarchy, by name, coarse to fine


class PlanParts(Reader):
    """A file of kind "table_plan" being read: what its queries are made of, by name."""

    def named(self, section: str) -> Mapping[str, Any]:
        """The parts of a section; none where the file does not have it."""
        found: Mapping[str, Any] = self.data.get(section, {})
        return found

    def exact(self, value: Any, field: str) -> Fraction:
        """A number as it is written: 0.1 is one tenth."""
        return rational(str(value) if isinstance(value, float) else value, field)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        return {name: self._measure(name, given) for name, given in self.named("measures").items()}

    def _measure(self, name: str, given: Mapping[str, Any]) -> Measure:
        with self.at(f"measures.{name}"):
            own = {key: self.exact(given[key], key) for key in ("step", "lower", "upper") if key in given}
            return Measure(given.get("column", name), **own)

    def measure(self, section: str, key: str, name: str) -> Measure:
        self.require_known(section, key, name, [*self.measures], "[measures]")
        return self.measures[name]

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        return {name: self._condition(name, given) for name, given in self.named("conditions").items()}

    def _condition(self, name: str, given: Mapping[str, Any]) -> Condition:
        with self.at(f"conditions.{name}"):
            return Condition(given["column"], given["op"], given.get("value"))

    def where(self, section: str, given: Mapping[str, Any]) -> tuple[Condition, ...]:
        for name in given.get("where", []):
            self.require_known(section, "where", name, [*self.conditions], "[conditions]")
        return tuple(self.conditions[name] for name in given.get("where", []))

    @cached_property
    def levels(self) -> dict[str, Levels]:
        """The levels of hierarchies, by their names."""
        found = {name: self._hierarchy(name, given) for name, given in self.named("hierarchies").items()}
        seen = {name: f"[groups.{name}]" for name in self.named("groups")}
        for name, levels in found.items():
            for level in levels:
                if level in seen:
                    taken = f"is the name of {seen[level]}, too; name the levels otherwise, with `levels`"
                    raise self.refuse(f"hierarchies.{name}", "levels", level, taken)
                seen[level] = f"a level of [hierarchies.{name}]"
        return found

    def _hierarchy(self, name: str, given: Mapping[str, Any]) -> Levels:
        section = f"hierarchies.{name}"
        with self.at(section):
            columns = [key_column(column) for column in given["columns"]]
            names = given.get("levels", ["all", *(column.name for column in columns)])
            if len(names) != len(columns) + 1:
                raise self.refuse(section, "levels", names, f"name {len(columns) + 1}: everybody, and one for each key column")
            made = hierarchy(columns, self._keys(section, given, columns, nested=True), given.get("others", True))
        return dict(zip(names, made, strict=True))

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """Groups by name, the levels of hierarchies among them."""
        own = {name: self._groups(name, given) for name, given in self.named("groups").items()}
        return {**own, **{name: groups for levels in self.levels.values() for name, groups in levels.items()}}

    def _groups(self, name: str, given: Mapping[str, Any]) -> Groups:
        section = f"groups.{name}"
        columns = [key_column(column) for column in given["columns"]]
        ways = [key for key in ("keys", "keys_from", "selection") if key in given]
        if len(ways) > 1 or (columns and not ways):
            found = f"has {ways}" if ways else "does not say which groups there are"
            raise InvalidProblem(f"{self.path}: [{section}] {found}; give one of keys, keys_from and selection.")
        with self.at(section):
            if "selection" in given:
                if "others" in given:
                    raise self.refuse(section, "others", given["others"], "goes with listed keys; a selection finds all groups")
                return Groups(columns, selection=self._selection(f"{section}.selection", given["selection"]))
            keys = self._keys(section, given, columns) if ways else None
            made = Groups(columns, keys)
            return made.completed() if given.get("others", False) and keys else made

    def _selection(self, section: str, given: Mapping[str, Any]) -> PartitionSelection:
        split = self.splitting_of(section, given) if "thresholds" in given else None
        if "split" in given:
            if split is not None or self.splitting is None:
                remedy = "needs a section [splitting]" if split is None else "does not go with thresholds of its own"
                raise self.refuse(section, "split", True, remedy)
            split = self.splitting
        return PartitionSelection.design(self.exact(given["rho"], "rho"), given["delta"], split, given.get("at_most"))

    def _keys(self, section: str, given: Mapping[str, Any], columns: Sequence[Key], nested: bool = False) -> list[list[object]]:
        """The public keys, listed or from a table."""
        if "keys_from" in given:
            return self._keys_from(section, given["keys_from"], columns, nested)
        if isinstance(given["keys"], Mapping):
            return self._combinations(section, given["keys"], columns)
        listed = [key if isinstance(key, list) else [key] for key in given["keys"]]
        names = [column.column for column in columns]
        for place, key in enumerate(listed):
            if len(key) != len(columns):
                remedy = f"should have {len(columns)} labels, one for each key column"
                every = ", ".join(f"{shown(name)} = [..]" for name in names)
                way_on = f"; for every combination write keys = {{ {every} }}" if len(columns) > 1 else ""
                raise self.refuse(section, f"keys[{place}]", key, remedy + way_on)
        return listed

    def _combinations(self, section: str, given: Mapping[str, Any], columns: Sequence[Key]) -> list[list[object]]:
        """A group of each combination of the labels that every key column has, the last column fastest."""
        names = [column.column for column in columns]
        if sorted(given) != sorted(names):
            raise self.refuse(section, "keys", given, f"needs labels of each key column, once; they are {shown(names)}")
        if math.prod(map(len, given.values())) > MOST_LABEL_COMBINATIONS:
            remedy = f"has more than {MOST_LABEL_COMBINATIONS:,} combinations; list those asked about, or ask for fewer labels"
            raise self.refuse(section, "keys", given, remedy)
        return [list(labels) for labels in itertools.product(*(given[name] for name in names))]

    def _keys_from(self, section: str, name: str, columns: Sequence[Key], nested: bool) -> list[list[object]]:
        table = self.public_table(section, "keys_from", name, [column.column for column in columns])
        found: dict[tuple[object, ...], None] = {}
        for place, row in enumerate(rows_of(table), 1):
            labels = [column.label(row) for column in columns]
            if not all(row[column.column] for column in columns) or (None in labels and not nested):
                remedy = f"row {place} has an empty cell, or a code that is shorter than its prefix; fill or drop it"
                raise self.refuse(section, "keys_from", name, remedy)
            found[tuple(OTHERS if label is None else label for label in labels)] = None
        return [list(labels) for labels in found]

    def public_table(self, section: str, key: str, name: str, columns: Sequence[str]) -> Table:
        """A table beside the file that has these columns."""
        path = self.path.parent / Path(name)
        self.files.append(path)
        table = read_table(path)
        for column in columns:
            if column not in table:
                raise self.refuse(
                    section, key, name, f"has no column {shown(column)}; {meant(column, table)}it has {shown([*table])}"
                )
        return table

    @cached_property
    def splitting(self) -> UnitSplitting | None:
        if "splitting" not in self.data:
            return None
        with self.at("splitting"):
            return self.splitting_of("splitting", self.data["splitting"])

    def splitting_of(self, section: str, given: Mapping[str, Any]) -> UnitSplitting:
        """Thresholds by measure, in the order in which the section names the measures."""
        names = [*given["thresholds"]]
        measures = [self.measure(section, "thresholds", name) for name in names]
        own = None
        if "own" in given:
            own = {label: self._own(section, label, found, names) for label, found in given["own"].items()}
        by = key_column(given["by"]) if "by" in given else None
        return UnitSplitting(measures, [self.exact(given["thresholds"][name], name) for name in names], by, own)

    def _own(self, section: str, label: str, given: Mapping[str, Any], names: Sequence[str]) -> list[Fraction]:
        if set(given) != set(names):
            raise self.refuse(section, f"own.{label}", given, f"should have a threshold for each of {list(names)}")
        return [self.exact(given[name], name) for name in names]


def key_column(given: Any) -> Key:
    """A key column: its name, or its name and how many characters of it count."""
    return Key(given) if isinstance(given, str) else Key(given["column"], given.get("prefix"))


def rows_of(table: Table) -> Iterator[dict[str, str]]:
    for cells in zip(*table.values(), strict=True):
        yield dict(zip(table, cells, strict=True))
