"""Laws of small mechanisms by their definitions, from the plain data of their specs: what each kind releases with which
probability of a histogram of four cells, a 2x2 table row by row. Floats; what is left out has a mass below 1e-10.

`law(format, core, x)` is a mapping from outputs to probabilities; `loss_atoms` pairs two of them up.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

Core = dict[str, Any]
Law = dict[Any, float]
Atoms = tuple[np.ndarray, np.ndarray]
LEFT_OUT = 28.0  # e^-28 of the largest weight
CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))


def normalised(weights: Law) -> Law:
    total = math.fsum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def integers(energy: Callable[[int], float]) -> Law:
    """P(z) ~ exp(-energy(z)), a symmetric energy that rises."""
    reach = next(n for n in range(1, 10**6) if energy(n) > LEFT_OUT)
    return normalised({z: math.exp(-energy(z)) for z in range(-reach, reach + 1)})


def independent(laws: list[Law]) -> Law:
    joint: Law = {(): 1.0}
    for law in laws:
        joint = {(*key, z): p * q for key, p in joint.items() for z, q in law.items()}
    return joint


def merged(pairs: Iterator[tuple[Any, float]]) -> Law:
    found: Law = defaultdict(float)
    for key, p in pairs:
        found[key] += p
    return dict(found)


def matrix_of(workload: Core) -> np.ndarray:
    if "matrix" in workload:
        return np.array(workload["matrix"], dtype=float)
    return np.eye(len(workload["elements"]))


def additive(core: Core, x: np.ndarray) -> Law:
    """Answers in steps of the grid plus integers, each coordinate by itself: an l1 norm with exponential fall-off, an l2 norm
    with a Gaussian one, or a normal number rounded to the nearest step."""
    from scipy.stats import norm as normal

    rows = matrix_of(core["workload"]) if core["measured"] is None else np.array(core["measured"], dtype=float)
    steps = 2.0 ** np.array(core["grid"], dtype=float)
    exact = (np.rint(rows / steps[:, None]) @ x).astype(int)
    laws = []
    for weight, step in zip(np.array(core["norm"]["map"], dtype=float), steps, strict=True):
        rate = abs(weight) * step
        if core["falloff"] == "exponential":
            laws.append(integers(lambda z, r=rate: r * abs(z)))
        elif core["falloff"] == "gaussian":
            laws.append(integers(lambda z, r=rate: (r * z) ** 2 / 2))
        else:
            reach = math.ceil(8 / rate)
            laws.append({z: normal.cdf((z + 0.5) * rate) - normal.cdf((z - 0.5) * rate) for z in range(-reach, reach + 1)})
    return {tuple(exact + np.array(z)): p for z, p in independent(laws).items()}


def hierarchy(core: Core, x: np.ndarray) -> Law:
    """Counts of groups plus integers, each by itself; the answers follow from them."""
    size = len(core["workload"]["elements"])
    if "ranges" in core["groups"]:
        ends = zip(core["groups"]["ranges"]["starts"], core["groups"]["ranges"]["ends"], strict=True)
        groups = [range(start, end) for start, end in ends]
    else:
        rows = core["groups"]["rows"]
        groups = [rows["columns"][a:b] for a, b in pairwise(rows["starts"])]
    assert all(0 <= i < size for group in groups for i in group)
    exact = np.array([sum(x[i] for i in group) for group in groups])
    laws = [integers(lambda z, r=rate: r * abs(z)) for rate in core["rates"]]
    return {tuple(exact + np.array(z)): p for z, p in independent(laws).items()}


def kernel(core: Core, x: np.ndarray) -> Law:
    """`x + k (1, -1, -1, 1)`, P(k) ~ exp(-||k v||) or exp(-||k v||^2 / 2)."""
    cells = core["cells"] or range(4)
    v = np.array([1, -1, -1, 1], dtype=float)[list(cells)]
    factor = np.array(core["norm"]["map"], dtype=float)
    image = factor * v if factor.ndim == 1 else factor @ v
    length = float(np.linalg.norm(image, {"l1": 1, "l2": 2, "linf": math.inf}[core["norm"]["order"]]))
    power = {"exponential": lambda s: s, "gaussian": lambda s: s * s / 2}[core["falloff"]]
    law = integers(lambda k: power(length * abs(k)))
    return {int(x[0]) + k: p for k, p in law.items()}


def rows(core: Core, x: np.ndarray) -> Law:
    """Rows (a, -a) with P ~ exp(-2 rate |a|), less a table with their column sums, half of them in each row, rounded up or
    down."""
    rate = float(np.array(core["norm"]["map"], dtype=float)[0])
    line = integers(lambda a: 2 * rate * abs(a))

    def balanced() -> Iterator[tuple[int, float]]:
        for (a, p), (b, q) in product(line.items(), repeat=2):
            low, odd = divmod(a + b, 2)
            yield int(x[0]) + a - low, p * q * (0.5 if odd else 1.0)
            if odd:
                yield int(x[0]) + a - low - 1, p * q * 0.5

    return merged(balanced())


def staircase(core: Core, x: np.ndarray) -> Law:
    """Stairs around one answer: P(z) ~ exp(-unit h), h the steps beyond the top."""
    noise = core["noise"]
    assert noise["kind"] == "stairs"
    steps = 2.0 ** np.array(core["grid"], dtype=float)
    measured = matrix_of(core["workload"]) if core["measured"] is None else np.array(core["measured"], dtype=float)
    exact = int(np.rint(measured / steps[:, None])[0] @ x)
    unit, top, width = Fraction(noise["unit"]), noise["top"], noise["width"]
    law = integers(lambda z: float(unit) * max(0, -(-(abs(z) - top) // width)))
    return {exact + z: p for z, p in law.items()}


def table_over(axes: list[int], x: np.ndarray) -> np.ndarray:
    """The counts over some of the two attributes, in order."""
    return x.reshape(2, 2).sum(axis=tuple(axis for axis in (0, 1) if axis not in axes)).ravel()


def structured(core: Core, x: np.ndarray) -> Law:
    """Every coordinate of every measured product plus an integer of its own."""
    matrices = {entry["axis"]: entry["rows"] for entry in core["matrices"]}
    laws, exact = [], []
    for block in core["blocks"]:
        full = np.ones((1, 1))
        for axis, place in zip(block["axes"], block["matrices"], strict=True):
            full = np.kron(full, np.array(matrices[axis][place]))
        for answer in full @ table_over(block["axes"], x):
            s = block["strength"]
            laws.append(integers(lambda z, s=s: s * abs(z) if core["noise"] == "laplace" else s * z * z / 2))
            exact.append(int(answer))
    return {tuple(np.array(exact) + np.array(z)): p for z, p in independent(laws).items()}


def marginals(core: Core, x: np.ndarray) -> Law:
    """Contrasts `x_0 - x_1` along the attributes of each residual, with noise of variance (squared norm) / precision."""
    sets = sorted({part for s in core["subsets"] for part in [(), *((a,) for a in s), tuple(s)]}, key=lambda s: (len(s), s))
    laws, exact = [], []
    for axes, precision in zip(sets, core["precisions"], strict=True):
        contrast = np.ones(1)
        for _ in axes:
            contrast = np.kron(contrast, [1, -1])
        exact.append(int(contrast @ table_over(list(axes), x)))
        variance = 0.0 if precision == "inf" else 2 ** len(axes) / precision
        laws.append(integers(lambda z, v=variance: z * z / (2 * v)) if variance else {0: 1.0})
    return {tuple(np.array(exact) + np.array(z)): p for z, p in independent(laws).items()}


def odds_ratio(core: Core, x: np.ndarray) -> Law:
    """x11 plus Tulap noise: an integer with P(k) ~ b^|k| plus a uniform number, rounded down to halves; b = e^-epsilon."""
    epsilon = float(Fraction(core["tradeoff"]["epsilon"]))
    assert core["tradeoff"]["kind"] == "epsilon_delta" and core["tradeoff"]["delta"] == "0" and core["exponent"] == 1
    whole = integers(lambda k: epsilon * abs(k))
    halves = ((2 * (int(x[0]) + k) + side, p / 2) for k, p in whole.items() for side in (-1, 0))
    return merged(halves)


def scores_chosen(scores: np.ndarray, rate: float) -> np.ndarray:
    weights = np.exp(rate * (scores - scores.max()))
    return np.asarray(weights / weights.sum())


def selection(core: Core, x: np.ndarray) -> Law:
    """A linear score with targets: the candidate r with weight exp(rate (q_r x - t_r))."""
    score = core["score"]
    assert score["kind"] == "linear" and core["law"] == "exponential"
    values = matrix_of(score["workload"]) @ x - np.array(score["targets"], dtype=float)
    return dict(enumerate(scores_chosen(values, core["rate"]).tolist()))


def channel(core: Core, x: np.ndarray) -> Law:
    """How often each report came: a sum of independent draws, each from the row of a person's value."""
    reports = len(core["reports"])
    found: Law = {(0,) * reports: 1.0}
    for row, people in zip(core["numerators"], x.tolist(), strict=True):
        for _ in range(people):
            chances = enumerate(entry / core["denominator"] for entry in row)
            drawn = [(z, p) for z, p in chances]
            found = merged(((*key[:z], key[z] + 1, *key[z + 1 :]), q * p) for key, q in found.items() for z, p in drawn)
    return found


def mwem(core: Core, x: np.ndarray) -> Law:
    """One round from the uniform histogram: a query by its error, then the query with discrete Laplace noise."""
    (choice, measure), *rest = [[Fraction(part) for part in pair] for pair in core["shares"]]
    assert not rest and core["selection"] == "exponential"
    queries = core["queries"]
    p, weights = np.array(queries["integers"]), np.array([float(w) for w in queries["weights"]])
    step, exact = 2.0 ** queries["exponent"], np.array(queries["integers"]) @ x
    guess = np.rint(p @ np.full(4, core["records"] / 4))
    chances = scores_chosen(np.abs(exact - guess), float(choice) * weights.min() * step / 2)
    found: Law = {}
    for k, chance in enumerate(chances):
        noise = integers(lambda z, k=k: float(measure) * weights[k] * step * abs(z))
        found |= {(k, int(exact[k]) + z): chance * q for z, q in noise.items()}
    return found


def small_db(core: Core, x: np.ndarray) -> Law:
    """One of the distinct answer vectors of histograms of m records, by its largest error."""
    queries, m, n = core["queries"], core["size"], core["records"]
    p = np.array(queries["integers"])
    answers = sorted({tuple(p @ np.array(y)) for y in product(range(m + 1), repeat=4) if sum(y) == m})
    errors = np.array([np.abs(p @ x - np.array(a) * n / m).max() for a in answers])
    rate = min(float(w) for w in queries["weights"]) * 2.0 ** queries["exponent"] / 2
    return dict(zip(answers, scores_chosen(-errors, rate).tolist(), strict=True))


def table_plan(core: Core, x: np.ndarray) -> Law:
    """Counts of all rows, or by the first attribute, with discrete Gaussian noise, and sums of it with discrete Laplace
    noise."""
    laws, exact = [], []
    for query in core["queries"]:
        grouped = bool(core["levels"][query["groups"]]["columns"])
        value = np.array([a for a, _ in CELLS]) + 1 if query["kind"] == "pure_sum" else np.ones(4)
        sums = (value * x).reshape(2, 2).sum(axis=1) if grouped else [(value * x).sum()]
        for total in sums:
            exact.append(int(total))
            if query["kind"] == "pure_sum":
                laws.append(integers(lambda z, s=float(Fraction(query["scale"])): abs(z) / s))
            else:
                laws.append(integers(lambda z, v=float(Fraction(query["variance"])): z * z / (2 * v)))
    return {tuple(np.array(exact) + np.array(z)): p for z, p in independent(laws).items()}


LAWS: dict[str, Callable[[Core, np.ndarray], Law]] = {
    "dp-designer/mechanism": additive,
    "dp-designer/lattice-mechanism": kernel,
    "dp-designer/row-mechanism": rows,
    "dp-designer/staircase-mechanism": staircase,
    "dp-designer/hierarchy-mechanism": hierarchy,
    "dp-designer/structured-mechanism": structured,
    "dp-designer/marginals": marginals,
    "dp-designer/odds-ratio-test": odds_ratio,
    "dp-designer/mwem": mwem,
    "dp-designer/small-db": small_db,
    "dp-designer/selection": selection,
    "dp-designer/channel": channel,
    "dp-designer/table-plan": table_plan,
}


def law(format: str, core: Core, x: tuple[int, ...]) -> Law:
    """Outputs with their probabilities."""
    return LAWS[format](core, np.array(x))


def loss_atoms(one: Law, other: Law) -> Atoms:
    """The probabilities of both laws, (n,) each; outputs of one likelihood ratio, to 1e-9, are one atom."""
    pairs: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key in one.keys() | other.keys():
        p, q = one.get(key, 0.0), other.get(key, 0.0)
        ratio = round(math.log(p / q), 9) if p and q else (math.inf if p else -math.inf)
        pairs[ratio][0] += p
        pairs[ratio][1] += q
    return np.array([p for p, _ in pairs.values()]), np.array([q for _, q in pairs.values()])


def both(first: Atoms, second: Atoms) -> Atoms:
    """The atoms of the joint law: of all pairs of outputs."""
    return np.outer(first[0], second[0]).ravel(), np.outer(first[1], second[1]).ravel()


def excess(atoms: Atoms, epsilon: float) -> float:
    """`sup_S P(S) - e^epsilon Q(S)`, the larger of both directions."""
    p, q = atoms
    grown = math.exp(epsilon)
    return max(float(np.maximum(p - grown * q, 0).sum()), float(np.maximum(q - grown * p, 0).sum()))


def largest_loss(atoms: Atoms) -> float:
    """The largest log-ratio of outputs that both laws have, but for those of a mass below 1e-11."""
    p, q = atoms
    seen = (p > 1e-11) & (q > 1e-11)
    return float(np.abs(np.log(p[seen] / q[seen])).max())
