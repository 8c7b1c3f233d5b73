"""What each section of a problem file of kind "table_plan" may hold."""

from __future__ import annotations

from collections.abc import Mapping

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
from designer.files.problem.keys import FILE
from designer.tables.condition import OPERATORS

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
