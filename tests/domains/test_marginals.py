"""Marginals in the residual basis against the full domain: projections, all pairs of cells, dense covariances,
the ellipsoid program."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from designer import Counts, MarginalMechanism, MarginalWorkload, Presence, Problem, Targets, Workload, design, load, metrics
from designer.base.errors import InvalidProblem, InvalidSpec, NotPrivate
from designer.certificate.frozen import seal
from designer.domains import mechanism as plain
from designer.domains.marginals_least import least_marginal_budget
from designer.domains.marginals_noise import residual, squared_norms, synthesis
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_tables import INCONSISTENT, UNEQUAL, UNKNOWN, tables_of_columns
from designer.domains.mechanism import dyadic_sum
from designer.problem.domain import Domain
from designer.problem.histogram import UNUSABLE
from designer.sampling.entropy import SeededEntropy
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

DOMAIN = Domain.of({"a": 3, "b": 2, "c": 4, "d": 1})
BUDGETS = {"a": 0.5, "b": 1.0, "c": 2.0, "d": 0.3}
SUBSETS = {("a", "b"): 1.0, ("b", "c"): 3.0, ("a",): 0.5, ("c", "d"): 1.0}
PROTECTIONS = {
    "attributes": metrics.hamming(DOMAIN, BUDGETS),
    "presence": Presence(mu=0.7),
    "partly free": metrics.hamming(DOMAIN, {**BUDGETS, "a": np.inf}),
}


def small(protection: str = "attributes", loss: str = "squared", **changed: Any) -> MarginalMechanism:
    return design_marginals(MarginalWorkload.of(DOMAIN, SUBSETS), PROTECTIONS[protection], loss, **changed)  # type: ignore[arg-type]


def histogram(seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 40, DOMAIN.shape)


def marginal(x: NDArray[Any], names: tuple[str, ...]) -> NDArray[Any]:
    return np.asarray(x.sum(axis=tuple(k for k, name in enumerate(DOMAIN.attributes) if name not in names)))


def all_tables(x: NDArray[Any]) -> dict[tuple[str, ...], NDArray[Any]]:
    return {names: marginal(x, names) for names in SUBSETS}


def projection(subset: tuple[int, ...]) -> NDArray[np.float64]:
    """P_A on the whole domain, from its definition: centring on the axes of A, averaging on the others."""
    result = np.ones((1, 1))
    for axis, n in enumerate(DOMAIN.shape):
        mean = np.full((n, n), 1 / n)
        result = np.kron(result, np.eye(n) - mean if axis in subset else mean)
    return result


def domain_precision(mechanism: MarginalMechanism, infinite: float = 1e12) -> NDArray[np.float64]:
    """W = sum_A s_A M_A' (projection onto the residual) M_A: `u' W u` is the squared length of a change of the histogram."""
    total = np.zeros((DOMAIN.size, DOMAIN.size))
    for subset, s in zip(mechanism.workload.measured.tuples(), mechanism.precisions, strict=True):
        others = np.prod([n for axis, n in enumerate(DOMAIN.shape) if axis not in subset])
        total += min(s, infinite) * others * projection(subset)
    return total


# ---- the basis


@given(st.lists(st.integers(1, 5), max_size=3), st.integers(0, 2**31))
def test_contrasts_are_orthogonal_coordinates_of_what_margins_leave(shape: list[int], seed: int) -> None:
    table = np.random.default_rng(seed).integers(-100, 100, shape)
    centred = table.astype(float)
    for axis in range(len(shape)):
        centred = centred - centred.mean(axis=axis, keepdims=True)
    coordinates = residual(table)
    assert coordinates.dtype == np.int64 and coordinates.shape == tuple(n - 1 for n in shape)
    assert (coordinates**2 / squared_norms(shape)).sum() == pytest.approx((centred**2).sum())


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_synthesis_inverts_the_analysis(n: int) -> None:
    analysis = np.vstack([np.ones((1, n)), np.stack([residual(row) for row in np.eye(n, dtype=int)], axis=1)])
    assert np.allclose(synthesis(n) @ analysis, np.eye(n))


def test_contrasts_of_huge_counts_stay_exact() -> None:
    table = np.full((2, 2), 2**53 - 1)
    table[0, 0] = 0
    made = design_marginals(MarginalWorkload.of(Domain.of({"a": 2, "b": 2}), [("a", "b")]), Presence(mu=1e6))
    released = made.release(Counts({("a", "b"): table}))
    assert int(released.residuals[(0, 1)][0, 0]) + (2**53 - 1) in range(-2, 3)


# ---- subsets


def test_subsets_of_subsets_agree_with_sets() -> None:
    generator = np.random.default_rng(4)
    domain = Domain.of({f"a{i}": int(n) for i, n in enumerate(generator.integers(1, 5, 300))})
    chosen = {tuple(sorted(generator.choice(300, size, replace=False).tolist())) for size in (0, 1, 2, 2, 3, 4, 4, 3)}
    work = MarginalWorkload.of(domain, [tuple(domain.attributes[i] for i in s) for s in chosen])
    kept = [{i for i in s if domain.shape[i] > 1} for s in chosen]
    closure = {part for s in kept for r in range(len(s) + 1) for part in combinations(sorted(s), r)}
    assert set(work.subsets.tuples()) == chosen and set(work.measured.tuples()) == closure
    assert work.measured.tuples() == sorted(closure, key=lambda s: (len(s), s))
    assert set(work.maximal.tuples()) == {s for s in chosen if not any(set(s) < set(t) for t in chosen)}


def test_all_marginals_up_to_an_order() -> None:
    work = MarginalWorkload.up_to(Domain.of({f"a{i}": 2 for i in range(6)}), 3)
    assert work.subsets.tuples() == [c for r in (1, 2, 3) for c in combinations(range(6), r)]


# ---- privacy


@pytest.mark.parametrize("loss", ["squared", "max"])
@pytest.mark.parametrize("protection", PROTECTIONS)
def test_every_pair_of_cells_keeps_its_budget(protection: str, loss: str) -> None:
    """All pairs of the full domain, with lengths from projections on it; the worst ratio is the certified one."""
    made = small(protection, loss)
    precision = domain_precision(made)
    if isinstance(made.protection, Presence):
        ratios = np.sqrt(precision.diagonal()) / made.protection.epsilon
    else:
        d = np.diag(precision)
        lengths = np.sqrt(np.maximum(d[:, None] + d - 2 * precision, 0))
        budgets = made.protection.distances()
        protected = np.isfinite(budgets) & (budgets > 0)
        ratios = lengths[protected] / budgets[protected]
    assert ratios.max() <= 1 + 1e-6 * (protection == "partly free") + 1e-12
    assert ratios.max() == pytest.approx(float(made.privacy.worst_ratio or 0), abs=1e-6)


def test_lattice_change_of_real_contrasts_has_the_certified_length() -> None:
    """The contrasts of two data sets that differ in one attribute, as the release computes them, not by the formula."""
    from designer.domains.marginals_noise import true_residuals

    made = small()
    for axis, name in enumerate(DOMAIN.attributes[:3]):
        for cell in product(*(range(n) for n in DOMAIN.shape)):
            if cell[axis] == 0:
                continue
            x, y = histogram(), histogram()
            x[cell] += 1
            y[(*cell[:axis], 0, *cell[axis + 1 :])] += 1
            one, other = (
                true_residuals(made.position, {s: marginal(z, made.workload.names(s)) for s in made.workload.maximal.tuples()})
                for z in (x, y)
            )
            length = Fraction(0)
            for part, s in zip(made.workload.measured.tuples(), made.precisions, strict=True):
                moved = (one[part] - other[part]).ravel()
                norms = squared_norms(made.workload.shape(part)).ravel()
                if moved.any():
                    length += Fraction(float(s)) * sum(Fraction(int(u) ** 2, int(k)) for u, k in zip(moved, norms, strict=True))
            [change] = [c for c in made.changes if repr(name) in c.words]
            assert length == change.spent(made.precisions) <= Fraction(BUDGETS[name]) ** 2


def test_fractions_are_made_for_each_length_and_exponent_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a change spends of 176 residuals is a sum of few fractions: their number follows the lengths, not the tables."""
    made = design_marginals(MarginalWorkload.up_to(Domain.of(dict.fromkeys("abcdefghij", 3)), 3), Presence(mu=1.0))
    asked = list[int]()
    monkeypatch.setattr(plain, "dyadic_sum", lambda values: asked.append(len(values)) or dyadic_sum(values))
    [change] = made.changes
    assert made.verify().holds and sum(asked) == len(made.precisions) == 176
    assert len(asked) == len({*zip(change.numerators.tolist(), change.denominators.tolist(), strict=True)}) == 4


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_floats_are_those_of_the_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(300) * 10.0 ** rng.integers(-300, 300, 300)
    values[:3] = 0.0, 5e-324, np.nextafter(2.0, 3.0)
    assert dyadic_sum(values) == sum(map(Fraction, values.tolist()))
    assert dyadic_sum(np.full(5000, np.nextafter(1.0, 0.0))) == 5000 * (1 - Fraction(1, 2**53))
    assert dyadic_sum(np.zeros(0)) == 0


def test_too_precise_is_not_private() -> None:
    made = small()
    with pytest.raises(NotPrivate, match=r"'(a|b|c)' alone .* 1\.00004\d* times"):
        MarginalMechanism(made.workload, made.protection, made.precisions * 1.0001)
    for k in np.flatnonzero(np.isfinite(made.precisions)):
        weaker = made.precisions.copy()
        weaker[k] *= 1.01
        with pytest.raises(NotPrivate):
            MarginalMechanism(made.workload, made.protection, weaker)
    infinite = made.precisions.copy()
    infinite[1] = np.inf
    with pytest.raises(InvalidProblem, match="needs noise"):
        MarginalMechanism(made.workload, made.protection, infinite)


@pytest.mark.parametrize("coordinate", [(0,), (2,), (0, 0), (2, 1)])
def test_noise_follows_the_certified_law(coordinate: tuple[int, ...]) -> None:
    """Chi-square of one contrast, over all subsets of its order, against exp(-z^2 / (2 v)), v from the certified precision."""
    domain = Domain.of({f"a{i}": 4 for i in range(60 if len(coordinate) == 2 else 600)})
    made = design_marginals(MarginalWorkload.up_to(domain, len(coordinate)), Presence(mu=40.0))
    members = np.flatnonzero(made.workload.measured.orders == len(coordinate))
    assert np.ptp(made.precisions[members]) < 1e-9 * made.precisions[members[0]]
    variance = float(squared_norms((4,) * len(coordinate))[coordinate] / made.precisions[members[0]])
    runs = [list(made.noise.draw(SeededEntropy(seed))) for seed in range(6)]
    draws = np.array([int(run[k][coordinate]) for run in runs for k in members])
    reach = int(np.ceil(9 * np.sqrt(variance))) + 1
    law = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    assert p_value(np.bincount(draws + reach, minlength=2 * reach + 1), law / law.sum()) > FAILURE_PROBABILITY


# ---- accuracy


@pytest.mark.parametrize("loss", ["squared", "max"])
@pytest.mark.parametrize("budgets", [BUDGETS, dict.fromkeys(BUDGETS, 0.2)], ids=["each its own", "all equal"])
def test_optimum_is_that_of_the_ellipsoid_program(budgets: dict[str, float], loss: str) -> None:
    """The general Gaussian program over the full domain, which knows nothing of residuals, has the same optimum."""
    names = [("a", "b"), ("b", "c"), ("a",)]
    relation = metrics.hamming(DOMAIN, budgets)
    made = design_marginals(MarginalWorkload.of(DOMAIN, names), relation, loss)  # type: ignore[arg-type]
    dense = design(Problem(Workload.marginals(DOMAIN, names), relation, notion="zcdp", loss=loss), "gaussian")
    assert made.optimality is not None and made.optimality.gap < 1e-5
    assert dense.optimality is not None and made.optimality.lower_bound <= dense.optimality.value * (1 + 1e-9)
    assert dense.optimality.lower_bound <= made.optimality.value * (1 + 1e-9)
    assert made.optimality.value == pytest.approx(dense.optimality.value, rel=2e-5)
    assert made.error(loss) == pytest.approx(dense.mechanism.error(loss), rel=2e-5)


def test_presence_of_a_record_has_the_closed_optimum() -> None:
    """Residual planning with one budget: `(sum_A sqrt(v_A g_A))^2 / epsilon^2`, v and g written out here from sets."""
    domain, epsilon = Domain.of({"a": 3, "b": 4, "c": 5, "d": 2}), 0.3
    sizes = domain.shape
    for order in (1, 2, 3, 4):
        tables = [b for r in range(1, order + 1) for b in combinations(range(4), r)]
        total = 0.0
        for a in {part for b in tables for r in range(len(b) + 1) for part in combinations(b, r)}:
            g = np.prod([(sizes[i] - 1) / sizes[i] for i in a])
            cells = [np.prod([1 / sizes[i] for i in b if i not in a]) for b in tables if set(a) <= set(b)]
            total += np.sqrt(sum(cells) * np.prod([sizes[i] - 1 for i in a]) * g)
        made = design_marginals(MarginalWorkload.up_to(domain, order), Presence(mu=epsilon))
        assert made.optimality is not None and made.optimality.gap < 1e-11
        assert made.error() == pytest.approx(float((total / epsilon) ** 2), rel=1e-9)


@pytest.mark.parametrize("protection", ["attributes", "presence"])
def test_variances_and_covariances_agree_with_the_full_domain(protection: str) -> None:
    """Best unbiased answers under precision W on the domain have covariance `Q W^+ Q'`;
    the tables' is pushed through `assemble`."""
    made = small(protection)
    names = list(map(made.workload.names, made.workload.subsets.tuples()))
    queries = Workload.marginals(DOMAIN, names).dense()
    inverse = np.zeros((DOMAIN.size, DOMAIN.size))
    for subset, s in zip(made.workload.measured.tuples(), made.precisions, strict=True):
        if np.isfinite(s):
            others = np.prod([n for axis, n in enumerate(DOMAIN.shape) if axis not in subset])
            inverse += projection(subset) / (s * others)
    expected = queries @ inverse @ queries.T
    assert np.allclose(np.concatenate([made.variances(n, planned=True).ravel() for n in names]), expected.diagonal(), rtol=1e-9)
    assert np.allclose(_pushed_covariance(made, names), expected, rtol=1e-9, atol=1e-9 * expected.max())


def _pushed_covariance(made: MarginalMechanism, names: list[tuple[str, ...]]) -> NDArray[np.float64]:
    """Covariance of all cells from unit noise in every single contrast, one after another."""
    from designer.domains.marginals import SimulatedTables

    parts = made.workload.measured.tuples()
    zero = {part: np.zeros([n - 1 for n in made.workload.shape(part)]) for part in parts}
    columns = []
    for k, part in enumerate(parts):
        if np.isinf(made.precisions[k]):
            continue
        deviations = np.sqrt(made.noise.planned(k))
        for place in np.ndindex(zero[part].shape):
            unit = zero[part].copy()
            unit[place] = deviations[place]
            tables = SimulatedTables(made, tuple({**zero, part: unit}.values()), "").tables()
            columns.append(np.concatenate([tables[n].ravel() for n in names]))
    return np.array(columns).T @ np.array(columns)


def test_discrete_variances_by_simulation_where_the_integers_show() -> None:
    """Narrow noise: each cell's own variance from 3,000 tables,
    each within 6 standard errors (failure below 1e-6 over 8 cells)."""
    domain = Domain.of({f"a{i}": 2 + 2 * (i % 2) for i in range(600)})
    pairs = [(f"a{i}", f"a{i + 1}") for i in range(0, 600, 2)]
    made = design_marginals(MarginalWorkload.of(domain, pairs), metrics.hamming(domain, [8.0] * 600))
    assert not made.noise.wide
    draws = np.array([table for seed in range(10) for table in made.simulate(1, seed=seed)[0].tables().values()])
    expected = made.variances(pairs[0])
    assert (expected <= made.variances(pairs[0], planned=True) * (1 + 1e-12)).all() and np.ptp(expected) > 1e-3
    error = np.sqrt(((draws**4).mean(axis=0) - expected**2) / len(draws))
    assert len(draws) == 3000 and (np.abs((draws**2).mean(axis=0) - expected) <= 6 * error).all()
    assert made.optimality is not None and made.optimality.lower_bound < made.error() == made.optimality.value


# ---- releases


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_without_noise_tables_come_back(protection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, x = small(protection), histogram(3)
    nothing = [np.zeros([n - 1 for n in shape], dtype=np.int64) for shape in made.noise.shapes]
    monkeypatch.setattr(type(made.noise), "draw", lambda self, entropy: iter(nothing))
    released = made.release(Counts(all_tables(x)))
    for names, table in released.tables().items():
        assert np.allclose(table, marginal(x, names), atol=1e-9)
    assert np.allclose(released.table(["b"]), marginal(x, ("b",))) and np.allclose(released.table([]), x.sum())


def test_released_tables_agree_with_each_other_and_publish_the_total() -> None:
    x = histogram(5)
    released = small().release(Counts(all_tables(x)))
    ab, bc, a = (released.table(names) for names in (("a", "b"), ("b", "c"), ("a",)))
    assert np.allclose(ab.sum(axis=1), a) and np.allclose(ab.sum(axis=0), bc.sum(axis=1))
    assert a.sum() == pytest.approx(x.sum(), abs=1e-9)
    assert not np.allclose(a, marginal(x, ("a",)))
    assert released.fingerprint == small().fingerprint and released.guarantee == small().guarantee
    written = json.loads(json.dumps(released.to_dict()))
    assert [t["attributes"] for t in written["tables"]] == [["a"], ["a", "b"], ["b", "c"], ["c", "d"]]


def test_unprotected_attributes_are_published_exactly_and_said_so() -> None:
    made, x = small("partly free"), histogram(1)
    released = made.release(Counts(all_tables(x)))
    assert np.allclose(released.table(("a",)), marginal(x, ("a",))) and (made.variances(("a",)) == 0).all()
    assert (made.variances(("a", "b")) > 0).all()
    assert "published exactly: 'a'" in made.guarantee.to_text()
    free = design_marginals(MarginalWorkload.of(DOMAIN, [("a",)]), made.protection, allow_vacuous=True)
    assert free.privacy.holds and free.error() == 0 and np.isinf(free.precisions).all()


def records(x: NDArray[np.int64]) -> dict[str, list[str]]:
    cells = np.repeat(np.argwhere(x >= 0), x.ravel(), axis=0)
    return {name: cells[:, k].astype(str).tolist() for k, name in enumerate(DOMAIN.attributes)}


def test_columns_frames_databases_and_tables_give_the_same_contrasts(monkeypatch: pytest.MonkeyPatch) -> None:
    made, x = small(), histogram(2)
    nothing = [np.zeros([n - 1 for n in shape], dtype=np.int64) for shape in made.noise.shapes]
    monkeypatch.setattr(type(made.noise), "draw", lambda self, entropy: iter(nothing))
    columns = records(x)
    released = [made.release(columns), made.release(Counts(all_tables(x)))]
    released.append(
        made.release(
            Counts(
                {
                    ("b", "a"): marginal(x, ("a", "b")).T,
                    ("b", "c"): marginal(x, ("b", "c")),
                    ("d", "c"): marginal(x, ("c", "d")).T,
                }
            )
        )
    )
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    released += [made.release(frame), made.release(frame.astype(int)), made.release(frame.astype("category"))]
    ibis = pytest.importorskip("ibis")
    released.append(made.release(ibis.memtable(frame.astype({"a": int}))))
    for other in released[1:]:
        assert all(
            np.array_equal(other.residuals[part], released[0].residuals[part]) for part in made.workload.measured.tuples()
        )


def test_two_releases_differ_and_simulation_repeats() -> None:
    made, tables = small(), all_tables(histogram())
    assert not np.array_equal(made.release(Counts(tables)).table(("a", "b")), made.release(Counts(tables)).table(("a", "b")))
    one, two = made.simulate(1, seed=4)[0], made.simulate(1, seed=4)[0]
    assert np.array_equal(one.table(("b", "c")), two.table(("b", "c"))) and "not private" in one.stamp and "seed 4" in one.stamp


def test_refusals_show_no_confidential_value() -> None:
    made, columns = small(), records(histogram())
    canary = "canary-8731"

    def refusal(call: Any, data: Any) -> str:
        with pytest.raises(InvalidProblem) as caught:
            call(data)
        assert caught.value.__cause__ is None and canary not in str(caught.value)
        return str(caught.value)

    for bad in (canary, None, 7, float("nan")):
        assert refusal(made.release, {**columns, "b": [bad, *columns["b"][1:]]}) == UNKNOWN
    assert refusal(made.release, {**columns, "b": columns["b"][1:]}) == UNEQUAL
    assert "'b'" in refusal(made.release, {k: v for k, v in columns.items() if k != "b"})
    tables = all_tables(histogram())
    moved = tables[("b", "c")].copy()
    moved[0, 0] += 1
    assert refusal(made.release, Counts({**tables, ("b", "c"): moved})) == INCONSISTENT
    for bad in (-1, 0.5, np.nan, 2.0**53):
        spoiled = tables[("a", "b")].astype(float)
        spoiled[1, 1] = bad
        assert refusal(made.release, Counts({**tables, ("a", "b"): spoiled})) == UNUSABLE
    assert refusal(made.release, Counts({**tables, ("a", "b"): [[canary, 1], [1]]})) == UNUSABLE
    assert "(3, 2) is needed" in refusal(made.release, Counts({**tables, ("a", "b"): np.ones((2, 3))}))
    assert "missing" in refusal(made.release, Counts({("a", "b"): tables[("a", "b")]}))


def test_a_database_with_an_unknown_or_missing_value_is_refused() -> None:
    pandas, ibis = pytest.importorskip("pandas"), pytest.importorskip("ibis")
    columns = records(histogram())
    for bad in ("canary", None):
        frame = pandas.DataFrame({**columns, "c": [bad, *columns["c"][1:]]})
        with pytest.raises(InvalidProblem) as caught:
            small().release(ibis.memtable(frame))
        assert str(caught.value) == UNKNOWN


# ---- validation and files


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MarginalWorkload.of(DOMAIN, [("a", "a")]), "each named once"),
        (lambda: MarginalWorkload.of(DOMAIN, ["ab"]), "not a list of attributes"),
        (lambda: MarginalWorkload.of(DOMAIN, [("z",)]), "is not one of"),
        (lambda: MarginalWorkload.of(DOMAIN, []), "is empty"),
        (lambda: MarginalWorkload.of(DOMAIN, [("a", "b"), ("b", "a")]), "twice"),
        (lambda: MarginalWorkload.of(DOMAIN, {("a",): 0.0}), "weights"),
        (lambda: MarginalWorkload.up_to(DOMAIN, 0), "order"),
        (lambda: MarginalWorkload.up_to(Domain.of({f"a{i}": 1000 for i in range(3)}), 3), "cells"),
        (
            lambda: MarginalWorkload.of(Domain.of({f"a{i}": 2 for i in range(26)}), [[f"a{i}" for i in range(26)]]).measured,
            "subsets of their own",
        ),
        (lambda: MarginalWorkload(DOMAIN, small().workload.subsets, np.ones(2)), "one for each subset"),
        (lambda: Presence(epsilon=-1.0), "epsilon"),
        (lambda: small(loss="absolute"), '"squared" or "max"'),
        (lambda: small().error("absolute"), '"squared" or "max"'),
        (lambda: small().variances(("a", "c")), "within no requested"),
        (lambda: MarginalMechanism(small().workload, Presence(mu=1.0), np.ones(3)), "one for each residual"),
        (lambda: MarginalMechanism(small().workload, Presence(mu=1.0), small().precisions * -1), "positive"),
        (lambda: design_marginals(small().workload, metrics.hamming(Domain.of({"a": 3}), [1.0])), "another domain|budgets"),
        (lambda: design_marginals(small().workload, Presence(mu=1e-30)), "too wide"),
    ],
)  # fmt: skip
def test_refused(build: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        build()


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_saved_and_loaded(protection: str, tmp_path: Path) -> None:
    made = small(protection)
    loaded = load(made.save(tmp_path / "m.json"))
    assert loaded == made and hash(loaded) == hash(made) and loaded.privacy == made.privacy
    assert loaded.optimality == made.optimality and loaded.provenance["family"] == "residual"
    assert loaded.release(Counts(all_tables(histogram()))).fingerprint == made.fingerprint


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda core: core["precisions"].__setitem__(2, core["precisions"][2] * 2), NotPrivate),
        (lambda core: core["precisions"].__setitem__(2, core["precisions"][2] / 2), InvalidSpec),
        (lambda core: core["precisions"].__setitem__(2, -1.0), InvalidSpec),
        (lambda core: core["precisions"].pop(), InvalidSpec),
        (lambda core: core["subsets"].pop(), InvalidSpec),
        (lambda core: core["subsets"].append([9]), InvalidSpec),
        (lambda core: core["subsets"].append([0, 0]), InvalidSpec),
        (lambda core: core["subsets"].reverse(), InvalidSpec),
        (lambda core: core["weights"].__setitem__(0, 7.0), InvalidSpec),
        (lambda core: core["values"][0].__setitem__(0, 0), InvalidSpec),
        (lambda core: core["values"][0].append("9"), (NotPrivate, InvalidSpec)),
        (lambda core: core["protection"]["budgets"].__setitem__(0, 0.1), NotPrivate),
        (lambda core: core["protection"]["budgets"].__setitem__(0, "inf"), InvalidSpec),
        (lambda core: core["protection"].__setitem__("kind", "nothing"), InvalidSpec),
        (lambda core: core.__setitem__("extra", 1), InvalidSpec),
    ],
)
def test_altered_files_are_refused(change: Any, error: Any, tmp_path: Path) -> None:
    path = small().save(tmp_path / "m.json")
    data = json.loads(path.read_text())
    change(data["mechanism"])
    data["seal"] = seal(data)
    path.write_text(json.dumps(data))
    with pytest.raises(error):
        load(path)


# ---- size


def test_a_hundred_attributes_are_designed_and_proven() -> None:
    domain = Domain.of({f"a{i}": 10 for i in range(100)})
    budgets = np.random.default_rng(0).uniform(0.1, 1, 100).tolist()
    made = design_marginals(MarginalWorkload.up_to(domain, 2), metrics.hamming(domain, budgets))
    assert made.optimality is not None and made.optimality.gap < 1e-8 and made.privacy.holds
    assert made.error() == pytest.approx(made.optimality.value, rel=1e-9)
    assert domain.size == 10**100


@pytest.mark.parametrize(("attributes", "order", "seed"), [(100, 2, 0), (100, 2, 4), (30, 3, 10)])
def test_programs_whose_path_once_went_astray(attributes: int, order: int, seed: int) -> None:
    domain = Domain.of({f"a{i}": 10 for i in range(attributes)})
    budgets = np.random.default_rng(seed).uniform(0.1, 1, attributes).tolist()
    made = design_marginals(MarginalWorkload.up_to(domain, order), metrics.hamming(domain, budgets), "max")
    assert made.optimality is not None and made.optimality.gap <= 1e-6


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31))
def test_any_workload_is_certified_within_its_gap(seed: int) -> None:
    generator = np.random.default_rng(seed)
    attributes = int(generator.integers(1, 8))
    domain = Domain.of({f"a{i}": int(generator.integers(1, 12)) for i in range(attributes)})
    chosen = {
        tuple(sorted(generator.choice(attributes, generator.integers(0, min(attributes, 4) + 1), replace=False)))
        for _ in range(5)
    }
    weights = {tuple(domain.attributes[i] for i in s): float(10 ** generator.uniform(-2, 2)) for s in chosen}
    budgets = [float(10 ** generator.uniform(-5, 3)) if generator.random() < 0.8 else np.inf for _ in range(attributes)]
    for loss in ("squared", "max"):
        asked = MarginalWorkload.of(domain, weights)
        made = design_marginals(asked, metrics.hamming(domain, budgets), loss, allow_vacuous=True)  # type: ignore[arg-type]
        assert made.optimality is not None and made.privacy.holds
        assert made.optimality.gap < 2e-6 or not made.noise.wide
        assert made.error(loss) == made.optimality.value >= made.optimality.lower_bound


def test_tables_that_no_noise_enters_hold_the_counts_themselves() -> None:
    people = Domain.of({"a": 7, "b": 5, "c": 2})
    asked = MarginalWorkload.of(people, [["a", "b"], ["a", "c"]])
    mechanism = design_marginals(asked, metrics.hamming(people, {"a": math.inf, "b": math.inf, "c": 1.0}))
    rows = np.random.default_rng(8).integers(0, people.shape, (2_000, 3))
    true = np.zeros(people.shape, dtype=int)
    np.add.at(true, tuple(rows.T), 1)
    released = mechanism.release(dict(zip(people.attributes, rows.T, strict=True)))
    assert (released.table(["a", "b"]) == true.sum(2)).all() and (released.table(["b"]) == true.sum((0, 2))).all()
    assert mechanism.is_exact(["a", "b"]) and not mechanism.is_exact(["a", "c"])


def test_a_record_with_an_unlisted_value_is_in_no_table_where_such_are_left_out() -> None:
    """Whatever attribute the value is of, and in the tables of the others too: counted one by one."""
    domain = Domain.of({"a": 3, "b": ["x", "y"], "c": 2}, "drop")
    workload = MarginalWorkload.of(domain, [("a", "b"), ("c",)])
    rng = np.random.default_rng(2)
    rows = list(zip(rng.integers(0, 4, 60).tolist(), rng.choice(["x", "y", "z"], 60).tolist(), [0, 1, 2] * 20, strict=True))
    kept = [(a, "xy".index(b), c) for a, b, c in rows if a < 3 and b != "z" and c < 2]
    assert 10 < len(kept) < 50
    found = tables_of_columns(workload, dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
    assert found[0, 1].tolist() == [[sum((a, b) == (i, j) for a, b, _ in kept) for j in range(2)] for i in range(3)]
    assert found[2,].tolist() == [sum(c == k for *_, c in kept) for k in range(2)]


def test_tables_whose_names_are_put_together_alike_stay_apart() -> None:
    """One over "a x b", and one over a and b: neither is lost among frames by name, and a target of either is refused."""
    domain = Domain.of({"a x b": ["0", "1"], "a": ["0", "1"], "b": ["0", "1"]})
    workload = MarginalWorkload.of(domain, [["a", "b"], ["a x b"]])
    records = {"a x b": ["0", "1"], "a": ["0", "1"], "b": ["1", "1"]}
    released = design_marginals(workload, Presence(mu=0.5)).release(records)
    frames = released.to_frames("pyarrow")
    assert list(frames) == ["a x b", "a x b (2)"] and [len(frame) for frame in frames.values()] == [2, 4]
    for asked in (5.0, {("a", "b"): 5.0}):
        with pytest.raises(InvalidProblem, match="two tables are called 'a x b'"):
            least_marginal_budget(workload, Presence(mu=1.0), Targets(standard_error=asked))
