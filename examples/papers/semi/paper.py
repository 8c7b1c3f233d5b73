"""The page on the paper on Semi-DP."""

from __future__ import annotations

from examples.papers.frame import Paper
from examples.papers.semi import framework, mechanisms, private_tests, settings

PAPER = Paper(
    "semi",
    "Formal privacy guarantees with invariant statistics",
    (*framework.SECTIONS, *mechanisms.SECTIONS, *private_tests.SECTIONS),
    3.0,
    settings.SETTINGS,
)
