"""Tables that agree: whole, nonnegative, with the published margins, and nearest; against all tables that there are. Agreeing
tables of releases of numbers of any size, 1 to 1e15, large and small in one table: products, marginals and additive noise
against the nearest nonnegative counts in rationals. The whole run: `pytest -m heavy` of this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.sparse import csr_array

from designer import (
    Counts,
    DesignFailed,
    Domain,
    InvalidProblem,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredWorkload,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.base.published_margins import PublishedSums
from designer.certificate.agreement import agreed
from designer.certificate.frozen import FrozenMechanism, below_by_noise
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_spec import MarginAgreement
from designer.domains.products_noise import MeasuredProduct
from designer.domains.products_plan import design_structured
from designer.files.table_files import TableOptions, agreeing_tables, negative_words, require_agreement
from designer.mechanism.release import nearest_table
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.tables import OTHERS, Average, Count, Groups, Measure, PartitionSelection, Quantile, Sum, TablePlan, hierarchy
from designer.tables.agreement import PlanAgreement
from tests.oracles.nearest_in_rationals import minimum, rational, squares

TRUE = np.array([3, 0, 1, 2, 5, 0])


SHAPE = (2, 3)


def best_of_all(sums: Any, near: Any, spread: Any, exact: Any, totals: Any, most: int) -> float:
    """The least weighted sum of squares over all whole tables of entries up to `most` with these totals."""
    every = np.array(list(product(range(most + 1), repeat=sums.shape[1])))
    kept = every[(every @ np.asarray(exact).T == totals).all(axis=1)] if len(totals) else every
    return float((((kept @ sums.T - near) / spread) ** 2).sum(axis=1).min())


@pytest.mark.parametrize("family", ["k_norm", "laplace", "lattice_laplace"])
def test_a_table_under_an_invariant_has_its_margins_and_is_the_nearest(family: str) -> None:
    margins = invariants.margins(SHAPE)
    made = design(Problem(Workload.identity(6), margins.protect(1.0)), family).mechanism
    told = PublishedSums.of({"statistic": margins.names, "value": margins.answers(TRUE).astype(int).tolist()})
    for _ in range(3):
        released = made.release(TRUE)
        found = agreeing_tables(made, released, None if family != "laplace" else told)
        (table,) = found.tables
        assert table is not None and (table >= 0).all() and (table == np.rint(table)).all()
        assert margins.answers(table).tolist() == margins.answers(TRUE).tolist()
        assert "made to agree with each other" in found.words or "Post-processing: none was needed" in found.words
        if family == "k_norm":  # all standard errors are equal, so that this is the nearest table in least squares
            same = nearest_table(released, margins, margins.answers(TRUE), integer=True)
            assert np.linalg.norm(table - released.answers) == pytest.approx(same.distance, abs=1e-9)


def test_margins_that_the_release_does_not_hold_are_asked_for_before_data_are_touched() -> None:
    made = design(Problem(Workload.identity(6), invariants.margins(SHAPE).protect(1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="--published: is missing; the release does not hold"):
        require_agreement(made)


def test_answers_of_any_whole_queries_are_made_of_counts() -> None:
    queries = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    made = design(Problem(Workload(queries), metrics.add_remove(4, 1.0)), "laplace").mechanism
    released = made.release([2, 0, 1, 0])
    spread = made.standard_errors()
    (table,) = agreeing_tables(made, released).tables
    most = 12
    every = np.array(list(product(range(most + 1), repeat=4)))
    values = (((every @ queries.T - released.answers) / spread) ** 2).sum(axis=1)
    assert table is not None and (((table - released.answers) / spread) ** 2).sum() <= values.min() + 1e-9


def test_fractional_queries_and_mechanisms_without_tables_are_refused() -> None:
    halves = design(Problem(Workload(np.eye(2) / 2), metrics.add_remove(2, 1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="no whole numbers"):
        require_agreement(halves)
    many = design(Problem(Workload(np.ones((1, 20_001))), metrics.add_remove(20_001, 1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="20001 cells together"):
        require_agreement(many)


DOMAIN = Domain.of({"sex": ["F", "M"], "age": ["1", "2", "3"]})


def marginal_mechanism(publish_sex: bool) -> Any:
    ask = MarginalWorkload.of(DOMAIN, [["sex"], ["age"], ["sex", "age"]])
    budgets = {"sex": np.inf if publish_sex else 0.7, "age": 0.7}
    return design_marginals(ask, metrics.hamming(DOMAIN, budgets))


@pytest.mark.parametrize("publish_sex", [False, True])
def test_marginals_agree_with_one_another_and_with_what_is_exact(publish_sex: bool) -> None:
    made = marginal_mechanism(publish_sex)
    records = {"sex": ["F", "F", "M"], "age": ["1", "3", "3"]}
    told = None if publish_sex else PublishedSums.of({"sex": ["F", "M"], "age": ["", ""], "value": [2, 1]})
    for _ in range(3):
        released = made.release(records)
        found = agreeing_tables(made, released, told)
        sex, age, both = (np.asarray(table) for table in found.tables)
        assert sex.tolist() == [2, 1] and (both >= 0).all() and (both == np.rint(both)).all()
        assert (
            both.reshape(2, 3).sum(axis=1).tolist() == sex.tolist() and both.reshape(2, 3).sum(axis=0).tolist() == age.tolist()
        )
        tables = released.answer_tables()
        spread = [np.asarray(table.standard_errors) for table in tables]
        value = sum(
            float((((own - t.answers) / s) ** 2)[s > 1e-6].sum())
            for own, t, s in zip((sex, age, both), tables, spread, strict=True)
        )
        every = np.array(list(product(range(3), repeat=6))).reshape(-1, 2, 3)
        every = every[(every.sum(axis=2) == [2, 1]).all(axis=1)]
        parts = (every.sum(axis=2), every.sum(axis=1), every.reshape(len(every), -1))
        values = sum(
            ((((own - t.answers) / s) ** 2)[:, s > 1e-6]).sum(axis=1)
            for own, t, s in zip(parts, tables, spread, strict=True)
            if (s > 1e-6).any()
        )
        assert value == pytest.approx(float(np.min(values)), abs=1e-6)


def test_a_margin_that_no_noise_enters_is_kept_though_nobody_asked_for_it() -> None:
    ask = MarginalWorkload.of(DOMAIN, [["sex", "age"]])
    made = design_marginals(ask, metrics.hamming(DOMAIN, {"sex": np.inf, "age": 0.1}))
    for _ in range(5):
        (table,) = agreeing_tables(made, made.release({"sex": ["F", "F", "M"], "age": ["1", "3", "3"]})).tables
        assert np.asarray(table).reshape(2, 3).sum(axis=1).tolist() == [2, 1]


def test_real_tables_agree_too_and_are_no_farther_than_whole_ones() -> None:
    made = marginal_mechanism(False)
    released = made.release({"sex": ["F", "M"], "age": ["1", "3"]})
    real, whole = (agreeing_tables(made, released, whole=kind) for kind in (False, True))
    spread = np.concatenate([np.asarray(t.standard_errors) for t in released.answer_tables()])
    near = np.concatenate([t.answers for t in released.answer_tables()])
    far = [float((((np.concatenate(found.tables) - near) / spread) ** 2).sum()) for found in (real, whole)]  # type: ignore[arg-type]
    assert far[0] <= far[1] + 1e-6 and "whole" not in real.words and min(map(np.min, real.tables)) >= 0  # type: ignore[arg-type]


def test_structured_answers_are_made_of_counts() -> None:
    asked = StructuredWorkload.of(DOMAIN, [{"sex": "identity"}, {"age": "prefix"}])
    made = design_structured(asked, Presence(mu=1.0))
    released = made.release({"sex": ["F", "M"], "age": ["1", "3"]})
    sex, age = (np.asarray(table) for table in agreeing_tables(made, released).tables)
    assert (np.diff(age, prepend=0) >= 0).all() and sex.sum() == age[-1]


def plan() -> TablePlan:
    levels = hierarchy(["state", "county"], [["DE", "1"], ["DE", "3"], ["RI", "1"]])
    pay = Measure("pay", "0.5")
    counts = [Count(f"people {k}", level, variance=4 * (k + 1)) for k, level in enumerate(levels)]
    sex = Count("by sex", Groups(["state", "sex"], keys=[*product(["DE", "RI"], "FM"), [OTHERS, OTHERS]]), variance=3)
    some = Average("mean", levels[1], measure=pay, variance=9, count_variance=3)
    middle = Quantile("median", levels[0], measure=pay, candidates=[1, 2], rho="0.1")
    return TablePlan([*counts, sex, Sum("pay", levels[1], variance=25, measure=pay), some, middle])


RECORDS = {
    "state": ["DE", "DE", "RI", "NY"],
    "county": ["1", "1", "1", "9"],
    "sex": ["F", "M", "F", "M"],
    "pay": [1.5, 2, 0, 1],
}


def test_a_plan_agrees_over_levels_and_crossings() -> None:
    import ibis

    made = plan()
    told = PublishedSums.of({"table": ["people 0", "people 0"], "state": ["", "DE"], "value": ["4", "2"]})
    for published in (None, told):
        released = made.release(ibis.memtable(RECORDS))
        found = agreeing_tables(made, released, published)
        assert ("the guarantee does not cover what they tell" in found.words) == (published is not None)
        tables = released.answer_tables()
        by_name = {
            table.name: dict(zip(table.keys, map(float, own), strict=True))
            for table, own in zip(tables, found.tables, strict=True)
            if own is not None
        }
        (everybody,) = by_name["people 0"].values()
        states, counties, sexes = by_name["people 1"], by_name["people 2"], by_name["by sex"]
        assert sum(states.values()) == everybody == int(everybody) and min(counties.values()) >= 0
        for state, number in states.items():
            assert number == sum(v for key, v in counties.items() if key[0] == state[0])
            assert number == sum(v for key, v in sexes.items() if key[0] == state[0])
        assert all(2 * value == int(2 * value) >= 0 for value in by_name["pay"].values())
        assert published is None or (everybody, states["DE",]) == (4, 2)
        reasons = {table.name: reason for table, reason in zip(tables, found.reasons, strict=True) if reason}
        assert set(reasons) == {"mean", "median"} and "no sum of parts" in reasons["mean"]


def test_answers_of_a_plan_agree_without_a_bias_with_intervals_of_the_noise() -> None:
    """Against pseudo-inverses, and margins against draws of the noise."""
    import ibis

    made = plan()
    released = made.release(ibis.memtable(RECORDS))
    TableOptions(consistent="unbiased").require(made)
    found = PlanAgreement().unbiased(made, released, False)
    names = [table.name for table in released.answer_tables()]
    own = ["people 0", "people 1", "people 2", "by sex"]
    columns, others = ("state", "county", "sex"), released["people 1"].keys[2][0]
    cells = [(*place, sex) for place in released["people 2"].keys for sex in ([others] if place[0] == others else "FM")]
    rows, near, variances = [], [], []
    for name in own:
        answer = released[name]
        places = [columns.index(column.split("[")[0]) for column in answer.columns]
        rows += [[float(tuple(cell[p] for p in places) == key) for cell in cells] for key in answer.keys]
        near += answer.values.tolist()
        variances += np.asarray(answer.variances).tolist()
    queries, weights = np.array(rows), np.diag(1 / np.sqrt(variances))
    best = queries @ np.linalg.pinv(weights @ queries) @ weights
    spread = np.sqrt(np.diag(best @ np.diag(variances) @ best.T))
    assert np.concatenate([found.tables[names.index(name)] for name in own]) == pytest.approx(best @ near, abs=1e-4)  # type: ignore[arg-type]
    laws = [found.laws[names.index(name)] for name in own]
    assert np.concatenate([law.standard_errors for law in laws]) == pytest.approx(spread, rel=1e-6)  # type: ignore[arg-type]
    drawn = DiscreteGaussian([Fraction(v).limit_denominator(100) for v in variances]).draw(40_000, SeededEntropy(1))
    sizes = np.abs(drawn @ best.T)
    for simultaneous in (False, True):
        ends = [law.intervals(0.95, simultaneous) for law in laws]
        margins = np.concatenate([(own.upper - own.lower) / 2 for own in ends])
        within = (sizes <= margins).mean(axis=0) if not simultaneous else (sizes <= margins).all(axis=1).mean()
        assert np.min(within) >= 0.95 - 5 * math.sqrt(0.05 / 40_000) and np.max(within) < 0.999
    assert [name for name, numbers in zip(names, found.tables, strict=True) if numbers is None] == ["mean", "median"]
    with pytest.raises(InvalidProblem, match="is there for answers to linear queries"):
        TableOptions(consistent="unbiased-integer").require(made)


def test_marginals_agree_as_they_are_and_whole_tables_of_two_attributes_have_no_bias() -> None:
    for publish in (False, True):
        made = marginal_mechanism(publish)
        released = made.release({"sex": ["F", "F", "M"], "age": ["1", "3", "3"]})
        for whole in (False, True):
            options = TableOptions(consistent="unbiased-integer" if whole else "unbiased")
            options.require(made)
            found = MarginAgreement().unbiased(made, released, whole)
            sex, age, both = (np.asarray(table) for table in found.tables)
            assert both.reshape(2, 3).sum(axis=1) == pytest.approx(sex, abs=1e-9)
            assert both.reshape(2, 3).sum(axis=0) == pytest.approx(age, abs=1e-9)
            off = [
                own - table.answers
                for own, table in zip(found.tables, released.answer_tables(), strict=True)
                if own is not None
            ]
            assert np.abs(np.concatenate(off)).max() < (1 if whole else 1e-12)
            assert not publish or np.abs(sex - [2, 1]).max() < 1e-9
    three = Domain.of({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]})
    pairs = design_marginals(MarginalWorkload.of(three, [["a", "b"], ["b", "c"], ["a", "c"]]), Presence(mu=1.0))
    with pytest.raises(InvalidProblem, match="groups overlap in three ways or more, such as"):
        TableOptions(consistent="unbiased-integer").require(pairs)


@pytest.mark.parametrize("blocks", ["residuals", "one", "apart"])
def test_products_agree_as_they_are_unless_terms_are_measured_one_by_one(blocks: str) -> None:
    asked = StructuredWorkload.of(DOMAIN, [{"sex": "identity"}, {"age": "prefix"}])
    strategies = None if blocks == "residuals" else {"age": "identity", "sex": "identity"}
    made = design_structured(asked, Presence(mu=1e-4), strategies=strategies)
    if blocks == "apart":
        own = tuple(MeasuredProduct({axis: 0}, made.blocks[0].strength / 2) for axis in (0, 1))
        made = replace(made, blocks=own, serves=(0, 1))
    sex, age = (table.answers for table in made.release({"sex": ["F", "M"], "age": ["1", "3"]}).answer_tables())
    assert (abs(sex.sum() - age[-1]) < 1e-6) == (blocks != "apart")
    if blocks == "apart":
        with pytest.raises(InvalidProblem, match="these terms are measured one by one"):
            TableOptions(consistent="unbiased").require(made)
    else:
        TableOptions(consistent="unbiased").require(made)


def test_a_plan_is_refused_where_its_groups_do_not_fit_together() -> None:
    def count(name: str, columns: list[str], keys: list[list[str]]) -> Count:
        return Count(name, Groups(columns, keys=keys), variance=1)

    other = count("b", ["state", "sex"], [["DE", "F"], ["DE", "M"], ["RI", "F"]])
    with pytest.raises(InvalidProblem, match=r"list different groups of \['state'\], such as \('NY',\)"):
        require_agreement(TablePlan([count("a", ["state"], [["DE"], ["NY"], ["RI"]]), other]))
    sought = Count("c", Groups(["state"], selection=PartitionSelection(4, 20)), variance=1)
    with pytest.raises(InvalidProblem, match="found by their noisy sizes"):
        require_agreement(TablePlan([sought]))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"sex": ["F"]}, "has no column 'value'"),
        ({"sex": ["F"], "value": ["1.5"]}, "row 1: '1.5' is no whole number"),
        ({"sex": ["F"], "value": ["-1"]}, "row 1: '-1' is no whole number"),
        ({"sex": ["X"], "value": ["1"]}, "no cell is {'sex': 'X'}"),
        ({"gender": ["F"], "value": ["1"]}, "column 'gender' is no category of the cells"),
        ({"statistic": ["total"], "value": ["1"]}, "'total' is no published statistic"),
        ({"sex": ["F", "M"], "value": ["1"]}, "columns differ in length"),
    ],
)
def test_published_sums_that_make_no_sense_are_refused(columns: dict[str, list[str]], told: str) -> None:
    with pytest.raises(InvalidProblem, match="published: ") as refusal:
        PublishedSums.of(columns).matched(["sex"], [("F",), ("M",)])
    assert told in str(refusal.value)


def test_published_counts_are_taken_as_far_as_floats_tell_whole_numbers_apart() -> None:
    assert PublishedSums.of({"value": ["1435000773277382", "9007199254740992.0"]}).values == (1435000773277382, 2**53)
    with pytest.raises(InvalidProblem, match=r"row 1: '9007199254740993' is more than 9,007,199,254,740,992, up to which"):
        PublishedSums.of({"value": ["9007199254740993"]})


def test_published_sums_that_contradict_each_other_are_refused() -> None:
    made = marginal_mechanism(False)
    released = made.release({"sex": ["F"], "age": ["1"]})
    told = PublishedSums.of({"sex": ["F", ""], "value": [5, 3]})
    with pytest.raises(InvalidProblem, match="no whole nonnegative table has these margins"):
        agreeing_tables(made, released, told)


def test_a_solver_that_gives_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.lattices.agreeing_counts.fitted_sums", lambda *_: None)
    with pytest.raises(DesignFailed, match="gave up"):
        agreed(np.eye(2), np.zeros(2), None, [], True)


def test_a_lattice_release_below_zero_is_moved_to_the_nearest_table() -> None:
    margins = invariants.margins((2, 2))
    made = design(Problem(Workload.identity(4), margins.protect(1.0)), "lattice_laplace").mechanism
    released = made._release_of([-1, 3, 2, 0])
    (table,) = agreeing_tables(made, released).tables
    assert table is not None and table.tolist() == [0, 2, 1, 1]


def test_only_what_cannot_be_below_zero_without_noise_is_said_to_be_so_by_noise() -> None:
    """Counts and totals of what is never below 0; not differences, sums of longitudes, or averages."""
    import ibis

    asked_for = Workload(np.array([[1.0, 1.0], [1.0, -1.0], [-2.0, 0.0]]))
    made = design(Problem(asked_for, metrics.add_remove(2, 1.0)), "laplace").mechanism
    released = made.release([5, 7])
    assert negative_words(made, replace(released, answers=np.array([4.0, -2.0, -10.0]))) == []
    assert "Below 0: 1 of 3 answers" in negative_words(made, replace(released, answers=np.array([-4.0, -2.0, -10.0])))[0]
    sparse = Workload(csr_array([[0.0, 1.0], [3.0, -1.0]]))
    assert sparse.nonnegative_rows.tolist() == [True, False]
    everybody, east = Groups([], keys=[[]]), Measure("longitude", lower=-180, upper=180)
    plan = TablePlan(
        [
            Count("records", everybody, variance=1),
            Sum("pay", everybody, variance=1, measure=Measure("pay", upper=9)),
            Sum("east", everybody, variance=1, measure=east),
            Average("mean", everybody, measure=east, variance=1, count_variance=1),
        ]
    )
    asked = plan.release(ibis.memtable({"longitude": [-70.5, -80.0], "pay": [1.0, 2.0]}))
    below = {name: replace(answer, values=-np.ones(1)) for name, answer in asked.answers.items()}
    told = negative_words(plan, replace(asked, answers=below))
    assert len(below) == 6 and told[0].startswith("Below 0: 3 of 6 answers, where noise makes them so")
    rightly = {
        name: answer if name in ("east", "mean", "mean.sum") else replace(answer, values=np.ones(1))
        for name, answer in below.items()
    }
    assert negative_words(plan, replace(asked, answers=rightly)) == []
    mixed = StructuredWorkload.of(Domain(("a",), (("x", "y"),)), [{"a": np.array([[1.0, -1.0]])}])
    products = design_structured(mixed, Presence(mu=1.0))
    assert not below_by_noise(products, products.release({"a": ["x", "y"] * 3}).answer_tables()[0]).any()


ONE, TWO, THREE = np.ones((1, 3), dtype=int), np.eye(2, dtype=int), np.eye(3, dtype=int)


PREFIX, PAIR = np.tril(np.ones((3, 3), dtype=int)), np.ones((1, 2), dtype=int)


# The queries of each term over the six cells.
TERMS: list[tuple[dict[str, str], Any]] = [
    ({"sex": "identity", "age": "identity"}, np.eye(6, dtype=int)),
    ({"sex": "identity", "age": "prefix"}, np.kron(TWO, PREFIX)),
    ({"sex": "identity"}, np.kron(TWO, ONE)),
    ({"age": "identity"}, np.kron(PAIR, THREE)),
    ({"age": "prefix"}, np.kron(PAIR, PREFIX)),
]


MARGINS = [(("sex",), np.kron(TWO, ONE)), (("age",), np.kron(PAIR, THREE)), (("sex", "age"), np.eye(6, dtype=int))]


ROUNDING = Fraction(1, 2**50)


def some(rng: Any, listed: list[Any]) -> list[Any]:
    return [one for one in listed if rng.random() < 0.6] or listed[-1:]


def budget(rng: Any) -> float:
    return float(10 ** rng.uniform(-6, 1))


def structured(rng: Any) -> tuple[Any, Any]:
    terms, most = some(rng, TERMS), budget(rng)
    presence, noise = rng.random() < 0.5, rng.choice(["laplace", "gaussian"])
    protection = (
        Presence(**{"mu" if noise == "gaussian" else "epsilon": most})
        if presence
        else metrics.hamming(DOMAIN, [most, 2 * most])
    )
    asked = StructuredWorkload.of(DOMAIN, [term for term, _ in terms])
    return design_structured(asked, protection, noise), np.vstack([rows for _, rows in terms])


def marginals(rng: Any) -> tuple[Any, Any]:
    asked = some(rng, MARGINS)
    made = design_marginals(
        MarginalWorkload.of(DOMAIN, [list(names) for names, _ in asked]), metrics.hamming(DOMAIN, [budget(rng), budget(rng)])
    )
    return made, np.vstack([rows for _, rows in asked])


def additive(rng: Any) -> tuple[Any, Any]:
    queries = np.vstack([rows for _, rows in some(rng, TERMS)])
    made = design(Problem(Workload(queries), metrics.add_remove(6, budget(rng))), "laplace").mechanism
    return made, queries


def counts_of(made: Any, truth: Any) -> Counts:
    """The largest tables that marginals are computed from."""
    table = truth.reshape(2, 3)
    tables = {("sex", "age"): table, ("sex",): table.sum(axis=1), ("age",): table.sum(axis=0)}
    return Counts({names: tables[names] for names in map(made.workload.names, made.workload.maximal.tuples())})


KINDS: dict[str, Callable[[Any], tuple[Any, Any]]] = {"structured": structured, "marginals": marginals, "additive": additive}


def run(kind: str, seeds: range) -> int:
    """How many of them the solver gave up, which it says."""
    refused = 0
    for seed in seeds:
        try:
            agree(kind, np.random.default_rng([seed, *kind.encode()]))
        except DesignFailed as error:
            assert "the solver gave up" in str(error)
            refused += 1
        except Exception as error:
            raise AssertionError(f"{kind}, seed {seed}: {error!r}") from error
    return refused


def agree(kind: str, rng: Any) -> None:
    """Real numbers lie where the minimum in rationals is, to a thousandth of a standard error; whole ones that are said to be
    nearest have none nearer beside them, and neither are farther from the answers than the truth."""
    size = 10 ** rng.uniform(0, 15, 6) if rng.random() < 0.5 else np.full(6, 10 ** rng.uniform(0, 15))
    truth = np.rint(size * rng.integers(0, 3, 6)).astype(np.int64)
    made, queries = KINDS[kind](rng)
    source = SeededEntropy(int(rng.integers(2**31)))
    with patch.object(FrozenMechanism, "_release_entropy", lambda self: source):
        released = made.release(counts_of(made, truth) if kind == "marginals" else truth)
    tables = released.answer_tables()
    near = np.concatenate([table.answers for table in tables])
    errors = np.concatenate([np.asarray(table.standard_errors) for table in tables])
    assert len(near) == len(queries)
    told, exact, totals = None, np.zeros((0, 6), dtype=int), np.zeros(0)
    if kind != "additive" and len(made.workload.used) == 2 and rng.random() < 0.5:
        exact = np.kron(TWO, ONE)
        totals = (exact @ truth).astype(float)
        told = PublishedSums.of({"sex": ["F", "M"], "age": ["", ""], "value": totals.astype(int).tolist()})
    elif kind == "marginals":
        exact = np.ones((1, 6), dtype=int)  # the number of records is public
        totals = (exact @ truth).astype(float)
    best = minimum(queries, near, errors, exact, totals)
    assert best is not None
    sums = [sum((int(a) * c for a, c in zip(row, best, strict=True)), Fraction(0)) for row in queries]
    found = agreeing_tables(made, released, told, whole=False)
    real = np.concatenate(found.tables)
    for row, value, right, error in zip(queries, rational(real), sums, rational(errors), strict=True):
        near_by = Fraction(1, 1000) * error + 64 * ROUNDING * (abs(value) + abs(right))
        if error <= 1e-9 * errors.max():  # told without noise, but for the rounding of its standard error
            near_by = (1 + right) / 10**9
        # Where floats hide what sharp answers leave to blunt ones, nothing is claimed.
        assert "not proven" in found.words or abs(value - right) <= near_by, (row, float(value), float(right))
    nearest = sum((((v - a) / s) ** 2 for v, a, s in zip(sums, rational(near), rational(errors), strict=True)), Fraction(0))
    whole = agreeing_tables(made, released, told)
    numbers = np.concatenate(whole.tables)
    own = sum((((v - a) / s) ** 2 for v, a, s in zip(*map(rational, (numbers, near, errors)), strict=True)), Fraction(0))
    assert (numbers >= 0).all() and (numbers == np.rint(numbers)).all()
    if "not proven" in whole.words:
        return
    assert nearest <= own * (1 + Fraction(1, 10**6)) + Fraction(1, 10**6)
    assert own <= squares(queries, near, errors, truth) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**2)
    for place in np.flatnonzero([(np.array(queries[i : i + 6]) == np.eye(6)).all() for i in range(len(queries) - 5)])[:1]:
        cells = numbers[place : place + 6]
        assert (queries @ cells == numbers).all() or cells.max() > 2.0**50
        for move in product((-1, 0, 1), repeat=6):
            other = cells + np.array(move)
            if (other >= 0).all() and not (exact @ np.array(move)).any():
                assert squares(queries, near, errors, other) >= own - Fraction(1, 10**5) * (1 + own)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 8), marks=pytest.mark.nightly)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_agreeing_tables_of_numbers_of_any_size_are_the_nearest(kind: str, seeds: range) -> None:
    assert run(kind, seeds) <= 1


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("kind", KINDS)
def test_agreeing_tables_of_three_thousand_releases(kind: str, part: int) -> None:
    assert run(kind, range(100 * part, 100 * (part + 1))) <= 10
