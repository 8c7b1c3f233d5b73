"""The page on the paper of per-record privacy."""

from __future__ import annotations

from examples.papers.frame import Paper
from examples.papers.rec.experiments import BUSINESS, SETUP, TRADE_OFFS
from examples.papers.rec.foundations import POLICIES, PRELIMINARIES, SPLITTING

PAPER = Paper(
    "rec",
    "Per-record zero-concentrated privacy",
    """For readers of "Privately Answering Queries on Skewed Data via Per Record Differential Privacy" (Seeman, Sexton, Pujol
    and
    Machanavajjhala), called REC here: each of its items, where it lives, its published numbers beside those that the code
    computes,
    and four statements that do not hold, each with a counter-example that runs. Theory beside it:
    [records](../theory/records.md),
    [their design](../theory/record_design.md) and [tables](../theory/tables.md).""",
    (PRELIMINARIES, POLICIES, SPLITTING, SETUP, TRADE_OFFS, BUSINESS),
    minutes=2,
)
