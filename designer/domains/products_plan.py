"""Which products to measure, and how precisely: designs of structured workloads (docs/theory/structured.md, 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import step
from designer.base.version import VERSION
from designer.certificate.guarantee import Optimality, bounded
from designer.domains.mechanism import MARGIN
from designer.domains.products import StructuredMechanism
from designer.domains.products_noise import (
    MeasuredProduct,
    Noise,
    Protection,
    StrategyMatrix,
    kinds_of_changes,
    protected_residual,
    residual_blocks,
    share_spent,
    uniform_residual,
)
from designer.domains.products_release import Serves
from designer.domains.products_workload import AttributeQueries, StructuredWorkload
from designer.domains.whole_products import ALIKE, Loss, best_products
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.presence import Presence
from designer.sampling.integer_gaussian import DiscreteGaussian
from solvers.ellipsoids.program import minimise_trace
from solvers.programs.strategy import best_p_identity, p_identity_matrix
from solvers.work import one_thread

# Entries of strategies are rounded to this many bits at most, and to fewer where many attributes multiply: noise must fit into
# 64-bit integers. The certificate and the errors are those of what was rounded.
BITS, BITS_TOGETHER = 14, 50
SWEEPS, SWEEP_ATTRIBUTES, SWEEP_TERMS = 4, 12, 3000
SHORTENED = (0.5, 0.25, 0.125)  # shares of the longest column that are tried for all: where others change, it is what counts
STARTS, STEPS, SHARE = 1, 200, 16  # of searches for p-identities, beside the starts for ordered attributes
DENSE_CELLS = 256  # domains whose bound is that of the optimum over all Gaussian mechanisms
OF_ALL = {"laplace": "all additive noise", "gaussian": "all independent Gaussian noise on whole numbers"}
LOUD = 1400.0  # a budget whose hyperbolic sine is no float
ROUNDED = 1 - 1e-12
SETTLED = 1 - 1e-4  # of a loss: a proven bound from which on other rows are not worth a search


@step("designing factor by factor")
@one_thread()
def design_structured(
    workload: StructuredWorkload,
    protection: Protection,
    noise: Noise = "gaussian",
    *,
    strategies: Mapping[str, object] | None = None,
    allow_vacuous: bool = False,
) -> StructuredMechanism:
    """The best Kronecker strategy found for all answers of a structured workload (least total of weighted variances), certified
    through its factors. Time depends on the attributes and the number of terms, never on the number of answers.

    protection: `Presence(mu=...)`; `metrics.hamming(domain, budgets)`; or `metrics.product(domain, ...)`, a metric for each
    attribute. noise: "gaussian" (b^2/2-zCDP) or "laplace" (pure). For a single term under presence no Gaussian design with
    continuous noise is better, up to a certified gap. Products of whole-number rows, at rates for the discrete law, are tried
    beside, so that neither cells added up nor each product for itself lose less. strategies: for each attribute a matrix (p,
    n) of your own, rounded to integers after scaling; one product of them answers everything, evaluated and certified like any
    other.

    >>> from designer.problem.domain import Domain
    >>> sums = StructuredWorkload.of(Domain.of({"age": 16, "pay": 16}), [{"age": "prefix", "pay": "ranges"}])
    >>> made = design_structured(sums, Presence(mu=1.0))
    >>> made.workload.count, made.optimality.gap < 1e-3
    (2176, True)
    """
    if not isinstance(workload, StructuredWorkload) or not isinstance(protection, (Presence, Hamming, Product)):
        raise InvalidProblem(
            "workload, protection: give a StructuredWorkload, and `Presence(mu=...)`, `metrics.hamming(domain, budgets)` or "
            "`metrics.product(domain, ...)`."
        )
    if noise not in ("gaussian", "laplace"):
        raise InvalidProblem(f'noise: {shown(noise)} is unknown; use "gaussian" or "laplace".', value=noise)
    if strategies is not None:
        found = [_brought(workload, protection, noise, strategies)]
    elif noise == "laplace":
        found = _laplace(workload, protection)
    else:
        found = _gaussian(workload, protection)
    least = min(found, key=lambda made: made.error())
    best, claim = least, _claim(least)
    if strategies is None and (claim is None or claim.lower_bound < SETTLED * claim.value):
        best = with_whole_numbers(workload, protection, noise, least)
        claim = claim if best is least else _claim(best)
    name = "strategies of the caller" if strategies is not None else "Kronecker strategy"
    provenance = {"software": f"dp-designer {VERSION}", "family": name, "loss": "squared"}
    return best.annotated(provenance, claim)


def with_whole_numbers(
    workload: StructuredWorkload,
    protection: Protection,
    noise: Noise,
    other: StructuredMechanism | None,
    loss: Loss = "squared",
) -> StructuredMechanism:
    """The best products of whole-number rows, where they lose less than the other mechanism."""
    try:
        found = best_products(workload, protection, noise, loss)
        made = within_budget(workload, protection, noise, found.matrices, found.blocks, found.serves)
    except DesignFailed:
        if other is None:
            raise
        return other
    if other is None:
        provenance = {"software": f"dp-designer {VERSION}", "family": "Kronecker strategy", "loss": loss}
        return made.annotated(provenance, None)
    return made if made.error(loss) < other.error(loss) * ALIKE else other


def within_budget(
    workload: StructuredWorkload,
    protection: Protection,
    noise: Noise,
    matrices: Mapping[int, tuple[StrategyMatrix, ...]],
    blocks: Sequence[MeasuredProduct],
    serves: Serves,
) -> StructuredMechanism:
    """The mechanism of these blocks, all strengths divided by what the worst change spends."""
    changes = kinds_of_changes(protection, workload.domain, workload.used)
    if not changes:
        raise DesignFailed("structured: no protected change moves an answer; give an attribute that is asked about a budget.")
    worst = max(share_spent(change, noise, matrices, blocks) for change in changes)
    if worst == 0:
        raise DesignFailed("structured: no protected change moves what is measured; nothing would be hidden.")
    factor = float(1 / worst) * MARGIN
    return StructuredMechanism(
        workload, protection, noise, matrices, tuple(MeasuredProduct(b.parts, b.strength * factor) for b in blocks), serves
    )


def integers(matrix: Floats, together: int) -> StrategyMatrix:
    """A matrix (p, n) in units of its largest entry over a power of two, for products of `together` attributes at most, over
    its greatest common divisor: noise on coarser whole numbers has less variance."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if not (0 < largest < math.inf):
        raise DesignFailed("structured: a strategy is 0 or not finite; merge values, or ask for fewer queries.")
    rows = np.rint(matrix / largest * 2.0 ** min(BITS, BITS_TOGETHER // together)).astype(np.int64)
    return StrategyMatrix(rows[np.abs(rows).any(axis=1)] // np.gcd.reduce(rows, axis=None))


def _brought(
    workload: StructuredWorkload, protection: Protection, noise: Noise, strategies: Mapping[str, object]
) -> StructuredMechanism:
    """One product of the caller's matrices."""
    given = {workload.domain.axis(name): matrix for name, matrix in strategies.items()}
    if missing := [workload.domain.attributes[axis] for axis in workload.used if axis not in given]:
        raise InvalidProblem(f"strategies: have no matrix for {missing[:8]}; give one for each attribute that is asked about.")
    shape = workload.domain.shape
    matrices = {axis: (_strategy_matrix(given[axis], shape[axis], len(workload.used)),) for axis in workload.used}
    return _product(workload, protection, noise, matrices)


def _strategy_matrix(matrix: object, size: int, together: int) -> StrategyMatrix:
    """A matrix of the caller: whole numbers as they are, others in units of their largest entry."""
    queries = AttributeQueries.of(matrix, size)
    rows = queries.rows()
    whole = bool((rows == np.rint(rows)).all()) and float(np.abs(rows).max()) <= 2.0**BITS
    return StrategyMatrix(rows.astype(np.int64)) if whole else integers(rows, together)


def _product(
    workload: StructuredWorkload, protection: Protection, noise: Noise, matrices: Mapping[int, tuple[StrategyMatrix, ...]]
) -> StructuredMechanism:
    """One product over all attributes, which serves every term."""
    block = MeasuredProduct(dict.fromkeys(sorted(matrices), 0), 1.0)
    return within_budget(workload, protection, noise, dict(matrices), [block], (0,) * len(workload.terms))


def _gaussian(workload: StructuredWorkload, protection: Protection) -> list[StructuredMechanism]:
    """Designs to choose from: residuals around the mean, best for presence or for changes of their own attribute, and residuals
    (or one product) around the best product."""
    found = []
    swept = _swept(workload, "gaussian") if _few(workload) else None
    if swept is not None and isinstance(protection, Presence):
        found.append(
            _product(workload, protection, "gaussian", {a: (integers(_root(w), len(swept)),) for a, w in swept.items()})
        )
    if workload.product is None or not isinstance(protection, Presence):
        most = max(map(len, workload.terms))
        own = {axis: integers(uniform_residual(_summed_gram(workload, axis)), most) for axis in workload.used}
        choices = [own]
        if swept is not None:
            choices.append({axis: integers(_residual_of(w), most) for axis, w in swept.items()})
        if not isinstance(protection, Presence):
            free = _protected(workload, protection)
            longest = max((float(np.linalg.norm(rows, axis=0).max()) for rows in free.values()), default=0.0)
            for shortened in (free, *(_protected(workload, protection, longest * part) for part in SHORTENED)):
                choices.append({**own, **{axis: integers(rows, most) for axis, rows in shortened.items()}})
        for chosen in choices:
            matrices = {axis: (matrix,) for axis, matrix in chosen.items()}
            found.append(
                within_budget(workload, protection, "gaussian", matrices, residual_blocks(workload, protection, chosen), None)
            )
    return found


def _few(workload: StructuredWorkload) -> bool:
    """Whether the factors of one product are swept: few of them, or one term, whose factors do not meet."""
    return workload.product is not None or (len(workload.used) <= SWEEP_ATTRIBUTES and len(workload.terms) <= SWEEP_TERMS)


def _protected(workload: StructuredWorkload, protection: Protection, longest: float = math.inf) -> dict[int, Floats]:
    """For attributes with a budget the residuals that are best where they change, with columns of bounded length."""
    changes = kinds_of_changes(protection, workload.domain, workload.used)
    axes = [(change.axis, change.part) for change in changes if change.axis is not None]
    found = {axis: protected_residual(_summed_gram(workload, axis), part, longest) for axis, part in axes}
    return {axis: rows for axis, rows in found.items() if rows is not None}


def _laplace(workload: StructuredWorkload, protection: Protection) -> list[StructuredMechanism]:
    """Designs to choose from: one product for all terms, and a product of its own for every term."""
    found = []
    if _few(workload):
        swept = _swept(workload, "laplace")
        found.append(_product(workload, protection, "laplace", {a: (integers(b, len(swept)),) for a, b in swept.items()}))
    if len(workload.terms) > 1 or not found:
        found.append(_split(workload, protection))
    return found


def _split(workload: StructuredWorkload, protection: Protection) -> StructuredMechanism:
    """Every term measured alone; of one budget, shares in proportion to the cubic roots of what the terms cost with all of it
    are the best: `min sum e_t / s_t^2` under `sum s_t = 1`."""
    known: dict[int, dict[int, int]] = {axis: {} for axis in workload.used}
    listed: dict[int, list[StrategyMatrix]] = {axis: [] for axis in workload.used}
    single: dict[tuple[int, int], float] = {}
    blocks, costs = [], []
    for term, weight in zip(workload.terms, workload.weights, strict=True):
        cost, parts = float(weight), {}
        for axis, queries in term.items():
            label = next((k for k, q in enumerate(_kinds(workload, axis)) if q is queries), 0)
            if label not in known[axis]:
                rows = _p_identity(queries.gram)
                known[axis][label] = len(listed[axis])
                listed[axis].append(integers(rows, max(map(len, workload.terms))))
                single[axis, label] = float(np.trace(queries.gram @ np.linalg.inv(rows.T @ rows)))
            parts[axis], cost = known[axis][label], cost * single[axis, label]
        blocks.append((parts, math.prod(listed[a][m].presence("laplace") for a, m in parts.items())))
        costs.append(cost)
    shares = np.cbrt(costs) / np.cbrt(costs).sum()
    measured = [MeasuredProduct(parts, float(share / length)) for (parts, length), share in zip(blocks, shares, strict=True)]
    matrices = {axis: tuple(found) for axis, found in listed.items()}
    return within_budget(workload, protection, "laplace", matrices, measured, tuple(range(len(measured))))


def _kinds(workload: StructuredWorkload, axis: int) -> list[AttributeQueries]:
    """The different queries of an attribute."""
    found: list[AttributeQueries] = []
    for term in workload.terms:
        if axis in term and not any(term[axis] is q for q in found):
            found.append(term[axis])
    return found


def _swept(workload: StructuredWorkload, noise: Noise) -> dict[int, Floats]:
    """For each attribute the best factor beside the others, in turn (HDMM's product form): a precision matrix with diagonal at
    most 1 (Gaussian), or p-identity rows (Laplace).

    With all other factors fixed the error is that of one attribute with the Gram matrix `sum_t w_t (prod of the others' errors)
    W_t`; each step is solved, so the error never rises.
    """
    axes, shape = workload.used, workload.domain.shape
    grams = [
        {axis: (term[axis].gram if axis in term else np.ones((shape[axis],) * 2)) for axis in axes} for term in workload.terms
    ]
    inverses = {axis: np.eye(shape[axis]) for axis in axes}
    factors: dict[int, Floats] = {}
    for _ in range(SWEEPS if len(workload.terms) > 1 else 1):
        for axis in axes:
            effective = np.zeros((shape[axis],) * 2)
            for gram, weight in zip(grams, workload.weights, strict=True):
                others = math.prod(float(np.vdot(gram[other], inverses[other])) for other in axes if other != axis)
                effective += weight * others * gram[axis]
            effective /= np.trace(effective)
            factors[axis] = _precision(effective) if noise == "gaussian" else _p_identity(effective)
            precision = factors[axis] if noise == "gaussian" else factors[axis].T @ factors[axis]
            inverses[axis] = np.linalg.inv(precision).astype(np.float64, copy=False)
    return factors


def _precision(gram: Floats) -> Floats:
    """W of least `tr(gram W^-1)` with a diagonal of at most 1; what nobody asks about is asked about a little."""
    n = len(gram)
    fuller = gram + 1e-9 * np.trace(gram) / n * np.eye(n)
    solution = minimise_trace(np.eye(n), fuller, tolerance=1e-7)
    return np.asarray(np.linalg.inv(solution.point.covariance))


def _p_identity(gram: Floats) -> Floats:
    """Rows (n + k, n), columns of l1 norm 1, of least error found."""
    n = len(gram)
    theta, _ = best_p_identity(gram, np.ones(n), max(1, round(n / SHARE)), STARTS, 0, STEPS, ordered=True)
    return p_identity_matrix(theta, np.ones(n))


def _root(precision: Floats) -> Floats:
    """B (n, n) with `B'B = W`."""
    return np.asarray(np.linalg.cholesky(precision).T)


def _residual_of(precision: Floats) -> Floats:
    """Rows (n - 1, n) of `W - c 1 1'`, c as large as it leaves it positive semidefinite."""
    n = len(precision)
    solved = np.linalg.solve(precision, np.ones(n))
    values, vectors = np.linalg.eigh(precision - np.ones((n, n)) / solved.sum())
    return np.asarray((vectors[:, 1:] * np.sqrt(np.maximum(values[1:], 0.0))).T)


def _summed_gram(workload: StructuredWorkload, axis: int) -> Floats:
    """The Gram matrix of all that is asked of an attribute, every kind once."""
    return np.asarray(sum(q.gram / np.trace(q.gram) for q in _kinds(workload, axis)))


def _claim(made: StructuredMechanism) -> Optimality | None:
    """A bound under presence, for all additive noise (pure) or all independent Gaussian noise on whole numbers: of the dense
    program where the domain is small, of each term alone elsewhere (a term alone costs the product of what its factors cost),
    in units of what one count needs (docs/theory/structured.md, 4)."""
    if not isinstance(made.protection, Presence):
        return None
    value, unit = made.error(), _variance_of_a_count(made.noise, made.protection.epsilon)
    lower, method = least_in_counts(made.workload)
    lower *= unit
    return bounded(
        "sum over all answers of weight times variance", value, lower, f"{method}; for {OF_ALL[made.noise]}", value * 1e-9
    )


def least_in_counts(workload: StructuredWorkload) -> tuple[float, str]:
    """What all answers need at least, variances times weights, in units of the variance that one count needs; how it is
    known."""
    known: dict[int, float] = {}

    def alone(queries: AttributeQueries) -> float:
        if id(queries) not in known:
            known[id(queries)] = minimise_trace(np.eye(queries.size), queries.gram, tolerance=1e-6).lower_bound
        return known[id(queries)]

    each = [math.prod(map(alone, term.values())) for term in workload.terms]
    cells = math.prod(workload.domain.shape[axis] for axis in workload.used)
    if len(workload.terms) > 1 and cells <= DENSE_CELLS:
        return minimise_trace(np.eye(cells), _dense_gram(workload)).lower_bound, "the dense ellipsoid program"
    return float(workload.weights @ each), "each term alone, a product of optima of its attributes"


def _variance_of_a_count(noise: Noise, epsilon: float) -> float:
    """The least variance of one count under presence: `1 / (2 sinh^2(epsilon / 2))`, or that of the discrete Gaussian at
    `1 / epsilon^2`, rounded down."""
    if noise == "laplace":
        return 0.5 / math.sinh(epsilon / 2) / math.sinh(epsilon / 2) * ROUNDED if epsilon < LOUD else 0.0
    variance = 1 / Fraction(epsilon) ** 2
    return float(variance if variance >= 4 else DiscreteGaussian([variance]).variance()[0]) * ROUNDED


def _dense_gram(workload: StructuredWorkload) -> Floats:
    """`Q'Q` over the attributes that are asked about, written out."""
    cells = math.prod(workload.domain.shape[axis] for axis in workload.used)
    total: Floats = np.zeros((cells, cells))
    for term, weight in zip(workload.terms, workload.weights, strict=True):
        gram: Floats = np.array([[float(weight)]])
        for axis in workload.used:
            n = workload.domain.shape[axis]
            gram = np.asarray(np.kron(gram, term[axis].gram if axis in term else np.ones((n, n))), dtype=np.float64)
        total += gram
    return total
