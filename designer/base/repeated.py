"""Sequences in which few objects stand many times: what follows from each is found once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")


def distinct(values: Iterable[Given]) -> list[Given]:
    """The objects, each once, in the order in which they first stand there; equal ones that are not the same object stay apart.

    >>> one = (1, 2)
    >>> distinct([one, one, (3,)])
    [(1, 2), (3,)]
    """
    return list({id(value): value for value in values}.values())


def for_each(function: Callable[[Given], Found], values: Sequence[Given]) -> list[Found]:
    """`function` of every value, called once for each object.

    >>> one = (1, 2)
    >>> for_each(len, [one, one, (3,)])
    [2, 2, 1]
    """
    found = {id(value): function(value) for value in distinct(values)}
    return [found[id(value)] for value in values]
