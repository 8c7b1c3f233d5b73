"""Small specs and releases of every format and every closed kind, in the current form: the corpus.

`python -m tests.oracles.spec_corpus` writes tests/data/specs/ and tests/data/releases/ anew. It is run where a form changes, as
long as no version was published; the corpus of the first published version is kept for good.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

from designer import Problem, StructuredWorkload, Workload, design, invariants, metrics
from designer.base.json_text import readable_text
from designer.certificate.frozen import FrozenMechanism, to_spec
from designer.certificate.guarantee import About
from designer.domains.products_plan import design_structured
from designer.files.releases import release_document
from designer.files.schema import spec_schema
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism.additive import AdditiveMechanism
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.problem.domain import Domain
from designer.problem.reading import Reading
from designer.relations.metrics.presence import Presence
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import MWEM
from designer.tables import (
    Condition,
    Count,
    Groups,
    Measure,
    PureSum,
    SlowlyScaledSum,
    StudentNoise,
    Sum,
    TablePlan,
    TransformedNoise,
    UnitSplitting,
    VarianceBy,
)
from designer.tradeoff.functions import EpsilonDelta, LaplaceTradeoff
from tests.oracles.release_specimens import releases
from tests.oracles.spec_specimens import specimens

DATA = Path(__file__).parents[1] / "data"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LARGEST = 316_000  # bytes of all specs
# "total" of an attribute: leaving it out of a term says the same, and is what is written. A promise about samples is that of
# no frozen object: tests, which hold a tradeoff function, take symmetric ones.
NEVER_WRITTEN = {("kind", "total"), ("definition", "tradeoff_subsampled")}


@cache
def closed_kinds() -> frozenset[tuple[str, str]]:
    """What the schema of specs lists: definitions that `kind` or their format tells apart, and values of closed keys."""
    schema = spec_schema()
    found = {("format", name) for name in schema["properties"]["format"]["enum"]}
    found |= {("definition", name) for name, body in schema["$defs"].items() if "const" in _property(body, "kind")}

    def walk(node: Any) -> None:
        for key, form in node.get("properties", {}).items() if isinstance(node, dict) else ():
            if isinstance(form, dict):
                found.update((key, str(value)) for value in form.get("enum", ()))
        for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            walk(part)

    walk(schema["$defs"])
    return frozenset(found - NEVER_WRITTEN)


def _property(body: Any, key: str) -> Any:
    return body.get("properties", {}).get(key, {}) if isinstance(body, dict) else {}


@cache
def _validators() -> dict[str, tuple[str, jsonschema.Draft202012Validator]]:
    """For each definition with a kind: the kind, and what an object of it is."""
    definitions = spec_schema()["$defs"]
    kinds = {name: _property(body, "kind").get("const") for name, body in definitions.items()}
    return {
        name: (kind, jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions}))
        for name, kind in kinds.items()
        if kind is not None
    }


def kinds_in(spec: dict[str, Any]) -> set[tuple[str, str]]:
    """Those of `closed_kinds` that a spec holds."""
    found = {("format", spec["format"])}

    def walk(node: Any) -> Iterator[dict[str, Any]]:
        if isinstance(node, dict):
            yield node
        for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from walk(part)

    for node in walk([spec["mechanism"], spec.get("about", {})]):
        found |= {(key, str(value)) for key, value in node.items() if isinstance(value, (str, int))}
        known = [(name, check) for name, (kind, check) in _validators().items() if node.get("kind") == kind]
        found |= {("definition", name) for name, check in known if check.is_valid(node)}
    return found & closed_kinds()


def made() -> dict[str, FrozenMechanism]:
    """The specimens, and what else it takes to have every closed kind."""
    return {**specimens(), **_norms(), **_families(), **_others()}


def _norms() -> dict[str, FrozenMechanism]:
    matrix = np.random.default_rng(1).integers(-2, 3, (2, 4)).astype(float)
    plane = Problem(Workload(matrix), metrics.uniform(4, 0.5))
    normal = Problem(Workload(matrix), metrics.uniform(4, 0.5), notion="zcdp")
    pure = {f"family {name}": design(plane, name).mechanism for name in ("k_norm", "ellipsoid", "box")}
    told = Problem(Workload(matrix[:1]), metrics.uniform(4, 0.5), notion="approximate", delta=0.01)
    pure["family rounded"] = design(told, "gaussian").mechanism
    return pure | {f"family {name}": design(normal, name).mechanism for name in ("gaussian", "diagonal_gaussian")}


def _families() -> dict[str, FrozenMechanism]:
    """Every name that a mechanism may give for its family: names are in specs for ever."""
    one = design(Problem(Workload([[1.0, 0.0]]), metrics.uniform(2, 0.5)), "laplace").mechanism
    assert isinstance(one, AdditiveMechanism)
    names = sorted(value for key, value in closed_kinds() if key == "family")
    listed = {name for name in names if name in _property(spec_schema()["$defs"]["mechanism"], "family")["enum"]}
    named: dict[str, FrozenMechanism] = {f"named {name}": replace(one, family=name) for name in sorted(listed)}
    table = specimens()["lattice l1"]
    assert isinstance(table, LatticeMechanism)
    return {**named, "named lattice_gaussian": replace(table, family="lattice_gaussian")}


def read_with(decimal: str) -> About:
    """Words about records whose file has this decimal mark."""
    return About(records=Reading.of({"decimal": decimal}))


def _others() -> dict[str, FrozenMechanism]:
    """Laws, selections, outputs, units and queries that no specimen has."""
    domain = Domain.of({"age": 4, "pay": 3})
    terms: list[dict[str, Any]] = [{"age": "identity"}, {"age": "total"}, {"pay": "ranges"}]
    mwem = specimens()["mwem"]
    assert isinstance(mwem, MWEM)
    far = invariants.margins((2, 2)).protect(0.5, per_distance="l1")
    days = metrics.line(np.array(["2026-01-01", "2026-01-02", "2026-01-05"], dtype="datetime64[D]"), 1, 0.5)
    moments = metrics.line(np.array(["2026-01-01T00:00:00", "2026-01-01T00:00:01"], dtype="datetime64[us]"), 1, 0.5)
    tallest = metrics.taxonomy([["a"], ["a"], ["b"]], [1.0, 2.0], form="max")
    return {
        "structured kinds": design_structured(StructuredWorkload.of(domain, terms), Presence(mu=0.5)),
        "mwem last": replace(mwem, output="last"),
        "selection permute": best_selection(Linear(Workload.identity(2)), metrics.uniform(2, 0.5), "permute_and_flip"),
        "test two records": OddsRatioTest(Margins((6, 4), (5, 5)), EpsilonDelta(1), adjacency=2),
        "test laplace": OddsRatioTest(Margins((6, 4), (5, 5)), LaplaceTradeoff("1/2"), noise="piecewise"),
        "lattice distance l1": design(Problem(Workload.identity(4), far), "lattice_laplace", shape="l1").mechanism,
        "line days": design(Problem(Workload([[0.0, 1.0, 4.0]]), days), "laplace").mechanism.described(read_with(",")),
        "line moments": design(Problem(Workload([[0.0, 1.0]]), moments), "laplace").mechanism.described(read_with(".")),
        "taxonomy max": design(Problem(Workload([[0.0, 1.0, 4.0]]), tallest), "laplace").mechanism,
        "table others": _other_plan(),
    }


def _other_plan() -> TablePlan:
    pay, everybody = Measure("pay"), Groups()
    states = Groups(["state"], keys=[["DE"], ["RI"]])
    operators = ("==", "<", "<=", ">=")
    counts = [Count(f"count {op}", everybody, (Condition("pay", op, 1),), 2) for op in operators]
    return TablePlan(
        [
            *counts,
            PureSum("pure", everybody, measure=pay, scale=10),
            SlowlyScaledSum("student", everybody, measure=pay, noise=StudentNoise.of_deviation(100)),
            SlowlyScaledSum("log", everybody, measure=pay, noise=TransformedNoise("log", 100, "0.5")),
            SlowlyScaledSum("root", everybody, measure=pay, noise=TransformedNoise("root", 100, "0.5")),
            Sum("sum", states, variance=VarianceBy("state", {"DE": 4, "RI": 5}, 6), measure=pay),
        ],
        UnitSplitting([pay], [10]),
    )


def corpus() -> dict[str, dict[str, Any]]:
    """The specs of a corpus by the names of their files: each has a kind that no other has, or a release in the corpus."""
    specs = {re.sub("[^a-z0-9]+", "_", name): json.loads(json.dumps(to_spec(maker))) for name, maker in made().items()}
    kinds = {name: kinds_in(spec) for name, spec in specs.items()}
    times = Counter(kind for held in kinds.values() for kind in held)
    for name in sorted(specs, key=lambda name: -len(readable_text(specs[name]))):
        if name not in release_corpus() and all(times[kind] > 1 for kind in kinds[name]):
            times.subtract(kinds[name])
            del specs[name]
    return specs


@cache
def release_corpus() -> dict[str, dict[str, Any]]:
    """A release of each format, by the name of the file of its spec."""
    found: dict[str, dict[str, Any]] = {}
    for name, (maker, released) in releases().items():
        if maker.format not in {document["spec"]["format"] for document in found.values()}:
            found[re.sub("[^a-z0-9]+", "_", name)] = json.loads(json.dumps(release_document(maker, released, time=NOON)))
    return found


def main() -> None:
    """Write the corpus anew."""
    for folder, files in (("specs", corpus()), ("releases", release_corpus())):
        for path in (DATA / folder).glob("*.json"):
            path.unlink()
        for name, content in files.items():
            (DATA / folder / f"{name}.json").write_text(readable_text(content), encoding="utf-8")


if __name__ == "__main__":
    main()
