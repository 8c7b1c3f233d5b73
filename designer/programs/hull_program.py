"""The ball of the K-norm, stated both ways: by the extreme differences, and by the facets of their hull."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.errors import DesignFailed
from designer.designing.k_norm import spanned_hull
from designer.limits import MOST_SIMPLICES
from designer.programs.search import question_of
from designer.relations.problem import Problem
from solvers.polytopes.facets import CDD, EXACT_CDD, HullFailed, require_backend
from solvers.polytopes.hull import Polytope, convex_hull

TWICE = 500  # simplices up to which cdd finds the hull again: in doubles 0.05 s for 400, 0.1 s for 900


class HullProgram:
    """The least ball of any private norm, the hull of all `u / b`, by its vertices and by its facets.

        z = sum_m l_m v_m,  sum_m |l_m| <= r      v_m = u_m / b_m, the extreme differences over their budgets
        |<a_f, z>| <= r                           a_f, the facets, proven in exact rationals

    vertices: (m, s). facets: (F, s), one of each pair. body: both as fractions, the volume and the second moment.
    extreme: (m, 2), the elements, or changes, of which each vertex is the difference.

    Source: SEMI Lemma 29 and Proposition 30; docs/theory/hull.md. Raises `DesignFailed` where `k_norm` does.

    problem: of linear queries.
    """

    title = "hull"

    def __init__(self, problem: Problem) -> None:
        question = question_of(problem, self.title, "pure")
        try:
            _, moving, spanned = spanned_hull(self.title, question, MOST_SIMPLICES, "qhull")
        except HullFailed as failed:
            raise DesignFailed(f"hull: {failed}; use ellipsoid or laplace.") from None
        gauge = spanned.gauge(moving)
        self.body: Polytope = gauge.body
        found = {
            tuple(Fraction(float(x)) / Fraction(float(b)) for x in u): row
            for row, (u, b) in enumerate(zip(gauge.differences, gauge.budgets, strict=True))
        }
        rows = [found[vertex] for vertex in self.body.vertices.fractions()]
        self.extreme = np.column_stack([spanned.left[rows], spanned.right[rows]])
        self.vertices, self.facets = self.body.vertices.floats, self.body.facets.floats

    def by_vertices(self, vector: Any, radius: Any = 1.0) -> list[Any]:
        """Constraints that hold where `vector`, (s,), is in r times the ball: a combination of the vertices."""
        shares = cp.Variable(len(self.vertices), name="l")
        return [self.vertices.T @ shares == vector, cp.norm(shares, 1) <= radius]

    def by_facets(self, vector: Any, radius: Any = 1.0) -> list[Any]:
        """The same by half-spaces, two for each facet."""
        return [cp.abs(self.facets @ vector) <= radius]

    @cached_property
    def agreement(self) -> str:
        """What cdd says, which finds the hull a second time where it is installed and there are few simplices.
        `DesignFailed` where the two hulls differ."""
        if self.body.simplex_count > TWICE:
            return f"not asked of cdd: {self.body.simplex_count:,} simplices, more than {TWICE}"
        try:
            other = convex_hull(self.body.vertices, backend=require_backend("cdd"))
        except HullFailed:
            return "not asked of cdd, which is not installed; nothing else is missing"
        if not other.proposer.startswith((CDD, EXACT_CDD)):
            return f"not comparable: {other.proposer}"
        if _measures(other) != _measures(self.body):
            raise DesignFailed(f"hull: that of Qhull is not that of {other.proposer}; please report the problem.")
        return f"facets, volume and second moment are those of {other.proposer}"


def _measures(body: Polytope) -> tuple[Any, ...]:
    return set(body.vertices.fractions()), set(body.facets.fractions()), body.volume, body.second_moment_exact
