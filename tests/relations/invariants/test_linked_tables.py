"""Linked tables: their changes against all changes of the joint table, noise that agrees on what is shared, and specs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, NotPrivate, Problem, Workload, design, invariants, load
from designer.base.json_text import plain
from designer.certificate.certificate import certify
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.problem.domain import Domain
from designer.relations.invariants import LinkedTables
from designer.relations.kinds import relation_from_spec
from designer.relations.problem import NOTIONS
from solvers.lattices.enumeration import short_vectors

ORDERS = ("l1", "l2", "linf")
SMALL = Domain.of({"age": 2, "sex": 2, "county": 3})
TABLES = {"sexes": ["age", "sex"], "counties": ["age", "county"]}


def all_changes(linked: LinkedTables, adjacency: int) -> np.ndarray:
    """The changes of all tables, (M, N), by every change of the joint table of all attributes."""
    domain = linked.domain
    joint = [np.ones((1, domain.size), dtype=int)]
    if linked.published:
        joint.append(invariants.margins(domain, list(linked.published)).matrix)
    codes = np.unravel_index(np.arange(domain.size), domain.shape)
    rows = []
    for _, attributes in linked.tables:
        axes = [domain.axis(name) for name in attributes]
        cells = np.ravel_multi_index([codes[axis] for axis in axes], [domain.shape[axis] for axis in axes])
        rows.append(np.arange(np.prod([domain.shape[axis] for axis in axes]))[:, None] == cells)
    changes = short_vectors(np.vstack(joint), 2 * adjacency, limit=10**6).vectors
    return changes @ np.vstack(rows).astype(int).T


def norms_of(changes: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    weighted = np.abs(changes) * weights
    return weighted.sum(axis=1).max(), np.sqrt((weighted**2).sum(axis=1).max()), weighted.max()


CASES = [
    (invariants.linked(SMALL, TABLES, [["age"]]), (1, 2), True),
    (invariants.linked(SMALL, TABLES), (1, 2), True),
    (invariants.linked(SMALL, {**TABLES, "both": ["sex", "county"]}), (1, 2), True),
    (invariants.linked(SMALL, TABLES, [["age"], ["sex"], ["county"]]), (2, 3), True),
    (invariants.linked(SMALL, {"one": ["age"], "other": ["sex", "county"]}, [["sex"]]), (1, 2, 3), True),
    (invariants.linked(SMALL, TABLES, [["age"], ["sex"]]), (2,), False),
    (invariants.linked(SMALL, {"sexes": ["age", "sex"], "whole": ["age", "sex", "county"]}, [["age"], ["sex"]]), (2,), False),
]


@pytest.mark.parametrize(("linked", "adjacency", "exact"), [(one, a, exact) for one, several, exact in CASES for a in several])
def test_lengths_are_those_of_all_changes_of_the_joint_table(linked, adjacency, exact):
    """With weights for each table; where the tables cannot reach their longest changes together, a bound above the list."""
    random = np.random.default_rng(adjacency)
    changes, relation = all_changes(linked, adjacency), linked.protect(1.0, adjacency)
    for weights in (np.ones(linked.size), np.repeat(random.uniform(0.5, 2, len(linked.tables)), np.diff(linked.starts))):
        for order, listed in zip(ORDERS, norms_of(changes, weights), strict=True):
            found = relation.longest(weights, order)
            assert listed * (1 - 1e-12) <= float(found.bound) <= listed * (1 + 1e-12 if exact else 1.5)
            assert float(found.reached) <= listed * (1 + 1e-12)


@pytest.mark.parametrize(("linked", "several", "exact"), CASES)
def test_what_is_public_is_what_no_change_moves_and_the_witnesses_are_changes(linked, several, exact):
    changes = all_changes(linked, max(several))
    relation = linked.protect(1.0, max(several))
    assert not (relation.invariant.constraints @ changes.T).any()
    named = {tuple(sign * v for v in change) for change in changes.tolist() for sign in (1, -1)}
    for change in relation.typical:
        dense = np.zeros(linked.size, dtype=int)
        for cell, amount in change:
            dense[cell] = amount
        assert tuple(dense) in named
    rows = np.vstack([np.eye(linked.size), relation.invariant.constraints]).astype(float)
    assert not (rows[relation.unmoved(rows)] @ changes.T).any()


def counted(linked: LinkedTables, records: np.ndarray) -> dict[str, np.ndarray]:
    tables = {}
    for (name, attributes), shape in zip(linked.tables, linked.shapes, strict=True):
        tables[name] = np.zeros(shape, dtype=int)
        np.add.at(tables[name], tuple(records[:, linked.domain.axis(a)] for a in attributes), 1)
    return tables


FAMILIES = [("gaussian", 1e-9), ("projected_laplace", 1e-9), ("lattice_gaussian", 0), ("lattice_laplace", 0)]


@pytest.mark.parametrize(("family", "off"), FAMILIES)
def test_noisy_tables_agree_on_what_they_share_and_with_what_is_published(family, off, tmp_path):
    linked = invariants.linked(SMALL, {**TABLES, "both": ["sex", "county"]}, [["age"]])
    notion = NOTIONS["gaussian" in family]
    made = design(Problem(linked.workload(), linked.protect(0.5, 2), notion=notion), family).mechanism
    again = load(made.save(tmp_path / "spec.json"))
    assert again.fingerprint == made.fingerprint and again.privacy.worst_ratio == made.privacy.worst_ratio
    true = counted(linked, np.random.default_rng(3).integers(0, [2, 2, 3], (500, 3)))
    noisy = linked.split(np.asarray(again.release(linked.stack(true)).answers))
    for one, other in [
        (noisy["sexes"].sum(axis=1), true["sexes"].sum(axis=1)),
        (noisy["counties"].sum(axis=1), true["sexes"].sum(axis=1)),
        (noisy["sexes"].sum(axis=0), noisy["both"].sum(axis=1)),
        (noisy["counties"].sum(axis=0), noisy["both"].sum(axis=0)),
    ]:
        assert np.abs(one - other).max() <= off
    assert any(np.abs(noisy[name] - true[name]).max() > 0.1 for name in true)


def test_two_tables_cost_what_their_changes_cost_together():
    """One record moves two cells in each of two tables: with equal tables the noise is root 2 times that of one, or geometric
    with twice the scale."""
    domain = Domain.of({"age": 2, "left": 4, "right": 4})
    linked = invariants.linked(domain, {"one": ["age", "left"], "other": ["age", "right"]}, [["age"]])
    both = design(Problem(linked.workload(), linked.protect(1.0), notion="zcdp"), "gaussian")
    assert both.error == pytest.approx(2 * 6 * 4, rel=1e-9)
    pure = design(Problem(linked.workload(), linked.protect(1.0)), "laplace")
    assert pure.error == pytest.approx(16 / (2 * math.sinh(1 / 8) ** 2), rel=1e-9)


def test_scales_of_tables_of_unequal_size_beat_one_scale_for_all():
    domain = Domain.of({"age": 2, "left": 2, "right": 40})
    linked = invariants.linked(domain, {"one": ["age", "left"], "other": ["age", "right"]}, [["age"]])
    relation = linked.protect(1.0)
    made = design(Problem(linked.workload(), relation, notion="zcdp"), "gaussian")
    assert made.error < 0.75 * 4 * relation.invariant.freedom  # |v|_2^2 = 4 where both tables have one scale


def test_noise_for_one_table_is_not_enough_for_two():
    linked = invariants.linked(SMALL, TABLES, [["age"]])
    alone = Norm(np.full(10, 0.5), "l1")
    assert not certify(SensitivitySet.of(np.eye(10), linked.protect(1.0)), alone).holds
    made = design(Problem(linked.workload(), linked.protect(1.0)), "projected_laplace").mechanism
    core = plain(made.core())
    with pytest.raises(NotPrivate, match="spends its budget"):
        type(made).from_core({**core, "relation": {**core["relation"], "adjacency": 2}})


def test_a_relation_comes_back_from_its_spec_and_names_what_is_wrong_with_it():
    relation = invariants.linked(SMALL, TABLES, [["age"]]).protect(0.7, 2)
    assert relation_from_spec(plain(relation.to_spec())).to_spec() == relation.to_spec()
    assert relation.sentence().count("age") == 1 and "sexes, counties" in relation.sentence()
    for tables, published, words in [
        ({"one": ["age"]}, [], "two or more"),
        ({"one": ["age"], "other": ["height"]}, [], "height"),
        ({"one": ["age"], "other": ["sex", "sex"]}, [], "each once"),
        ({"one": ["age"], "other": ["sex"]}, [["weight"]], "weight"),
        ({"one": "age", "other": ["sex"]}, [], "lists of attributes"),
    ]:
        with pytest.raises(InvalidProblem, match=words):
            invariants.linked(SMALL, tables, published)


def test_tables_that_disagree_are_refused_without_a_number():
    linked = invariants.linked(SMALL, TABLES)
    true = counted(linked, np.random.default_rng(1).integers(0, [2, 2, 3], (50, 3)))
    true["sexes"][0, 0] += 1
    with pytest.raises(InvalidProblem, match="disagree on a margin") as refusal:
        linked.stack(true)
    assert not any(character.isdigit() for character in str(refusal.value))


@pytest.mark.parametrize("family", [family for family, _ in FAMILIES])
def test_a_histogram_made_by_hand_whose_tables_disagree_is_refused_at_release(family):
    """What the tables share is published without noise, so a difference would be published as it is."""
    linked = invariants.linked(SMALL, {**TABLES, "both": ["sex", "county"]}, [["age"]])
    notion = NOTIONS["gaussian" in family]
    made = design(Problem(linked.workload(), linked.protect(0.5, 2), notion=notion), family).mechanism
    whole = linked.stack(counted(linked, np.random.default_rng(3).integers(0, [2, 2, 3], (500, 3)))).astype(int)
    made.release(whole)
    texts = set()
    for cells, amounts in [([0], [1]), ([0, 3], [1, -1]), ([0, 1, 9], [17, -17, 900])]:
        wrong = whole.copy()
        wrong[cells] += amounts
        for given in (wrong, wrong.tolist(), dict(zip(linked.elements, wrong.tolist(), strict=True))):
            with pytest.raises(InvalidProblem, match="disagree on a margin that they share") as refusal:
                made.release(given)
            assert refusal.value.__cause__ is None and refusal.value.__context__ is None
            texts.add(str(refusal.value))
    assert len(texts) == 1 and not any(character.isdigit() for character in texts.pop())


def test_every_attribute_of_every_table_may_be_public_or_none():
    for published in ([], [["age"]], [["sex"], ["county"]], list(map(list, itertools.combinations(SMALL.attributes, 2)))):
        relation = invariants.linked(SMALL, TABLES, published).protect(1.0, 2)
        assert relation.is_vacuous() == (not all_changes(relation.linked, 2).any())


def test_tables_that_one_record_cannot_move_are_those_of_a_brute_force_over_records() -> None:
    people = Domain.of({"a": 2, "b": 3, "c": 2})
    tables = {"ab": ["a", "b"], "bc": ["b", "c"], "a": ["a"]}
    for published in ([], [["a"]], [["b"]], [["a"], ["b"]], [["a"], ["b"], ["c"]], [["a", "b"]]):
        two = invariants.linked(people, tables, published)
        moved = set()
        for left, right in itertools.product(itertools.product(*map(range, people.shape)), repeat=2):
            changed = {name for name, x, y in zip(people.attributes, left, right, strict=True) if x != y}
            if not any(changed & set(margin) for margin in published):
                moved |= {name for name, attributes in tables.items() if changed & set(attributes)}
        whole = {name for name, attributes in tables.items() if any(set(attributes) <= set(margin) for margin in published)}
        assert set(two.protect(1.0, 1).unmoved_tables) == set(tables) - moved - whole, published
        if set(tables) - moved - whole:
            with pytest.raises(InvalidProblem, match="adjacency: one record can change nothing of"):
                two.protect(1.0)


def test_a_strategy_needs_a_list_of_the_changes_and_says_so():
    linked = invariants.linked(SMALL, TABLES, [["age"]])
    with pytest.raises(DesignFailed, match="too many changes to be written out"):
        design(Problem(Workload.identity(linked.size), linked.protect(1.0)), "strategy_laplace")


@pytest.mark.parametrize("name", [None, 1.5, ""])
def test_names_of_tables_are_texts(name: object) -> None:
    with pytest.raises(InvalidProblem, match=r"tables: .* is no name of a table; give a text that is not empty\."):
        LinkedTables(SMALL, (("sexes", ("age", "sex")), (name, ("age", "county"))), ())  # type: ignore[arg-type]
