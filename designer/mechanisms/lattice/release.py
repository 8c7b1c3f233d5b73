"""What a lattice mechanism releases: a table of integers that keeps the invariant statistics, and the answers from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from designer.base.printing import printed
from designer.mechanisms.additive.release import Release


@dataclass(frozen=True, eq=False)
class LatticeRelease(Release):
    """A release whose `table`, integers with the invariant statistics of the data, answers the queries."""

    table: tuple[int, ...] = ()
    elements: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "table": dict(zip(self.elements, self.table, strict=True))}

    @property
    def further_lines(self) -> list[str]:
        """The table for the terminal, where it is not what was asked for."""
        return [] if self.queries == self.elements else ["", self.to_text()]

    def to_text(self) -> str:
        """The table, a line for each element."""
        names = list(map(printed, self.elements))
        width = max(map(len, names))
        return "\n".join(
            ["Noisy table", *(f"{name:{width}}  {value:>16,}" for name, value in zip(names, self.table, strict=True))]
        )
