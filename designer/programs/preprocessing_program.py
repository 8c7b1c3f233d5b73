"""Program (8) of the dX paper in CVXPY: stand-in queries Q' for SmallDB and MWEM, and a constant c (docs/guides/programs.md).

The limits are linear in (Q', c, e); the price of a mechanism is concave in c. **Between two values of c it is above its
chord**, so the program with the chord is linear and bounds the optimum there from below, and where its answer is an end of
the part, it is exact. The range of c is divided at the answers until no part can hold a better point: the global optimum, also
under constraints of the user's own. A convex objective given to `minimise` is minimised in one program.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import count, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.norms import Norm
from designer.programs.bounds import lagrangian_bound
from designer.programs.constraints import NOTICED, Named, Separated
from designer.programs.program import Program
from designer.programs.rounds import DEFAULT, Rounds, ScaledProblem, SolverAnswer, Statement
from designer.programs.search import ActivePairs
from designer.relations.problem import Problem
from designer.synthetic.multiplicative import MWEM, equal_shares
from designer.synthetic.queries import LipschitzQueries, Price, metric_budgets, mwem_price, on_grid, records_of, small_db_price
from designer.synthetic.small_databases import SmallDB

# A part of c's range is finished when its bound is within this of the best value.
CLOSED = 1e-9
PARTS, DOUBLINGS = 400, 200


@dataclass(frozen=True)
class Part:
    """Between `low` and `high` the price is at least `height + slope c`, and equal at both ends."""

    low: float
    high: float
    height: float
    slope: float

    @classmethod
    def of(cls, price: Price, low: float, high: float) -> Part:
        """The chord of a concave price."""
        first, last = price(low), price(high)
        slope = max(0.0, (last - first) / (high - low)) if high > low else 0.0
        return cls(low, high, first - slope * low, slope)

    @property
    def inside(self) -> float:
        """How near to an end an answer counts as the end."""
        return CLOSED * self.high


@dataclass(frozen=True, order=True)
class _Waiting:
    """A part to be searched. bound: a solver's, by which parts are ordered; proven: by its multipliers, of a part around it."""

    bound: float
    number: int
    proven: float = field(compare=False)
    part: Part = field(compare=False)


class PreprocessingProgram(Program):
    """Variables Q, (K, N), and the numbers c and e. `design()` gives the mechanism, MWEM or SmallDB, over the queries found."""

    title = "preprocessing"
    source = "DX program (8), c Q' for the paper's Q'; docs/theory/synthetic.md"
    formula = """
        minimise    n e + price(c)
        subject to  |Q'_ki - Q'_kj| <= c d(i, j)   for every query k and protected pair (i, j)
                    |Q'_ki - Q_ki| <= e            for every query k and element i
    """

    def __init__(
        self,
        problem: Problem,
        mechanism: Literal["mwem", "small_db"] = "mwem",
        *,
        size: int | None = None,
        beta: float = 0.05,
        price: Price | None = None,
        exponent: int | None = None,
    ) -> None:
        """size: rounds of MWEM, or synthetic records of SmallDB; None for the number that makes the price least at c.

        price: concave and increasing in c; None for that of the mechanism with probability 1 - beta. exponent: the grid of the
        queries, see `preprocessing.on_grid`.
        """
        super().__init__()
        if not isinstance(problem, Problem):
            raise InvalidProblem(
                f"problem: {shown(problem)} is not a Problem; build one with Problem(workload, relation).", value=problem
            )
        if mechanism not in ("mwem", "small_db"):
            raise InvalidProblem(f"mechanism: {shown(mechanism)} is unknown; use 'mwem' or 'small_db'.", value=mechanism)
        self.question, self.records = problem, records_of(problem)
        metric_budgets(problem)
        self.sizes = (mwem_price if mechanism == "mwem" else small_db_price)(problem, beta)
        self.mechanism, self.size, self.exponent = mechanism, size, exponent
        self.price = price or (self.sizes if size is None else self.sizes.at(count(size, "size")))
        self.query = problem.workload.dense()
        self.range = float(np.ptp(self.query, axis=1).max())
        self.alone = float(problem.sensitivity().worst_coordinates().max())
        if not 0 < self.alone < math.inf:
            raise DesignFailed(
                f"{self.title}: no protected change moves an answer, or one of budget 0 does; nothing to prepare."
            )
        self.Q = cp.Variable(self.query.shape, name="Q")
        self.c, self.e = cp.Variable(nonneg=True, name="c"), cp.Variable(nonneg=True, name="e")
        self._units = {
            self.Q: self.query + self.range * cp.Variable(self.query.shape),
            self.c: self.alone * cp.Variable(nonneg=True),
            self.e: self.range * cp.Variable(nonneg=True),
        }
        self.active, self.part, self.worth, self.best_bound = (
            ActivePairs(problem.relation),
            self.chord(0.0, self.alone),
            math.inf,
            0.0,
        )

    def chord(self, low: float, high: float) -> Part:
        """The part of c's range between two values."""
        return Part.of(self.price, low, high)

    @property
    def variables(self) -> dict[str, Any]:
        return {"Q": self.Q, "c": self.c, "e": self.e}

    @property
    def in_units(self) -> Mapping[Any, Any]:
        return self._units

    @property
    def named(self) -> Named:
        workload = self.question.workload
        return {**super().named, "Q": (self.Q, (workload.queries, workload.elements))}

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`|Q'_ki - Q'_kj| <= c d(i, j)` for the active pairs, in parts of the unbiased c."""
        moves = self.Q @ self.active.columns / (self.alone * self.active.budgets)[None, :]
        return moves <= self.c / self.alone, -moves <= self.c / self.alone

    @property
    def pairs(self) -> int:
        return len(self.active)

    @property
    def definitions(self) -> tuple[Any, ...]:
        """e is at least the distance of every entry from the query's."""
        off = (self.Q - self.query) / self.range
        return off <= self.e / self.range, -off <= self.e / self.range

    @property
    def loss(self) -> Any:
        """`n e` and the price, which is that of the chord on the present part of c's range; at the answer it is the price."""
        return self.records * self.e + self.part.height + self.part.slope * self.c

    def start(self) -> None:
        self.set_values(self.query, self.alone)
        self.part, self.best_bound = self.chord(0.0, self.alone), 0.0
        if not len(self.active):
            self._scan(0.0)

    def state_all(self) -> None:
        self.active.add_all()

    def cvxpy_problem(self) -> ScaledProblem:
        """The convex part, all pairs written out: c at most that of the unbiased queries, and its price, which is concave,
        replaced by its chord from 0 to there. Its value is a lower bound of the price of such queries."""
        self.part = self.chord(0.0, self.alone)
        stated = super().cvxpy_problem()
        further = [*stated.constraints, self._units[self.c] / self.alone <= 1]
        return ScaledProblem(stated.objective, further, stated.size, stated.stand_ins)

    def set_values(self, rows: Floats, constant: float) -> None:
        """Give the variables these values, rows (K, N)."""
        self.Q.save_value(rows)
        self.c.save_value(np.array(constant))
        self.e.save_value(np.array(np.abs(rows - self.query).max()))

    def separate(self) -> Separated:
        return self._scan(1 + NOTICED)

    def _scan(self, noticed: float) -> Separated:
        """The worst ratio of all pairs; those above `noticed` join."""
        weight = 1 / max(float(self.c.value), CLOSED * self.alone)
        return self.active.separate(np.array(self.Q.value), Norm(np.full(len(self.query), weight), "linf"), noticed)

    def least_linear(self, slopes: Mapping[str, Floats]) -> float | None:
        """Over points on the present part of c's range that are no worse than the best so far, slopes of Q (K, N)."""
        if self._objective is not None or not math.isfinite(self.worth):
            return None
        most = self.worth / self.records
        rows = float((slopes["Q"] * self.query).sum()) - most * float(np.abs(slopes["Q"]).sum())
        ends = self.part.low * float(slopes["c"]), self.part.high * float(slopes["c"])
        return rows + min(ends) + most * min(0.0, float(slopes["e"]))

    @property
    def constant(self) -> float:
        """c; what is a solver's zero is 0, where a price may rise steeply."""
        return float(self.c.value) if float(self.c.value) > CLOSED * self.alone else 0.0

    def worth_here(self) -> float:
        """`n e + price(c)` at the present values."""
        return float(self.records * self.e.value + self.price(self.constant))

    def proven(self, answer: SolverAnswer) -> tuple[float | None, str]:
        if self._objective is not None:
            return None, "none: the objective is not its own"
        return self.best_bound, "multipliers of a linear program for every part of c's range"

    def _rounds(self, solver: str, options: Mapping[str, Any]) -> Rounds:
        return Parts(self, solver, options, self._objective is not None)

    def design(self, solver: str = DEFAULT, **options: Any) -> MWEM | SmallDB:
        """Solve, put the queries on a grid, certify them, and make the mechanism; the user's constraints hold on the grid."""
        made, solved = self.frozen_within(solver, options, self._built, self._take)
        told = {"family": self.mechanism, "repaired_loss": self.worth_here(), "pairs": solved.pairs}
        value = self.records * made.queries.bias + self.price(made.queries.constant)
        claim = self.claim_of("n max |Q' - Q| + price of c (DX program 8)", value, solved, value * 2.0**-30)
        return made.annotated({**self.history_of(solved), **told}, claim)

    def _built(self) -> MWEM | SmallDB:
        rows, constant = np.array(self.Q.value), self.constant
        if constant == 0:
            raise DesignFailed(
                f"{self.title}: the objective is least for constant answers without noise (c = 0), which is no mechanism; "
                "raise the budgets or the number of records, or add a constraint that keeps c away from 0."
            )
        same = np.abs(rows - self.query) <= CLOSED * self.range
        queries = on_grid(self.question, np.where(same, self.query, rows), constant, self.exponent)
        return self._mechanism_of(queries)

    def _mechanism_of(self, queries: LipschitzQueries) -> MWEM | SmallDB:
        size = self.sizes.best(queries.constant) if self.size is None else self.size
        if self.mechanism == "mwem":
            return MWEM(queries, self.records, equal_shares(size))
        return SmallDB(queries, self.records, size)

    def _take(self, made: MWEM | SmallDB) -> None:
        self.set_values(made.queries.values, made.queries.constant)


class Parts(Rounds):
    """Rounds over parts of c's range, the one of least bound first."""

    program: PreprocessingProgram

    def __init__(self, program: PreprocessingProgram, solver: str, options: Mapping[str, Any], convex: bool) -> None:
        super().__init__(program, solver, options)
        self.convex = convex

    def run(self, statement: Statement) -> SolverAnswer:
        if self.convex or statement.extra:
            return super().run(statement)
        self.program.worth = math.inf
        answer = super().run(statement)
        if not answer.usable:
            return answer
        self.best, self.rounds, self.proven = self._improved(answer), answer.rounds, math.inf
        waiting = [_Waiting(-math.inf, 0, -math.inf, self.program.chord(0.0, self._top()))]
        for number in range(1, PARTS + 1):
            if not waiting or waiting[0].bound >= self.program.worth * (1 - CLOSED):
                break
            for part in self._divided(heapq.heappop(waiting), 2 * number, statement):
                heapq.heappush(waiting, part)
        return self._ended(waiting)

    def _divided(self, waiting: _Waiting, number: int, statement: Statement) -> list[_Waiting]:
        """What is still to be searched of a part: both sides of its answer, or nothing where its bound is reached."""
        program, part = self.program, waiting.part
        program.part = part
        ends = program.c / program.alone >= part.low / program.alone, program.c / program.alone <= part.high / program.alone
        found = super().run(replace(statement, objective=program.loss, extra=ends))
        self.rounds += found.rounds
        if not found.usable:
            self.proven = min(self.proven, waiting.proven)
            return []
        bound, at = float(program.loss.value), float(program.c.value)
        assert found.objective is not None
        proven = lagrangian_bound((found.objective, *found.constraints), program.variables, program.least_linear)
        proven = waiting.proven if proven is None else max(proven, waiting.proven)
        self.best = self._improved(found)
        if bound >= program.worth * (1 - CLOSED) or not part.low + part.inside < at < part.high - part.inside:
            self.proven = min(self.proven, proven)
            return []
        sides = program.chord(part.low, at), program.chord(at, part.high)
        return [_Waiting(bound, number + side, proven, chord) for side, chord in enumerate(sides)]

    def _improved(self, found: SolverAnswer) -> tuple[float, Floats, float, SolverAnswer]:
        """The better of the best point so far and the present one: its worth, Q', c, and the solver's answer."""
        program = self.program
        here = (program.worth_here(), np.array(program.Q.value), program.constant, found)
        if here[0] < program.worth:
            program.worth = here[0]
            return here
        return self.best

    def _top(self) -> float:
        """A value of c whose price alone is as much as the best point so far is worth."""
        top = max(self.program.alone, self.best[2])
        for _ in range(DOUBLINGS):
            if self.program.price(top) >= self.program.worth:
                return top
            top *= 2
        raise InvalidProblem("price: stays below the loss of a point for every c; it must increase without bound.")

    def _ended(self, waiting: list[_Waiting]) -> SolverAnswer:
        """The best point in the variables, with what is proven of every part."""
        program, (_, rows, constant, answer) = self.program, self.best
        program.best_bound = min([self.proven, *(part.proven for part in waiting)])
        program.set_values(rows, constant)
        program.part = program.chord(0.0, constant)
        return replace(answer, rounds=self.rounds)
