"""The least factor on the budgets: closed forms, brute force over factors, what is certified on both sides, refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from designer import (
    Design,
    DesignFailed,
    InvalidProblem,
    LeastBudget,
    Mechanism,
    Problem,
    Targets,
    Workload,
    design,
    invariants,
    least_budget,
    load,
    metrics,
    plot,
)
from designer.cli import main
from designer.designing.factor_search import problem_at, reached_by, towards, worst_of
from designer.designing.printouts import budget_summary, design_summary
from designer.designing.rescale import stretched, stretches
from designer.lattice.mechanism import LatticeMechanism
from designer.problem.relation import Relation
from designer.relations.delta_lengths import with_budgets_times
from designer.relations.row_groups import RowGroups

ONE = Problem(Workload([[1.0]], queries=["all"]), metrics.add_remove(1, 1.0))
POINTS = np.random.default_rng(1).normal(size=(9, 2))
CITIES = Problem(Workload.random(4, 9, "real", 5), metrics.euclidean(POINTS, per_unit=0.5))
CROSS = Problem(Workload.identity(6), invariants.margins((3, 2)).protect(epsilon=1.0))


def certified(found: LeastBudget, problem: Problem, targets: Targets) -> None:
    """Both sides of the factor, from what the result holds: met with a certificate, missed a step below."""
    assert found.design.privacy.holds
    assert all(one.ratio <= 1 for one in reached_by(found.design.mechanism, problem, targets))
    assert found.best.missed.ratio > 1 and found.missed_at < found.factor <= found.missed_at * (1 + found.step)
    assert found.lower_bound is None or found.lower_bound <= found.factor


def rate_for_margin(target: float) -> float:
    """The least r for which `P(|z| > t) = 2 e^(-r (t + 1)) / (1 + e^-r)` is at most 1/20 at the whole t below the target."""
    low, high = 1e-9, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        beyond = 2 * math.exp(-middle * (math.floor(target) + 1)) / (1 + math.exp(-middle))
        low, high = (low, middle) if beyond <= 0.05 else (middle, high)
    return high


def gaussian_budget(target: float, *, margin: bool) -> float:
    """The least b at which whole-number Gaussian noise of parameter 1 / b^2 has this standard error, or stays at or below this
    size in 95 % of all cases, by its law written out."""
    z = np.arange(-60, 61)
    low, high = 0.2, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        mass = np.exp(-((z * middle) ** 2) / 2)
        mass /= mass.sum()
        met = mass[np.abs(z) > target].sum() <= 0.05 if margin else mass @ z**2 <= target**2
        low, high = (low, middle) if met else (middle, high)
    return high


@pytest.mark.parametrize("target", [0.01, 0.5, 1e6])
def test_one_count_needs_what_the_closed_forms_say(target: float) -> None:
    """Geometric: variance `1 / (2 sinh^2(factor / 2))` and its own tail; Gaussian: 1 / target, 1.95996 / target where noise is
    wide, and whole-number noise elsewhere."""
    narrow = target < 1
    geometric = 2 * math.asinh(1 / (target * math.sqrt(2)))
    for family, notion, targets, factor in (
        ("laplace", "pure", Targets(standard_error=target), geometric),
        ("laplace", "pure", Targets(margin=target), rate_for_margin(target)),
        ("laplace", "pure", Targets(relative_error=target / 7, reference=-7), geometric),
        ("gaussian", "zcdp", Targets(standard_error=target), gaussian_budget(target, margin=False) if narrow else 1 / target),
        (
            "gaussian",
            "zcdp",
            Targets(margin=target),
            gaussian_budget(target, margin=True) if narrow else 1.959963984540054 / target,
        ),
    ):
        problem = replace(ONE, notion=notion)  # type: ignore[arg-type]
        found = least_budget(problem, targets, family, step=1e-6, curve=1)
        certified(found, problem, targets)
        assert found.missed_at * (1 - 1e-9) <= factor <= found.factor * (1 + 1e-9)
        if narrow and (notion == "zcdp" or targets.margin is not None):
            # Margins of whole numbers are no multiples of standard errors; a bound of continuous noise says nothing of them.
            assert found.lower_bound is None
        else:
            assert found.lower_bound == pytest.approx(factor, rel=1e-5)
        assert found.rho_factor == (None if notion == "pure" else found.factor**2)


@pytest.mark.parametrize(("family", "notion", "beyond"), [("gaussian", "zcdp", 1.2), ("laplace", "pure", 1.3)])
def test_a_coarse_step_proves_the_same_bound_of_the_factor(family: str, notion: Any, beyond: float) -> None:
    """In wide noise the bound is the least factor itself, however far above it the factor is that was met."""
    problem, asked = replace(CITIES, notion=notion), Targets(standard_error=50.0)
    fine, coarse = (least_budget(problem, asked, family, step=step, curve=1) for step in (1e-6, 1.0))
    assert coarse.factor > beyond * fine.factor
    assert coarse.lower_bound == pytest.approx(fine.factor, rel=1e-5) == fine.lower_bound


@pytest.mark.parametrize("most", [3.0, 0.4, 0.02])
def test_noise_on_integers_needs_what_its_own_law_says(most: float) -> None:
    """Two cells under their total: z on multiples of (1, -1), which weigh w = epsilon; variance `1 / (2 sinh^2(w / 2))`."""
    problem = Problem(Workload([[1, 0]]), invariants.total(2).protect(epsilon=1.0))
    found = least_budget(problem, Targets(standard_error=most), "lattice_laplace", shape="l1", step=1e-6)
    rate = 2 * math.asinh(1 / (most * math.sqrt(2)))
    assert found.missed_at * (1 - 1e-9) <= rate <= found.factor * (1 + 1e-9)
    certified(found, problem, Targets(standard_error=most))
    assert found.lower_bound is None  # a bound for continuous noise says nothing of integers


@pytest.mark.parametrize("family", ["laplace", "ellipsoid", "box", "k_norm"])
def test_brute_force_over_factors_finds_the_same(family: str) -> None:
    """Designs from scratch, at every factor of a grid: missed below, met above."""
    targets = Targets(standard_error={"q0": 2.0, "q1": 3.0}, margin=None if family == "k_norm" else {"q2": 5.0, "q3": 9.0})
    found = least_budget(CITIES, targets, family, curve=1)
    certified(found, CITIES, targets)
    for factor in found.factor * np.geomspace(0.5, 2, 8):
        there = problem_at(float(factor), CITIES)
        aimed = towards(there, targets, design(there, family).mechanism)
        ratios = [worst_of(reached_by(design(one, family).mechanism, there, targets)).ratio for one in (there, aimed)]
        assert (min(ratios) <= 1) == (factor >= found.factor)


@pytest.mark.parametrize(
    "relation",
    [
        metrics.uniform(4, 1.0),
        metrics.scaled(3.0, metrics.uniform(4, 0.4)),
        metrics.add_remove(4, [0.5, 1, 2, np.inf]),
        metrics.appear_or_change(metrics.uniform(4, 0.7), epsilon=0.5),
        RowGroups((metrics.uniform(2, 1.0), metrics.line([0, 1], period=1, epsilon=2)), ("a", "b")),
        invariants.total(4).protect(epsilon=0.3),
        invariants.total(4).protect(epsilon=0.3, per_distance="l1"),
        metrics.uniform(4, 0.5) & invariants.margins((2, 2)),
    ],
    ids=lambda relation: relation.kind,
)
def test_every_budget_is_multiplied(relation: Relation) -> None:
    made = with_budgets_times(3.0, relation)
    if relation.kind == "invariant_distance":
        budgets = [float(one.budget_of([1, -1, 0, 0])) for one in (relation, made)]  # type: ignore[attr-defined]
        assert budgets[1] == pytest.approx(3 * budgets[0], rel=1e-15)
        return
    for before, after in zip(relation.blocks(), made.blocks(), strict=True):
        np.testing.assert_allclose(after.budgets, 3 * before.budgets, rtol=1e-15)
        assert (after.left == before.left).all() and (after.right == before.right).all()
    last = len(relation.points(np.empty((relation.size, 0)))) - 1
    exact = relation.exact_budget(0, last)
    assert made.exact_budget(0, last) == (None if exact is None else pytest.approx(3 * exact, rel=1e-15))
    assert with_budgets_times(0.5, made).budget_error < 1e-9


def test_relations_of_the_callers_own_are_refused_unless_metrics() -> None:
    class Odd(Relation):
        kind = "odd"
        size = 1

        def blocks(self) -> Any: ...
        def exact_budget(self, left: int, right: int) -> Any: ...
        def sentence(self) -> str: ...
        def to_spec(self) -> Any: ...

    with pytest.raises(InvalidProblem, match="'odd' cannot be multiplied"):
        with_budgets_times(2.0, Odd())


@pytest.mark.parametrize("problem", [CITIES, CROSS], ids=["metric", "invariant"])
def test_stretched_noise_is_that_of_a_design_from_scratch(problem: Problem) -> None:
    for family in ("laplace", "ellipsoid", "k_norm"):
        base = design(problem, family)
        if not stretches(base):
            assert family == "laplace" and problem is CROSS  # on whole numbers losses are no powers of the budgets
            continue
        for factor in (1e-4, 0.37, 12.5, 1e5):
            there = problem_at(factor, problem)
            new = design(there, family)
            one: Design[Mechanism] = stretched(base, factor, there)
            assert one.privacy.holds and one.mechanism.relation is there.relation
            np.testing.assert_allclose(one.mechanism.standard_errors(), new.mechanism.standard_errors(), rtol=2e-6, atol=0)
            # Where noise is wide, the grid keeps 30 bits of the queries; so does that of a design from scratch.
            assert one.loss == pytest.approx(base.loss / factor**2, rel=3e-7 if factor < 1 else 1e-8)
            if one.optimality is not None and base.optimality is not None:
                assert one.optimality.gap == pytest.approx(base.optimality.gap, abs=1e-8)


def test_auto_lists_every_family_and_takes_the_least() -> None:
    problem, targets = replace(CITIES, notion="zcdp"), Targets(standard_error=1.0)
    found = least_budget(problem, targets, curve=5)
    assert [row["family"] for row in found.rows] == ["gaussian", "diagonal_gaussian", "strategy_gaussian", "gaussian_joint"]
    assert (
        found.factor == min(row["factor"] for row in found.rows if row["factor"] is not None)
        and found.best.family == "gaussian"
    )
    assert found.rho_factor == found.factor**2
    certified(found, problem, targets)
    assert [point.factor for point in found.curve] == sorted(point.factor for point in found.curve)
    assert found.factor in [point.factor for point in found.curve] and len(found.curve) == 5
    for point in found.curve:
        assert (worst_of(point.reached).ratio <= 1) == (point.factor >= found.factor)
    assert "factor on rho" in found.to_markdown()
    text = found.to_text(80)
    assert max(map(len, text.splitlines())) <= 80 and "4 of 4" in text and "Error against budget" in text
    assert found.to_dict()["factor"] == found.factor


def test_integer_noise_under_margins_and_bounds_of_the_family() -> None:
    targets = Targets(standard_error=1.5)
    gaussian = replace(CROSS, notion="zcdp")
    found = least_budget(gaussian, targets, "lattice_gaussian", shape="ellipsoid")
    certified(found, gaussian, targets)
    simulated = np.sqrt(found.design.mechanism.query_variances())
    assert (simulated <= 1.5 * 1.02).all()
    better = least_budget(CROSS, targets, "k_norm", curve=1)
    worse = least_budget(CROSS, targets, "laplace", curve=1)
    assert better.factor < worse.factor and worse.lower_bound == pytest.approx(worse.factor, rel=2e-4)


def test_the_design_at_the_factor_is_saved_and_loaded(tmp_path: Path) -> None:
    found = least_budget(CITIES, Targets(standard_error=2.0), "laplace", curve=1)
    path = found.design.mechanism.save(tmp_path / "spec.json")
    again = load(path, type(found.design.mechanism))
    assert again.fingerprint == found.design.mechanism.fingerprint
    assert again.provenance["budgets_times"] == found.factor


def test_a_public_query_has_no_least_budget_by_itself_and_is_no_obstacle_beside_others() -> None:
    problem = Problem(Workload([[1, 1], [1, 0]], queries=["total", "first"]), metrics.uniform(2, 1.0))
    with pytest.raises(DesignFailed, match="meets the targets at every budget"):
        least_budget(problem, Targets(standard_error={"total": 1.0}), "laplace")
    both = least_budget(problem, Targets(standard_error=1.0), "laplace", curve=1)
    alone = least_budget(problem, Targets(standard_error={"first": 1.0}), "laplace", curve=1)
    assert both.factor == pytest.approx(2 * math.asinh(1 / math.sqrt(2)), rel=2e-4) == alone.factor


def test_a_vacuous_problem_has_no_least_budget() -> None:
    problem = Problem(Workload.identity(2), metrics.from_matrix([[0, np.inf], [np.inf, 0]]), allow_vacuous=True)
    with pytest.raises(DesignFailed, match="at every budget"):
        least_budget(problem, Targets(standard_error=1.0), "laplace")


def test_targets_met_at_tiny_budgets_have_tiny_factors() -> None:
    found = least_budget(ONE, Targets(standard_error=1e12), "laplace", curve=1)
    assert found.factor == pytest.approx(math.sqrt(2) * 1e-12, rel=2e-4)
    assert found.design.mechanism.standard_errors()[0] <= 1e12


def test_bad_calls_are_refused() -> None:
    good = Targets(standard_error=1.0)
    for call in (
        lambda: least_budget(ONE, {"standard_error": 1.0}, "laplace"),  # type: ignore[arg-type]
        lambda: least_budget(ONE, Targets(standard_error={"none": 1.0}), "laplace"),
        lambda: least_budget(ONE, good, "laplace", step=0.0),
        lambda: least_budget(ONE, good, "laplace", step=1e-12),
        lambda: least_budget(ONE, good, "laplace", curve=0),
        lambda: least_budget(ONE, good, "no_such_family"),
        lambda: least_budget(ONE, good, tolerance=1.0),
        lambda: least_budget(ONE, good, "laplace", shape="l1"),
    ):
        with pytest.raises(InvalidProblem):
            call()
    with pytest.raises(DesignFailed, match="is zcdp"):
        least_budget(ONE, good, "gaussian")


def test_the_picture_is_drawn_and_not_over_another(tmp_path: Path) -> None:
    found = least_budget(CITIES, Targets(standard_error=2.0), "laplace", curve=3)
    assert plot(found, tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InvalidProblem):
        plot(found, tmp_path / "curve.png", replace=False)


def test_a_whole_number_that_the_margin_reaches_exactly_has_a_least_budget() -> None:
    """Margin 10 of a count, whose noise is geometric: `a^11 * 2 / (1 + a) <= 0.05`, a = exp(-epsilon)."""
    counts = Problem(Workload.identity(2), metrics.add_remove(2, 1.0))
    found = least_budget(counts, Targets(margin={"q0": 10}), "laplace")
    beyond = [2 * math.exp(-11 * b) / (1 + math.exp(-b)) for b in (found.factor, found.missed_at)]
    assert beyond[0] <= 0.05 < beyond[1] and found.missed_at >= found.factor / (1 + 1.1e-4)


def enumerated(made: LatticeMechanism, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Integer tables of two rows and three columns whose margins are 0, (n, 6), with their probabilities, (n,): nothing of the
    program but the frozen norm."""
    a, b = (axis.ravel() for axis in np.meshgrid(*[np.arange(-half, half + 1)] * 2))
    tables = np.stack([a, b, -a - b, -a, -b, a + b], axis=1).astype(float)
    rates = np.asarray(made.norm(tables[:, made.columns]))
    masses = np.exp(-rates if made.falloff == "exponential" else -(rates**2) / 2)
    return tables, masses / masses.sum()


@pytest.mark.parametrize(
    ("family", "shape"),
    [("lattice_laplace", "l1"), ("lattice_laplace", "l2"), ("lattice_laplace", "hull"), ("lattice_gaussian", "l2")],
)
@pytest.mark.nightly
def test_published_margins_need_what_the_enumerated_law_says(family: str, shape: str) -> None:
    """Standard errors and margins that budget 0.5 reaches cost 0.5, by `least_budget`, `design` and the release; margins of a
    gauge come from draws, and are a little wide."""
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    whole, half = (
        Problem(Workload.identity(6), invariants.margins((2, 3)).protect(epsilon), notion=notion)  # type: ignore[arg-type]
        for epsilon in (1.0, 0.5)
    )
    made = design(half, family, shape=shape).mechanism
    assert isinstance(made, LatticeMechanism)
    tables, masses = enumerated(made, 150)
    error = float(np.sqrt(masses @ tables**2).max())
    margin = float(max(min(t for t in range(150) if masses[np.abs(x) > t].sum() <= 0.05) for x in tables.T))
    assert made.standard_errors().max() == pytest.approx(error, rel=1e-6) and made.margins().max() == margin
    for targets in (Targets(standard_error=error * (1 + 1e-6)), Targets(margin=margin)):
        found = least_budget(whole, targets, family, shape=shape, curve=1)
        for factor, met in ((found.factor, True), (found.missed_at, False)):
            there = design(problem_at(factor, whole), family, shape=shape).mechanism
            assert isinstance(there, LatticeMechanism)
            points, law = enumerated(there, 200)
            beyond = max(law[np.abs(x) > margin].sum() for x in points.T)
            reached = np.sqrt(law @ points**2).max() / error <= 1 + 1e-6 if targets.margin is None else beyond <= 0.05
            assert bool(reached) is met or (shape == "hull" and targets.margin is not None and not met)
        if targets.margin is None:
            assert found.factor == pytest.approx(0.5, rel=2 * found.step)
        stated = found.design.mechanism
        released = stated.release([9] * 6)
        (listed,) = released.answer_tables()
        told = listed.intervals(0.95)
        assert np.allclose((told.upper - told.lower) / 2, stated.margins())
        assert budget_summary("margins", found).count(f"Margins by {told.law}.") == (targets.margin is not None)


@pytest.mark.parametrize("kind", ["standard_error", "margin"])
def test_integer_noise_needs_what_its_law_says(kind: str) -> None:
    """2 x 2: z times [[1, -1], [-1, 1]], P(z) ~ exp(-epsilon |z|). The bounds asked for twice the budget."""
    problem = Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0))
    target = Targets(standard_error=2.0) if kind == "standard_error" else Targets(margin=5.0)
    found = least_budget(problem, target, "lattice_laplace", shape="l2", curve=1)
    assert found.uncertain == 0.0 and found.step == 1e-4
    z = np.arange(-2000, 2001)

    def met(epsilon: float) -> bool:
        law = np.exp(-epsilon * np.abs(z))
        law /= law.sum()
        return bool((law * z**2).sum() <= 4.0 if kind == "standard_error" else law[np.abs(z) > 5].sum() <= 0.05)

    assert met(found.factor * (1 + 1e-6)) and not met(found.missed_at * (1 - 1e-6))


def test_integer_noise_on_nine_cells_needs_what_the_sum_over_all_tables_says() -> None:
    problem = Problem(Workload.identity(9), invariants.margins((3, 3)).protect(1.0, 2))
    found = least_budget(problem, Targets(standard_error=0.9), "lattice_laplace", shape="l1", curve=1)
    free = np.array(list(itertools.product(range(-9, 10), repeat=4))).reshape(-1, 2, 2)
    z = np.concatenate([free, -free.sum(axis=1, keepdims=True)], axis=1)
    z = np.concatenate([z, -z.sum(axis=2, keepdims=True)], axis=2)
    lengths, squares = np.abs(z).sum(axis=(1, 2)), z[:, 0, 0] ** 2.0

    def error(factor: float) -> float:
        law = np.exp(-factor / 4 * lengths)  # two replaced records move 4
        return float(np.sqrt((law * squares).sum() / law.sum()))

    assert error(found.factor) == pytest.approx(found.reached[0].value, rel=1e-4) and error(found.factor) <= 0.9 * (1 + 1e-4)
    assert error(found.missed_at * 0.999) > 0.9


@pytest.mark.nightly
def test_a_least_budget_from_draws_says_to_which_share_it_is_told() -> None:
    problem = Problem(Workload.identity(36), invariants.margins((6, 6)).protect(1.0, 2))
    found = least_budget(problem, Targets(standard_error=4.5), "lattice_laplace", shape="l1", curve=1)
    assert 0 < found.uncertain < 0.01 and found.step >= found.uncertain * 0.9
    words = found.design.mechanism.error_source.words
    assert words.startswith("Standard errors are simulated") and f"Accuracy:     {words}" in budget_summary("t", found)
    assert words in design_summary("t", found.design)
    assert "told to about 0." in budget_summary("t", found) and "told to about" in found.rows[0]["note"]
    again = least_budget(problem, Targets(standard_error=4.5), "lattice_laplace", shape="l1", curve=1)
    assert again.factor == found.factor


@pytest.mark.nightly
def test_noise_that_breaks_published_totals_comes_last_whatever_its_factor() -> None:
    found = least_budget(CROSS, Targets(standard_error=2.0), effort="quick", curve=1)
    factors = {row["family"]: (row["factor"], row["note"]) for row in found.rows if row["factor"] is not None}
    broken = {name for name, (_, note) in factors.items() if "breaks the published statistics" in note}
    assert broken and found.best.family not in broken
    kept = [factor for name, (factor, note) in factors.items() if name not in broken and "in fractions" not in note]
    assert found.factor == min(kept) and f", with {found.way}" in budget_summary("t", found)


def test_the_options_of_the_file_stay_with_its_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.toml"
    text = '[domain]\na = 3\nb = 2\n\n[workload]\nbuilder = "identity"\n\n[invariant]\nmargins = [["a"]]\n\n'
    text += '[relation]\nepsilon = 1\n\n[targets]\nstandard_error = 4\n\n[design]\nfamily = "lattice_laplace"\nshape = "l1"\n'
    path.write_text(text)
    said = []
    for named in ([], ["--family", "lattice_laplace"]):
        assert main(["budget", str(path), *named]) == 0
        said.append(capsys.readouterr().out.splitlines()[2])
    assert said[0] == said[1] and said[0].startswith("Least factor: ")
    assert main(["design", str(path), "--family", "lattice_laplace", "-o", str(tmp_path / "m.json")]) in (0, 3)


@pytest.mark.parametrize("asked", ["all", "one"])
def test_a_histogram_that_is_never_written_out_has_the_least_budget_of_one_count(asked: str) -> None:
    cells = csr_array(eye_array(20_000))
    problem = Problem(Workload(cells), metrics.add_remove(20_000, 1.0))
    targets = Targets(standard_error=5.0 if asked == "all" else {problem.workload.queries[7]: 5.0})
    found = least_budget(problem, targets, "laplace", curve=1)
    certified(found, problem, targets)
    assert found.missed_at < 2 * math.asinh(1 / (5 * math.sqrt(2))) <= found.factor * (1 + 1e-9)
