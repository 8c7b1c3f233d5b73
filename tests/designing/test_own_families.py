"""Families and metrics of a caller's own: used like those of the house, certified like them, and never passed off as them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    AdditiveMechanism,
    InvalidProblem,
    InvalidSpec,
    Mechanism,
    NotPrivate,
    Problem,
    Selection,
    Workload,
    compare,
    design,
    invariants,
    load,
    metrics,
)
from designer.accounts.composition.common_relation import CommonChanges, CommonPairs
from designer.certificate.norms import Norm, weighted_l1
from designer.designing import FAMILIES, family_named, forget, known_families, register
from designer.designing.family import Family
from designer.designing.measured import Coordinates
from designer.designing.repair import freeze
from designer.problem.relation import Relation
from designer.relations.delta_lengths import AllowedLengths
from designer.relations.kinds import RELATIONS
from designer.relations.metrics.metric import Metric
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.selection.tabulated import Neighbours

THREE = Problem(Workload.identity(3), metrics.uniform(3, 1.0))


def build_equal(problem: Problem, factor: float = 1.0, called: str = "custom") -> Mechanism:
    """Laplace noise of equal scales, `factor` times what the worst change needs."""
    sensitivity = problem.sensitivity()
    rate = 1 / (factor * sensitivity.worst(weighted_l1(np.ones(sensitivity.dimension)))[0])
    weights = np.full(sensitivity.dimension, rate)
    heard = np.ones(len(weights), dtype=bool)
    return freeze(problem, called, Coordinates(None, None, heard), 1 / weights, lambda _: weighted_l1(weights), "exponential")


@pytest.fixture
def mine() -> Iterator[Family]:
    yield register(Family("mine", "equal scales of my own", "pure", build_equal))
    forget("mine")


def test_a_registered_family_designs_like_those_of_the_house(mine: Family, tmp_path: Path) -> None:
    made = design(THREE, "mine", factor=2.0)
    assert made.mechanism.family == "custom" and made.privacy.holds
    equal = design(THREE, "strategy_2").mechanism
    assert isinstance(equal, AdditiveMechanism)
    assert np.allclose(made.mechanism.query_variances(), 2 * (2 * equal.scales) ** 2, rtol=1e-6)
    loaded = load(made.mechanism.save(tmp_path / "s.json"), Mechanism)
    assert loaded == made.mechanism and loaded.release([1, 2, 3]).answers.shape == (3,)
    with pytest.raises(InvalidProblem, match=r"unknown to family 'mine', which takes \['factor', 'called'\]"):
        design(THREE, "mine", tolerance=1.0)
    weaker = design(replace(THREE, notion="zcdp"), "mine")
    assert weaker.problem.notion == "zcdp" and weaker.mechanism == design(THREE, "mine").mechanism


def test_a_registered_family_takes_part_in_the_comparison_and_in_auto(mine: Family) -> None:
    assert known_families() == (*FAMILIES, mine) and family_named("mine") is mine
    compared = compare(THREE, ["laplace", "mine"])
    assert [row["family"] for row in compared.rows] == ["laplace", "mine"] and compared.best is compared.designs["laplace"]
    assert compare(THREE, ["mine"]).best.mechanism.family == "custom"
    assert design(THREE).mechanism.provenance["tried"]["mine"].startswith("loss ")


def test_a_registered_family_passes_for_no_other(mine: Family) -> None:
    with pytest.raises(InvalidProblem, match="says that it is 'laplace'; build it with family='custom'"):
        design(THREE, "mine", called="laplace")
    register(Family("nothing", "returns nothing", "pure", lambda problem: None))  # type: ignore[arg-type,return-value]
    try:
        with pytest.raises(InvalidProblem, match="returned None; it must return a mechanism"):
            design(THREE, "nothing")
    finally:
        forget("nothing")


def altered(problem: Problem) -> Mechanism:
    """Half the noise, written into a frozen object behind its back."""
    made = build_equal(problem)
    assert isinstance(made, AdditiveMechanism)
    object.__setattr__(made, "norm", weighted_l1(2 * np.asarray(made.norm.map)))
    return made


def off_at_last(problem: Problem) -> Mechanism:
    """All noise of a thousandth, and answers of a thousandth."""
    return replace(build_equal(problem), measured=np.eye(3), reconstruction=np.eye(3) / 1000)  # type: ignore[type-var]


class Telling(AdditiveMechanism):
    """Certified like every other, and publishes what it is asked to hide."""

    def release(self, histogram: Any) -> Any:
        return histogram


class Blind(Norm):
    """Finds every difference small."""

    def worst(self, *differences: Any) -> Any:
        return 0.0, 0


def with_a_release_of_its_own(problem: Problem) -> Mechanism:
    made = object.__new__(Telling)
    made.__dict__.update(build_equal(problem).__dict__)
    return made


def with_a_norm_of_its_own(problem: Problem) -> Mechanism:
    made = build_equal(problem)
    object.__setattr__(made, "norm", Blind(np.ones(3), "l1"))
    return made


def with_a_delta(problem: Problem) -> Mechanism:
    """Exponential noise of six fifths of the budget, which is (budget, 1/2)-private."""
    less = build_equal(replace(problem, relation=metrics.uniform(3, 1.2)))
    return replace(less, delta=0.5, relation=problem.relation)  # type: ignore[type-var]


def told_wrong(problem: Problem) -> Mechanism:
    """An eighth of the noise, and a memory of larger budgets."""
    made = build_equal(problem)
    assert isinstance(made, AdditiveMechanism)
    made.__dict__["_told"] = metrics.uniform(3, 8.0)
    object.__setattr__(made, "norm", weighted_l1(8 * np.asarray(made.norm.map)))
    return made


# What a family may hand back that is certified, and is not what was asked.
LIES: dict[str, tuple[Any, type[Exception], str]] = {
    "weaker": (
        lambda problem: build_equal(replace(problem, relation=metrics.uniform(3, 2.0))),
        InvalidProblem,
        "another relation",
    ),
    "tenths": (lambda problem: build_equal(replace(problem, workload=Workload(np.eye(3) / 10))), InvalidProblem, "other q"),
    "gaussian": (
        lambda problem: design(replace(problem, notion="zcdp"), "gaussian").mechanism,
        InvalidProblem,
        "'gaussian'",
    ),
    "looser": (
        lambda problem: renamed(design(replace(problem, notion="zcdp"), "gaussian")),
        InvalidProblem,
        "is pure, and",
    ),
    "altered": (altered, NotPrivate, r"spends its budget 1\.0 1\.99"),
    "told wrong": (told_wrong, NotPrivate, r"spends its budget 1\.0 7\.99"),
    "delta": (with_a_delta, InvalidProblem, r"has delta 0\.5, the problem None"),
    "telling": (with_a_release_of_its_own, InvalidProblem, "is or holds a Telling"),
    "blind": (with_a_norm_of_its_own, InvalidProblem, "is or holds a Blind"),
    "off": (off_at_last, InvalidProblem, r"are off by up to 0\.999 for each record"),
}


def renamed(made: Any) -> Mechanism:
    """The same mechanism as one of a family of one's own."""
    return replace(made.mechanism, family="custom")


@pytest.mark.parametrize("lie", LIES)
def test_a_family_that_lies_is_refused(lie: str) -> None:
    build, error, words = LIES[lie]
    register(Family("liar", "less noise than it must have", "pure", build))
    try:
        with pytest.raises(error, match=words):
            design(THREE, "liar")
    finally:
        forget("liar")


@pytest.mark.parametrize("lie", ["tenths", "weaker"])
def test_a_family_that_lies_under_the_approximate_notion_gains_nothing(lie: str) -> None:
    register(Family("liar", "less noise than it must have", "pure", LIES[lie][0]))
    try:
        with pytest.raises((InvalidProblem, NotPrivate)):
            design(replace(THREE, notion="approximate", delta=1e-6), "liar")
    finally:
        forget("liar")


def test_noise_that_was_exchanged_behind_the_numbers_is_not_drawn() -> None:
    """What a mechanism computed once and remembers is computed again from its numbers."""

    def build(problem: Problem) -> Mechanism:
        made = build_equal(problem)
        made.__dict__["noise"] = build_equal(replace(problem, relation=metrics.uniform(3, 9.0))).noise  # type: ignore[attr-defined]
        return made

    register(Family("liar", "a ninth of the noise", "pure", build))
    try:
        assert np.array_equal(design(THREE, "liar").mechanism.query_variances(), build_equal(THREE).query_variances())
    finally:
        forget("liar")


def test_a_family_that_hides_nothing_is_refused_unless_that_was_asked_for() -> None:
    def build(problem: Problem) -> Mechanism:
        like = design(replace(problem, workload=Workload([[1, 0, 0]])), "laplace").mechanism
        return replace(like, family="custom", workload=problem.workload, allow_vacuous=True)

    register(Family("empty", "the number of records", "pure", build))
    total = replace(THREE, workload=Workload([[1, 1, 1]]), allow_vacuous=True)
    try:
        assert design(total, "empty").mechanism.vacuous
        with pytest.raises(InvalidProblem, match="hides nothing"):
            design(replace(total, allow_vacuous=False), "empty")
    finally:
        forget("empty")


def test_an_error_in_a_builder_of_ones_own_comes_as_it_is_and_blames_no_units() -> None:
    def build(problem: Problem) -> Mechanism:
        return design(problem, "laplace", tolerance=float((np.ones(2) + np.ones(3)).sum())).mechanism

    register(Family("broken", "adds what does not fit", "pure", build))
    try:
        with pytest.raises(ValueError, match=r"^operands could not be broadcast"):
            design(THREE, "broken")
        note = compare(THREE, ["laplace", "broken"]).rows[1]["note"]
        assert note.startswith("stopped by ValueError: operands") and "units" not in note
    finally:
        forget("broken")


def test_noise_where_one_budget_for_all_needs_none_leaves_the_gain_undefined(mine: Family) -> None:
    """The total of a table of known size is published as it is; a family that adds noise to it has no finite gain."""
    total = Problem(Workload([[1, 0, 0], [1, 1, 1]], queries=["first", "total"]), metrics.uniform(3, 1.0))
    with np.errstate(all="raise"):
        rows = {row["family"]: row for row in compare(total, ["uniform_budget", "mine"]).rows}
    assert rows["mine"]["improvement"] is None and rows["mine"]["improvements"][1] == 0 < rows["mine"]["improvements"][0]
    assert rows["mine"]["note"] == "IF(Q): one budget for all needs no noise in total"
    assert rows["uniform_budget"]["improvement"] == pytest.approx(1.0) and rows["uniform_budget"]["note"] == ""


@pytest.mark.parametrize("name", ["auto", "laplace", "lattice_gaussian", "mine"])
def test_a_name_that_is_taken_is_refused(mine: Family, name: str) -> None:
    with pytest.raises(InvalidProblem, match="is taken"):
        register(replace(mine, name=name))


@pytest.mark.parametrize("wrong", [{"name": ""}, {"title": 3}, {"notion": "approximate"}, {"build": "laplace"}])
def test_a_family_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblem, match=f"family.{next(iter(wrong))}"):
        Family(**{"name": "a", "title": "b", "notion": "pure", "build": build_equal, **wrong})
    with pytest.raises(InvalidProblem, match="is no Family"):
        register(build_equal)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="is not registered"):
        forget("laplace")
    with pytest.raises(InvalidProblem, match="'mine' is unknown"):
        family_named("mine")


@dataclass(frozen=True, eq=False)
class Clock(Metric):
    """Hours on a clock: the budget of a change grows with the time between them, whichever way is shorter."""

    hours: int
    per_hour: int
    kind = "clock"

    @property
    def size(self) -> int:
        return self.hours

    def rectangle(self, rows: slice, columns: slice) -> Any:
        elements = np.arange(self.hours)
        apart = np.abs(elements[rows, None] - elements[None, columns])
        return np.float64(self.per_hour) * np.minimum(apart, self.hours - apart)

    def exact_budget(self, left: int, right: int) -> Fraction:
        apart = abs(left - right)
        return Fraction(self.per_hour * min(apart, self.hours - apart))

    def sentence(self) -> str:
        return f"Any one record may move to another hour, with budget {self.per_hour} for each hour between."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "hours": self.hours, "per_hour": self.per_hour}


@pytest.mark.parametrize("family", ["laplace", "k_norm", "gaussian"])
def test_a_metric_of_ones_own_is_designed_for_verified_and_released(family: str) -> None:
    notion: Any = "zcdp" if family == "gaussian" else "pure"
    own, listed = Clock(6, 1), metrics.from_matrix(Clock(6, 1).distances())
    made = design(Problem(Workload.identity(6), own, notion), family).mechanism
    same = design(Problem(Workload.identity(6), listed, notion), family).mechanism
    assert made.verify().holds and made.verify().worst_ratio == made.privacy.worst_ratio <= 1
    assert np.allclose(made.query_variances(), same.query_variances(), rtol=1e-4)
    released = made.release([1, 2, 3, 4, 5, 6])
    assert released.answers.shape == (6,) and own.sentence() in released.guarantee.to_text()


@pytest.mark.parametrize(
    "relation", [Clock(6, 1), Clock(6, 1) * 2.0, metrics.uniform(6, 1.0) + Clock(6, 1)], ids=["own", "scaled", "sum"]
)
def test_a_metric_of_ones_own_is_not_saved(relation: Any, tmp_path: Path) -> None:
    made = design(Problem(Workload.identity(6), relation), "laplace").mechanism
    with pytest.raises(InvalidProblem, match=r"is a rule of your own.*metrics\.from_matrix"):
        made.save(tmp_path / "s.json")
    assert not list(tmp_path.iterdir())
    best = best_selection(Linear(Workload.identity(6)), relation)
    with pytest.raises(InvalidProblem, match="is a rule of your own"):
        best.save(tmp_path / "s.json")


def test_every_relation_of_the_house_is_in_the_closed_list() -> None:
    """What the house defines can be read back; what is derived from a score, a delta or several releases is never held."""
    todo, found = [Relation], set()
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__module__.startswith("designer.") and not inspect.isabstract(kind) and "kind" in vars(kind):
            found.add(kind)
    assert found - {Neighbours, AllowedLengths, CommonPairs, CommonChanges} == set(RELATIONS.values())


def test_load_gives_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    path = design(THREE, "laplace").mechanism.save(tmp_path / "s.json")
    assert load(path) == load(path, Mechanism) == load(path, AdditiveMechanism)
    with pytest.raises(InvalidSpec, match="holds a AdditiveMechanism, not a Selection"):
        load(path, Selection)


def test_both_kinds_of_noise_are_mechanisms() -> None:
    table = Problem(Workload.identity(4), invariants.margins((2, 2)).protect(epsilon=1.0))
    for family in ("laplace", "lattice_laplace"):
        made = design(table, family)
        assert isinstance(made.mechanism, Mechanism) and made.error == made.mechanism.error("squared")
        assert made.mechanism.simulate(3, seed=1).stamp == "simulation, not private: 3 draws, seed 1"
    with pytest.raises(TypeError, match="abstract"):
        Mechanism()  # type: ignore[abstract]
