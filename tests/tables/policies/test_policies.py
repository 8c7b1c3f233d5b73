"""Policies against their formulas in plain rationals, over columns, on an engine, as plain data; and the order between them."""

from __future__ import annotations

import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import plain
from designer.tables.policies.kinds import policy_from_spec
from designer.tables.policies.metrics import policy_min
from designer.tables.policies.plain_policies import ceilings
from designer.tables.policies.policies import (
    AsZcdp,
    ConstantPolicy,
    GaussianSums,
    LaplaceSums,
    MaximumOfPolicies,
    Piecewise,
    Policy,
    ScaledPolicy,
    Splitting,
    SumOfPolicies,
)
from designer.tables.policies.slow_policies import StudentNoise, StudentSum, TransformedNoise, TransformedSum
from designer.tradeoff.conversions import pure_rho, rho_of_laplace

SPLIT = Splitting("1/2", {"a": 50, "b": "1/8"})
GAUSS = GaussianSums.of_deviations({"a": 50, "b": "7.5"}, [3])
LAPLACE = LaplaceSums({"a": 50, "b": 3}, (2,))
SLOW = [
    TransformedSum("a", TransformedNoise("log", 100, "0.1")),
    TransformedSum("b", TransformedNoise("root", 7, "0.3")),
    StudentSum("a", StudentNoise(40, 2)),
    StudentSum("b", StudentNoise("1/3", 5)),
]
POLICIES: list[Policy] = [
    ConstantPolicy("1/3"),
    ConstantPolicy("1/3", "pure"),
    SPLIT,
    Splitting(2, {"a": "7/3"}, "pure"),
    GAUSS,
    LAPLACE,
    AsZcdp(LAPLACE),
    AsZcdp(LAPLACE, "1/50"),
    SumOfPolicies([SPLIT, GAUSS, ConstantPolicy(1)]),
    MaximumOfPolicies([SPLIT, GAUSS]),
    ScaledPolicy("1/7", GAUSS),
    Piecewise("g", {"x": SPLIT, 3: GAUSS}, ConstantPolicy("1/3")),
    *SLOW,
    AsZcdp(SLOW[2]),
]
ON_A_GRID = [*SLOW, POLICIES[-1]]
NAMES = [f"{i}-{policy.kind}" for i, policy in enumerate(POLICIES)]


def records(count: int = 300) -> list[dict[str, object]]:
    """Whole, fractional, negative, missing, enormous and tiny measures; known, unknown and missing keys."""
    rng = np.random.default_rng(7)
    a: list[object] = [*rng.integers(-300, 3000, count).tolist(), 0, 50, -50, 100, 2**60 + 1, None, 10**30, 0, 1]
    b: list[object] = [*(rng.pareto(1.2, count) * 7).tolist(), 0.0, 0.125, -0.3, 1e-200, 1e50, float("nan"), 0.1, 5e-324, 0.25]
    g: list[object] = ["x", 3, "other", None, 4] * (len(a) // 5 + 1)
    return [{"a": x, "b": y, "g": z} for x, y, z in zip(a, b, g, strict=False)]


def columns(listed: list[dict[str, object]]) -> dict[str, np.ndarray]:
    """The same as columns; a mixes integers beyond 64 bits and None, so it is one of objects."""
    return {
        "a": np.array([r["a"] for r in listed], dtype=object),
        "b": np.array([r["b"] for r in listed], dtype=float),
        "g": np.array([r["g"] for r in listed], dtype=object),
    }


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_columns_are_never_below_the_exact_loss_and_hardly_above(policy: Policy) -> None:
    listed = records()
    for got, record in zip(policy(columns(listed)).tolist(), listed, strict=True):
        exact = policy.exact(record)
        assert Fraction(got) >= exact
        if policy in ON_A_GRID:  # up to two steps more, of 2^-20 deviations or scales, in the root or in the loss itself
            assert math.sqrt(got) <= math.sqrt(exact) * (1 + 1e-13) + 2.0**-18 or got <= float(exact) + 2.0**-16
        else:
            assert got <= float(exact) * (1 + 1e-14) + 1e-290


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_engine_agrees(policy: Policy) -> None:
    ibis = pytest.importorskip("ibis")
    listed = [r for r in records() if not isinstance(r["a"], int) or abs(r["a"]) < 2**62]
    keep = [{**r, "g": r["g"] if isinstance(r["g"], str) else None} for r in listed]
    inner = Piecewise("g", {"x": SPLIT}, ConstantPolicy("1/3")) if isinstance(policy, Piecewise) else policy
    arrays = {"a": [r["a"] for r in keep], "b": [r["b"] for r in keep], "g": [r["g"] for r in keep]}
    table = ibis.memtable(arrays, schema={"a": "int64", "b": "float64", "g": "string"})
    got = ibis.duckdb.connect().execute(table.mutate(P=inner.expression(table)).P).to_numpy()
    want = [float(inner.exact(r)) for r in keep]
    if policy in ON_A_GRID:
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2.0**-16)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_plain_data_and_pickle_give_it_back(policy: Policy) -> None:
    spec = json.loads(json.dumps(plain(policy.to_spec())))
    assert policy_from_spec(spec) == policy == pickle.loads(pickle.dumps(policy))
    assert hash(policy_from_spec(spec)) == hash(policy)
    for broken in ({**spec, "further": 1}, {key: value for key, value in spec.items() if key != list(spec)[-1]}):
        with pytest.raises(InvalidSpec):
            policy_from_spec(broken)


def test_table_2_of_the_paper() -> None:
    """Establishments 1 and 2 become 3 rows, 3 and 4 two, 5 one: 9, 9, 4, 4 and 1 times rho."""
    table = [(150, 10_000_000), (50, 15_000_000), (100, 10_000_000), (50, 10_000_000), (20, 1_000_000)]
    policy = Splitting(1, {"employees": 50, "payroll": 5_000_000})
    rows = [dict(zip(("employees", "payroll"), record, strict=True)) for record in table]
    assert [policy.exact(row) for row in rows] == [9, 9, 4, 4, 1]
    arrays = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    assert policy(arrays).tolist() == [9, 9, 4, 4, 1]
    assert Splitting(1, policy.thresholds, "pure")(arrays).tolist() == [3, 3, 2, 2, 1]


positive = st.fractions(Fraction(1, 1000), 10**6, max_denominator=1000)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abc"), st.tuples(positive, positive), min_size=1),
    st.lists(st.fractions(0, 10**7, max_denominator=999), min_size=3, max_size=3),
)
def test_exact_gaussian_is_never_above_splitting(noise: dict[str, tuple[Fraction, Fraction]], sizes: list[Fraction]) -> None:
    """One mechanism, two policies: thresholds T_a and budgets rho_a mean variances T_a^2 / (2 rho_a)."""
    split = Splitting(sum(rho for _, rho in noise.values()), {a: T for a, (T, _) in noise.items()})
    exact = GaussianSums({a: T**2 / (2 * rho) for a, (T, rho) in noise.items()})
    record = dict(zip("abc", sizes, strict=True))
    assert exact.exact(record) <= split.exact(record)
    # Where every attribute is at a common multiple of its threshold, they are the same.
    corner = {a: 3 * T for a, (T, _) in noise.items()}
    assert exact.exact(corner) == split.exact(corner)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 2**70), st.floats(0, 1e15), st.decimals(0, 10**6, places=3)), min_size=1), positive)
def test_ceilings_are_exact(values: list[object], threshold: Fraction) -> None:
    got = ceilings(np.array(values, dtype=object), threshold)
    for number, ceiling in zip(values, got.tolist(), strict=True):
        exact = math.ceil(Fraction(number) / threshold)  # type: ignore[arg-type]
        assert ceiling == exact if exact < 2**50 else exact <= ceiling <= exact * (1 + 2.0**-49)


@pytest.mark.parametrize("threshold", [Fraction(1, 3), Fraction(7, 5), Fraction(2**40 + 1), Fraction(0.1)])
def test_ceilings_of_arrays_next_to_multiples(threshold: Fraction) -> None:
    """Floats around multiples of the threshold, where a float quotient may fall on either side."""
    near = np.array([float(threshold * m) for m in range(1, 400)])
    values = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, np.inf), np.arange(400.0)])
    assert ceilings(values, threshold).tolist() == [math.ceil(Fraction(v) / threshold) for v in values.tolist()]
    assert (ceilings(np.arange(2000, dtype=np.int32), threshold) == [math.ceil(v / threshold) for v in range(2000)]).all()


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_cutting_a_measure_towards_zero_never_costs_more(policy: Policy) -> None:
    for record in records(40):
        cut = {**record, **{name: 0 if record[name] is None else 0.75 * float(record[name]) for name in "ab"}}  # type: ignore[arg-type]
        assert policy.exact(cut) <= policy.exact(record)


def test_compositions() -> None:
    record = {"a": 120, "b": 0.5, "g": "x"}
    one, two = SPLIT.exact(record), GAUSS.exact(record)
    assert SumOfPolicies([SPLIT, GAUSS]).exact(record) == one + two
    assert MaximumOfPolicies([SPLIT, GAUSS]).exact(record) == max(one, two)
    assert ScaledPolicy("2/3", SPLIT).exact(record) == one * Fraction(2, 3)
    by_group = Piecewise("g", {"x": SPLIT, "y": GAUSS}, ConstantPolicy(5))
    assert [by_group.exact({**record, "g": g}) for g in ("x", "y", "z", None)] == [one, two, 5, 5]
    assert by_group.attributes == ("g", "a", "b")
    assert Piecewise("n", {np.int64(1).item(): SPLIT}, ConstantPolicy(5)).exact({**record, "n": np.int64(1)}) == one


def test_pure_to_zcdp_is_the_sharp_conversion() -> None:
    record = {"a": 30, "b": 1}
    assert AsZcdp(LAPLACE).exact(record) == Fraction(pure_rho(LAPLACE.exact(record)))
    assert AsZcdp(LAPLACE).exact({"a": 10**9, "b": 0}) == LAPLACE.exact({"a": 10**9, "b": 0})


@pytest.mark.parametrize("scale", ["1/3", 5, 700])
def test_laplace_sums_cost_their_relative_entropy_under_zcdp(scale: object) -> None:
    """The divergences of discrete Laplace noise in steps of 1, moved by u, added up; at order 1 they come to what is stated."""
    rate = 1 / Fraction(scale)  # type: ignore[arg-type]
    policy = AsZcdp(LaplaceSums({"a": scale}), rate)
    for u in (0, 1, 2, 40, 150):
        stated = policy.exact({"a": u})
        assert stated == rho_of_laplace(u * rate, rate) and stated <= AsZcdp(LaplaceSums({"a": scale})).exact({"a": u})
        above = float(policy({"a": np.array([float(u)])})[0])
        assert Fraction(above) >= stated and above <= float(stated) * (1 + 1e-12)
        z = np.arange(-40_000, 40_001)
        logs = -np.abs(z) * float(rate) + math.log(math.tanh(float(rate) / 2))
        moved = -np.abs(z - u) * float(rate) + math.log(math.tanh(float(rate) / 2))
        assert float((np.exp(logs) * (logs - moved)).sum()) == pytest.approx(float(stated), rel=1e-9, abs=1e-12)
        for order in (1.1, 2.0, 20.0):
            top = (order * logs + (1 - order) * moved).max()
            divergence = (math.log(np.exp(order * logs + (1 - order) * moved - top).sum()) + top) / (order - 1)
            assert divergence <= order * float(stated) * (1 + 1e-9) + 1e-9


def test_missing_negative_and_decimal_measures() -> None:
    assert GAUSS.exact({"a": None, "b": float("nan")}) == GAUSS.exact({"a": 0, "b": 0}) == Fraction(1, 18)
    assert GAUSS.exact({"a": -5, "b": Decimal("-0.1")}) == GAUSS.exact({"a": 5, "b": Fraction(1, 10)})
    assert SPLIT({"a": np.array([np.inf, np.nan]), "b": np.zeros(2)}).tolist() == [np.inf, 0.5]


def test_least_loss_of_any_record() -> None:
    by_group = Piecewise("g", {"x": SPLIT, "y": GAUSS}, ConstantPolicy(5))
    assert [policy_min(p) for p in (SPLIT, GAUSS, by_group)] == [Fraction(1, 2), Fraction(1, 18), Fraction(1, 18)]
    apart = SumOfPolicies(
        [
            Piecewise("g", {"x": ConstantPolicy(1)}, ConstantPolicy(2)),
            Piecewise("g", {"y": ConstantPolicy(1)}, ConstantPolicy(4)),
        ]
    )
    assert policy_min(apart) == 3  # never both at once


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ConstantPolicy(-1), "loss"),
        (lambda: ConstantPolicy(1, "renyi"), "in_unit"),
        (lambda: Splitting(1, {"a": 0}), "thresholds"),
        (lambda: Splitting(1, {"a": "x"}), "thresholds"),
        (lambda: Splitting(1, ["a"]), "thresholds"),
        (lambda: GaussianSums({"a": 1e60}), "variances"),
        (lambda: GaussianSums({"a": 1}, 3), "counts"),
        (lambda: SumOfPolicies([]), "parts"),
        (lambda: SumOfPolicies([ConstantPolicy(1), ConstantPolicy(1, "pure")]), "units"),
        (lambda: AsZcdp(ConstantPolicy(1)), "pure"),
        (lambda: Piecewise("g", {True: ConstantPolicy(1)}, ConstantPolicy(1)), "groups"),
        (lambda: ScaledPolicy(0, ConstantPolicy(1)), "factor"),
        (lambda: GAUSS.exact({"a": 1}), "'b'"),
        (lambda: GAUSS({"a": np.ones(2)}), "'b'"),
        (lambda: GAUSS.exact({"a": "many", "b": 1}), "record"),
        (lambda: TransformedNoise("cube", 1, 1), "shape"),
        (lambda: StudentNoise(1, 1), "power"),
    ],
)
def test_refusals_name_the_field(build: object, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        build()  # type: ignore[operator]


def test_deep_nests_are_refused_when_built_and_when_read() -> None:
    policy: Policy = ConstantPolicy(1)
    for _ in range(7):
        policy = ScaledPolicy(1, policy)
    assert policy_from_spec(json.loads(json.dumps(plain(policy.to_spec())))) == policy
    for build in (lambda: ScaledPolicy(1, policy), lambda: SumOfPolicies((ConstantPolicy(1), policy))):
        with pytest.raises(InvalidProblem, match="deep"):
            build()
    spec = {"kind": "scaled", "factor": "1", "part": plain(policy.to_spec())}
    with pytest.raises(InvalidSpec, match="deep"):
        policy_from_spec(spec)


@pytest.mark.parametrize("spec", [None, {"kind": "wild"}, {"kind": ["constant"]}, {"kind": "sum", "parts": 3}])
def test_unknown_data_are_refused(spec: object) -> None:
    with pytest.raises(InvalidSpec):
        policy_from_spec(spec)


def test_a_scaled_policy_of_columns_is_its_factor_times_the_policy() -> None:
    """Never below the exact number, and by no more than roundings above it."""
    scaled, one = ScaledPolicy("5/2", SPLIT), {"a": 120, "b": 0.5}
    exact = scaled.exact(one)
    assert exact == Fraction(5, 2) * SPLIT.exact(one)
    found = float(scaled({name: np.array([value], dtype=float) for name, value in one.items()})[0])
    assert exact <= found <= float(exact) * (1 + 1e-12)
