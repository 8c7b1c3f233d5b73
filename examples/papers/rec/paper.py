"""The page on the paper of per-record privacy."""

from __future__ import annotations

from examples.papers.frame import Paper
from examples.papers.rec.experiments import BUSINESS, SETUP, TRADE_OFFS
from examples.papers.rec.foundations import POLICIES, PRELIMINARIES, SPLITTING
from examples.papers.rec.settings import SETTINGS

PAPER = Paper(
    "rec",
    "Per-record zero-concentrated privacy",
    (PRELIMINARIES, POLICIES, SPLITTING, SETUP, TRADE_OFFS, BUSINESS),
    minutes=2,
    settings=SETTINGS,
)
