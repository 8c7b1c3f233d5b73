"""Every object draws itself, and the numbers drawn are the numbers that it states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    Comparison,
    InvalidProblem,
    LeastBudget,
    Problem,
    Targets,
    Workload,
    compare,
    design,
    drawings_of,
    invariants,
    metrics,
    plot,
)
from designer import least_budget as find_least
from designer.certificate.guarantee import About
from designer.mechanism.staircase_noise import Stairs
from designer.publish.pictures.of_designs import least_errors
from designer.publish.pictures.of_mechanisms import DRAWS, SEED, delta_drawing, profile, tradeoff_drawing
from designer.relations.invariants.invariant import Invariant
from designer.sampling.entropy import SeededEntropy
from designer.selection.mechanism import best_selection
from designer.selection.scores import Closeness
from designer.tables import Count, Groups, Measure, Sum, TablePlan, UnitSplitting, variance_for
from designer.tables.policies.policies import GaussianSums
from designer.tradeoff.account import Account
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from tests.oracles.spec_specimens import specimens

figures = pytest.importorskip("matplotlib.figure")
KINDS = ("table plan", "lattice rows", "staircase coset", "linked projected", "marginals attributes", "structured metrics")
KINDS += ("test pure", "selection linear", "laplace uniform", "laplace great_circle", "bundles max", "lattice chain", "mwem")


def names_of(axis: Any) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem(Workload([[1, 0, 0], [1, 1, 0], [1, 1, 1]], ["young", "adult", "all"]), metrics.add_remove(3, 0.5))


@pytest.fixture(scope="module")
def comparison(problem: Problem) -> Comparison:
    return compare(problem, ["laplace", "ellipsoid", "uniform_budget", "box"])


@pytest.fixture(scope="module")
def least(problem: Problem) -> LeastBudget:
    return find_least(problem, Targets(standard_error={"young": 2.0, "all": 3.0}), "laplace", curve=5)


@pytest.mark.parametrize("kind", KINDS)
def test_objects_of_every_kind_draw_what_they_say_they_can(kind: str) -> None:
    mechanism = specimens()[kind]
    found = drawings_of(mechanism)
    assert len({drawing.name for drawing in found}) == len(found) and bool(found) != (kind == "mwem")
    for drawing in found:
        assert drawing.alt.endswith(".") and drawing.title and drawing.name.isidentifier()
        axes = plot(mechanism, kind=drawing.name)
        assert axes.has_data() and "nan" not in drawing.alt
        axes.figure.canvas.draw()


def test_bars_are_the_standard_errors_and_lines_their_limits(problem: Problem) -> None:
    made = design(problem, "laplace")
    axes = plot(made)
    assert [bar.get_width() for bar in axes.patches] == made.mechanism.standard_errors().tolist()
    assert names_of(axes.yaxis) == ["young", "adult", "all"]
    lines = [segment[0][0] for segment in axes.collections[0].get_segments()]
    assert lines == pytest.approx(least_errors(problem).tolist(), rel=1e-12)
    # One answer that one record moves by 1 at budget 1/2 needs the geometric mechanism.
    assert lines == pytest.approx([np.sqrt(1 / (2 * np.sinh(0.25) ** 2))] * 3, rel=1e-6)
    assert (least_errors(problem) <= made.mechanism.standard_errors() * (1 + 1e-9)).all()
    assert not list(plot(made.mechanism, kind="errors").collections)


def test_units_stand_on_axes(problem: Problem) -> None:
    mechanism = design(problem, "laplace").mechanism
    same = mechanism.described(About(units="persons"))
    assert plot(same).get_xlabel() == "standard error of the noise (persons)" and names_of(plot(same).yaxis)[0] == "young"
    own = mechanism.described(About(units={"young": "children"}))
    assert names_of(plot(own).yaxis) == ["young (children)", "adult", "all"]
    assert plot(own, kind="noise").get_xlabel() == "noise in young (children)"
    released = same.release([4, 5, 6])
    assert plot(same, released=released).get_xlabel() == "noisy answer, 95% intervals (persons)"


def test_a_cloud_is_the_noise_that_is_drawn(problem: Problem) -> None:
    mechanism = design(problem, "ellipsoid").mechanism
    dots = np.asarray(plot(mechanism, kind="noise").collections[0].get_offsets())
    assert np.array_equal(dots, np.asarray(mechanism.simulate(DRAWS, seed=SEED))[:, :2])
    one = design(Problem(Workload([[1.0, 2.0]]), metrics.uniform(2, 1.0)), "laplace").mechanism
    heights = [bar.get_height() for bar in plot(one, kind="noise").patches]
    assert sum(heights) == DRAWS


def test_released_answers_have_their_intervals(problem: Problem) -> None:
    mechanism = design(problem, "laplace").mechanism
    released = mechanism.release([40, 50, 60])
    ends = released.answer_tables()[0].intervals()
    for axes in (plot(mechanism, released=released), plot(released)):
        assert axes.containers[0][0].get_xdata().tolist() == released.answers.tolist()
        drawn = np.array([segment[:, 0] for segment in axes.containers[0][2][0].get_segments()])
        assert drawn == pytest.approx(np.stack([ends.lower, ends.upper], axis=1), rel=1e-12)
    other = design(problem, "ellipsoid").mechanism
    with pytest.raises(InvalidProblem, match=r"released: was made by .* not by this mechanism"):
        drawings_of(other, released)


def test_a_comparison_draws_losses_against_the_limit(comparison: Comparison) -> None:
    rows = sorted(comparison.rows, key=lambda row: row["loss"])
    axes = plot(comparison)
    assert [bar.get_width() for bar in axes.patches] == [row["loss"] for row in rows]
    assert names_of(axes.yaxis) == [row["family"] for row in rows] and comparison.limit is not None
    assert axes.lines[0].get_xdata()[0] == comparison.limit.value
    assert comparison.limit.value <= min(row["loss"] for row in rows) * (1 + 1e-9)
    other = plot(comparison, kind="deviations")
    for line, row in zip(other.lines, rows, strict=True):
        deviations = comparison.designs[row["family"]].mechanism.standard_errors()
        order = np.argsort(-comparison.designs[rows[0]["family"]].mechanism.standard_errors(), kind="stable")
        assert line.get_xdata() == pytest.approx(deviations[order], rel=1e-9)
    colours = [(line.get_color(), line.get_marker()) for line in other.lines]
    assert len(set(colours)) == len(rows)


def test_a_comparison_draws_into_axes_or_into_a_file(comparison: Comparison, tmp_path: Path) -> None:
    left, right = figures.Figure().subplots(1, 2)
    assert plot(comparison, ax=left) is left and plot(comparison, ax=right, kind="deviations") is right
    assert plot(comparison, tmp_path / "both.svg") == tmp_path / "both.svg"
    assert plot(comparison, tmp_path / "one.svg", kind="deviations").read_text().count("<svg") == 1
    with pytest.raises(InvalidProblem, match="give path or ax, not both"):
        plot(comparison, tmp_path / "x.svg", ax=left)
    with pytest.raises(InvalidProblem, match="'loss' is no picture; use one of"):
        plot(comparison, kind="loss")


def test_error_against_budget_is_the_curve_with_its_targets(least: LeastBudget, tmp_path: Path) -> None:
    axes = plot(least)
    curves = [line for line in axes.lines if len(line.get_xdata()) == len(least.curve)]
    assert len(curves) == 2
    for line, place in zip(curves, (1, 0) if least.reached[1].ratio > least.reached[0].ratio else (0, 1), strict=True):
        assert line.get_xdata().tolist() == [point.factor for point in least.curve]
        assert line.get_ydata().tolist() == [point.reached[place].ratio for point in least.curve]
    assert [line.get_xdata()[0] for line in axes.lines if list(line.get_xdata()) == [least.factor] * 2] == [least.factor]
    assert plot(least, ax=figures.Figure().subplots()).lines and plot(least, tmp_path / "c.pdf").read_bytes()[:4] == b"%PDF"


def test_a_policy_is_drawn_as_its_exact_losses() -> None:
    policy = GaussianSums({"emp": 1250, "pay": 10**8}, (10,))
    assert [drawing.name for drawing in drawings_of(policy)] == ["loss_1", "loss_2"]
    axes = plot(policy)
    (line,) = axes.lines
    assert axes.get_xscale() == axes.get_yscale() == "log" and axes.get_ylabel() == "loss of the record (rho)"
    for x, y in list(zip(line.get_xdata(), line.get_ydata(), strict=True))[::24]:
        assert y == pytest.approx(float(policy.exact({"emp": float(x), "pay": 0})), rel=1e-9)
        assert y == pytest.approx(x**2 / 2500 + 1 / 20, rel=1e-9)


def test_a_plan_draws_the_loss_of_a_record_and_the_noise_of_its_queries() -> None:
    emp, industry = Measure("emp"), Groups(["industry"], keys=[["Retail"], ["Mining"]])
    jobs = Sum("jobs", industry, variance=variance_for(50, "0.1"), measure=emp)
    plan = TablePlan([jobs, Count("firms", industry, variance=5)], UnitSplitting([emp], [50]))
    whole, split = plot(plan, kind="loss").lines
    for x, y in list(zip(whole.get_xdata(), whole.get_ydata(), strict=True))[::40]:
        assert y == pytest.approx(float(plan.policy.exact({"emp": float(x)})), rel=1e-9)
    for size in (0, 10, 150, 4000):
        drawn = np.interp(size, whole.get_xdata(), whole.get_ydata())
        assert float(plan.loss({"industry": "Retail", "emp": size})) == pytest.approx(drawn, rel=2e-3)
    assert (np.asarray(split.get_ydata()) >= np.asarray(whole.get_ydata()) * (1 - 1e-12)).all()
    points = plot(plan, kind="errors").collections[0].get_offsets()
    assert points[:, 0].tolist() == pytest.approx([float(variance_for(50, "0.1")) ** 0.5, 5**0.5])


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_the_chance_of_the_worse_candidate_is_that_of_the_law(law: str) -> None:
    """Two candidates: by the mechanism's own probabilities, or by its draws (20,000, off by more than 5 deviations with
    probability below 1e-6)."""
    two = best_selection(Closeness(Workload.identity(2)), metrics.uniform(2, 0.7), law)  # type: ignore[arg-type]
    curve = plot(two).lines[0]
    for counts in ([9, 7], [30, 10], [5, 5]):
        scores = two.score.floats(np.array([counts]))[0][0]
        drawn = np.interp(abs(scores[0] - scores[1]), curve.get_xdata(), curve.get_ydata())
        share = float((two.simulate(20_000, seed=1, data=counts).indices == int(scores.argmin())).mean())
        assert share == pytest.approx(drawn, abs=5 * 0.5 / 20_000**0.5)
        if law == "exponential":
            assert float(two.probabilities(counts).min()) == pytest.approx(drawn, rel=1e-3)


def test_a_profile_of_stairs_is_a_law_with_the_stated_variance() -> None:
    mechanism = design(Problem(Workload([[0, 0.3, 2.7182818]]), metrics.uniform(3, 2.0)), "staircase").mechanism
    noise = Stairs(noise_unit := mechanism.noise.unit, 7, 3) if isinstance(mechanism.noise, Stairs) else None  # type: ignore[attr-defined]
    assert noise is not None and noise_unit > 0
    steps = np.arange(-4000, 4001)
    law = profile(noise, steps)
    assert law.sum() == pytest.approx(1, abs=1e-12) and law[4000] == law[4003] > law[4004] == law[4010] > law[4011]
    drawn = noise.over(()).draw(20_000, SeededEntropy(3))[:, 0]
    shares = np.array([(np.abs(drawn) <= k).mean() for k in (3, 10, 17)])
    expected = [law[np.abs(steps) <= k].sum() for k in (3, 10, 17)]
    assert np.abs(shares - expected).max() < 5 * 0.5 / 20_000**0.5  # five deviations: fails with probability below 1e-6
    area = plot(mechanism, kind="profile").patches[0].get_data()
    inside = float((area.values * np.diff(area.edges)).sum())
    beyond = float(np.exp(-8 * float(noise_unit)))
    assert 1 - inside == pytest.approx(beyond, rel=0.7) and inside < 1


@pytest.mark.nightly
def test_a_table_of_noise_keeps_every_margin() -> None:
    kept: Invariant = invariants.margins((4, 5))
    mechanism = design(Problem(Workload.identity(20), kept.protect(1.0)), "lattice_laplace").mechanism
    noise = np.asarray(plot(mechanism, kind="table").images[0].get_array())
    assert noise.shape == (4, 5) and np.abs(noise).sum() > 0
    assert not noise.sum(axis=0).any() and not noise.sum(axis=1).any()
    assert sorted(noise.ravel().tolist()) == sorted(mechanism.draw(1, 0)[0].tolist())


def test_marginals_and_products_draw_the_error_of_each_table() -> None:
    marginals: Any = specimens()["marginals presence"]
    axes = plot(marginals)
    bars = dict(zip(names_of(axes.yaxis), [bar.get_width() for bar in axes.patches], strict=True))
    assert bars == {" x ".join(t): np.sqrt(marginals.variances(t).max()) for t in (("sex", "age"), ("place",))}
    products: Any = specimens()["structured presence"]
    workload = products.workload
    for term, bar in enumerate(plot(products).patches):
        shape = [queries.count for queries in workload.terms[term].values()]
        variances = products.variances(term, np.argwhere(np.ones(shape, dtype=bool)))
        assert bar.get_width() == pytest.approx(np.sqrt(variances.mean()), rel=1e-9)


def test_tradeoffs_and_accounts_are_drawn_as_they_are() -> None:
    curves = {"pure": EpsilonDelta(1), "normal": Gaussian.of(1)}
    *lines, nothing = tradeoff_drawing(curves).plot().lines
    for line, curve in zip(lines, curves.values(), strict=True):
        assert np.array_equal(line.get_ydata(), curve.type_two(line.get_xdata()))
        assert (line.get_ydata() <= 1 - np.asarray(line.get_xdata()) + 1e-12).all()
    assert list(nothing.get_ydata()) == [1, 0]
    account = Account.of([(Gaussian.of("1/2"), 4)])
    (line,) = delta_drawing(account.delta_at, 4.0, "four releases").plot().lines
    expected = [account.delta_at(float(epsilon)) for epsilon in line.get_xdata()]
    assert list(line.get_ydata()) == expected and expected == sorted(expected, reverse=True)
