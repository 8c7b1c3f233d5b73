"""How many public members a frozen class has besides its own fields: what others ask of it is a function of theirs."""

from __future__ import annotations

from dataclasses import fields

import pytest

from designer.certificate.frozen import FrozenMechanism
from designer.files.kinds import KINDS

MOST = 35
BEYOND = {  # kinds that have more, and no more than that
    "AdditiveMechanism": 36,
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


@pytest.mark.parametrize("format", KINDS)
def test_a_kind_has_few_members_besides_its_fields(format: str) -> None:
    kind: type[FrozenMechanism] = KINDS[format].part("mechanism")
    own = members(kind) - {field.name for field in fields(kind)}  # type: ignore[arg-type]
    assert len(own) <= BEYOND.get(kind.__name__, MOST), sorted(own)


@pytest.mark.parametrize("format", KINDS)
def test_no_kind_hides_members(format: str) -> None:
    assert KINDS[format].part("mechanism").__dir__ is object.__dir__
