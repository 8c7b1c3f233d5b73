"""Objects of tests by name, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from designer import design

T = TypeVar("T")


def designed(problem: Any, family: str, **options: Any) -> Callable[[], Any]:
    """What makes the mechanism of a design."""
    return lambda: design(problem, family, **options).mechanism


class Lazy(Mapping[str, T]):
    """What `makers` make, once each: names cost nothing, so that tests are parametrised by them."""

    def __init__(self, makers: Mapping[str, Callable[[], T]]) -> None:
        self.makers, self.made = makers, dict[str, T]()

    def __getitem__(self, name: str) -> T:
        if name not in self.made:
            self.made[name] = self.makers[name]()
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)
