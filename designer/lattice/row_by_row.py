"""Integer noise row by row for tables with published margins that no hull reaches (docs/theory/lattice.md, section 10)."""

from __future__ import annotations

from typing import Annotated

from designer.designing.family import Family, Sizes
from designer.lattice.design import protected_norm
from designer.lattice.row_mechanism import RowMechanism, row_mean_square
from designer.relations.problem import Problem


def lattice_rows(
    problem: Problem, axis: Annotated[int | None, "The margin whose classes are drawn one after the other."] = None
) -> RowMechanism:
    """Exponential in l1 on the rows of a table, each on its sum, and balanced over the columns: pure, exact at any size.

    axis: the published margin whose classes are the rows; by default the one with the least noise or, where that has no closed
    form, with the most classes.
    """
    _, norm = protected_norm(problem, "lattice_rows", "l1", ("l1",))
    made = RowMechanism("lattice_rows", problem.workload, problem.relation, norm, axis=0 if axis is None else axis)  # type: ignore[arg-type]
    best = made.axis if axis is not None else _quietest(made)
    if best == made.axis:
        return made
    return RowMechanism("lattice_rows", problem.workload, made.relation, norm, axis=best)


def _quietest(made: RowMechanism) -> int:
    """The axis of least noise."""
    crossed, rate = made.crossed, float(made.norm.map[0])
    squares = [row_mean_square(crossed, axis, rate) for axis in range(len(crossed.levels))]
    if None in squares:
        return int(max(range(len(squares)), key=lambda axis: crossed.levels[axis]))
    return int(min(range(len(squares)), key=lambda axis: squares[axis] or 0.0))


def _work(sizes: Sizes) -> float:
    """Seconds, of drawing for what has no closed form."""
    return 0.003 * sizes.elements


LATTICE_ROWS = Family(
    "lattice_rows",
    "integer noise, row by row, that keeps published margins",
    "pure",
    lattice_rows,
    search="Each row gets the least noise that keeps its total, a closed form.",
    invariants_only=True,
    with_delta=False,
    work=_work,
)
