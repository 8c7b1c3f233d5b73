"""Specs that the version before wrote, one of every format and kind of part: loaded, or refused with a way on.

The files were written by the constructors of `spec_specimens` at that version, before names of families were closed, missing
values left quantiles, and changes of a closure were scanned unless they are proven to be implied.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from designer import InvalidSpec, load
from designer.certified.guarantee import was_said
from designer.files.kinds import KINDS
from designer.relations.kinds import RELATIONS

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
SPECS = {path.stem: path for path in sorted((ROOT / "tests/data/specs_previous").glob("*.json"))}
NEW = {
    "taxonomy",
    "dp-designer/staircase-mechanism",
    "dp-designer/structured-mechanism",
    "linked_tables",
    "dp-designer/row-mechanism",
}  # kinds and formats that the version before did not have
REFUSED = {
    # Two changes more are scanned: the float budgets of their ends do not prove them longer than the way round.
    "laplace_appear_or_change": "certificate: .*; design the mechanism again",
    # The median is one of the present values now, and the guarantee says so.
    "table_plan": "guarantee: .*; design the mechanism again",
}
# Its family was "mine": names of families are printed in guarantees, and come from a closed list.
MIGRATED = {"lattice_chain"}


def test_every_format_and_every_relation_is_among_them() -> None:
    specs = [json.loads(path.read_text()) for path in SPECS.values()]
    kinds = set(re.findall('"kind": "([a-z_]+)"', "".join(path.read_text() for path in SPECS.values())))
    assert {spec["format"] for spec in specs} == set(KINDS) - NEW
    assert set(RELATIONS) - NEW <= kinds and set(REFUSED) <= set(SPECS)
    assert sum(path.stat().st_size for path in SPECS.values()) < 200_000


@pytest.mark.parametrize("name", sorted(set(SPECS) - set(REFUSED)))
def test_a_spec_of_the_version_before_loads_and_promises_the_same(name: str) -> None:
    spec = json.loads(SPECS[name].read_text())
    mechanism = load(SPECS[name])
    assert (mechanism.fingerprint != spec["fingerprint"]) == bool(mechanism.migrations) == (name in MIGRATED)
    assert mechanism.verify().holds
    stated = mechanism.guarantee.to_dict()
    for key in ("notion", "relation", "unit"):
        assert stated[key] == spec["guarantee"][key] or was_said(spec["guarantee"][key], stated[key])


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_read_no_more_is_refused_with_a_way_on(name: str) -> None:
    with pytest.raises(InvalidSpec, match=REFUSED[name]):
        load(SPECS[name])
