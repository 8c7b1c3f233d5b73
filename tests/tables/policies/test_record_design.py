"""Designs of per-record noise against other solvers, closed forms and brute force. Precisions for per-record zCDP in CVXPY:
against the specialised solver, dense least squares, and with constraints.
"""

from __future__ import annotations

import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, programs
from designer.base.errors import InvalidProblem
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, RecordDesign, design_records
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.policies.slow_policies import SplitDesign, design_thresholds
from solvers.programs.budget_shares import CeilingProduct, ceiling, least_product, relaxed
from solvers.programs.loads import bound_near, least_load, proven_bound

Z = 1.959963984540054


def tree() -> Hierarchy:
    return Hierarchy.of([0, 0, 0, 1, 1, 2, 2, 2, 2], list("abcdefghi"), top="all")


def incidence(shape: Hierarchy) -> np.ndarray:
    leaves = np.flatnonzero(~shape.inner)
    return np.stack([shape.totals((np.arange(len(leaves)) == k).astype(float)) for k in range(len(leaves))], axis=1)


def prior(rng: np.random.Generator, count: int = 40) -> dict[str, np.ndarray]:
    sizes = rng.pareto(1.3, size=count) + 1
    return {"emp": sizes, "pay": 40 * sizes * np.exp(0.5 * rng.normal(size=count))}


def targets(rng: np.random.Generator, shape: Hierarchy, *measures: str) -> list[Accuracy]:
    """Upper levels need a smaller relative error, so that no level is idle."""
    leaves = int((~shape.inner).sum())
    error = np.array([0.004, 0.02, 0.1])[shape.level]
    totals = {name: shape.totals(100 * (rng.pareto(1.5, size=leaves) + 1)) for name in measures}
    return [Accuracy(name, error * total / Z) for name, total in totals.items()]


def by_cvxpy(shape: Hierarchy, accuracies: list[Accuracy], loads: np.ndarray) -> float:
    """The same program through matrix fractions of the dense incidence matrix and a conic solver, by unit-scaled precisions."""
    import cvxpy as cp

    contains, unit = incidence(shape), np.array([max(a.deviations**-2.0) for a in accuracies])
    s = cp.Variable((len(accuracies), shape.depth), nonneg=True)
    constraints = []
    for a, accuracy in enumerate(accuracies):
        information = sum(s[a, level] * contains[rows].T @ contains[rows] for level, rows in enumerate(shape.slices))
        relative = [
            cp.matrix_frac(contains[q], information) * (unit[a] * accuracy.deviations[q] ** 2) ** -1 for q in range(shape.size)
        ]
        constraints.append(sum(relative) <= shape.size if accuracy.on_average else cp.max(cp.hstack(relative)) <= 1)
    scaled = loads.reshape(len(loads), len(accuracies), -1) * unit[:, None]
    objective = cp.max(cp.hstack([cp.sum(cp.multiply(row, s)) for row in scaled / scaled.max()]))
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value * scaled.max())


def program_loads(made: RecordDesign) -> np.ndarray:
    """(K, A L): weight times r^2 / 2 for every measure and level; one row where losses are added."""
    squares = made.prior.weights[:, None] * made.prior.squares(made.measures)
    rows = squares if made.prior.largest else squares.sum(axis=0, keepdims=True)
    return np.repeat(rows, made.hierarchy.depth, axis=1)


@pytest.mark.parametrize("on_average", [False, True])
@pytest.mark.parametrize("form", ["sample", "quantiles", "cap"])
def test_optimum_agrees_with_a_conic_solver(form: str, on_average: bool) -> None:
    rng = np.random.default_rng(len(form))
    records = {
        "sample": PriorRecords.sample(prior(rng)),
        "quantiles": PriorRecords(
            ("emp", "pay"), np.array([[1.0, 900.0], [30.0, 100.0], [9.0, 300.0]]), np.array([1.0, 2.0, 1.5]), largest=True
        ),
        "cap": PriorRecords.cap({"emp": 100.0, "pay": 1e4}),
    }[form]
    asked = [Accuracy(a.measure, a.deviations, on_average) for a in targets(rng, tree(), "emp", "pay")]
    made = design_records(tree(), asked, records)
    assert made.optimality is not None and made.optimality.gap <= 1e-6
    assert made.optimality.value == pytest.approx(made.value, rel=1e-9)
    assert made.value == pytest.approx(by_cvxpy(tree(), asked, program_loads(made)), rel=2e-5)
    worst = [np.max(made.deviations(a.measure) / a.deviations) for a in asked]
    mean = [np.mean((made.deviations(a.measure) / a.deviations) ** 2) for a in asked]
    assert max(mean if on_average else worst) <= 1 + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_fixed_schemes_meet_the_targets_and_are_never_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = targets(rng, tree(), COUNT, "emp")
    made = design_records(tree(), asked, PriorRecords.sample(prior(rng)))
    assert set(made.schemes) == {"direct", "proportional", "equal", "one_rho", "finest"}
    assert made.optimality is not None
    assert min(made.schemes.values()) >= made.optimality.lower_bound
    assert made.value <= min(made.schemes.values()) * (1 + 1e-12)
    # "direct" by hand: each level's noise is its smallest target, and costs the mean of r^2 / 2 divided by its square.
    squares = made.prior.squares(made.measures).mean(axis=0)
    by_hand = sum(
        c * sum(a.deviations[rows].min() ** -2.0 for rows in tree().slices) for c, a in zip(squares, asked, strict=True)
    )
    assert made.schemes["direct"] == pytest.approx(by_hand, rel=1e-9)


def test_one_design_is_least_at_every_record_whatever_the_prior() -> None:
    rng = np.random.default_rng(14)
    asked = targets(rng, tree(), "emp", "pay")
    priors = [PriorRecords.cap({"emp": 1.0, "pay": 1e5}), PriorRecords.cap({"emp": 1e5, "pay": 1.0})]
    mean, *others = (design_records(tree(), asked, p) for p in (PriorRecords.sample(prior(rng)), *priors))
    records = PriorRecords.sample(prior(rng, 200))
    for other in others:
        assert other.losses(records) == pytest.approx(mean.losses(records), rel=3e-6)


def test_one_level_is_the_closed_form() -> None:
    """Without nesting every answer stands alone: sigma is the smallest target, P(r) = r^2 / (2 sigma^2)."""
    flat = Hierarchy.of("abc")
    made = design_records(flat, [Accuracy("emp", np.array([5.0, 4.0, np.inf]))], PriorRecords.cap({"emp": 20.0}))
    assert made.sigmas == pytest.approx(np.array([[4.0]]), rel=1e-6)
    assert made.value == pytest.approx(20**2 / (2 * 4**2), rel=1e-6)


def test_families_of_groups_cost_less_than_levels_and_have_a_policy_each() -> None:
    rng = np.random.default_rng(5)
    shape = tree()
    asked, leaves = targets(rng, shape, "emp"), np.flatnonzero(~shape.inner)
    records = PriorRecords.sample({"emp": rng.pareto(1.3, size=90) + 1}, np.tile(leaves, 10))
    level = design_records(shape, asked, records)
    single = design_records(shape, asked, records, families=np.arange(shape.size))
    assert single.value < level.value
    assert level.uniform and not single.uniform
    with pytest.raises(InvalidProblem, match="name one of the finest"):
        single.policy()
    for k, leaf in enumerate(leaves[:3]):
        path = [leaf, shape.parents[leaf], 0]
        by_hand = records.values[k, 0] ** 2 / 2 * single.precisions[0, path].sum()
        assert float(single.policy(shape.labels[leaf]).exact({"emp": records.values[k, 0]})) == pytest.approx(by_hand)
        assert single.losses(records)[k] == pytest.approx(by_hand)


def test_policy_is_what_the_noise_of_all_levels_costs() -> None:
    rng = np.random.default_rng(6)
    made = design_records(tree(), targets(rng, tree(), COUNT, "emp", "pay"), PriorRecords.sample(prior(rng)))
    record = {"emp": 17, "pay": 900}
    by_hand = sum(value**2 / (2 * s**2) for name, value in ((COUNT, 1), *record.items()) for s in made.sigmas[made.row(name)])
    assert float(made.policy().exact(record)) == pytest.approx(by_hand)
    assert made.policy()(made_columns := prior(rng)) == pytest.approx(made.losses(PriorRecords.sample(made_columns)))


def test_limits_scale_the_whole_design() -> None:
    rng = np.random.default_rng(7)
    made = design_records(tree(), targets(rng, tree(), "emp"), PriorRecords.sample(prior(rng)))
    half = made.within(made.value / 2)
    assert half.value == pytest.approx(made.value / 2)
    assert half.deviations("emp") == pytest.approx(np.sqrt(2) * made.deviations("emp"))


def test_relative_targets_hold_at_the_stated_confidence() -> None:
    """200,000 normal draws: the share beyond the error is within 5 standard errors of 5 % (seed fixed)."""
    target = Accuracy.relative("emp", [1000.0], 0.1).deviations[0]
    beyond = np.mean(np.abs(np.random.default_rng(8).normal(size=200_000)) * target > 100)
    assert abs(beyond - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 200_000)


# ---
# thresholds
# ---------------------------------------------------------------------------------------------------------------------


def thresholds_case(seed: int) -> tuple[RecordDesign, PriorRecords]:
    rng = np.random.default_rng(seed)
    made = design_records(tree(), targets(rng, tree(), COUNT, "emp", "pay"), PriorRecords.sample(prior(rng, 25)))
    return made, made.prior


@pytest.mark.parametrize("steps", [ceiling, relaxed])
@pytest.mark.parametrize("largest", [False, True])
def test_sizes_agree_with_brute_force_on_a_fine_grid(steps: object, largest: bool) -> None:
    rng = np.random.default_rng(9)
    points = np.stack(list(prior(rng, 12).values()), axis=1)
    product = CeilingProduct(points, rng.uniform(0.5, 2, size=12), np.array([0.3, 0.0004]), 0.2, 0.1, largest, steps)  # type: ignore[arg-type]
    high = points.max(axis=0)
    solution = least_product(product, high / 100, high)
    grid = np.array(list(itertools.product(*(np.geomspace(h / 100, h, 300) for h in high))))
    assert solution.value == pytest.approx(float(product.value(solution.point[None])[0]))
    least = min(float(product.value(part).min()) for part in np.array_split(grid, 10))
    assert solution.lower_bound <= least
    assert solution.value <= least * 1.01
    assert solution.gap <= 0.01


@pytest.mark.parametrize("largest", [False, True])
def test_bounds_hold_everywhere_in_their_boxes(largest: bool) -> None:
    rng = np.random.default_rng(13)
    points = np.stack(list(prior(rng, 12).values()), axis=1)
    product = CeilingProduct(points, rng.uniform(0.5, 2, size=12), np.array([0.3, 0.0004]), 0.2, 0.1, largest)
    low = np.exp(rng.uniform(-2, 3, size=(200, 2))) * [1, 40]
    high = low * np.exp(rng.exponential(0.5, size=(200, 2)))
    inside = low * (high / low) ** rng.uniform(size=(300, 200, 2))
    least = np.min([product.value(sizes) for sizes in inside], axis=0)
    assert (product.bound(low, high) <= least).all()
    assert (product.tangent(low, high) > product.between(low, high)).mean() > 0.05


def test_relaxed_sizes_are_the_optimum_of_a_geometric_program() -> None:
    import cvxpy as cp

    rng = np.random.default_rng(10)
    points = np.stack(list(prior(rng, 10).values()), axis=1)
    product = CeilingProduct(points, np.full(10, 0.1), np.array([0.3, 0.0004]), 0.5, steps=relaxed)
    high = points.max(axis=0)
    solution = least_product(product, high / 1000, high, tolerance=0.002, max_boxes=60_000)
    sizes, rows = cp.Variable(2, pos=True), cp.Variable(10, pos=True)
    first = 0.5 + 0.3 * sizes[0] ** 2 + 0.0004 * sizes[1] ** 2
    constraints = [rows[k] >= points[k, a] / sizes[a] for k in range(10) for a in range(2)] + [rows >= 1]
    problem = cp.Problem(cp.Minimize(sum(0.1 * first * rows[k] ** 2 for k in range(10))), constraints)
    problem.solve(gp=True, solver=cp.CLARABEL)
    assert solution.lower_bound <= problem.value * (1 + 1e-6)
    assert solution.value == pytest.approx(problem.value, rel=0.003)
    # Without the relaxation nothing gets cheaper.
    exact = least_product(CeilingProduct(points, np.full(10, 0.1), np.array([0.3, 0.0004]), 0.5), high / 1000, high)
    assert exact.lower_bound >= problem.value * 0.97 and exact.value >= problem.value


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("split_rows", [0.0, 0.5])
def test_exact_policy_is_below_splitting_at_every_record(seed: int, split_rows: float) -> None:
    made, records = thresholds_case(seed)
    rng = np.random.default_rng(seed)
    fixed = SplitDesign(made, {"emp": float(rng.uniform(1, 50)), "pay": float(rng.uniform(10, 3000))}, split_rows)
    best = design_thresholds(made, split_rows=split_rows)
    other = PriorRecords.sample(prior(rng, 400))
    for split in (fixed, best):
        assert (split.exact_losses(other) <= split.losses(other) * (1 + 1e-12)).all()
        assert split.policy()(dict(zip(other.measures, other.values.T, strict=True))) == pytest.approx(
            split.losses(other), rel=1e-9
        )
    assert best.optimality is not None and best.optimality.gap <= 0.01
    assert best.value == pytest.approx(best.optimality.value)
    assert best.value <= fixed.value * (1 + 1e-9) or fixed.rows(records).max() > 1000


def test_queries_on_split_rows_make_thresholds_matter() -> None:
    """Free of them the finest thresholds allowed are best; charged, splitting less costs less, and both ends lose."""
    made, _ = thresholds_case(1)
    free, charged = design_thresholds(made), design_thresholds(made, split_rows=5.0)
    assert charged.rows(made.prior).sum() < free.rows(made.prior).sum()
    for factor in (0.3, 3.0):
        moved = SplitDesign(made, {a: T * factor for a, T in charged.thresholds.items()}, 5.0)
        assert moved.value > charged.value


def test_shares_make_the_noise_of_the_design() -> None:
    """Seeman et al.: sensitivity T at rho on split rows means variance T^2 / (2 rho)."""
    made, _ = thresholds_case(2)
    split = design_thresholds(made)
    for a, T in split.thresholds.items():
        assert np.sqrt(T**2 / (2 * split.shares[a])) == pytest.approx(made.sigmas[made.row(a)])
    assert split.rho == pytest.approx(sum(share.sum() for share in split.shares.values()))


def test_more_records_than_points_are_grouped_from_above() -> None:
    rng = np.random.default_rng(11)
    made = design_records(tree(), targets(rng, tree(), "emp"), PriorRecords.sample(prior(rng, 5000)))
    grouped = design_thresholds(made, split_rows=0.1, points=50)
    assert grouped.optimality is not None
    assert grouped.value <= grouped.optimality.value * (1 + 1e-9)


# --- solver and
# refusals ------------------------------------------------------------------------------------------------------------


def test_bounds_of_any_multipliers_hold() -> None:
    rng = np.random.default_rng(12)
    costs = rng.uniform(0.5, 2, size=5)

    def errors(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([(costs / s).sum()]), (costs / s**2)[None]

    loads = rng.uniform(size=(1, 5))
    closed = float(np.sqrt(costs * loads[0]).sum() ** 2)  # Cauchy-Schwarz
    solution = least_load(loads, errors, np.ones(5))
    assert solution.value == pytest.approx(closed, rel=2e-6) and solution.lower_bound <= closed <= solution.value
    for _ in range(50):
        points = rng.uniform(0.1, 5, size=(8, 5))
        cuts = np.array([errors(p)[1][0] / errors(p)[0][0] ** 2 for p in points])
        assert proven_bound(loads, cuts, np.ones(1), rng.exponential(size=8)) <= closed


def test_refusals_name_the_field() -> None:
    flat, cap = Hierarchy.of("abc"), PriorRecords.cap({"emp": 20.0})
    good = Accuracy("emp", np.array([5.0, 4.0, np.inf]))
    made = design_records(flat, [good], cap)
    cases = [
        (lambda: Accuracy("emp", np.array([0.0, 1.0])), "must be positive"),
        (lambda: Accuracy("emp", np.array([np.inf])), "at least one of them finite"),
        (lambda: Accuracy.relative("emp", [1.0], -0.1), "error"),
        (lambda: PriorRecords(("emp",), np.ones((2, 1)), np.ones(1)), "weights"),
        (lambda: PriorRecords(("emp",), np.ones((2, 1)), np.ones(2), groups=np.zeros(3, dtype=int)), "groups"),
        (lambda: PriorRecords.sample({}), "columns"),
        (lambda: design_records(flat, [], cap), "accuracies"),
        (lambda: design_records(flat, [good, good], cap), "accuracies"),
        (lambda: design_records(Hierarchy.of("ab"), [good], cap), "deviations"),
        (lambda: design_records(flat, [good], PriorRecords.cap({"pay": 1.0})), "no measure 'emp'"),
        (lambda: design_records(flat, [good], PriorRecords.cap({"emp": 0.0})), "cost nothing"),
        (lambda: design_records(flat, [good], cap, families=np.zeros(2)), "families"),
        (lambda: design_records(flat, [good], cap, families=np.arange(3)), "finest group of every record"),
        (lambda: made.deviations("pay"), "not one of"),
        (lambda: made.within(0.0), "limit"),
        (lambda: SplitDesign(made, {}), "thresholds"),
        (lambda: SplitDesign(made, {"emp": -1.0}), "thresholds"),
        (lambda: RecordDesign(flat, cap, ("emp",), np.zeros(3, dtype=int), np.array([[-1.0]])), "precisions"),
    ]
    for call, word in cases:
        with pytest.raises(InvalidProblem, match=word):
            call()
    with pytest.raises(InvalidProblem, match="counts of records only"):
        design_thresholds(design_records(flat, [Accuracy(COUNT, np.ones(3))], cap))


def case(seed: int, *, average: bool = False, families: bool = False, largest: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    tree = Hierarchy.of([f"s{rng.integers(3)}" for _ in range(8)], list("abcdefgh"), top="US")
    finest = np.flatnonzero(~tree.inner)
    targets = [Accuracy("emp", np.exp(rng.normal(size=tree.size)), on_average=average)]
    targets.append(Accuracy(COUNT, np.exp(rng.normal(size=tree.size))))
    groups = finest[np.arange(10) % len(finest)] if families else None
    prior = PriorRecords(("emp",), np.exp(rng.normal(size=(10, 1))), np.full(10, 0.1), largest, groups)
    kinds = tree.level * 2 + np.arange(tree.size) % 2 if families else None
    return {"hierarchy": tree, "accuracies": targets, "prior": prior, "families": kinds}


def variances(tree: Hierarchy, precisions: np.ndarray) -> np.ndarray:
    """By the dense normal equations."""
    finest = int((~tree.inner).sum())
    contains = np.stack([tree.totals(row) for row in np.eye(finest)], axis=1)
    return np.diag(contains @ np.linalg.inv(contains.T * precisions @ contains) @ contains.T)


def met(made, accuracies: list[Accuracy]) -> list[float]:
    """`(deviation / target)^2`, the worst or the mean, for each measure."""
    found = []
    for row, accuracy in zip(made.precisions, accuracies, strict=True):
        relative = variances(made.hierarchy, np.maximum(row[made.families], 1e-12)) / accuracy.deviations**2
        found.append(float(relative.mean() if accuracy.on_average else relative.max()))
    return found


KINDS = [{}, {"average": True}, {"families": True}, {"families": True, "largest": True}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_design_is_that_of_the_specialised_solver(kind: dict[str, bool]) -> None:
    for seed in range(2):
        asked = case(seed, **kind)
        made, special = programs.records(**asked).design(), design_records(**asked)
        assert made.value == pytest.approx(special.value, rel=2e-6)
        assert made.optimality.gap < 1e-4 and made.optimality.lower_bound <= special.value
        assert max(met(made, asked["accuracies"])) == pytest.approx(1, abs=1e-6)
        assert max(met(made, asked["accuracies"])) <= 1 + 1e-9
        assert made.optimality.value <= min(v for name, v in made.schemes.items() if name != "direct") * (1 + 1e-9)
        assert made.provenance["raw_violation"] < 1e-6


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(50))
def test_fifty_designs(seed: int) -> None:
    """Agreement to 1e-6, or to what both leave open."""
    asked = case(100 + seed, **KINDS[seed % 4])
    made, special = programs.records(**asked).design(), design_records(**asked)
    assert abs(made.value / special.value - 1) <= max(1e-6, made.optimality.gap + special.optimality.gap)
    assert made.optimality.lower_bound <= special.value * (1 + 1e-12) and special.optimality.lower_bound <= made.value * (
        1 + 1e-12
    )
    assert max(met(made, asked["accuracies"])) <= 1 + 1e-9


def test_h_is_what_least_squares_know() -> None:
    asked = case(1)
    program = programs.records(**asked)
    program.solve()
    for a in range(2):
        known = 1 / variances(asked["hierarchy"], program.point()[a][program.numbers.families])
        assert np.allclose(program.h.value[a], known, rtol=1e-9)
        assert np.allclose(program.standard_errors.value[a], known**-0.5, rtol=1e-9)


def test_a_cap_on_one_standard_error_binds_at_the_frozen_precisions() -> None:
    asked = case(2)
    free = programs.records(**asked).design()
    before = np.sqrt(variances(asked["hierarchy"], free.precisions[1][free.families]))
    program = programs.records(**asked)
    made = program.subject_to(program.standard_errors[1, 0] <= 0.6 * before[0], "the nation").design()
    after = np.sqrt(variances(asked["hierarchy"], np.maximum(made.precisions[1][made.families], 1e-12)))
    assert 0.599 * before[0] <= after[0] <= 0.6 * before[0] * (1 + 1e-9)
    assert made.value > free.value and made.optimality.lower_bound <= made.value
    assert max(met(made, asked["accuracies"])) <= 1 + 1e-9


def test_least_error_for_a_cap_on_every_loss() -> None:
    """The inverse: precisions of least mean variance whose policy stays below a limit at every record."""
    asked = case(3)
    limit = 2 * float(programs.records(**asked).design().losses(asked["prior"]).max())
    program = programs.records(**asked)
    made = program.subject_to(program.losses <= limit, "loss").minimise(cp.sum(program.variances[1])).design()
    assert made.losses(asked["prior"]).max() == pytest.approx(limit, rel=1e-5) and made.optimality is None
    assert made.losses(asked["prior"]).max() <= limit * (1 + 1e-12)
    plain = design_records(**asked).within(design_records(**asked).value * 2)
    totals = [variances(asked["hierarchy"], d.precisions[1][d.families]).sum() for d in (made, plain)]
    assert totals[0] <= totals[1] * (1 + 1e-6)


def test_contradictions_are_told_with_the_targets() -> None:
    program = programs.records(**case(0))
    program.subject_to(program.s[0] <= 1e-3, "few answers")
    with pytest.raises(
        DesignFailed, match=r"no values were found that satisfy 'few answers' .* while the accuracy targets are met"
    ):
        program.design()


def test_a_trace_of_every_record_pays_for_what_rounding_charges() -> None:
    """Unknowns that no binding record meets are charged 1e-17 by rounded slopes; the proven bound stays near the optimum."""
    asked = case(0, families=True, largest=True)
    assert design_records(**asked).optimality.gap < 2e-6

    def errors(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([1 / s[0]]), np.array([[1 / s[0] ** 2, 1e-17]])

    loads = np.array([[1.0, 0.0], [0.1, 1.0]])
    assert least_load(loads, errors, np.ones(2)).gap < 1e-6
    assert bound_near(loads, errors, np.array([1.0, 1e-9]), np.ones(2)) == pytest.approx(1, abs=1e-6)


def test_refusals() -> None:
    with pytest.raises(InvalidProblem, match="accuracies: give one for each measure"):
        programs.records(**{**case(0), "accuracies": []})
    wide = Hierarchy.of(list(range(600)), top="all")
    program = programs.records(wide, [Accuracy(COUNT, np.ones(601))], PriorRecords.cap({"emp": 1.0}))
    with pytest.raises(DesignFailed, match="weights; state fewer groups, or use design_records"):
        program.subject_to(program.variances[0, 1] <= 1)
