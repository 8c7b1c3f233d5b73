"""Ten holes, planted in the project's own verifier one at a time: it then accepts a spec that it should refuse, and the second
verifier, which imports nothing of it, refuses that spec."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import Workload, metrics
from designer.base import json_text
from designer.base.json_text import plain
from designer.certificate.frozen import to_spec
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.files import spec as spec_files
from designer.mechanism import additive
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid
from designer.problem.relation import Block, Relation
from designer.relations.metrics.element_budgets import Instance, PerElement
from designer.relations.metrics.metric import Metric, Uniform
from designer.relations.metrics.presence import AddRemove
from tests.verifier.altered import bytes_of, main_verdict, sealed, standalone_verdict

Patch = pytest.MonkeyPatch


def spec_of(rows: list[list[float]], relation: Relation, weights: list[float]) -> dict[str, Any]:
    """A Laplace mechanism as the program writes it, hole included."""
    made = AdditiveMechanism("custom", Workload(rows), relation, Norm(np.array(weights), "l1"), Grid((0,) * len(rows)))
    found: dict[str, Any] = json.loads(json.dumps(plain(to_spec(made))))
    return found


def forgotten_coordinate(patch: Patch) -> bytes:
    exact, image = Norm.exact, Norm.image
    patch.setattr(Norm, "exact", lambda self, u: exact(self, [*u[:-1], Fraction(0)]))
    patch.setattr(Norm, "image", lambda self, points: image(self, points)[:, :-1])
    return bytes_of(spec_of([[0, 1], [0, 1]], metrics.uniform(2, 0.5), [0.4, 0.4]))


def skipped_pair(patch: Patch) -> bytes:
    whole = Metric.blocks

    def without_last(self: Metric) -> Iterator[Block]:
        for block in whole(self):
            budgets = block.budgets.copy()
            budgets[0, -1] = np.inf
            yield replace(block, budgets=budgets)

    patch.setattr(Uniform, "blocks", without_last)
    patch.setattr(Uniform, "searched", None)
    return bytes_of(spec_of([[0, 1, 2]], metrics.uniform(3, 0.5), [0.5]))


def budget_as_float(patch: Patch) -> bytes:
    patch.setattr(PerElement, "exact_budget", lambda self, i, j: Fraction(float(self.epsilons[i] + self.epsilons[j])))
    return bytes_of(spec_of([[0, 1]], metrics.per_element([0.1, 0.2]), [0.1 + 0.2]))


def seal_not_compared(patch: Patch) -> bytes:
    made = spec_of([[0, 1]], metrics.uniform(2, 0.5), [0.5])
    made["provenance"] = {"software": "another hand"}
    patch.setattr(spec_files, "seal", lambda spec: spec["seal"])
    return bytes_of(made)


def relation_misread(patch: Patch) -> bytes:
    patch.setattr(Instance, "exact_budget", lambda self, i, j: Fraction(self.epsilons[i]) + Fraction(self.epsilons[j]))
    return bytes_of(spec_of([[0, 1]], metrics.instance([0.25, 0.5]), [0.5]))


def labels_exchanged(patch: Patch) -> bytes:
    def exchanged(matrix: Any, relation: Relation) -> SensitivitySet:
        return SensitivitySet(relation, np.array(relation.points(matrix[:, ::-1].T)))

    patch.setattr(SensitivitySet, "of", exchanged)
    return bytes_of(spec_of([[0, 0, 3]], metrics.euclidean([0.0, 1.0, 1.5], 1.0), [1 / 3]))


def negative_rate(patch: Patch) -> bytes:
    patch.setattr(additive, "require_weights", lambda norm: None)
    patch.setattr(AdditiveMechanism, "_require_draws", lambda self: None)
    made = spec_of([[0, 1]], metrics.uniform(2, 0.5), [0.5])
    checks = Norm.__post_init__

    def unchecked(self: Norm) -> None:
        try:
            checks(self)
        except ValueError:
            self.map.setflags(write=False)

    patch.setattr(Norm, "__post_init__", unchecked)
    made["mechanism"]["norm"]["map"] = [-0.5]
    return bytes_of(sealed(made))


def duplicate_key(patch: Patch) -> bytes:
    patch.setattr(json_text, "_distinct", dict)
    made = json.dumps(spec_of([[0, 1]], metrics.uniform(2, 0.5), [0.5]))
    assert made.count('"elements": 2, "epsilon": 0.5') == 1
    return made.replace('"elements": 2, "epsilon": 0.5', '"elements": 2, "epsilon": 0.01, "epsilon": 0.5').encode()


def infinite_budget(patch: Patch) -> bytes:
    """A budget below 0.2 is taken for none at all."""

    def blocks(self: AddRemove) -> Iterator[Block]:
        own = np.where(self.epsilons < 0.2, np.inf, self.epsilons)
        yield Block(np.arange(self.size), np.full(self.size, self.size), own)

    patch.setattr(AddRemove, "blocks", blocks)
    return bytes_of(spec_of([[1, 1]], metrics.add_remove(2, [0.1, 0.5]), [0.5]))


def scale_off(patch: Patch) -> bytes:
    exact = Norm.exact

    def shorter(self: Norm, u: Any) -> Fraction | None:
        found = exact(self, u)
        return None if found is None else found * (1 - Fraction(1, 2**52))

    patch.setattr(Norm, "exact", shorter)
    return bytes_of(spec_of([[0, 1]], metrics.uniform(2, 0.5), [float(np.nextafter(0.5, 1))]))


HOLES: dict[str, tuple[Callable[[Patch], bytes], str]] = {
    "a norm that forgets a coordinate": (forgotten_coordinate, "spends its budget"),
    "a pair skipped": (skipped_pair, "spends its budget"),
    "a budget read as a float": (budget_as_float, "spends its budget"),
    "a seal not compared": (seal_not_compared, "seal"),
    "a relation misread": (relation_misread, "spends its budget"),
    "labels exchanged": (labels_exchanged, "spends its budget"),
    "a negative rate": (negative_rate, "not positive"),
    "a duplicate key": (duplicate_key, "same key twice"),
    "an infinite budget": (infinite_budget, "spends its budget"),
    "a scale off by 2^-52": (scale_off, "spends its budget"),
}


@pytest.mark.parametrize("name", HOLES)
def test_the_second_verifier_finds_the_hole(name: str) -> None:
    make, why = HOLES[name]
    with pytest.MonkeyPatch.context() as patch:
        content = make(patch)
        assert main_verdict(content) == "holds", "the hole is not planted"
    assert main_verdict(content) == "does not hold"
    verdict, sentences = standalone_verdict(content)
    assert verdict == "does not hold" and why in sentences[0], sentences
