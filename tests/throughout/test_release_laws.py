"""From mechanism to release: the noise in what `release(...)` returns follows the law that the certificate speaks of,
to 5 % in scale, every night to 1 %.

Every family and every frozen format. The operating system's generator is replaced by a seeded one underneath `SystemEntropy`;
samplers draw their numbers in batches from which releases take one after the other, because a batch costs what a single draw
costs. Statistics are scores of the scale: `||z||` follows Gamma(s) and `||z||^2` follows chi-square(s), so that n releases of s
dimensions tell a scale to 1 / root(n s). FAILURE_PROBABILITY: of each statistic beyond LIMIT standard errors under the right
law; seeds are fixed. A law so far off in scale (a Gaussian: in variance) lies 3.4 or more of them away: each test also asks
that its own draws, made so much wider or narrower, are rejected.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from designer import Counts, Problem, ReportProblem, Selection, StructuredWorkload, Workload, design, invariants, metrics
from designer.certificate.guarantee import ADDITIVE_FAMILIES
from designer.designing import FAMILIES
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.products_plan import design_structured
from designer.files.kinds import KINDS
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.noise import Tulap
from designer.odds_ratio.umpu import Margins
from designer.problem.domain import Domain
from designer.relations.metrics.presence import Presence
from designer.sampling import entropy
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.queries import LipschitzQueries
from designer.synthetic.small_databases import SmallDB
from designer.tables import Count, Groups, TablePlan
from designer.tradeoff.functions import EpsilonDelta
from tests.oracles.shallow import shallow

LIMIT, FAILURE_PROBABILITY = 2.6, 0.0094
DEGREES = 240_000  # 1 % of a scale is 4.9 standard errors, 5 % of a twelfth of them 7.1
PERCENT = 1
BATCH = 4096
COVERED = {
    f"dp-designer/{name}"
    for name in (
        "mechanism",
        "lattice-mechanism",
        "row-mechanism",
        "staircase-mechanism",
        "hierarchy-mechanism",
        "marginals",
        "structured-mechanism",
        "odds-ratio-test",
        "mwem",
        "table-plan",
        "small-db",
        "selection",
        "channel",
    )
}


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of a fixed stream in the place of the operating system's."""
    monkeypatch.setattr(entropy, "os", SimpleNamespace(urandom=np.random.default_rng(7).bytes))


@pytest.fixture(autouse=True, params=[5, pytest.param(1, marks=pytest.mark.nightly)], ids=["5 %", "1 %"])
def percent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much of a scale is found out, with as many draws as that takes."""
    monkeypatch.setitem(globals(), "PERCENT", request.param)


def draws(of_one_percent: float) -> int:
    """So many for 1 %, a twelfth of them for 5 %."""
    return math.ceil(of_one_percent / (1 if PERCENT == 1 else 12))


class Batched:
    """A sampler that draws many vectors at once and hands them out one by one."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.batch, self.left = draw, iter(())

    def draw(self, size: int, *rest: Any) -> Any:
        assert size == 1
        for row in self.left:
            return row[None] if isinstance(row, np.ndarray) else [row]
        self.left = iter(self.batch(BATCH, *rest))
        return self.draw(size, *rest)


def in_batches(sampler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws of one sampler in batches. Its class is patched and not the object that holds it, which is sealed."""
    kind = type(sampler)
    single = kind.draw
    drawn = Batched(functools.partial(single, sampler))

    def draw(self: Any, size: int, *rest: Any) -> Any:
        return drawn.draw(size, *rest) if self is sampler and size == 1 else single(self, size, *rest)

    monkeypatch.setattr(kind, "draw", draw)


def follows(statistic: Callable[[float], float], squared: bool = False) -> None:
    """`statistic(scale)` is the score, in standard errors, of the draws widened by `scale` (or under a law of that scale).

    squared: PERCENT is of the scale's square.
    """
    off = PERCENT / (200 if squared else 100)
    assert abs(statistic(1.0)) < LIMIT
    assert abs(statistic(1 - off)) > LIMIT and abs(statistic(1 + off)) > LIMIT


def radial(lengths: np.ndarray, dimension: int, falloff: str) -> Callable[[float], float]:
    """The score of norms that follow Gamma(s), or of roots of chi-square(s)."""
    n = len(lengths) * dimension
    if falloff == "gaussian":
        return lambda scale: float(((scale * lengths) ** 2).sum() - n) / math.sqrt(2 * n)
    return lambda scale: float((scale * lengths).sum() - n) / math.sqrt(n)


def total_of_geometrics(noise: np.ndarray, weights: np.ndarray) -> Callable[[float], float]:
    """The score of `sum_k w_k |z_k|` for whole z_k with `P(z) ~ exp(-w_k |z|)`, the law enumerated."""
    sizes, kinds = np.arange(4000), weights[:, None]
    mass = np.where(sizes > 0, 2.0, 1.0) * np.exp(-kinds * sizes)
    mass /= mass.sum(axis=1, keepdims=True)
    mean, square = (mass * sizes * kinds).sum(axis=1), (mass * (sizes * kinds) ** 2).sum(axis=1)
    error = math.sqrt(len(noise) * float((square - mean**2).sum()))
    lengths = np.abs(noise) @ weights
    return lambda scale: float((scale * lengths).sum() - len(noise) * mean.sum()) / error


def second_moments(answers: np.ndarray, variances: np.ndarray) -> Callable[[float], float]:
    """The score of `sum_k a_k^2 / Var_k` with its own standard error: where noise has more dimensions than answers."""
    shares = (answers**2 / variances).mean(axis=1)
    error = shares.std() / math.sqrt(len(shares))
    return lambda scale: float(scale**2 * shares.mean() - 1) / error


ADDITIVE = [family for family in FAMILIES if family.name in ADDITIVE_FAMILIES]
SMALL = {"k_norm": 8, "bundles": 8, "laplace_joint": 8, "k_norm_joint": 5, "gaussian_joint": 8, "strategy_laplace": 6}
LOSING = {"projected_laplace", "strategy_laplace"}  # noise that answers do not give back


@pytest.mark.parametrize("family", ADDITIVE, ids=lambda family: family.name)
def test_additive_noise(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    size = SMALL.get(family.name, 50)
    biased = family.name.endswith("_joint")
    if biased:
        relation: Any = metrics.uniform(size, 1.0)
    else:
        relation = invariants.total(size).protect(1.0, 1) if family.invariants_only else metrics.add_remove(size, 1.0)
    problem = Problem(Workload.identity(size), relation, notion=family.notion, records=1 if biased else None)
    made = design(problem, family.name, **shallow(family.name)).mechanism
    in_batches(made.noise.sampler, monkeypatch)
    heard = ~made.norm.silent
    dimension = int(heard.sum())
    enough = draws((2 if made.falloff == "gaussian" else 1) * DEGREES / dimension)
    answers = np.array([made.release(np.zeros(size)).answers for _ in range(enough)])
    if family.name in LOSING:
        follows(second_moments(answers, made.query_variances()))
        return
    rebuilt = np.eye(size) if made.reconstruction is None else made.reconstruction
    noise = np.zeros((len(answers), len(heard)))
    noise[:, heard] = answers @ np.linalg.pinv(rebuilt[:, heard]).T
    if made.norm.order == "l1" and made.grid.exponents == (0,) * size:
        follows(total_of_geometrics(noise, made.norm.map))
        return
    follows(radial(made.norm(noise), dimension, made.falloff), squared=made.falloff == "gaussian")


def test_rounded_normal_noise_under_a_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths in units of what (b, delta) allows are those of normal vectors."""
    size = 50
    problem = Problem(Workload.identity(size), metrics.add_remove(size, 1.0), notion="approximate", delta=1e-6)
    made = design(problem, "diagonal_gaussian").mechanism
    in_batches(made.noise.sampler, monkeypatch)
    answers = np.array([made.release(np.zeros(size)).answers for _ in range(draws(2 * DEGREES / size))])
    follows(radial(made.norm(answers), size, "gaussian"), squared=True)


@pytest.mark.parametrize("budget", [0.6, pytest.param(0.3, marks=pytest.mark.nightly)])
def test_noise_of_least_loss(budget: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two queries: mean absolute values, by the law that the design states."""
    problem = Problem(Workload([[0.0, 1, 2], [1, 0, 1]]), metrics.uniform(3, budget))
    made = design(problem, "staircase").mechanism
    in_batches(made._drawn, monkeypatch)
    answers = np.abs([made.release(np.zeros(3)).answers for _ in range(draws(DEGREES / 2))]).mean(axis=1)
    error, expected = answers.std() / math.sqrt(len(answers)), made.query_mean_absolutes().mean()
    follows(lambda scale: float(scale * answers.mean() - expected) / error)


@pytest.mark.parametrize("family", ["by_moves", pytest.param("truncated_geometric", marks=pytest.mark.nightly)])
def test_noise_of_counts_in_closed_form(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean absolute values of counts, by the law that the design states."""
    size, under = 20, {} if family == "by_moves" else {"notion": "approximate", "delta": 1e-3}
    relation = metrics.uniform(size, 1.0) if family == "by_moves" else metrics.add_remove(size, 1.0)
    made = design(Problem(Workload.identity(size), relation, **under), family).mechanism  # type: ignore[arg-type]
    in_batches(made._drawn, monkeypatch)
    answers = np.abs([made.release(np.zeros(size)).answers for _ in range(draws(2 * DEGREES / size))]).mean(axis=1)
    error, expected = answers.std() / math.sqrt(len(answers)), made.query_mean_absolutes().mean()
    follows(lambda scale: float(scale * answers.mean() - expected) / error)


def mean_l1(size: int, rate: float) -> float:
    """`E |z|_1` under `exp(-rate |z|_1)` on sum 0: Z is proportional to `(1 - x)^-(n-1) sum_k C(n-1, k)^2 x^k`,
    x = exp(-2 rate)."""
    x, k = math.exp(-2 * rate), np.arange(size)
    logs = np.array([2 * math.log(math.comb(size - 1, int(j))) + j * math.log(x) for j in k])
    weights = np.exp(logs - logs.max())
    return 2 * ((size - 1) * x / (1 - x) + float(k @ weights) / weights.sum())


@pytest.mark.parametrize(
    ("family", "shape", "size"),
    [
        ("lattice_laplace", "l1", 60),
        ("lattice_laplace", "l2", 60),
        ("lattice_laplace", "ellipsoid", 40),
        ("lattice_laplace", "hull", 6),
        ("lattice_gaussian", "l2", 60),
        ("lattice_gaussian", "ellipsoid", 40),
    ],
)
def test_integer_noise(family: str, shape: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise so wide that sums over the lattice are integrals, up to 1e-4 (l1: the sum itself)."""
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    problem = Problem(Workload.identity(size), invariants.total(size).protect(0.05, 1), notion=notion)
    made = design(problem, family, shape=shape).mechanism
    in_batches(made.sampler, monkeypatch)
    enough = draws((2 if notion == "zcdp" else 1) * DEGREES / (size - 1))
    tables = np.array([made.release(np.zeros(size)).table for _ in range(enough)])
    lengths = made.norm(tables[:, made.columns].astype(float))
    if shape == "l1":
        rate = float(made.norm.map[0])
        expected, error = rate * mean_l1(size, rate), math.sqrt((size - 1) / enough)
        follows(lambda scale: float(scale * lengths.mean() - expected) / error)
        return
    follows(radial(lengths, size - 1, made.falloff), squared=made.falloff == "gaussian")


def test_integer_noise_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of the noise of all cells against their computed mean."""
    problem = Problem(Workload.identity(400), invariants.margins((20, 20)).protect(0.1, per_distance="l1"))
    made = design(problem, "lattice_rows").mechanism
    in_batches(made.sampler, monkeypatch)
    tables = np.array([made.release(np.zeros(400)).table for _ in range(draws(900))], dtype=float)
    follows(second_moments(tables, made.query_variances()))


def test_marginals() -> None:
    """Contrast (k, l) of a two-way table has variance `k (k + 1) l (l + 1)` over the precision of its residual."""
    sizes = (50, 51)
    domain = Domain.of({"a": sizes[0], "b": sizes[1]})
    asked = MarginalWorkload.of(domain, {("a", "b"): 1.0})
    made = design_marginals(asked, metrics.hamming(domain, [0.5, 0.5]))
    squares = [np.arange(1, n) * np.arange(2, n + 1) for n in sizes]
    variances = np.multiply.outer(*squares) / made.noise.precisions[made.position[0, 1]]
    residuals = [made.release(Counts({("a", "b"): np.zeros(sizes, dtype=int)})).residuals[0, 1] for _ in range(draws(240))]
    lengths = np.sqrt([(table.astype(float) ** 2 / variances).sum() for table in residuals])
    follows(radial(lengths, variances.size, "gaussian"), squared=True)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_structured(noise: Literal["gaussian", "laplace"]) -> None:
    """Every measured coordinate of a block has one law: variance 1 / strength, or rate strength."""
    domain = Domain.of({"a": 50, "b": 51})
    asked = StructuredWorkload.of(domain, [{"a": "prefix", "b": "prefix"}])
    made = design_structured(asked, Presence(**{"mu" if noise == "gaussian" else "epsilon": 1.0}), noise)
    empty = {("a", "b"): np.zeros(domain.shape, dtype=int)}
    drawn = np.array([made.release(Counts(empty)).measured[0].astype(float).ravel() for _ in range(draws(120))])
    strength = made.blocks[0].strength
    lengths = np.sqrt((drawn**2).sum(axis=1) * strength) if noise == "gaussian" else np.abs(drawn).sum(axis=1) * strength
    follows(radial(lengths, drawn.shape[1], noise))


def test_tables() -> None:
    groups = Groups(["place"], [[place] for place in range(20_000)])
    variance = Fraction(81, 4)
    made = TablePlan(tuple(Count(f"count {k}", groups, variance=variance) for k in range(20)), unlisted="drop")
    ibis = pytest.importorskip("ibis")

    release = made.release(ibis.memtable({"place": [20_001]}))
    numbers = np.array([release[query.name].values for query in made.queries])
    follows(radial(np.sqrt([(numbers**2).sum() / float(variance)]), numbers.size, "gaussian"), squared=True)


def test_odds_ratio_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tulap noise is `L + U`, L discrete Laplace with ratio b = exp(-epsilon), U uniform:
    `E |N| = 2 b / (1 - b^2) + P(L = 0) / 4`."""
    made = OddsRatioTest(Margins((6, 4), (5, 5)), EpsilonDelta("1/10"))
    assert isinstance(made.law, Tulap)
    monkeypatch.setattr(Tulap, "draw", Batched(functools.partial(Tulap.draw, made.law)).draw)
    noise = np.array([float(made.release([[3, 3], [2, 2]]).statistic) for _ in range(draws(DEGREES))]) - 3
    b = math.exp(-0.1)
    expected = 2 * b / (1 - b**2) + (1 - b) / (1 + b) / 4
    error = np.abs(noise).std() / math.sqrt(len(noise))
    follows(lambda scale: float(scale * np.abs(noise).mean() - expected) / error)


def chosen(scores: np.ndarray, law: Callable[[float], np.ndarray]) -> Callable[[float], float]:
    """The score of observed scores under `law(scale)`,
    the probabilities of the scores `law.values` with the rate times `scale`."""

    def statistic(scale: float) -> float:
        values, weights = law(scale)
        mean = float(values @ weights)
        return float(scores.mean() - mean) / math.sqrt(float(values**2 @ weights - mean**2) / len(scores))

    return statistic


def gibbs(values: np.ndarray, rate: float) -> Callable[[float], Any]:
    """`P(v)` proportional to `exp(rate v)` over candidates of these scores."""

    def law(scale: float) -> Any:
        weights = np.exp(rate * scale * (values - values.max()))
        return values, weights / weights.sum()

    return law


def cached(owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One law for equal arguments, its draws in batches: making it takes a hundred times as long as a draw."""
    make, known = getattr(owner, name), {}

    def once(self: Any, *given: Any) -> Any:
        key = (id(self), *(repr(value) for value in given))
        if key not in known:
            law = make(self, *given)
            known[key] = SimpleNamespace(draw=Batched(law.draw).draw)
        return known[key]

    monkeypatch.setattr(owner, name, once)


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_selections(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One candidate is ahead of 400 others by so much that it is chosen about every second
    time: 9 times what one dimension tells."""
    others, lead = 400, 600
    made = best_selection(
        Linear(Workload(np.vstack([[[1.0, 0.0]], np.tile([[0.0, 1.0]], (others, 1))]))), metrics.uniform(2, 0.02), law
    )
    cached(Selection, "_law", monkeypatch)
    first = np.array([made.release([lead, 0]).index == 0 for _ in range(draws(DEGREES / 8))])
    rate = 0.02 / 2  # a record that changes moves two scores apart by 2

    def ahead(scale: float) -> float:
        head = math.exp(-rate * scale * lead)
        if law == "exponential":
            return 1 / (1 + others * head)
        return (1 - (1 - head) ** (others + 1)) / (head * (others + 1))

    follows(lambda scale: float(first.mean() - ahead(scale)) / math.sqrt(ahead(scale) * (1 - ahead(scale)) / len(first)))


def indicators(size: int, epsilon: float) -> LipschitzQueries:
    """The counts of the elements under one budget: constants 1 / epsilon."""
    return LipschitzQueries.on_grid(Workload.identity(size), metrics.uniform(size, epsilon), np.eye(size), 0)


def test_small_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """`P(y)` proportional to `exp(-epsilon error / 2)` over the histograms y of m records, scaled to all."""
    size, records, m, epsilon = 6, 600, 5, 0.06
    made = SmallDB(indicators(size, epsilon), records, m)
    cached(SmallDB, "_law", monkeypatch)
    x = np.array([records, *[0] * (size - 1)])
    tables = [np.bincount(places, minlength=size) * (records / m) for places in combinations_with_replacement(range(size), m)]
    values = np.array([-np.abs(table - x).max() for table in tables])
    law = gibbs(values, epsilon / 2)
    values, weights = law(1.0)
    told = (epsilon / 2) ** 2 * float(values**2 @ weights - (values @ weights) ** 2)
    seen = np.array([-np.abs(made.release(x).answers - x).max() for _ in range(draws(DEGREES / told))])
    follows(chosen(seen, law))


ROUNDS = 300


def test_choices_of_mwem(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first round: scores are distances from the uniform histogram, and half of the budget goes to the choice."""
    size, records, epsilon = 60, 600, 0.028
    made = MWEM(indicators(size, epsilon), records, ((Fraction(1, 2), Fraction(1, 2)),))
    cached(MWEM, "_choice", monkeypatch)
    cached(MWEM, "noise_of", monkeypatch)
    monkeypatch.setattr(MWEM, "histogram_of", lambda self, transcript: np.zeros(size))
    x = np.array([records, *[0] * (size - 1)])
    values = np.abs(x - records / size)
    law = gibbs(values, epsilon / 4)
    weights = law(1.0)[1]
    told = (epsilon / 4) ** 2 * float(values**2 @ weights - (values @ weights) ** 2)
    seen = np.array([values[made.release(x).rounds[0].query] for _ in range(draws(DEGREES / told))])
    follows(chosen(seen, law))


def test_measurements_of_mwem(monkeypatch: pytest.MonkeyPatch) -> None:
    """`E |z| = 1 / sinh(rate)` for discrete Laplace noise; the rate is the round's share of what moves the query by one."""
    made = MWEM(indicators(3, 1.0), 30, ((Fraction(1, 6000), Fraction(1, 10 * ROUNDS)),) * ROUNDS)
    cached(MWEM, "noise_of", monkeypatch)
    monkeypatch.setattr(MWEM, "_choice", lambda self, *_: SimpleNamespace(draw=lambda *_: [0]))
    monkeypatch.setattr(MWEM, "_learn", lambda self, logs, done: logs)
    x, rate = [10, 10, 10], 1 / (10 * ROUNDS)
    drawn = np.array([[r.measurement - 10 for r in made.release(x).rounds] for _ in range(draws(DEGREES / ROUNDS))])
    error = np.abs(drawn).std() / math.sqrt(drawn.size)
    follows(lambda scale: float(scale * np.abs(drawn).mean() - 1 / math.sinh(rate)) / error)


def test_no_family_and_no_format_is_left_out() -> None:
    """What the tests above cover, read off their own parameters: a new family or format must be tested here too."""
    whole = {"lattice_laplace", "lattice_rows", "lattice_gaussian", "staircase", "by_moves", "truncated_geometric"}
    families = {family.name for family in ADDITIVE} | whole
    assert families == {family.name for family in FAMILIES}
    assert set(KINDS) == COVERED


def test_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of reports of many people of one value: their mean moves with the budget by as much as the law says."""
    size, epsilon, people = 5, 0.9, draws(2_000_000)
    made = design(ReportProblem(metrics.uniform(size, epsilon), loss="zero_one"), "randomised_response").mechanism
    first = made.release([people, 0, 0, 0, 0]).counts[0] / people

    def told(scale: float) -> float:
        return math.exp(epsilon * scale) / (math.exp(epsilon * scale) + size - 1)

    follows(lambda scale: float(first - told(scale)) / math.sqrt(told(scale) * (1 - told(scale)) / people))
