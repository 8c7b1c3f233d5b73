"""What a table plan promises, in words: the theorem and the notion that guarantees quote. Proofs: docs/theory/tables.md.

What is recomputed of the policy of a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from designer.base.checks import assign
from designer.base.display import printed
from designer.base.errors import NotPrivate
from designer.base.schema import RATIONAL, Named, exactly, list_of, noted, or_null, record, text


@dataclass(frozen=True)
class PolicyCertificate:
    """What was recomputed: the loss of each query as a formula, the rate per split row, the delta of selected groups.

    holds: is the stated policy above the exact one for every record? terms: the losses, a formula for each query.
    rho_per_split_row: of the coarser policy, None where none is stated. arithmetic, theorem: how it was computed, and what
    makes it a promise.
    """

    holds: bool
    terms: tuple[str, ...]
    rho_per_split_row: str | None
    arithmetic: str
    theorem: str
    schema = Named(
        "certificate_of_policy",
        record(
            {
                "holds": exactly(True),
                "terms": noted("The loss of each query as a formula.", list_of(text())),
                "rho_per_split_row": or_null(RATIONAL),
                "arithmetic": text(),
                "theorem": text(),
            }
        ),
    )

    def __post_init__(self) -> None:
        assign(self, terms=tuple(map(printed, self.terms)))

    def require(self) -> PolicyCertificate:
        """Itself when it holds; otherwise NotPrivate."""
        if not self.holds:
            raise NotPrivate(
                f"plan: one split row costs {self.rho_per_split_row}, more than the stated rho; widen the noise or state a "
                "larger rho or constant."
            )
        return self

    def lines(self) -> list[str]:
        """What was recomputed, for people; the guarantee states the losses."""
        rate = [] if self.rho_per_split_row is None else [f"Rho of a split row: {self.rho_per_split_row}"]
        return [*rate, f"Arithmetic: {self.arithmetic}", f"Theorem: {self.theorem}"]


THEOREM = (
    "A record r moves the exact integer of one group of each query by at most its amount, so discrete Gaussian noise of "
    "variance v costs it amount^2 / (2 v) of zCDP; costs add up over queries and levels (docs/theory/tables.md, 1 and 2; "
    "Seeman et al., Lemmas 4.2 and 5.3)."
)
NOTION = (
    "Per-record zero-concentrated privacy: for all data sets that differ in the record r, the Renyi divergence of order "
    "alpha is at most alpha P(r), for every alpha > 1."
)
FOUND = (
    " But for events of probability delta(r) on one side (delta(r)-approximate, Bun and Steinke 2016, Definition 8.1): that "
    "r alone makes a group be found. delta(r) is a public function, too."
)
OF_ENTITIES = (
    " An entity loses at most (sum of sqrt(P(r)))^2 over its at most {k} rows that count, so at most {k}^2 times the "
    "largest P(r). The stated delta is that of {k} such rows."
)
NO_NUMBER = (
    "In a measured column a value that is missing, or is no number where that is not refused, counts as 0 in sums, and is left "
    "out of averages and quantiles."
)
GAUSSIANS = (
    "Exact: discrete Gaussians from random bits of the operating system, compared with probabilities in exact arithmetic."
)
OTHER_LAWS = (
    "Exact: discrete Gaussian, Laplace and Student numbers from random bits of the operating system, compared with "
    "probabilities in exact arithmetic."
)
OF_OTHER_NOISE = (
    " Other noise costs what the policies named beside it say, transformed and rounded sums in whole steps; a pure budget e is "
    "e tanh(e / 2)-zCDP, of discrete Laplace noise (e - (1 - exp(-e)) r / sinh(r))-zCDP, r that of one step "
    "(docs/theory/tables.md, 7; docs/theory/records.md, 5 and 6; docs/theory/tradeoff.md, 9)."
)
PURE = (
    " All queries have pure budgets, which are stated with them and add up to E(r): for all data sets that differ in the "
    "record r, no release is more than exp(E(r)) times as likely with one as with the other. Over several records E adds up."
)
