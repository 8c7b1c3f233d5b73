"""A family: a way to build a mechanism for a problem."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from designer.additive.interface import Mechanism
from designer.designing.problem import NOTIONS, Problem
from designer.errors import InvalidProblem
from designer.values.checks import shown


@dataclass(frozen=True)
class Family:
    """A way to build a mechanism for a problem: its name, one line about it, the notion it serves,
    and the function that builds.

    build: takes the problem and, by name, options; returns a certified mechanism or raises `DesignFailed`.
    has_program: a program of CVXPY states it (`designing/programs/listed.py`), so that `solver` may be named.
    scans_little: needs few scans of the pairs, so that "auto" starts it on any size. on_request: serves another end than least
    loss (integer tables), so "auto" leaves it out. invariants_only: serves or compares relations under an invariant; "auto" and
    `compare` leave it out elsewhere.
    """

    name: str
    title: str
    notion: Literal["pure", "gaussian"]
    build: Callable[..., Mechanism]
    baseline: bool = False
    scans_little: bool = False
    on_request: bool = False
    invariants_only: bool = False
    has_program: bool = False

    def __post_init__(self) -> None:
        for key in ("name", "title"):
            if not isinstance(getattr(self, key), str) or not getattr(self, key):
                raise InvalidProblem(f"family.{key}: {shown(getattr(self, key))} is no text; name the family.")
        if self.notion not in NOTIONS:
            raise InvalidProblem(f"family.notion: {shown(self.notion)} is unknown; use one of {list(NOTIONS)}.")
        if not callable(self.build):
            raise InvalidProblem(f"family.build: {shown(self.build)} is no function of a problem; give the builder itself.")

    def concerns(self, problem: Problem) -> bool:
        """Whether the family has something to say about such a relation."""
        return not (self.invariants_only and problem.relation.single_records)

    def options(self) -> list[str]:
        """The names of the builder's options."""
        return list(inspect.signature(self.build).parameters)[1:]
