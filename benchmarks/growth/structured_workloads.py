"""Products of prefix sums over more and more attributes, designed and released, and of ranges of more and more values."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from benchmarks.growth.case import Case
from designer.domains.products_plan import design_structured


def prefix_sums(attributes: int) -> str:
    """64 values an attribute: 64^attributes queries, Gaussian, budget 1."""
    return _designed({f"a{i}": 64 for i in range(attributes)}, "prefix", "gaussian")


def laplace_sums(attributes: int) -> str:
    """The same with Laplace noise."""
    return _designed({f"a{i}": 64 for i in range(attributes)}, "prefix", "laplace")


def ranges(values: int) -> str:
    """All rectangles of a square grid."""
    return _designed({"x": values, "y": values}, "ranges", "gaussian")


def tables(attributes: int) -> str:
    """All tables of two attributes of 10 values, running totals along every other attribute."""
    from itertools import combinations

    from designer import Presence, StructuredWorkload
    from designer.problem.domain import Domain

    domain = Domain.of({f"a{i}": 10 for i in range(attributes)})
    asked = dict.fromkeys(domain.attributes[::2], "prefix")
    workload = StructuredWorkload.tables(domain, list(combinations(domain.attributes, 2)), asked)
    made = design_structured(workload, Presence(mu=1.0))
    return f"{workload.count} queries, root mean squared error {made.root_mean_squared_error:.4g}"


def database(attributes: int) -> tuple[int, Any]:
    """A million records with 64 values an attribute, in DuckDB."""
    import ibis

    connection = ibis.duckdb.connect()
    columns = ", ".join(f"(floor(random() * 64))::INTEGER AS a{i}" for i in range(attributes))
    connection.raw_sql(f"CREATE TABLE records AS SELECT {columns} FROM range(1000000)")
    return attributes, connection.table("records")


def released(given: tuple[int, Any]) -> str:
    """Designed, saved, loaded, released from the database, and a hundred answers compared with the true ones."""
    from designer import Presence, StructuredWorkload, load
    from designer.problem.domain import Domain

    attributes, table = given
    domain = Domain.of({f"a{i}": 64 for i in range(attributes)})
    made = design_structured(StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, "prefix")]), Presence(mu=1.0))
    with tempfile.TemporaryDirectory() as folder:
        noisy = load(made.save(f"{folder}/made.json")).release(table)
    places = np.random.default_rng(0).integers(0, 64, (100, attributes))
    records = table.to_pyarrow()
    columns = np.stack([records[name].to_numpy() for name in domain.attributes])
    true = [(columns <= place[:, None]).all(axis=0).sum() for place in places]
    off = (noisy.answers(places) - true) / noisy.standard_errors(places)
    return f"{made.measured} coordinates, answers off by {np.sqrt(np.mean(off**2)):.2f} standard errors"


def _designed(sizes: dict[str, int], kind: str, noise: str) -> str:
    from designer import Presence, StructuredWorkload
    from designer.problem.domain import Domain

    domain = Domain.of(dict(sizes))
    workload = StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, kind)])
    made = design_structured(
        workload, Presence(**{"epsilon" if noise == "laplace" else "mu": 1.0}), "laplace" if noise == "laplace" else "gaussian"
    )
    gap = "" if made.optimality is None or noise == "laplace" else f", gap {made.optimality.gap:.1e}"
    return f"{workload.count} queries, root mean squared error {made.root_mean_squared_error:.5g}{gap}"


def beside_a_search(values: int) -> str:
    """Laplace running totals of one attribute, certified, beside a bare search for a p-identity from one random start."""
    import time

    from designer import Presence, StructuredMechanism, StructuredWorkload
    from designer.problem.domain import Domain
    from solvers.programs.strategy import best_p_identity, p_identity_error

    def designed(size: int) -> StructuredMechanism:
        asked = StructuredWorkload.of(Domain.of({"a": size}), [{"a": "prefix"}])
        return design_structured(asked, Presence(epsilon=1.0), "laplace")

    designed(16)  # what is imported and set up once
    start = time.process_time()
    made = designed(values)
    ours = time.process_time() - start
    gram, budget = made.workload.terms[0][0].gram, np.ones(values)
    start = time.process_time()
    theta, _ = best_p_identity(gram / np.trace(gram), budget, max(1, round(values / 16)), 1, 0, 1000)
    theirs = time.process_time() - start
    error = np.sqrt(p_identity_error(theta, gram, budget)[0] / made.workload.count)
    return f"time over that of the search {ours / theirs:.2f}, error over its error {made.root_mean_squared_error / error:.4f}"


def from_a_file(attributes: int) -> str:
    """A problem file of 64^attributes running totals: read, designed, saved, loaded, verified."""
    from pathlib import Path

    from designer import design, load, read_problem

    names = [f"a{i}" for i in range(attributes)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sums.toml"
        path.write_text(
            "[domain]\n" + "".join(f"{name} = 64\n" for name in names) + "[workload]\nterms = [{"
            + ", ".join(f'{name} = "prefix"' for name in names)
            + '}]\n[relation]\nmetric = "add_remove"\nmu = 1\n[problem]\nnotion = "zcdp"\n'
        )  # fmt: skip
        made = design(read_problem(path).problem, "structured").mechanism
        again = load(made.save(Path(folder) / "made.json"))
    return f"{64**attributes} queries, equal: {again.fingerprint == made.fingerprint}, gap {made.optimality.gap:.1e}"


CASES = (
    Case("Laplace running totals beside a bare p-identity search", "values", (64, 128, 256, 512), beside_a_search),
    Case("running totals from a problem file", "attributes", (1, 2, 3, 4, 5), from_a_file),
    Case("products of 64 prefix sums, Gaussian", "attributes", (1, 2, 3, 4, 5), prefix_sums),
    Case("products of 64 prefix sums, Laplace", "attributes", (1, 2, 3, 4, 5), laplace_sums),
    Case("products of 64 prefix sums released from DuckDB", "attributes", (1, 2, 3, 4), released, database),
    Case("rectangles of a grid, Gaussian", "values an axis", (32, 64, 128, 256), ranges),
    Case("tables with running totals, Gaussian", "attributes", (5, 10, 20, 40), tables),
)
