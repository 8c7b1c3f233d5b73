"""Designs of INT, and what is chosen here."""

from __future__ import annotations

from collections.abc import Mapping

from examples.papers.frame import Choice, Setting
from examples.papers.settings import INSTANCE, STATED

EXACT = Choice(
    "exact draws in the place of the paper's chain", "nothing: the law is the chain's target, and is tested against it"
)
CHILDREN = "`python -m examples.int_delinquent`"
BOUNDS = (
    Choice("40 pairs of chains (20 in Figure 4) of one lag", "the estimate's error; Figure 1 has 200 pairs and several lags"),
    Choice(
        'the steps until the estimate is below 0.1, and "about" as a factor of 3 to 5 either way',
        "the steps, along the curve that is drawn beside",
    ),
)
NO_DOTS = Choice("the census's red dots are left out", "nothing of the noise of this paper: they are other data")
STATES = Choice(
    "all states in the place of the paper's 11, which Gao and others (2022) name",
    "the paper's are among them; each state's noise is drawn by itself",
)
SETTINGS: Mapping[str, Setting] = {
    **dict.fromkeys(
        [
            "Definition 1",
            "Definition 2",
            "Example 3",
            "Example 4",
            "Proposition 6",
            "Proposition 8",
            "Definition 9",
            "Theorem 10",
            "Lemma 11",
            "Theorem 12",
            "Theorem 14",
            "Theorem 15",
            "Equation 11",
            "Algorithm 1",
        ],
        INSTANCE,
    ),
    "Definition 13": Setting(
        "a variance up to a constant factor c_A",
        (
            Choice(
                "c_A as the proof's inequality (17) needs it, at epsilon = 1/4 and delta = 1e-6",
                "the quotients; they grow with the dimension for every epsilon",
            ),
            Choice(
                "beside it a variance that suffices at every distance, 446.1",
                "at least 237.4 is needed, for distance 1 alone: the quotients over what is needed are at most 1.88 times "
                "those shown; "
                "`examples/papers/int/computed.py`, `tails`",
            ),
        ),
    ),
    "Table 2": STATED,
    **dict.fromkeys(
        ["Table 1", "Table 3"],
        Setting(
            "one draw of the chain, epsilon = 1/4",
            (
                EXACT,
                Choice(
                    "the rank of the printed draw's length among exact ones, within 0.5 and 99.5 %",
                    "one draw excludes only laws of quite another scale",
                ),
            ),
        ),
    ),
    "Figure 1": Setting("200 pairs of coupled chains, several lags; a curve", BOUNDS),
    "Figure 6": Setting("coupled chains, several lags; a curve", BOUNDS),
    "Figure 7": Setting(
        "box plots of 1,000 draws of the chain; unbiased, in words",
        (EXACT, Choice("unbiased: no mean beyond 4 standard errors", f"the largest is 1.7; {CHILDREN}")),
    ),
    "Figure 3": Setting(
        "a sketch of three sets over 14 records",
        (
            Choice(
                "two records in each of the seven regions",
                "the noise of a record, which depends on its region's size; other sizes were not tried",
            ),
        ),
    ),
    "Figure 4": Setting(
        "coupled chains on the sets of Figure 3; curves", (Choice("the sizes of Figure 3", "not tried"), *BOUNDS)
    ),
    "Figure 5": Setting(
        "box plots of draws of the chain on the sets of Figure 3",
        (
            Choice("the sizes of Figure 3", "not tried"),
            EXACT,
            Choice("unbiased: no mean beyond 4 standard errors", "the largest is 2.14"),
        ),
    ),
    "Section E.4": Setting(
        "for each of 11 states four chains of 10^6 steps from over-dispersed starts, and a burn-in of as many",
        (
            Choice(
                "Delaware, Wyoming and Illinois, of 3, 23 and 102 counties",
                "the factor, 1.002 to 1.008 of these; Illinois is a state of the paper; `python -m examples.int_convergence`",
            ),
            Choice("exact draws at epsilon = 0.1 as starts, in the place of chains of that target", "nothing: the same law"),
        ),
    ),
    "Figure 2": Setting("Illinois, 1,000 draws of the chain, thinned, beside the census's errors", (EXACT, NO_DOTS)),
    "Figure 8": Setting(
        "ten further states, 1,000 draws of the chain each",
        (
            EXACT,
            NO_DOTS,
            STATES,
            Choice("46 states of ten or more counties for the trend", "smaller ones have too few counties for one"),
        ),
    ),
    **dict.fromkeys(
        ["Figure 9", "Figure 11", "Figure 12"], Setting("a further part of the figure before it", (EXACT, NO_DOTS, STATES))
    ),
    "Figure 10": Setting(
        "by appendix E.4: 1,000 draws of discrete Laplace noise, projected and rounded, for ten states; the boxes "
        "overlap, so that "
        "the noise is comparable",
        (
            EXACT,
            NO_DOTS,
            Choice(
                '46 states of ten or more counties, and "comparable" as deviations within 0.8 and 1.25',
                "all 46 are within, 0.927 to 0.996, by convolutions; of the four others with more than one county Delaware, "
                "with three, is not: 0.787; `python -m examples.int_counties`",
            ),
            Choice(
                "the table of delinquent children beside it, not in the figure",
                "there lattice noise has 0.68 times the root mean square; of several nearest whole tables one is drawn, as "
                "the paper does not say which; `python -m examples.int_projection`",
            ),
        ),
    ),
}
