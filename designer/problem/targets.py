"""Accuracy that is asked for: a standard error, a 95 % margin or a relative error at a public value, for all queries or by
name; the loss of a report that a person draws alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from designer.base.arrays import Immutable
from designer.base.checks import assign, meant, positive, shown, without_percent
from designer.base.errors import InvalidProblem

Kind = Literal["standard_error", "margin", "relative_error"]
KINDS: tuple[Kind, ...] = ("standard_error", "margin", "relative_error")
WORDS = {"standard_error": "standard error", "margin": "95 % margin", "relative_error": "relative error"}


def in_file(query: str, given: object) -> str:
    """What a problem file has for one query that shall be as accurate as `given`.

    >>> in_file("north", "1%"), in_file("south", 5)
    ('[targets] relative_error = { "north" = 0.01 }', '[targets] standard_error = { "south" = 5 }')
    """
    share = without_percent(given).removeprefix("; write ")
    return f'[targets] {"relative_error" if share else "standard_error"} = {{ "{query}" = {share or given} }}'


# A number is for all queries; keys are names of queries, a tuple of attributes for the table over them.
ForQueries = float | Mapping[Any, float] | None


@dataclass(frozen=True)
class Target:
    """What one query must reach. place: of the query; value: as it was given; most: what the standard error (the margin, for a
    margin) may be at most, in the units of the answer."""

    place: int
    query: str
    kind: Kind
    value: float
    most: float
    reference: float | None = None

    def sentence(self) -> str:
        """The target in words."""
        at = "" if self.reference is None else f" at {self.reference:g}"
        return f"{self.query}: {WORDS[self.kind]} at most {self.value:g}{at}"


@dataclass(frozen=True, eq=False)
class Targets(Immutable):
    """How accurate answers must be. Each of the three is a number for all queries, or a mapping from names of queries. A query
    has at most one target, and may have none.

    standard_error: the standard deviation of the noise. margin: what |noise| keeps below with probability 95 %.
    relative_error: the standard error over the absolute value of `reference`, a value that was public beforehand, such as last
    year's count. It is a number for all, or by query. Designs that are biased on purpose count their largest bias over
    histograms of `problem.records` records beside the noise. That is the root of the sum of squares, or the sum for margins.
    loss: of a `ReportProblem`, as that measures it; it is the only target there, and no target elsewhere. Raises
    `InvalidProblem` for numbers not positive and finite, two targets of a query, no target, and relative errors without a
    reference other than 0.

    >>> [target.sentence() for target in Targets(standard_error={"north": 5}).of(["south", "north"])]
    ['north: standard error at most 5']
    """

    standard_error: ForQueries = None
    margin: ForQueries = None
    relative_error: ForQueries = None
    reference: ForQueries = None
    loss: float | None = None

    def __post_init__(self) -> None:
        for kind in KINDS:
            assign(self, **{kind: _checked(getattr(self, kind), f"targets.{kind}", positive)})
        assign(self, reference=_checked(self.reference, "targets.reference", _not_zero))
        if self.loss is not None:
            assign(self, loss=positive(self.loss, "targets.loss"))
        self._require_one_each()
        self._require_references()

    def _require_one_each(self) -> None:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not given and self.loss is None:
            raise InvalidProblem(
                f"targets: none is given; give at least one of {', '.join(KINDS)}; or loss, for an own report."
            )
        if given and self.loss is not None:
            raise InvalidProblem(
                f"targets.loss: is for an own report, which has no answers for targets.{given[0]} to hold of; drop one of them."
            )
        if len(given) > 1 and (for_all := [kind for kind in given if isinstance(getattr(self, kind), float)]):
            raise InvalidProblem(
                f"targets.{for_all[0]}: {getattr(self, for_all[0])!r} is for all queries, so that those of "
                f"targets.{next(kind for kind in given if kind != for_all[0])} would have two; name the queries of each."
            )
        seen: dict[str, str] = {}
        for kind in given:
            named = getattr(self, kind)
            for query in named if isinstance(named, Mapping) else ():
                if query in seen:
                    raise InvalidProblem(
                        f"targets.{kind}: {shown(query)} has a target in targets.{seen[query]} already; keep one of them.",
                        value=query,
                    )
                seen[query] = kind

    def _require_references(self) -> None:
        asked, known = self.relative_error, self.reference
        if (asked is None) != (known is None):
            raise InvalidProblem(
                "targets.reference: is missing; a relative error is relative to a public value: give it."
                if known is None
                else f"targets.reference: {shown(_plain(known))} without targets.relative_error, which alone needs it; drop it."
            )
        if isinstance(asked, Mapping) and isinstance(known, Mapping) and (missing := sorted(set(asked) - set(known))):
            raise InvalidProblem(f"targets.reference: has no value for {shown(missing)}; give one for each relative error.")

    def of(self, queries: Sequence[str]) -> tuple[Target, ...]:
        """The targets of these queries, in their order; `InvalidProblem` for a name that is not among them.

        queries: the names of all queries, in order.
        """
        if self.loss is not None:
            raise InvalidProblem(
                f"targets.loss: is for an own report; give at least one of {', '.join(KINDS)} for queries.", value=self.loss
            )
        places = {query: place for place, query in enumerate(queries)}
        if twice := next((query for place, query in enumerate(queries) if places[query] != place), None):
            raise InvalidProblem(f"targets: two tables are called {shown(twice)}; rename an attribute.", value=twice)
        for name in (*KINDS, "reference"):
            named = getattr(self, name)
            if unknown := [query for query in (named if isinstance(named, Mapping) else ()) if query not in places]:
                raise InvalidProblem(
                    f"targets.{name}: {shown(unknown[0])} is no query; {meant(unknown[0], queries)}"
                    f"the queries are {shown(list(queries))}.",
                    value=unknown[0],
                )
        found = [target for kind in KINDS for target in self._of_kind(kind, places)]
        return tuple(sorted(found, key=lambda target: target.place))

    def _of_kind(self, kind: Kind, places: Mapping[str, int]) -> list[Target]:
        given = getattr(self, kind)
        values = {} if given is None else dict(given) if isinstance(given, Mapping) else dict.fromkeys(places, given)
        if kind != "relative_error":
            return [Target(places[query], query, kind, value, value) for query, value in values.items()]
        points = {query: self._reference_of(query) for query in values}
        return [Target(places[q], q, kind, v, _product(q, v, abs(points[q])), points[q]) for q, v in values.items()]

    def _reference_of(self, query: str) -> float:
        known = self.reference
        if not isinstance(known, Mapping):
            assert known is not None
            return known
        if query not in known:
            raise InvalidProblem(f"targets.reference: has no value for {shown(query)}; give one for each relative error.")
        return known[query]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, what was given only: `Targets(**targets.to_dict())` is the same again."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _plain(value) for name, value in values.items() if value is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.to_dict(),)


def require_targets(value: object) -> Targets:
    """`value` as targets."""
    if not isinstance(value, Targets):
        raise InvalidProblem(f"targets: {shown(value)} are none; give Targets(standard_error=...), for example.", value=value)
    return value


def _again(values: dict[str, Any]) -> Targets:
    return Targets(**values)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _product(query: str, value: float, reference: float) -> float:
    return positive(value * reference, f"targets.relative_error: of {shown(query)}, times the reference")


def _checked(value: Any, field: str, check: Callable[[object, str], float]) -> Any:
    """A number, or numbers by name that nobody can change; None as it is."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return check(value, field)
    if not value:
        raise InvalidProblem(f"{field}: names no query; name one, give a number for all, or leave it out.")
    named = {_name(key, field): check(number, f"{field}[{shown(_name(key, field))}]") for key, number in value.items()}
    if len(named) != len(value):
        raise InvalidProblem(f"{field}: names a query twice; keep one of them.")
    return MappingProxyType(named)


def _name(key: object, field: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, tuple) and all(isinstance(part, str) for part in key):
        return " x ".join(key) or "total"
    raise InvalidProblem(f"{field}: {shown(key)} is no name; name queries by texts, tables by tuples of attributes.", value=key)


def _not_zero(value: object, field: str) -> float:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if number and value == 0:
        raise InvalidProblem(f"{field}: is 0, at which no error is relative to anything; give a standard error instead.")
    if number and value < 0:  # type: ignore[operator]
        return -positive(-value, field)  # type: ignore[operator]
    return positive(value, field)
