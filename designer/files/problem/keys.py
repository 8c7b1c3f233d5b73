"""Keys of problem files, each in one place: its name, what may stand there, what it means, and what its value becomes.

The published schema, the tables of the reference, refusals and readers are all made of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from designer.base.checks import positive
from designer.base.schema import BOOLEAN, COUNT, POSITIVE, Fragment, Named, Schema, either, list_of, noted, number, record, text
from designer.files.problem.sections import Sections

Made = TypeVar("Made")

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Key:
    """A key of a section.

    form: what may stand there. note: a sentence for editors, refusals and the reference; left out where the form has one.
    read: what the value becomes, of the file, the section and the name; left out where builders take it as it stands.
    default: what holds where the key is left out; None where that is no value of its own.
    """

    name: str
    form: Fragment
    note: str = ""
    read: Callable[[Any, str, str], Any] | None = None
    default: Any = None

    @property
    def fragment(self) -> Fragment:
        """The form, with the note and the default."""
        return self.form if not self.note and self.default is None else noted(self.note, _body(self.form), self.default)

    def of(self, file: Sections, section: str) -> Any:
        """The value in a file; refused where it is missing, or of another type."""
        if self.read is not None:
            return self.read(file, section, self.name)
        value = file.get(section, self.name, types_of(self.form))
        return positive(value, f"[{section}] {self.name}") if _body(self.form) == POSITIVE else value

    def given(self, file: Sections, section: str, default: Any) -> Any:
        """The same, or the default where the section has no such key."""
        return self.of(file, section) if self.name in file.data.get(section, {}) else default


def section_of(needed: Iterable[Key], free: Iterable[Key] = (), note: str = "", **rules: Any) -> Schema:
    """The form of a section, or of a whole file, with these keys and no others."""
    return record({key.name: key.fragment for key in needed}, {key.name: key.fragment for key in free}, note, **rules)


@dataclass(frozen=True)
class Form(Generic[Made]):
    """One of the forms that a section may have.

    make: takes the file, the values of the keys `needed` in their order, and by name those of the keys `free` that are there.
    beside: keys that the reader of the section asks for itself, whichever form it has. rules: further words of JSON Schema.
    """

    name: str
    needed: Sequence[Key]
    make: Callable[..., Made]
    free: Sequence[Key] = ()
    beside: Sequence[Key] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """The form of the section."""
        return section_of(self.needed, (*self.free, *self.beside), **self.rules)

    @property
    def keys(self) -> set[str]:
        """The names of all its keys."""
        return {key.name for key in (*self.needed, *self.free, *self.beside)}

    @property
    def sign(self) -> str:
        """The key by which the form is known."""
        return self.needed[0].name

    def read(self, file: Sections, section: str) -> Made:
        """What the section of a file asks for."""
        needed = [key.of(file, section) for key in self.needed]
        free = {key.name: key.of(file, section) for key in self.free if key.name in file.data[section]}
        return self.make(file, *needed, **free)


def types_of(form: Fragment) -> tuple[type, ...]:
    """The types of Python that a value of a form may have.

    >>> types_of(either(text(), list_of(text()))), types_of({"enum": ["min", "sum"]})
    ((<class 'str'>, <class 'list'>), (<class 'str'>,))
    """
    body = _body(form)
    if "$ref" in body:
        return (dict,)
    if "const" in body:
        return (type(body["const"]),)
    if "enum" in body:
        return tuple(dict.fromkeys(map(type, body["enum"])))
    if "anyOf" in body and "type" not in body:
        return tuple(dict.fromkeys(kind for each in body["anyOf"] for kind in types_of(each)))
    return TYPES[body["type"]]


def _body(form: Fragment) -> Schema:
    return form.body if isinstance(form, Named) else form


# What stands at keys of several sections.
FILE = Named("file", noted("A file beside this one: CSV, Parquet or NumPy.", text()))
COLUMNS = Named("columns", noted("Columns of the table of elements.", list_of(text())))
NAMES = Named("names", noted("A name for each row.", list_of(text(), least=0, distinct=True)))
EPSILONS = Named("epsilons", noted("A budget for each element; inf leaves one unprotected.", list_of(POSITIVE)))
SUBSETS = Named("subsets", noted("Lists of attributes.", list_of(list_of(text(), least=0))))
BY_ATTRIBUTE = Named(
    "by_attribute", noted("A budget for each attribute.", {"type": "object", "additionalProperties": POSITIVE})
)
SCALARS = list_of(either(text(), number(), BOOLEAN))
VALUES = either(number(), text())

# Keys of several sections.
SIZE = Key("size", COUNT, "How many elements there are, where no table and no domain says it.")
EPSILON = Key(
    "epsilon",
    POSITIVE,
    "The budget of a change, in nats: under pure, outputs are at most e^epsilon times as likely after it; "
    "under gaussian it is no epsilon: it promises epsilon^2 / 2 of zCDP, which `design` and `show` tell as (epsilon, delta).",
)
ADJACENCY = Key("adjacency", COUNT, "How many records may change together.")
WEIGHTS = Key("weights", list_of(POSITIVE), "How much each counts in the loss, one number each.")
