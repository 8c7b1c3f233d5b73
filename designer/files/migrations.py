"""Specs of older programs, brought into the form of today before anything is checked: what is read still, and how.

A migration never weakens what is checked: the seal of the file is compared first, and what comes out is certified, and
compared with its claims, like any other spec. It is noted, so that who verifies reads what was changed. When a version of the
format ends, its migration takes a spec of it to the next one; the policy is among the decisions, "versions of files".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from designer.base.json_text import canonical
from designer.base.printing import printed
from designer.certified.family_names import ADDITIVE_FAMILIES, CUSTOM, LATTICE_FAMILIES
from designer.certified.frozen import FORMAT_VERSION, seal

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class Migration:
    """One step from an older form: files of `version` to which it `applies`, what it makes of them, and its note."""

    version: int
    applies: Callable[[Spec], bool]
    migrate: Callable[[Spec], dict[str, Any]]
    note: str


def migrated(spec: Spec) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A spec whose seal fits, in the form of today, sealed anew, and the notes of the steps that it took."""
    found, notes = dict(spec), []
    for step in MIGRATIONS:
        if found["version"] == step.version and step.applies(found):
            found = step.migrate(found)
            found["seal"] = seal(found)
            notes.append(step.note)
    return found, tuple(notes)


def readable_versions() -> list[int]:
    """The versions of specs that this program reads."""
    return sorted({FORMAT_VERSION, *(step.version for step in MIGRATIONS)})


def _has_an_open_family(spec: Spec) -> bool:
    """A family that is on no list, in the core and, printed, in the guarantee, under a fingerprint that fits."""
    names = {"dp-designer/mechanism": ADDITIVE_FAMILIES, "dp-designer/lattice-mechanism": LATTICE_FAMILIES}.get(spec["format"])
    core, guarantee = spec["mechanism"], spec["guarantee"]
    family, stated = core.get("family"), guarantee.get("mechanism")
    if names is None or not isinstance(family, str) or family in names or not isinstance(stated, str):
        return False
    named = stated.startswith((f"Family {family}: ", f"Family {printed(family)}: "))
    whole = hashlib.sha256(canonical(core)).hexdigest()
    return named and spec["fingerprint"] == guarantee.get("fingerprint") == whole


def _closed_family(spec: Spec) -> dict[str, Any]:
    """The same under the name that families of one's own have now."""
    core = {**spec["mechanism"], "family": CUSTOM}
    fingerprint = hashlib.sha256(canonical(core)).hexdigest()
    rest = spec["guarantee"]["mechanism"].removeprefix("Family ")
    old = next(name for name in (spec["mechanism"]["family"], printed(spec["mechanism"]["family"])) if rest.startswith(name))
    guarantee = {**spec["guarantee"], "mechanism": f"Family {CUSTOM}{rest.removeprefix(old)}", "fingerprint": fingerprint}
    return {**spec, "mechanism": core, "guarantee": guarantee, "fingerprint": fingerprint}


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        _has_an_open_family,
        _closed_family,
        "The name of its family is on no list of this version, so another program or version wrote it: it is read as a "
        "mechanism of one's own, "
        f'"{CUSTOM}", so its fingerprint is another than that in the file. Save it anew, and release from that.',
    ),
)
