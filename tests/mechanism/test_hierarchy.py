"""The frozen hierarchy: its certificate is the sum of rates along each path, its file gives it back, its release follows."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from designer import AdditiveMechanism, Problem, Release, Workload, design, load, metrics
from designer.base.errors import InvalidProblem, InvalidSpec, NotPrivate
from designer.certificate.frozen import to_spec
from designer.mechanism.agreeing_answers import whole_answers
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.sampling.entropy import SeededEntropy

GROUPS = np.vstack([np.ones(9), np.repeat(np.eye(3), [2, 3, 4], axis=1), np.eye(9)])
RATES = np.array([0.125, *[0.25] * 3, *[0.625] * 9])


def hierarchy(rates: np.ndarray = RATES, relation: object = None, **options: object) -> HierarchyMechanism:
    held = metrics.add_remove(9, 1.0) if relation is None else relation
    return HierarchyMechanism("hierarchy", Workload(GROUPS), held, GROUPS, rates, **options)


def test_the_certificate_is_the_sum_along_each_path() -> None:
    assert hierarchy().privacy.ratio == 1
    with pytest.raises(NotPrivate, match=r"a record of e2 appears spends its budget 1\.0 1\.0625 times"):
        hierarchy(RATES + 0.0625 * (np.arange(13) == 2))
    budgets = [Fraction(k, 2) for k in range(2, 11)]
    some = hierarchy(relation=metrics.add_remove(9, list(map(float, budgets))))
    assert some.privacy.ratio == max(1 / budget for budget in budgets)
    moved = hierarchy(np.array([5.0, *[0.125] * 3, *[0.375] * 9]), metrics.uniform(9, 1.0))
    assert moved.privacy.ratio == 1
    losses = moved.privacy_loss([[1, -1, *[0] * 7], [1, 0, -1, *[0] * 6], [0] * 9])
    assert losses.tolist() == [0.75, 1.0, 0.0] and hierarchy().privacy_loss(np.eye(9)[0]) == 1
    assert hierarchy().privacy_loss(answers=GROUPS[:, 4]) == pytest.approx(1)


def test_a_release_holds_the_noisy_counts_and_answers_that_agree() -> None:
    mechanism = hierarchy()
    released = mechanism.release(np.arange(9))
    assert released.multiples is not None and len(released.multiples) == 13
    assert released.answers[0] == pytest.approx(released.answers[1:4].sum())
    assert released.answers[3] == pytest.approx(released.answers[9:].sum())
    again = mechanism._release_of(released.multiples)
    assert np.array_equal(again.answers, released.answers)
    noise = mechanism.simulate(40_000, 1)
    assert np.asarray(noise.var(axis=0)) == pytest.approx(mechanism.query_variances(), rel=0.06)
    assert np.abs(noise.mean(axis=0)).max() < 0.05
    assert np.asarray(np.abs(noise).mean(axis=0)) == pytest.approx(mechanism.query_mean_absolutes(), rel=0.06)


def test_intervals_hold_as_often_as_they_say() -> None:
    mechanism = hierarchy()
    noise = np.abs(mechanism.simulate(40_000, 2))
    shares = (noise <= mechanism.margins(0.9)).mean(axis=0)
    assert (shares >= 0.9 - 0.008).all() and shares.max() < 0.93
    assert (noise <= mechanism.joint_margins(0.9)).all(axis=1).mean() >= 0.9 - 0.008


def test_its_file_gives_it_back_and_an_altered_one_is_refused(tmp_path) -> None:
    mechanism = hierarchy()
    assert load(mechanism.save(tmp_path / "made.json")) == mechanism
    spec = to_spec(mechanism)
    for change in (
        {"rates": RATES[:-1].tolist()},
        {"groups": {"matrix": GROUPS.tolist()}},
        {"groups": {"ranges": {"starts": [0] * 13, "ends": [9] * 13}}},
        {"rates": [0.5, *RATES[1:].tolist()]},
    ):
        altered = json.loads(json.dumps(spec, default=lambda part: part.tolist() if hasattr(part, "tolist") else part))
        altered["mechanism"] |= change
        (tmp_path / "altered.json").write_text(json.dumps(altered))
        with pytest.raises((InvalidSpec, InvalidProblem, NotPrivate)):
            load(tmp_path / "altered.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rates": -RATES}, r"rates: that of group 0 is -0\.125; give rates above 0"),
        ({"rates": RATES[:5]}, r"groups: have shape \(13, 9\); give one for each of 5 rates"),
        ({"relation": metrics.per_element(np.arange(1.0, 10.0))}, "relation: has several budgets"),
        ({"rates": np.array([np.nan, *RATES[1:]])}, "rates"),
    ],
)
def test_what_it_cannot_hold_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        hierarchy(**change)


def test_a_hierarchy_that_hides_nothing_is_refused_unless_that_is_meant() -> None:
    """The number of records, where a record is replaced."""
    everybody = Workload(np.ones((1, 4)))
    given = ("hierarchy", everybody, metrics.uniform(4, 1.0), np.ones((1, 4)), np.ones(1))
    with pytest.raises(InvalidProblem, match="hides nothing"):
        HierarchyMechanism(*given)
    assert HierarchyMechanism(*given, allow_vacuous=True).vacuous


def nested_release(written: bool) -> Release:
    """Of three groups with cells, from a mechanism that keeps its counts, or one that is written out."""
    if not written:
        return hierarchy()._release_of((40, 3, 8, 30, *range(9)))
    made = design(
        Problem(Workload(GROUPS), metrics.add_remove(9, 1.0), weights=[99, *[9] * 3, *[1] * 9]), "hierarchy"
    ).mechanism
    assert isinstance(made, AdditiveMechanism)
    return made._release_of(tuple(range(7, 7 + len(made.grid.exponents))))


@pytest.mark.parametrize("written", [False, True])
def test_whole_answers_agree_and_are_rounded_down_or_up(written: bool) -> None:
    released = nested_release(written)
    assert (released.answers != np.rint(released.answers)).any()
    for seed in range(40):
        whole = whole_answers(released, SeededEntropy(seed))
        assert whole.answers[0] == sum(whole.answers[1:4]) == sum(whole.answers[4:13])
        assert whole.answers[3] == sum(whole.answers[9:13]) and whole.answers[1] == sum(whole.answers[4:6])
        assert (np.abs(np.array(whole.answers) - released.answers) < 1).all()
    assert whole.queries == released.queries and whole.fingerprint == released.fingerprint
    assert whole.guarantee == released.guarantee and "guarantee is that of the release" in whole.post_processing


def test_whole_answers_have_no_bias_and_at_most_a_quarter_more_variance() -> None:
    released, draws = nested_release(False), 2**14
    words = [SimpleNamespace(random_words=lambda count, k=k: [k << 50]) for k in range(draws)]  # the whole of [0, 1)
    found = np.array([whole_answers(released, word).answers for word in words])
    assert np.abs(found.mean(axis=0) - released.answers).max() < 2 / draws
    share = released.answers - np.floor(released.answers)
    assert found.var(axis=0) == pytest.approx(share * (1 - share), abs=4 / draws)
    assert 0.1 < found.var(axis=0).max() <= 0.25


def test_whole_answers_of_counts_beyond_all_floats_agree() -> None:
    released = hierarchy().release([2**53 - 1] * 9)
    whole = whole_answers(released).answers
    assert whole[0] == sum(whole[1:4]) == sum(whole[4:]) and abs(whole[0] - 9 * 2**53) < 2**10


def test_whole_answers_are_of_counts() -> None:
    halves = replace(hierarchy(), workload=Workload(GROUPS / 2))
    with pytest.raises(InvalidProblem, match="weights that are no whole numbers"):
        whole_answers(halves.release(np.arange(9)))
    with pytest.raises(InvalidProblem, match="read it with its spec"):
        whole_answers(replace(hierarchy().release(np.arange(9)), law=None))
