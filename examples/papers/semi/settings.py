"""Designs of the paper on Semi-DP, and what is chosen here."""

from __future__ import annotations

from collections.abc import Mapping

from examples.papers.frame import Choice, Setting
from examples.papers.settings import INSTANCE, STATED

SCRIPTS = Choice(
    "mu = 0.1, counts cut at 0 before the loss: not in the paper, taken from the authors' scripts",
    "the size of the losses; that Algorithm 1 loses less holds at mu = 1 without cutting as well "
    "(`python -m examples.semi_dp_figures`)",
)
DRAWS = Choice(
    "expectations by 10,000 draws, beside averages of 30 replicates with 4.5 standard errors",
    "nothing down to 2.5 standard errors: the farthest expectation is 2.42 from the average",
)
SETTINGS: Mapping[str, Setting] = {
    **dict.fromkeys(["Example 2", "Example 3", "Example 7", "Lemma 40", "Section 6.1"], STATED),
    **dict.fromkeys(
        [
            "Example 1",
            "Definition 3",
            "Proposition 9",
            "Proposition 11",
            "Theorem 16",
            "Remark 17",
            "Definition 19",
            "Definition 20",
            "Proposition 24",
            "Proposition 25",
            "Algorithm 1",
            "Proposition 30",
            "Theorem 31",
            "Proposition 32",
            "Algorithm 3",
            "Lemma 34",
            "Definition 35",
            "Lemma 36",
            "Theorem 37",
            "Lemma 39",
            "Lemma 43",
            "Algorithm 4",
            "Algorithm 5",
            "Algorithm 6",
        ],
        INSTANCE,
    ),
    "Remark 14": Setting(
        "two sentences, without an example",
        (Choice("the databases 0000, 0001 and 1110", "the numbers, which are the project's own and not published"),),
    ),
    "Example 4": Setting(
        "a 2 x 2 table in symbols",
        (Choice("the counts 2, 3, 5 and 7", "the margins, which are the project's own numbers and not published"),),
    ),
    "Example 5": Setting(
        "a 2 x 2 table with x22 = 0, in symbols, and the number 3",
        (
            Choice(
                "the margins (2, 1) and (2, 1)",
                "nothing: Theorem 16 has 3 as the bound, and larger margins allow the same moves",
            ),
        ),
    ),
    "Example 8": Setting(
        "the projection P of a 2 x 2 table",
        (Choice("mu = 1", "nothing: the covariance is 4 P / mu^2"),),
    ),
    "Proposition 21": Setting(
        "an inequality of tradeoff functions, without numbers",
        (
            Choice(
                "coins, pure and Gaussian promises, groups of two, a type I error of 0.1",
                "the numbers; for Gaussians both sides are equal, for pure promises the first is larger",
            ),
            Choice(
                "exact values by the coins that attain pure privacy, 0.2661 and 0.1602",
                "what is certified here for any pure promises is a lower bound, 0.2645 and 0.1599",
            ),
        ),
    ),
    "Figure 1": Setting("a change of a 7 x 6 table, drawn; that there are 630 such follows from Proposition 32"),
    "Remark 33": Setting(
        "that post-processing is possible, without an experiment",
        (
            Choice(
                "the table, budget and draws of `examples/semi_dp_nearest_tables.py`", "the errors; that margins stay does not"
            ),
        ),
    ),
    "Figure 2": Setting("averages of 30 replicates for tables of 2 x 2 to 10 x 10, of two models", (SCRIPTS, DRAWS)),
    "Figure 3": Setting(
        "averages of 30 replicates for tables of 2 x 2 and 3 x 3, K-norm noise by Algorithm 3",
        (
            Choice(
                "the scripts' Gamma shape s, where Algorithm 3 has s + 1",
                "the loss, by s / (s + 1): half at k = 2; with the shape of Algorithm 3 the published averages are not met",
            ),
            DRAWS,
        ),
    ),
}
