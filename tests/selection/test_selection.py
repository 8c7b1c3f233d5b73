"""Selections: certificates against every pair of neighbours by enumeration, samplers against exact laws, specs,
and what may be refused."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from designer import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate, Selection, Workload, invariants, metrics
from designer.base.json_text import canonical
from designer.certificate.frozen import seal
from designer.files import spec
from designer.problem.relation import Relation
from designer.relations.metrics.presence import AddRemove
from designer.sampling.selection import ExponentialLaw
from designer.selection.mechanism import best_selection, largest_rate
from designer.selection.scores import AbsoluteError, Closeness, LargestError, Linear, RankError, Score
from designer.selection.tabulated import Tabulated
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value
from tests.oracles.selection_by_definition import BY_DEFINITION, LAWS, ball

KINDS = ("linear", "absolute_error", "closeness", "rank_error", "largest_error")
Histogram = tuple[int, ...]

METRICS: dict[str, Relation] = {
    "uniform": metrics.uniform(3, 0.7),
    "line": metrics.euclidean([0.0, 1.0, 3.0], 0.5),
    "triangle": metrics.from_matrix([[0, 0.3, 1.1], [0.3, 0, 1.0], [1.1, 1.0, 0]]),
    "islands": metrics.from_matrix([[0, 0.5, math.inf], [0.5, 0, math.inf], [math.inf, math.inf, 0]]),
    "add_remove": metrics.add_remove(3, [0.4, 0.9, 0.5]),
}


SCORES_OF_FORMS = {"absolute_error": AbsoluteError, "closeness": Closeness, "rank_error": RankError}

CELLS = invariants.margins((2, 2)).protect(0.5, 2)  # changes of four cells at once


def score_of(kind: str, seed: int = 0) -> Score:
    generator = np.random.default_rng(seed)
    if kind == "linear":
        return Linear(Workload(generator.integers(-3, 4, (4, 3)) / 2), generator.integers(-2, 3, 4) / 4)
    if kind in SCORES_OF_FORMS:
        return SCORES_OF_FORMS[kind](Workload(generator.integers(-3, 4, (4, 3)) / 2), generator.integers(-2, 3, 4) / 4)
    return LargestError(Workload(generator.integers(-2, 3, (3, 3)) / 2), generator.integers(-4, 5, (4, 3)) / 4)


def scores_by_definition(score: Score, x: Histogram) -> list[Fraction]:
    """The formulas of the docstrings in rationals, with no code of the package."""
    matrix = [[Fraction(float(v)) for v in row] for row in score.workload.dense()]
    answers = [sum((a * c for a, c in zip(row, x, strict=True)), Fraction(0)) for row in matrix]
    targets = np.asarray(score.targets).tolist()
    if isinstance(score, LargestError):
        return [-max(abs(a - Fraction(t)) for a, t in zip(answers, row, strict=True)) for row in targets]
    errors = [a - Fraction(t) for a, t in zip(answers, targets, strict=True)]
    if isinstance(score, RankError):
        return [-max(0, *pair) for pair in zip(errors[:2], errors[2:], strict=True)]
    sign = {"absolute_error": 1, "closeness": -1}.get(score.kind)
    return errors if sign is None else [sign * abs(e) for e in errors]


def histograms(elements: int, records: int) -> Iterator[Histogram]:
    if elements == 1:
        yield (records,)
        return
    for first in range(records + 1):
        for rest in histograms(elements - 1, records - first):
            yield (first, *rest)


def neighbours(relation: Relation, records: int) -> Iterator[tuple[Histogram, Histogram, Fraction]]:
    """Every protected change of every database of up to `records` records, once in each direction."""
    size = relation.size
    for n in range(records + 1):
        for x in histograms(size, n):
            for i in range(size):
                if isinstance(relation, AddRemove):
                    changes = [(size, i)]
                else:
                    changes = [(i, j) for j in range(size) if j != i and x[i] > 0]
                for change in changes:
                    budget = relation.exact_budget(*change)
                    if budget is not None:
                        y = [*x, 0]
                        y[change[0]] -= 1
                        y[change[1]] += 1
                        yield x, tuple(y[:size]), budget


def worst_log_ratio(selection: Selection, records: int, rate: Fraction | None = None) -> arb:
    """The largest |log P(r | x) - log P(r | y)| / b over all neighbours up to `records` records and all candidates r."""
    score, used = selection.score, rate or Fraction(selection.rate)

    @cache
    def log_law(x: Histogram) -> list[arb]:
        return [p.log() for p in BY_DEFINITION[selection.law](scores_by_definition(score, x), used)]

    with ctx.workprec(200):
        worst = arb(0)
        for x, y, budget in neighbours(selection.relation, records):
            for p, q in zip(log_law(x), log_law(y), strict=True):
                worst = worst.max(abs(p - q) / ball(budget))
        return worst


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", METRICS)
def test_every_protected_pair_and_every_candidate(relation: str, kind: str, law: str) -> None:
    selection = best_selection(score_of(kind), METRICS[relation], law)  # type: ignore[arg-type]
    worst = worst_log_ratio(selection, records=4)
    assert worst <= 1, f"{worst} above 1"
    assert 1 - Fraction(1, 10**11) < selection.privacy.worst_ratio <= 1  # type: ignore[operator]


@pytest.mark.parametrize("kind", KINDS)
def test_permute_and_flip_attains_the_bound(kind: str) -> None:
    """Two candidates that one change pulls apart by the whole range, from a start where the coin is not saturated."""
    pair = Workload([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    scores: dict[str, Score] = {
        "linear": Linear(pair),
        "absolute_error": AbsoluteError(pair),
        "closeness": Closeness(Workload([[1.0, 0.0, 0.5], [-1.0, 0.0, -0.5]]), [0.0, -6.0]),
        "rank_error": RankError(Workload([[1.0, 0, 0.5], [-1.0, 0, -0.5], [0.0] * 3, [0.0] * 3]), [0.0, -6.0, 0.0, 0.0]),
        "largest_error": LargestError(Workload([[1.0, 0.0, 0.5]]), [[-10.0], [10.0]]),
    }
    selection = best_selection(scores[kind], metrics.uniform(3, 0.7), "permute_and_flip")
    records = 12 if kind in ("largest_error", "closeness", "rank_error") else 3
    attained = worst_log_ratio(selection, records)
    assert 1 - 1e-9 < attained <= 1
    assert worst_log_ratio(selection, records=records, rate=Fraction(selection.rate) * Fraction(101, 100)) > 1.009


def test_exponential_mechanism_comes_close_to_the_bound_and_one_percent_more_breaks_it() -> None:
    selection = best_selection(Linear(Workload([[1.0, 0.0], [0.0, 1.0]])), metrics.uniform(2, 1.0))
    assert 0.999 < worst_log_ratio(selection, records=20) <= 1
    assert worst_log_ratio(selection, records=20, rate=Fraction(selection.rate) * Fraction(101, 100)) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_certificate_equals_the_largest_range_over_data(kind: str) -> None:
    """The largest `max v - min v` that data of few records in fact show never exceeds what is certified,
    and the linear one attains it."""
    score, relation = score_of(kind, seed=3), METRICS["triangle"]
    shown = Fraction(0)
    for x, y, budget in neighbours(relation, records=5):
        moves = [b - a for a, b in zip(scores_by_definition(score, x), scores_by_definition(score, y), strict=True)]
        shown = max(shown, (max(moves) - min(moves)) / budget)
    rate = Fraction(largest_rate(score, relation))
    assert shown * rate <= 1
    if kind == "linear":
        assert shown * rate > 1 - Fraction(1, 10**11)


def test_range_constant_by_hand() -> None:
    """Counts over three elements: the paper's constant 2 max |v| = 2 equals the range;
    with one monotone score it is twice the range."""
    hidden = metrics.uniform(3, 1.0)
    counts, monotone = Linear(Workload.identity(3)), Linear(Workload([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]))
    for score, sharp, paper in ((counts, 1 / 2, 1 / 2), (monotone, 1 / 2, 1 / 4)):
        assert largest_rate(score, hidden) == pytest.approx(sharp, rel=1e-11)
        assert largest_rate(score, hidden, "theorem_3") == pytest.approx(paper, rel=1e-11)
    shifted = Linear(Workload([[0.0, 5.0, 1.0], [0.0, 5.0, 0.0]]))  # a common move of all scores costs nothing
    assert largest_rate(shifted, hidden) == pytest.approx(1.0, rel=1e-11)
    assert largest_rate(shifted, hidden, "theorem_3") == pytest.approx(0.1, rel=1e-11)
    added = metrics.add_remove(3, 1.0)  # counts only rise: one-sided, so no factor 2
    assert largest_rate(counts, added) == pytest.approx(1.0, rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", METRICS)
def test_the_sharp_rate_is_never_below_the_paper_s(relation: str, kind: str) -> None:
    for seed in range(5):
        score = score_of(kind, seed)
        assert largest_rate(score, METRICS[relation]) >= largest_rate(score, METRICS[relation], "theorem_3") * (1 - 1e-11)


def test_a_rate_above_the_largest_is_not_private() -> None:
    score = score_of("largest_error")
    rate = largest_rate(score, METRICS["line"])
    with pytest.raises(NotPrivate, match="spends its budget"):
        Selection(score, METRICS["line"], rate * (1 + 1e-9))
    assert Selection(score, METRICS["line"], rate / 2).privacy.worst_ratio == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_scores(kind: str) -> None:
    for seed in range(4):
        score = score_of(kind, seed)
        for x in histograms(3, 3):
            values, step = score.exact(np.array(x, dtype=np.int64))
            assert [v * step for v in values] == scores_by_definition(score, x)


def test_exact_scores_of_wild_numbers() -> None:
    score = Linear(Workload([[0.1, 1e-200, 3e300], [1 / 3, 2.0**52, 7.0]]), [1e-300, -(2.0**1000)])
    x = (2**53 - 1, 3, 2**52 + 1)
    values, step = score.exact(np.array(x))
    assert [v * step for v in values] == scores_by_definition(score, x)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_simulation_follows_the_probabilities(kind: str, law: str) -> None:
    selection = best_selection(score_of(kind), METRICS["line"], law)  # type: ignore[arg-type]
    x = (3, 1, 2)
    drawn = selection.simulate(100_000, seed=5, data=x)
    assert "not private" in drawn.stamp and "seed 5" in drawn.stamp
    exact = [float(p) for p in BY_DEFINITION[law](scores_by_definition(selection.score, x), Fraction(selection.rate))]
    np.testing.assert_allclose(selection.probabilities(x), exact, rtol=1e-9)
    assert p_value(np.bincount(drawn.indices, minlength=len(exact)), np.array(exact)) > FAILURE_PROBABILITY


@pytest.mark.parametrize("kind", KINDS)
def test_permute_and_flip_never_chooses_worse_on_average(kind: str) -> None:
    one, other = (best_selection(score_of(kind), METRICS["triangle"], law) for law in LAWS)  # type: ignore[arg-type]
    for x in histograms(3, 5):
        assert other.expected_shortfall(x) <= one.expected_shortfall(x) * (1 + 1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_shortfall_bound_against_enumeration(law: str) -> None:
    """Every histogram, several beta: the exact probability of a shortfall of at least the bound is at most beta;
    DX Theorem 4 is weaker."""
    selection = best_selection(score_of("linear"), METRICS["uniform"], law)  # type: ignore[arg-type]
    for x in histograms(3, 6):
        scores, p = scores_by_definition(selection.score, x), selection.probabilities(x)
        best = sum(s == max(scores) for s in scores)
        gaps = np.array([float(max(scores) - s) for s in scores])
        for beta in (0.01, 0.1, 0.5):
            bound = selection.shortfall_bound(beta, best)
            assert p[(gaps >= bound) & (gaps > 0)].sum() <= beta * (1 + 1e-12)
            assert bound <= (math.log(4 / best) + math.log(1 / beta)) / selection.rate


def test_shortfall_bound_is_attained_by_the_exponential_mechanism() -> None:
    selection = best_selection(Linear(Workload.identity(4)), metrics.uniform(4, 1.0))
    gap = 10
    law = ExponentialLaw([gap, 0, 0, 0], Fraction(selection.rate))
    assert selection.shortfall_bound(float(1 - law.pmf()[0])) == pytest.approx(gap, rel=1e-9)
    assert selection.shortfall_bound(0.9) == 0.0


def test_release() -> None:
    selection = best_selection(Linear(Workload(np.eye(3), queries=["red", "green", "blue"])), metrics.uniform(3, 1.0))
    release = selection.release([0, 1000, 0])
    assert (release.choice, release.index, release.fingerprint) == ("green", 1, selection.fingerprint)
    assert release.guarantee == selection.guarantee
    assert release.to_dict()["choice"] == "green" and "1000" not in json.dumps(release.to_dict())
    assert "1000" not in repr(release)


def rank_of_first(x: Histogram) -> list[float]:
    """Not linear and with no closed sensitivity: how the first count compares with the others, and with their product."""
    return [math.sqrt(x[0]), min(x[0], x[1]) / 3, float(x[1] * x[2] % 5)]


def table(records: int = 4) -> Tabulated:
    return Tabulated.of(rank_of_first, ["a", "b", "c"], records, ["root", "least", "product"])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("relation", ["uniform", "line", "triangle", "islands"])
def test_any_function_on_a_small_universe(relation: str, law: str) -> None:
    """Every protected pair of databases of the stated size, all candidates, by the table's own function."""
    selection = best_selection(table(), METRICS[relation], law)  # type: ignore[arg-type]
    rate, worst, widest = Fraction(selection.rate), arb(0), Fraction(0)
    with ctx.workprec(200):
        for x, y, budget in neighbours(METRICS[relation], 4):
            if sum(x) == 4:
                before, after = ([Fraction(s) for s in rank_of_first(z)] for z in (x, y))
                moves = [b - a for a, b in zip(before, after, strict=True)]
                widest = max(widest, (max(moves) - min(moves)) / budget)
                for p, q in zip(BY_DEFINITION[law](before, rate), BY_DEFINITION[law](after, rate), strict=True):
                    worst = worst.max(abs((p / q).log()) / ball(budget))
    assert worst <= 1
    assert 1 - Fraction(1, 10**11) < widest * rate <= 1
    assert selection.release([2, 1, 1]).choice in ("root", "least", "product")


def test_tables_in_specs(tmp_path: Path) -> None:
    made = best_selection(table(), METRICS["triangle"])
    path = made.save(tmp_path / "s.json")
    assert spec.load(path) == made
    with pytest.raises(NotPrivate, match=r"\(\d, \d, \d\) -> \(\d, \d, \d\)"):
        Selection(table(), METRICS["triangle"], made.rate * 1.1)
    body = json.loads(canonical(made.core()))
    for key, value in (("records", 5), ("elements", ["a", "b"]), ("records", "4")):
        with pytest.raises((InvalidProblem, InvalidSpec)):
            Selection.from_core({**body, "score": {**body["score"], key: value}})


BAD_COUNTS: list[Any] = [[-1, 0, 2], [0.5, 1, 1], [math.nan, 0, 1], [2.0**53, 0, 0], ["a", "b", "c"], [None, 1, 2]]


def test_refusals_do_not_depend_on_the_data() -> None:
    selection = best_selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0))
    messages = set()
    for bad in BAD_COUNTS:
        with pytest.raises(InvalidProblem) as refusal:
            selection.release(bad)
        messages.add(str(refusal.value))
    assert len(messages) == 1
    with pytest.raises(InvalidProblem, match="shape"):
        selection.release([1, 2])
    for extreme in ([0, 0, 0], [2**53 - 1] * 3, [2**53 - 1, 0, 0]):
        assert selection.release(extreme).choice in selection.score.candidates


def test_guarantee_says_what_matters() -> None:
    text = best_selection(score_of("largest_error"), METRICS["islands"], "permute_and_flip").guarantee.to_text()
    for words in ("Pure dX-privacy", "candidates", "public", "time", "different connected components", "Permute-and-flip"):
        assert words in text
    assert "number of records is public" not in best_selection(score_of("linear"), METRICS["add_remove"]).guarantee.to_text()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(Workload.identity(1)), "from 2 to"),
        (lambda: Linear(Workload.identity(3), [1.0, 2.0]), "2 for 3 candidates"),
        (lambda: AbsoluteError(Workload.identity(3), [1.0, math.nan, 0.0]), "finite"),
        (lambda: LargestError(Workload.identity(3)), "missing"),
        (lambda: LargestError(Workload.identity(3), [[1.0, 2.0], [1.0, 2.0]]), "rows of 2 answers for 3"),
        (lambda: LargestError(Workload.identity(2), [[1.0, 2.0]]), "from 2 to"),
        (lambda: LargestError(Workload.identity(2), [[1.0, 2.0]] * 2, ["a", "a"]), "distinct"),
        (lambda: Tabulated.of(rank_of_first, ["a", "b", "c"], 4, ["x", "y"]), "must return 2 scores"),
        (lambda: Tabulated.of(rank_of_first, [], 4, ["x", "y"]), "none"),
        (lambda: Tabulated.of(rank_of_first, list(range(30)), 40, ["x", "y"]), "too many to enumerate"),
        (lambda: best_selection(table(), metrics.add_remove(3, 1.0)), "number public"),
        (lambda: best_selection(table(), METRICS["line"]).release([1, 1, 1]), "4 records in all"),
        (lambda: Selection(Linear(Workload.identity(3)), metrics.uniform(2, 1.0), 0.1), "speaks of 2"),
        (lambda: best_selection(Linear(Workload.identity(3)), metrics.uniform(2, 1.0)), "speaks of 2"),
        (lambda: Selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0), 0.1, "best"), "unknown"),  # type: ignore[arg-type]
        (
            lambda: Selection(Linear(Workload([[1, 1, 1], [2, 2, 2]])), metrics.uniform(3, 1.0), 0.1),
            "protects nothing in the scores",
        ),
        (lambda: Selection(Linear(Workload([[1, 2.0**-60, 0, 0], [1, 0, 0, 0]])), CELLS, 0.1), "are no floats"),
        (lambda: Selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0), -0.1), "positive"),
        (lambda: Selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0), 1e-200), "other units"),
        (lambda: Selection(Workload.identity(3), metrics.uniform(3, 1.0), 0.1), "designer.selection.scores"),  # type: ignore[arg-type]
        (lambda: largest_rate(Linear(Workload.identity(3)), metrics.uniform(3, 1.0), "best"), "unknown"),  # type: ignore[arg-type]
        (lambda: Selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0), 0.5).shortfall_bound(0), "between 0 and 1"),
        (lambda: Selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0), 0.5).shortfall_bound(0.1, 4), "4 of 3"),
    ],
)
def test_refusals(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        make()


def test_the_schema_takes_the_rates_that_the_constructor_takes() -> None:
    limits = Selection.spec_form.core.body["properties"]["rate"]
    score, relation = Linear(Workload.identity(3)), metrics.uniform(3, 1e200)
    for rate in (limits["minimum"], 1.0, limits["maximum"]):
        assert Selection(score, relation, rate).rate == rate
    for rate in (limits["minimum"] / 2, limits["maximum"] * 2):
        with pytest.raises(InvalidProblem, match="other units"):
            Selection(score, relation, rate)


def test_candidates_and_elements_are_called_what_was_said() -> None:
    assert LargestError(Workload.identity(2), [[1.0, 2.0], [3.0, 4.0]], ["low", "high"]).candidates == ("low", "high")
    assert LargestError(Workload.identity(2), [[1.0, 2.0], [3.0, 4.0]]).candidates == ("c0", "c1")
    made = Tabulated.of(rank_of_first, ["a", "b", "c"], 2, ["x", "y", "z"])
    assert made.elements == ("a", "b", "c")
    with pytest.raises(InvalidProblem, match="elements"):
        Tabulated.of(rank_of_first, ["a", "a", "c"], 2, ["x", "y", "z"])


def test_designs_that_need_no_choice_or_cannot_be() -> None:
    same = Linear(Workload([[1.0, 2.0], [1.0, 2.0]]), [0.0, 5.0])
    with pytest.raises(DesignFailed, match="moves two scores apart"):
        best_selection(same, metrics.uniform(2, 1.0))
    with pytest.raises(DesignFailed, match="budget 0"):
        best_selection(Linear(Workload.identity(2)), metrics.from_matrix([[0, 0], [0, 0]]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", METRICS)
def test_core_round_trip(relation: str, kind: str, law: str) -> None:
    made = best_selection(score_of(kind), METRICS[relation], law)  # type: ignore[arg-type]
    plain = json.loads(canonical(made.core()))
    twin = Selection.from_core(plain)
    assert twin == made and hash(twin) == hash(made) and twin.privacy == made.privacy and twin.guarantee == made.guarantee
    assert pickle.loads(pickle.dumps(made)) == made and copy.deepcopy(made) is made


@pytest.mark.parametrize("kind", KINDS)
def test_spec_round_trip_and_alterations(kind: str, tmp_path: Path) -> None:
    made = best_selection(score_of(kind), METRICS["triangle"], "permute_and_flip").annotated({"software": "a test"})
    path = made.save(tmp_path / "s.json")
    twin = spec.load(path)
    assert twin == made and dict(twin.provenance) == {"software": "a test"}
    data = json.loads(path.read_text())

    def altered(**changes: Any) -> dict[str, Any]:
        body = {**copy.deepcopy(data), "mechanism": {**copy.deepcopy(data["mechanism"]), **changes}}
        body["fingerprint"] = hashlib.sha256(canonical(body["mechanism"])).hexdigest()
        body["guarantee"]["fingerprint"] = body["fingerprint"]
        return {**body, "seal": seal(body)}

    with pytest.raises(NotPrivate):
        spec.from_spec(altered(rate=made.rate * 1.01))
    for changes in (
        {"rate": made.rate * 0.9},
        {"law": "exponential"},
        {"law": "argmax"},
        {"score": {"kind": "table"}},
        {"more": 1},
    ):
        with pytest.raises(InvalidSpec):
            spec.from_spec(altered(**changes))


@pytest.mark.parametrize("seed", range(4))
def test_floats_of_scores_are_within_their_error_of_the_exact_ones(seed: int) -> None:
    """Entries that are no short binary fractions, and counts of millions: the last digits are lost, and that is said."""
    draw = np.random.default_rng(seed)
    score = Closeness(Workload(draw.normal(size=(6, 5)) / 3), draw.normal(size=6) * 1e6)
    histograms = draw.integers(0, 10**7, (40, 5))
    floats, error = score.floats(histograms)
    off = []
    for own, told, most in zip(histograms, floats, error, strict=True):
        exact, step = score.exact(own)
        off += [abs(Fraction(float(one)) - value * step) for one, value in zip(told, exact, strict=True)]
        assert max(off[-len(exact) :]) <= most
    assert max(off) > 0
