"""The pictures of what a problem file asks for: what it protects, before anything is designed, and the design."""

from __future__ import annotations

from designer.designing.structured_problem import StructuredProblem
from designer.relations.problem import Problem
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.of_designs import MOST_DRAWN, relation_drawing
from designer.reports.pictures.of_mechanisms import neighbourhoods


def problem_drawings(problem: Problem | StructuredProblem) -> tuple[Drawing, ...]:
    """What a problem protects: the graph of few elements, and the neighbourhoods of places on the globe."""
    if isinstance(problem, StructuredProblem):
        return ()
    relation, elements = problem.relation, problem.workload.elements
    graph = relation.single_records and relation.size <= MOST_DRAWN
    around = neighbourhoods(relation, elements)
    return (*([relation_drawing(relation, elements)] if graph else []), *([] if around is None else [around]))
