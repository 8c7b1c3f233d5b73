"""The page on the paper of per-record privacy."""

from __future__ import annotations

from examples.papers.frame import Paper
from examples.papers.rec.experiments import BUSINESS, SETUP, TRADE_OFFS
from examples.papers.rec.foundations import POLICIES, PRELIMINARIES, SPLITTING
from examples.papers.rec.settings import SETTINGS

PAPER = Paper(
    "rec",
    "Per-record zero-concentrated privacy",
    """For readers of "Privately Answering Queries on Skewed Data via Per Record Differential Privacy" (Seeman, Sexton, Pujol
    and
    Machanavajjhala, PVLDB 17 (2024), [doi:10.14778/3681954.3681989](https://doi.org/10.14778/3681954.3681989);
    read in the version [arXiv:2310.12827](https://arxiv.org/abs/2310.12827)),
    called REC here: each of its items, where it lives, its published numbers beside those that the code
    computes,
    and the statements that do not hold, each with a counter-example that runs. Theory beside it:
    [records](../theory/records.md),
    [their design](../theory/record_design.md) and [tables](../theory/tables.md).""",
    (PRELIMINARIES, POLICIES, SPLITTING, SETUP, TRADE_OFFS, BUSINESS),
    minutes=2,
    settings=SETTINGS,
)
