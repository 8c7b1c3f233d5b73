"""What a release of each format holds in a file, beside what all releases say, and how it follows from a few whole numbers.

A release is made of whole numbers: noisy multiples of steps, a table, the place of a candidate. All else in its file follows
from them and from the mechanism, and is recomputed when the file is verified.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import shown
from designer.base.errors import InvalidSpec
from designer.base.schema import SIGNED_RATIONAL, Fragment, Named, Schema, either, list_of, number, one_of, record, text, whole

RELEASE_FORMAT = "dp-designer/release"
ReleaseKeys = Mapping[str, Fragment]
M = TypeVar("M")
R = TypeVar("R")

# Numbers that post-processing may drive beyond the floats.
NUMBER = Named("any_number", either(number(), one_of("inf", "-inf", "nan")))
BY_NAME: Schema = {"type": "object", "additionalProperties": NUMBER}
PUBLISHED = Named(
    "published",
    list_of(
        record(
            {"statistic": text(), "value": either(whole(), SIGNED_RATIONAL, number(), {"type": "array"})},
            note="A statistic that no noise enters: a whole number, a fraction, a float, or a table of whole numbers.",
        ),
        least=0,
    ),
)


class ReleaseForm(ABC, Generic[M, R]):
    """How releases R of mechanisms M are written, and rebuilt from what was written.

    schema: the keys beside those of every release, with their forms. checked, unchecked: what `rebuilt` and the comparison
    that follows it settle, and what they leave open, in sentences.
    """

    schema: ClassVar[ReleaseKeys]
    checked: ClassVar[tuple[str, ...]]

    @abstractmethod
    def content(self, mechanism: M, released: R) -> dict[str, Any]:
        """The release under the keys of `schema`."""

    @abstractmethod
    def rebuilt(self, mechanism: M, content: Mapping[str, Any]) -> R:
        """The release whose whole numbers are in a file; `InvalidSpec` where the mechanism cannot have made them."""

    def published(self, mechanism: M, released: R) -> list[dict[str, Any]]:
        """What the release tells exactly, each with its `statistic` and its `value`; nothing by default."""
        return []

    def unchecked(self, mechanism: M) -> tuple[str, ...]:
        """What a file of this form leaves open, beside what every file does."""
        return ()


def told(statistic: str, value: object) -> dict[str, Any]:
    """One entry of what is published exactly; fractions that are whole are written as whole numbers."""
    if isinstance(value, Fraction):
        return {"statistic": statistic, "value": int(value) if value.denominator == 1 else str(value)}
    return {"statistic": statistic, "value": value}


def whole_numbers(value: Any, count: int, field: str) -> list[int]:
    """A list of so many whole numbers from a file."""
    if not isinstance(value, list) or len(value) != count or not all(type(entry) is int for entry in value):
        raise InvalidSpec(f"{field}: is not a list of {count} whole numbers, as the mechanism makes them; {RESTORE}")
    return value


def whole_table(value: Any, shape: Sequence[int], field: str) -> NDArray[Any]:
    """An array of Python integers of this shape, from nested lists of a file."""
    if not shape:
        if type(value) is not int:
            raise InvalidSpec(f"{field}: {shown(value)} is not a whole number; {RESTORE}", value=value)
        return np.array(value, dtype=object)
    if not isinstance(value, list) or len(value) != shape[0]:
        raise InvalidSpec(f"{field}: is not a table of whole numbers of shape {tuple(shape)}; {RESTORE}")
    rows = [whole_table(entry, shape[1:], field) for entry in value]
    return np.array(rows, dtype=object).reshape(tuple(shape))


def named_whole_numbers(value: Any, names: Sequence[str], field: str) -> list[int]:
    """The whole numbers of an object with exactly these keys, in the order of the names."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise InvalidSpec(f"{field}: has not exactly the names of the mechanism; {RESTORE}")
    return whole_numbers([value[name] for name in names], len(names), field)


RESTORE = "restore the file, or ask who released for another one."
