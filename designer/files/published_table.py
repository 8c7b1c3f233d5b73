"""A table of a release as offices publish it: codes, labels, units, notes, and the digits that the noise leaves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal

import numpy as np

from designer.base.answer_table import NamedColumns, noise_places
from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.certificate.guarantee import NOTHING, About
from designer.limits import MOST_CROSSED_CELLS

Digits = Literal["noise", "all"]
DIGITS: dict[Digits, str] = {
    "noise": "Two significant digits of each standard error, rounded up; the answer and the other numbers of its row to the "
    "place of the second digit, ends of intervals outwards. They are never rounded before the decimal point, so whole numbers "
    "stay. All digits are in release.json.",
    "all": "As many digits as it takes to read back the same float.",
}
# A cell without a number: what it says to people, then OBS_STATUS and CONF_STATUS of SDMX.
STATUS = {
    "": ("", "A", "F"),
    "c": ("suppressed", "Q", "C"),
    "m": ("no number", "O", "F"),
    "z": ("no such row in the table", "M", "F"),
}
WIDEST = 2**52  # a number times a power of ten; beyond, floats have no further digits


@dataclass(frozen=True)
class Dimension:
    """A category column: what its codes are, in order, and a label for each, which differ from one another."""

    name: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, codes: Iterable[str], labels: Mapping[str, str]) -> Dimension:
        """Read the dimension off a column; a label that two codes share, or that is another's code, has its code behind it.

        Parameters
        ----------
        name : of the column.
        codes : of its rows, again and again.
        labels : of a code; a code that has none is its own label.

        >>> Dimension.of("age", ["1", "01", "1"], {"1": "young", "01": "young"}).labels
        ('young (1)', 'young (01)')
        """
        order = tuple(dict.fromkeys(codes))
        texts = [labels.get(code, code) for code in order]
        for _ in range(2):  # what was appended once may be another's label
            taken = Counter([*texts, *order])
            texts = [
                text if taken[text] == 1 + (text == code) else f"{text} ({code})"
                for text, code in zip(texts, order, strict=True)
            ]
        if len(set(texts)) < len(texts):
            raise InvalidProblem(f"labels: two categories of {shown(name)} have one label; give each its own.", value=name)
        return cls(name, order, tuple(texts))

    @property
    def labelled(self) -> bool:
        """Does any label say more than its code?"""
        return self.labels != self.codes


@dataclass(frozen=True)
class PublishedTable:
    """A table for people: one row an answer.

    made: its columns. keys: (G,) the codes of each row, one for each dimension. units: (G,) what each answer is counted in, ""
    where nothing is said. status: (G,) of each row, a key of `STATUS`. time: of the release. Raises `InvalidProblem` for a
    category without a name and for two rows of the same categories, which no format tells apart.
    """

    name: str
    made: NamedColumns
    dimensions: tuple[Dimension, ...]
    keys: Sequence[tuple[str, ...]]
    units: Sequence[str]
    status: Sequence[str]
    about: About = field(default=NOTHING)
    time: str = ""

    def require(self) -> None:
        """Refuse what only plain columns can hold."""
        for dimension in self.dimensions:
            if "" in dimension.codes:
                raise InvalidProblem(
                    f"--format: table {shown(self.name)} has a category without a name in column {shown(dimension.name)}; "
                    "name it in the problem file, or write csv."
                )
        if len(set(self.keys)) < len(self.keys):
            twice = Counter(self.keys).most_common(1)[0][0]
            raise InvalidProblem(f"--format: table {shown(self.name)} has two rows of {shown(list(twice))}; write csv.")

    @property
    def title(self) -> str:
        """What is published, and which table this is."""
        return f"{self.about.title}: {self.name}" if self.about.title else self.name

    @property
    def unit(self) -> str:
        """What all answers are counted in; empty where they have several units, or none is stated."""
        return self.units[0] if len(set(self.units)) == 1 else ""

    @property
    def numbers(self) -> dict[str, Floats]:
        """The columns of numbers, by name."""
        return dict(list(self.made.columns.items())[self.made.categories :])

    def notes(self, head: Callable[[str], str] = str) -> list[str]:
        """What a reader has to know of the columns, a line each; first the unit, the period and the publisher, where stated.
        head: what a column is called."""
        units = sorted({f"{' / '.join(key)}: {unit}" for key, unit in zip(self.keys, self.units, strict=True) if unit})
        said = {"Unit": self.unit or "; ".join(units), "Period": self.about.period, "Publisher": self.about.publisher}
        meant = by_words((head(name), self.made.meanings[name]) for name in self.numbers)
        absent = by_words((head(name), reason) for name, reason in self.made.missing.items())
        return [
            *(f"{name}: {words}" for name, words in said.items() if words),
            *(f"{names}: {words}" for names, words in meant),
            *(f"{names} (not there): {words}" for names, words in absent),
        ]

    def nested(self) -> PublishedTable:
        """Return the table with one dimension for nested ones, as municipalities are in regions: labels name the units above.

        A dimension is left out where the next one has more codes, each with one code of it alone.
        """
        above: dict[str, str] = {}
        kept = []
        for k, own in enumerate(self.dimensions):
            words = {code: above.get(code, "") + label for code, label in zip(own.codes, own.labels, strict=True)}
            below = self.dimensions[k + 1].codes if k + 1 < len(self.dimensions) else ()
            pairs = {(key[k + 1], key[k]) for key in self.keys} if below else set()
            if 1 < len(own.codes) < len(below) == len(pairs):
                above = {code: f"{words[upper]} / " for code, upper in pairs}
            else:
                kept.append((k, Dimension.of(own.name, own.codes, words)))
                above = {}
        keys = [tuple(key[k] for k, _ in kept) for key in self.keys]
        return replace(self, dimensions=tuple(own for _, own in kept), keys=keys)

    def crossed(self, format: str) -> tuple[dict[str, Floats], list[str]]:
        """Each column of numbers, and the status of each row, at all combinations of categories, the last dimension fastest.

        format: which asks for it. Raises `InvalidProblem` where there are too many combinations.
        """
        shape = [len(dimension.codes) for dimension in self.dimensions]
        cells = prod(shape)
        if cells * len(self.numbers) > MOST_CROSSED_CELLS:
            raise InvalidProblem(
                f"--format: {format} writes all {cells:,} combinations of categories of table {shown(self.name)}, more than "
                f"{MOST_CROSSED_CELLS:,} cells; write sdmx-csv, xlsx or csv."
            )
        places = [dict(zip(d.codes, range(len(d.codes)), strict=True)) for d in self.dimensions]
        at = [0] * len(self.keys)
        for k, (known, size) in enumerate(zip(places, shape, strict=True)):
            at = [size * before + known[key[k]] for before, key in zip(at, self.keys, strict=True)]
        status = ["z"] * cells
        for place, own in zip(at, self.status, strict=True):
            status[place] = own
        found = {name: np.full(cells, np.nan) for name in self.numbers}
        for name, column in self.numbers.items():
            found[name][at] = column
        return found, status


def with_noise_digits(made: NamedColumns) -> NamedColumns:
    """The same columns with the digits that `DIGITS["noise"]` states; where neither a standard error nor an interval is known,
    and where there is no noise, nothing is rounded."""
    columns = dict(made.columns)
    numbers = list(columns)[made.categories :]
    spread = columns.get("standard_error")
    ends = [columns[name] for name in numbers if name.startswith(("lower_", "upper_"))]
    if spread is None and ends:
        spread = (ends[1] - ends[0]) / 4
    if spread is None:
        return made
    places = np.array([np.nan if (place := noise_places(own)) is None else place for own in spread.tolist()])
    for name in numbers:
        if name == "standard_error":
            with np.errstate(divide="ignore", invalid="ignore"):
                columns[name] = _rounded(columns[name], 1 - np.floor(np.log10(columns[name])), np.ceil)
        else:
            outwards = np.floor if "lower_" in name else np.ceil if "upper_" in name else np.rint
            columns[name] = _rounded(columns[name], places, outwards)
    return NamedColumns(columns, made.meanings, made.missing, made.categories)


def _rounded(values: Floats, places: Floats, towards: np.ufunc) -> Floats:
    """Each value as the float next to a decimal of so many places (fewer than none: tens, hundreds), `towards` it."""
    found = np.array(values, dtype=np.float64)
    for place in np.unique(places[np.isfinite(places)]).tolist():
        scale, own = 10.0 ** abs(place), (places == place) & np.isfinite(found)
        scaled = found[own] * scale if place >= 0 else found[own] / scale
        near = np.rint(scaled)  # a value that is such a decimal already is not moved to the next one by the rounding of floats
        back = near / scale if place >= 0 else near * scale
        units = np.where(back == found[own], near, towards(scaled))
        exact = np.abs(scaled) < WIDEST
        found[own] = np.where(exact, (units / scale if place >= 0 else units * scale) + 0.0, found[own])
    return found


def by_words(said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names with what is said of each, those of which the same is said together."""
    found: dict[str, list[str]] = {}
    for name, words in said:
        found.setdefault(words, []).append(name)
    return [("; ".join(names), words) for words, names in found.items()]


def plain_head(name: str) -> str:
    """What a column of numbers is called in print.

    >>> plain_head("joint_lower_99_5"), plain_head("consistent_standard_error"), plain_head("answer")
    ('99.5 % interval for all rows at once, from', 'consistent: standard error', 'answer')
    """
    if (found := re.fullmatch("(consistent_)?(joint_)?(lower|upper)_([0-9_]+)", name)) is None:
        return name.replace("consistent_", "consistent: ").replace("_", " ")
    of, joint, end, level = found.groups()
    before, rows = "consistent: " if of else "", " for all rows at once" if joint else ""
    return f"{before}{level.replace('_', '.')} % interval{rows}, {'from' if end == 'lower' else 'to'}"


def number_text(value: float) -> str:
    """The shortest digits that read back as the same float, without an exponent; empty for what is no number.

    >>> [number_text(value) for value in (12.0, -3.25, 0.0, 1e-5, 12345678901.0, 1e22, float("nan"), float("inf"))]
    ['12', '-3.25', '0', '0.00001', '12345678901', '10000000000000000000000', '', '']
    """
    if not np.isfinite(value):
        return ""
    return str(int(value)) if value == int(value) else np.format_float_positional(value, trim="-")
