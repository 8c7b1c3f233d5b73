"""A family: a way to build a mechanism for a problem."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.certified.described import is_described
from designer.mechanisms.additive.interface import Mechanism
from designer.relations.problem import Problem

OWN_NOTIONS = ("pure", "zcdp")
# Options of several builders: the type, and the sentence that problem files tell of it.
Tolerance = Annotated[float, "At which relative gap to the bound the search ends."]
StrategyRows = Annotated[object, "Rows to measure instead of the queries, one number for each element."]


@dataclass(frozen=True)
class Family:
    """A way to build a mechanism for a problem: its name, one line about it, the notion it serves,
    and the function that builds.

    build: takes the problem and, by name, options; returns a certified mechanism or raises `DesignFailed`. An option is one
    parameter, `Annotated` with its type and the sentence about it: problem files, their schema and the reference read it there.
    has_program: a program of CVXPY states it (`families/programs/listed.py`), so that `solver` may be named.
    described: takes queries that are not written out (`designer.certified.described`); where queries are such, "auto" and
    `compare` leave out all others. scans_little: needs few scans of the pairs, so that "auto" starts it on any size.
    on_request: serves another end than least loss, so "auto" leaves it out. invariants_only: serves or compares relations under
    an invariant; "auto" and `compare` leave it out elsewhere; where: a rule of any other kind. with_delta: serves the notion
    "approximate" too, under its own one with other budgets. biased: its answers may be off on purpose, so that no limit of
    unbiased noise speaks of it. fractions: its answers to counts are no whole numbers, so that it goes behind all others where
    statistics are published and counts are asked, and is not started where another one has whole numbers.
    choices: the options that "auto" and `compare` try, one after the other. work: about how many units of `solvers/work.py`,
    each about a second or less, a design takes, from the `Sizes` of a problem and, by name, the options; None where that is a
    moment. By it "auto" decides whether, and when, the family is started. anytime: its search counts its work and, cut off,
    hands over the best so far, so that it is started whatever it may take. gives_up: its steps count their work, and it raises
    `OutOfWork` once it foresees that what is left does not reach, so that it is started whatever it may take, too; by its name
    it runs to its end.
    rank: of those that take longer than a moment, families of a lower rank are started first, whatever they
    take: 0 where they mostly win if they serve at all, 2 where they seldom do. floor: from a problem a loss that none of its
    mechanisms is below, proven, in much less time than a design; 0 where nothing is proven. "auto" does not start what cannot
    be better than what it has.
    """

    name: str
    title: str
    notion: Literal["pure", "zcdp"]
    build: Callable[..., Mechanism]
    baseline: bool = False
    scans_little: bool = False
    described: bool = False
    on_request: bool = False
    invariants_only: bool = False
    where: Callable[[Problem], bool] | None = None
    with_delta: bool = True
    has_program: bool = False
    biased: bool = False
    fractions: bool = False
    choices: tuple[Mapping[str, Any], ...] = ({},)
    work: Callable[..., float] | None = None
    anytime: bool = False
    gives_up: bool = False
    rank: int = 1
    floor: Callable[[Problem], float] | None = None

    def __post_init__(self) -> None:
        for key in ("name", "title"):
            if not isinstance(getattr(self, key), str) or not getattr(self, key):
                raise InvalidProblem(f"family.{key}: {shown(getattr(self, key))} is no text; name the family.")
        if self.notion not in OWN_NOTIONS:
            raise InvalidProblem(
                f"family.notion: {shown(self.notion)} is unknown; use one of {list(OWN_NOTIONS)}.", value=self.notion
            )
        if not callable(self.build):
            raise InvalidProblem(
                f"family.build: {shown(self.build)} is no function of a problem; give the builder itself.", value=self.build
            )
        self._require_search()

    def _require_search(self) -> None:
        """What decides whether, and when, it is started."""
        for key in ("work", "floor", "where"):
            if (value := getattr(self, key)) is not None and not callable(value):
                raise InvalidProblem(f"family.{key}: {shown(value)} is no function; give one, or leave it out.", value=value)
        for key in ("anytime", "gives_up", "biased", "fractions"):
            if not isinstance(value := getattr(self, key), bool):
                raise InvalidProblem(f"family.{key}: {shown(value)} is neither true nor false; give one of them.", value=value)
        if not isinstance(self.rank, int) or isinstance(self.rank, bool):
            raise InvalidProblem(f"family.rank: {shown(self.rank)} is no whole number; 1 is that of most.", value=self.rank)
        choices = self.choices if isinstance(self.choices, (tuple, list)) else ()
        if not choices or not all(isinstance(one, Mapping) and all(isinstance(name, str) for name in one) for one in choices):
            raise InvalidProblem(
                f"family.choices: {shown(self.choices)} are no options to be tried; give a tuple of dicts, such as ({{}},).",
                value=self.choices,
            )

    @property
    def counted(self) -> bool:
        """Whether its own steps count what it takes."""
        return self.anytime or self.gives_up

    def concerns(self, problem: Problem) -> bool:
        """Whether the family has something to say about such a problem."""
        if not self.described and is_described(problem.workload, problem.relation):
            return False
        fits = self.where is None or self.where(problem)
        return fits and not (self.invariants_only and problem.relation.single_records)

    def serves(self, problem: Problem) -> bool:
        """Whether its mechanisms keep the notion of the problem."""
        return self.notion == problem.notion or (problem.notion == "approximate" and self.with_delta)

    def options(self) -> list[str]:
        """The names of the builder's options."""
        return list(inspect.signature(self.build).parameters)[1:]
