"""Closed lists: what plain data may ask for by a name, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from designer.base.checks import meant, shown
from designer.base.errors import InvalidSpec
from designer.base.json_text import require_keys
from designer.base.schema import Fragment, all_keys, keys

Made = TypeVar("Made")
Entry = tuple[Fragment, Callable[..., Made]]


@dataclass(frozen=True)
class ClosedList(Generic[Made]):
    """What `read` makes of plain data that names one of the entries, each with the form of its data and what reads them.

    field: what the data are, for refusals. key: the one that names the entry.

    >>> from designer.base.schema import exactly, number, record
    >>> shapes = ClosedList("shape", {"disc": (record({"kind": exactly("disc"), "radius": number()}), lambda s: s["radius"])})
    >>> shapes.read({"kind": "disc", "radius": 2})
    2
    >>> shapes.read({"kind": "disk", "radius": 2})
    Traceback (most recent call last):
    designer.base.errors.InvalidSpec: shape.kind: 'disk' is unknown; perhaps 'disc' is meant; use one of ['disc'].
    """

    field: str
    entries: Mapping[str, Entry[Made]]
    key: str = "kind"

    def named(self, spec: Any) -> str:
        """The entry that plain data name; `InvalidSpec` with field, value and remedy where there is none of that name."""
        found = spec.get(self.key) if isinstance(spec, Mapping) else spec
        if not isinstance(spec, Mapping) or not isinstance(found, str) or found not in self.entries:
            remedy = f"is unknown; {meant(found, self.entries)}use one of {sorted(self.entries)}"
            raise InvalidSpec(f"{self.field}.{self.key}: {shown(found)} {remedy}.", value=found)
        return found

    def read(self, spec: Any, *beside: Any) -> Made:
        """What the data ask for, by the reader of their entry, which gets what stands `beside` them, too.

        `InvalidSpec` for unknown names, for keys that the form has not, and for keys that are missing.
        """
        name = self.named(spec)
        form, reader = self.entries[name]
        require_keys(spec, keys(form) | (all_keys(form) & spec.keys()), f"{self.field} of {self.key} {name!r}")
        return reader(spec, *beside)
