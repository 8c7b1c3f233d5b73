"""A family: a way to build a mechanism for a problem."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from designer.additive.mechanism import Mechanism
from designer.designing.problem import Problem


@dataclass(frozen=True)
class Family:
    """A way to build a mechanism for a problem: its name, one line about it, the notion it serves, and the module of its builder.

    The builder is the function of the family's name in `designer.designing.families.<module>`; it is imported when it is needed, with its solvers.
    scans_little: needs few scans of the pairs, so that "auto" starts it on any size. on_request: serves another end than least loss (integer
    tables), so "auto" leaves it out. invariants_only: serves or compares relations under an invariant; "auto" and `compare` leave it out
    elsewhere.
    """

    name: str
    title: str
    notion: str
    module: str
    baseline: bool = False
    scans_little: bool = False
    on_request: bool = False
    invariants_only: bool = False

    def concerns(self, problem: Problem) -> bool:
        """Whether the family has something to say about such a relation."""
        return not (self.invariants_only and problem.relation.single_records)

    @property
    def build(self) -> Callable[..., Mechanism]:
        """The builder, problem in, mechanism out."""
        builder: Callable[..., Mechanism] = getattr(import_module(f"designer.designing.families.{self.module}"), self.name)
        return builder

    def options(self) -> list[str]:
        """The names of the builder's options."""
        return list(inspect.signature(self.build).parameters)[1:]
