"""A million elements: designs, specs and baselines over searched pairs, and the answers for which a search degrades."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import designer.certificate.max_ratio_search as steep
import designer.problem.budget_bounds as nearness
from benchmarks.growth.case import Case
from designer import Problem, Workload, design, load, metrics
from designer.base.arrays import Floats
from designer.certificate.certificate import certify
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet

ROOM = 1.1  # so much wider than needed is the noise whose certificate is measured


def places(elements: int, dimension: int = 2) -> Floats:
    """Random points, one for each unit of area."""
    return np.random.default_rng(0).random((elements, dimension)) * elements ** (1 / dimension)


def regions_and_bumps(elements: int, queries: int) -> Floats:
    """Counts of discs, and smooth weights, in turn."""
    at, centres = places(elements) / np.sqrt(elements), np.random.default_rng(1).random((queries, 2))
    squares = [((at - centre) ** 2).sum(axis=1) for centre in centres]
    return np.array([np.exp(-8 * r) if k % 2 else (r < 0.09) * 1.0 for k, r in enumerate(squares)])


def problem(elements: int, queries: int = 4, notion: str = "pure") -> Problem:
    return Problem(Workload(regions_and_bumps(elements, queries)), metrics.euclidean(places(elements)), notion=notion)  # type: ignore[arg-type]


def designed(family: str, queries: int = 4) -> Case:
    run = {"laplace": _laplace, "gaussian": _gaussian, "box": _box, "k_norm": _k_norm}[family]
    sizes = (50_000, 100_000, 200_000, 400_000, 1_000_000) if family == "laplace" else (25_000, 50_000, 100_000, 200_000)
    return Case(f"million: {family}, K {queries}", "elements", sizes, run)


def _laplace(elements: int) -> str:
    made = design(problem(elements), "laplace")
    assert made.optimality is not None
    return f"gap {made.optimality.gap:.1e}, {made.privacy.pairs:.3g} pairs"


def _gaussian(elements: int) -> str:
    made = design(problem(elements, notion="zcdp"), "gaussian")
    assert made.optimality is not None
    return f"gap {made.optimality.gap:.1e}, {made.privacy.pairs:.3g} pairs"


def _box(elements: int) -> str:
    return f"worst ratio {float(design(problem(elements), 'box').privacy.worst_ratio or 0):.12f}"


def _k_norm(elements: int) -> str:
    return design(problem(elements, 2), "k_norm").mechanism.norm.proof_words.split(",")[0]


def _globe(elements: int) -> str:
    at = places(elements) / np.sqrt(elements) * [20, 40] + [28, -120]
    made = design(Problem(Workload(regions_and_bumps(elements, 4)), metrics.great_circle(at, 0.01)), "laplace")
    return f"worst ratio {float(made.privacy.worst_ratio or 0):.12f}"


def _spec(elements: int) -> str:
    made = design(problem(elements), "strategy_2").mechanism
    with TemporaryDirectory() as folder:
        path = made.save(Path(folder) / "spec.json")
        assert load(path) == made
        return f"{path.stat().st_size / 1e6:.0f} MB, saved and loaded"


def _certificates(searched: bool, elements: int, answers: Floats, dimension: int = 2) -> str:
    nearness.SCANNED = 0 if searched else 10**15  # type: ignore[misc]
    steep.SCANNED_EACH = np.inf  # type: ignore[misc]
    told = SensitivitySet(metrics.euclidean(places(elements, dimension)), answers)
    norm = Norm(np.ones(answers.shape[1]), "l1")
    certificate = certify(told, norm.divided(told.worst(norm)[0] * ROOM))
    words = certificate.arithmetic.partition("which ")[2]
    return f"worst ratio {float(certificate.worst_ratio or 0) * ROOM:.12f} {words}"


def _searched(elements: int) -> str:
    return _certificates(True, elements, regions_and_bumps(elements, 20).T)


def _looked_at(elements: int) -> str:
    return _certificates(False, elements, regions_and_bumps(elements, 20).T)


def _linear(elements: int) -> str:
    return _certificates(True, elements, places(elements) @ [[1.0, 0.3], [0.2, 1.0]] / elements)


def _linear_bounded(elements: int) -> str:
    steep.HEAVY, steep.WORTH, steep.TOLERANCES = 0.0, np.inf, (0.05,)  # type: ignore[misc]
    return _linear(elements)


def _linear_designed(elements: int) -> str:
    answers = (places(elements) @ [[1.0, 0.3], [0.2, 1.0]] / elements).T
    made = design(Problem(Workload(answers), metrics.euclidean(places(elements))), "laplace")
    assert made.optimality is not None
    return f"gap {made.optimality.gap:.1e}, {made.privacy.arithmetic.partition('which ')[2] or 'exact'}"


def _dimensions(elements: int) -> str:
    return _certificates(True, elements, np.random.default_rng(2).random((elements, 4)), dimension=8)


CASES = [
    designed("laplace"),
    designed("gaussian"),
    designed("box"),
    designed("k_norm", 2),
    Case("million: laplace on the globe, K 4", "elements", (25_000, 50_000, 100_000, 200_000), _globe),
    Case("million: spec saved and loaded, K 4", "elements", (25_000, 50_000, 100_000, 200_000), _spec),
    Case("million: K 20, searched", "elements", (2_500, 5_000, 10_000, 20_000), _searched),
    Case("million: K 20, every pair looked at", "elements", (2_500, 5_000, 10_000, 20_000), _looked_at),
    Case("million: answers linear in the place", "elements", (5_000, 10_000, 20_000, 40_000), _linear),
    Case("million: linear answers, bounded within 5 percent", "elements", (10_000, 20_000, 40_000, 80_000), _linear_bounded),
    Case("million: laplace, linear answers", "elements", (10_000, 100_000, 200_000, 400_000, 1_000_000), _linear_designed),
    Case("million: random answers in 8 dimensions", "elements", (1_250, 2_500, 5_000, 10_000), _dimensions),
]
