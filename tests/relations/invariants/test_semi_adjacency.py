"""The semi-adjacent parameter: SEMI Examples 2, 3 and 5, enumeration against integer programs, and the bound."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from designer import DesignFailed, InvalidProblem, invariants
from designer.relations.invariants.adjacency import Conforming, semi_adjacency
from solvers.lattices.conforming_tables import Fibre, integer_minimum
from solvers.programs.nearest_sums import none_at_all

BITS = list(product((0, 1), repeat=3))


def test_example_2_every_two_databases_with_two_ones_differ_in_two_records():
    """SEMI Example 2: with two ones among three bits, all conforming databases are two records apart."""
    conforming = Conforming.of(BITS, sum, 2)
    assert set(conforming.databases) == {(1, 1, 0), (1, 0, 1), (0, 1, 1)}
    assert {conforming.distance(k, m) for k in range(3) for m in range(3) if k != m} == {2}
    assert conforming.is_vacuous(1) and not conforming.is_vacuous(2)
    assert len(conforming.components(1)) == 3 and len(conforming.components(2)) == 1


def test_example_3_both_values_of_the_invariant():
    two, none = Conforming.of(BITS, sum, 2), Conforming.of(BITS, sum, 0)
    assert [two.values(i) for i in range(3)] == [(0, 1)] * 3
    assert two.semi_adjacency().value == two.semi_adjacency("literal").value == 2
    assert none.databases == ((0, 0, 0),) and none.semi_adjacency().value == 0
    assert none.is_vacuous(3) and none.least_distance() is None and none.largest_least_distance() is None


def test_example_5_worst_case_of_two_by_two_margins():
    """x = (1,1) wants to be (2,2) where nobody is (2,2): two more records must move. Read literally, Definition 13 says 2."""
    margins = invariants.margins((2, 2))
    for totals in ([2, 1, 2, 1], [3, 2, 3, 2]):
        found = {reading: semi_adjacency(margins, totals, reading).value for reading in ("literal", "worst_case", "bound")}
        assert found == {"literal": 2, "worst_case": 3, "bound": 3}
    # With h11 = h22 forced by the margins, whoever is (1,1) has a partner at (2,2): the worst case is 2.
    assert semi_adjacency(margins, [2, 2, 2, 2]).value == 2


def databases_of(totals: list[int], matrix: np.ndarray, records: int) -> Conforming:
    size = matrix.shape[1]
    space = product(range(size), repeat=records)
    return Conforming.of(space, lambda X: tuple(matrix @ np.bincount(X, minlength=size)), tuple(totals))


@pytest.mark.parametrize("reading", ["literal", "worst_case"])
@pytest.mark.parametrize(
    ("invariant", "totals", "records"),
    [
        (invariants.margins((2, 2)), [2, 1, 2, 1], 3),
        (invariants.margins((2, 2)), [2, 2, 3, 1], 4),
        (invariants.margins((2, 2)), [4, 0, 2, 2], 4),
        (invariants.margins((2, 3)), [2, 2, 2, 1, 1], 4),
        (invariants.partition(["a", "a", "b"]), [2, 2], 4),
        (invariants.linear([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]]), [2, 2, 4], 4),
        (invariants.linear([[2, 1, 0], [1, 1, 1]]), [3, 3], 3),
    ],
)
def test_integer_programs_agree_with_all_databases(invariant, totals, records, reading):
    """Independent: databases record by record, no histogram, no program."""
    conforming = databases_of(totals, invariant.matrix, records)
    assert semi_adjacency(invariant, totals, reading).value == conforming.semi_adjacency(reading).value


def with_structural_zeros(shape: tuple[int, int], cells: list[int]) -> invariants.Invariant:
    """Margins, and the counts of some cells, which are published too: no bound of Theorem 16 covers them."""
    return invariants.linear(
        [*invariants.margins(shape).matrix.tolist(), *np.eye(shape[0] * shape[1], dtype=int)[cells].tolist()]
    )


def test_structural_zeros_against_every_move_between_every_two_tables():
    """Independent: all tables by counting up, each move in Python, no arrays of differences;
    and no bound is claimed to have been reached."""
    generator = np.random.default_rng(11)
    for _ in range(6):
        invariant, table = with_structural_zeros((3, 3), [0, 4]), generator.integers(0, 3, 9)
        table[[0, 4]] = 0
        if not table.any():
            continue
        totals = invariant.matrix @ table
        counted = product(range(int(table.sum()) + 1), repeat=3)
        tables = [full for h in counted if (full := _completed(h, totals)) is not None]
        worst = 0
        for h, x, y in ((h, x, y) for h in tables for x in range(9) for y in range(9) if x != y and h[x]):
            moved = [k - (i == x) + (i == y) for i, k in enumerate(h)]
            ways = [1 + sum(max(b - a, 0) for a, b in zip(moved, other, strict=True)) for other in tables if other[y]]
            worst = max([worst, *([min(ways)] if ways else [])])
        found = semi_adjacency(invariant, totals.tolist())
        assert found.value == worst and str(len(tables)) in found.method and "bound" not in found.method


def _completed(free: tuple[int, ...], totals: np.ndarray) -> list[int] | None:
    """The 3 x 3 table with zeros at (0, 0) and (1, 1) and these cells (0, 1), (1, 0), (2, 0), if there is one."""
    rows, columns = totals[:3], totals[3:6]
    a, b, c = free
    table = [0, a, rows[0] - a, b, 0, rows[1] - b, c, columns[1] - a, rows[2] - c - columns[1] + a]
    whole = min(table) >= 0 and b + c == columns[0] and table[2] + table[5] + table[8] == columns[2]
    return [int(cell) for cell in table] if whole else None


def test_four_by_four_tables_with_structural_zeros_need_no_integer_programs(monkeypatch):
    monkeypatch.setattr(Fibre, "fewest_moves", lambda *_: pytest.fail("an integer program was asked"))
    invariant = with_structural_zeros((4, 4), [0, 5, 10])
    table = np.array([0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1])
    found = semi_adjacency(invariant, (invariant.matrix @ table).tolist())
    assert found.value >= 3 and found.reading == "worst_case" and "bound" not in found.method


def test_no_bound_is_offered_in_place_of_tables_where_none_is_known():
    with pytest.raises(InvalidProblem, match="more than 2000 tables conform, and no bound is known"):
        semi_adjacency(with_structural_zeros((3, 3), [0]), [60] * 6 + [0])


def test_literal_is_at_most_worst_case_is_at_most_the_bound():
    generator = np.random.default_rng(3)
    for _ in range(4):
        table = generator.integers(0, 3, (2, 3))
        if not table.any():
            continue
        margins = invariants.margins((2, 3))
        totals = (margins.matrix @ table.ravel()).tolist()
        literal, worst, bound = (semi_adjacency(margins, totals, r).value for r in ("literal", "worst_case", "bound"))
        assert literal <= worst <= bound == 3


def test_joint_margins_bound_lower_than_one_way_margins():
    """SEMI Remark 17: publishing more leaves less to pretend."""
    one_way, joint = invariants.margins((2, 2, 2)), invariants.margins((2, 2, 2), [(0, 1), (2,)])
    everything = invariants.margins((2, 2, 2), [(0, 1, 2)])
    assert [i.semi_adjacency_bound for i in (one_way, joint, everything)] == [4, 3, 2]
    table = np.array([2, 1, 0, 1, 1, 0, 0, 2])
    assert semi_adjacency(everything, (everything.matrix @ table).tolist()).value == 2


def test_three_features_reach_their_bound():
    """Every feature needs a record of its own: SEMI Theorem 16 is attained."""
    margins = invariants.margins((2, 2, 2))
    table = np.zeros((2, 2, 2), dtype=int)
    table[0, 0, 0] = table[1, 0, 0] = table[0, 1, 0] = table[0, 0, 1] = 1
    assert semi_adjacency(margins, (margins.matrix @ table.ravel()).tolist()).value == 4


def test_too_many_tables_fall_back_to_the_bound_and_say_so():
    margins = invariants.margins((3, 3))
    found = semi_adjacency(margins, [60, 60, 60, 60, 60, 60])
    assert (found.value, found.reading) == (3, "bound") and "more than" in found.method


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: semi_adjacency(invariants.margins((2, 2)), [1, 2, 3]), "totals"),
        (lambda: semi_adjacency(invariants.margins((2, 2)), [1, 2, 2, 2]), "no table"),
        (lambda: semi_adjacency(invariants.margins((2, 2)), [0, 0, 0, 0]), "no table"),
        (lambda: semi_adjacency(invariants.margins((2, 2)), [0.5, 1, 1, 0.5]), "whole numbers"),
        (lambda: semi_adjacency(invariants.margins((2, 2)), [1, 1, 1, 1], "best"), "reading"),
        (lambda: semi_adjacency(invariants.linear([[1, 1, 0]]), [2]), "number of records"),
        (lambda: semi_adjacency(invariants.linear([[1, 1]], records_public=False), [2]), "records_public"),
        (lambda: semi_adjacency(invariants.linear([[1, 1]]), [2], "bound"), "no bound"),
        (lambda: Conforming(()), "none conforms"),
        (lambda: Conforming(((1,), (1, 2))), "different numbers"),
        (lambda: Conforming(((1,), (2,))).semi_adjacency("bound"), "reading"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidProblem, match=message):
        call()


def test_nearest_distances_of_remark_14():
    conforming = Conforming(((0, 0, 0, 0), (0, 0, 0, 1), (1, 1, 1, 0)))
    assert conforming.least_distance() == 1 and conforming.largest_least_distance() == 3


def test_fibres_against_boxes():
    matrix = np.array([[1, 1, 0, 2], [0, 1, 1, 0]])
    listed = {tuple(h) for h in product(range(6), repeat=4) if (matrix @ h == [4, 2]).all()}
    assert {tuple(h) for h in Fibre(matrix, [4, 2]).vectors(100).tolist()} == listed
    assert Fibre(matrix, [4, 2]).vectors(len(listed) - 1) is None
    positive = [any(h[j] for h in listed) for j in range(4)]
    found = [Fibre(matrix, [4, 2]).with_positive(j) for j in range(4)]
    assert [h is not None for h in found] == positive
    assert all(h is None or (tuple(h.tolist()) in listed and h[j] >= 1) for j, h in enumerate(found))


def test_what_cannot_be_positive_is_proven_by_all_vectors_or_by_multipliers(monkeypatch):
    """Against every vector: what no real numbers can be, and what only whole ones cannot."""
    generator, halves = np.random.default_rng(4), 0
    for _ in range(60):
        matrix = generator.integers(0, 3, (2, 3)) + np.array([[1, 1, 1], [0, 0, 0]])
        totals = generator.integers(0, 9, 2)
        listed = [h for h in product(range(9), repeat=3) if (matrix @ h == totals).all()]
        for j in range(3):
            found = Fibre(matrix, totals).with_positive(j)
            assert (found is not None) == any(h[j] for h in listed)
            assert found is None or (tuple(found.tolist()) in listed and found[j] >= 1)
            halves += found is None and not none_at_all(csr_array(matrix), (totals - matrix[:, j]).astype(float))
    assert halves > 3
    monkeypatch.setattr("solvers.lattices.conforming_tables.GONE_THROUGH", 0)
    margins = Fibre(invariants.margins((2, 3)).matrix, [4, 0, 2, 2, 0])
    positive = [margins.with_positive(j) for j in range(6)]
    assert [h is not None for h in positive] == [True, True, False, False, False, False]
    assert all((margins.matrix @ h == margins.totals).all() and h[j] >= 1 for j, h in enumerate(positive) if h is not None)
    with pytest.raises(RuntimeError, match="nothing proves that none is"):
        Fibre([[3, 5, 0, 0], [0, 0, 1, -1]], [4, 1]).with_positive(2)
    assert Fibre([[2, 2, -2]], [3]).with_positive(0) is None, "odd"
    with pytest.raises(RuntimeError, match="no exact floats"):
        Fibre([[1, 1]], [2**60]).with_positive(0)


def test_a_solver_that_finds_nothing_is_not_believed(monkeypatch):
    """Of margins 2 1 and 2 1 every cell can be positive; a solver that denies it, of a cell or of moves, ends in a refusal and
    never in fewer changes."""
    margins, totals = invariants.margins((2, 2)), [2, 1, 2, 1]
    assert semi_adjacency(margins, totals, "literal").value == 2

    monkeypatch.setattr("solvers.lattices.conforming_tables.integer_minimum", lambda *_: None)
    with pytest.raises(DesignFailed, match="no units move from entry 0 to 1, though.* has to be proven"):  # noqa: RUF043
        semi_adjacency(margins, totals, "literal")
    assert semi_adjacency(margins, totals).value == 3
    monkeypatch.setattr("solvers.lattices.conforming_tables.GONE_THROUGH", 0)
    for reading in ("literal", "worst_case"):
        with pytest.raises(DesignFailed, match="entry 0 positive, and nothing proves.* read it as 'bound'"):  # noqa: RUF043
            semi_adjacency(margins, totals, reading)
    with pytest.raises(InvalidProblem, match="no table"):
        semi_adjacency(margins, [1, 2, 2, 2])


@pytest.mark.parametrize(
    "call",
    [
        lambda: Fibre([[1, 1]], [1, 2]),
        lambda: Fibre([[1, -1]], [0]).vectors(10),
        lambda: Fibre([[1, 0]], [1]).vectors(10),
    ],
)
def test_fibres_refuse_what_they_cannot_list(call):
    with pytest.raises(ValueError, match="matrix"):
        call()


def test_integer_programs_say_when_there_is_no_solution():
    assert integer_minimum([1.0], [[2.0]], [1.0], [1.0], [0.0], [9.0]) is None
    assert integer_minimum([1.0], [[2.0]], [3.0], [9.0], [0.0], [9.0]).tolist() == [2]
