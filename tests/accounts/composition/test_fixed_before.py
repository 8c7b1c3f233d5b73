"""What must be fixed before the first release: the counter-example of a published partition that is chosen by an answer."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import pytest

from designer import InvalidProblem, Problem, Workload, design, invariants, metrics
from designer.accounts import Ledger, Total, checked, composed, expense_of
from designer.base.errors import OverTotal
from designer.certificate.frozen import FrozenMechanism
from designer.relations.row_groups import RowGroups

EPSILON = 1.0
E = Fraction(3)  # stands for e^epsilon: any ratio above 1 shows the same


def response(true: bool, said: bool) -> Fraction:
    """Randomised response with ratio E."""
    return (E if true == said else Fraction(1)) / (1 + E)


def joint_law(record: str, rule: dict[bool, str], asked: str) -> dict[tuple[object, ...], Fraction]:
    """The law of all answers about one record among a, b, ...: a noisy answer on "is it `asked`?", then the part of the record
    in the partition that the answer chooses, then a noisy answer within the part on "is it the first of its part?"."""
    law: dict[tuple[object, ...], Fraction] = {}
    for said in (False, True):
        parts = rule[said].split("|")
        own = next(part for part in parts if record in part)
        for first in (False, True):
            chance = response(record == asked, said) * response(record == own[0], first)
            law[said, own, first] = law.get((said, own, first), Fraction(0)) + chance
    return law


def loss(one: dict[tuple[object, ...], Fraction], other: dict[tuple[object, ...], Fraction]) -> Fraction | None:
    """The largest ratio of two laws; None where it is infinite."""
    ratios = [one[key] / other[key] if key in other else None for key in one]
    return None if None in ratios else max(ratio for ratio in ratios if ratio is not None)


def same_part(partition: str, i: str, j: str) -> bool:
    return any(i in part and j in part for part in partition.split("|"))


def test_a_partition_chosen_by_an_answer_tells_apart_what_any_of_the_choices_tells_apart() -> None:
    """All pairs of partitions of four elements, all questions, by enumeration: finite just where both protect, and then within
    the product of the two promises."""
    partitions = ("abcd", "abc|d", "ab|cd", "ab|c|d", "a|bcd", "ac|bd", "a|b|c|d")
    infinite = 0
    for no, yes in product(partitions, repeat=2):
        for asked in "abcd":
            laws = {record: joint_law(record, {False: no, True: yes}, asked) for record in "abcd"}
            for i, j in combinations("abcd", 2):
                found = loss(laws[i], laws[j])
                assert (found is None) is not (same_part(no, i, j) and same_part(yes, i, j))
                assert found is None or found <= E * E
                infinite += found is None and same_part(no, i, j)
    assert infinite > 100  # finite by the promises of the way that was taken, and told apart all the same


def responses(parts: list[str] | None) -> FrozenMechanism:
    """A query that tells the last of three elements, or the parts of the three and one of them."""
    relation = metrics.uniform(3, EPSILON) if parts is None else metrics.partition(parts, EPSILON)
    rows = [[0, 0, 1]] if parts is None else [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    return design(Problem(Workload(rows), relation), "laplace").mechanism


def test_composed_states_the_union_of_what_may_be_published() -> None:
    asked, after_no, after_yes = responses(None), responses(["x", "x", "y"]), responses(["x", "y", "y"])
    own = composed(asked, after_no).epsilon(change=(0, 1))
    assert own is not None and own <= 2 * EPSILON  # finite, for relations fixed beforehand
    with pytest.raises(InvalidProblem, match="no change is protected by all"):
        composed(asked, after_no, after_yes)


def state(path: Path, *planned: FrozenMechanism, more: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    lines = [line for mechanism in planned for line in mechanism.guarantee.unprotected]
    return Ledger.create(path, who="Ada").state("people", Total(epsilon=100), publishes=[*dict.fromkeys(lines), *more])


def kept(parts: str, adjacency: int) -> FrozenMechanism:
    relation = invariants.partition(list(parts)).protect(0.5, adjacency=adjacency)
    return design(Problem(Workload.identity(len(parts)), relation), "lattice_laplace").mechanism


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (responses(["x", "x", "y"]), responses(["x", "y", "y"])),
        (kept("xxyy", 1), kept("xyyx", 1)),
        (kept("xxyy", 2), kept("xxyy", 1)),
    ],
    ids=["parts of a metric", "invariants of the same names", "fewer records"],
)
def test_a_ledger_refuses_a_scope_that_was_not_fixed_before_the_first_answer(
    tmp_path: Path, first: FrozenMechanism, other: FrozenMechanism
) -> None:
    assert expense_of(first).scope != expense_of(other).scope
    data = [5, 6, 7, 8][: first.relation.size]  # type: ignore[attr-defined]
    people = state(tmp_path / "l", first, other)
    people.release(first, data)
    people.release(first, data)
    with pytest.raises(OverTotal, match=r"Only changes within the scope [0-9a-f]{32} are protected") as refused:
        people.release(other, data)
    assert "does not depend on what earlier releases showed" in str(refused.value)
    line = str(refused.value).split("--publishes '")[1].split("'")[0]
    planned = state(tmp_path / "planned", first, other, more=(line,))
    planned.release(first, data)
    refusal = planned.forecast(other).refusal  # invariants of both may still leave nothing in common
    assert refusal is None or "no change is protected" in refusal
    checked(people.ledger)


def test_a_scope_is_none_where_every_change_of_a_record_is_protected_and_knows_no_budget() -> None:
    four = Workload.identity(4)
    every = (
        metrics.uniform(4, 0.5),
        metrics.add_remove(4, 0.5),
        metrics.line([0, 1, 2, 5], period=3, epsilon=1),
        invariants.total(4).protect(0.5),
    )
    for relation in every:
        family = "lattice_laplace" if relation is every[-1] else "laplace"
        assert expense_of(design(Problem(four, relation), family).mechanism).scope is None
    twice = [expense_of(design(Problem(four, metrics.partition(list("xxyy"), b)), "laplace").mechanism) for b in (0.5, 1.0)]
    assert twice[0].scope == twice[1].scope is not None and twice[0].epsilon != twice[1].epsilon
    for parts in ((metrics.uniform(2, 1.0), metrics.partition(list("xy"), 1.0)), (metrics.uniform(2, 1.0),) * 2):
        scope = expense_of(design(Problem(four, RowGroups(parts, ("a", "b"))), "laplace").mechanism).scope
        assert (scope is None) == (parts[0] == parts[1])


def test_where_the_number_of_records_may_be_published_changes_of_a_record_are_counted_from_the_start(tmp_path: Path) -> None:
    """A record that appears at epsilon changes at twice that; another way might have published the number of records."""
    appears = design(Problem(Workload.identity(3), metrics.add_remove(3, 0.5)), "laplace").mechanism
    closed = state(tmp_path / "closed")
    closed.release(appears, [5, 6, 7])
    assert closed.balance().spent.epsilon == Fraction(1, 2)
    public = ("The number of records is public.",)
    opened = state(tmp_path / "open", more=public)
    opened.release(appears, [5, 6, 7])
    assert opened.balance().spent.epsilon == 1 and "number of records is public" in opened.balance().spent.unit
    closed.raise_total(Total(epsilon=1), "planned in May", publishes=public)
    assert closed.balance().spent.epsilon == 1
    with pytest.raises(OverTotal, match="state more"):
        opened.raise_total(Total(epsilon="0.75"), "less")
    checked(closed.ledger)
    checked(opened.ledger)
