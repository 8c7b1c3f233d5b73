"""Keys of problem files, each in one place: its name, what may stand there, what it means, and what its value becomes.

The published schema, the tables of the reference, refusals and readers are all made of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from designer.base.checks import positive
from designer.base.schema import (
    BOOLEAN,
    COUNT,
    POSITIVE,
    Fragment,
    Named,
    Schema,
    either,
    list_of,
    needs_one_of,
    noted,
    number,
    record,
    text,
)
from designer.problem_file.sections import Sections

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
class Field:
    """A key of a section.

    form: what may stand there. note: a sentence for editors, refusals and the reference; left out where the form has one.
    read: what the value becomes, of the file, the section and the name; left out where builders take it as it stands.
    default: what holds where the key is left out; None where that is no value of its own.
    normal: the key that takes its place where the notion is zCDP.
    """

    name: str
    form: Fragment
    note: str = ""
    read: Callable[[Any, str, str], Any] | None = None
    default: Any = None
    normal: Field | None = None

    @property
    def both(self) -> tuple[Field, ...]:
        """The key, and the one of zCDP where that has another name."""
        return (self,) if self.normal is None else (self, self.normal)

    def under(self, file: Sections) -> Field:
        """The key of the notion of a file."""
        return self.normal if self.normal is not None and file.notion == "zcdp" else self

    @property
    def fragment(self) -> Fragment:
        """The form, with the note and the default."""
        return self.form if not self.note and self.default is None else noted(self.note, _body(self.form), self.default)

    def of(self, file: Sections, section: str) -> Any:
        """The value in a file; refused where it is missing, or of another type."""
        key = self.under(file)
        if key.read is not None:
            return key.read(file, section, key.name)
        value = file.get(section, key.name, types_of(key.form))
        return positive(value, f"[{section}] {key.name}") if _body(key.form) == POSITIVE else value

    def given(self, file: Sections, section: str, default: Any) -> Any:
        """The same, or the default where the section has no such key."""
        return self.of(file, section) if self.under(file).name in file.data.get(section, {}) else default


def section_of(needed: Iterable[Field], free: Iterable[Field] = (), note: str = "", **rules: Any) -> Schema:
    """The form of a section, or of a whole file, with these keys and no others; of a needed key with two names, one."""
    required: dict[str, Fragment] = {}
    optional: dict[str, Fragment] = {}
    keys = list(needed)
    for key in keys:
        (required if key.normal is None else optional).update((each.name, each.fragment) for each in key.both)
    optional.update((each.name, each.fragment) for key in free for each in key.both)
    two = [{"oneOf": needs_one_of(*(each.name for each in key.both))} for key in keys if key.normal is not None]
    return record(required, optional, note, **({"allOf": two} if two else {}), **rules)


@dataclass(frozen=True)
class Form(Generic[Made]):
    """One of the forms that a section may have.

    make: takes the file, the values of the keys `needed` in their order, and by name those of the keys `free` that are there.
    beside: keys that the reader of the section asks for itself, whichever form it has. rules: further words of JSON Schema.
    """

    name: str
    needed: Sequence[Field]
    make: Callable[..., Made]
    free: Sequence[Field] = ()
    beside: Sequence[Field] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        return section_of(self.needed, (*self.free, *self.beside), **self.rules)

    @property
    def keys(self) -> set[str]:
        return {each.name for key in (*self.needed, *self.free, *self.beside) for each in key.both}

    @property
    def sign(self) -> str:
        """The key by which the form is known."""
        return self.needed[0].name

    def read(self, file: Sections, section: str) -> Made:
        """What the section of a file asks for."""
        needed = [key.of(file, section) for key in self.needed]
        free = {key.name: key.of(file, section) for key in self.free if key.under(file).name in file.data[section]}
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
SIZE = Field("size", COUNT, "How many elements there are, where no table and no domain says it.")
EPSILON = Field(
    "epsilon",
    POSITIVE,
    "The budget of a change, in nats: outputs are at most e^epsilon times as likely after it (approximate: but for delta).",
    normal=Field("mu", POSITIVE, "The budget of a change under zcdp: rho = mu^2 / 2 (mu = 1: epsilon 5.222 at delta 1e-6)."),
)
ADJACENCY = Field("adjacency", COUNT, "How many records may change together.")
WEIGHTS = Field("weights", list_of(POSITIVE), "How much each counts in the loss, one number each.")
