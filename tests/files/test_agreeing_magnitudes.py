"""Agreeing tables of releases of numbers of any size, 1 to 1e15, large and small in one table: products, marginals and additive
noise against the nearest nonnegative counts in rationals. The whole run: `pytest -m heavy` of this file."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from designer import (
    Counts,
    DesignFailed,
    Domain,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredWorkload,
    Workload,
    design,
    metrics,
)
from designer.base.published_margins import PublishedSums
from designer.certificate.frozen import FrozenMechanism
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.files.table_files import agreeing_tables
from designer.sampling.entropy import SeededEntropy
from tests.oracles.nearest_in_rationals import minimum, rational, squares

DOMAIN = Domain.of({"sex": ["F", "M"], "age": ["1", "2", "3"]})
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
    with patch.object(FrozenMechanism, "release_entropy", lambda self: source):
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
