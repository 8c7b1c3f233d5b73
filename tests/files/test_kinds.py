"""One value for each kind of frozen mechanism: all of its parts are there, and what a new kind forgets is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from designer.audit.deep import Inspection
from designer.base.lazy_imports import is_there
from designer.certificate.agreement import Agreement, ReleaseForm
from designer.certificate.frozen import FrozenMechanism, MechanismKind, Part
from designer.files import kinds
from designer.files.kinds import ADDITIVE, KINDS, LISTED, mechanism_kind
from designer.mechanism.composition import Composition
from designer.publish.contributor import Contributor, Topic
from tests.oracles.release_specimens import releases
from tests.oracles.spec_specimens import specimens


def made_of(base: type) -> Callable[[Any], bool]:
    """Is something a class of its own with nothing left abstract?"""
    return lambda part: isinstance(part, type) and issubclass(part, base) and not inspect.isabstract(part)


def takes_one(part: Any) -> bool:
    """Is something a function of a mechanism?"""
    return callable(part) and not isinstance(part, type) and len(inspect.signature(part).parameters) == 1


THERE = [kind for kind in LISTED if is_there(kind.mechanism)]
# What each part has to be, and whether a kind may have none.
PARTS: dict[Part, tuple[Callable[[Any], bool], bool]] = {
    "mechanism": (made_of(FrozenMechanism), False),
    "release_form": (made_of(ReleaseForm), False),
    "agreement": (made_of(Agreement), True),
    "composition": (made_of(Composition), False),
    "inspection": (made_of(Inspection), False),
    "noise_law": (takes_one, True),
    "page": (made_of(Contributor), False),
    "pictures": (takes_one, True),
}


def faults(kind: MechanismKind) -> list[str]:
    """What a kind lacks, by the names of its parts, but for those of rooms that were taken out."""
    found = []
    for name, (fits, may_be_none) in PARTS.items():
        if (address := getattr(kind, name)) is not None and not is_there(address):
            continue
        try:
            part = kind.part(name)
        except (ImportError, AttributeError) as missing:
            found.append(f"{kind.format}: {name}: {missing}")
            continue
        if not (may_be_none if part is None else fits(part)):
            found.append(f"{kind.format}: {name}: {address} is not what it has to be")
    return found or list(omissions(kind))


def omissions(kind: MechanismKind) -> Iterator[str]:
    """What parts that are there leave out."""
    if kind.part("mechanism").format != kind.format:
        yield f"{kind.format}: mechanism: its class states {kind.part('mechanism').format!r}"
    if kind.part("inspection").sources is Inspection.sources:
        yield f"{kind.format}: inspection: nothing is known of its draws"
    if not kind.part("page")().sketches():
        yield f"{kind.format}: page: no theorem has a sketch"


def frozen_classes(base: type = FrozenMechanism) -> Iterator[type[FrozenMechanism]]:
    """Every class of the package that has a format of its own."""
    for cls in base.__subclasses__():
        if cls.__module__.startswith("designer.") and "format" in vars(cls):
            yield cls
        yield from frozen_classes(cls)


@pytest.mark.parametrize("kind", THERE, ids=lambda kind: kind.format)
def test_every_part_of_a_kind_is_there(kind: MechanismKind) -> None:
    assert {field.name for field in fields(MechanismKind)} == {"format", *PARTS}
    assert faults(kind) == []


@pytest.mark.parametrize("name", list(PARTS))
def test_a_part_that_is_missing_is_named(name: Part) -> None:
    gone, wrong = "designer.mechanism.spec:Nothing", "designer.mechanism.noise:Grid"
    nowhere = "designer.mechanism.nowhere:GridForm"
    for address in (gone, wrong, nowhere):
        (fault,) = faults(replace(ADDITIVE, **{name: address}))
        assert fault.startswith(f"dp-designer/mechanism: {name}: ")
    if not PARTS[name][1]:
        assert len(faults(replace(ADDITIVE, **{name: None}))) == 1


def test_a_part_that_says_nothing_is_named() -> None:
    silent = {"inspection": "designer.audit.deep:Inspection", "page": "tests.files.test_kinds:Silent"}
    for name, address in silent.items():
        (fault,) = faults(replace(ADDITIVE, **{name: address}))
        assert fault.startswith(f"dp-designer/mechanism: {name}: ")
    (fault,) = faults(replace(ADDITIVE, format="dp-designer/other"))
    assert fault == "dp-designer/other: mechanism: its class states 'dp-designer/mechanism'"


class Silent(Contributor[Any]):
    """A page without a sketch of any proof."""

    def published(self, made: Any) -> Topic:
        return Topic("", "")

    def accuracy(self, made: Any) -> Topic:
        return Topic("", "")


def test_a_kind_that_leaves_a_part_out_cannot_be_stated() -> None:
    known = {field.name: getattr(ADDITIVE, field.name) for field in fields(MechanismKind)}
    for name in known:
        with pytest.raises(TypeError, match=name):
            MechanismKind(**{key: value for key, value in known.items() if key != name})


def test_every_kind_that_is_stated_is_listed_once() -> None:
    stated = [value for value in vars(kinds).values() if isinstance(value, MechanismKind)]
    assert len(stated) == len(LISTED) == len(KINDS) and all(kind in LISTED for kind in stated)


def test_every_frozen_class_is_the_one_of_a_kind() -> None:
    listed = [kind.part("mechanism") for kind in THERE]
    assert {cls.__name__ for cls in frozen_classes() if cls not in listed} == set()


def test_every_kind_has_a_specimen_of_its_spec_and_of_its_release() -> None:
    assert {made.format for made in specimens().values()} == {kind.format for kind in THERE}
    assert {maker.format for maker, _ in releases().values()} == {kind.format for kind in THERE}


def test_a_class_of_the_caller_is_of_no_kind_whatever_it_says() -> None:
    made = specimens()["laplace uniform"]
    assert mechanism_kind(made) is ADDITIVE
    lying = type("Lying", (), {"format": "dp-designer/mechanism"})()
    assert mechanism_kind(lying) is None
    assert mechanism_kind(type("Strange", (), {"format": "strange"})()) is None
    assert mechanism_kind(type("Silent", (), {})()) is None
