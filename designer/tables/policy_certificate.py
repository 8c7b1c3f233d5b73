"""What is recomputed of the policy of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from designer.base.errors import NotPrivate
from designer.base.printing import printed
from designer.base.schema import Named, RATIONAL, exactly, list_of, noted, or_null, record, text


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
        object.__setattr__(self, "terms", tuple(map(printed, self.terms)))

    def require(self) -> PolicyCertificate:
        """Itself when it holds; otherwise NotPrivate."""
        if not self.holds:
            raise NotPrivate(
                f"plan: one split row costs {self.rho_per_split_row}, more than the stated rho; widen the noise or state a "
                "larger rho or constant."
            )
        return self

    def lines(self) -> list[str]:
        """What was recomputed, for people."""
        rate = [] if self.rho_per_split_row is None else [f"Rho of a split row: {self.rho_per_split_row}"]
        losses = (f"Loss: {term}" for term in self.terms)
        return [*losses, *rate, f"Arithmetic: {self.arithmetic}", f"Theorem: {self.theorem}"]
