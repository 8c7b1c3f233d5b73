"""What the mechanism in a spec promises, recomputed from its plain data alone: brute force over small universes,
none of the package's formulas.

`keeps_promise(format, core)` is the largest loss over budget of any protected change, or None where a universe is too large or
a relation too involved to enumerate here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

import numpy as np

Core = dict[str, Any]
Budget = Fraction | None  # None: unprotected
Pair = Callable[[int, int], Budget]
Change = tuple[dict[int, int], Fraction]  # {element: how many records more}, budget
INF = math.inf


def distance(relation: Core) -> tuple[int, Pair] | None:
    """The size of a metric and the budget of a pair, for the simplest kinds."""
    if relation["kind"] == "uniform":
        return relation["elements"], lambda i, j: Fraction(relation["epsilon"]) * (i != j)
    if relation["kind"] == "matrix" and not relation["closure"]:
        rows = relation["budgets"]
        return len(rows), lambda i, j: None if rows[i][j] == "inf" else Fraction(rows[i][j])
    if relation["kind"] == "euclidean":
        points, unit = relation["points"], Fraction(relation["per_unit"])
        return len(points), lambda i, j: unit * _length_below(points[i], points[j])
    return None


def _length_below(u: list[float], v: list[float]) -> Fraction:
    square = sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(u, v, strict=True)), Fraction(0))
    return Fraction(math.isqrt(int(square * 4**200)), 2**200)


def changes(relation: Core) -> tuple[int, list[Change]] | None:
    """The protected changes of one record."""
    if relation["kind"] == "add_remove":
        finite = [({i: 1}, Fraction(e)) for i, e in enumerate(relation["epsilons"]) if e != "inf"]
        return len(relation["epsilons"]), finite
    if relation["kind"] == "invariant":
        size = len(relation["invariant"]["rows"][0])
        small = size <= 4 and relation["adjacency"] <= 3
        kept = [(dict(enumerate(v)), Fraction(relation["epsilon"])) for v in table_changes(relation)] if small else []
        return (size, kept) if small else None
    known = distance(relation)
    if known is None:
        return None
    size, between = known
    pairs = [({i: -1, j: 1}, between(i, j)) for i, j in combinations(range(size), 2)]
    return size, [(change, budget) for change, budget in pairs if budget is not None]


def histograms(size: int, records: int) -> list[tuple[int, ...]]:
    return [tuple(map(chosen.count, range(size))) for chosen in combinations_with_replacement(range(size), records)]


def scores(score: Core, x: tuple[int, ...]) -> list[Fraction]:
    """By the formulas of the paper, in rationals."""
    rows, targets = score["workload"]["matrix"], score["targets"]
    if score["kind"] == "tabulated":
        place = score["workload"]["elements"].index(str(x))
        return [Fraction(row[place]) - Fraction(t) for row, t in zip(rows, targets, strict=True)]
    answers = [sum((Fraction(q) * c for q, c in zip(row, x, strict=True)), Fraction(0)) for row in rows]
    if score["kind"] == "largest_error":
        return [-max(abs(a - Fraction(t)) for a, t in zip(answers, row, strict=True)) for row in targets]
    off = [a - Fraction(t) for a, t in zip(answers, targets, strict=True)]
    if score["kind"] == "rank_error":
        return [-max(0, *pair) for pair in zip(off[: len(off) // 2], off[len(off) // 2 :], strict=True)]
    return {"linear": off, "absolute_error": [abs(v) for v in off], "closeness": [-abs(v) for v in off]}[score["kind"]]


def log_law(values: list[Fraction], rate: Fraction, law: str) -> list[float]:
    """Logarithms of the probabilities; permute-and-flip as the mean of 1 / (1 + other heads)."""
    gaps = [float(min(rate * (max(values) - v), Fraction(10**6))) for v in values]
    if law == "exponential":
        total = math.log(sum(math.exp(-gap) for gap in gaps))
        return [-gap - total for gap in gaps]
    result = []
    for r, own in enumerate(gaps):
        heads = np.ones(1)
        for t, gap in enumerate(gaps):
            heads = heads if t == r else np.convolve(heads, [-math.expm1(-gap), math.exp(-gap)])
        result.append(math.log(sum(p / (1 + k) for k, p in enumerate(heads))) - own)
    return result


def selection(core: Core) -> float | None:
    found = changes(core["relation"])
    if found is None:
        return None
    size, protected = found
    worst, score = 0.0, core["score"]
    for x in histograms(size, score["records"] if score["kind"] == "tabulated" else 2):
        before = log_law(scores(score, x), Fraction(core["rate"]), core["law"])
        for change, budget in protected:
            moved = tuple(c + change.get(i, 0) for i, c in enumerate(x))
            if min(moved) >= 0:
                after = log_law(scores(score, moved), Fraction(core["rate"]), core["law"])
                worst = max(worst, max(abs(p - q) for p, q in zip(before, after, strict=True)) / float(budget or 5e-324))
    return worst


def channel(core: Core) -> float | None:
    """By definition: the largest log-ratio of two probabilities of a report, over the budget of the two values."""
    found = changes(core["relation"])
    if found is None:
        return None
    worst = 0.0
    for change, budget in found[1]:
        ends = [i for i, by in change.items() if by]
        one, other = (core["numerators"][i] for i in ends)
        spent = max(abs(math.log(Fraction(p, q))) for p, q in zip(one, other, strict=True))
        worst = max(worst, spent / float(budget or 5e-324))
    return worst


def synthetic(core: Core) -> float | None:
    """MWEM and SmallDB: how far a record moves a stand-in query, over its constant, times what all rounds spend."""
    queries = core["queries"]
    found = changes(queries["relation"])
    if found is None:
        return None
    spent = sum((Fraction(a) + Fraction(b) for a, b in core.get("shares", [["1", "0"]])), Fraction(0))
    worst = 0.0
    for (row, weight), (change, budget) in product(zip(queries["integers"], queries["weights"], strict=True), found[1]):
        moved = abs(sum(row[i] * sign for i, sign in change.items())) * Fraction(2) ** queries["exponent"]
        limit = Fraction(0) if weight == "inf" else budget / (spent * Fraction(weight))
        worst = max(worst, (float(moved / limit) if limit else INF) if moved else 0.0)
    return worst


def marginals(core: Core) -> float | None:
    """The length of a change of a record in the residuals, over every pair of cells of the whole domain."""
    shape = [len(values) for values in core["values"]]
    if math.prod(shape) > 100:
        return None
    kept = [[a for a in sorted(subset) if shape[a] > 1] for subset in core["subsets"]]
    measured = sorted({part for s in kept for r in range(len(s) + 1) for part in combinations(s, r)}, key=lambda s: (len(s), s))
    precisions = dict(zip(measured, core["precisions"], strict=True))
    cells = list(product(*map(range, shape)))

    def spent(u: tuple[int, ...], v: tuple[int, ...] | None) -> float:
        total = 0.0
        for part, precision in precisions.items():
            own = math.prod(Fraction(shape[a] - 1, shape[a]) for a in part)
            shared = 0 if v is None else math.prod(int(u[a] == v[a]) - Fraction(1, shape[a]) for a in part)
            length = own if v is None else 2 * own - 2 * shared
            total += (INF if precision == "inf" else precision * float(length)) if length else 0.0
        return total

    if core["protection"]["kind"] == "presence":
        return math.sqrt(spent(cells[0], None)) / core["protection"]["epsilon"]
    budgets = [INF if b == "inf" else b for b in core["protection"]["budgets"]]
    pairs = [
        (u, v, sum(b for b, one, other in zip(budgets, u, v, strict=True) if one != other)) for u, v in combinations(cells, 2)
    ]
    return max((math.sqrt(spent(u, v)) / b for u, v, b in pairs if b < INF), default=0.0)


def structured(core: Core) -> float | None:
    """The length of a change of a record in the measured products, all written out, over every pair of cells."""
    shape = [len(values) for values in core["values"]]
    if math.prod(shape) > 100:
        return None
    matrices = {entry["axis"]: entry["rows"] for entry in core["matrices"]}
    measured = []
    for block in core["blocks"]:
        product_matrix = np.ones((1, 1))
        for axis, n in enumerate(shape):
            chosen = dict(zip(block["axes"], block["matrices"], strict=True))
            factor = np.array(matrices[axis][chosen[axis]], dtype=float) if axis in chosen else np.ones((1, n))
            product_matrix = np.kron(product_matrix, factor)
        measured.append((block["strength"], product_matrix))
    power = 1 if core["noise"] == "laplace" else 2

    def spent(u: np.ndarray) -> float:
        return float(sum(s * (np.abs(m @ u) ** power).sum() for s, m in measured)) ** (1 / power)

    cells, protection = list(product(*map(range, shape))), core["protection"]
    units = np.eye(len(cells))
    if protection["kind"] == "presence":
        return max(spent(u) for u in units) / protection["epsilon"]
    if protection["kind"] == "hamming":
        per_axis = [np.full((n, n), INF if b == "inf" else b) for n, b in zip(shape, protection["budgets"], strict=True)]
    else:
        per_axis = [np.array([[INF if b == "inf" else b for b in row] for row in p["budgets"]]) for p in protection["parts"]]
    worst = 0.0
    for (i, u), (j, v) in combinations(enumerate(cells), 2):
        budget = sum(float(table[a, c]) for table, a, c in zip(per_axis, u, v, strict=True) if a != c)
        if budget < INF:
            worst = max(worst, spent(units[i] - units[j]) / budget)
    return worst


def table_changes(relation: Core) -> Iterator[tuple[int, ...]]:
    """Every v != 0 that keeps the statistics, of at most `adjacency` records (2 where any number is allowed)."""
    invariant, adjacency = relation["invariant"], relation.get("adjacency", 2)
    rows = [*invariant["rows"], *([[1] * len(invariant["rows"][0])] if invariant["records_public"] else [])]
    radius = 2 * adjacency if invariant["records_public"] else adjacency
    for v in product(range(-radius, radius + 1), repeat=len(rows[0])):
        moved = any(v) and sum(map(abs, v)) <= radius and not any(v[i] for i in invariant.get("impossible", []))
        if moved and not any(sum(a * c for a, c in zip(row, v, strict=True)) for row in rows):
            yield v


def transport(v: tuple[int, ...], between: Pair) -> float:
    """The least sum of budgets of the ways to move the records one by one."""
    origins = [i for i, c in enumerate(v) for _ in range(-c)]
    targets = [i for i, c in enumerate(v) for _ in range(c)]
    ways = ([between(i, j) for i, j in zip(origins, order, strict=True)] for order in permutations(targets))
    return min((float(sum(b for b in way if b is not None)) for way in ways if None not in way), default=INF)


def measure(norm: Core, u: list[int]) -> float:
    if norm["order"] == "gauge":
        from scipy.optimize import linprog

        # The least sum of budgets over all ways to write u by differences;
        # the solver ignores entries below 1e-9, so both are scaled.
        steps, costs = np.array(norm["differences"], dtype=float), np.array(norm["budgets"], dtype=float)
        unit, cheapest = np.abs(steps).max(), costs.min()
        found = linprog(np.tile(costs / cheapest, 2), A_eq=np.vstack([steps, -steps]).T / unit, b_eq=np.array(u) / unit)
        return float(found.fun) * cheapest / norm["scale"] if found.status == 0 else INF
    factor = np.array(norm["map"], dtype=float)
    image = factor * u if factor.ndim == 1 else factor @ u
    return float(np.linalg.norm(image, {"l1": 1, "l2": 2, "linf": INF}[norm["order"]]))


def lattice(core: Core) -> float | None:
    relation, cells = core["relation"], core["cells"]
    size, adjacency = len(relation["invariant"]["rows"][0]), relation.get("adjacency", 2)
    known = (
        distance(relation["metric"]) if relation["kind"] == "metric_and_invariant" else (size, lambda i, j: Fraction(i != j))
    )
    if size > 4 or adjacency > 3 or known is None:
        return None

    def budget(v: tuple[int, ...]) -> float:
        if relation["kind"] == "metric_and_invariant":
            return transport(v, known[1])
        power = {"l1": 1, "l2": 2}.get(relation.get("distance", ""))
        return float(relation["epsilon"] * (1 if power is None else np.linalg.norm(v, power)))

    spent = (
        measure(core["norm"], list(v) if cells is None else [v[i] for i in cells]) / budget(v) for v in table_changes(relation)
    )
    return max(spent, default=0.0)


def beta(tradeoff: Core, alpha: np.ndarray) -> np.ndarray:
    """Least type II errors, by the definitions of the five kinds."""
    from scipy.stats import norm

    if tradeoff["kind"] == "gaussian":
        return np.asarray(norm.cdf(norm.isf(alpha) - math.sqrt(Fraction(tradeoff["mu_squared"]))))
    if tradeoff["kind"] == "laplace":
        from scipy.stats import laplace

        return np.asarray(laplace.cdf(laplace.isf(alpha) - float(Fraction(tradeoff["epsilon"]))))
    if tradeoff["kind"] == "piecewise_linear":
        alphas, betas = ([float(Fraction(c)) for c in tradeoff[name]] for name in ("alphas", "betas"))
        return np.asarray(np.interp(alpha, alphas, betas))
    if tradeoff["kind"] == "group":
        base = tradeoff["base"]
        slope, delta = math.exp(min(700.0, float(Fraction(base["epsilon"])))), float(Fraction(base["delta"]))
        for _ in range(
            tradeoff["size"] - 1
        ):  # the power of one member's test is the level of the next; 1 - beta would lose its digits
            alpha = np.minimum(1, np.minimum(delta + slope * alpha, 1 - (1 - delta - alpha) / slope))
        return beta(base, alpha)
    slope, delta = math.exp(min(700.0, float(Fraction(tradeoff["epsilon"])))), float(Fraction(tradeoff["delta"]))
    return np.maximum(0, np.maximum(1 - delta - slope * alpha, (1 - delta - alpha) / slope))


def keeps_tradeoff(tradeoff: Core, cdf: Callable[[np.ndarray], np.ndarray]) -> bool:
    """No threshold test of the noisy count tells x11 from x11 + 1 better than promised, to 1e-9."""
    thresholds = np.linspace(-12, 12, 2001)
    type_one, type_two = cdf(-thresholds), cdf(thresholds - 1)  # symmetric, and 1 - cdf would lose the digits of a small error
    return bool((type_two >= beta(tradeoff, type_one) - 1e-9).all())


LOSSES: dict[str, Callable[[Core], float | None]] = {
    "dp-designer/selection": selection,
    "dp-designer/channel": channel,
    "dp-designer/mwem": synthetic,
    "dp-designer/small-db": synthetic,
    "dp-designer/marginals": marginals,
    "dp-designer/structured-mechanism": structured,
    "dp-designer/lattice-mechanism": lattice,
    "dp-designer/row-mechanism": lambda core: lattice({**core, "cells": None}),
}
