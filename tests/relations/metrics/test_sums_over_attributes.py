"""Sums of metrics over the attributes of one domain: changes of one attribute stand for all, and no others are left out."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from designer import Domain, metrics
from designer.certificate.certificate import certify
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.relations.metrics.metric import Metric

DOMAIN = Domain.of({"sex": ["F", "M"], "age": 4, "place": 3})


def summed() -> Metric:
    """Not neighbours alone are near: ages by a matrix in which 0 and 3 are as near as 0 and 1."""
    ring = metrics.from_matrix([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    parts = [metrics.from_matrix([[0, 0.5], [0.5, 0]]), ring, metrics.from_matrix(1 - np.eye(3))]
    return metrics.hamming(DOMAIN, [0.5, 0.25, 1.0]) + metrics.product(DOMAIN, parts)


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_ratio_is_that_of_every_pair_by_brute_force(seed: int) -> None:
    """Answers that move most between ages that are no neighbours in order."""
    metric, draw = summed(), np.random.default_rng(seed)
    assert metric.common_domain == DOMAIN
    points = draw.integers(-3, 4, (metric.size, 2)).astype(float)
    norm = Norm(np.array([0.5, 2.0]), ("l1", "linf")[seed % 2])
    every = SensitivitySet(metric, points)
    ratios = []
    for i, j in itertools.combinations(range(metric.size), 2):
        u, budget = every.exact(i, j)
        length = norm.exact(u)
        assert budget and length is not None
        ratios.append(length / budget)
    # Changes of several attributes are implied by those of one: no ratio of theirs is the largest.
    assert certify(every, norm).worst_ratio == max(ratios)


def test_every_change_of_one_attribute_is_listed_with_its_exact_budget() -> None:
    metric = summed()
    listed = {
        tuple(sorted((int(i), int(j)))): float(b)
        for block in metric.blocks()
        for i, j, b in zip(block.left, block.right, block.budgets, strict=True)
    }
    records = list(itertools.product(*map(range, DOMAIN.shape)))
    single = {
        (i, j)
        for i, j in itertools.combinations(range(len(records)), 2)
        if np.count_nonzero(np.subtract(records[i], records[j])) == 1
    }
    assert set(listed) == single
    assert all(Fraction(budget) == metric.exact_budget(*pair) for pair, budget in listed.items())
