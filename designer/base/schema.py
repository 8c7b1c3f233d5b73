"""Constructors of JSON Schema (draft 2020-12): a class says beside its `to_spec` what it writes,
and its reader takes the keys from there; closed lists of what plain data may ask for by a name, and nothing else.

>>> point = Named("point", record({"x": number(), "y": number(above=0)}))
>>> keys(point) == {"x", "y"}
True
>>> bundle(list_of(point))["items"]
{'$ref': '#/$defs/point'}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from designer.base.checks import meant, shown
from designer.base.errors import InvalidSpec
from designer.base.json_text import require_keys

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Named:
    """A fragment that stands once among the definitions, under its name."""

    name: str
    body: Schema


Fragment = Schema | Named


def noted(note: str, body: Schema, default: Any = None) -> Schema:
    """A fragment with a sentence about it, and with what holds where the key is left out; each where there is one.

    >>> noted("How many.", {"type": "integer"}, default=1)
    {'description': 'How many.', 'type': 'integer', 'default': 1}
    """
    said = {"description": note} if note else {}
    return {**said, **body, **({} if default is None else {"default": default})}


def record(
    required: Mapping[str, Fragment], optional: Mapping[str, Fragment] | None = None, note: str = "", **rules: Any
) -> Schema:
    """An object with these keys, and no others; `rules` are further words of JSON Schema."""
    closed = {"type": "object", "additionalProperties": False, "required": list(required)}
    return noted(note, {**closed, **rules, "properties": {**required, **(optional or {})}})


def keys(fragment: Fragment) -> set[str]:
    """The keys that a `record` needs."""
    return set((fragment.body if isinstance(fragment, Named) else fragment)["required"])


def all_keys(fragment: Fragment) -> set[str]:
    """The keys that a `record` may have."""
    return set((fragment.body if isinstance(fragment, Named) else fragment)["properties"])


def of_kind(
    family: str, kind: str, required: Mapping[str, Fragment], note: str = "", optional: Mapping[str, Fragment] | None = None
) -> Named:
    """One of several objects that their key `kind` tells apart."""
    return Named(f"{family}_{kind}", record({"kind": exactly(kind), **required}, optional, note=note))


def number(
    *, least: float | None = None, above: float | None = None, most: float | None = None, below: float | None = None
) -> Schema:
    """A number within closed (least, most) or open (above, below) limits."""
    limits = {"minimum": least, "exclusiveMinimum": above, "maximum": most, "exclusiveMaximum": below}
    return {"type": "number", **{word: limit for word, limit in limits.items() if limit is not None}}


def whole(least: int | None = None, most: int | None = None) -> Schema:
    """A whole number."""
    return {**number(least=least, most=most), "type": "integer"}


def text(pattern: str | None = None) -> Schema:
    """A text, of a pattern where one is given."""
    return {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}


def exactly(value: object) -> Schema:
    """This value and no other."""
    return {"const": value}


def one_of(*values: str | int) -> Schema:
    """One of a closed list of values."""
    return {"enum": list(values)}


def either(*fragments: Fragment) -> Schema:
    """What fits one of the fragments at least."""
    return {"anyOf": list(fragments)}


def or_null(fragment: Fragment) -> Schema:
    """The same, or nothing."""
    return either({"type": "null"}, fragment)


def spec_of(part: Any, schema: Named) -> dict[str, Any]:
    """An object as plain data: its attributes by the keys of its schema, without those that may be left out and are false."""
    needed = keys(schema)
    values = {key: getattr(part, key) for key in schema.body["properties"]}
    return {key: as_data(value) for key, value in values.items() if key in needed or value}


def as_data(value: Any) -> Any:
    """A part as its own plain data, several as a list of theirs, an exact number as a text; anything else as it is."""
    if hasattr(value, "to_spec"):
        return value.to_spec()
    if isinstance(value, tuple):
        return list(map(as_data, value))
    if isinstance(value, Mapping):
        return {key: as_data(item) for key, item in value.items()}
    return str(value) if isinstance(value, Fraction) else value


def needs_one_of(*names: str) -> list[Schema]:
    """For `anyOf` of a record: one at least of these optional keys is there."""
    return [{"required": [name]} for name in names]


def list_of(item: Fragment, least: int = 1, most: int | None = None, *, distinct: bool = False) -> Schema:
    """A list; by default it is not empty."""
    limits = {"minItems": least or None, "maxItems": most, "uniqueItems": distinct or None}
    return {"type": "array", **{word: limit for word, limit in limits.items() if limit is not None}, "items": item}


def refer(name: str) -> Schema:
    """The definition of that name, for what holds itself."""
    return {"$ref": f"#/$defs/{name}"}


BOOLEAN: Schema = {"type": "boolean"}
POSITIVE = number(above=0)
COUNT = whole(least=1)
PLACE = Named("place", whole(least=0))
HASH = Named("hash", text("^[0-9a-f]{64}$"))
NAMES = Named("names", list_of(text(), distinct=True))
VALUES = Named("values", noted("The values of each attribute.", list_of(NAMES)))
POSITIONS = Named("positions", list_of(PLACE, distinct=True))
VECTOR = Named("vector", list_of(number()))
MATRIX = Named("matrix", list_of(VECTOR))
POSITIVE_VECTOR = Named("positive_vector", list_of(POSITIVE))
BUDGET = Named("budget", either(number(least=0), exactly("inf")))
POSITIVE_BUDGET = Named("positive_budget", either(POSITIVE, exactly("inf")))
BUDGETS = Named("budgets", list_of(POSITIVE_BUDGET))
FRACTION = "[0-9]{1,400}(/[1-9][0-9]{0,399})?$"
RATIONAL = Named("rational", noted("A fraction in lowest terms.", text(f"^{FRACTION}")))
SIGNED_RATIONAL = Named("signed_rational", text(f"^-?{FRACTION}"))
RATIONALS = Named("rationals", list_of(RATIONAL, least=0))
DELTA = Named("delta", noted("Of (b, delta), for every change of budget b.", number(least=1e-100, below=1)))
VACUOUS = Named("vacuous", noted("Only on what hides nothing, which was asked for by name.", exactly(True)))


def bundle(root: Fragment) -> dict[str, Any]:
    """A schema of plain data that stands for itself: every `Named` below `root` among its definitions, by name."""
    found: dict[str, Any] = {}
    bodies: dict[str, Schema] = {}

    def plain(node: Any) -> Any:
        if isinstance(node, Named):
            if bodies.setdefault(node.name, node.body) != node.body:
                raise InvalidSpec(f"schema: two different fragments are called {node.name!r}; give each a name of its own.")
            if node.name not in found:
                found[node.name] = None  # on its way: it may hold itself
                found[node.name] = plain(node.body)
            return dict(refer(node.name))
        if isinstance(node, Mapping):
            return {word: plain(item) for word, item in node.items()}
        return [plain(item) for item in node] if isinstance(node, (list, tuple)) else node

    whole_schema = plain(root.body if isinstance(root, Named) else root)
    whole_schema["$defs"] = {name: found[name] for name in sorted(found)}
    if missing := {name for name in _referred(whole_schema) if name not in found}:
        raise InvalidSpec(f"schema: refers to {sorted(missing)}, which nothing defines; give each a definition.")
    return dict(whole_schema)


def _referred(node: Any) -> Iterator[str]:
    """The names of definitions that plain data refers to."""
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _referred(item)
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"].removeprefix("#/$defs/")


Made = TypeVar("Made")
Entry = tuple[Fragment, Callable[..., Made]]


@dataclass(frozen=True)
class ClosedList(Generic[Made]):
    """What `read` makes of plain data that names one of the entries, each with the form of its data and what reads them.

    field: what the data are, for refusals. key: the one that names the entry.

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
