"""The sections of a problem file, read with care: values of the right type, tables beside the file,
refusals that name the place."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import meant, shown, system_words, without_percent
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.base.labels import number_in_file
from designer.base.output import mistaken
from designer.certificate.frozen import FrozenMechanism
from designer.files.data_files import Table, column_names, numeric_column, read_matrix, read_table
from designer.problem.domain import Domain
from designer.problem.histogram import REFUSE, Keys, Universe, Unlisted, checked_rule
from designer.problem.targets import Targets

# What a line that is no TOML looks like, and what would be right.
HINTS = {
    r"\\": "write paths with / in the place of the backslash",
    r"^[\w-]+\s*=\s*-?[0-9]+,[0-9]": "write decimals with a point, as 0.5",
    r"^[\w-]+\s*:": "write = in the place of the colon",
    r"^\[[^\]\"]*\w\s+\w": "write the name of a section without spaces, such as [workload]",
    r"=\s*[0-9.]+\s*%": "write a percentage as a fraction, as 0.05 for 5 %",
    r"^\[": "every section stands once; write all its keys below one [section]",
    r"^[\w-]+\s*=\s*[^\W0-9]": 'write texts in quotes, as title = "Towns"',
    r"^[\w-]+\s+[^=\s]": "write = between key and value",
}

# What a budget is called in [relation], and under zCDP.
BUDGETS = {"epsilon": "mu", "epsilons": "mus"}


def toml_of(path: Path) -> dict[str, Any]:
    """What a TOML file holds, as plain data."""
    content = _content(path)
    try:
        return tomllib.loads(_text(content))
    except UnicodeDecodeError:
        told = mistaken(content, "a problem file (TOML)") or "is not TOML: no text in UTF-8; save it as UTF-8"
    except (ValueError, RecursionError) as error:  # of tomllib, of numbers with thousands of digits
        told = mistaken(content, "a problem file (TOML)") or f"is not TOML ({error}); {_toml_remedy(path, content, str(error))}"
    raise InvalidProblem(f"{path}: {told}.")


def text_of_toml(path: Path) -> str:
    """The text of a TOML file that `toml_of` has read."""
    return _text(_content(path))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidProblem(f"{path}: cannot be read ({system_words(error)}); give the path of a problem file.") from None


def _text(content: bytes) -> str:
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _toml_remedy(path: Path, content: bytes, error: str) -> str:
    """The line that is no TOML, and what is mostly wrong with such a line; of a file that bears another name nothing is told,
    since it may hold data."""
    place = re.search(r"at line ([0-9]+), column", error)
    lines = content.decode("utf-8-sig", "replace").splitlines()
    if path.suffix != ".toml" or place is None or not 0 < int(place[1]) <= len(lines):
        return "give a problem file"
    line = lines[int(place[1]) - 1].strip()
    hints = (hint for pattern, hint in HINTS.items() if re.search(pattern, line))
    return f"line {place[1]} is {shown(line)}: {next(hints, 'write it as key = value')}"


@contextmanager
def naming(path: Path, section: str = "") -> Iterator[None]:
    """Refusals name the file, and the section that what is refused is made of."""
    try:
        yield
    except InvalidProblem as error:
        if (words := str(error)).startswith(str(path)):
            raise
        raise error.within(f"{path}: [{section}] " if section and not words.startswith("[") else f"{path}: ") from None


class Sections:
    """One problem file being read; knows the file's name for error messages."""

    usual_notion = "pure"  # where [problem] names none

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self.path = path
        self.data = data
        self.files = [path]  # all that are read
        self.called: list[str] | None = None  # the elements, by the first matrix that names its columns

    def refuse(self, section: str, key: str, value: object, remedy: str) -> InvalidProblem:
        """The error that names file, section, key, value and remedy; for the caller to raise."""
        words = f"{self.path}: [{section}] {key} = {shown(value)}: {remedy}."
        return InvalidProblem(words, field=f"[{section}] {key}", value=value, remedy=f"{remedy}.")

    @property
    def notion(self) -> object:
        """The notion of privacy, which decides the names of budgets."""
        problem = self.data.get("problem", {})
        return problem.get("notion", self.usual_notion) if isinstance(problem, dict) else self.usual_notion

    def refuse_keys(self, section: str, known: set[str], owner: str) -> None:
        """Refuse keys of a section that nothing reads, and budgets by the name that they have under another notion."""
        zcdp = self.notion == "zcdp"
        others = BUDGETS if zcdp else {mu: epsilon for epsilon, mu in BUDGETS.items()}
        taken = known - others.keys()
        for key, value in self.data[section].items():
            if key not in known:
                raise self.refuse(section, key, value, f"does not go with {owner}; {meant(key, taken)}it takes {sorted(taken)}")
            if key not in taken:
                to_mu = f"is no epsilon under zCDP; write {others[key]} = {shown(value)}, which promises rho = mu^2 / 2"
                to_epsilon = f"is a budget of zCDP, rho = mu^2 / 2; under the notion {shown(self.notion)} give {others[key]}"
                raise self.refuse(section, key, value, to_mu if zcdp else to_epsilon)

    def at(self, section: str) -> AbstractContextManager[None]:
        """Refusals of what is made of a section name file and section."""
        return naming(self.path, section)

    def get(self, section: str, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """A value of the right type, or the default when one is given."""
        values = self.data.get(section, {})
        if key not in values:
            if default is ...:
                raise InvalidProblem(f"{self.path}: [{section}] {key} is missing; give it, as {_type_words(kind)}.")
            return default
        value = values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, (bool,))):
            is_number = isinstance(value, str) and number_in_file(value) is not None
            quoted = " without quotes" if is_number else without_percent(value)
            raise self.refuse(section, key, value, f"should be {_type_words(kind)}{quoted}")
        return value

    def file(self, section: str, key: str) -> Path:
        """The file that a key names, relative to the problem file; noted among those that are read."""
        path = self.path.parent / str(self.get(section, key, str))
        self.files.append(path)
        return path

    @cached_property
    def domain(self) -> Domain:
        """The attributes and their values."""
        if "domain" not in self.data:
            tabled = " Queries of [elements] are columns of its table: columns = [..], 1 where an element counts."
            hint = tabled if "elements" in self.data else ""
            raise InvalidProblem(f"{self.path}: section [domain] is missing; list the attributes and their values there.{hint}")
        return Domain.of(self.data["domain"], self.unlisted)

    @property
    def unlisted(self) -> Unlisted:
        """What happens to a record with a value that is not listed."""
        return checked_rule(self.data.get("unlisted", REFUSE))

    @cached_property
    def table(self) -> Table:
        """The table of the elements, one row each."""
        if "elements" not in self.data:
            raise InvalidProblem(
                f"{self.path}: section [elements] is missing; name the table with one row for each universe element."
            )
        return read_table(self.file("elements", "table"))

    @property
    def element_names(self) -> tuple[str, ...] | None:
        """A name for each element, None where nothing names them."""
        if self.keys is None:
            return None
        return self.keys.names if self.get("elements", "names", list, []) else self.keys.assignments

    @cached_property
    def keys(self) -> Keys | None:
        """The columns that name the elements, and what they hold for each."""
        columns = self.get("elements", "names", list, [])
        if not columns:
            if "domain" not in self.data and "unlisted" in self.data:
                raise InvalidProblem(
                    f"{self.path}: unlisted = {shown(self.unlisted)}: speaks of the columns of records that name elements, and "
                    "the file names none; name them in [elements] names or [domain], or leave it out."
                )
            return self.domain.keys if "domain" in self.data else None
        for column in columns:
            if not isinstance(column, str) or column not in self.table:
                has = f"the table has no column {column!r}; {meant(column, self.table)}it has {list(self.table)}"
                raise self.refuse("elements", "names", columns, has)
        rows = tuple(zip(*(self.table[c] for c in columns), strict=True))
        if len(set(rows)) < len(rows):
            twice = next(row for row, times in Counter(rows).items() if times > 1)
            raise self.refuse(
                "elements", "names", columns,
                f"{shown(', '.join(twice))} names two rows; list each element once. If the rows are records, they are "
                "confidential data and no universe: list the values of their attributes in [domain], and give the records to "
                "`release`",
            )  # fmt: skip
        return Keys(tuple(columns), rows, self.unlisted)

    def require_one_order(self) -> None:
        """Where [elements] and [domain] both say what the elements are, they must say the same: queries follow one,
        budgets the other."""
        if not {"elements", "domain"} <= set(self.data):
            return
        attributes = self.domain.attributes
        if missing := [name for name in attributes if name not in self.table]:
            raise self.refuse(
                "elements", "table", self.data["elements"]["table"],
                f"has no columns {missing}, so its rows cannot be compared with [domain]; add them, or leave one of the two "
                "sections out",
            )  # fmt: skip
        rows = zip(*(self.table[name] for name in attributes), strict=True)
        for number, (row, cell) in enumerate(zip_longest(rows, product(*self.domain.values)), 1):
            if row != cell:
                raise InvalidProblem(
                    f"{self.path}: [elements] and [domain] disagree: row {number} of the table is {shown(row)}, combination "
                    f"{number} of the domain {shown(cell)} over {list(attributes)}; bring rows and values into one order "
                    "(the last attribute changes fastest)."
                )

    def targets_of(self, names: Sequence[str]) -> Targets | None:
        """What [targets] asks of answers of these names; None where the file has no such section."""
        if "targets" not in self.data:
            return None
        try:
            found = Targets(**self.data["targets"])
            found.of(names)
        except InvalidProblem as error:
            raise InvalidProblem(f"{self.path}: [targets] {str(error).removeprefix('targets.')}") from None
        return found

    def require_known(self, section: str, key: str, name: str, names: Sequence[str], where: str) -> None:
        """Refuse a name that is not among those that `where` has, and propose the nearest."""
        if name not in names:
            raise self.refuse(section, key, name, f"{where} has no such name; {meant(name, names)}it has {shown([*names])}")

    def matrix(self, section: str, key: str) -> Floats:
        """A matrix with a column for each element; where columns are called like elements,
        they must be in the order of the elements."""
        path = self.file(section, key)
        found, named = read_matrix(path), column_names(path)
        if self.called is None:
            self.called = list(self.element_names or named)
        known = self.called
        wrong = next((place for place, pair in enumerate(zip_longest(named, known)) if pair[0] != pair[1]), None)
        if wrong is not None and set(named) & set(known):
            raise InvalidProblem(
                f"{path}: column {wrong + 1} is {shown(named[wrong : wrong + 1])}, element {wrong + 1} is "
                f"{shown(known[wrong : wrong + 1])}; bring the columns into the order of the elements."
            )
        return found

    def columns(self, section: str, key: str) -> Floats:
        """The named numeric columns of the elements table, as rows."""
        path = self.file("elements", "table") if "elements" in self.data else self.path
        named = self.texts(section, key)
        if not named:
            raise self.refuse(section, key, named, "name at least one column")
        return np.array([numeric_column(self.table, name, path) for name in named])

    def texts(self, section: str, key: str) -> list[str]:
        listed: list[str] = self.get(section, key, list)
        if not all(isinstance(entry, str) for entry in listed):
            raise self.refuse(section, key, listed, "should be a list of texts in quotes")
        return listed


def _type_words(kind: type | tuple[type, ...]) -> str:
    words = {
        str: "a text in quotes",
        int: "a whole number",
        float: "a number",
        list: "a list [..]",
        dict: "a table {..}",
        bool: "true or false",
    }
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(words[k] for k in kinds if k is not int or kinds == (int,))


# What a problem file says of the records that it asks about: which values, groups and numbers are expected where.


@dataclass(frozen=True, kw_only=True)
class ExpectedValues:
    """rule: what happens to a record with a value that is not listed. values: those of each column. universes: the combinations
    of them that count, where not all do. numbers: measured columns with their bounds.
    """

    rule: Unlisted = REFUSE
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    universes: tuple[Universe, ...] = ()
    numbers: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)

    @classmethod
    def of_keys(cls, *keys: Keys) -> ExpectedValues:
        """The elements that columns name, of one table or of several."""
        values: dict[str, dict[str, None]] = {}
        for own in keys:
            for name, column in zip(own.columns, zip(*own.rows, strict=True), strict=True):
                values.setdefault(name, {}).update(dict.fromkeys(column))
        universes = tuple(Universe(own.names, own) for own in keys)
        return cls(rule=keys[0].unlisted, values={name: tuple(own) for name, own in values.items()}, universes=universes)

    @classmethod
    def of_domain(cls, domain: Domain, axes: Sequence[int]) -> ExpectedValues:
        """Some attributes of a domain, all of whose combinations count."""
        return cls(rule=domain.unlisted, values={domain.attributes[axis]: domain.values[axis] for axis in axes})

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.values, *self.numbers]))

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return tuple(self.numbers)

    def outside(self, columns: Mapping[str, Sequence[object]]) -> Iterator[tuple[str, Mapping[Any, int], Iterable[str]]]:
        """Of groups, level by level: their name, the records in none of them, with their numbers of rows, and the labels."""
        return iter(())


# What the caller of a design decides, and what comes of it.


@dataclass(frozen=True)
class Choices:
    """What the caller decides in the place of the file; None or empty where the file, or the rule of the kind, decides."""

    family: str | None = None
    solver: str | None = None
    solver_options: Mapping[str, Any] = field(default_factory=dict)
    effort: str | None = None
    seconds: float | None = None

    @property
    def limits(self) -> Mapping[str, Any]:
        """Effort and seconds, where they are given."""
        given = {"effort": self.effort, "seconds": self.seconds}
        return {name: value for name, value in given.items() if value is not None}

    def of_file(self, family: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The family to take and its options: those of the file, unless the caller names another family, or another solver, to
        which options of the file's solver do not belong."""
        named, own = (family, dict(options)) if self.family in (None, family) else (str(self.family), {})
        if self.solver is not None:
            own |= {"solver": self.solver, "solver_options": {}}
        if self.solver_options:
            own["solver_options"] = {**own.get("solver_options", {}), **self.solver_options}
        return named, own

    def require(self, kind: str, takes: tuple[str, ...]) -> None:
        """Refuse choices that a kind of file does not take."""
        for choice in fields(self):
            value = getattr(self, choice.name)
            if value is not None and value != {} and choice.name not in takes:
                others = f"it takes {', '.join(takes)}" if takes else "what can be chosen stands in the file"
                raise InvalidProblem(
                    f"{choice.name}: {shown(value)} does not go with files of kind {kind!r}; {others}.", value=value
                )


@dataclass(frozen=True)
class Outcome:
    """What was made for a request: the frozen object, lines for the terminal, and the same as data. brief: fewer lines, for who
    asks for no more; all of them where there are no others."""

    mechanism: FrozenMechanism
    lines: tuple[str, ...]
    data: Mapping[str, Any]
    brief: tuple[str, ...] = ()


# Places of a starting file that are still to be filled in: a text that begins with `FILL IN`, wherever it stands.


MARK = "FILL IN"
LISTED = 12


def require_filled(path: Path, data: Mapping[str, Any]) -> None:
    """Refuse a file in which places are still to be filled in; the message names them."""
    places = list(dict.fromkeys(_unfilled(data, ())))
    if places:
        listed = ", ".join(places[:LISTED]) + (f" and {len(places) - LISTED} more" if len(places) > LISTED else "")
        raise InvalidProblem(
            f'{path}: still to be filled in: {listed}; replace each "{MARK}: .." by what it asks for, or delete it.'
        )


def _unfilled(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """The keys, with their sections, that hold a text with the mark."""
    if isinstance(value, str) and value.startswith(MARK):
        yield unfilled_place(keys)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _unfilled(part, (*keys, name))
    elif isinstance(value, list):
        for part in value:
            yield from _unfilled(part, keys)


def unfilled_place(keys: tuple[str, ...]) -> str:
    """`[section] key`, as TOML writes it where every table is a section.

    >>> unfilled_place(("relation", "budgets", "age of death"))
    '[relation.budgets] "age of death"'
    """
    *sections, own = map(key, keys)
    return printed(f"[{'.'.join(sections)}] {own}" if sections else own)


def key(name: str) -> str:
    """A key as TOML writes it."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
