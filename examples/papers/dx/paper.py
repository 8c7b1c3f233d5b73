"""The page on the paper of metric privacy for linear queries."""

from __future__ import annotations

from examples.papers.dx.experiments import APPENDICES, BLOWFISH, DISCUSSION, EXPERIMENTS
from examples.papers.dx.foundations import BACKGROUND, MECHANISMS, SYNTHETIC
from examples.papers.dx.settings import SETTINGS
from examples.papers.frame import Paper

PAPER = Paper(
    "dx",
    "dX-private mechanisms for linear queries",
    """For readers of "Not All Attributes are Created Equal: dX-Private Mechanisms for Linear Queries" (Kamalaruban, Perrier,
    Asghar
    and Kaafar, PoPETs 2020,
    [arXiv:1806.02389](https://arxiv.org/abs/1806.02389)), called DX here:
    each of its items, where it lives, its published numbers beside those that the
    code
    computes, and those of its statements that do not hold, each with a counter-example that runs. Theory of one's own beside
    it:
    [scales](../theory/scales.md), [bias](../theory/biased.md), [selection](../theory/selection.md),
    [synthetic data](../theory/synthetic.md), [metrics](../theory/metrics.md) and
    [averages](../theory/statistical.md).""",
    (BACKGROUND, MECHANISMS, SYNTHETIC, EXPERIMENTS, BLOWFISH, DISCUSSION, APPENDICES),
    minutes=4,
    settings=SETTINGS,
)
