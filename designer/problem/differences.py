"""What a user knows of a change: the change of the histogram itself, or the difference of the answers that it makes.

What differences spend: docs/theory/foundations.md, section 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, real_array
from designer.base.errors import InvalidProblem
from designer.problem.relation import Relation
from designer.problem.workload import Workload

# Relative to the entries of a row: below this a coordinate that should not move does not, but for rounding.
ROUNDING = 1e-9


def changes_given(change: object, answers: object, workload: Workload, relation: Relation, target: Floats) -> Floats:
    """Changes of the histogram, (N,) or (M, N), from one of the two; see `change_behind` for answers."""
    if (change is None) == (answers is None):
        raise InvalidProblem("privacy_loss: give a change of the histogram, or answers= for a difference of answers; not both.")
    queries, elements = workload.shape
    if answers is None:
        return _rows(change, "change", elements, "a change of the histogram has one entry for each element")
    given = _rows(answers, "answers", queries, "a difference of answers has one entry for each query")
    return change_behind(given, workload, relation, target)


def change_behind(answers: Floats, workload: Workload, relation: Relation, target: Floats) -> Floats:
    """A change that moves the answers so, and nothing that is public;
    every other one moves the rows of `target`, (R, N), alike.

    answers: (K,) or (M, K). Refused where no such change exists, or where several do that a mechanism tells apart.
    """
    told = np.vstack([workload.dense(), relation.public_rows()])
    size = np.abs(told).max(axis=1)
    size[size == 0] = 1.0
    left, values, right = np.linalg.svd(told / size[:, None], full_matrices=False)
    basis = right[values > ROUNDING * values.max(initial=0.0)]
    if (np.abs(target - target @ basis.T @ basis).max(axis=1) > ROUNDING * np.abs(target).max(axis=1)).any():
        raise InvalidProblem(
            "answers: several changes of the histogram move the answers so, and spend different budgets; give the change "
            "itself."
        )
    rank = len(basis)
    wanted = np.zeros((*answers.shape[:-1], len(told)))
    wanted[..., : answers.shape[-1]] = answers
    wanted = wanted / size
    found = (wanted @ left[:, :rank] / values[:rank]) @ basis
    if (np.abs(found @ (told / size[:, None]).T - wanted).max(axis=-1) > 1e-6 * np.abs(wanted).max(axis=-1)).any():
        raise InvalidProblem(
            "answers: no protected change of the histogram moves the answers so; give a difference that the queries can have."
        )
    return np.where(np.abs(found) > ROUNDING * np.abs(found).max(axis=-1, keepdims=True), found, 0.0)


def moved(change: Floats, rows: Floats, quiet: NDArray[np.bool_]) -> Floats:
    """`rows @ change`, (R,) or (M, R); a `quiet` row, (R,) booleans, that moves by no more than rounding does not move."""
    result = np.asarray(change @ rows.T)
    rounding = ROUNDING * (np.abs(change) @ np.abs(rows).T)
    return np.where(quiet & (np.abs(result) <= rounding), 0.0, result)


def _rows(value: object, name: str, length: int, meaning: str) -> Floats:
    array = real_array(value, name, 2 if np.ndim(value) == 2 else 1)  # type: ignore[arg-type]
    if array.shape[-1] != length:
        raise InvalidProblem(f"{name}: has shape {array.shape}; {meaning}: ({length},) or (M, {length}).")
    return array
