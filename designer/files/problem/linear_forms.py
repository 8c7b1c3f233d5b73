"""What each section of a problem file may hold: the keys that the reader accepts,
and the types that the published schema tells editors.

What the keys of problem files for linear queries mean, a sentence for each: for editors, refusals and the reference.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from designer.base.schema import (
    BOOLEAN,
    COUNT,
    DELTA,
    MATRIX,
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
    refer,
    text,
    whole,
)
from designer.relations.problem import LOSSES, NOTIONS

NOTES: Mapping[str, str] = {
    # Sections
    "workload": "What is asked: a matrix, predicates, tables, or products of queries of attributes.",
    "relation": "What may change, and with which budget.",
    "invariant": "What is published exactly, and left alone by every protected change.",
    "problem": "What counts as good, and what is public of the data.",
    "design": "The family of noise, and its options.",
    "promise": "What is promised for one basic move of the table: epsilon, with a delta, or mu.",
    "selection": "The candidates, their score, and the law of the choice.",
    # [workload]
    "predicates": "For each query, by its name, the values of attributes that count in it.",
    "builder": "Queries by rule: the count of every element, running totals, all intervals, or random ones.",
    "size": "How many elements there are, where no table and no domain says it.",
    "queries": "How many queries.",
    "seed": "Makes random queries the same each time.",
    "kind": "Entries between 0 and 1, or 0 and 1 alone.",
    "terms": "For each term the attributes that it asks about, and what is asked of each; all others are summed over.",
    "tables": "Lists of attributes, a table for each.",
    "asked": "Attributes that are asked about otherwise than value by value, in all tables.",
    "widths": "All intervals of so many values.",
    # [relation]
    "epsilon": "The budget of a change, in nats: under pure, outputs are at most e^epsilon times as likely after it; "
    "under gaussian it is no epsilon: it promises epsilon^2 / 2 of zCDP, which `design` and `show` tell as (epsilon, delta).",
    "closure": "Accept what the budgets imply where they break the triangle inequality.",
    "points": "Columns of the table of elements that hold coordinates; for a threshold, also a metric.",
    "per_unit": "Budget for each unit of distance.",
    "per_km": "Budget for each kilometre.",
    "per_edge": "Budget for each unit of length of an edge.",
    "per_distance": "The budget is for each unit of this distance of histograms, and changes of any size are protected.",
    "budgets": "Budgets by attribute and value, by name or in order; inf leaves a value unprotected.",
    "form": "How budgets make one: of two values the smaller or the sum; of the levels of a taxonomy the sum or the largest.",
    "values": "The values of the elements, numbers or dates: a list, or a column of their table.",
    "period": "The difference that costs epsilon; of dates in days.",
    "edges": "Pairs of elements, or triples with a length: a list, or a table of two or three columns.",
    "threshold": "Elements at most so far apart have budget epsilon.",
    "labels": "The part of each element: a list, or a column of their table.",
    "attributes": "A metric for each attribute of the domain.",
    "factor": "By which all budgets are multiplied.",
    "part": "The metric that this one is made of.",
    "parts": "The metrics that this one is made of.",
    "elements": "Which elements of the part, by position from 0: a list, or a column.",
    "change": "The metric by which a record changes.",
    # [invariant]
    "adjacency": "How many records may change together.",
    "partition": "The class of each element, whose counts are published: a list, or a column of their table.",
    "total": "The number of records is published.",
    "records_public": "Is the number of records among what is published?",
    "linked": "Tables of the same records: their attributes, by the name of each table.",
    "published": "Lists of attributes whose margin is published in every table that has them.",
    # [problem]
    "loss": "What is to be least: the sum of squared errors, of absolute errors, or the largest squared error.",
    "notion": "pure: ratios within e^b; gaussian: b^2/2 of zCDP, b no epsilon; approximate: (b, delta), each change by itself.",
    "records": "The number of records, where it is public; biased designs need it.",
    "weights": "How much each counts in the loss, one number each.",
    "allow_vacuous": "Accept a mechanism that hides nothing; its spec says so.",
    # [design]
    "family": "Which kind of noise; auto takes the best that there is time for.",
    "seconds": "For all families together; none is started that will not fit into what is left.",
    "strategy": "Rows to measure instead of the queries, one number for each element.",
    "solver": "auto for the family's own, or an installed solver of CVXPY, such as CLARABEL or SCS.",
    "solver_options": "Options of that solver, by name.",
    "tolerance": "At which relative gap to the bound the search ends.",
    "max_simplices": "Above so many simplices the exact volume of the ball is given up, and the family refused.",
    "backend": "Who proposes the facets of the hull; the proof is the same.",
    "largest": "How many coordinates go into one bundle at most.",
    "combine": "How bundles make one norm: their sum, or the largest.",
    "iterations": "How many steps the search for a strategy takes at most.",
    "keep": "How many of the best starts are followed to the end.",
    "objective": "What is minimised: the loss, or a bound of DX Theorem 2.",
    "delta": "The probability that the bound, or the promise, may fail.",
    "most": "Above so many unknowns several queries are refused.",
    "shape": "The ball that the noise follows.",
    "chain": "Allow a Markov chain where no exact sampler is feasible; the guarantee then holds an estimate.",
    "steps": "How many steps the chain takes.",
    "lag": "By how many steps coupled chains are apart.",
    "pairs": "How many coupled chains are run.",
    "axis": "The margin whose classes are drawn one after the other.",
    "offset": "whole keeps noise on whole numbers; best tries steps by halves, too.",
}


def explained(properties: Mapping[str, Fragment]) -> dict[str, Fragment]:
    """Keys with their notes, but for those that say themselves what they are, and those that have one value only."""
    return {key: _with_note(key, form) for key, form in properties.items()}


def _with_note(key: str, form: Fragment) -> Fragment:
    body = form.body if isinstance(form, Named) else form
    return form if key not in NOTES or {"description", "const"} & set(body) else noted(NOTES[key], body)


def section(
    required: Mapping[str, Fragment], optional: Mapping[str, Fragment] | None = None, note: str = "", **rules: Any
) -> Schema:
    """A `record` whose keys have their notes."""
    return record(explained(required), explained(optional or {}), note, **rules)


FILE = Named("file", noted("A file beside this one: CSV, Parquet or NumPy.", text()))
COLUMNS = Named("columns", noted("Columns of the table of elements.", list_of(text())))
NAMES = Named("names", noted("A name for each row.", list_of(text(), least=0, distinct=True)))
EPSILONS = Named("epsilons", noted("A budget for each element; inf leaves one unprotected.", list_of(POSITIVE)))
SUBSETS = Named("subsets", noted("Lists of attributes.", list_of(list_of(text(), least=0))))
BY_ATTRIBUTE = Named(
    "by_attribute", noted("A budget for each attribute.", {"type": "object", "additionalProperties": POSITIVE})
)
SCALARS = list_of(either(text(), number(), BOOLEAN))
VALUES = either(number(), text())
METRIC = refer("metric")
BY_VALUE = either(list_of(POSITIVE), {"type": "object", "additionalProperties": POSITIVE})
PARTS: Mapping[str, Fragment] = {"parts": list_of(METRIC)}
PLACES: Mapping[str, Fragment] = {"points": COLUMNS, "per_unit": POSITIVE}
HOPS: Mapping[str, Fragment] = {"points": either(COLUMNS, METRIC), "threshold": POSITIVE, "epsilon": POSITIVE}
CLOSURE: Mapping[str, Fragment] = {"closure": BOOLEAN}
# One budget for all elements or one for each, not both.
OWN: Mapping[str, Fragment] = {"epsilon": POSITIVE, "epsilons": EPSILONS}

RELATION_FORMS: Mapping[str, Schema] = {
    "uniform": section({"epsilon": POSITIVE}),
    "add_remove": section({}, OWN, oneOf=needs_one_of(*OWN)),
    "matrix": section({"matrix": FILE}, CLOSURE),
    "euclidean": section(PLACES),
    "great_circle": section({"points": list_of(text(), least=2, most=2), "per_km": POSITIVE}),
    "hamming": section({"budgets": BY_ATTRIBUTE}),
    "per_element": section({"epsilons": EPSILONS}),
    "instance": section({"epsilons": EPSILONS}, CLOSURE),
    "attribute_values": section(
        {"budgets": {"type": "object", "additionalProperties": BY_VALUE}}, {"form": one_of("min", "sum"), **CLOSURE}
    ),
    "line": section({"values": either(text(), list_of(VALUES)), "period": POSITIVE, "epsilon": POSITIVE}),
    "chebyshev": section(PLACES),
    "manhattan": section(PLACES),
    "graph": section({"edges": either(FILE, list_of(list_of(VALUES, least=2, most=3), least=0)), "per_edge": POSITIVE}),
    "taxonomy": section({"levels": COLUMNS, "budgets": EPSILONS}, {"form": one_of("sum", "max")}),
    "blowfish": section(HOPS),
    "smooth_threshold": section(HOPS),
    "partition": section({"labels": either(text(), SCALARS), "epsilon": POSITIVE}),
    "product": section({"attributes": {"type": "object", "additionalProperties": METRIC}}),
    "scaled": section({"factor": POSITIVE, "part": METRIC}),
    "sum": section(PARTS),
    "maximum": section(PARTS),
    "root_sum_squares": section(PARTS),
    "restriction": section({"part": METRIC, "size": COUNT, "elements": either(text(), list_of(whole(least=0)))}),
    "after_noisy_total": section({"change": METRIC, "epsilon": POSITIVE}),
    "appear_or_change": section({"change": METRIC}, {**OWN, **CLOSURE}, oneOf=needs_one_of(*OWN)),
}
# Records appear in them: they go into no metric, and under no invariant.
NO_METRICS = ("add_remove", "appear_or_change", "after_noisy_total")
BUDGETED = section(
    {"epsilon": POSITIVE}, {"per_distance": one_of("l1", "l2")}, note="A budget under an invariant, without a metric."
)

IMPOSSIBLE = Named(
    "impossible",
    noted("Elements that no record can have, by name or by position from 0.", list_of(either(text(), whole(least=0)))),
)
BESIDE: Mapping[str, Mapping[str, Any] | Named] = {"adjacency": COUNT, "impossible": IMPOSSIBLE}
INVARIANT_FORMS: Mapping[str, Schema] = {
    "margins": section({"margins": SUBSETS}, BESIDE),
    "partition": section({"partition": either(text(), SCALARS)}, BESIDE),
    "total": section({"total": exactly(True)}, BESIDE),
    "matrix": section({"matrix": FILE}, {"names": NAMES, "records_public": BOOLEAN, **BESIDE}),
    "linked": section(
        {"linked": {"type": "object", "minProperties": 2, "additionalProperties": list_of(text())}},
        {"published": list_of(list_of(text()), least=0), "adjacency": COUNT},
    ),
}

BUILDERS = ("identity", "prefix", "all_ranges")
MATRIX_FORMS: Mapping[str, Schema] = {
    "matrix": section({"matrix": FILE}, {"names": NAMES}),
    "columns": section({"columns": COLUMNS}, {"names": NAMES}),
    "predicates": section(
        {"predicates": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "object"}}}, {"names": NAMES}
    ),
    "marginals": section({"marginals": SUBSETS}, {"names": NAMES}),
    "builder": section({"builder": one_of(*BUILDERS)}, {"names": NAMES, "size": COUNT}),
    "random": section(
        {"builder": exactly("random"), "queries": COUNT, "seed": whole(least=0)},
        {"names": NAMES, "size": COUNT, "kind": one_of("real", "binary")},
    ),
}
# What is asked of one attribute of a structured workload.
ASKED_KINDS = ("identity", "total", "prefix", "ranges")
ASKED = either(one_of(*ASKED_KINDS), section({"widths": COUNT}), section({"matrix": FILE}), MATRIX)
ASKED_BY_NAME: Schema = {"type": "object", "additionalProperties": ASKED}
WEIGHTS: Mapping[str, Fragment] = {"weights": list_of(POSITIVE)}
WORKLOAD_FORMS: Mapping[str, Schema] = {
    **MATRIX_FORMS,
    "terms": section({"terms": list_of(ASKED_BY_NAME)}, WEIGHTS),
    "tables": section({"tables": SUBSETS}, {"asked": ASKED_BY_NAME, **WEIGHTS}),
}
ELEMENTS = section({"table": FILE}, {"names": COLUMNS}, note="The universe, one row of a table for each element.")
DOMAIN: Schema = noted(
    "Attributes: the values of each, or how many.",
    {"type": "object", "minProperties": 1, "additionalProperties": either(SCALARS, COUNT)},
)
DELTA_WITH_ITS_NOTION: dict[str, Any] = {
    "if": {"properties": {"notion": exactly("approximate")}, "required": ["notion"]},
    "then": {"required": ["delta"]},
    "else": {"not": {"required": ["delta"]}},
}
PROBLEM = section(
    {},
    {
        "loss": one_of(*LOSSES),
        "notion": one_of(*NOTIONS),
        "records": POSITIVE,
        "weights": list_of(POSITIVE),
        "allow_vacuous": BOOLEAN,
        "delta": DELTA,
    },
    **DELTA_WITH_ITS_NOTION,
)
FOR_QUERIES = Named(
    "for_queries",
    noted(
        "A number for all queries, or a table of numbers by query.",
        either(POSITIVE, {"type": "object", "minProperties": 1, "additionalProperties": POSITIVE}),
    ),
)
REFERENCE = noted(
    "A value that was public before: for all queries, or by query.",
    either(number(), {"type": "object", "minProperties": 1, "additionalProperties": number()}),
)
ACCURACY = ("standard_error", "margin", "relative_error")
TARGETS: Schema = {
    **section(
        {},
        {**dict.fromkeys(ACCURACY, FOR_QUERIES), "reference": REFERENCE},
        note="How accurate answers must be: each query has at most one target.",
        anyOf=needs_one_of(*ACCURACY),
    ),
    "dependentRequired": {"relative_error": ["reference"], "reference": ["relative_error"]},
}
# An option of any type is rows of numbers, which a builder checks itself.
OPTION_TYPES: Mapping[str, Fragment] = {
    "float": number(),
    "int": whole(),
    "str": text(),
    "bool": BOOLEAN,
    "object": MATRIX,
}


def allowed(form: Schema) -> set[str]:
    """The keys that a section of this form may have."""
    return set(form["properties"])


# A budget per unit of distance has no largest number of changed records.
TWO_SIZES: Schema = {
    "properties": {"relation": {"required": ["per_distance"]}, "invariant": {"required": ["adjacency"]}},
    "required": ["relation", "invariant"],
}

# The cells of linked tables are the elements, and their changes have one budget.
LINKED: Schema = {
    "if": {"properties": {"invariant": {"required": ["linked"]}}},
    "then": {
        "properties": {"relation": section({"epsilon": POSITIVE})},
        "required": ["domain"],
        "not": {"required": ["elements"]},
    },
}


def metric_forms() -> tuple[Named, Schema]:
    """[relation] with a metric on elements, and with any relation that stands without an invariant."""
    metrics = {name: _of_metric(name) for name in RELATION_FORMS}
    either_metric = either(*(form for name, form in metrics.items() if name not in NO_METRICS))
    metric = Named("metric", noted(NOTES["relation"], either_metric))
    return metric, either(metric, *(metrics[name] for name in NO_METRICS))


def relation_rules() -> dict[str, Any]:
    """What [relation] and [invariant] ask of one another."""
    metric, without = metric_forms()
    return {
        "if": {"required": ["invariant"]},
        "then": {"properties": {"relation": either(BUDGETED, metric)}, "not": TWO_SIZES, **LINKED},
        "else": {"properties": {"relation": without}},
    }


def linear_form() -> Schema:
    """The sections of a whole file for linear queries; builders of families are imported, with their solvers."""
    _, without = metric_forms()
    # [relation] is narrowed by the rules; editors complete by what stands here.
    needed = {"workload": either(*WORKLOAD_FORMS.values()), "relation": either(without, BUDGETED)}
    sections = {
        "elements": ELEMENTS,
        "domain": DOMAIN,
        "invariant": either(*INVARIANT_FORMS.values()),
        "problem": PROBLEM,
        "design": either(*design_forms()),
        "targets": TARGETS,
    }
    return section(needed, sections, **relation_rules())


def _of_metric(name: str) -> Named:
    """[relation] of one metric."""
    form = RELATION_FORMS[name]
    keys = {"properties": {"metric": exactly(name), **form["properties"]}, "required": ["metric", *form["required"]]}
    return Named(f"metric_{name}", {**form, **keys})


def design_forms() -> list[Schema]:
    """[design] for each family, with the options of its builder; builders are imported, with their solvers."""
    from designer.designing.structured_problem import FAMILY
    from designer.families.listed import FAMILIES

    solver = {"solver": text(), "solver_options": {"type": "object"}}
    own = {"solver": exactly("auto")}
    return [
        section({}, {"family": exactly("auto"), "seconds": POSITIVE, "strategy": MATRIX, **solver}),
        section({"family": exactly(FAMILY)}, {"seconds": POSITIVE}),
        *(
            section({"family": exactly(family.name)}, {**_options(family.build), **(solver if family.has_program else own)})
            for family in FAMILIES
        ),
    ]


def _options(build: object) -> dict[str, Fragment]:
    """The parameters of a builder after the problem, each by its annotation."""
    assert callable(build)
    parameters = list(inspect.signature(build).parameters.values())[1:]
    return explained({parameter.name: _typed(str(parameter.annotation)) for parameter in parameters})


def _typed(annotation: str) -> Fragment:
    """What an annotation says, as far as TOML can hold it: no null, so `| None` says nothing."""
    name = annotation.removesuffix(" | None")
    if name.startswith("Literal["):
        return one_of(*ast.literal_eval(f"({name[8:-1]},)"))
    return OPTION_TYPES[name]
