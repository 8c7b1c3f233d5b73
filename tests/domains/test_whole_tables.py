"""Whole tables from released marginals."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from designer import InvalidProblem, MarginalWorkload, Presence, metrics, whole_tables
from designer.domains.marginals_plan import design_marginals
from designer.problem.domain import Domain
from solvers.programs.nearest_sums import MOST, AskedTable, fitted_counts, table_of

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 2, "d": 3})


@pytest.mark.parametrize("protection", [Presence(mu=0.3), metrics.hamming(DOMAIN, [0.5, 0.5, 0.2, 1.0])])
def test_tables_are_whole_nonnegative_and_agree(protection: object) -> None:
    random = np.random.default_rng(0)
    columns = {
        name: (random.integers(0, n, 80) * random.integers(0, 2, 80)).tolist()
        for name, n in zip("abcd", DOMAIN.shape, strict=True)
    }
    released = design_marginals(MarginalWorkload.up_to(DOMAIN, 2), protection).release(columns)  # type: ignore[arg-type]
    whole = whole_tables(released)
    assert set(whole.tables) == set(released.tables())
    for table in whole.tables.values():
        assert table.dtype == np.int64
        assert table.min() >= 0
        assert table.sum() == whole.records
    for left, right in combinations(whole.tables, 2):
        shared = [name for name in left if name in right]
        sums = [
            whole.tables[names].sum(axis=tuple(k for k, name in enumerate(names) if name not in shared))
            for names in (left, right)
        ]
        assert np.array_equal(*sums)
    assert whole.fingerprint == released.fingerprint
    assert whole.distance < 3
    assert str(whole.records) in whole.post_processing


def test_tables_of_a_histogram_are_found_again() -> None:
    counts = np.random.default_rng(1).integers(0, 9, (3, 4))
    asked = [AskedTable((0, 1), counts.astype(float), 2.0), AskedTable((0,), counts.sum(axis=1).astype(float), 1.0)]
    assert np.array_equal(fitted_counts((3, 4), asked), counts)


@pytest.mark.parametrize("seed", range(6))
def test_a_public_number_of_records_is_kept(seed: int) -> None:
    """Noisy tables of one total, as where records change; brute force over all histograms of 8 records in 2 x 2 cells."""
    noise = np.random.default_rng(seed).normal(0, 3, (2, 2))
    asked = [AskedTable((0, 1), 2 + noise - noise.mean(), 1.0), AskedTable((0,), np.array([5.3, 2.7]), 2.0)]

    def cost(counts: np.ndarray) -> float:
        return float(sum(t.weight * ((table_of(counts, t.axes) - t.values) ** 2).sum() for t in asked))

    every = [np.array(cells).reshape(2, 2) for cells in product(range(9), repeat=4) if sum(cells) == 8]
    found = fitted_counts((2, 2), asked, 8)
    assert found.sum() == 8 and found.min() >= 0
    assert cost(found) <= min(map(cost, every)) + 1e-9


def test_no_table_and_a_public_number_of_records() -> None:
    assert fitted_counts((2, 3), [], 7).sum() == 7 and fitted_counts((2, 2), [], 0).sum() == 0
    below = [AskedTable((0,), np.array([-3.0, -4.0]), 1.0)]
    assert fitted_counts((2, 2), below).sum() == 0 and fitted_counts((2, 2), below, 3).sum() == 3


@pytest.mark.parametrize("asked", [10.0, -5.0])
def test_a_public_number_of_records_is_shared_by_all_cells(asked: float) -> None:
    """Two noisy counts far below the public number: the nearest pair that adds up to it is even, by symmetry and convexity."""
    assert fitted_counts((2,), [AskedTable((0,), np.full(2, asked), 1.0)], 10_000).tolist() == [5_000, 5_000]


@pytest.mark.parametrize("seed", range(3))
def test_a_public_number_of_records_is_kept_beyond_the_digits_of_sums(seed: int) -> None:
    """10^15 records in 4096 cells: sums of floats are off by a few."""
    near = np.random.default_rng(seed).normal(10**15 / 4096, 1e3, (64, 64))
    found = fitted_counts((64, 64), [AskedTable((0, 1), near, 1.0)], 10**15)
    assert int(found.sum()) == 10**15 and found.min() > 0


def test_a_public_number_of_records_is_shared_by_all_of_many_cells() -> None:
    """So many that gradients descend: what is above the fit goes to no cell alone, nor does all where the fit is empty."""
    shape, records = (200, 101), 10**7
    assert shape[0] * shape[1] > MOST
    few = [AskedTable((0,), np.full(200, 500.0), 1.0), AskedTable((1,), np.full(101, 990.0), 1.0)]
    none = [AskedTable((0,), np.full(200, -50.0), 1.0)]
    for asked in (few, none):
        found = fitted_counts(shape, asked, records)
        assert int(found.sum()) == records and found.max() <= 2 * records / found.size


def test_a_public_number_of_records_is_kept_in_many_cells_beyond_the_digits_of_sums() -> None:
    records = 9 * 10**15
    for seed in range(5):
        near = np.random.default_rng(seed).normal(records / 20_200, 1e3, (200, 101))
        found = fitted_counts((200, 101), [AskedTable((0, 1), near, 1.0)], records)
        assert int(found.sum()) == records and found.min() > 0


def test_whole_tables_of_records_that_change_have_the_published_number_of_records() -> None:
    domain = Domain.of({"a": 2, "b": 2, "c": 2})
    plan = design_marginals(MarginalWorkload.up_to(domain, 2), metrics.hamming(domain, [0.1, 0.1, 0.1]))
    columns = {name: [0] * 20 + [1] * 3 for name in "abc"}
    assert {whole_tables(plan.release(columns)).records for _ in range(20)} == {23}


def test_no_single_step_is_better() -> None:
    """Brute force on 2 x 2 x 2: no histogram one record away is nearer, and the best of all small ones is not much nearer."""
    random = np.random.default_rng(2)
    asked = [AskedTable(axes, random.normal(1.5, 1.5, (2, 2)), 1.0 + axes[0]) for axes in ((0, 1), (0, 2), (1, 2))]

    def cost(counts: np.ndarray) -> float:
        return float(sum(t.weight * ((table_of(counts, t.axes) - t.values) ** 2).sum() for t in asked))

    found = fitted_counts((2, 2, 2), asked)
    near = [found + step.reshape(2, 2, 2) * sign for step in np.eye(8, dtype=int) for sign in (1, -1)]
    assert cost(found) <= min(cost(h) for h in near if h.min() >= 0) + 1e-9
    everything = min(cost(np.array(h).reshape(2, 2, 2)) for h in product(range(4), repeat=8))
    assert cost(found) <= everything + 4.0


def test_too_many_combinations_are_refused() -> None:
    domain = Domain.of({f"a{i}": 10 for i in range(7)})
    released = design_marginals(MarginalWorkload.up_to(domain, 1), Presence(mu=1.0)).release(
        {name: [0] for name in domain.attributes}
    )
    with pytest.raises(InvalidProblem, match="combinations"):
        whole_tables(released)
    with pytest.raises(InvalidProblem, match="release"):
        whole_tables(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("subsets", ["age", None, 3, {"age"}])
def test_marginals_are_named_by_lists_of_attributes(subsets: object) -> None:
    with pytest.raises(InvalidProblem, match="is not a list of lists of attributes"):
        MarginalWorkload.of(Domain.of({"age": 2}), subsets)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="there is no Domain"):
        MarginalWorkload.of({"age": 2}, [["age"]])  # type: ignore[arg-type]
