"""Products of whole-number rows: against the matrices written out, and never above folklore."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from designer import (
    DesignFailed,
    InvalidProblem,
    MarginalProblem,
    MarginalWorkload,
    NotPrivate,
    Presence,
    StructuredMechanism,
    StructuredProblem,
    StructuredWorkload,
    Targets,
    design,
    least_budget,
    load,
    metrics,
    read_release,
    save_release,
)
from designer.domains import directions
from designer.domains.products_noise import MeasuredProduct, Noise, StrategyMatrix
from designer.domains.products_plan import design_structured, within_budget
from designer.domains.products_release import answers_of_products
from designer.domains.whole_products import best_products
from designer.problem.domain import Domain
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace
from solvers.programs.noise_costs import GaussianCost, NoiseCost
from solvers.programs.strategy import hierarchical
from solvers.programs.whole_blocks import Blocks
from solvers.programs.whole_strategy import POWERS
from tests.domains.test_structured import measured_rows, written_out

DOMAIN = Domain.of({"age": 4, "sex": ["F", "M"], "pay": 3})
ASKED = StructuredWorkload.of(DOMAIN, [{"age": "prefix", "pay": "identity"}, {"sex": "identity"}, {"age": [[1, 0, 0, 2]]}])
CELLS = {axis: np.eye(n, dtype=np.int64) for axis, n in enumerate(DOMAIN.shape)}
LEVELS = {
    0: (CELLS[0], np.repeat(np.eye(2, dtype=np.int64), 2, axis=1)),
    1: (CELLS[1],),
    2: (hierarchical(3, 2).astype(np.int64),),
}


def variance(noise: str, strength: float) -> float:
    """Of the law that is drawn, one coordinate."""
    law = DiscreteLaplace([Fraction(strength)]) if noise == "laplace" else DiscreteGaussian([1 / Fraction(strength)])
    return float(law.variance()[0])


@pytest.mark.parametrize(
    ("queries", "epsilon", "noise", "searched"),
    [
        ("identity", 0.5, "gaussian", False),
        ("prefix", 0.5, "gaussian", False),
        ("identity", 0.5, "laplace", False),
        ("prefix", 6.0, "gaussian", True),
        ("prefix", 0.5, "laplace", True),
    ],
)
def test_other_rows_are_searched_only_where_a_bound_leaves_something_to_find(
    queries: str, epsilon: float, noise: Noise, searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = StructuredWorkload.of(Domain.of({"age": 6, "pay": 4}), [{"age": queries, "pay": "identity"}])
    looked: list[int] = []
    monkeypatch.setattr(
        "designer.domains.products_plan.best_products", lambda *asked: looked.append(1) or best_products(*asked)
    )
    made = design_structured(asked, Presence(**{"mu" if noise == "gaussian" else "epsilon": epsilon}), noise)
    assert looked == [1] * searched
    assert searched or (made.optimality is not None and made.optimality.lower_bound >= (1 - 1e-4) * made.error())


def put_together(noise: Noise, seed: int) -> StructuredMechanism:
    """Random blocks over random attributes, with levels of the first one, at a random budget."""
    random = np.random.default_rng(seed)
    matrices = {axis: tuple(map(StrategyMatrix, listed)) for axis, listed in LEVELS.items()}
    parts = [{0: 0, 1: 0, 2: 0}]
    for size in range(4):
        for axes in combinations(range(3), size):
            if random.random() < 0.6:
                parts.append({axis: int(random.integers(len(matrices[axis]))) for axis in axes})
    blocks = [MeasuredProduct(part, float(random.lognormal())) for part in parts]
    hidden = Presence(**{"mu" if noise == "gaussian" else "epsilon": float(random.uniform(0.5, 6))})
    return within_budget(ASKED, hidden, noise, matrices, blocks, "together")


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("seed", range(6))
def test_answers_are_the_least_squares_of_all_blocks_at_the_variances_of_the_drawn_laws(noise: Noise, seed: int) -> None:
    made = put_together(noise, seed)
    rows, strengths = measured_rows(made)
    variances = np.array([variance(noise, s) for s in strengths])
    asked = np.concatenate(written_out(ASKED))
    inverse = np.linalg.inv((rows.T / variances) @ rows)
    least = asked @ inverse @ (rows.T / variances)
    found = answers_of_products(made)
    assert np.allclose(found @ rows, asked, atol=1e-9)  # unbiased
    assert np.allclose(found, least, atol=1e-8)
    everything = [np.array(list(np.ndindex(*[q.count for q in term.values()]))) for term in ASKED.terms]
    stated = np.concatenate([made.variances(k, places) for k, places in enumerate(everything)])
    assert np.allclose(stated, np.square(least) @ variances, rtol=1e-9)
    assert made.term_errors.sum() == pytest.approx(stated.sum(), rel=1e-9)
    assert made.error() == pytest.approx(np.trace(asked @ inverse @ asked.T), rel=1e-9)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", ["presence", "attributes"])
def test_what_the_worst_change_spends_is_that_of_all_changes_written_out(noise: Noise, relation: str) -> None:
    presence = Presence(**{"mu" if noise == "gaussian" else "epsilon": 2.5})
    protection = presence if relation == "presence" else metrics.hamming(DOMAIN, [2.0, 3.0, 5.0])
    found = best_products(ASKED, protection, noise)
    made = within_budget(ASKED, protection, noise, found.matrices, found.blocks, found.serves)
    rows, strengths = measured_rows(made)
    cells = list(np.ndindex(*DOMAIN.shape))
    power, spent = (1 if noise == "laplace" else 2), [0.0]
    for i, one in enumerate(cells):
        if relation == "presence":
            spent.append((strengths @ np.abs(rows[:, i]) ** power) / 2.5**power)
            continue
        for j, other in enumerate(cells[:i]):
            budget = sum(b for b, u, v in zip((2.0, 3.0, 5.0), one, other, strict=True) if u != v)
            spent.append((strengths @ np.abs(rows[:, i] - rows[:, j]) ** power) / budget**power)
    assert max(spent) ** (1 / power) == pytest.approx(float(made.privacy.worst_ratio or 0), rel=1e-6)
    assert max(spent) <= 1
    assert made.error() == pytest.approx(found.loss, rel=1e-6)


def test_blocks_a_little_louder_are_not_private() -> None:
    made = put_together("laplace", 1)
    louder = tuple(MeasuredProduct(block.parts, block.strength * 1.001) for block in made.blocks)
    with pytest.raises(NotPrivate):
        StructuredMechanism(ASKED, made.protection, made.noise, made.matrices, louder, "together")


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_simulated_answers_have_the_stated_variances(noise: Noise) -> None:
    """4,000 draws: variances within 20 % (failure below 1e-6 for 20 answers whose fourth moments are at most 9 squares)."""
    made = put_together(noise, 4)
    drawn = made.simulate(4000, seed=1)
    for k, term in enumerate(ASKED.terms):
        places = np.array(list(np.ndindex(*[q.count for q in term.values()])))
        answers = np.array([one.answers(places, k) for one in drawn])
        assert np.allclose(answers[:3], [one.table(k).ravel() for one in drawn[:3]])
        assert np.allclose(answers.var(axis=0), made.variances(k, places), rtol=0.2)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_specs_and_releases_are_read_back(noise: Noise, tmp_path: Path) -> None:
    made = put_together(noise, 2)
    again = load(made.save(tmp_path / "made.json"))
    assert isinstance(again, StructuredMechanism) and again.serves == "together" and again.fingerprint == made.fingerprint
    counts = np.random.default_rng(0).integers(0, 9, DOMAIN.size)
    released = again.release(counts)
    read = read_release(again, save_release(again, released, tmp_path / "released.json"))
    assert [own.answers.tolist() for own in read.answer_tables()] == [own.answers.tolist() for own in released.answer_tables()]


def test_without_noise_the_answers_are_the_true_ones() -> None:
    matrices = {axis: tuple(map(StrategyMatrix, listed)) for axis, listed in LEVELS.items()}
    parts = [{0: 0, 1: 0, 2: 0}, {0: 1, 2: 0}, {}]
    made = within_budget(
        ASKED, Presence(epsilon=3000.0), "laplace", matrices, [MeasuredProduct(part, 1.0) for part in parts], "together"
    )
    counts = np.random.default_rng(0).integers(0, 99, DOMAIN.size)
    released = made.release(counts)
    for k, matrix in enumerate(written_out(ASKED)):
        assert np.allclose(released.table(k).ravel(), matrix @ counts, atol=1e-9)


def test_many_coefficients_are_bounded_by_their_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    made = put_together("laplace", 3)
    assert made.together is not None
    exact = [made.together.maps(term, block) for term in ASKED.terms for block in made.blocks]
    monkeypatch.setattr(directions, "WRITTEN", 0)
    bounds = [made.together.maps(term, block) for term in ASKED.terms for block in made.blocks]
    for (squares, largest), (same, above) in zip(exact, bounds, strict=True):
        assert np.allclose(squares, same, rtol=1e-9, atol=1e-15)
        assert (above >= largest * (1 - 1e-12)).all()


def test_matrices_without_a_common_basis_are_refused() -> None:
    apart = {**LEVELS, 0: (CELLS[0], np.array([[1, 2, 3, 5], [1, -1, 0, 1]]))}
    matrices = {axis: tuple(map(StrategyMatrix, listed)) for axis, listed in apart.items()}
    blocks = [MeasuredProduct({0: place, 1: 0, 2: 0}, 1.0) for place in (0, 1)]
    with pytest.raises(InvalidProblem, match="share no basis"):
        within_budget(ASKED, Presence(epsilon=1.0), "laplace", matrices, blocks, "together")
    few = [MeasuredProduct({0: 0, 1: 0}, 1.0)]
    with pytest.raises(InvalidProblem, match="not measured"):
        within_budget(ASKED, Presence(epsilon=1.0), "laplace", {axis: matrices[axis][:1] for axis in matrices}, few, "together")
    blocks = [MeasuredProduct({0: 0, 1: 0, 2: 0}, 1.0)]
    with pytest.raises(InvalidProblem, match="serves"):
        within_budget(ASKED, Presence(epsilon=1.0), "laplace", matrices, blocks, "all")  # type: ignore[arg-type]


@pytest.mark.parametrize("law", [NoiseCost, GaussianCost])
@pytest.mark.parametrize("loss", ["squared", "max"])
def test_the_gradient_is_that_of_differences(law: type[NoiseCost], loss: str) -> None:
    random = np.random.default_rng(3)
    reach = csr_array(random.uniform(0, 2, (5, 4)) * (random.random((5, 4)) < 0.7) + np.eye(5, 4))
    costs = csr_array(random.uniform(0.1, 1, (3, 5)))
    blocks = Blocks(reach, np.full(5, 0.1), costs, random.uniform(0.2, 2, (2, 4)), law, loss)  # type: ignore[arg-type]
    theta = random.normal(size=4)
    for power in POWERS[:2]:
        value, gradient = blocks.smooth(theta, power)
        for k in range(4):
            step = 1e-6 * np.eye(4)[k]
            slope = (blocks.smooth(theta + step, power)[0] - blocks.smooth(theta - step, power)[0]) / 2e-6
            assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-8)
        assert math.exp(value) >= blocks.loss(blocks.fitted(np.exp(theta))) * (1 - 1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("budget", [1e-4, 60.0, 700.0, 1300.0, 5000.0])
def test_budgets_of_any_size_are_searched_within_the_floats(budget: float, noise: Noise) -> None:
    asked = StructuredWorkload.of(DOMAIN, [{"age": "prefix", "pay": "identity"}, {"sex": "identity"}])
    presence = Presence(**{"mu" if noise == "gaussian" else "epsilon": budget})
    for relation in (presence, metrics.hamming(DOMAIN, [budget, 2 * budget, budget])):
        made = design_structured(asked, relation, noise)
        assert made.privacy.holds and (made.error() < 1e-10 if budget > 50 else made.error() > 1e6)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_rows_that_add_up_to_a_public_total_are_refused_as_nothing_to_hide(noise: Noise) -> None:
    domain = Domain.of({"a": 2, "b": 4})
    with pytest.raises(DesignFailed, match="no protected change moves"):
        design_structured(StructuredWorkload.of(domain, [{"a": [[1, 1]]}]), metrics.hamming(domain, [2.0, 1.0]), noise)


KINDS = ("identity", "identity", "prefix", "ranges", "total")


def drawn_problem(seed: int) -> StructuredProblem:
    """Random attributes, terms, weights, budgets and relations."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 5, int(random.integers(1, 4)))
    names = [f"a{k}" for k in range(len(sizes))]
    domain = Domain.of({name: int(n) for name, n in zip(names, sizes, strict=True)})
    terms: list[dict[str, object]] = []
    for _ in range(int(random.integers(1, 4))):
        chosen = [name for name in names if random.random() < 0.7] or names[:1]
        term: dict[str, object] = {name: KINDS[random.integers(len(KINDS))] for name in chosen}
        if random.random() < 0.3:
            n = domain.shape[names.index(chosen[0])]
            term[chosen[0]] = [[1, *random.integers(0, 3, n - 1).tolist()]]
        if all(kind == "total" for kind in term.values() if isinstance(kind, str)) and random.random() < 0.8:
            term[chosen[0]] = "identity"
        terms.append(term)
    weights = random.uniform(0.5, 2, len(terms)).tolist()
    budget = float(random.choice([0.3, 1.0, 2.0, 4.0, 8.0]))
    workload = StructuredWorkload.of(domain, terms, weights)
    budgets = (budget * random.choice([1.0, 1.0, 2.0], len(names))).tolist()
    presence = Presence(**{"epsilon" if seed % 2 else "mu": budget})
    relation = presence if random.random() < 0.6 else metrics.hamming(domain, budgets)
    return StructuredProblem(workload, relation, "pure" if seed % 2 else "zcdp")


def folklore(problem: StructuredProblem, merged: bool = False) -> dict[str, float]:
    """Counts of the finest cells, added up, and each product for itself with an equal share of the budget; merged: of what no
    query tells apart in place of the cells."""
    noise = "laplace" if problem.notion == "pure" else "gaussian"
    power = 1 if noise == "laplace" else 2
    domain, relation = problem.workload.domain, problem.relation
    rows = written_out(problem.workload)

    def strength(matrix: np.ndarray) -> float:
        """The largest at which the rows cost the whole budget."""
        if isinstance(relation, Presence):
            return float(relation.epsilon**power / (np.abs(matrix) ** power).sum(axis=0).max())
        cells = list(np.ndindex(*domain.shape))
        worst = 0.0
        for i, j in combinations(range(len(cells)), 2):
            budget = sum(
                b
                for b, u, v in zip(relation.budgets, cells[i], cells[j], strict=True)
                if u != v  # type: ignore[union-attr]
            )
            worst = max(worst, (np.abs(matrix[:, i] - matrix[:, j]) ** power).sum() / budget**power)
        return float(1 / worst) if worst else math.inf

    weighted = np.concatenate([math.sqrt(w) * own for own, w in zip(rows, problem.workload.weights, strict=True)])
    columns, label = weighted, np.arange(weighted.shape[1])
    if merged:
        columns, label = np.unique(weighted, axis=1, return_inverse=True)
    cells = (np.arange(columns.shape[1])[:, None] == np.ravel(label)).astype(float)
    each, shares = 0.0, sum(math.isfinite(strength(own)) for own in rows)
    for own, weight in zip(rows, problem.workload.weights, strict=True):
        if math.isfinite(reached := strength(own)):
            each += weight * len(own) * variance(noise, reached / shares)
    found = {"each": each}
    if math.isfinite(reached := strength(cells)):
        found["cells"] = float((columns**2).sum()) * variance(noise, reached)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_folklore_never_beats_products(seed: int) -> None:
    problem = drawn_problem(seed)
    known = folklore(problem)
    if not any(math.isfinite(value) and value > 0 for value in known.values()):
        return
    noise: Noise = "laplace" if problem.notion == "pure" else "gaussian"
    made = design_structured(problem.workload, problem.relation, noise)
    assert made.error() <= min(known.values()) * (1 + 1e-6)


@pytest.mark.parametrize("seed", [1, 4, 5, 12, 17, 20])
def test_folklore_never_beats_the_default(seed: int) -> None:
    problem = drawn_problem(seed)
    assert design(problem).loss <= min(folklore(problem, merged=True).values()) * (1 + 1e-6)


@pytest.mark.parametrize("loss", ["squared", "max"])
@pytest.mark.parametrize("notion", ["zcdp", "pure"])
@pytest.mark.parametrize("seed", range(6))
def test_folklore_never_beats_marginals(seed: int, notion: str, loss: str) -> None:
    random = np.random.default_rng(seed)
    domain = Domain.of({f"a{k}": int(random.integers(1, 5)) for k in range(3)} | {"b": 2})
    workload = MarginalWorkload.up_to(domain, int(random.integers(1, 4)))
    budget = float(random.choice([1.0, 2.0, 3.0, 8.0]))
    spread = (budget * random.choice([1.0, 2.0], 4)).tolist()
    presence = Presence(**{"mu" if notion == "zcdp" else "epsilon": budget})
    relation = presence if random.random() < 0.5 else metrics.hamming(domain, spread)
    asked = MarginalProblem(workload, relation, loss, notion=notion)  # type: ignore[arg-type]
    made = design(asked)
    noise = "laplace" if notion == "pure" else "gaussian"
    power = 1 if noise == "laplace" else 2
    least, moved = (budget, 1) if isinstance(relation, Presence) else (min(relation.budgets), 2)  # every attribute is asked
    sizes = [math.prod(workload.shape(own)) for own in workload.subsets.tuples()]
    cells = [math.prod(domain.shape) * variance(noise, least**power / moved)] * len(sizes)
    each = [n * variance(noise, least**power / moved / len(sizes)) for n in sizes]
    for errors in (cells, each):
        value = sum(errors) if loss == "squared" else max(e / n for e, n in zip(errors, sizes, strict=True))
        assert made.loss <= value * (1 + 1e-6)
    assert made.mechanism.error(loss) == made.loss and made.privacy.holds


def test_pure_marginals_have_no_other_family() -> None:
    asked = MarginalProblem(MarginalWorkload.up_to(Domain.of({"a": 2, "b": 3}), 1), Presence(epsilon=1.0), notion="pure")
    assert asked.families == ("structured",)
    with pytest.raises(InvalidProblem, match="residual"):
        design(asked, "residual")
    with pytest.raises(InvalidProblem, match="residual"):
        least_budget(asked, Targets(standard_error=3.0), "residual")
    with pytest.raises(InvalidProblem, match="notion"):
        MarginalProblem(asked.workload, asked.relation, notion="approximate")  # type: ignore[arg-type]


def residual_error(sizes: tuple[int, ...], asked: list[tuple[int, ...]], rates: dict[tuple[int, ...], float]) -> float:
    """The total variance of tables of attributes from noise in others: `sum over t of dim_t W_t / sum_A p(e_A) n_A [t in A]`,
    t the interactions, `n_A` how many cells a cell of A holds, `W_t` the same of the asked."""

    def held(table: tuple[int, ...], t: tuple[int, ...]) -> float:
        return float(math.prod(size for axis, size in enumerate(sizes) if axis not in table)) if set(t) <= set(table) else 0.0

    total = 0.0
    for t in (t for size in range(len(sizes) + 1) for t in combinations(range(len(sizes)), size)):
        wanted = sum(held(table, t) for table in asked)
        known = sum((math.cosh(rate) - 1) * held(table, t) for table, rate in rates.items())
        total += math.prod(sizes[axis] - 1 for axis in t) * wanted / known if wanted else 0.0
    return total


EVERY = [table for size in range(4) for table in combinations(range(3), size)]
PAIRS = list(combinations(range(4), 2))


@pytest.mark.parametrize(
    ("sizes", "asked", "rates"),
    [
        ((27, 2, 20), EVERY, {(1,): 0.0652, (0, 1, 2): 0.9348}),
        ((10, 12, 8), EVERY, {(): 0.0411, (0, 1, 2): 0.9589}),
        ((30, 2, 2, 40), PAIRS, {(0, 3): 0.4658, (0, 1, 2): 0.2564, (1, 2, 3): 0.2778}),
        ((10, 10), [(0, 1), (0,), (1,)], {(0, 1): 1.0}),
    ],
)
def test_groups_of_tables_are_measured_where_they_pay(sizes, asked, rates) -> None:
    """Tables that a search of all their subsets found: some that are asked are not measured, and others are in their place."""
    domain = Domain.of({f"a{axis}": size for axis, size in enumerate(sizes)})
    workload = MarginalWorkload.of(domain, [tuple(f"a{axis}" for axis in table) for table in asked])
    made = design(MarginalProblem(workload, Presence(epsilon=1.0), notion="pure"))
    assert made.loss <= residual_error(sizes, asked, rates) * (1 + 1e-9)
    found = {tuple(block.parts): block.strength for block in made.mechanism.blocks}
    assert made.loss == pytest.approx(residual_error(sizes, asked, found), rel=1e-9) and made.mechanism.privacy.holds
