"""The closed list of the kinds of frozen mechanisms: what specs may hold, and all that the house knows of each."""

from __future__ import annotations

from collections.abc import Mapping

from designer.certified.frozen import Kind, Specified
from designer.mechanisms.additive.kind import ADDITIVE
from designer.mechanisms.channel.kind import CHANNEL
from designer.mechanisms.choice.kind import SELECTION
from designer.mechanisms.lattice.kind import LATTICE, ROWS
from designer.mechanisms.marginals.kind import MARGINALS
from designer.mechanisms.odds_ratio.kind import ODDS_RATIO
from designer.mechanisms.products.kind import PRODUCTS
from designer.mechanisms.staircase.kind import STAIRCASE
from designer.mechanisms.synthetic.kind import MULTIPLICATIVE_WEIGHTS, SMALL_DATABASES
from designer.tables.kind import TABLE_PLAN

LISTED = (
    ADDITIVE,
    LATTICE,
    ROWS,
    STAIRCASE,
    PRODUCTS,
    MARGINALS,
    ODDS_RATIO,
    MULTIPLICATIVE_WEIGHTS,
    TABLE_PLAN,
    SMALL_DATABASES,
    SELECTION,
    CHANNEL,
)
KINDS: Mapping[str, Kind] = {kind.format: kind for kind in LISTED}  # by the format of their specs


def kind_of(made: Specified) -> Kind | None:
    """The kind of an object; None for a class that no spec can hold, whatever format it states."""
    kind = KINDS.get(getattr(made, "format", ""))
    return kind if kind is not None and isinstance(made, kind.part("mechanism")) else None
