"""Fields that take what stands for a rational and hold rationals: annotations for the type checker alone,
`rational` does the work."""

from __future__ import annotations

from fractions import Fraction

Given = Fraction | float | str


class Rational:
    """A field that is given as a Fraction, a number or a text such as "1/3", and read as a Fraction."""

    def __get__(self, owner: object, kind: type | None = None) -> Fraction:
        raise NotImplementedError

    def __set__(self, owner: object, value: Given) -> None:
        raise NotImplementedError


class OptionalRational:
    """The same, given as None where a default is to be found, and never read as None."""

    def __get__(self, owner: object, kind: type | None = None) -> Fraction:
        raise NotImplementedError

    def __set__(self, owner: object, value: Given | None) -> None:
        raise NotImplementedError
