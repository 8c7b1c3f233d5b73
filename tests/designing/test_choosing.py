"""How "auto" chooses: cheap families first, others while work and the gap to the limit leave room, and what it notes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    DesignFailed,
    InvalidProblem,
    Problem,
    Targets,
    Workload,
    compare,
    design,
    invariants,
    least_budget,
    load,
    metrics,
)
from designer.base.errors import Refusal
from designer.certificate.frozen import to_spec
from designer.designing import factor_search, forget, listed, register
from designer.designing import family as outdone
from designer.designing.auto import CHEAP, ROOM, automatic_families, runs_for
from designer.designing.design_result import rank_by_consistency
from designer.designing.family import Family, Sizes, WorseThanIncumbent, with_incumbent
from designer.designing.k_norm import K_NORM
from designer.designing.laplace import LAPLACE, design_laplace
from designer.designing.printouts import budget_summary, design_summary
from designer.designing.staircase import STAIRCASE
from designer.designing.strategy_geometric import STRATEGY_GEOMETRIC
from designer.designing.strategy_laplace import STRATEGY_LAPLACE
from designer.lattice.design import LATTICE_LAPLACE
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism.consistency import FRACTIONS
from designer.mechanism.staircase import StaircaseMechanism
from solvers import work
from solvers.work import go_on, spend, within
from tests.oracles.asked_problems import asked
from tests.oracles.folklore import folklore
from tests.oracles.many_problems import problems

QUERY = Problem(Workload([[0.0, 1, 5]]), metrics.uniform(3, 2.0))
REAL = Problem(Workload.random(3, 6, seed=1), metrics.euclidean(np.random.default_rng(2).random((6, 2))))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only families that take a moment here."""
    monkeypatch.setattr(listed, "FAMILIES", (LAPLACE, K_NORM, LATTICE_LAPLACE, STAIRCASE))


@contextmanager
def family(name: str, **rest: Any) -> Iterator[Family]:
    """A family of one's own for the length of a block: Laplace noise, called otherwise."""

    def build(problem: Problem, width: int = 1) -> Any:
        return _renamed(design_laplace(problem))

    try:
        yield register(Family(name, "Laplace by another name", "pure", build, **rest))
    finally:
        forget(name)


def _renamed(made: Any) -> Any:
    from dataclasses import replace

    return replace(made, family="custom")


def tried(problem: Problem, **options: Any) -> Mapping[str, str]:
    found: Mapping[str, str] = design(problem, **options).mechanism.provenance["tried"]
    return found


def test_a_family_with_an_estimate_takes_part_by_it_alone(few: None) -> None:
    """Cheap ones in the order of the list, then the others by their work; every choice of options is a way of its own."""
    with family("slow", work=lambda sizes, **_: 7e3), family("wide", choices=({"width": 1}, {"width": 2})):
        ways = runs_for(automatic_families(REAL), REAL)
        names = [way.name for way in ways]
        assert names.index("slow") > names.index("wide, width 1") > names.index("laplace")
        units = [way.work for way in ways if way.work > CHEAP]
        assert units == sorted(units) and max(units) == 7e3 and ways[-1].name == "slow"
        with family("seldom", work=lambda sizes, **_: 9.0, rank=2), family("mostly", work=lambda sizes, **_: 9e3, rank=0):
            slow = [way.name for way in runs_for(automatic_families(REAL), REAL) if way.work > CHEAP]
            assert (slow[0], slow[-2], slow[-1]) == ("mostly", "slow", "seldom")
        notes = tried(REAL)
        assert notes["slow"].startswith("not started: about 7e+03 units of work, and ")
        assert notes["slow"].endswith(" of 20 were left")
        assert notes["wide, width 2"].startswith("not certified: its noise loses about ")


def test_before_there_is_a_mechanism_no_family_is_too_slow(few: None) -> None:
    relation = invariants.margins((2, 2)).protect(1.0, per_distance="l1")
    notes = tried(Problem(Workload.identity(4), relation), seconds=1e-9)
    assert notes["lattice_laplace, shape l1"].startswith("loss ")
    assert notes["lattice_laplace, shape l2"] == "not started: 1e-09 s were over"


def test_what_the_clock_of_a_caller_cut_says_so(few: None, tmp_path: Path) -> None:
    """In the design, its repr, the notes of its spec, and the terminal; where no seconds were given, nothing does."""
    made = design(REAL, seconds=1e-9)
    assert made.cut.startswith("ended by the clock, seconds = 1e-09: another run may find another design")
    assert "ended by the clock" in repr(made) and f"Cut off:     {made.cut}" in design_summary("short", made).splitlines()
    assert load(made.mechanism.save(tmp_path / "s.json")).provenance["cut"] == made.cut
    whole = design(REAL)
    assert not whole.cut and "clock" not in repr(whole) and "cut" not in whole.mechanism.provenance


def test_what_cannot_gain_is_not_started_and_the_theorem_is_named(few: None) -> None:
    """One geometric number is the best there is: no search is worth a second, but one for biased answers would be."""
    table = Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0))
    with family("slow", work=lambda sizes, **_: 1.0), family("biased", work=lambda sizes, **_: 1.0, biased=True):
        notes = tried(table)
    assert notes["slow"].startswith("not started: no additive noise loses less than 7.365") and "(T" in notes["slow"]
    assert notes["biased"].startswith("not certified: its noise loses about 127.3, and")


def test_a_family_that_cannot_win_is_not_started_and_its_own_bound_is_named(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven counts among which a record moves: noise in rows has 41.1 at least (closed form: 288 / 7), and a hull 39."""
    counts = Problem(Workload.identity(7), metrics.uniform(7, 1.0))
    monkeypatch.setattr(listed, "FAMILIES", (*listed.FAMILIES, STRATEGY_LAPLACE))
    assert tried(counts)["strategy_laplace"] == "not started: cannot be below 41.14, and 39 is reached"
    with family("close", work=lambda sizes: 0.3, floor=lambda problem: 40.0):
        assert tried(counts)["close"] == "not started: cannot be below 40, and 39 is reached"
    best = design(REAL).loss
    for name, part in {"nothing": 0.0, "low": 0.99, "near": 0.9995, "high": 2.0}.items():
        with family(name, work=lambda sizes: 1.0, rank=9, floor=lambda problem, part=part: part * best):
            started = not tried(REAL)[name].startswith("not started")
        assert started == (part < 0.999), name


OUTDONE: dict[str, dict[str, Any]] = {"bundles": {}, "strategy_geometric": {"search": True}, "strategy_laplace": {}}


@pytest.mark.parametrize("name", OUTDONE)
def test_a_family_that_is_behind_is_not_certified(name: str) -> None:
    """It ends where another one has clearly less, of this problem alone; by its name, and where it is ahead, it does not."""
    problem, options = asked("places", 8), OUTDONE[name]  # of several options that are searched one is ahead in any case
    loss = design(problem, name, **options).loss
    with (
        with_incumbent(problem, loss / 1.01),
        pytest.raises(WorseThanIncumbent, match=rf"^not certified: its noise loses about {loss:.4g}, and"),
    ):
        design(problem, name, **options)
    for other, reached in ((problem, loss), (problem, loss * 1.01), (problem, np.inf), (asked("places", 8), loss / 2)):
        with with_incumbent(other, reached):
            assert design(problem, name, **options).loss == loss
    assert design(problem, name, **options).loss == loss


def test_what_was_not_certified_says_so_and_the_rest_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = asked("ranges", 0)
    made = design(problem)
    notes = {name: said for name, said in made.mechanism.provenance["tried"].items() if said.startswith("not certified: ")}
    assert "bundles" in notes and notes["bundles"].endswith(" is reached")
    monkeypatch.setattr(outdone, "BEHIND", np.inf)
    whole = design(problem)
    assert whole.mechanism.fingerprint == made.mechanism.fingerprint
    for name, said in notes.items():
        loss = float(whole.mechanism.provenance["tried"][name].split()[1].rstrip(","))
        assert float(said.split("about ")[1].split(",")[0]) == pytest.approx(loss, rel=1e-3) and loss > made.loss


def _small(number: int) -> Problem:
    rng = np.random.default_rng(number)
    n, k = int(rng.integers(2, 9)), int(rng.integers(1, 7))
    rows = np.eye(n) if rng.random() < 0.3 else rng.integers(0, 3, (k, n)).astype(float)
    rows[0, 0] = 1.0 + rows[0, 1:].sum()
    relation = (
        metrics.uniform(n, float(rng.choice([0.5, 1, 2, 4]))),
        metrics.add_remove(n, float(rng.choice([0.5, 1, 2, 4]))),
        metrics.line(range(n), 1.0, 0.5),
        metrics.euclidean(rng.random((n, 2)) * 3),
    )[int(rng.integers(4))]
    weights = rng.uniform(0.2, 5.0, len(rows)) if rng.random() < 0.3 else None
    return Problem(Workload(rows), relation, weights=weights)


def _no_family_beats_its_own_bound(numbers: range) -> int:
    """Neither its own nor, where it would be skipped, the winner; how many would be."""
    skipped = 0
    for number in numbers:
        problem = _small(number)
        winner = min(design(problem, name).loss for name in ("laplace", "k_norm", "ellipsoid"))
        for bounded in (STRATEGY_LAPLACE, STRATEGY_GEOMETRIC):
            assert bounded.floor is not None
            least, own = bounded.floor(problem), design(problem, bounded.name).loss
            assert least <= own * (1 + 1e-12), (number, bounded.name)
            if winner <= least * (1 + ROOM):
                skipped += 1
                assert own >= winner * (1 - ROOM), (number, bounded.name)
    return skipped


def test_compare_says_what_is_skipped_cannot_be_below() -> None:
    counts = Problem(Workload.identity(7), metrics.uniform(7, 1.0))
    table = compare(counts)
    rows = {row["family"]: row for row in table.rows}
    for name, least in (("strategy_laplace", "41.14"), ("strategy_geometric", "39.99")):
        assert (
            rows[name]["loss"] is None and rows[name]["note"] == f"not started: cannot be below {least}, and 37.81 is reached"
        )
    assert table.best.mechanism.family == "by_moves" and "of those that were finished" not in table.to_text()
    named = compare(counts, ["strategy_geometric"]).rows[0]
    assert named["loss"] > 39.99 and not named["note"]


LOSSES: tuple[Any, ...] = ("squared", "max", "absolute")


def _folklore_problem(rng: np.random.Generator) -> Problem:
    """Few whole-number queries, or counts, for any loss and every kind of single records."""
    return replace(_small(int(rng.integers(10**6))), loss=LOSSES[int(rng.integers(3))])


@pytest.mark.parametrize("problems", [15, pytest.param(40, marks=pytest.mark.nightly)])
def test_auto_is_never_above_folklore(problems: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what takes a moment, whatever else there is; at large budgets and small ones."""
    monkeypatch.setattr(listed, "FAMILIES", (LAPLACE, replace(STRATEGY_GEOMETRIC, choices=({"search": False},))))
    rng, near = np.random.default_rng(28), 0
    for number in range(problems):
        problem = _folklore_problem(rng)
        loss, known = design(problem).loss, folklore(problem)
        assert loss <= known * (1 + 1e-9), number
        near += loss > known * 0.99
    assert near >= problems // 10


def test_auto_is_not_above_folklore_where_no_work_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Running totals of twenty-four: what would search better rows is not started, the counts are added up all the same."""
    totals = Problem(Workload.prefix(24), metrics.add_remove(24, 4.0))
    monkeypatch.setattr(listed, "FAMILIES", (LAPLACE, STRATEGY_GEOMETRIC))

    def build(problem: Problem) -> Any:
        spend(1e3)
        return _renamed(design_laplace(problem))

    try:
        register(Family("spender", "Laplace at a price", "pure", build, anytime=True))
        made = design(totals)
    finally:
        forget("spender")
    notes = made.mechanism.provenance["tried"]
    assert notes["strategy_geometric"] == "not started: 20 units of work were done"
    assert made.loss <= folklore(totals) * (1 + 1e-9) < design(totals, "laplace").loss


@pytest.mark.parametrize("value", [float("nan"), -1.0, "abc", None, True, [1.0], 1j])
@pytest.mark.parametrize("field", ["work", "floor"])
def test_what_a_family_says_of_its_work_and_floor_is_a_number(few: None, field: str, value: Any) -> None:
    said: dict[str, Any] = {"work": lambda sizes: 1.0} | {field: lambda problem: value}
    with family("own", **said), pytest.raises(InvalidProblem, match=rf"^family.{field}: 'own' .* give 0 or more"):
        design(REAL)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("work", 5), ("floor", "x"), ("where", True), ("anytime", None), ("gives_up", 1), ("biased", "no"), ("rank", 1.5)),
        *(("rank", True), ("choices", ()), ("choices", "x"), ("choices", ({1: 2},)), ("choices", None), ("choices", {"a": 1})),
    ],
)
def test_a_family_with_senseless_fields_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidProblem, match=rf"^family.{field}: "):
        Family("own", "another", "pure", lambda problem: None, **{field: value})  # type: ignore[arg-type, return-value]


def test_the_largest_loss_has_a_floor_too() -> None:
    """Of three counts it is that of one, which geometric noise reaches; of absolute errors nothing is said."""
    counts = Problem(Workload.identity(3), metrics.add_remove(3, 1.0), loss="max")
    for bounded, variance in ((STRATEGY_LAPLACE, 2.0), (STRATEGY_GEOMETRIC, 1 / (2 * np.sinh(0.5) ** 2))):
        assert bounded.floor is not None
        assert bounded.floor(counts) == pytest.approx(variance, rel=1e-5) and bounded.floor(counts) < variance
        assert bounded.floor(replace(counts, loss="absolute")) == 0.0


@pytest.mark.parametrize("elements", [5, 40, 100])
def test_the_floor_is_that_of_the_elements_that_the_queries_tell_apart(elements: int) -> None:
    """Five of them, of many alike: that of noise for five counts, below the best that is found, and not 0."""
    told = np.eye(5)[:, np.arange(elements) % 5]
    for relation in (metrics.uniform, metrics.add_remove):
        asked_of = Problem(Workload(told), relation(elements, 1.0))
        alone = Problem(Workload(np.eye(5)), relation(5, 1.0))
        assert STRATEGY_LAPLACE.floor is not None and STRATEGY_GEOMETRIC.floor is not None
        assert STRATEGY_LAPLACE.floor(asked_of) == pytest.approx(STRATEGY_LAPLACE.floor(alone), rel=1e-6)
        assert STRATEGY_GEOMETRIC.floor(asked_of) == pytest.approx(STRATEGY_GEOMETRIC.floor(alone), rel=1e-6)
        assert 0.5 * design(asked_of, "strategy_laplace").loss < STRATEGY_LAPLACE.floor(asked_of)


@pytest.mark.nightly
def test_the_floor_of_many_alike_elements_is_below_every_strategy() -> None:
    """Random strategies on the elements, other rows for elements that the queries do not tell apart."""
    rng = np.random.default_rng(4)
    for number in range(20):
        elements, atoms = int(rng.integers(61, 80)), int(rng.integers(2, 6))
        told = rng.integers(0, 3, (3, atoms)).astype(float)[:, rng.integers(0, atoms, elements)]
        told[0, :2] = 0.0, 1.0
        points = rng.random((elements, 2))
        near = metrics.euclidean(points, 3.0) if number % 2 else metrics.uniform(elements, 1.0)
        problem = Problem(Workload(told), near)
        least = STRATEGY_LAPLACE.floor(problem) if STRATEGY_LAPLACE.floor else 0.0
        assert least > 0 or number % 2
        rows = np.vstack([told, rng.normal(size=(3, elements))])
        assert design(problem, "strategy_laplace", strategy=rows).loss > least
        assert design(problem, "strategy_laplace", strategy=told).loss > least


@pytest.mark.parametrize(
    ("problems", "skipped"),
    [(1, 0), pytest.param(12, 2, marks=pytest.mark.nightly), pytest.param(200, 21, marks=pytest.mark.heavy)],
)
def test_no_family_that_cannot_win_wins(problems: int, skipped: int) -> None:
    assert _no_family_beats_its_own_bound(range(problems)) >= skipped


@pytest.mark.nightly
def test_a_hull_is_begun_whatever_it_may_take() -> None:
    """Ranges on a torus: 11 dimensions, which the estimate takes for 45 units and the hull for half of 20."""
    torus = asked("the table", 0)
    assert K_NORM.work is not None and K_NORM.work(Sizes(torus)) > 20
    made = design(torus)
    assert made.mechanism.family == "k_norm" and made.loss == pytest.approx(601.524, rel=1e-5)
    quick = design(torus, effort="quick")
    assert "k_norm: no mechanism yet" in quick.mechanism.provenance["tried"]["k_norm"] and quick.loss > 1000


def test_a_hull_that_would_not_end_is_given_up() -> None:
    """Twelve cells among which a record moves: 705,432 simplices."""
    moved = Problem(Workload.identity(12), metrics.uniform(12, 1.0))
    with within() as budget, pytest.raises(DesignFailed, match=r"about [0-9,]+ or more boundary simplices.*use ellipsoid"):
        design(moved, "k_norm")
    assert budget.spent < 5


def test_a_hull_along_few_lines_is_no_long_work() -> None:
    """Intervals of which every record that appears moves one atom: ten lines in ten dimensions, a cross-polytope."""
    intervals, anyone = asked("ranges", 1), metrics.uniform(11, 1.0)
    assert K_NORM.work is not None and K_NORM.work(Sizes(intervals)) == pytest.approx(0.1, rel=0.1)
    assert design(intervals, "k_norm").loss == pytest.approx(106, rel=1e-3)
    assert K_NORM.work(Sizes(Problem(Workload.identity(11), anyone))) > 20  # 55 lines


ASKING = (
    design,
    compare,
    lambda problem, **rest: design(problem, "laplace", **rest),
    lambda problem, **rest: design(problem, targets=Targets(standard_error=9.0), **rest),
    lambda problem, **rest: least_budget(problem, Targets(standard_error=9.0), **rest),
)


@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize("seconds", [0.0, -1.0, "long", float("nan")])
def test_senseless_times_are_refused(ask: Any, seconds: Any) -> None:
    with pytest.raises(InvalidProblem, match=r"^seconds: .* leave it out"):
        ask(QUERY, seconds=seconds)


@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize("effort", ["thorugh", "", 3, None, ["quick"]])
def test_an_unknown_effort_is_refused_with_those_there_are(ask: Any, effort: Any) -> None:
    with pytest.raises(InvalidProblem, match=r"^effort: .* give one of \['quick', 'normal', 'thorough'\]"):
        ask(QUERY, effort=effort)
    if effort == "thorugh":
        with pytest.raises(InvalidProblem, match="perhaps 'thorough' is meant"):
            ask(QUERY, effort=effort)


@pytest.mark.parametrize("units", [-1.0, float("nan")])
def test_a_family_that_takes_less_than_no_work_is_refused(units: float) -> None:
    with family("less", work=lambda sizes, **_: units), pytest.raises(InvalidProblem, match=r"^family\.work: 'less' estimates"):
        design(QUERY)


# No clock decides --------------------------------------------------------------------------------------------------------

CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")


def _jumping(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """Every clock of the standard library goes forward by so many seconds each time that it is read."""
    now = [1e9]

    def read() -> float:
        now[0] += step
        return now[0]

    for name in CLOCKS:
        monkeypatch.setattr(time, name, read)


@pytest.mark.nightly
@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_a_clock_that_jumps_changes_nothing(effort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole spec, notes and seal included, is the same whatever the clock says."""
    table = Problem(Workload.identity(6), invariants.margins((2, 3)).protect(3.0))
    aimed = {"targets": Targets(standard_error=1.01 * design(REAL, "ellipsoid").mechanism.standard_errors().max())}
    stated: list[tuple[Problem, dict[str, Any]]] = [
        (QUERY, {}),
        (REAL, {}),
        (table, {}),
        (REAL, {"family": "ellipsoid", **aimed}),
    ]
    known = [to_spec(design(problem, effort=effort, **rest).mechanism) for problem, rest in stated]
    for step in (0.0, 3600.0):
        with monkeypatch.context() as patched:
            _jumping(patched, step)
            assert [to_spec(design(problem, effort=effort, **rest).mechanism) for problem, rest in stated] == known


def test_less_work_finds_no_better_design_and_says_what_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that is cut off hands over its best, certified."""
    problem = Problem(Workload.random(6, 12, seed=1), metrics.euclidean(np.random.default_rng(2).random((12, 2))))
    monkeypatch.setitem(work.EFFORTS, "quick", 0.2)
    early, full = design(problem, "strategy_laplace", effort="quick"), design(problem, "strategy_laplace")
    assert early.privacy.holds and full.loss <= early.loss * (1 + 1e-9) < 3 * full.loss
    assert early.cut == 'its search was cut off: effort = "thorough" gives it more work' and not full.cut


def test_a_named_search_has_the_work_of_its_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """More under each next effort, and none beyond the last, which says so."""
    problem = Problem(Workload.random(6, 12, seed=1), metrics.euclidean(np.random.default_rng(2).random((12, 2))))
    made = {}
    for effort, units in (("quick", 0.05), ("normal", 0.1), ("thorough", 0.2)):
        monkeypatch.setitem(work.EFFORTS, effort, units)
        with within() as spent:
            made[effort] = design(problem, "strategy_laplace", effort=effort)
        assert units < spent.spent < 3 * units + 0.2
    assert made["thorough"].loss <= made["normal"].loss <= made["quick"].loss
    assert made["thorough"].cut == "its search was cut off after 0.2 units of work, the most that an effort gives"
    assert made["normal"].cut == 'its search was cut off: effort = "thorough" gives it more work'


def test_auto_says_of_the_search_that_it_chose_what_gives_it_more(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(Workload.random(6, 12, seed=1), metrics.euclidean(np.random.default_rng(2).random((12, 2))))
    monkeypatch.setattr(listed, "FAMILIES", tuple(one for one in listed.FAMILIES if one.name == "strategy_laplace"))
    monkeypatch.setitem(work.EFFORTS, "normal", 0.05)
    made = design(problem)
    assert made.cut == 'its search was cut off: effort = "thorough", or a family by its name, gives it more work'
    assert (
        "cut its search was cut off: " in repr(made)
        and f"Cut off:     {made.cut}" in design_summary("short", made).splitlines()
    )


def test_what_the_clock_cut_says_so_wherever_seconds_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """In comparisons and least budgets, for all families or one, in their tables, texts and reprs."""
    problem = Problem(Workload.random(6, 12, seed=1), metrics.euclidean(np.random.default_rng(2).random((12, 2))))
    told = "ended by the clock, seconds = 1e-09: another run may find another design; give more, or leave seconds out"
    named = design(problem, "strategy_laplace", seconds=1e-9)
    assert named.cut == told and "cut ended by the clock, seconds = 1e-09" in repr(named)
    table = compare(problem, ["laplace", "strategy_laplace"], seconds=1e-9)
    assert {row["family"]: row["note"] for row in table.rows} == {"laplace": "", "strategy_laplace": told}
    with pytest.raises(DesignFailed, match=r"^strategy_laplace: no factor yet; ended by the clock, seconds = 1e-09: "):
        least_budget(problem, Targets(standard_error=9.0), "strategy_laplace", seconds=1e-9, curve=1, step=0.1)
    monkeypatch.setattr(factor_search, "go_on", lambda: None)  # as where the clock ends the last search alone
    found = least_budget(problem, Targets(standard_error=9.0), "strategy_laplace", seconds=1e-9, curve=1, step=0.1)
    assert found.cut == told and "cut ended by the clock, seconds = 1e-09" in repr(found) and told in found.to_markdown()
    assert f"Cut off:      {told}" in budget_summary("short", found).splitlines()
    whole = least_budget(problem, Targets(standard_error=9.0), "laplace", curve=1, step=0.1)
    assert not whole.cut and "cut" not in repr(whole)


def test_comparisons_name_what_was_not_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(work.EFFORTS, "quick", 0.1)
    problem = Problem(Workload.random(6, 12, seed=1), metrics.euclidean(np.random.default_rng(2).random((12, 2))))
    found = compare(problem, effort="quick")
    assert "has the least expected total squared error of those that were finished" in " ".join(found.to_text().split())
    assert (
        "Not finished: " in found.to_text()
        and 'Effort = "thorough", or a family by its name, gives them more work.' in " ".join(found.to_text().split())
    )
    told = 'Not finished: {}. Effort = "thorough", or a family by its name, gives them more work.'
    names = "; ".join(
        row["family"] for row in found.rows if row["cut"] or "were done" in row["note"] or "were left" in row["note"]
    )
    assert told.format(names) in found.to_markdown().splitlines()
    assert "% " + told.format(names) in found.to_latex().splitlines()
    late = compare(problem, effort="quick", seconds=1e-9)
    assert "A limit above 1e-09 s, or none, gives them more work." in late.to_markdown()
    named = compare(problem, "strategy_laplace", effort="quick").to_markdown()
    assert 'Not finished: strategy_laplace. Effort = "thorough" gives them more work.' in named.splitlines()
    whole = compare(problem, ["laplace", "ellipsoid"]).to_text()
    assert "finished" not in whole


def test_sizes_are_those_of_the_problem() -> None:
    sizes = Sizes(Problem(Workload.identity(9), invariants.margins((3, 3)).protect(1.0, 2)))
    assert (sizes.queries, sizes.elements, sizes.dimension, sizes.freedom, sizes.pairs) == (9, 9, 4, 4, 9)
    far = Sizes(Problem(Workload.identity(9), invariants.margins((3, 3)).protect(1.0, per_distance="l2")))
    assert (far.dimension, far.freedom) == (4, 4)
    assert Sizes(QUERY).pairs == 6 and Sizes(QUERY).dimension == 1


# Whatever it chooses, the rest of the program takes it ----------------------------------------------------------------


def test_a_staircase_from_auto_is_printed_saved_compared_and_aimed(few: None, tmp_path: Path) -> None:
    made = design(QUERY)
    assert isinstance(made.mechanism, StaircaseMechanism)
    lines = design_summary("stairs", made).splitlines()
    assert any(line.startswith("Tried:       staircase: loss ") for line in lines)
    assert load(made.mechanism.save(tmp_path / "s.json")).provenance["tried"] == made.mechanism.provenance["tried"]
    assert compare(QUERY).best.loss == pytest.approx(made.loss, rel=1e-9)
    aimed = design(QUERY, targets=Targets(standard_error=1.05 * made.loss**0.5))
    assert aimed.mechanism.family == "staircase" and aimed.loss <= 1.05**2 * made.loss


@pytest.mark.parametrize(
    ("words", "told"),
    [("loss 2, cut off", True), ("not started: 15 s were over", True), ("not started: more than 9 elements", False)],
)
def test_who_reads_that_work_was_short_reads_how_to_give_more(words: str, told: bool) -> None:
    made = design(QUERY, "laplace")
    tried = made.mechanism.annotated({"tried": {"laplace": "loss 1", "strategy_laplace": words}})
    shown = design_summary("little work", replace(made, mechanism=tried))
    assert (
        'effort = "thorough", or a family by its name, gives more work' in shown
    ) == told and f"strategy_laplace: {words}" in shown


def test_a_lattice_from_auto_is_printed_saved_and_aimed(few: None, tmp_path: Path) -> None:
    table = Problem(Workload.identity(6), invariants.margins((2, 3)).protect(3.0))
    made = design(table)
    assert isinstance(made.mechanism, LatticeMechanism) and made.efficiency is not None and 0.5 < made.efficiency < 1
    assert "Tried:       lattice_laplace, shape hull: loss " in design_summary("table", made)
    assert load(made.mechanism.save(tmp_path / "l.json"), LatticeMechanism) == made.mechanism
    assert made.mechanism.release([3, 1, 4, 1, 5, 9]).answers.sum() == 23


def test_least_budgets_come_from_lattices_where_these_need_least(few: None) -> None:
    """A budget per distance has no other family; the factor is shown by two designs."""
    relation = invariants.margins((2, 3)).protect(1.0, per_distance="l1")
    found = least_budget(Problem(Workload.identity(6), relation), Targets(standard_error=0.5), step=0.05, curve=1)
    assert found.best.family == "lattice_laplace" and found.missed_at < found.factor <= 1.06 * found.missed_at
    rows = {row["family"]: row for row in found.rows}
    assert rows["lattice_laplace, shape l1"]["factor"] == found.factor <= rows["lattice_laplace, shape l2"]["factor"]
    assert rows["laplace"]["factor"] is None
    # Its errors are summed over the lattice, so that it needs what it needs, and no bound above it.
    assert found.design.loss == pytest.approx(6 * 0.5**2, rel=0.2)


def test_what_a_notion_or_a_solver_leaves_out_is_said(few: None) -> None:
    counts = Problem(Workload.identity(3), invariants.total(3).protect(1.0, 1), notion="approximate", delta=1e-6)
    notes = tried(counts)
    assert notes["staircase"].startswith("of the pure problem: loss ") and "loss " in notes["lattice_laplace, shape l2"]
    notes = tried(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), solver="CLARABEL")
    assert notes["staircase"] == "left out: no program states it for CLARABEL" and notes["laplace"].startswith("loss ")


# Against all families run to their ends, of which benchmarks/auto_choice.py takes a hundred problems -------------------


@pytest.mark.parametrize("kind", ["counts", "budget per distance", "metric under margins", "Gaussian", "approximate"])
def test_no_family_alone_is_better(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "FAMILIES", tuple(one for one in listed.FAMILIES if one.name != "strategy_laplace"))
    problem = next(problem for name, problem in problems(12, 5) if kind in name)
    made, least = design(problem), np.inf
    for way in runs_for(automatic_families(problem), problem):
        try:
            least = min(least, design(problem, way.family.name, **way.options).loss)
        except Refusal:
            continue
    assert made.loss <= least * (1 + 1e-3)


# Searches that end with their work --------------------------------------------------------------------------------------


def test_strategies_and_staircases_are_private_when_work_ends_early() -> None:
    """What is found by then is frozen and certified like everything else, and no better than to the end."""
    small = Problem(Workload([[0.0, 1, 2], [1, 0, 3]]), metrics.uniform(3, 2.0))
    for name in ("strategy_laplace", "staircase", "bundles", "ellipsoid", "strategy_gaussian", "gaussian"):
        notion: Any = "zcdp" if "gaussian" in name else "pure"
        problem = replace(small, notion=notion)
        full = design(problem, name)
        with within(0.0):
            early = design(problem, name)
        assert early.privacy.holds and full.loss <= early.loss * (1 + 1e-9) and early.loss < 3 * full.loss


def test_a_family_that_has_nothing_to_show_says_how_it_is_finished(few: None) -> None:
    def waits(problem: Problem) -> Any:
        spend(1e3)
        go_on()

    try:
        register(Family("waits", "does nothing", "pure", waits, work=lambda sizes: 1.0, anytime=True))
        told = 'waits: no mechanism yet; its search was cut off: effort = "thorough" gives it more work.'
        assert tried(REAL)["waits"] == f"no mechanism: {told}"
    finally:
        forget("waits")


@pytest.mark.parametrize("name", ["box", "capped_l1", "ellipsoid"])
def test_a_family_knows_its_loss_before_it_is_certified(name: str) -> None:
    problem = Problem(Workload([[1.0, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 0]]), metrics.uniform(4, 1.0), weights=(1, 2, 3))
    loss = design(problem, name).loss
    with with_incumbent(problem, loss * (1 - 1e-3) / (1 + outdone.BEHIND)), pytest.raises(WorseThanIncumbent):
        design(problem, name)
    with with_incumbent(problem, loss * (1 + 1e-3)):
        assert design(problem, name).loss == loss


@pytest.mark.nightly
def test_searches_that_are_far_behind_end_early_and_others_find_what_they_find_alone() -> None:
    problem = Problem(Workload.all_ranges(6), metrics.uniform(6, 1.0))
    searches: dict[str, dict[str, Any]] = {"strategy_laplace": {}, "strategy_geometric": {"search": True}}
    for name, options in searches.items():
        with within() as alone:
            loss = design(problem, name, **options).loss
        with within() as far, with_incumbent(problem, loss / 4), pytest.raises(WorseThanIncumbent):
            design(problem, name, **options)
        assert far.spent < 0.7 * alone.spent
        with with_incumbent(problem, loss * 1.01):
            assert design(problem, name, **options).loss == pytest.approx(loss, rel=1e-4)


def test_nested_counts_are_searched_as_a_tree_and_the_others_are_said_to_be_left_out() -> None:
    cells = np.eye(300)
    rows = np.vstack([cells.reshape(20, 15, 300).sum(axis=1), cells, np.ones((1, 300))])
    problem = Problem(Workload(rows), metrics.uniform(300, 1.0))
    with within() as spent:
        made = design(problem)
    tried = made.mechanism.provenance["tried"]
    assert made.mechanism.family == "hierarchy"
    assert "tree of these nested counts" in tried["laplace"] and "tree of these nested counts" in tried["strategy_geometric"]
    # Of noise on the queries alone a cell's share and its group's add up to half the budget.
    shares = np.linspace(0.01, 0.49, 200)
    alone = 300 / (np.cosh(0.5 - shares) - 1) + 20 / (np.cosh(shares) - 1)
    assert made.loss < alone.min() and spent.spent < 5


def test_noise_that_is_a_case_of_the_optimum_is_not_begun() -> None:
    problem = Problem(Workload([[1.0, 1, 0, 0], [0, 1, 1, 0]]), metrics.uniform(4, 1.0), notion="zcdp")
    tried = design(problem).mechanism.provenance["tried"]
    assert tried["diagonal_gaussian"].startswith("not started: its noise is a case of gaussian")
    narrow = replace(problem, relation=metrics.uniform(4, 4.0))  # whole-number noise has less variance than continuous noise
    assert tried.keys() <= design(narrow).mechanism.provenance["tried"].keys()
    assert not design(narrow).mechanism.provenance["tried"]["diagonal_gaussian"].startswith("not started: its noise")


@pytest.mark.parametrize(("weight", "alone"), [(1.0, True), (1e4, False)])
def test_where_one_group_outweighs_the_others_noise_on_the_queries_is_tried(weight: float, alone: bool) -> None:
    rows = np.vstack([np.ones((1, 300)), np.kron(np.eye(20), np.ones(15)), np.eye(300)])
    weights = np.append([1.0, weight], np.ones(319))
    changes = Problem(Workload(rows), metrics.uniform(300, 1.0), weights=tuple(weights))
    assert (LAPLACE not in automatic_families(changes)) == alone
    assert LAPLACE not in automatic_families(replace(changes, relation=metrics.add_remove(300, 1.0)))
    assert LAPLACE in automatic_families(replace(changes, loss="max"))


TABLE = Problem(Workload.identity(6), invariants.margins((2, 3)).protect(1.0, 2))


def test_a_family_by_its_name_searches_its_options_as_auto_does() -> None:
    """20 cells with one published margin: 2,176 in the Euclidean shape, 380.6 in that of auto."""
    labels = ["a"] * 10 + ["b"] * 10
    problem = Problem(Workload.identity(20), invariants.partition(labels).protect(1.0, 1))
    made = {shape: design(problem, "lattice_laplace", shape=shape).loss for shape in ("l1", "l2")}
    named = design(problem, "lattice_laplace", effort="quick")
    assert named.loss == min(made.values()) < 0.25 * max(made.values())
    assert set(named.mechanism.provenance["tried"]) == {
        f"lattice_laplace, shape {shape}" for shape in ("l1", "l2", "ellipsoid", "hull")
    }
    assert named.mechanism == design(problem, "lattice_laplace", shape="l1").mechanism


def test_an_option_that_is_given_is_that_option() -> None:
    losses = {shape: design(TABLE, "lattice_laplace", shape=shape).loss for shape in ("l1", "l2", "ellipsoid", "hull")}
    assert len(set(losses.values())) > 2 and losses["l2"] > min(losses.values())
    chosen = design(TABLE, "lattice_laplace", shape="l2").mechanism.provenance
    assert chosen["options"] == {"shape": "l2"} and "tried" not in chosen
    assert design(TABLE, "lattice_laplace").loss == pytest.approx(min(losses.values()), rel=1e-9)
    # An option beside them is given to each.
    assert design(TABLE, "lattice_laplace", chain=False).mechanism.provenance["options"].keys() == {"shape", "chain"}


@pytest.mark.nightly
def test_targets_and_least_budgets_of_a_family_look_at_its_options() -> None:
    target = Targets(standard_error=0.9)
    shapes = {shape: least_budget(TABLE, target, "lattice_laplace", shape=shape, curve=1) for shape in ("l1", "l2", "hull")}
    named = least_budget(TABLE, target, "lattice_laplace", curve=1)
    assert named.factor == min(found.factor for found in shapes.values()) < max(found.factor for found in shapes.values())
    enough = replace(TABLE, relation=invariants.margins((2, 3)).protect(float(named.factor) * 1.001, 2))
    assert design(enough, "lattice_laplace", targets=target).mechanism.standard_errors().max() <= 0.9


def test_a_family_without_a_mechanism_says_why_once() -> None:
    problem = Problem(Workload.identity(3), metrics.uniform(3, 1.0))
    with pytest.raises(DesignFailed, match=r"^lattice_laplace: integer noise keeps an invariant"):
        design(problem, "lattice_laplace")
    with pytest.raises(InvalidProblem, match=r"options: .*'form'.* unknown to family 'lattice_laplace'"):
        design(problem, "lattice_laplace", form="l1")


@pytest.mark.nightly
@pytest.mark.parametrize("place", range(60))
def test_no_family_has_more_noise_by_its_name_than_inside_auto(place: int) -> None:
    """But for whole numbers, where counts are asked beside published statistics: these go before fractions of less noise."""
    problem = list(problems(60, 9))[place][1]
    for row in compare(problem, effort="quick").rows:
        if row["loss"] is not None:
            made = design(problem, row["family"].partition(",")[0], effort="quick")
            whole = FRACTIONS in row["note"] and not rank_by_consistency(problem, made)[1]
            assert whole or made.loss <= row["loss"] * (1 + 1e-9), row["family"]
