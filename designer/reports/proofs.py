"""The theorem that a certificate cites, and why it is true, in a few steps: one sketch for each theorem that there is.

The steps are those of the pages of theory, shortened for readers who know fractions and exponentials and nothing of the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from designer.mechanisms.additive.promise import CONCENTRATED, PURE_SHIFT, PURE_WITH_DELTA, ROUNDED
from designer.base.errors import InvalidProblem
from designer.mechanisms.lattice.promise import THEOREMS as OF_LATTICES
from designer.mechanisms.lattice.row_mechanism import THEOREM as OF_ROWS
from designer.mechanisms.marginals.mechanism import THEOREM as OF_MARGINALS
from designer.mechanisms.odds_ratio.odds_ratio_test import THEOREM as OF_ODDS_RATIOS
from designer.mechanisms.choice.mechanism import THEOREM as OF_SELECTIONS
from designer.mechanisms.staircase.mechanism import THEOREM as OF_STAIRCASES
from designer.mechanisms.products.mechanism import THEOREM as OF_PRODUCTS
from designer.mechanisms.synthetic.lipschitz_queries import THEOREM as OF_SYNTHETIC_DATA
from designer.tables.promise import OF_OTHER_NOISE
from designer.tables.promise import THEOREM as OF_PLANS


@dataclass(frozen=True)
class ProofSketch:
    """What is claimed, in a sentence, and the steps that show it. page: where the whole proof stands."""

    claim: str
    steps: tuple[str, ...]
    page: str


_SAME_SUM = (
    "Two neighbouring tables have answers that differ by some u, and u is itself a value that the noise can take. So the noise "
    "can carry either answer to any output y that the other can reach: by z, and by z plus u."
)
_TRIANGLE = (
    "The probability of noise z is c times exp(-length of z), with one constant c for all z. So the two probabilities of y "
    "differ by the factor exp(length of (z + u) - length of z)."
)
_PURE = (
    "By the triangle inequality a detour is never shorter: the length of z + u is at most that of z plus that of u. The factor "
    "is therefore at most exp(length of u)."
)
_CERTIFIED = (
    "The certificate computes the length of u for every protected change, in exact fractions where floats do not settle it, "
    "and finds it at most the budget b. So no output is more than exp(b) times as likely under one table as under the other."
)
_SUMMED = (
    "What holds for every single output holds for every set of outputs, and for whatever is computed from them afterwards."
)
_SQUARES = (
    "The probability of noise z is c times exp(-(length of z)^2 / 2), with lengths as in Euclid's geometry. Raising the ratio "
    "of the two probabilities to a power and averaging it gives, after completing a square, exp(a (a - 1) (length of u)^2 / 2) "
    "times the ratio of two sums of exp(-(distance)^2 / 2) over a grid: one seen from a shifted place, one from a grid point."
)
_POISSON = (
    "Such a sum is largest when it is seen from a grid point, because it is a sum of cosines with positive weights (Poisson "
    "summation). So the second ratio is at most 1, on any grid and in any dimension."
)
_RENYI = (
    "What is left says that the Renyi divergence of every order a is at most a (length of u)^2 / 2. The certificate finds the "
    "length of u at most the budget b for every protected change: that is b^2 / 2 of zero-concentrated privacy."
)
_KERNEL = (
    "Changes of the data that leave all published statistics as they are form a lattice of integer tables. The noise is drawn "
    "from that lattice alone, so the released table has the published statistics exactly, and every protected change v is a "
    "value that the noise can take."
)

_OF_CHANGES = (
    "The probability of noise z is c times exp(-length of z), with one constant c for all z. Adding v makes z longer by at "
    "most the length of v (triangle inequality), so it changes the probability by a factor of at most exp(length of v)."
)
_LENGTH_OF_CHANGES = (
    "The certificate computes the length of v for every protected change v, in exact fractions where floats do not settle it, "
    "and finds it at most the budget b."
)

SKETCHES: Mapping[str, ProofSketch] = {
    PURE_SHIFT: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        (_SAME_SUM, _TRIANGLE, _PURE, _CERTIFIED, _SUMMED),
        "docs/theory/foundations.md, section 1",
    ),
    CONCENTRATED: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (_SAME_SUM, _SQUARES, _POISSON, _RENYI, _SUMMED),
        "docs/theory/foundations.md, section 1",
    ),
    PURE_WITH_DELTA: ProofSketch(
        "For a protected change of budget b, every set of outputs has a probability of at most exp(b) times what it had, plus "
        "delta.",
        (
            _SAME_SUM,
            _TRIANGLE,
            "By the triangle inequality the factor is at most exp(m), where m is the length of u. The budget b may be smaller "
            "than m: then some outputs have a larger factor than exp(b).",
            "How much probability they can have together is largest when there are two outputs only, one as likely as exp(m) "
            "against 1; what is above exp(b) times the other is then (e^m - e^b) / (1 + e^m).",
            "The certificate finds, for every protected change, a length that keeps this number at most delta, changes that "
            "others imply among them, because under one delta promises do not add up along a chain.",
        ),
        "docs/theory/approximate.md, sections 1 and 4",
    ),
    ROUNDED: ProofSketch(
        "For a protected change of budget b, every set of outputs has a probability of at most exp(b) times what it had, plus "
        "delta.",
        (
            "The noise is normal noise, rounded to a grid on which all answers lie. So the release is the rounding of answers "
            "plus normal noise: who cannot tell the unrounded ones apart cannot tell these apart.",
            "Seen in the right coordinates, telling answers apart that differ by u is telling a normal number around 0 from "
            "one around m, m the length of u. The best sets to tell them apart by are half-lines.",
            "So delta is exactly Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) (Balle and Wang), Phi the share of a normal number "
            "below; it grows with m.",
            "The certificate finds m at most the largest length that b and delta allow, rounded down, for every protected "
            "change, those that others imply among them.",
        ),
        "docs/theory/approximate.md, section 2",
    ),
    OF_LATTICES["exponential"]: ProofSketch(
        "Between two tables that agree in the published statistics and differ by a protected change of budget b, no output is "
        "more than exp(b) times as likely under one as under the other.",
        (_KERNEL, _OF_CHANGES, _LENGTH_OF_CHANGES, _SUMMED),
        "docs/theory/foundations.md, section 1, and docs/theory/lattice.md, section 0",
    ),
    OF_LATTICES["gaussian"]: ProofSketch(
        "Between two tables that agree in the published statistics and differ by a protected change of budget b, the Renyi "
        "divergence of every order a above 1 is at most a b^2 / 2.",
        (_KERNEL, _SQUARES, _POISSON, _RENYI, _SUMMED),
        "docs/theory/lattice.md, section 5",
    ),
    OF_ROWS: ProofSketch(
        "Between two tables that agree in the published margins and differ by a protected change of budget b, no output is "
        "more than exp(b) times as likely under one as under the other.",
        (
            "Imagine that more is released than is: the true table plus noise y that keeps one of the margins only. Every "
            "protected change v keeps that margin too, so it is a value that y can take.",
            _OF_CHANGES.replace(" z", " y"),
            _LENGTH_OF_CHANGES,
            "What is released is computed from that imagined table and the published margins alone: y is moved to the nearest "
            "table that keeps all margins. Whatever is computed from a release keeps its promise.",
        ),
        "docs/theory/lattice.md, section 10",
    ),
    OF_STAIRCASES: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        (
            "Every protected change u has a cost, its budget in whole units, rounded down. The height h of a point is the cost "
            "of the cheapest way to it, over protected changes, from one of a few fixed points, plus that point's own level.",
            "A way to z goes on to z + u at the cost of u, and the opposite change leads back at the same cost. So the heights "
            "of z and z + u differ by at most the cost of u, everywhere, in the tails as well.",
            "The probability of noise z is c times exp(-unit times h(z)). So it changes by at most exp(unit times cost of u), "
            "which is at most exp(b).",
            "The certificate recomputes changes, budgets and cheapest ways in integers and fractions, for every pair.",
        ),
        "docs/theory/staircase.md, section 1",
    ),
    OF_PRODUCTS["gaussian"]: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (
            "Measured are integer combinations of counts, each with its own discrete normal noise. A record moves them by "
            "whole numbers, which the noise can make up.",
            _POISSON,
            "For independent noise divergences add up: a / 2 times the sum, over all measured numbers, of (how far a change "
            "moves it)^2 over its variance.",
            "How far one record moves a product of attributes is the product of how far it moves each attribute. So the "
            "largest sum over all records is found attribute by attribute; the certificate computes it in fractions, at most "
            "b^2.",
        ),
        "docs/theory/structured.md, section 2",
    ),
    OF_PRODUCTS["laplace"]: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        (
            "Measured are integer combinations of counts, each with its own noise: the whole number k with a probability of c "
            "times exp(-rate times |k|). A record moves them by whole numbers, which the noise can make up.",
            "A shift by u changes one such probability by a factor of at most exp(rate times |u|), because |k + u| is at most "
            "|k| + |u|; factors of independent numbers multiply, so exponents add up.",
            "How far one record moves a product of attributes is the product of how far it moves each attribute. So the "
            "largest sum over all records is found attribute by attribute; the certificate computes it in fractions, at most "
            "b.",
        ),
        "docs/theory/structured.md, section 2",
    ),
    OF_MARGINALS: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (
            "Each table is cut into what smaller tables do not tell: whole-number differences of counts along its attributes. "
            "These get discrete normal noise, and all tables are put together again from the same noisy numbers.",
            "A protected change moves the differences by whole numbers, which the noise can make up.",
            _POISSON,
            "Noise of different parts is independent, so divergences add up, to a / 2 times a sum of squares. The certificate "
            "computes that sum for each kind of change in fractions, and finds it at most b^2; changes of several attributes "
            "follow from single ones.",
        ),
        "docs/theory/marginals.md, section 2",
    ),
    OF_SELECTIONS: ProofSketch(
        "No candidate is more than exp(b) times as likely to be chosen after a protected change of budget b as before it.",
        (
            "A candidate is chosen with a probability of exp(rate times its score), over the sum of these numbers of all "
            "candidates.",
            "A protected change moves the scores by some numbers v. It multiplies the numerator by exp(rate times its own v), "
            "and the sum by something between exp(rate times the least v) and exp(rate times the largest v).",
            "So the probability changes by a factor of at most exp(rate times (largest v - least v)). Permute-and-flip has the "
            "law of the largest of score plus independent exponential noise, and the same factor is proven for that.",
            "The certificate computes largest less least for every protected change, and finds rate times it at most b.",
        ),
        "docs/theory/selection.md, section 2",
    ),
    OF_SYNTHETIC_DATA: ProofSketch(
        "No run is more than exp(b) times as likely after a protected change of budget b as before it.",
        (
            "The certificate shows that one record that changes from i to j moves the answer of query k by at most c_k times "
            "its budget d(i, j).",
            "The data are touched in at most two ways. Something is chosen by how far answers are off, be it a query or one of "
            "many small tables: such scores move by no more than the answers, so a choice of rate s / (2 c) costs s d(i, j). "
            "And answers may be measured, with discrete Laplace noise of rate s / c_k, which costs s d(i, j) as well.",
            "Each step may depend on what came out before. For any outputs so far, the factor of the next step is as above; "
            "factors multiply, so the shares s add up, and all shares together are at most 1.",
            "The made-up table is computed from the choices and the noisy answers alone, and keeps the promise.",
        ),
        "docs/theory/synthetic.md, section 2",
    ),
    OF_ODDS_RATIOS: ProofSketch(
        "Telling two tables apart that have the same margins and differ by the stated number of records is at least as hard as "
        "the stated tradeoff function says.",
        (
            "With the sums of rows and columns fixed, a table of two rows and two columns is known from one cell. Few records "
            "that change, with all sums kept, move that cell by at most 1.",
            "The tradeoff function f says how many misses a test must have that has so many false alarms. The noise is "
            "canonical for it: its distribution function F satisfies F(x) = f(F(x + 1)), which says that telling a shift by 1 "
            "apart is exactly as hard as f allows.",
            "A smaller shift is no easier to tell, so every protected change is as hard to tell as f says.",
            "P-values and limits are computed from the noisy cell and the published sums alone, and keep the promise.",
        ),
        "docs/theory/tradeoff.md, section 7",
    ),
    OF_PLANS: ProofSketch(
        "Whether a record r is in the table changes the outputs by a Renyi divergence of at most a P(r), for every order a "
        "above 1; P is the public function that is stated.",
        (
            "A record counts in one group of each query, and moves the whole number that is summed there by at most its "
            "amount, clipped and rounded by public rules that look at the record alone.",
            "That number gets discrete normal noise of variance v. " + _POISSON,
            "So one query costs the record amount^2 / (2 v), whatever the other records are; queries use independent noise, "
            "and their costs add up to P(r).",
            "Where groups are found privately, a record that is alone in its group shows it only if the noise is above the "
            "threshold; that is the stated probability delta(r), which is added.",
        ),
        "docs/theory/tables.md, sections 1 and 2",
    ),
}
OTHER_NOISE = (
    "Some queries have other noise than normal: sums that are transformed first, or Laplace and Student noise. Each states its "
    "own cost as a public function of the record; a pure promise of e is one of e times tanh(e / 2) in the unit used here."
)


def sketch_of(theorem: str) -> ProofSketch:
    """The sketch of what a certificate cites; `InvalidProblem` for a theorem that has none."""
    if theorem in SKETCHES:
        return SKETCHES[theorem]
    if theorem == OF_PLANS + OF_OTHER_NOISE:
        plain = SKETCHES[OF_PLANS]
        return ProofSketch(plain.claim, (*plain.steps, OTHER_NOISE), "docs/theory/tables.md, sections 1, 2 and 7")
    raise InvalidProblem(f"theorem: no sketch of a proof is known of {theorem[:80]!r}.")
