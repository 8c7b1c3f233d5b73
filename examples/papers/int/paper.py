"""The page on the paper on integer subspace privacy."""

from __future__ import annotations

from examples.papers.frame import Paper
from examples.papers.int import definitions, experiments, settings

PAPER = Paper(
    "int",
    "Integer subspace differential privacy",
    "For researchers who know the paper of Prathamesh Dharangutte, Jie Gao, Ruobin Gong and Fang-Yi Yu, *Integer Subspace "
    "Differential Privacy* (AAAI 2023), [arXiv:2212.00936](https://arxiv.org/abs/2212.00936). "
    "It adds whole-number noise to counts such that published sums stay as they are. The page goes "
    "through it item by item, with its numbers beside the computed ones; at the end of each section stand the errata, as code "
    "that runs. The derivations behind are in [integer lattices](../theory/lattice.md).",
    (*definitions.SECTIONS, *experiments.SECTIONS),
    7.0,
    settings.SETTINGS,
)
