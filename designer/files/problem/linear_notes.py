"""What the keys of problem files for linear queries mean, a sentence for each: for editors, refusals and the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from designer.base.schema import Fragment, Named, Schema, noted, record

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
