"""The page on the paper on Semi-DP."""

from __future__ import annotations

from examples.papers.frame import Paper
from examples.papers.semi import framework, mechanisms, private_tests, settings

PAPER = Paper(
    "semi",
    "Formal privacy guarantees with invariant statistics",
    "For researchers who know the paper of Young Hyun Cho and Jordan Awan, *Formal Privacy Guarantees with Invariant "
    "Statistics* (Semi-DP), [arXiv:2410.17468](https://arxiv.org/abs/2410.17468). "
    "It asks what differential privacy can promise when some statistics are published exactly. The "
    "page goes through it item by item, with its numbers beside the computed ones; at the end of each section stand the "
    "errata, as code that runs. The derivations behind are in [invariants](../theory/invariants.md) and [tradeoff "
    "functions](../theory/tradeoff.md).",
    (*framework.SECTIONS, *mechanisms.SECTIONS, *private_tests.SECTIONS),
    3.0,
    settings.SETTINGS,
)
