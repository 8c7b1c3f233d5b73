"""What files for synthetic histograms share: queries over a metric, a public number of records, and [preprocessing].

The section [preprocessing]: which stand-in queries P = c Q' a synthetic histogram is made of, DX program (8).

Files for MWEM, synthetic histograms by rounds of a choice and a measurement: kind = "mwem".

[elements], [domain], [workload], [relation]   as for linear queries; the relation is a metric
[problem]        records = 1000, a public number
[mwem]           rounds and choice, or shares = [["1/20", "1/20"], ..]; selection, output      (optional)
[preprocessing]  constant, price, beta, exponent, solver, solver_options                      (optional)

Files for SmallDB, one small histogram that answers well: kind = "small_db".

[elements], [domain], [workload], [relation]   as for linear queries; the relation is a metric
[problem]        records = 1000, a public number
[small_db]       size, selection                                          (optional)
[preprocessing]  constant, price, beta, exponent, solver, solver_options  (optional)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

from designer.base.checks import rational, shown
from designer.base.errors import InvalidProblem
from designer.base.lazy_imports import at_address
from designer.base.schema import COUNT, Schema, either, list_of, noted, number, one_of, record, text, whole
from designer.certificate.guarantee import Optimality
from designer.limits import LARGEST_LIPSCHITZ_CONSTANT, LARGEST_STEP_EXPONENT, MOST_ROUNDS
from designer.problem_file.counts_sections import RECORDS, AskingReader, over_a_metric
from designer.problem_file.forms import ProblemFile
from designer.problem_file.linear import listing_of
from designer.problem_file.sections import Choices, ExpectedValues, naming
from designer.relations.problem import Problem
from designer.synthetic.multiplicative import MWEM, OUTPUTS, Shares, equal_shares
from designer.synthetic.problem import SyntheticProblem
from designer.synthetic.queries import (
    LipschitzQueries,
    Price,
    PriceOfSize,
    mwem_price,
    prepared,
    records_of,
    small_db_price,
    theorem_6_price,
    theorem_8_price,
)
from designer.synthetic.release import LAWS
from designer.synthetic.small_databases import SmallDB


@dataclass(frozen=True, kw_only=True)
class SyntheticFile(ProblemFile):
    """A problem file for a synthetic histogram. section: the form of the section of its kind."""

    section: ClassVar[Schema]
    choices = ("solver", "solver_options")
    problem: SyntheticProblem
    preprocessing: Preprocessing
    selection: str

    @classmethod
    def form(cls) -> Schema:
        return over_a_metric({"problem": RECORDS}, {cls.kind: cls.section, "preprocessing": PREPROCESSING})

    @property
    def named_answers(self) -> tuple[str, ...]:
        return self.problem.workload.queries

    def listing(self) -> ExpectedValues:
        return listing_of([self.problem.workload.keys])

    def description(self) -> Mapping[str, object]:
        queries, elements = self.problem.workload.shape
        return {
            "kind": self.kind,
            "queries": queries,
            "elements": elements,
            "records": records_of(self.problem.linear),
            "relation": self.problem.relation.sentence(),
            "constant": self.preprocessing.constant,
        }

    def accuracy_lines(self, made: Any) -> list[str]:
        """How far any answer of the synthetic histogram may be off, where a bound is known."""
        if not made.proves_bound:
            return [f"Accuracy:    no bound is known for output = {made.output!r}; it is often nearer than the average"]
        return [f"Accuracy:    with probability 95 % no answer is further off than {made.bound(0.05):.4g}"]


class SyntheticReader(AskingReader):
    """One file for a synthetic histogram being read."""

    @property
    def section(self) -> dict[str, Any]:
        found: dict[str, Any] = self.data.get(self.data["kind"], {})
        return found

    def read(self) -> Mapping[str, Any]:
        """Queries, metric, the public number of records, and which stand-in queries are asked."""
        with self.at("problem"):
            problem = SyntheticProblem(self.workload(), self.question.relation(), self.data["problem"]["records"])
        with self.at("preprocessing"):
            preprocessing = Preprocessing(**self.data.get("preprocessing", {}))
        law = self.section.get("selection", "exponential")
        return {"problem": problem, "family": self.data["kind"], "preprocessing": preprocessing, "selection": law}


Synthetic = Literal["mwem", "small_db"]
SIZED: Mapping[Synthetic, Callable[[Problem, float], PriceOfSize]] = {"mwem": mwem_price, "small_db": small_db_price}
PROGRAM = "designer.programs:preprocessing"
PRICES = ("sharp", "theorem_6", "theorem_8")
BETA = 0.05
PREPROCESSING = record(
    {},
    {
        "constant": noted(
            "c, how far a unit of budget moves an answer: unbiased (P = Q), optimal (the least bound), or a number.",
            either(one_of("unbiased", "optimal"), number(above=0, most=LARGEST_LIPSCHITZ_CONSTANT)),
            "unbiased",
        ),
        "price": noted(
            "What noise of size c costs beside the bias: the sharp price of the mechanism, or that of a theorem.",
            one_of(*PRICES),
            "sharp",
        ),
        "beta": noted(
            "The probability that the bound behind the price fails; theorem_8 has none.", number(above=0, below=1), BETA
        ),
        "exponent": noted(
            "The queries lie on multiples of 2^exponent.", whole(least=-LARGEST_STEP_EXPONENT, most=LARGEST_STEP_EXPONENT)
        ),
        "solver": noted("Solve the program in CVXPY by this solver, in the place of the closed form.", text()),
        "solver_options": noted("Options of that solver.", {"type": "object"}),
    },
    note="Which queries are asked in the place of those of the workload.",
)


@dataclass(frozen=True)
class Preprocessing:
    """What [preprocessing] asks for; the defaults are those of `mwem` and `small_db`."""

    constant: str | float = "unbiased"
    price: str = "sharp"
    beta: float | None = None
    exponent: int | None = None
    solver: str | None = None
    solver_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.price == "theorem_8" and self.beta is not None:
            raise InvalidProblem(
                f"beta: {self.beta} does not go with price = 'theorem_8', which has none; leave it out.", value=self.beta
            )
        if self.constant == "unbiased" and self.price != "sharp":
            raise InvalidProblem(
                f"price: {self.price!r} changes nothing of unbiased queries; say constant = 'optimal' as well.",
                value=self.price,
            )
        if self.solver_options and self.solver is None:
            raise InvalidProblem(f"solver_options: {shown(dict(self.solver_options))} are of no solver; name one.")
        self._require_optimal(self.solver)

    def _require_optimal(self, solver: str | None) -> None:
        if solver is not None and self.constant != "optimal":
            raise InvalidProblem(
                f"solver: {shown(solver)} has nothing to solve where constant = {shown(self.constant)}; say 'optimal', or "
                "leave the solver out.",
                value=solver,
            )

    def sizes(self, problem: Problem, mechanism: Synthetic) -> PriceOfSize:
        """What each number of rounds, or of synthetic records, costs."""
        return SIZED[mechanism](problem, BETA if self.beta is None else self.beta)

    def queries(
        self, problem: Problem, mechanism: Synthetic, size: int | None, choices: Choices
    ) -> tuple[LipschitzQueries, Optimality | None, dict[str, Any]]:
        """Certified queries for a mechanism of so many rounds or records, what is known of them, and how they were found."""
        solver = choices.solver or self.solver
        options = dict(choices.solver_options) if choices.solver else {**self.solver_options, **choices.solver_options}
        self._require_optimal(solver)
        price = self._price(problem, mechanism)
        if solver is None:
            return *prepared(problem, price, self.constant, self.exponent), {}
        own = None if self.price == "sharp" else price
        beta = BETA if self.beta is None else self.beta
        program = at_address(PROGRAM)(problem, mechanism, size=size, beta=beta, price=own, exponent=self.exponent)
        made = program.design(solver, **options)
        return made.queries, made.optimality, dict(made.provenance)

    def _price(self, problem: Problem, mechanism: Synthetic) -> Price:
        if self.price == "theorem_8":
            return theorem_8_price(problem)
        if self.price == "theorem_6":
            return theorem_6_price(problem, BETA if self.beta is None else self.beta)
        return self.sizes(problem, mechanism)


SHARE = either(number(above=0, most=1), text())
SECTION = record(
    {},
    {
        "rounds": noted("How many; left out, the number that makes the bound least.", whole(least=1, most=MOST_ROUNDS)),
        "choice": noted('The part of a round that is spent on the choice, such as "1/3".', SHARE, "1/2"),
        "shares": noted(
            "For each round the shares of the budget for choice and measurement, which add up to at most 1.",
            list_of(list_of(SHARE, least=2, most=2), most=MOST_ROUNDS),
        ),
        "selection": noted("How a query is chosen.", one_of(*LAWS), "exponential"),
        "output": noted("Which histogram is released.", one_of(*OUTPUTS), "average"),
    },
    note="Rounds and their shares of the budget.",
)


class MwemReader(SyntheticReader):
    """One file for an MWEM being read."""

    def read(self) -> Mapping[str, Any]:
        section = self.section
        if "shares" in section and (extra := next((key for key in ("rounds", "choice") if key in section), None)):
            raise self.refuse(MwemFile.kind, extra, section[extra], "shares say it for each round; leave one of the two out")
        with self.at(MwemFile.kind):
            choice = rational(section.get("choice", "1/2"), "choice")
            if not 0 < choice < 1:
                raise InvalidProblem(
                    f"choice: {choice} is not between 0 and 1; give the part of a round spent on the choice.", value=choice
                )
            shares = tuple(
                (rational(a, f"shares[{t}][0]"), rational(b, f"shares[{t}][1]"))
                for t, (a, b) in enumerate(section.get("shares", []))
            )
        how = {"rounds": section.get("rounds"), "choice": choice, "shares": shares or None}
        return {**super().read(), **how, "output": section.get("output", "average")}


@dataclass(frozen=True, kw_only=True)
class MwemFile(SyntheticFile):
    """An MWEM to be made. rounds: None for the number that makes the bound least; shares: in the place of rounds and choice."""

    kind = "mwem"
    note = "A synthetic histogram, by rounds of a choice and a measurement."
    reader = MwemReader
    section = SECTION
    rounds: int | None
    choice: Fraction
    shares: Shares | None
    output: str

    def make(self, choices: Choices) -> MWEM:
        size = len(self.shares) if self.shares else self.rounds
        with naming(self.files[0], self.kind):
            asked = self.problem.linear
            queries, optimality, found = self.preprocessing.queries(asked, "mwem", size, choices)
            best = self.preprocessing.sizes(asked, "mwem").best(queries.constant) if size is None else size
            shares = self.shares or equal_shares(best, self.choice)
            made = MWEM(queries, records_of(asked), shares, self.selection, self.output)
        return made.annotated({**found, "family": self.kind}, optimality)

    def description(self) -> Mapping[str, object]:
        rounds = len(self.shares) if self.shares else self.rounds
        return {**super().description(), "rounds": rounds or "as many as make the bound least", "output": self.output}


SMALL_DB_SECTION = record(
    {},
    {
        "size": noted("Synthetic records, before they are scaled up; left out, the number that makes the bound least.", COUNT),
        "selection": noted("How the histogram is chosen.", one_of(*LAWS), "exponential"),
    },
    note="Which histograms there are to choose from.",
)


class SmallDbReader(SyntheticReader):
    """One file for a SmallDB being read."""

    def read(self) -> Mapping[str, Any]:
        return {**super().read(), "size": self.section.get("size")}


@dataclass(frozen=True, kw_only=True)
class SmallDbFile(SyntheticFile):
    """A SmallDB to be made. size: None for the number of synthetic records that makes the bound least."""

    kind = "small_db"
    note = "A small histogram that answers all queries well, chosen privately."
    reader = SmallDbReader
    section = SMALL_DB_SECTION
    size: int | None

    def make(self, choices: Choices) -> SmallDB:
        with naming(self.files[0], self.kind):
            asked = self.problem.linear
            queries, optimality, found = self.preprocessing.queries(asked, "small_db", self.size, choices)
            best = self.preprocessing.sizes(asked, "small_db").best(queries.constant)
            made = SmallDB(queries, records_of(asked), best if self.size is None else self.size, self.selection)
        return made.annotated({**found, "family": self.kind}, optimality)

    def description(self) -> Mapping[str, object]:
        return {**super().description(), "size": self.size or "as many as make the bound least"}
