"""Declared checks of fields: refusals name the field, what is handed in is converted, and frozen means frozen. Closed lists: a
refusal names field, value and remedy, whatever stands in the place of the name.
"""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import Domain, InvalidProblem, InvalidSpec
from designer.base.arrays import Floats, Immutable, real_array
from designer.base.checks import Declared, assign, checked, count, positive, rational_from
from designer.base.schema import ClosedList, keys
from designer.certificate.norm_kinds import NORMS, norm_from_spec
from designer.domains import products_workload as attribute_queries
from designer.domains.mechanism import PROTECTIONS, protection_from_spec
from designer.mechanism import staircase as noise
from designer.relations import kinds as relations
from designer.selection.mechanism import SCORES, score_from_spec
from designer.tables import other_noise, query_file
from designer.tables.policies import kinds as policies
from designer.tables.policies.plain_policies import ConstantPolicy, GaussianSums, LaplaceSums, Splitting
from designer.tables.policies.policies import ScaledPolicy
from designer.tables.policies.slow_policies import StudentNoise, TransformedNoise
from designer.tradeoff import comparison as promises
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Group


@dataclass(frozen=True, eq=False)
class Measured(Declared, Immutable):
    rate: Fraction = field(metadata=checked(rational_from, 0, 1))
    numbers: Floats = field(metadata=checked(real_array, 1, says="measured.numbers"))
    size: int | None = field(default=None, metadata=checked(count, least=2))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None and self.size != len(self.numbers):
            raise InvalidProblem(f"size: {self.size} for {len(self.numbers)} numbers; leave it out.")


@dataclass(frozen=True, eq=False)
class Narrower(Measured):
    scale: float = field(default=1.0, metadata=checked(positive))


def of(**changed: Any) -> Narrower:
    return Narrower(**{"rate": "1/3", "numbers": [1, 2], **changed})


def test_values_are_converted_and_an_heir_checks_what_it_inherits() -> None:
    made = of(size=np.int64(2), scale=2)
    assert (made.rate, made.numbers.tolist(), made.size, made.scale) == (Fraction(1, 3), [1.0, 2.0], 2, 2.0)
    assert type(made.size) is int and of().size is None
    again = pickle.loads(pickle.dumps(replace(made, rate=0.5)))
    assert again.rate == Fraction(1, 2) and not again.numbers.flags.writeable


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rate": 2}, "rate: 2.0 must be at least 0 and at most 1"),
        ({"rate": None}, "rate: None is not a number"),
        ({"numbers": ["a"]}, "measured.numbers: entries of type"),
        ({"size": 1}, "size: 1 is not a whole number of at least 2"),
        ({"size": 3}, "size: 3 for 2 numbers"),
        ({"scale": 0}, "scale: 0.0 is not a positive"),
    ],
)
def test_refusals_name_the_field(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        of(**changed)


def test_frozen_means_frozen() -> None:
    made, given = of(), np.array([1.0, 2.0])
    with pytest.raises(FrozenInstanceError):
        made.rate = Fraction(1)  # type: ignore[misc]
    kept = of(numbers=given)
    given[0] = 7
    assert kept.numbers.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"cannot set WRITEABLE|read-only"):
        kept.numbers.setflags(write=True)


def test_arrays_that_a_constructor_adds_are_read_only() -> None:
    made, own = of(), np.zeros(2)
    assign(made, spread=own)
    with pytest.raises(ValueError, match="read-only"):
        own[0] = 1


CASES = {
    "epsilon": (EpsilonDelta, (-1,)),
    "delta": (EpsilonDelta, (1, 2)),
    "mu_squared": (Gaussian, (-1,)),
    "size": (Group, (EpsilonDelta(1), 1)),
    "loss": (ConstantPolicy, (-1,)),
    "in_unit": (ConstantPolicy, (1, "rho")),
    "thresholds": (Splitting, (1, {"a": 0})),
    "variances": (GaussianSums, ({"a": 0},)),
    "counts": (LaplaceSums, ({"a": 1}, [0])),
    "policy.factor": (ScaledPolicy, (0, ConstantPolicy(1))),
    "scale": (StudentNoise, (0,)),
    "power": (StudentNoise, (1, 1)),
    "offset": (TransformedNoise, ("log", 0, 1)),
    "deviation": (TransformedNoise, ("log", 1, -1)),
}


@pytest.mark.parametrize("name", CASES)
def test_converted_classes_refuse_by_field_value_and_remedy(name: str) -> None:
    kind, given = CASES[name]
    assert any("check" in one.metadata for one in fields(kind))
    with pytest.raises(InvalidProblem, match=rf"^{name}"):
        kind(*given)


LISTS: dict[str, tuple[ClosedList[Any], Any]] = {
    "norm": (NORMS, norm_from_spec),
    "score": (SCORES, score_from_spec),
    "protection": (PROTECTIONS, lambda spec: protection_from_spec(spec, Domain.of({"a": 2}), "pure")),
    "staircase": (noise.KINDS, noise.KINDS.read),
    "queries": (attribute_queries.LISTED, lambda spec: attribute_queries.queries_from_spec(spec, 3)),
    "tradeoff": (promises.KINDS, promises.tradeoff_from_spec),
    "relation": (relations.KINDS, relations.relation_from_spec),
    "slow noise": (other_noise.LAWS, other_noise.slow_noise_from_spec),
    "query": (query_file.LISTED, lambda spec: query_file.query_from_spec(spec, [])),
    "policy": (policies.KINDS, policies.policy_from_spec),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("wrong", [None, 3, True, [], {}, "uniform", "nobody knows", {"kind": "uniform"}], ids=repr)
def test_a_name_that_is_not_listed_is_refused_with_field_value_and_remedy(name: str, wrong: object) -> None:
    listed, read = LISTS[name]
    for spec in ({listed.key: wrong}, wrong, {}):
        if not isinstance(spec, dict) or spec.get(listed.key) not in [*listed.entries]:
            with pytest.raises(InvalidSpec) as refused:
                read(spec)
            words = str(refused.value)
            assert words.startswith(f"{listed.field}.{listed.key}: ") and "is unknown; " in words
            assert words.endswith(f"use one of {sorted(listed.entries)}.")


@pytest.mark.parametrize("name", LISTS)
def test_keys_that_the_form_has_not_or_that_are_missing_are_refused(name: str) -> None:
    listed, read = LISTS[name]
    for entry in listed.entries:
        for more in ({}, {"no such key": 1}):
            with pytest.raises(InvalidSpec, match=f"{listed.field} of {listed.key} '{entry}': has .* exactly the keys"):
                read({listed.key: entry, **more, "another": 2})


def test_a_key_that_is_missing_is_refused_though_none_is_unknown() -> None:
    for listed, read in LISTS.values():
        needing = [entry for entry, (form, _) in listed.entries.items() if keys(form) > {listed.key}]
        for entry in needing:
            with pytest.raises(InvalidSpec, match=f"{listed.field} of {listed.key} '{entry}': has .* exactly the keys"):
                read({listed.key: entry})
        assert needing, listed.field


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidSpec, match=r"relation\.kind: 'unifrom' is unknown; perhaps 'uniform' is meant; use one of"):
        relations.relation_from_spec({"kind": "unifrom"})
