"""The page on the paper of metric privacy for linear queries."""

from __future__ import annotations

from examples.papers.dx.experiments import APPENDICES, BLOWFISH, DISCUSSION, EXPERIMENTS
from examples.papers.dx.foundations import BACKGROUND, MECHANISMS, SYNTHETIC
from examples.papers.dx.settings import SETTINGS
from examples.papers.frame import Paper

PAPER = Paper(
    "dx",
    "dX-private mechanisms for linear queries",
    (BACKGROUND, MECHANISMS, SYNTHETIC, EXPERIMENTS, BLOWFISH, DISCUSSION, APPENDICES),
    minutes=4,
    settings=SETTINGS,
)
