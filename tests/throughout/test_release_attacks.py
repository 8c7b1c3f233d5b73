"""Attacks on releases of every kind: refusals, messages, types,
stored values and randomness must not know the confidential data."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import random
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from designer import (
    Counts,
    Domain,
    InvalidProblem,
    Problem,
    StatisticalQueries,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.relations.metrics.presence import Presence
from designer.sampling import entropy
from designer.selection.mechanism import best_selection
from designer.selection.scores import AbsoluteError, Linear
from designer.selection.tabulated import Tabulated
from designer.synthetic.multiplicative import mwem
from designer.synthetic.small_databases import small_db
from designer.tradeoff.functions import EpsilonDelta, Gaussian

# A count that no noise of these scales produces by chance twice.
CANARY = 7_654_321
RECORDS = CANARY + 1_000_003
COUNTS = (CANARY, 1_000_000, 3)
PEOPLE = Domain.of({"sex": ["F", "M"], "age": 3})


@dataclass(frozen=True)
class Subject:
    """A release to attack: `send` takes confidential data, `data` are well formed, `other` too, with the same public facts."""

    maker: Any
    send: Callable[[Any], Any]
    data: Any
    other: Any


def over_counts(maker: Any, data: tuple[int, ...] = COUNTS) -> Subject:
    return Subject(maker, maker.release, data, data[::-1])


@cache
def subjects() -> dict[str, Subject]:
    uniform, asked = metrics.uniform(3, 1e-7), Workload([[1.0, 0, 0.5], [0, 2.0, 1.0]])
    whole = Problem(asked, metrics.uniform(3, 1e-4), records=RECORDS)
    vague = Problem(asked, metrics.uniform(3, 1e-7), records=RECORDS)
    table = Tabulated.of(lambda x: [float(min(x)), 1.0], ["a", "b"], records=40, candidates=["low", "one"])
    marked = Problem(Workload.identity(3), invariants.total(3).protect(1e-4, 1))
    bell = Problem(Workload.identity(3), invariants.total(3).protect(1e-4, 1), notion="zcdp")
    margins = Margins((1500, 900), (1300, 1100))
    cells = {("sex", "age"): np.array([[CANARY, 1, 2], [3, 4, 1_000_000]])}
    turned = {("sex", "age"): cells["sex", "age"][::-1, ::-1].copy()}
    marginals = MarginalWorkload.up_to(PEOPLE, 2)
    tables = design_marginals(marginals, metrics.hamming(PEOPLE, [1e-4, 2e-4]))
    seen = design_marginals(marginals, Presence(mu=1e-4))
    means = StatisticalQueries.of(PEOPLE, {"age": ("age", float)}, {"age": 1e-4, "sex": 1e-4})
    additive = design(means.problem(), "laplace").mechanism
    people = {"sex": ["F"] * 3 + ["M"], "age": [0, 0, 0, 2]}
    first = margins.table(987)
    return {
        "selection": over_counts(best_selection(Linear(asked), uniform)),
        "selection error": over_counts(best_selection(AbsoluteError(asked), uniform, "permute_and_flip")),
        "selection table": over_counts(best_selection(table, metrics.uniform(2, 1e-4)), (39, 1)),
        "mwem": over_counts(mwem(whole, rounds=3, constant="unbiased")),
        "small-db": over_counts(small_db(vague, size=3, constant="unbiased", exponent=-1)),
        "lattice": over_counts(design(marked, "lattice_laplace", shape="l1").mechanism),
        "lattice gaussian": over_counts(design(bell, "lattice_gaussian", shape="l2").mechanism),
        "marginals": Subject(tables, lambda given: tables.release(Counts(given)), cells, turned),
        "marginals presence": Subject(seen, lambda given: seen.release(Counts(given)), cells, turned),
        "test": Subject((t := OddsRatioTest(margins, EpsilonDelta("1/100"))), t.release, first, margins.table(400)),
        "test gaussian": Subject((g := OddsRatioTest(margins, Gaussian.of("1/100"))), g.release, first, margins.table(400)),
        "statistical queries": Subject(
            additive,
            lambda records: means.release(additive, records),
            people,
            {"sex": ["M"] * 4, "age": [1, 2, 1, 1]},
        ),
    }


NAMES = list(subjects())
BY_COUNTS = [name for name in NAMES if isinstance(subjects()[name].data, tuple) and not name.startswith("test")]
BAD = [-1, 0.5, math.nan, math.inf, -math.inf, 2**53, 2**64, 10**30, 1e300, "x", None, 1j, b"7", [], {}, -CANARY, f"{CANARY}"]


def refusal(send: Callable[[Any], Any], data: Any) -> str:
    with pytest.raises(InvalidProblem) as caught:
        send(data)
    shown = "".join(traceback.format_exception(caught.value))
    assert str(CANARY) not in shown.replace("CANARY", "") and "54321" not in str(caught.value.args)
    return str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BY_COUNTS)
def test_every_unusable_count_is_refused_with_one_text(name: str) -> None:
    subject = subjects()[name]
    texts = {refusal(subject.send, [*subject.data[:-1], bad]) for bad in BAD if not isinstance(bad, (list, dict))}
    texts |= {refusal(subject.send, [bad, *subject.data[1:]]) for bad in BAD}
    assert len(texts) == 1
    assert "nothing was released" in texts.pop()


@pytest.mark.parametrize("name", BY_COUNTS)
def test_a_wrong_shape_is_named_without_the_values(name: str) -> None:
    subject = subjects()[name]
    for data in ([], [CANARY], [subject.data], CANARY, None, [*subject.data, CANARY]):
        assert refusal(subject.send, data)


@pytest.mark.parametrize("name", ["selection table", "mwem", "small-db"])
def test_another_number_of_records_is_refused_with_one_text(name: str) -> None:
    subject = subjects()[name]
    moved = [(1, 0), (-1, 0), (5, 5), (2**52 - CANARY, 0)]
    texts = {refusal(subject.send, [subject.data[0] + a, subject.data[1] + b, *subject.data[2:]]) for a, b in moved}
    assert len(texts) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["test", "test gaussian"])
def test_every_unusable_table_is_refused_with_one_text(name: str) -> None:
    subject = subjects()[name]
    (a, b), (c, d) = subject.data
    tables = [((a + 1, b), (c, d)), ((a, b), (c, float(d))), ((a,), (c, d)), ((a, b, 0), (c, d, 0)), (a, b, c, d), None, "x"]
    tables += [((a, b), (c, bad)) for bad in BAD] + [((-a, b + 2 * a), (c + 2 * a, d - 2 * a))]
    assert len({refusal(subject.send, table) for table in tables}) == 1


@pytest.mark.filterwarnings("error")
def test_unusable_marginal_tables_are_refused_by_their_kind_of_fault() -> None:
    send, axes = subjects()["marginals"].send, ("sex", "age")
    cells = subjects()["marginals"].data[axes]
    unusable = set()
    for bad in (-1, 0.5, math.nan, math.inf, 2**53, 10**30, "x", None, 1j):
        table: Any = cells.astype(object)
        table[1, 2] = bad
        unusable |= {refusal(send, {axes: table}), refusal(send, {axes: table.tolist()})}
    assert len(unusable) == 1
    other = {axes: cells, ("age",): cells.sum(axis=0) + np.array([1, 0, 0])}
    tables = MarginalWorkload.of(PEOPLE, [["sex", "age"]])
    twice = design_marginals(MarginalWorkload.of(PEOPLE, [["sex"], ["age"]]), metrics.hamming(PEOPLE, [1.0, 1.0]))
    assert "disagree" in refusal(
        lambda given: twice.release(Counts(given)), {("sex",): cells.sum(axis=1), ("age",): other[("age",)]}
    )
    single = design_marginals(tables, metrics.hamming(PEOPLE, [1.0, 1.0]))
    assert "shape" in refusal(lambda given: single.release(Counts(given)), {axes: cells.T})


@pytest.mark.parametrize("name", ["marginals", "marginals presence"])
def test_records_outside_the_domain_are_refused_with_one_text(name: str) -> None:
    release = subjects()[name].maker.release
    values = [CANARY, str(CANARY), None, math.nan, "", "f", -1, 1.5, ["F"], ("F",), {"F": 1}, b"f"]
    assert len({refusal(release, {"sex": ["F", value], "age": [0, 1]}) for value in values}) == 1
    lengths = [([str(CANARY)], [0, 1]), (["F", "M"], [0]), (["F"] * 3, [0])]
    assert {refusal(release, {"sex": sex, "age": age}) for sex, age in lengths[1:]} == {
        "records: columns differ in length; nothing was released."
    }
    assert refusal(release, {"sex": CANARY, "age": [0]})
    assert "no column" in refusal(release, {"sex": ["F"]})
    for nobody in ({"sex": [], "age": []}, {"sex": np.array([]), "age": np.array([])}):
        assert release(nobody).tables()["sex",].shape == (2,)


def parts(node: Any, seen: set[int]) -> Iterator[Any]:
    """Everything that can be reached from an object: attributes, caches, containers, array entries; not code."""
    if id(node) in seen or isinstance(node, (type, ModuleType, FunctionType)):
        return
    seen.add(id(node))
    yield node
    if isinstance(node, np.ndarray):
        yield from node.ravel().tolist()
    for child in gc.get_referents(node):
        yield from parts(child, seen)


def truths(subject: Subject) -> set[float]:
    """Numbers that only somebody who saw the data can write down: the canary and exact sums with it."""
    if isinstance(subject.data, dict) and ("sex", "age") in subject.data:
        return {float(CANARY), float(CANARY + 3), float(CANARY + 4)}  # the number of records is public
    if subject.data and isinstance(subject.data, tuple) and isinstance(subject.data[0], tuple):
        return {float(subject.data[0][0]), float(subject.data[0][0]) * 2.0**40}
    return {float(CANARY), CANARY + 1.5, 2 * CANARY + 3.0}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("statistical queries", "selection table")])
def test_no_object_keeps_a_true_value(name: str) -> None:
    """Noise hits a true value by chance about once in 1,000 releases: what is found three times is kept."""
    subject = subjects()[name]
    before = pickle.dumps(subject.maker)
    found: list[set[float]] = []
    for _ in range(3):
        release = subject.send(subject.data)
        text = f"{release!r} {release.to_dict()} {release.guarantee.to_text()}"
        numbers = {p for p in parts((release, subject.maker), set()) if isinstance(p, (int, float, Fraction, np.number))}
        found.append({t for t in truths(subject) if t in numbers or f" {t:.0f}," in text})
        copy.deepcopy(subject.maker)
    assert not set.intersection(*found)
    assert pickle.dumps(subject.maker) == before


def test_the_search_for_kept_values_finds_one() -> None:
    @dataclass
    class Careless:
        inner: Any

    numbers = [p for p in parts(Careless({"x": [np.array([1, CANARY])]}), set()) if isinstance(p, int) and p == CANARY]
    assert numbers == [CANARY]


def shape_of(node: Any) -> Any:
    """Types, dtypes and lengths, without values."""
    if isinstance(node, np.ndarray):
        return (str(node.dtype), node.shape)
    if isinstance(node, dict):
        return {key: shape_of(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [shape_of(value) for value in node]
    return type(node).__name__


@pytest.mark.parametrize("name", NAMES)
def test_types_of_a_release_do_not_depend_on_the_data(name: str) -> None:
    subject = subjects()[name]
    one, other = subject.send(subject.data), subject.send(subject.other)
    assert shape_of(vars(one)) == shape_of(vars(other))
    assert one.guarantee == other.guarantee and one.fingerprint == other.fingerprint


def test_types_of_marginals_do_not_tell_how_many_records_there_are() -> None:
    """Exact sums take Python integers where 64 bits might not do; what is stored must not show it."""
    domain = Domain.of({"a": 40, "b": 40})
    made = design_marginals(MarginalWorkload.of(domain, [["a", "b"]]), Presence(mu=1.0))
    few, many = np.zeros((40, 40), dtype=np.int64), np.full((40, 40), 2**49)
    kinds = [shape_of(made.release(Counts({("a", "b"): table})).residuals) for table in (few, many)]
    assert kinds[0] == kinds[1]


class Words:
    """A stream of bytes in place of the operating system's; it counts what is asked."""

    def __init__(self, seed: int) -> None:
        self.generator, self.asked = random.Random(seed), 0

    def __call__(self, size: int) -> bytes:
        self.asked += size
        return self.generator.randbytes(size)


@pytest.mark.parametrize("name", NAMES)
def test_all_randomness_is_the_operating_system_s_and_none_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same bytes a second release is the first again, so nothing is buffered; with others it differs;
    nothing else is random."""
    subject = subjects()[name]
    subject.send(subject.data)  # plans are made once

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a generator that can be reproduced was asked for")

    for place, attribute in ((np.random, "default_rng"), (np.random, "Philox"), (entropy, "SeededEntropy"), (random, "random")):
        monkeypatch.setattr(place, attribute, refuse)
    found = []
    for seed in (1, 1, 2, 3, 4, 5, 6):
        words = Words(seed)
        monkeypatch.setattr(os, "urandom", words)
        found.append((subject.send(subject.data).to_dict(), words.asked))
    assert found[0] == found[1]
    assert all(asked >= 8 for _, asked in found)
    assert any(result != found[0][0] for result, _ in found[2:])


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_simulated_choices_repeat_with_a_seed_only_and_say_so(law: str) -> None:
    made = best_selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0), law)  # type: ignore[arg-type]
    seeded = [made.simulate(200, seed=5, data=[1, 2, 3]) for _ in range(2)]
    free = [made.simulate(200, data=[1, 2, 3]) for _ in range(2)]
    assert (seeded[0].indices == seeded[1].indices).all() and (free[0].indices != free[1].indices).any()
    assert seeded[0].stamp == "simulation, not private: 200 choices, seed 5" and free[0].stamp.endswith("no seed")


def test_what_leaves_is_a_function_of_noisy_integers() -> None:
    """No low bits: every number that is computed from data is a whole number of public steps."""
    made = subjects()["mwem"].maker
    for round_ in made.release(COUNTS).rounds:
        assert (Fraction(round_.measurement) / made.queries.step).denominator == 1
    table = subjects()["lattice"].maker.release(COUNTS)
    assert all(type(cell) is int for cell in table.table) and sum(table.table) == sum(COUNTS)
    for residual in subjects()["marginals"].send(subjects()["marginals"].data).residuals.values():
        assert residual.dtype == np.int64
    test = subjects()["test gaussian"]
    assert (test.send(test.data).statistic * 2**test.maker.exponent).denominator == 1


def test_synthetic_histograms_are_recomputed_from_the_transcript_alone() -> None:
    made = subjects()["mwem"].maker
    release = made.release(COUNTS)
    assert made.histogram_of(release.rounds).tolist() == release.histogram.tolist()
    assert release.answers.tolist() == (made.queries.values @ release.histogram).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_says_that_time_is_not_covered(name: str) -> None:
    timing = subjects()[name].send(subjects()[name].data).guarantee.timing
    assert "not covered" in timing
