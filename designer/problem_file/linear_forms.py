"""The sections of problem files that hold for queries of any kind: elements, domain, problem, targets, design."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

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
    needs_one_of,
    noted,
    number,
    one_of,
    text,
    whole,
)
from designer.designing.family import StrategyRows
from designer.problem.reading import ATTRIBUTE
from designer.problem_file.keys import COLUMNS, FILE, SCALARS, WEIGHTS, Field, section_of
from designer.relations.problem import LOSSES, NOTIONS, Problem
from solvers.work import EFFORTS

ELEMENTS = section_of(
    [Field("table", FILE)], [Field("names", COLUMNS)], note="The universe, one row of a table for each element."
)
DOMAIN: Schema = noted(
    "Attributes: the values of each, or how many.",
    {"type": "object", "minProperties": 1, "additionalProperties": either(SCALARS, COUNT, ATTRIBUTE)},
)
DELTA_WITH_ITS_NOTION: dict[str, Any] = {
    "if": {"properties": {"notion": exactly("approximate")}, "required": ["notion"]},
    "then": {"required": ["delta"]},
    "else": {"not": {"required": ["delta"]}},
}
PROBLEM_NOTE = "What counts as good, and what is public of the data."
PROBLEM = section_of(
    [],
    [
        Field(
            "loss",
            one_of(*LOSSES),
            "What is to be least: the sum of squared errors, of absolute errors, or the largest squared error.",
            default=Problem.loss,
        ),
        Field(
            "notion",
            one_of(*NOTIONS),
            "pure: ratios within e^b; zcdp: b^2/2 of zCDP, b no epsilon; approximate: (b, delta), each change by itself.",
            default=Problem.notion,
        ),
        Field("records", POSITIVE, "The number of records, where it is public; biased designs need it."),
        WEIGHTS,
        Field(
            "allow_vacuous", BOOLEAN, "Accept a mechanism that hides nothing; its spec says so.", default=Problem.allow_vacuous
        ),
        Field("delta", DELTA),
    ],
    PROBLEM_NOTE,
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
    **section_of(
        [],
        [*(Field(name, FOR_QUERIES) for name in ACCURACY), Field("reference", REFERENCE)],
        note="How accurate answers must be: each query has at most one target.",
        anyOf=needs_one_of(*ACCURACY),
    ),
    "dependentRequired": {"relative_error": ["reference"], "reference": ["relative_error"]},
}

DESIGN_NOTE = "The family of noise, and its options."
LIMITS = [
    Field("effort", one_of(*EFFORTS), "How much counted work the search has; no clock decides.", default="normal"),
    Field("seconds", POSITIVE, "A limit on the clock besides: what it cuts off depends on the machine, and says so."),
]
SOLVER = Field(
    "solver", text(), "auto for the family's own, or an installed solver of CVXPY, such as CLARABEL or SCS.", default="auto"
)
SOLVER_OPTIONS = Field("solver_options", {"type": "object"}, "Options of that solver, by name.")
# An option of any type is rows of numbers, which a builder checks itself.
OPTION_TYPES: Mapping[object, Fragment] = {float: number(), int: whole(), str: text(), bool: BOOLEAN, object: MATRIX}


def design_forms() -> list[Schema]:
    """[design] for each family, with the options of its builder; builders are imported, with their solvers."""
    from designer.designing.listed import FAMILIES

    solver, own = (
        [SOLVER, SOLVER_OPTIONS],
        [Field("solver", exactly("auto"), "The family has a solver of its own.", default="auto")],
    )
    return [
        section_of(
            [],
            [
                Field("family", exactly("auto"), "The best family that applies.", default="auto"),
                *LIMITS,
                _option("strategy", StrategyRows),
                *solver,
            ],
        ),
        section_of([Field("family", exactly("structured"))], LIMITS),
        *(
            section_of(
                [Field("family", exactly(family.name))],
                [*options_of(family.build), *(solver if family.program else own), *LIMITS],
            )
            for family in FAMILIES
        ),
    ]


def options_of(build: Callable[..., Any]) -> list[Field]:
    """The parameters of a builder after the problem, each with its default, and the type and the sentence of its annotation.

    >>> def build(problem: object, steps: Annotated[int | None, "How many."] = None) -> None: ...
    >>> options_of(build)
    [Field(name='steps', form={'type': 'integer'}, note='How many.', read=None, default=None, normal=None)]
    """
    parameters = list(inspect.signature(build).parameters.values())[1:]
    names = inspect.unwrap(build).__globals__
    return [
        _option(p.name, eval(p.annotation, names) if isinstance(p.annotation, str) else p.annotation, p.default)
        for p in parameters
    ]


def _option(name: str, told: Any, default: Any = None) -> Field:
    note = ""
    while get_origin(told) is not Literal and (inner := [part for part in get_args(told) if part is not NoneType]):
        if get_origin(told) is Annotated:
            note = inner[1]
        told = inner[0]  # of `| None`, which TOML cannot say
    return Field(name, one_of(*get_args(told)) if get_origin(told) is Literal else OPTION_TYPES[told], note, default=default)
