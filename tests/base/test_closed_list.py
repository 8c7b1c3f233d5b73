"""Closed lists: a refusal names field, value and remedy, whatever stands in the place of the name."""

from __future__ import annotations

from typing import Any

import pytest

from designer import Domain, InvalidSpec
from designer.base.schema import ClosedList, keys
from designer.certificate.norm_kinds import NORMS, norm_from_spec
from designer.domains import products_workload as attribute_queries
from designer.domains.protection import PROTECTIONS, protection_from_spec
from designer.mechanism import staircase_noise as noise
from designer.relations import kinds as relations
from designer.selection.mechanism import SCORES, score_from_spec
from designer.tables import other_noise, query_file
from designer.tables.policies import kinds as policies
from designer.tradeoff import comparison as promises

LISTS: dict[str, tuple[ClosedList[Any], Any]] = {
    "norm": (NORMS, norm_from_spec),
    "score": (SCORES, score_from_spec),
    "protection": (PROTECTIONS, lambda spec: protection_from_spec(spec, Domain.of({"a": 2}), "pure")),
    "staircase": (noise.KINDS, noise.noise_from_spec),
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
