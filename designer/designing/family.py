"""A family: a way to build a mechanism for a problem."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

from designer.base.checks import shown
from designer.base.display import at_most
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.change_norms import ByLength
from designer.certificate.guarantee import Optimality
from designer.certificate.implicit_rows import is_described
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.measured import Coordinates, dimension_of, moving_coordinates
from designer.mechanism.additive import AdditiveMechanism, is_unwritten, with_lengths
from designer.mechanism.interface import Falloff, Mechanism
from designer.problem.relation import Relation
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.problem import Problem

OWN_NOTIONS = ("pure", "zcdp", "approximate")
_twins: WeakKeyDictionary[Problem, Problem] = WeakKeyDictionary()
# Options of several builders: the type, and the sentence that problem files tell of it.
Tolerance = Annotated[float, "At which relative gap to the bound the search ends."]
StrategyRows = Annotated[object, "Rows to measure instead of the queries, one number for each element."]


@dataclass(frozen=True)
class Family:
    """A way to build a mechanism for a problem: its name, one line about it, the notion it serves,
    and the function that builds.

    build: takes the problem and, by name, options; returns a certified mechanism or raises `DesignFailed`. An option is one
    parameter, `Annotated` with its type and the sentence about it: problem files, their schema and the reference read it there.
    program: the address `module:name` of the program of CVXPY that states it, so that `solver` may be named; None without one.
    part: the address of a program that states what it rests on, or a part of it, and designs nothing; None without one.
    search: what is searched, or computed, beside a program or without one, as a sentence; "" where one program is all of it.
    described: takes queries that are not written out (`designer.certificate.implicit_rows`); where queries are such, "auto" and
    `compare` leave out all others. scans_little: needs few scans of the pairs, so that "auto" starts it on any size.
    on_request: serves another end than least loss, so "auto" leaves it out. invariants_only: serves or compares relations
    under an invariant; "auto" and `compare` leave it out elsewhere; where: a rule of any other kind. with_delta: under
    "approximate" its budgets may be those that (b, delta) allows. Pure families without it keep their pure promise there, as
    all do under "zcdp". biased: its answers may be off on purpose, so that no limit of unbiased noise speaks of it.
    fractions: its answers to counts are no whole numbers. Where statistics are published and counts are asked, it goes behind
    all others, and is not started where another one has whole numbers. choices: the options that "auto", `compare` and
    a call by its name try, one after the other; of several, each gives the same options.
    work: about how many units of `solvers/work.py`, each at most about a second, a design takes, by the
    `Sizes` of a problem and the options. None where that is a moment. By it "auto" decides whether, and when, the family is
    started. anytime: its search counts its work and, cut off, hands over the best so far, so that it is started whatever it
    may take. gives_up: its steps count their work, and it raises `OutOfWork` once it foresees that what is left does not
    reach. So it is started whatever it may take, too. By its name it runs to its end. rank: of those that take longer than a
    moment, families of a lower rank are started first, whatever they take. 0 where they mostly win if they serve at all, 2
    where they seldom do. floor: from a problem a loss that none of its mechanisms is below, proven, in much less time than a
    design. 0 where nothing is proven. "auto" does not start what cannot be better than what it has. within: the
    name of a family of which all its continuous noise is a case.
    """

    name: str
    title: str
    notion: Literal["pure", "zcdp", "approximate"]
    build: Callable[..., Mechanism]
    baseline: bool = False
    scans_little: bool = False
    described: bool = False
    on_request: bool = False
    invariants_only: bool = False
    where: Callable[[Problem], bool] | None = None
    with_delta: bool = True
    program: str | None = None
    part: str | None = None
    search: str = ""
    biased: bool = False
    fractions: bool = False
    choices: tuple[Mapping[str, Any], ...] = ({},)
    work: Callable[..., float] | None = None
    anytime: bool = False
    gives_up: bool = False
    rank: int = 1
    floor: Callable[[Problem], float] | None = None
    within: str = ""

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
        fits = self.where is None or self.where(self.aimed(problem))
        return fits and not (self.invariants_only and problem.relation.single_records)

    def serves(self, problem: Problem) -> bool:
        """Whether its mechanisms keep the notion of the problem, or the pure one, which is stronger than each other."""
        return self.notion in ("pure", problem.notion) or (problem.notion == "approximate" and self.with_delta)

    def aimed(self, problem: Problem) -> Problem:
        """The problem that its noise is for: the pure twin, where the family has none for the weaker promise itself."""
        own = self.notion == problem.notion or (problem.notion == "approximate" and self.with_delta)
        return problem if own or self.notion != "pure" else pure_twin(problem)

    def stated(self) -> str:
        """The address of the program that states it, or a part of it; `DesignFailed` where none does, with what it is."""
        if address := self.program or self.part:
            return address
        raise DesignFailed(f"program: no program states {self.name!r}: {self.search or 'its numbers are a closed form.'}")

    def options(self) -> list[str]:
        """The names of the builder's options."""
        return list(inspect.signature(self.build).parameters)[1:]


def pure_twin(problem: Problem) -> Problem:
    """The problem with the same relation under the pure notion, one object each; what keeps it keeps the weaker promise."""
    return _twins.setdefault(problem, replace(problem, notion="pure", delta=None))


# What other families have reached: one that knows its loss before it is certified ends there, where another is ahead of it.
#
# "auto" says it, for the problem that it designs. A family asks about its own problem: where it solves parts, or another
# problem in the place of the one that it was given, nothing is known of them.


BEHIND = 1e-3  # of the loss: what floats, the grid and a repair may still change
_reached: ContextVar[tuple[Problem, float] | None] = ContextVar("reached", default=None)


class WorseThanIncumbent(DesignFailed):
    """The noise that a family found loses more than that of another family, and was not certified."""


@contextmanager
def with_incumbent(problem: Problem, reached: float) -> Iterator[None]:
    """Within this block designs of the problem are for one that loses less than `reached`; infinite for any."""
    token = _reached.set((problem, reached))
    try:
        yield
    finally:
        _reached.reset(token)


def reached_by_others(problem: Problem) -> float:
    """The least loss that other families have for the problem; infinite where nothing is known."""
    known = _reached.get()
    return known[1] if known is not None and known[0] is problem else math.inf


def refuse_outdone(problem: Problem, loss: float) -> None:
    """`WorseThanIncumbent` where another family has a loss of the problem clearly below this one, before it is certified.

    loss: the problem's own, up to `BEHIND` of it.
    """
    if loss > (reached := reached_by_others(problem)) * (1 + BEHIND):
        raise WorseThanIncumbent(f"not certified: its noise loses about {loss:.4g}, and {at_most(reached)} is reached")


# A family under the notion of a problem: its own, or (b, delta) for every change, one by one.
#
# Under (b, delta) a family builds for its own notion, with the lengths in the place of the budgets that (b, delta) allows its
# noise. What it hands back is frozen again with the delta: continuous Gaussian noise, rounded to the grid, in the place of
# discrete Gaussian noise. docs/theory/approximate.md.


# The fall-off that families of a notion have, and that of their noise under a delta.
FALLOFFS: dict[str, tuple[Falloff, Falloff]] = {
    "pure": ("exponential", "exponential"),
    "zcdp": ("gaussian", "rounded_gaussian"),
}


def in_own_notion(family: Family, problem: Problem) -> Problem:
    """The problem that a family, or its program, is handed: of its own notion, with the lengths that (b, delta) allows in the
    place of the budgets."""
    aimed = family.aimed(problem)
    if aimed.notion != "approximate" or family.notion == "approximate":
        return aimed
    relation = with_lengths(aimed.relation, FALLOFFS[family.notion][1], aimed.delta)
    return replace(aimed, relation=relation, notion=family.notion, delta=None)


def build_for_notion(family: Family, problem: Problem, build: Callable[[Problem], Mechanism]) -> Mechanism:
    """The family's mechanism for a problem of its own notion, or of "approximate".

    build: from a problem of the family's notion to its mechanism.
    """
    if problem.notion != "approximate" or family.notion == "approximate":
        return build(problem)
    own, falloff = FALLOFFS[family.notion]
    inner = in_own_notion(family, problem)
    with with_incumbent(inner, reached_by_others(problem)):
        made = build(inner)
    if not isinstance(made, AdditiveMechanism) or made.falloff != own:
        raise DesignFailed(
            f"family: no delta is proven for the noise of {family.name!r}, which has no {own} fall-off on a grid; use a family "
            "such as 'gaussian' or 'laplace'."
        )
    frozen = replace(made, relation=problem.relation, falloff=falloff, delta=problem.delta, optimality=None)
    return frozen.annotated(made.provenance, _claim(problem, frozen, made.optimality, inner.relation))


def _claim(problem: Problem, made: AdditiveMechanism, claim: Optimality | None, relation: Relation) -> Optimality | None:
    """The claim at the noise that is drawn, of which the rounding is part.

    The program saw lengths that may be too short by a relative error, so no design has a loss below its bound for lengths
    that much longer. On whole numbers losses fall faster than by their power, by at most the weight of one step that a
    coordinate could have alone.
    """
    if claim is None:
        return None
    error = relation.budget_error
    value = claim.value
    if made.falloff == "rounded_gaussian":
        value = problem.loss_of(made.query_variances(), made.query_mean_absolutes() if problem.loss == "absolute" else None)
    power = 1.0 if problem.loss == "absolute" else 2.0
    if made.falloff == "exponential" and made.norm.order == "l1":
        power += _weight_of_a_step(made, relation) * (1 + 2 * error)
    return replace(claim, value=value, lower_bound=claim.lower_bound / (1 + 2 * error) ** power)


def _weight_of_a_step(made: AdditiveMechanism, relation: Relation) -> float:
    """The largest weight of one step that a coordinate could have alone, or a bound: some change moves it by a step."""
    if is_unwritten(made):
        return relation.largest_budget()
    alone = SensitivitySet.of(made.grid.values(made.integers), relation).worst_coordinates()[made.noise.heard]
    return float((made.grid.steps[made.noise.heard] / alone).max(initial=0.0))


# How large a problem is: what families estimate their work by before they start.


SOON = 100  # dimensions in which an ellipsoid is found in seconds


@dataclass(frozen=True, eq=False)
class Sizes:
    """The numbers that decide how long a design takes, each found when it is first asked for.

    queries: K. elements: N. dimension: of the span of all differences of the answers. freedom: of the changes of the histogram.
    pairs: protected changes, about.
    """

    problem: Problem

    @property
    def queries(self) -> int:
        """K, the number of queries."""
        return self.problem.workload.shape[0]

    @property
    def elements(self) -> int:
        """N, the number of elements."""
        return self.problem.workload.shape[1]

    @cached_property
    def coordinates(self) -> Coordinates:
        """Where is measured: see `moving_coordinates`."""
        return moving_coordinates(self.problem)

    @property
    def dimension(self) -> int:
        """Of the noise: how many coordinates the differences of the answers span."""
        if isinstance(self.problem.relation, InvariantDistance):
            return self.freedom
        return dimension_of(self.problem)

    @cached_property
    def freedom(self) -> int:
        """How many dimensions the changes of the histogram span that keep what is public."""
        invariant = getattr(self.problem.relation, "invariant", None)
        return self.elements if invariant is None else int(invariant.freedom)

    @cached_property
    def pairs(self) -> int:
        """How many protected changes there are: those of single records about, others counted."""
        if self.problem.relation.single_records:
            return self.elements * (self.elements + 1) // 2
        return sum(int(block.budgets.size) for block in self.problem.relation.blocks())

    @property
    def serving(self) -> str:
        """The families that a refusal by size names, none of which is refused by size here; `SOON` counts what bounds the
        dimension and is known at once."""
        relation = self.problem.relation
        if isinstance(relation, ByLength) and not relation.listed:
            return "laplace or projected_laplace, for the counts of all elements"
        return "box or laplace" if min(self.queries, self.freedom) > SOON else "ellipsoid, box or laplace"
