"""Metrics of a user's own: designed, verified and released like any other; not saved, because no reader would know them. Sums
of metrics over the attributes of one domain: changes of one attribute stand for all, and no others are left out.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Domain, InvalidProblem, NotPrivate, Problem, Workload, design, invariants, load, metrics
from designer.base.arrays import Floats
from designer.certificate.certificate import certify
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.relations.metrics.metric import Metric, Uniform
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.queries import LipschitzQueries

ASKED = Workload([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Ring(Metric):
    """Elements on a ring: `epsilon` for each step, whichever way round is shorter. Whole multiples of 2^-k are exact floats."""

    places: int
    epsilon: float
    kind = "ring"

    @property
    def size(self) -> int:
        return self.places

    def steps(self, left: Any, right: Any) -> Any:
        apart = abs(left - right)
        return np.minimum(apart, self.places - apart)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        left, right = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        return np.asarray(self.epsilon * self.steps(left[:, None], right), dtype=np.float64)

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(self.epsilon) * int(self.steps(left, right))

    def sentence(self) -> str:
        return f"Any one record may change, with budget {self.epsilon!r} for each step on a ring of {self.places}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "places": self.places, "epsilon": self.epsilon}


def test_a_metric_that_does_not_say_what_it_is_made_of_is_refused() -> None:
    class Unsaid(Ring):
        to_spec = Metric.to_spec

    with pytest.raises(InvalidProblem, match="nothing says what a Unsaid is made of; give it a method to_spec"):
        design(Problem(ASKED, Unsaid(4, 1.0)), "laplace")


RING = Ring(4, 0.5)


TWIN = metrics.from_matrix(RING.distances())


@pytest.mark.parametrize("family", ["laplace", "k_norm", "ellipsoid"])
def test_a_metric_of_ones_own_is_designed_as_its_matrix_would_be(family: str) -> None:
    own, listed = (design(Problem(ASKED, relation), family) for relation in (RING, TWIN))
    assert own.privacy.holds and own.loss == pytest.approx(listed.loss, rel=1e-6)
    assert own.privacy.worst_ratio == pytest.approx(listed.privacy.worst_ratio, rel=1e-9)
    assert own.mechanism.verify() == own.privacy
    assert own.mechanism.fingerprint != listed.mechanism.fingerprint


def test_it_is_released_and_said_in_its_own_words() -> None:
    release = design(Problem(ASKED, RING), "laplace").mechanism.release([3, 1, 4, 1])
    assert len(release.answers) == 2 and "on a ring of 4" in release.guarantee.to_text()


def test_a_metric_that_promises_more_than_it_was_designed_for_is_refused() -> None:
    made = design(Problem(ASKED, RING), "laplace").mechanism
    with pytest.raises(NotPrivate):
        type(made)("custom", made.workload, Ring(4, 0.25), made.norm, made.grid)


def specified() -> dict[str, FrozenMechanism]:
    """A frozen object of every format that holds a relation, each over a metric of one's own, nested or not."""
    total = invariants.total(4).at(2)
    queries = LipschitzQueries.on_grid(ASKED, RING, ASKED.dense(), 0)
    return {
        "additive": design(Problem(ASKED, RING), "laplace").mechanism,
        "nested": design(Problem(ASKED, 2.0 * metrics.maximum(RING, metrics.uniform(4, 1.0))), "laplace").mechanism,
        "under an invariant": design(Problem(ASKED, RING & total), "laplace").mechanism,
        "with presence": design(Problem(ASKED, metrics.appear_or_change(RING, 2.0)), "laplace").mechanism,
        "lattice": design(Problem(Workload.identity(4), RING & total), "lattice_laplace", shape="l2").mechanism,
        "selection": best_selection(Linear(ASKED), RING),
        "mwem": MWEM(queries, 6, ((Fraction(1, 2), Fraction(1, 2)),)),
    }


def test_saving_is_refused_with_a_way_on_and_writes_nothing(tmp_path: Path) -> None:
    for name, made in specified().items():
        with pytest.raises(InvalidProblem, match=r"relation: 'ring' is a rule of your own, .* use metrics\.from_matrix"):
            made.save(tmp_path / f"{name}.json")
    assert list(tmp_path.iterdir()) == []


def test_a_listed_name_is_no_way_round(tmp_path: Path) -> None:
    @dataclass(frozen=True, eq=False)
    class Posing(Uniform):
        """A subclass of a listed metric, with its name."""

    with pytest.raises(InvalidProblem, match="a rule of your own"):
        design(Problem(ASKED, Posing(4, 0.5)), "laplace").mechanism.save(tmp_path / "spec.json")


def test_the_way_on_is_one(tmp_path: Path) -> None:
    path = design(Problem(ASKED, metrics.from_matrix(RING.distances())), "laplace").mechanism.save(tmp_path / "spec.json")
    assert load(path).privacy.holds


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
