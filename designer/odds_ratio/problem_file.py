"""Files for the private test of an odds ratio: kind = "odds_ratio_test".

[margins]  rows = [30, 20], columns = [25, 25]: the public sums of the 2x2 table ((x11, x12), (x21, x22))
[promise]  kind = "epsilon_delta", epsilon = 1, delta = 1e-6 (optional) | "gaussian", mu or mu_squared | "laplace", epsilon
           | "piecewise_linear", alphas, betas; group = 2 (optional): what that promises to groups of so many records
[test]     adjacency = 3, noise = "closed_form" | "piecewise", exponent = 40   (optional)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from designer.base.errors import InvalidProblem
from designer.base.schema import Schema, either, exactly, list_of, needs_one_of, noted, number, one_of, record, text, whole
from designer.limits import LARGEST_PURE_GROUP
from designer.odds_ratio.mechanism import TWO_COUNTS, OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.problem_file.forms import ProblemFile, Reader
from designer.problem_file.sections import Choices, naming
from designer.tradeoff.functions import EpsilonDelta, Gaussian, LaplaceTradeoff, Tradeoff
from designer.tradeoff.piecewise import PiecewiseLinear

LEVEL, RATIOS = 0.05, (2.0, 4.0)
EXACT = either(number(least=0), text())  # a number, or a text such as "1/3" that is taken exactly
EPSILON = noted('The largest privacy loss: a number, or a text such as "1/3".', EXACT)
CORNERS = list_of(EXACT, least=2)
GROUP = {
    "group": noted(
        "One move is promised what the kind promises to groups of so many records, which is less.",
        whole(least=1, most=LARGEST_PURE_GROUP),
        1,
    )
}
PROMISES: Mapping[str, Schema] = {
    "epsilon_delta": record(
        {"kind": exactly("epsilon_delta"), "epsilon": EPSILON},
        {"delta": noted("The probability of any larger loss.", EXACT, 0), **GROUP},
    ),
    "gaussian": record(
        {"kind": exactly("gaussian")},
        {
            "mu": noted("Telling apart is as hard as N(0, 1) from N(mu, 1).", EXACT),
            "mu_squared": noted("The same, exact where mu is irrational.", EXACT),
            **GROUP,
        },
        oneOf=needs_one_of("mu", "mu_squared"),
    ),
    "laplace": record({"kind": exactly("laplace"), "epsilon": EPSILON}, GROUP),
    "piecewise_linear": record(
        {
            "kind": exactly("piecewise_linear"),
            "alphas": noted("Errors of the first kind at the corners, from 0 to 1.", CORNERS),
            "betas": noted("The least errors of the second kind there.", CORNERS),
        },
        GROUP,
    ),
}
MARGINS = record(
    {"rows": noted("Row sums of the 2x2 table, public.", TWO_COUNTS.body), "columns": noted("Column sums.", TWO_COUNTS.body)},
    note="The public margins of the table.",
)
TEST = record(
    {},
    {
        "adjacency": noted("How many records may change within the margins: 2 or 3, which mean one move.", one_of(2, 3), 3),
        "noise": noted(
            "closed_form where there is one; piecewise fits any promise.", one_of("closed_form", "piecewise"), "closed_form"
        ),
        "exponent": noted("The released count is a multiple of 2^-exponent.", whole(least=1, most=64), 40),
    },
    note="How the noise is made.",
)


class OddsRatioReader(Reader):
    """One file for a test of an odds ratio being read."""

    def read(self) -> Mapping[str, Any]:
        if "unlisted" in self.data:
            raise InvalidProblem(f"{self.path}: unlisted: this releases from four counts, not from records; leave it out.")
        with self.at("margins"):
            margins = Margins(self.data["margins"]["rows"], self.data["margins"]["columns"])
        return {"problem": margins, "promise": self.promise(), "options": self.data.get("test", {})}

    def promise(self) -> Tradeoff:
        """The promise for one basic move, or for a group of them."""
        section = self.data["promise"]
        with self.at("promise"):
            return self._of_one(section).group(section.get("group", 1))

    def _of_one(self, section: Mapping[str, Any]) -> Tradeoff:
        kind = section["kind"]
        if kind == "epsilon_delta":
            return EpsilonDelta(section["epsilon"], section.get("delta", 0))
        if kind == "gaussian":
            return Gaussian.of(section["mu"]) if "mu" in section else Gaussian(section["mu_squared"])
        if kind == "laplace":
            return LaplaceTradeoff(section["epsilon"])
        found = PiecewiseLinear(section["alphas"], section["betas"])
        if not found.symmetric:
            raise InvalidProblem(
                "betas: are not symmetric, as the noise of the test needs; let (b, a) be a corner wherever (a, b) is."
            )
        return found


@dataclass(frozen=True, kw_only=True)
class OddsRatioFile(ProblemFile):
    """A problem file for a test. problem: the margins. options: adjacency, noise and exponent, where the file has them."""

    kind = "odds_ratio_test"
    from_records = False
    note = "The private test of the odds ratio of a 2x2 table with public margins."
    reader = OddsRatioReader
    problem: Margins
    promise: Tradeoff

    @classmethod
    def form(cls) -> Schema:
        return record(
            {
                "margins": MARGINS,
                "promise": noted(
                    "What is promised for one basic move of the table: epsilon, with a delta, or mu.",
                    either(*PROMISES.values()),
                ),
            },
            {"test": TEST},
        )

    def make(self, choices: Choices) -> OddsRatioTest:
        with naming(self.files[0], "test"):
            return OddsRatioTest(self.problem, self.promise, **self.options)

    def description(self) -> Mapping[str, object]:
        return {
            "kind": self.kind,
            "rows": list(self.problem.rows),
            "columns": list(self.problem.columns),
            "promise": self.promise.sentence(),
            **self.options,
        }

    def accuracy_lines(self, made: OddsRatioTest) -> list[str]:
        """The power of the one-sided test at the usual level, and what a release carries."""
        powers = ", ".join(f"{made.test.power(LEVEL, ratio):.3f} at odds ratio {ratio:g}" for ratio in RATIOS)
        return [
            f"Accuracy:    power of the one-sided test at level {LEVEL:.0%}: {powers}",
            "             a release holds the p-values of both one-sided tests, and limits of the odds ratio",
        ]
