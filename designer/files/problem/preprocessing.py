"""The section [preprocessing]: which stand-in queries P = c Q' a synthetic histogram is made of, DX program (8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from designer.certified.optimality import Optimality
from designer.relations.problem import Problem
from designer.base.errors import InvalidProblem
from designer.files.problem.request import Choices
from designer.mechanisms.synthetic.lipschitz_queries import FARTHEST, LipschitzQueries
from designer.mechanisms.synthetic.preprocessing import LARGEST_CONSTANT, Price, PriceOfSize, mwem_price, prepared, small_db_price, theorem_6_price, theorem_8_price
from designer.base.checks import shown
from designer.base.schema import either, noted, number, one_of, record, text, whole

Synthetic = Literal["mwem", "small_db"]
SIZED: Mapping[Synthetic, Callable[[Problem, float], PriceOfSize]] = {"mwem": mwem_price, "small_db": small_db_price}
PRICES = ("sharp", "theorem_6", "theorem_8")
BETA = 0.05
PREPROCESSING = record(
    {},
    {
        "constant": noted(
            "c, how far a unit of budget moves an answer: unbiased (P = Q), optimal (the least bound), or a number.",
            either(one_of("unbiased", "optimal"), number(above=0, most=LARGEST_CONSTANT)),
        ),
        "price": noted(
            "What noise of size c costs beside the bias: the sharp price of the mechanism, or that of a theorem.",
            one_of(*PRICES),
        ),
        "beta": noted("The probability that the bound behind the price fails; theorem_8 has none.", number(above=0, below=1)),
        "exponent": noted("The queries lie on multiples of 2^exponent.", whole(least=-FARTHEST, most=FARTHEST)),
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
            raise InvalidProblem(f"beta: {self.beta} does not go with price = 'theorem_8', which has none; leave it out.")
        if self.constant == "unbiased" and self.price != "sharp":
            raise InvalidProblem(
                f"price: {self.price!r} changes nothing of unbiased queries; say constant = 'optimal' as well."
            )
        if self.solver_options and self.solver is None:
            raise InvalidProblem(f"solver_options: {shown(dict(self.solver_options))} are of no solver; name one.")
        self._require_optimal(self.solver)

    def _require_optimal(self, solver: str | None) -> None:
        if solver is not None and self.constant != "optimal":
            raise InvalidProblem(
                f"solver: {shown(solver)} has nothing to solve where constant = {shown(self.constant)}; say 'optimal', or "
                "leave the solver out."
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
        from designer.families.programs.preprocessing_program import PreprocessingProgram

        own = None if self.price == "sharp" else price
        beta = BETA if self.beta is None else self.beta
        program = PreprocessingProgram(problem, mechanism, size=size, beta=beta, price=own, exponent=self.exponent)
        made = program.design(solver, **options)
        return made.queries, made.optimality, dict(made.provenance)

    def _price(self, problem: Problem, mechanism: Synthetic) -> Price:
        if self.price == "theorem_8":
            return theorem_8_price(problem)
        if self.price == "theorem_6":
            return theorem_6_price(problem, BETA if self.beta is None else self.beta)
        return self.sizes(problem, mechanism)
