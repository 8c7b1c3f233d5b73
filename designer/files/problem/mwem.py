"""Files for MWEM, synthetic histograms by rounds of a choice and a measurement: kind = "mwem".

[elements], [domain], [workload], [relation]   as for linear queries; the relation is a metric
[problem]        records = 1000, a public number
[mwem]           rounds and choice, or shares = [["1/20", "1/20"], ..]; selection, output      (optional)
[preprocessing]  constant, price, beta, exponent, solver, solver_options                      (optional)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from designer.base.errors import InvalidProblem
from designer.files.problem.asked import naming
from designer.files.problem.kind import Kind
from designer.files.problem.request import Choices
from designer.files.problem.synthetic import SyntheticFile, SyntheticReader, synthetic_form
from designer.mechanisms.synthetic.multiplicative import MOST_ROUNDS, MWEM, OUTPUTS, Shares, equal_shares
from designer.mechanisms.synthetic.preprocessing import records_of
from designer.mechanisms.synthetic.releases import LAWS
from designer.base.checks import rational
from designer.base.schema import Schema, either, list_of, noted, number, one_of, record, text, whole

SHARE = either(number(above=0, most=1), text())
SECTION = record(
    {},
    {
        "rounds": noted("How many; left out, the number that makes the bound least.", whole(least=1, most=MOST_ROUNDS)),
        "choice": noted('The part of a round that is spent on the choice, such as "1/3"; "1/2" if left out.', SHARE),
        "shares": noted(
            "For each round the shares of the budget for choice and measurement, which add up to at most 1.",
            list_of(list_of(SHARE, least=2, most=2), most=MOST_ROUNDS),
        ),
        "selection": noted("How a query is chosen.", one_of(*LAWS)),
        "output": noted("Which histogram is released.", one_of(*OUTPUTS)),
    },
    note="Rounds and their shares of the budget.",
)


@dataclass(frozen=True, kw_only=True)
class MwemFile(SyntheticFile):
    """An MWEM to be made. rounds: None for the number that makes the bound least; shares: in the place of rounds and choice."""

    kind = "mwem"
    rounds: int | None
    choice: Fraction
    shares: Shares | None
    selection: str
    output: str

    def make(self, choices: Choices) -> MWEM:
        size = len(self.shares) if self.shares else self.rounds
        with naming(self.path, self.kind):
            queries, optimality, found = self.preprocessing.queries(self.problem, "mwem", size, choices)
            best = self.preprocessing.sizes(self.problem, "mwem").best(queries.constant) if size is None else size
            shares = self.shares or equal_shares(best, self.choice)
            made = MWEM(queries, records_of(self.problem), shares, self.selection, self.output)
        return made.annotated({**found, "family": self.kind}, optimality)

    def description(self) -> Mapping[str, object]:
        rounds = len(self.shares) if self.shares else self.rounds
        return {**super().description(), "rounds": rounds or "as many as make the bound least", "output": self.output}


class MwemReader(SyntheticReader):
    """One file for an MWEM being read."""

    def read(self) -> MwemFile:
        section = self.data.get(MwemFile.kind, {})
        if "shares" in section and (extra := next((key for key in ("rounds", "choice") if key in section), None)):
            raise self.refuse(MwemFile.kind, extra, section[extra], "shares say it for each round; leave one of the two out")
        with naming(self.path, MwemFile.kind):
            choice = rational(section.get("choice", "1/2"), "choice")
            if not 0 < choice < 1:
                raise InvalidProblem(f"choice: {choice} is not between 0 and 1; give the part of a round spent on the choice.")
            shares = tuple(
                (rational(a, f"shares[{t}][0]"), rational(b, f"shares[{t}][1]"))
                for t, (a, b) in enumerate(section.get("shares", []))
            )
        return MwemFile(
            title=self.title,
            path=self.path,
            problem=self.problem(),
            preprocessing=self.preprocessing(),
            rounds=section.get("rounds"),
            choice=choice,
            shares=shares or None,
            selection=section.get("selection", "exponential"),
            output=section.get("output", "average"),
            files=self.read_files(),
        )


def mwem_form() -> Schema:
    """The sections of a whole file."""
    return synthetic_form(MwemFile.kind, SECTION)


MWEM_KIND = Kind("mwem", "A synthetic histogram, by rounds of a choice and a measurement.", mwem_form, MwemReader)
