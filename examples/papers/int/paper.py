"""The page on the paper on integer subspace privacy."""

from __future__ import annotations

from examples.papers.frame import Paper
from examples.papers.int import definitions, experiments, settings

PAPER = Paper(
    "int",
    "Integer subspace differential privacy",
    (*definitions.SECTIONS, *experiments.SECTIONS),
    7.0,
    settings.SETTINGS,
)
