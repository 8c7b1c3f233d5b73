"""Spec files: round trips, and an attacker who alters every field, with and without a fresh seal."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy import sparse

from designer import (
    AdditiveMechanism,
    Domain,
    InvalidProblem,
    InvalidSpec,
    NotPrivate,
    Problem,
    Workload,
    design,
    load,
    metrics,
)
from designer.base.json_text import canonical, plain
from designer.certificate.certificate import describe_pair
from designer.certificate.frozen import save, seal, to_spec
from designer.cli import main
from designer.designing.printouts import page
from designer.files.schema import spec_schema
from tests.oracles.lazy import Lazy, designed

SCHEMA = spec_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
NAMES = ["plain", "Zürich 東京 🗽", 'say "no" \\ / \'', "two\nlines\ttab", ""]
INF = math.inf
CORPUS = Path(__file__).parents[1] / "data" / "specs"


@cache
def mechanisms() -> Lazy[AdditiveMechanism]:
    generator = np.random.default_rng(1)
    matrix = generator.integers(-2, 3, (3, 5)).astype(float)
    matrix[2] = 1.0  # constant: silent under every metric that keeps the number of records
    named = Workload(matrix, queries=NAMES[:3], elements=NAMES)
    rows = Workload(sparse.csr_array(matrix), elements=NAMES)
    d = np.abs(np.subtract.outer(range(5), range(5))).astype(float)
    islands = np.where(np.add.outer(range(5), range(5)) % 2 == 0, 2 * np.ceil(d), INF)
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    problems = {
        "uniform": Problem(named, metrics.uniform(5, 0.1)),
        "matrix": Problem(named, metrics.from_matrix(d)),
        "infinite": Problem(rows, metrics.from_matrix(islands), loss="max"),
        "closure": Problem(named, metrics.from_matrix(d**2, closure=True), loss="absolute"),
        "line": Problem(rows, metrics.euclidean([0.1, 0.4, 0.2, 3.0, 3.0 + 2**-40])),
        "euclidean": Problem(named, metrics.euclidean(generator.random((5, 2)), 3.0)),
        "great_circle": Problem(named, metrics.great_circle(generator.random((5, 2)) * 50, 0.01)),
        "hamming": Problem(Workload.marginals(domain, [["sex"], ["age"]]), metrics.hamming(domain, [0.5, INF])),
        "add_remove": Problem(named, metrics.add_remove(5, [0.1, 0.2, 0.3, 0.4, INF])),
        "vacuous": Problem(named, metrics.from_matrix(np.where(np.eye(5) == 1, 0, INF)), allow_vacuous=True),
    }
    plane = Problem(Workload(matrix[:2], elements=NAMES), metrics.uniform(5, 0.5))
    normal = Problem(Workload(matrix, elements=NAMES), metrics.uniform(5, 0.5), notion="zcdp")
    told = Problem(Workload(matrix, elements=NAMES), metrics.uniform(5, 0.5), notion="approximate", delta=0.01)
    return Lazy(
        {name: designed(problem, "laplace") for name, problem in problems.items()}
        | {name: designed(plane, name) for name in ("k_norm", "ellipsoid", "box")}
        | {name: designed(normal, name) for name in ("gaussian", "diagonal_gaussian")}
        | {f"approximate {name}": designed(told, name) for name in ("gaussian", "diagonal_gaussian", "laplace")}
    )


KINDS = list(mechanisms())
RELATION_KINDS = KINDS[: KINDS.index("vacuous")]
FAMILY_KINDS = KINDS[KINDS.index("vacuous") + 1 :]


def resealed(spec: dict[str, Any]) -> dict[str, Any]:
    """What an attacker does who can read this program: fingerprints and seal made to fit."""
    spec = dict(spec)
    fingerprint = hashlib.sha256(canonical(spec["mechanism"])).hexdigest() if "mechanism" in spec else "0" * 64
    if "fingerprint" in spec:
        spec["fingerprint"] = fingerprint
    if isinstance(spec.get("guarantee"), dict) and "fingerprint" in spec["guarantee"]:
        spec["guarantee"] = {**spec["guarantee"], "fingerprint": fingerprint}
    return {**spec, "seal": seal(spec)}


def read(folder: Path, spec: Any) -> AdditiveMechanism:
    path = folder / "altered.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return load(path, allow_vacuous=True)


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind: str, tmp_path: Path) -> None:
    made = mechanisms()[kind]
    path = made.save(tmp_path / "spec.json")
    twin = load(path, allow_vacuous=kind == "vacuous")
    assert twin == made
    assert twin.fingerprint == made.fingerprint
    assert (twin.workload, twin.norm.map.tolist(), twin.grid) == (made.workload, made.norm.map.tolist(), made.grid)
    assert (twin.privacy, twin.guarantee, twin.optimality) == (made.privacy, made.guarantee, made.optimality)
    assert twin.workload.is_sparse == made.workload.is_sparse
    assert dict(twin.provenance) == plain(made.provenance)
    again = twin.save(tmp_path / "again.json")
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_saved_specs_fit_the_published_schema(kind: str, tmp_path: Path) -> None:
    VALIDATOR.validate(json.loads(mechanisms()[kind].save(tmp_path / "s.json").read_text(encoding="utf-8")))


@pytest.mark.every_room
def test_the_schema_is_closed() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def walk(node: Any, path: str) -> Iterator[str]:
        if isinstance(node, dict):
            if node.get("type") == "object" and node.get("additionalProperties") is not False:
                yield path
            for key, value in node.items():
                yield from walk(value, f"{path}/{key}")
        elif isinstance(node, list):
            for i, value in enumerate(node):
                yield from walk(value, f"{path}/{i}")

    free = ["options", "tried", "prices"]  # options of a family, notes on what was tried, what proves a bound again
    labels = [
        f"/$defs/{kind}/properties/own" for kind in ("splitting", "variance_by")
    ]  # keyed by labels of groups, closed below
    units = "/$defs/about/properties/units"  # keyed by names of queries
    read = [  # keyed by names of columns, and by codes
        path for path in walk(SCHEMA, "") if path.endswith(("_reading/properties/labels", "reading/properties/columns"))
    ]
    assert len(read) == 2
    assert sorted(walk(SCHEMA, "")) == sorted(
        [units, *read, *labels, *(f"/$defs/provenance/properties/{name}" for name in free)]
    )


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in nested data, containers included."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from leaves(value, (*path, key))


def get(spec: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        spec = spec[key]
    return spec


def changed(spec: dict[str, Any], path: tuple[Any, ...], edit: Callable[[Any, Any], None]) -> dict[str, Any]:
    twin = parent = copy.copy(spec)
    for key in path[:-1]:  # what is not on the way is shared
        parent[key] = parent = copy.copy(parent[key])
    edit(parent, path[-1])
    return twin


def put(value: Any) -> Callable[[Any, Any], None]:
    def edit(parent: Any, key: Any) -> None:
        parent[key] = value

    return edit


def delete(parent: Any, key: Any) -> None:
    del parent[key]


def double(parent: Any, key: Any) -> None:
    if isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    else:
        parent[f"{key}_2"] = copy.deepcopy(parent[key])


def edits(value: Any) -> list[Callable[[Any, Any], None]]:
    """Ways to alter a field: numbers up and down, texts changed, entries deleted and doubled, types swapped."""
    found = [delete, double, put(None), put([]), put({}), put("x"), put(-1), put([[value]]), put({"a": value})]
    if isinstance(value, bool):
        found += [put(not value), put(int(value))]
    elif isinstance(value, (int, float)):
        found += [
            put(v) for v in (value * 1.5, value / 2, value * (1 + 2.0**-50), value + 1, value - 1, -value, 0, 1e999, str(value))
        ]
        found += [put(bool(value)), put(10**400), put(5e-324), put(1e308), put("inf")]
    elif isinstance(value, str):
        found += [put(value + " "), put(value[:-1]), put(value.upper()), put("inf"), put(1.0), put([value]), put("\ud800")]
    elif isinstance(value, list) and value:
        found += [put(value[::-1]), put(value[:-1]), put(value + value[-1:])]
    return found


def mutants(kind: str, most: int) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    spec = json.loads(json.dumps(to_spec(mechanisms()[kind])))
    every = [(path, edit) for path in leaves(spec) if path for edit in edits(get(spec, path))]
    # Every edit of every leaf is 29,000 loads, 2.5 minutes; here a fixed sample of each kind.
    chosen = random.Random(kind).sample(every, min(most, len(every)))
    found = [(path, changed(spec, path, edit)) for path, edit in chosen]
    return [(path, mutant) for path, mutant in found if canonical(mutant) != canonical(spec)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_altered_field_is_refused_under_the_old_seal(kind: str, tmp_path: Path) -> None:
    for path, mutant in mutants(kind, 60):
        assert mutant.get("seal") != seal(mutant), path
    for path, mutant in mutants(kind, 40):
        with pytest.raises(InvalidSpec):
            read(tmp_path, mutant)
            pytest.fail(f"{path} was altered and loaded")


def claims(spec: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Guarantee and certificate of a file, without the version of the software."""
    return {k: v for k, v in spec["guarantee"].items() if k != "software"}, spec["certificate"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [50, pytest.param(150, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", KINDS)
def test_an_attacker_with_a_fresh_seal_gets_nothing_but_what_is_proven(kind: str, number: int, tmp_path: Path) -> None:
    """Each mutant is refused, or its own recomputed guarantee is word for word what the file claims, and holds."""
    loaded, original = [], canonical(to_spec(mechanisms()[kind]))
    for path, mutant in mutants(kind, number):
        fresh = resealed(mutant)
        if canonical(fresh) == original:  # the alteration was in a fingerprint or the seal
            continue
        try:
            twin = read(tmp_path, fresh)
        except (InvalidSpec, NotPrivate):
            continue
        loaded.append(path)
        assert twin.privacy.holds
        assert twin.privacy.worst_ratio <= 1
        own = to_spec(twin)
        file_guarantee, file_certificate = claims(mutant)
        own_guarantee, own_certificate = claims(own)
        assert file_guarantee["relation"] == own_guarantee["relation"]
        assert file_guarantee["notion"] == own_guarantee["notion"]
        assert file_guarantee["unprotected"] == own_guarantee["unprotected"]
        for name, value in file_guarantee["parameters"].items():
            own_value = own_guarantee["parameters"][name]
            assert value == own_value or value == pytest.approx(own_value, rel=1e-9)
        assert abs(Fraction(file_certificate["worst_ratio"]) - Fraction(own_certificate["worst_ratio"])) <= Fraction(1, 2**40)
        assert {**file_certificate, "worst_ratio": 0, "arithmetic": 0, "witness": 0} == {
            **own_certificate,
            "worst_ratio": 0,
            "arithmetic": 0,
            "witness": 0,
        }
    # What may load: notes on how it was made, claims of optimality,
    # and changes of the mechanism that leave all its claims true.
    free = {"provenance", "optimality", "mechanism", "guarantee", "certificate"}
    assert {path[0] for path in loaded} <= free


@pytest.mark.parametrize("kind", RELATION_KINDS)
def test_weaker_noise_under_the_old_relation_is_not_private(kind: str, tmp_path: Path) -> None:
    spec = to_spec(mechanisms()[kind])
    heard = [k for k, weight in enumerate(spec["mechanism"]["norm"]["map"]) if weight != "inf"]
    for factor in (1 + 1e-9, 2.0, 1e6):
        mutant = copy.deepcopy(spec)
        for k in heard:
            mutant["mechanism"]["norm"]["map"][k] *= factor
        with pytest.raises(NotPrivate):
            read(tmp_path, resealed(mutant))
    for k in heard:
        mutant = copy.deepcopy(spec)
        mutant["mechanism"]["norm"]["map"][k] = "inf"
        with pytest.raises(NotPrivate, match="infinitely often"):
            read(tmp_path, resealed(mutant))


@pytest.mark.parametrize("kind", FAMILY_KINDS)
@pytest.mark.parametrize("factor", [1 + 1e-9, 2.0, 1e6])
def test_weaker_noise_of_any_shape_is_not_private(kind: str, factor: float, tmp_path: Path) -> None:
    def scaled(value: Any) -> Any:
        return [scaled(v) for v in value] if isinstance(value, list) else value if value == "inf" else value * factor

    spec = to_spec(mechanisms()[kind])
    norm = spec["mechanism"]["norm"]
    if norm["order"] == "gauge":
        norm["scale"] /= factor
    else:
        norm["map"] = scaled(norm["map"])
    with pytest.raises(NotPrivate):
        read(tmp_path, resealed(spec))


@pytest.mark.parametrize("name", ["smallest_budget", "largest_finite_budget", "worst_ratio"])
def test_parameters_may_differ_in_their_last_digits_only(name: str, tmp_path: Path) -> None:
    """Two machines may round a budget differently; a thousandth less is another promise."""
    spec = to_spec(mechanisms()["uniform"])
    own = spec["guarantee"]["parameters"][name]
    for times, fits in ((1 + 1e-12, True), (0.999, False), (1 + 1e-6, False)):
        spec["guarantee"]["parameters"][name] = own * times
        if fits:
            assert read(tmp_path, resealed(spec)).privacy.holds
            continue
        with pytest.raises(InvalidSpec, match="guarantee: the file claims something else"):
            read(tmp_path, resealed(spec))


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("family_rounded", "delta"),
        ("selection_linear", "rate"),
        ("table_plan", "rho_per_split_row"),
        ("lattice_distance", "budget_per_unit_of_distance"),
    ],
)
def test_parameters_that_the_core_states_are_exact(name: str, parameter: str) -> None:
    spec = json.loads((CORPUS / f"{name}.json").read_text())
    load(spec)
    spec["guarantee"]["parameters"][parameter] *= 1 + 1e-12
    with pytest.raises(InvalidSpec, match="guarantee: the file claims something else"):
        load(resealed(spec))


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0), (2, 2), (0, 0)])
def test_a_witness_is_a_protected_pair(left: int, right: int) -> None:
    """Where a record appears, a change of one into another is no pair, though its length is that of the worst."""
    spec = to_spec(design(Problem(Workload([[1.0, 0.0]]), metrics.add_remove(2, [0.5, 0.5])), "laplace").mechanism)
    load(resealed(spec))
    difference = [[1.0, 0.0, 0.0][left] - [1.0, 0.0, 0.0][right]]
    named = f"a record of e{min(left, right)} appears"
    spec["certificate"]["witness"] |= {"left": left, "right": right, "difference": difference, "words": named}
    with pytest.raises(InvalidSpec, match="certificate: the file claims something else"):
        load(resealed(spec))


@pytest.mark.parametrize("name", ["family_box", "lattice_l1", "selection_linear", "mwem", "small_db", "channel_line"])
def test_numbers_of_a_witness_are_of_one_type(name: str) -> None:
    """A place is a whole number and a budget a float: 1, 1.0 and true are equal in Python, and three things in JSON."""
    spec = json.loads((CORPUS / f"{name}.json").read_text())
    load(spec)
    witness = spec["certificate"]["witness"]
    values = [(witness, key) for key in ("left", "right", "budget")]
    values += [(witness["difference"], k) for k in range(len(witness["difference"]))]
    tried = 0
    for holder, key in values:
        own = holder[key]
        for kind in (int, float, bool):
            if kind is not type(own) and kind(own) == own:
                holder[key], tried = kind(own), tried + 1
                with pytest.raises(InvalidSpec, match="certificate: the file claims something else"):
                    load(resealed(spec))
        holder[key] = own
    assert tried >= 3


def test_values_of_attributes_are_texts() -> None:
    spec = json.loads((CORPUS / "laplace_product.json").read_text())
    for key in ("values", "attributes"):
        for other in (None, 0, False):
            false = copy.deepcopy(spec)
            held = false["mechanism"]["relation"][key]
            (held[0] if key == "values" else held)[0] = other
            with pytest.raises(InvalidSpec, match="mechanism"):
                load(resealed(false))


def test_a_worst_ratio_below_or_above_the_proven_one_is_refused(tmp_path: Path) -> None:
    spec = to_spec(mechanisms()["uniform"])
    own = Fraction(spec["certificate"]["worst_ratio"])
    for times in (Fraction(99, 100), 1 - Fraction(1, 1 << 30), 1 + Fraction(1, 1 << 30)):
        spec["certificate"]["worst_ratio"] = str(own * times)
        with pytest.raises(InvalidSpec, match="certificate: the file claims something else"):
            read(tmp_path, resealed(spec))


def test_a_core_that_means_the_same_and_is_written_otherwise_is_refused(tmp_path: Path) -> None:
    """One object, one fingerprint: what a file holds is what its fingerprint is of."""
    spec = to_spec(design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism)
    spec["mechanism"]["workload"]["matrix"] = [[int(x) for x in row] for row in spec["mechanism"]["workload"]["matrix"]]
    with pytest.raises(InvalidSpec, match="is not written as this program writes it"):
        read(tmp_path, {**spec, "seal": seal(spec)})


def test_a_larger_epsilon_under_the_old_words_is_refused(tmp_path: Path) -> None:
    spec = to_spec(mechanisms()["uniform"])
    spec["mechanism"]["relation"]["epsilon"] *= 1000
    spec["mechanism"]["norm"]["map"] = [w if w == "inf" else w * 1000 for w in spec["mechanism"]["norm"]["map"]]
    with pytest.raises(InvalidSpec, match="claims something else than its mechanism proves"):
        read(tmp_path, resealed(spec))


def test_optimality_and_provenance_of_a_file_are_shown_as_its_own_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing recomputes them: whoever seals a file anew may write what he likes."""
    made = mechanisms()["matrix"]
    assert made.optimality is not None and made.optimality.verified
    spec = to_spec(made)
    spec["optimality"] |= {"lower_bound": spec["optimality"]["value"]}
    spec["provenance"]["family"] = "proven optimal by hand"
    path = tmp_path / "s.json"
    path.write_text(json.dumps(resealed(spec)))
    twin = load(path)
    assert twin.optimality is not None and not twin.optimality.verified and twin.optimality.gap == INF
    for command in ("report", "show", "verify"):
        assert main([command, str(path)]) == 0
        text = capsys.readouterr().out
        assert "gap" not in text and "no scales reach less" not in text
    assert main(["report", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.index("## Optimality\n\nThe file's own note, not verified:") < said.index(
        "## Provenance\n\nNotes of the maker, not verified:"
    )
    assert (
        twin.save(tmp_path / "again.json").read_bytes()
        == made.annotated(twin.provenance, twin.optimality).save(path).read_bytes()
    )
    assert not load(tmp_path / "again.json").optimality.verified and "gap" in page(made)


def test_another_pair_that_attains_the_worst_ratio_is_a_witness_too(tmp_path: Path) -> None:
    made = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism
    spec = to_spec(made)
    old = spec["certificate"]["witness"]
    pairs = [(i, j) for i in range(3) for j in range(i + 1, 3) if (i, j) != (old["left"], old["right"])]
    for left, right in pairs:
        u = [float(k == left) - float(k == right) for k in range(3)]
        spec["certificate"]["witness"] = {**old, "left": left, "right": right, "words": f"e{left} -> e{right}", "difference": u}
        assert read(tmp_path, resealed(spec)) == made
        for lie in ({"words": "e0 -> e9"}, {"budget": 2.0}, {"difference": [*u[::-1], 0.0]}, {"left": 7}, {"left": right}):
            false = copy.deepcopy(spec)
            false["certificate"]["witness"] |= lie
            with pytest.raises(InvalidSpec):
                read(tmp_path, resealed(false))


def test_a_pair_that_spends_less_is_no_witness_of_the_worst_ratio(tmp_path: Path) -> None:
    """Described as it is, but not the worst: the claim would hide where the promise is tight."""
    made = design(Problem(Workload.identity(3), metrics.line([0.0, 1.0, 3.0], 1.0, 1.0)), "laplace").mechanism
    spec, sensitivity, elements = to_spec(made), made.sensitivity(), made.workload.elements
    shares = {(i, j): made.norm.exact(u) / b for i, j in ((0, 1), (1, 2), (0, 2)) for u, b in [sensitivity.exact(i, j)]}
    assert min(shares.values()) < made.privacy.worst_ratio == max(shares.values())
    for pair, share in shares.items():
        spec["certificate"]["witness"] = plain(asdict(describe_pair(sensitivity, *pair, elements)))
        if share == made.privacy.worst_ratio:
            assert read(tmp_path, resealed(spec)) == made
            continue
        with pytest.raises(InvalidSpec, match="certificate: the file claims something else"):
            read(tmp_path, resealed(spec))


def test_a_fingerprint_that_belongs_to_another_mechanism_is_refused(tmp_path: Path) -> None:
    spec = to_spec(design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism)
    for key, place in (("fingerprint", spec), ("fingerprint", spec["guarantee"])):
        own, place[key] = place[key], "0" * 64
        with pytest.raises(InvalidSpec, match="claims something else"):
            read(tmp_path, {**spec, "seal": seal(spec)})
        place[key] = own
    assert read(tmp_path, {**spec, "seal": seal(spec)}).fingerprint == spec["fingerprint"]


BAD_CONTENT: dict[str, bytes] = {
    "empty": b"",
    "space": b" \n",
    "list": b"[]",
    "number": b"3",
    "null": b"null",
    "text": b'"x"',
    "binary": bytes(range(256)),
    "zeros": b"\0" * 1000,
    "utf-16": json.dumps({}).encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "latin-1": '{"é": 1}'.encode("latin-1"),
    "half": b'{"format": "dp-designer/mechanism", ',
    "lists without end": b"[" * 100_000,
    "objects without end": b'{"a":' * 100_000,
    "nested 100000 deep": b"[" * 100_000 + b"]" * 100_000,
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "1e999": b'{"a": 1e999}',
    "-1e400": b'{"a": -1e400}',
    "long integer": b'{"a": ' + b"9" * 100_000 + b"}",
    "same key twice": b'{"a": 1, "a": 1}',
    "same key twice inside": b'{"a": {"b": 1, "b": 2}}',
    "no keys": b"{}",
}


@pytest.mark.parametrize("name", BAD_CONTENT)
def test_broken_files_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(BAD_CONTENT[name])
    with pytest.raises(InvalidSpec) as refusal:
        load(path)
    assert len(str(refusal.value)) < 2000


@pytest.mark.parametrize("depth", [50, 200, 300, 400, 600, 900, 5000])
@pytest.mark.parametrize("field", ["provenance", "optimality", "mechanism", "certificate", "guarantee", "version"])
def test_nesting_of_any_depth_is_refused(depth: int, field: str, tmp_path: Path) -> None:
    spec = {**to_spec(mechanisms()["uniform"]), field: "BOMB"}
    path = tmp_path / "deep.json"
    path.write_text(json.dumps(spec).replace('"BOMB"', '{"a":' * depth + "1" + "}" * depth))
    with pytest.raises(InvalidSpec):
        load(path)
    path.write_text(json.dumps(spec).replace('"BOMB"', '{"options": ' + "[" * depth + "]" * depth + "}"))
    with pytest.raises(InvalidSpec):
        load(path)


def test_size_limit(tmp_path: Path) -> None:
    path = mechanisms()["uniform"].save(tmp_path / "s.json")
    size = path.stat().st_size
    assert load(path, size_limit=size) == mechanisms()["uniform"]
    with pytest.raises(InvalidSpec, match=f"more than {size - 1} bytes"):
        load(path, size_limit=size - 1)
    with pytest.raises(InvalidSpec, match="more than 1000 bytes"):
        load("/dev/zero", size_limit=1000)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, tmp_path / "a" / "b.json"):
        with pytest.raises(InvalidSpec, match="cannot read"):
            load(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("starts", [0, -1, 2, 3]),
        ("starts", [0, 1]),
        ("starts", [0, 10**18, 10**18, 10**18]),
        ("starts", [0.5, 1, 2, 3]),
        ("starts", [True, 1, 2, 3]),
        ("starts", "0123"),
        ("starts", ["inf"] * 4),
        ("columns", [-1] * 8),
        ("columns", [10**6] * 8),
        ("columns", [0] * 8),
        ("starts", [0, 10, 5, 12]),
        ("starts", [2, 5, 8, 12]),
        ("starts", [0, 5, 8, 11]),
        ("starts", []),
        ("columns", [10**30] * 8),
        ("values", [1e300] * 3),
        ("values", ["inf"] * 8),
    ],
)
@pytest.mark.filterwarnings("error")
def test_broken_compressed_rows_are_refused(key: str, value: object, tmp_path: Path) -> None:
    spec = to_spec(mechanisms()["line"])
    spec["mechanism"]["workload"]["rows"][key] = value
    with pytest.raises((InvalidSpec, NotPrivate)):
        read(tmp_path, resealed(spec))


def test_compressed_rows_that_unpack_to_a_bomb_are_refused(tmp_path: Path) -> None:
    """Under a relation of many budgets rows are written out."""
    spec = to_spec(mechanisms()["line"])
    n = 20_000
    spec["mechanism"]["workload"] = {
        "queries": {"runs": [["q", 0, n]]},
        "elements": {"runs": [["e", 0, n]]},
        "rows": {"values": [], "columns": [], "starts": {"runs": [[0, 0, n + 1]]}},
    }
    spec["mechanism"]["relation"] = plain(metrics.euclidean(np.arange(n), 1.0).to_spec())
    spec["mechanism"]["norm"]["map"], spec["mechanism"]["grid"] = {"runs": [[1.0, 0, n]]}, {"runs": [[0, 0, n]]}
    with pytest.raises(InvalidSpec, match="written out"):
        read(tmp_path, resealed(spec))


@pytest.mark.parametrize(
    "runs",
    [
        [[0, 0, 2**20 + 1]],
        [[0, 0, 0]],
        [[0, 1.5, 2]],
        [[True, 0, 2]],
        [[0.5, 1, 2]],
        [],
        [[0, 0]],
        "runs",
        [["x", 0, 2]],
        [[0, 2**40, 3]],
    ],
)
def test_runs_that_are_none_or_a_bomb_are_refused(tmp_path: Path, runs: object) -> None:
    spec = to_spec(mechanisms()["line"])
    spec["mechanism"]["grid"] = {"runs": runs}
    with pytest.raises(InvalidSpec, match="grid"):
        read(tmp_path, resealed(spec))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("mechanism", "grid", 0), 10**9),
        (("mechanism", "grid", 0), -1990),
        (("mechanism", "grid", 0), 1e3),
        (("mechanism", "grid"), 7),
        (("mechanism", "relation", "elements"), 10**15),
        (("mechanism", "relation", "kind"), "__class__"),
        (("mechanism", "relation", "kind"), ["uniform"]),
        (("mechanism", "family"), 7),
        (("mechanism", "falloff"), ["exponential"]),
        (("mechanism", "norm", "order"), {"l1": 1}),
        (("mechanism", "workload", "queries"), {"a": 1, "b": 2, "c": 3}),
        (("mechanism", "workload", "elements"), [1, 2, 3, 4, 5]),
        (("certificate", "worst_ratio"), "1e1000000000"),
        (("certificate", "worst_ratio"), "1/1e9"),
        (("certificate", "worst_ratio"), "1" * 100_000),
        (("certificate", "worst_ratio"), "1/0"),
        (("certificate", "worst_ratio"), 1.0),
        (("certificate", "holds"), 1),
        (("certificate", "arithmetic"), "none"),
        (("guarantee", "software"), None),
        (("guarantee", "software"), "dp-designer 1\nProtects: everything"),
        (("guarantee", "parameters", "connected_components"), True),
        (("version",), True),
        (("version",), 1.0),
        (("version",), 2),
        (("optimality",), []),
        (("optimality",), {"objective": 1, "value": 1.0, "lower_bound": 1.0, "method": ""}),
        (("optimality", "value"), "abc"),
        (("optimality", "value"), "inf"),
        (("optimality", "lower_bound"), 1e300),
        (("optimality", "lower_bound"), -1.0),
        (("optimality", "lower_bound"), None),
        (("optimality", "method"), 5),
        (("optimality", "extra"), 5),
        (("provenance",), []),
        (("provenance",), "x"),
        (("provenance", "seconds"), 1.0),
        (("provenance", "options"), []),
        (("provenance", "more"), "x"),
    ],
)
def test_wrong_values_give_one_clear_refusal(path: tuple[Any, ...], value: object, tmp_path: Path) -> None:
    spec = changed(to_spec(mechanisms()["uniform"]), path, put(value))
    with pytest.raises(InvalidSpec) as refusal:
        read(tmp_path, resealed(spec))
    assert str(refusal.value)


class Interrupted(BaseException):
    """Something as rude as Ctrl-C."""


def test_a_failed_save_leaves_nothing_and_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = mechanisms()["uniform"]
    path = made.save(tmp_path / "s.json")
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise Interrupted

    for step in ("replace", "chmod"):
        with monkeypatch.context() as patched:
            patched.setattr(os, step, fail)
            with pytest.raises(Interrupted):
                save(mechanisms()["matrix"], path)
        assert [p.name for p in tmp_path.iterdir()] == ["s.json"]
        assert path.read_bytes() == before
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidProblem, match="is a folder or a device"):
        made.save(tmp_path / "folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "s.json"]
    with pytest.raises(InvalidProblem, match="is not a folder; create it first"):
        made.save(tmp_path / "none" / "s.json")


def test_nothing_in_a_spec_is_imported_or_run(tmp_path: Path) -> None:
    spec = to_spec(mechanisms()["uniform"])
    for kind in ("os.system", "designer.metrics.Uniform", "__import__('os')", "Uniform"):
        spec["mechanism"]["relation"]["kind"] = kind
        with pytest.raises(InvalidSpec, match=r"relation\.kind"):
            read(tmp_path, resealed(spec))


@pytest.mark.parametrize("listed", [0, 1, 2])
def test_a_workload_whose_parts_are_no_lists_is_refused(listed: int, tmp_path: Path) -> None:
    made = design(Problem(Workload([[1, 0], [0, 1]]), metrics.uniform(2, 1.0)), "laplace").mechanism
    spec = json.loads(made.save(tmp_path / "spec.json").read_text())
    for key in ("matrix", "queries", "elements")[listed:]:
        spec["mechanism"]["workload"][key] = None
    with pytest.raises(InvalidSpec, match=r"workload\.(matrix|queries|elements): "):
        load(spec)


@pytest.mark.parametrize("elements", [1024, 1025, 2000])
def test_rows_that_are_written_out_are_read_beside_names_in_runs(elements: int, tmp_path: Path) -> None:
    """Rows without zeros stay a matrix, while the names of many elements are runs."""
    rows = np.random.default_rng(elements).normal(size=(2, elements))
    made = design(Problem(Workload(rows), metrics.uniform(elements, 1.0)), "laplace").mechanism
    spec = json.loads(made.save(tmp_path / "rows.json").read_text())
    workload = spec["mechanism"]["workload"]
    assert isinstance(workload["elements"], dict if elements > 1024 else list) and len(workload["matrix"]) == 2
    assert load(tmp_path / "rows.json").fingerprint == made.fingerprint
    for wrong in ({"runs": [["e", 0, elements - 1]]}, {"runs": [["e", 0, elements + 1]]}, {"runs": "e"}, None, 7):
        changed = {**spec, "mechanism": {**spec["mechanism"], "workload": {**workload, "elements": wrong}}}
        with pytest.raises(InvalidSpec, match=r"workload\.(matrix|elements): "):
            load(changed)
