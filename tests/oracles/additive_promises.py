"""What an additive mechanism promises, recomputed from the plain data of its spec: floats and brute force,
none of the package's formulas.

`additive(core)` is the largest `||u|| / b` over all protected changes,
or None where a universe is too large to write out (N > 60).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from tests.oracles.promises import INF, Core, measure, table_changes, transport

Matrix = np.ndarray
EARTH = 6371.0088


def number(value: Any) -> float:
    return INF if value == "inf" else float(value)


def closed(budgets: Matrix) -> Matrix:
    """Shortest paths (Floyd and Warshall)."""
    shortest = budgets.copy()
    for k in range(len(shortest)):
        shortest = np.minimum(shortest, shortest[:, k, None] + shortest[None, k, :])
    return shortest


def off_diagonal(budgets: Matrix) -> Matrix:
    return np.where(np.eye(len(budgets), dtype=bool), 0.0, budgets)


def between_points(kind: str, points: list[list[float]]) -> Matrix:
    given = np.array(points, dtype=float)
    apart = np.abs(given[:, None] - given[None])
    if kind == "great_circle":
        latitude, longitude = np.radians(given).T
        half = np.sin((latitude[:, None] - latitude) / 2) ** 2
        half += np.cos(latitude[:, None]) * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2) ** 2
        return 2 * EARTH * np.arcsin(np.sqrt(np.minimum(1, half)))
    if kind == "euclidean":
        return np.sqrt((apart**2).sum(axis=2))
    return apart.max(axis=2) if kind == "chebyshev" else apart.sum(axis=2)


def by_attribute(relation: Core, parts: list[Matrix]) -> Matrix:
    """The sum over attributes of the budgets between their values, over all cells of the domain in row-major order."""
    codes = np.array(list(product(*(range(len(values)) for values in relation["values"]))))
    return sum((part[np.ix_(code, code)] for part, code in zip(parts, codes.T, strict=True)), np.zeros((len(codes),) * 2))


def combined(relation: Core) -> Matrix:
    parts = np.array([metric(part) for part in relation["parts"]])
    if relation["kind"] == "sum":
        return parts.sum(axis=0)
    return parts.max(axis=0) if relation["kind"] == "maximum" else np.sqrt((parts**2).sum(axis=0))


def by_element(relation: Core) -> Matrix:
    own = np.array([number(e) for e in relation["epsilons"]])
    if relation["kind"] == "per_element":
        return off_diagonal(own[:, None] + own)
    smaller = off_diagonal(np.minimum(own[:, None], own))
    return closed(smaller) if relation["closure"] else smaller


def graph(relation: Core) -> Matrix:
    joined = np.full((relation["nodes"],) * 2, INF)
    for (i, j), weight in zip(relation["edges"], relation["weights"], strict=True):
        joined[i, j] = joined[j, i] = min(joined[i, j], weight)
    return closed(off_diagonal(joined)) * relation["per_edge"]


def at_most(threshold: float, points: list[list[float]], per_unit: float, kind: str) -> Matrix:
    """Which euclidean distances are at most the threshold, by their squares in rationals."""
    given = [[Fraction(c) * Fraction(per_unit) for c in point] for point in points]
    squares = [[sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) for v in given] for u in given]
    return np.array([[square <= Fraction(threshold) ** 2 for square in row] for row in squares])


def blowfish(relation: Core) -> Matrix:
    ground, threshold = metric(relation["ground"]), relation["threshold"]
    if relation["kind"] == "smooth_threshold":
        return relation["epsilon"] * off_diagonal(np.maximum(1, ground / threshold))
    near = ground <= threshold * (1 + 1e-12)
    if relation["ground"]["kind"] == "euclidean":  # the numbers of the file as they are: rounding decides nothing
        near = at_most(threshold, **relation["ground"])
    return relation["epsilon"] * closed(off_diagonal(np.where(near, 1.0, INF)))


def attribute_budgets(relation: Core) -> Matrix:
    pairs = zip(relation["budgets"], relation["values"], strict=True)
    return by_attribute(relation, [off_diagonal(np.full((len(values),) * 2, number(b))) for b, values in pairs])


def partition(relation: Core) -> Matrix:
    labels = np.array(relation["labels"])
    return off_diagonal(np.where(labels[:, None] == labels, float(relation["epsilon"]), INF))


def taxonomy(relation: Core) -> Matrix:
    """Budgets below what two elements share of their groups, from the top down; every file numbers groups by level."""
    combine, levels = {"sum": sum, "max": max}[relation["form"]], list(map(number, relation["budgets"]))
    rows = []
    for left in relation["ancestors"]:
        shared = [
            next((c for c, (a, b) in enumerate(zip(left, right, strict=True)) if a != b), len(left))
            for right in relation["ancestors"]
        ]
        rows.append([float(combine(levels[c:])) for c in shared])
    return off_diagonal(np.array(rows))


def matrix(relation: Core) -> Matrix:
    rows = np.array([[number(b) for b in row] for row in relation["budgets"]])
    return closed(rows) if relation["closure"] else rows


def line(relation: Core) -> Matrix:
    return relation["epsilon"] / relation["period"] * between_points("manhattan", [[v] for v in relation["values"]])


def restricted(relation: Core) -> Matrix:
    return metric(relation["part"])[np.ix_(relation["elements"], relation["elements"])]


def metric(relation: Core) -> Matrix:
    """The N x N budgets of a metric."""
    kind = relation["kind"]
    if kind == "great_circle":
        return relation["per_km"] * between_points(kind, relation["points"])
    if kind in ("euclidean", "chebyshev", "manhattan"):
        return relation["per_unit"] * between_points(kind, relation["points"])
    return {
        "uniform": lambda r: off_diagonal(np.full((r["elements"],) * 2, float(r["epsilon"]))),
        "matrix": matrix,
        "per_element": by_element,
        "instance": by_element,
        "partition": partition,
        "line": line,
        "graph": graph,
        "taxonomy": taxonomy,
        "blowfish": blowfish,
        "smooth_threshold": blowfish,
        "hamming": attribute_budgets,
        "product": lambda r: by_attribute(r, [metric(part) for part in r["parts"]]),
        "scaled": lambda r: r["factor"] * metric(r["part"]),
        "sum": combined,
        "maximum": combined,
        "root_sum_squares": combined,
        "restricted": restricted,
    }[kind](relation)


def with_origin(relation: Core) -> Matrix:
    """The (N + 1) x (N + 1) budgets of a relation in which records appear; the origin is the last point."""
    own = np.array([number(e) for e in relation["epsilons"]])
    size = len(own)
    whole = np.full((size + 1, size + 1), INF)
    whole[:size, :size] = metric(relation["change"]) if relation["kind"] == "appear_or_change" else INF
    whole[:size, size] = whole[size, :size] = own
    whole = off_diagonal(whole)
    return closed(whole) if relation.get("closure") else whole


def linked_changes(relation: Core) -> list[Matrix]:
    """What all tables count when at most `adjacency` records are replaced and the published margins stay: every two lists of as
    many records of the joint table, taken one from the other."""
    linked = relation["linked"]
    names, sizes = linked["attributes"], [len(values) for values in linked["values"]]

    def counted(records: tuple[tuple[int, ...], ...], axes: list[int]) -> Matrix:
        table = np.zeros([sizes[axis] for axis in axes], dtype=int)
        for record in records:
            table[tuple(record[axis] for axis in axes)] += 1
        return table.ravel()

    def of(groups: list[list[str]], records: tuple[tuple[int, ...], ...]) -> Matrix:
        return np.concatenate([counted(records, [names.index(name) for name in group]) for group in groups])

    lists = list(combinations_with_replacement(product(*map(range, sizes)), relation["adjacency"]))
    by_published: dict[bytes, list[Matrix]] = {}
    for records in lists:
        kept = of([[], *linked["published"]], records).tobytes()
        by_published.setdefault(kept, []).append(of(linked["tables"], records))
    return [one - other for alike in by_published.values() for one, other in combinations(alike, 2)]


def changes_and_budgets(relation: Core, columns: Matrix) -> list[tuple[Matrix, float]] | None:
    """The differences of the answers, columns (R, N), with their budgets."""
    kind = relation["kind"]
    if columns.shape[1] > 60 or (kind in ("invariant", "metric_and_invariant") and columns.shape[1] > 4):
        return None
    if kind == "row_groups":
        found, start = [], 0
        for part in relation["parts"]:
            budgets = metric(part)
            pairs = combinations(range(len(budgets)), 2)
            found += [(columns[:, start + i] - columns[:, start + j], budgets[i, j]) for i, j in pairs]
            start += len(budgets)
        return found
    if kind == "linked_tables":
        joint = math.prod(len(values) for values in relation["linked"]["values"])
        if math.comb(joint + relation["adjacency"] - 1, relation["adjacency"]) > 500:
            return None
        return [(columns @ v, relation["epsilon"]) for v in linked_changes(relation)]
    if kind in ("invariant", "metric_and_invariant"):
        if relation["adjacency"] > 3:
            return None
        budgets = metric(relation["metric"]).tolist() if kind == "metric_and_invariant" else None
        return [
            (columns @ np.array(v), relation["epsilon"] if budgets is None else transport(v, lambda i, j: budgets[i][j]))
            for v in table_changes(relation)
        ]
    appears = kind in ("add_remove", "appear_or_change")
    budgets = with_origin(relation) if appears else metric(relation)
    points = np.column_stack([columns, np.zeros(len(columns))]) if appears else columns
    return [(points[:, i] - points[:, j], budgets[i, j]) for i, j in combinations(range(len(budgets)), 2)]


def length(norm: Core, u: Matrix) -> float:
    """`||u||`; a coordinate with "inf" in the map, or a column of it, has no noise."""
    if norm["order"] == "gauge":
        return measure(norm, u.tolist()) if u.any() else 0.0
    if norm["order"] == "bundles":
        own = [length(bundle["gauge"], u[bundle["places"]]) for bundle in norm["bundles"]]
        silent = np.setdiff1d(np.arange(norm["size"]), [k for bundle in norm["bundles"] for k in bundle["places"]])
        return INF if u[silent].any() else {"sum": sum, "max": max}[norm["combine"]](own)
    if norm["order"] == "capped_l1":
        own = [length({"order": order, "map": norm["map"]}, u) for order in ("linf", "l1")]
        return max(own[0], own[1] / norm["cap"])
    factor = np.array([[number(w) for w in np.atleast_1d(row)] for row in norm["map"]])
    diagonal = not isinstance(norm["map"][0], list)
    silent = np.isinf(factor.ravel() if diagonal else factor.max(axis=0))
    if u[silent].any():
        return INF
    image = factor.ravel()[~silent] * u[~silent] if diagonal else factor[:, ~silent] @ u[~silent]
    return float(np.linalg.norm(image, {"l1": 1, "l2": 2, "linf": INF}[norm["order"]]))


def answers(workload: Core) -> Matrix:
    """The queries, one a row, written out."""
    if "matrix" in workload:
        return np.array(workload["matrix"], dtype=float)
    rows = workload["rows"]
    found = np.zeros((len(workload["queries"]), len(workload["elements"])))
    for row, (start, end) in enumerate(pairwise(rows["starts"])):
        found[row, rows["columns"][start:end]] = rows["values"][start:end]
    return found


def told(core: Core, budget: float) -> float:
    """The length that a budget allows: itself, or under a delta the root of the delta that a length spends."""
    if "delta" not in core:
        return budget
    delta, normal = core["delta"], core["falloff"] == "rounded_gaussian"

    def over(m: float) -> float:
        if normal:
            return float(norm.cdf(m / 2 - budget / m) - norm.sf(m / 2 + budget / m) * math.exp(budget)) - delta
        return (math.exp(m) - math.exp(budget)) / (1 + math.exp(m)) - delta

    return float(brentq(over, 1e-9, 600.0, xtol=1e-15)) if budget < 500 else budget


def counts_alone(core: Core) -> Core:
    """Of projected noise the part that changes move: the counts. What stands behind them has no noise."""
    size = len(core["workload"]["elements"])
    assert set(core["norm"]["map"][size:]) <= {"inf"}
    norm = {**core["norm"], "map": core["norm"]["map"][:size]}
    return {**core, "norm": norm, "grid": core["grid"][:size], "measured": np.eye(size).tolist(), "projected": False}


def additive(core: Core) -> float | None:
    """The largest `||u|| / b`."""
    if core.get("projected"):
        return additive(counts_alone(core))
    target = answers(core["workload"]) if core["measured"] is None else np.array(core["measured"], dtype=float)
    steps = 2.0 ** np.array(core["grid"], dtype=float)[:, None]
    with np.errstate(all="ignore"):
        found = changes_and_budgets(core["relation"], np.rint(target / steps) * steps)
        if found is None:
            return None
        finite = [(length(core["norm"], u), told(core, b)) for u, b in found if math.isfinite(b)]
        ratios = [0.0 if not moved else moved / b if b else INF for moved, b in finite]
    return max(ratios, default=0.0)
