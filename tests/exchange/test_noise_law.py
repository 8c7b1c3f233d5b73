"""The file of a noise law says all of it: covariances and probabilities are rebuilt from the file alone."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy.spatial import ConvexHull, Delaunay
from scipy.stats import norm as normal

from designer import InvalidProblem, Mechanism, Problem, Workload, design, invariants, metrics
from designer.exchange.opendp import SINGLE, noise_document, noise_rows, noise_schema
from tests.oracles.lazy import Lazy
from tests.oracles.spec_specimens import specimens

ROOT = Path(__file__).parents[2]
SCHEMA = noise_schema()
PAIR = Workload([[1, 0, 2], [0, 3, 1]], queries=["a", "b"])
LINE = metrics.from_matrix([[0, 0.25, 0.75], [0.25, 0, 0.5], [0.75, 0.5, 0]])
FLOAT = 1e-9  # of numbers computed twice


def made(family: str, workload: Workload = PAIR, relation: Any = None, **options: Any) -> Mechanism:
    notion = "zcdp" if family == "gaussian" and "delta" not in options else options.pop("notion", "pure")
    relation = relation or metrics.add_remove(workload.shape[1], 1.0)
    return design(Problem(workload, relation, notion=notion, **options), family).mechanism


def on_file(mechanism: Mechanism) -> dict[str, Any]:
    """What a reader of the file has."""
    document = json.loads(json.dumps(noise_document(mechanism)))
    jsonschema.validate(document, SCHEMA)
    return document


def rational(rows: Any) -> np.ndarray:
    return np.array([[float(Fraction(x)) for x in row] for row in rows])


def length(norm: dict[str, Any], y: np.ndarray) -> float:
    """||y|| by the formulas of the page."""
    if norm["kind"] == "ellipsoid":
        return float(np.sqrt(((np.array(norm["factor"]) @ y) ** 2).sum()))
    if norm["kind"] == "polytope":
        return float(np.abs(rational(norm["facets"]) @ y).max())
    if norm["kind"] == "bundles":
        parts = [length(part, y[part["coordinates"]]) for part in norm["parts"]]
        return max(parts) if norm["combine"] == "max" else sum(parts)
    weighted = np.array(norm["weights"]) * np.abs(y)
    shapes = {"weighted_l1": weighted.sum(), "box": weighted.max()}
    if norm["kind"] == "capped_l1":
        return float(max(weighted.max(), weighted.sum() / norm["cap"]))
    return float(shapes[norm["kind"]])


def second_moment(norm: dict[str, Any], falloff: str) -> np.ndarray:
    """Covariance of y under the continuous law, from the norm alone: `(s + 1)(s + 2)` times the second moment of the ball for
    an exponential fall-off, integrated over the simplices of a triangulation of its corners."""
    if norm["kind"] == "ellipsoid":
        factor = np.linalg.inv(np.array(norm["factor"]))
        return np.asarray(factor @ factor.T * (1 if falloff != "exponential" else len(factor) + 1))
    vertices = rational(norm["vertices"])
    corners = np.concatenate([vertices, -vertices])
    s = corners.shape[1]
    total, volume = np.zeros((s, s)), 0.0
    for simplex in Delaunay(corners).simplices:
        x = corners[simplex]
        size = abs(np.linalg.det(x[1:] - x[0])) / math.factorial(s)
        centre = x.sum(axis=0)
        total += size * (x.T @ x + np.outer(centre, centre)) / ((s + 1) * (s + 2))
        volume += size
    assert volume == pytest.approx(ConvexHull(corners).volume)
    return np.asarray((s + 1) * (s + 2) * total / volume)


def covariance_from(document: dict[str, Any]) -> np.ndarray:
    """The covariance of the answers from the law in the file."""
    law, steps = document["law"], np.ldexp(1.0, document["exponents"])[document["noisy"]]
    if law["kind"] == "norm":
        inner = second_moment(law["norm"], law["falloff"])
    elif law["kind"] == "discrete_laplace":
        rates = np.array([float(Fraction(r)) for r in law["rates"]])
        inner = np.diag(0.5 / np.sinh(rates / 2) ** 2 * steps**2)
    else:
        inner = np.diag([summed(law["kind"], float(Fraction(v))) for v in law["variances"]] * steps**2)
    rebuilt = document["reconstruction"]
    rows = np.eye(len(document["exponents"])) if rebuilt is None else np.array(rebuilt)
    rows = rows[:, document["noisy"]]
    return np.asarray(rows @ inner @ rows.T)


def summed(kind: str, variance: float) -> float:
    """Of one number, by summing its probabilities; wide laws have the variance of the continuous ones (and a twelfth)."""
    if variance > 400:
        return variance + (1 / 12 if kind == "rounded_normal" else 0)
    z, spread = np.arange(-4_000, 4_001), math.sqrt(variance)
    weights = np.exp(-(z**2) / (2 * variance))
    if kind == "rounded_normal":
        weights = np.diff(normal.cdf((np.arange(-4_000, 4_002) - 0.5) / spread))
    return float((z**2 * weights).sum() / weights.sum())


LAWS = Lazy(
    {
        "discrete_laplace": partial(made, "laplace"),
        "discrete_gaussian": partial(made, "gaussian", Workload.identity(2)),
        "rounded_normal": partial(made, "gaussian", Workload.identity(2), notion="approximate", delta=1e-6),
        "ellipsoid": partial(made, "ellipsoid"),
        "gaussian ellipsoid": partial(made, "gaussian"),
        "polytope": partial(made, "k_norm"),
        "strategy": partial(made, "strategy_laplace", Workload(np.tri(3)), LINE),
    }
)


@pytest.mark.parametrize("name", LAWS)
def test_the_covariance_is_rebuilt_from_the_file_alone(name: str) -> None:
    document, mechanism = on_file(LAWS[name]), LAWS[name]
    assert covariance_from(document) == pytest.approx(mechanism.covariance(), rel=1e-7, abs=1e-9)
    assert np.array(document["covariance"]) == pytest.approx(mechanism.covariance(), rel=FLOAT)
    assert document["standard_errors"] == pytest.approx(np.sqrt(mechanism.query_variances()), rel=FLOAT)


@pytest.mark.parametrize("family", ["k_norm", "ellipsoid", "box", "bundles", "capped_l1"])
def test_ratios_of_probabilities_are_rebuilt_from_the_file_alone(family: str) -> None:
    """`P(z) / P(0) = exp(-||step z||)`: the norm of the file against the exact norm that was certified."""
    mechanism: Any = made(family, Workload(np.eye(4) + np.tri(4), queries=list("abcd")), metrics.uniform(4, 1.0))
    document = on_file(mechanism)
    steps = np.ldexp(1.0, document["exponents"])
    draws = np.random.default_rng(3).normal(size=(20, len(steps)))
    for z in np.rint(draws / steps):
        full = np.zeros(len(steps))
        full[document["noisy"]] = (z * steps)[document["noisy"]]
        exact = mechanism.norm.exact([Fraction(float(x)) for x in full])
        assert length(document["law"]["norm"], full[document["noisy"]]) == pytest.approx(float(exact), rel=1e-9)


def test_rates_and_variances_are_those_of_the_sampler() -> None:
    for name in ("discrete_laplace", "discrete_gaussian"):
        document, law = on_file(LAWS[name]), LAWS[name].noise.sampler  # type: ignore[attr-defined]
        if name == "discrete_laplace":
            assert tuple(map(Fraction, document["law"]["rates"])) == law.rates
        else:
            ratio = Fraction(document["law"]["variances"][0])
            factor = Fraction(float(LAWS[name].norm.factor[0, 0])) * LAWS[name].grid.step(0)  # type: ignore[attr-defined]
            assert ratio == 1 / factor**2


def test_a_lattice_is_told_with_what_it_keeps() -> None:
    """Probabilities of all tables with the published margins, from the file alone, against a direct sum over the kernel."""
    kept = made("lattice_laplace", Workload.identity(4), invariants.margins((2, 2)).protect(0.5, adjacency=2))
    document = on_file(kept)
    constraints, law = np.array(document["law"]["constraints"]), document["law"]
    kernel = [np.array(z) for z in product(range(-40, 41), repeat=1)]
    moves = [int(k[0]) * np.array([1, -1, -1, 1]) for k in kernel]
    assert not any((constraints @ z).any() for z in moves)
    weights = np.exp([-length(law["norm"], z[law["cells"]].astype(float)) for z in moves])
    second = sum(w * np.outer(z, z) for w, z in zip(weights, moves, strict=True)) / weights.sum()
    assert second == pytest.approx(kept.covariance(), rel=1e-6)


def test_stairs_and_peaks_are_told_with_their_steps() -> None:
    """Probabilities of a staircase from the file: levels by relaxation over the listed steps, summed for the variance."""
    stairs = made("staircase", Workload([[0, 1, 3]]), LINE)
    document = on_file(stairs)
    law, step = document["law"], 2.0 ** document["exponents"][document["noisy"][0]]
    unit = float(Fraction(law["unit"]))
    reach = 4_000
    if law["kind"] == "stairs":
        places = np.arange(-reach, reach + 1)
        heights = np.maximum(0, np.ceil((np.abs(places) - law["top"]) / law["width"]))
    else:
        places, heights = walked(law, reach)
    weights = np.exp(-unit * heights)
    variance = float((weights * (places * step) ** 2).sum() / weights.sum())
    rebuilt = 1.0 if document["reconstruction"] is None else document["reconstruction"][0][document["noisy"][0]]
    assert variance * rebuilt**2 == pytest.approx(stairs.query_variances()[0], rel=1e-6)


def walked(law: dict[str, Any], reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Heights of a law of peaks in one dimension, by going from number to number until nothing gets cheaper."""
    [[base]] = law["basis"]
    ends = {peak * base // 2: level for [peak], level in zip(law["peaks"], law["levels"], strict=True)}
    heights = np.full(2 * reach + 1, np.inf)
    for place, level in ends.items():
        heights[place + reach] = level
    changed = True
    while changed:
        before = heights.copy()
        for step in law["steps"]:
            [move], cost = step["move"], step["cost"]
            for led in (move, -move):
                shifted = np.full_like(heights, np.inf)
                shifted[max(0, led) : len(heights) + min(0, led)] = heights[max(0, -led) : len(heights) - max(0, led)]
                heights = np.minimum(heights, shifted + cost)
        changed = not np.array_equal(heights, before)
    kept = np.isfinite(heights)
    return np.arange(-reach, reach + 1)[kept], heights[kept]


@pytest.mark.every_room
@pytest.mark.nightly
def test_every_kind_of_spec_has_a_law_on_file_or_says_why_not() -> None:
    told, refused = [], []
    for name, specimen in specimens().items():
        try:
            document = json.loads(json.dumps(noise_document(specimen)))
        except InvalidProblem as refusal:
            assert any(words in str(refusal) for words in ("adds no noise", "Markov chain", "hides nothing")), (name, refusal)
            refused.append(name)
            continue
        jsonschema.validate(document, SCHEMA)
        told.append(document["law"]["kind"])
    assert {"discrete_laplace", "norm", "lattice"} <= set(told) and refused


def test_the_schema_is_closed() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**noise_document(LAWS["polytope"]), "surprise": 1}, SCHEMA)


def test_independent_answers_are_a_table() -> None:
    header, *rows = noise_rows(LAWS["discrete_laplace"])
    assert header == SINGLE and [row[0] for row in rows] == ["a", "b"]
    for row, error in zip(rows, LAWS["discrete_laplace"].standard_errors(), strict=True):
        rate, variance = Fraction(row[3]), float(row[5])
        assert variance == pytest.approx(0.5 / math.sinh(float(rate) / 2) ** 2 * 4.0 ** int(row[2]))
        assert float(row[6]) == error
    with pytest.raises(InvalidProblem, match=r"name a \.json file"):
        noise_rows(LAWS["polytope"])
