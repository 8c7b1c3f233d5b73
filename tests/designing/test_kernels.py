"""The kernels of linear algebra, which follow the type of processor, decide no convex design, and little of a search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.certificate.norms import Norm
from designer.designing.measured import Coordinates
from designer.designing.repair import freeze
from designer.mechanism.additive import AdditiveMechanism

NUMBER, SEED, EACH = 200, 41, 25
SEARCHES = ("strategy_laplace", "strategy_geometric", "staircase", "bundles")
CONVEX = ("laplace", "projected_laplace", "ellipsoid", "gaussian", "diagonal_gaussian", "k_norm", "box", "capped_l1")
# Of the loss, between two ends of a local search: of 25 problems all but two are so near, and those are not far apart.
NEAR, APART, FAR = 1e-4, 2, 0.02
MADE = f"""
import json, sys
from designer import DesignFailed, design
from designer.designing.auto import runs_for
from designer.designing.listed import FAMILIES
from tests.oracles.many_problems import problems

first, searched = int(sys.argv[1]), sys.argv[2] == "searched"
for name, problem in list(problems({NUMBER}, {SEED}))[first : first + {EACH}]:
    kept = [family for family in FAMILIES if family.serves(problem) and family.name in {CONVEX + SEARCHES}]
    for way in runs_for(kept, problem):
        if way.work > 2 or (way.family.name in {SEARCHES}) != searched:
            continue
        try:
            made = design(problem, way.family.name, effort="quick", **way.options)
        except DesignFailed:
            print(json.dumps([name, way.name, "refused", "", 0.0]))
        else:
            print(json.dumps([name, way.name, made.mechanism.family, made.mechanism.fingerprint, made.loss]))
"""
KERNELS = (
    {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    {"OPENBLAS_CORETYPE": "SkylakeX"},
)


def has_both_kernels() -> bool:
    """Whether this machine runs kernels for AVX-512 and NumPy's and OpenBLAS's kernels without them."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    return bool(features.get("AVX512_SKX") or features.get("X86_V4"))


def made_with(kernel: dict[str, str], first: int, which: str) -> Iterator[list[object]]:
    """The designs in an interpreter of its own."""
    around = {**os.environ, **kernel, "PYTHONWARNINGS": "ignore"}
    ran = subprocess.run(
        [sys.executable, "-c", MADE, str(first), which], env=around, capture_output=True, text=True, check=True
    )
    return (json.loads(line) for line in ran.stdout.splitlines())


@pytest.mark.nightly
@pytest.mark.skipif(not has_both_kernels(), reason="this processor has one of the two kernels")
@pytest.mark.parametrize("first", range(0, NUMBER, EACH))
def test_convex_designs_have_one_fingerprint_on_two_kernels(first: int) -> None:
    ours, others = (list(made_with(kernel, first, "convex")) for kernel in KERNELS)
    assert len(ours) > 2 * EACH
    different = [(one, other) for one, other in zip(ours, others, strict=True) if one[:4] != other[:4]]
    assert different == []


@pytest.mark.nightly
@pytest.mark.skipif(not has_both_kernels(), reason="this processor has one of the two kernels")
@pytest.mark.parametrize("first", range(0, NUMBER, EACH))
def test_searches_end_near_each_other_on_two_kernels(first: int) -> None:
    ours, others = (list(made_with(kernel, first, "searched")) for kernel in KERNELS)
    assert len(ours) > EACH
    apart = set()
    for one, other in zip(ours, others, strict=True):
        assert one[:3] == other[:3] and one[4] == pytest.approx(other[4], rel=FAR), (one, other)
        if one[4] != pytest.approx(other[4], rel=NEAR):
            apart.add(str(one[0]))
    assert len(apart) <= APART, apart


def frozen_with(problem: Problem, weights: np.ndarray, order: str) -> AdditiveMechanism:
    """Noise of these weights, or of this factor, on the queries themselves."""
    coordinates = Coordinates(None, None, np.ones(len(weights), dtype=bool))
    shape = Norm(weights, order)  # type: ignore[arg-type]
    scales = 1 / np.abs(weights if weights.ndim == 1 else np.diag(weights))
    return freeze(problem, "laplace" if order == "l1" else "ellipsoid", coordinates, scales, lambda _: shape, "exponential")


@pytest.mark.parametrize("order", ["l1", "l2"])
def test_what_differs_in_the_last_digits_is_frozen_alike_and_privately(order: str) -> None:
    random = np.random.default_rng(5)
    problem = Problem(Workload.random(4, 30, seed=2), metrics.euclidean(random.random((30, 2)), 2.0))
    weights = random.uniform(0.1, 1, 4) if order == "l1" else np.tril(random.uniform(0.1, 1, (4, 4))) + np.eye(4)
    made = frozen_with(problem, weights, order)
    assert made.privacy.worst_ratio is not None and 1 - 2.0**-31 < made.privacy.worst_ratio <= 1
    for _ in range(3):
        near = frozen_with(problem, weights * (1 + 2.0**-51 * random.uniform(-1, 1, weights.shape)), order)
        assert near.fingerprint == made.fingerprint
    exact = Norm(weights, order)  # type: ignore[arg-type]
    worst = max(problem.sensitivity().worst(exact)[0], 1.0)
    assert made.norm.map == pytest.approx(weights / worst, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("family", ["strategy_laplace", "strategy_geometric"])
@pytest.mark.parametrize("rows", ["real, few", "real, many", "large whole numbers"])
def test_rounded_strategies_answer_exactly_what_was_asked(family: str, rows: str) -> None:
    random = np.random.default_rng(8)
    few = random.integers(0, 2**44, (2, 9)).astype(float)
    asked = {"real, few": random.random((3, 20)), "real, many": random.random((9, 6)), "large whole numbers": few}[rows]
    made = design(Problem(Workload(asked), metrics.add_remove(asked.shape[1], 1.0)), family, effort="quick").mechanism
    assert isinstance(made, AdditiveMechanism) and made.measured is not None and made.reconstruction is not None
    assert np.abs(made.reconstruction @ made.measured - asked).max() <= 1e-14 * asked.max() * len(made.measured)
