"""Products whose noise is too narrow for their budgets are no mechanism, whoever made them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Literal

import numpy as np
import pytest

from designer import NotPrivate, Presence, metrics
from designer.domains.products import StructuredMechanism
from designer.domains.products_noise import MeasuredProduct, StrategyMatrix, kinds_of_changes, share_spent
from designer.problem.domain import Domain
from designer.relations.metrics.metric import Metric
from designer.relations.records.row_unit import RowUnit
from tests.oracles.spec_specimens import names_of, specimens

PRODUCTS_MADE = names_of("dp-designer/structured-mechanism")


@pytest.mark.parametrize("name", PRODUCTS_MADE)
def test_noise_that_is_a_hundredth_too_strong_is_not_private(name: str) -> None:
    """Strengths are precisions or rates: a hundredth more of each spends more than the whole budget."""
    made = specimens()[name]
    assert isinstance(made, StructuredMechanism)
    blocks = tuple(replace(block, strength=block.strength * 1.01) for block in made.blocks)
    with pytest.raises(NotPrivate):
        replace(made, blocks=blocks)
    assert replace(made, blocks=tuple(replace(b, strength=b.strength / 2) for b in made.blocks)).privacy.holds


RING = metrics.from_matrix([[0, 1, 2, 0.5], [1, 0, 1, 1.5], [2, 1, 0, 2], [0.5, 1.5, 2, 0]])
ROWS = np.array([[1, 0, 2, 3], [0, 4, 1, 1], [2, 2, 0, 1]])


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("part", [None, RING, metrics.uniform(4, 0.25)], ids=["one budget", "matrix", "uniform"])
def test_a_change_of_one_value_moves_the_worst_pair_of_columns_for_its_budget(
    noise: Literal["laplace", "gaussian"], part: Metric | None
) -> None:
    """By brute force over all pairs of values, in whole numbers."""
    power, found = (1, []) if noise == "laplace" else (2, [])
    for i, j in combinations(range(4), 2):
        budget = Fraction(1) if part is None else part.exact_budget(i, j)
        assert budget is not None
        found.append(Fraction(int((np.abs(ROWS[:, i] - ROWS[:, j]) ** power).sum())) / budget**power)
    assert StrategyMatrix(ROWS).change(noise, part) == max(found)
    assert StrategyMatrix(ROWS).presence(noise) == max(int((np.abs(column) ** power).sum()) for column in ROWS.T)


DOMAIN = Domain.of({"a": 3, "b": 2, "c": 4})
MATRICES = {
    0: (StrategyMatrix(np.array([[1, 2, 0], [0, 1, 5]])),),
    1: (StrategyMatrix(np.array([[1, 3]])), StrategyMatrix(np.eye(2, dtype=int))),
    2: (StrategyMatrix(ROWS),),
}
PRODUCTS = (
    MeasuredProduct({0: 0, 1: 1, 2: 0}, 0.5),
    MeasuredProduct({0: 0, 2: 0}, 0.25),
    MeasuredProduct({1: 0}, 3.0),
    MeasuredProduct({1: 0, 2: 0}, 0.125),
    MeasuredProduct({}, 1.0),
)


def moved(block: MeasuredProduct, one: tuple[int, ...], other: tuple[int, ...] | None, power: int) -> int:
    """How far a product of matrices written out is moved by a record that changes, or appears where there is no other."""

    def column(cell: tuple[int, ...]) -> np.ndarray:
        found = np.ones(1, dtype=int)
        for axis, part in block.parts.items():
            found = np.kron(found, MATRICES[axis][part].rows[:, cell[axis]])
        return found

    difference = column(one) - (0 if other is None else column(other))
    return int((np.abs(difference) ** power).sum())


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_what_a_change_spends_is_that_of_the_products_written_out(
    noise: Literal["laplace", "gaussian"], axis: int | None
) -> None:
    """Block by block the change that moves it furthest, of every record or of every value of one attribute."""
    power, cells = (1 if noise == "laplace" else 2), list(product(*map(range, DOMAIN.shape)))
    protection = Presence(mu=0.5) if axis is None else metrics.hamming(DOMAIN, [0.5, 1.5, 2.0])
    change = next(kind for kind in kinds_of_changes(protection, DOMAIN, [0, 1, 2]) if kind.axis == axis)
    spent = Fraction(0)
    for block in PRODUCTS:
        if axis is None:
            most = max(moved(block, cell, None, power) for cell in cells)
        else:
            others = [(u, v) for u, v in product(cells, repeat=2) if all(u[k] == v[k] for k in range(3) if k != axis)]
            most = max(moved(block, u, v, power) for u, v in others)
        spent += Fraction(block.strength) * most
    assert share_spent(change, noise, MATRICES, PRODUCTS) == spent / Fraction(change.budget) ** power


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_an_entity_of_several_rows_has_the_budget_of_all_of_them(rows: int) -> None:
    """The worst record moves its products by so much, and as many rows of it together by as many times that."""
    made = specimens()["structured presence"]
    assert isinstance(made, StructuredMechanism) and isinstance(made.protection, Presence)
    stated = made.guarantee_for(RowUnit("row", "person", rows)).parameters["budget_of_an_entity"]
    assert made.privacy.worst_ratio is not None
    power = 1 if made.noise == "laplace" else 2
    alone = share_spent(kinds_of_changes(made.protection, made.workload.domain, ())[0], made.noise, made.matrices, made.blocks)
    spent = float(alone) ** (1 / power) * made.protection.epsilon * rows
    assert spent <= stated == rows * made.protection.epsilon  # type: ignore[operator]
    assert stated <= spent * (1 + 1e-6)  # type: ignore[operator]


def test_of_pairs_that_floats_hardly_tell_apart_the_worst_is_found_exactly() -> None:
    """Budgets that are a tenth of the distances of the columns, but for their last digits: the quotients of floats are not in
    the order of those of fractions."""
    rng, misled = np.random.default_rng(3), 0
    for _ in range(12):
        columns = rng.integers(-1000, 1000, (9, 3))
        sizes = ((columns[:, None] - columns[None, :]) ** 2).sum(axis=2)
        budgets = np.sqrt(sizes) * 0.1
        exact = {(i, j): int(sizes[i, j]) / Fraction(float(budgets[i, j])) ** 2 for i, j in combinations(range(9), 2)}
        assert StrategyMatrix(columns.T).change("gaussian", metrics.from_matrix(budgets)) == max(exact.values())
        misled += exact[max(exact, key=lambda pair: sizes[pair] / budgets[pair] ** 2)] < max(exact.values())
    assert misled > 0
