"""How many public members a frozen class has besides its own fields: what others ask of it is a function of theirs."""

from __future__ import annotations

from dataclasses import fields

import pytest

from designer.certificate.frozen import FrozenMechanism
from designer.files.kinds import KINDS

MOST = 36
BEYOND = {  # kinds that have more
    "HierarchyMechanism": 41,
    "LatticeMechanism": 46,
    "RowMechanism": 47,
}


def members(kind: type[FrozenMechanism]) -> set[str]:
    """All public names of a class and of its objects, annotated ones among them."""
    return {
        name
        for part in kind.__mro__
        for name in (*vars(part), *vars(part).get("__annotations__", ()))
        if not name.startswith("_")
    }


def test_what_is_common_to_all_kinds_stays_small() -> None:
    assert len(members(FrozenMechanism)) <= 22


def test_a_kind_has_few_members_besides_its_fields() -> None:
    kinds: list[type[FrozenMechanism]] = [form.part("mechanism") for form in KINDS.values()]
    own = {kind.__name__: members(kind) - {field.name for field in fields(kind)} for kind in kinds}  # type: ignore[arg-type]
    assert {name: len(names) for name, names in own.items() if len(names) > MOST} == BEYOND


@pytest.mark.parametrize("format", KINDS)
def test_no_kind_hides_members(format: str) -> None:
    assert KINDS[format].part("mechanism").__dir__ is object.__dir__
