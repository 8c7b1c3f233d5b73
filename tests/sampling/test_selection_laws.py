"""The samplers of selection against their exact laws, against wrong ones, and at the comparisons that stay open."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from designer.sampling.entropy import SeededEntropy
from designer.sampling.selection import (
    ExponentialLaw,
    PermuteAndFlipLaw,
    draw_from_each,
)
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value
from tests.oracles.scripted import Scripted
from tests.oracles.selection_by_definition import BY_DEFINITION, LAWS

SCORES: dict[str, list[Fraction]] = {
    "few": [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(2), Fraction(-5)],
    "tied": [Fraction(7)] * 6,
    "steep": [Fraction(0), Fraction(10**30), Fraction(10**30) - Fraction(1, 10**30)],
    "many": [Fraction(k, 7) for k in range(40)],
}
DRAWS = 200_000


def law_of(name: str, scores: list[Fraction], factor: Fraction = Fraction(1)) -> ExponentialLaw | PermuteAndFlipLaw:
    return (ExponentialLaw if name == "exponential" else PermuteAndFlipLaw)(scores, factor)


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("law", LAWS)
def test_draws_follow_the_exact_law(law: str, scores: str) -> None:
    made = law_of(law, SCORES[scores])
    counted = np.bincount(made.draw(DRAWS, SeededEntropy(1)), minlength=len(SCORES[scores]))
    assert p_value(counted, made.pmf()) > FAILURE_PROBABILITY


@pytest.mark.parametrize("factor", [Fraction(98, 100), Fraction(102, 100)])
@pytest.mark.parametrize("law", LAWS)
def test_a_rate_wrong_by_two_percent_is_rejected(law: str, factor: Fraction) -> None:
    scores = SCORES["many"]
    counted = np.bincount(law_of(law, scores, factor).draw(DRAWS, SeededEntropy(1)), minlength=len(scores))
    assert p_value(counted, law_of(law, scores).pmf()) < FAILURE_PROBABILITY


@pytest.mark.parametrize("scores", ["few", "many"])
def test_one_law_is_not_taken_for_the_other(scores: str) -> None:
    one, other = law_of("exponential", SCORES[scores]), law_of("permute_and_flip", SCORES[scores])
    size = len(SCORES[scores])
    assert p_value(np.bincount(one.draw(DRAWS, SeededEntropy(1)), minlength=size), other.pmf()) < FAILURE_PROBABILITY
    assert p_value(np.bincount(other.draw(DRAWS, SeededEntropy(1)), minlength=size), one.pmf()) < FAILURE_PROBABILITY


@pytest.mark.parametrize("law", LAWS)
def test_pmf_by_definition(law: str) -> None:
    for scores in (SCORES["few"], SCORES["tied"], SCORES["steep"]):
        exact = [float(p) for p in BY_DEFINITION[law](scores, Fraction(1, 2))]
        np.testing.assert_allclose(law_of(law, scores, Fraction(1, 2)).pmf(), exact, rtol=1e-12, atol=1e-300)


def test_pmf_of_permute_and_flip_by_report_noisy_max() -> None:
    """The largest of `score + Exp(1)` (Ding and others 2021): the density of the winner's value, integrated numerically."""
    from scipy.integrate import quad

    scores = [0.0, 0.4, 1.0, -0.7]

    def density(t: float, r: int) -> float:
        others = math.prod(max(0.0, -math.expm1(s - t)) for k, s in enumerate(scores) if k != r)
        return math.exp(scores[r] - t) * others

    numeric = [quad(density, max(scores), 60, args=(r,), epsabs=1e-12, limit=200)[0] for r in range(4)]
    exact = PermuteAndFlipLaw([Fraction(s) for s in scores]).pmf()
    np.testing.assert_allclose(exact, numeric, atol=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_pmf_of_very_many_candidates_sums_to_one(law: str) -> None:
    assert law_of(law, [Fraction(k, 2000) for k in range(3000)]).pmf().sum() == pytest.approx(1, abs=1e-9)


def test_open_comparisons_take_further_bits() -> None:
    """Two tied candidates split at 1/2 exactly: the word just below 2^63 is open,
    and the next word decides nothing but the last place."""
    below, above = Scripted(2**63 - 1, 5), Scripted(2**63, 5)
    assert (int(ExponentialLaw([0, 0]).draw(1, below)[0]), int(ExponentialLaw([0, 0]).draw(1, above)[0])) == (0, 1)
    with ctx.workprec(200):
        threshold = int((arb(-1).exp() * 2**64).floor().unique_fmpz())
    # The coin of candidate 0 with word `threshold` is open: the further word 0 makes it heads, the largest word tails.
    for further, chosen in ((0, 0), (2**64 - 1, 1)):
        assert PermuteAndFlipLaw([0, 1]).draw(1, Scripted(threshold, 0, further, 9, 7))[0] == chosen


def test_ties_among_random_keys_are_drawn_again() -> None:
    assert PermuteAndFlipLaw([0, 0]).draw(1, Scripted(1, 1, 8, 8, 3, 4))[0] == 1
    assert PermuteAndFlipLaw([0, 0]).draw(1, Scripted(1, 1, 0, 0, 4, 3))[0] == 0


@pytest.mark.parametrize("law", LAWS)
def test_the_number_of_words_does_not_depend_on_the_scores(law: str) -> None:
    class Counting(SeededEntropy):
        taken = 0

        def random_words(self, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
            Counting.taken += count
            return super().random_words(count)

    used = []
    for scores in ([Fraction(0)] * 40, SCORES["many"], [Fraction(k * 10**9) for k in range(40)]):
        Counting.taken = 0
        law_of(law, scores).draw(100, Counting(1))
        used.append(Counting.taken)
    assert len(set(used)) == 1


@pytest.mark.parametrize("error", [1e-12, 0.05, math.inf, math.nan], ids=str)
def test_one_index_from_each_of_many_laws_is_what_its_word_says_exactly(error: float) -> None:
    """Laws known by floats against the laws themselves on the same words; with an error that decides
    little or nothing the exact law is asked."""
    generator = np.random.default_rng(4)
    gaps = [[Fraction(int(g), 1000) for g in row] for row in generator.integers(0, 20_000, (500, 9))]
    for row in gaps:
        row[int(generator.integers(9))] = Fraction(0)
    given = np.array(gaps, dtype=float) + (1e-12 if error == 1e-12 else 0) * generator.uniform(-1, 1, (500, 9))
    laws, asked = [ExponentialLaw([-gap for gap in row]) for row in gaps], list[int]()
    chosen = draw_from_each(given, np.full(500, error), lambda i: asked.append(i) or laws[i], SeededEntropy(9))
    words = SeededEntropy(9).random_words(500)
    expected = [int(law.chosen(words[i : i + 1], SeededEntropy(1))[0]) for i, law in enumerate(laws)]
    assert chosen.tolist() == expected
    assert len(asked) == (0 if error == 1e-12 else 500)


@pytest.mark.parametrize(
    ("scores", "factor", "message"),
    [([], 1, "empty"), ([0.5, 1], 1, "floats decide nothing"), ([1, 2], 0.5, "floats"), ([1, 2], -1, "negative")],
)
def test_samplers_refuse(scores: list[Any], factor: Any, message: str) -> None:
    for law in (ExponentialLaw, PermuteAndFlipLaw):
        with pytest.raises(ValueError, match=message):
            law(scores, factor)
