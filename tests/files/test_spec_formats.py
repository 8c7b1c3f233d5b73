"""Spec files of every format: round trips, the published schema,
and an attacker who alters any field and seals the file anew."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer import DesignFailed, InvalidSpec, NotPrivate
from designer.base.json_text import canonical
from designer.certificate.frozen import to_spec
from designer.files.kinds import KINDS
from designer.files.spec import _mechanism, reading
from designer.lattice.mechanism import LatticeMechanism
from designer.odds_ratio.mechanism import OddsRatioTest
from tests.files.test_spec import VALIDATOR, changed, delete, double, edits, get, leaves, put, read, resealed
from tests.oracles.promises import LOSSES as LOSSES_BUT_OF_STAIRCASES
from tests.oracles.promises import keeps_tradeoff
from tests.oracles.spec_specimens import format_of, one_of_each_format, specimens
from tests.oracles.staircase_laws import largest_loss

NAMES = list(specimens())
LOSSES = {**LOSSES_BUT_OF_STAIRCASES, "dp-designer/staircase-mechanism": largest_loss}
OTHER_THAN_ADDITIVE = [name for name in NAMES if not name.startswith("laplace")]
# A load of a mutant and its recomputation take 20 ms: 0.9 s for a format, 8 s for all.
MUTANTS = 14


def spec_of(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(json.dumps(to_spec(specimens()[name])))
    return spec


FIRST_OF_FORMAT = one_of_each_format().values()


@pytest.mark.every_room
def test_every_format_and_every_kind_of_part_has_a_specimen() -> None:
    specs = [spec_of(name) for name in NAMES]
    assert {spec["format"] for spec in specs} == set(KINDS)

    def kinds(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("kind"), str):
                yield node["kind"]
            for value in node.values():
                yield from kinds(value)

    from designer.relations.kinds import RELATIONS
    from designer.selection.mechanism import SCORES

    wanted = {
        *RELATIONS,
        *SCORES.entries,
        "epsilon_delta",
        "gaussian",
        "piecewise_linear",
        "group",
        "attributes",
        "presence",
    }
    # Matrices with a closure are in tests/files/test_spec.py, and so are the norms.
    assert wanted - {kind for spec in specs for kind in kinds(spec["mechanism"])} == set()


@pytest.mark.parametrize("name", NAMES)
def test_unknown_and_missing_keys_are_refused_by_schema_and_loader(name: str, tmp_path: Path) -> None:
    spec, checked = spec_of(name), 0
    for path in leaves(spec):
        # The parts that all formats share are read by the same code: once for each format is enough.
        shared = path[:1] != ("mechanism",) and name not in FIRST_OF_FORMAT
        # The keys of `own` are labels of groups.
        if not isinstance(get(spec, path), dict) or path[:1] == ("provenance",) or shared or "own" in path:
            continue
        found = get(spec, path)
        extended = changed({"": spec}, ("", *path), put({**found, "extra": 1}))[""]
        for mutant in (extended, *(changed(spec, (*path, key), delete) for key in found if key != "seal")):
            # Elements may be named without columns: another mechanism with the same promise.
            if path[-1:] in (("workload",), ("mechanism",)) and "keys" in found and "keys" not in get(mutant, path):
                continue
            # Without its rule it refuses records of unlisted values: another mechanism, with the same promise.
            if path == ("mechanism",) and "unlisted" in found and "unlisted" not in mutant["mechanism"]:
                twin, made = read(tmp_path, resealed(mutant)), specimens()[name]
                assert twin.fingerprint != made.fingerprint and twin.privacy == made.privacy
                continue
            # The keys that others may lack: the claims, or the shapes of the rest, tell that one is gone.
            optional = any(key in found and key not in get(mutant, path) for key in ("impossible", "projected"))
            assert optional or not VALIDATOR.is_valid(mutant), path
            # Without its delta a mechanism claims to be pure, and is not.
            pure = path == ("mechanism",) and "delta" in found and "delta" not in mutant["mechanism"]
            with pytest.raises(NotPrivate if pure else InvalidSpec):
                read(tmp_path, resealed(mutant))
            checked += 1
    assert checked >= len(spec["mechanism"]) + 1


@pytest.mark.parametrize("name", NAMES)
def test_the_format_decides_the_shape(name: str, tmp_path: Path) -> None:
    spec = spec_of(name)
    for other in {*KINDS, "dp-designer/none"} - {spec["format"]}:
        mutant = {**spec, "format": other}
        # MWEM and SmallDB differ in keys, so no format is read as another.
        assert not VALIDATOR.is_valid(mutant)
        with pytest.raises(InvalidSpec):
            read(tmp_path, resealed(mutant))


@pytest.mark.parametrize("name", NAMES)
def test_structural_mutants_do_not_fit_the_schema(name: str) -> None:
    spec = spec_of(name)
    for path in leaves(spec):
        shared = path[:1] != ("mechanism",) and name not in FIRST_OF_FORMAT
        if not path or path[0] == "provenance" or isinstance(get(spec, path[:-1]), list) or shared or "own" in path[:-1]:
            continue
        assert not VALIDATOR.is_valid(changed(spec, path, double)), path
        assert not VALIDATOR.is_valid(changed(spec, path, put({"a": 1}))), path


HUGE = [10**400, 2**53, 2**63, 10**9, 1e300, 5e-324, -1e300, "1" * 400, "1/" + "9" * 300, "nan", "-inf", "9" * 5000]


def nested(depth: int) -> Any:
    value: Any = 1.0
    for _ in range(depth):
        value = {"kind": "scaled", "factor": 1.0, "part": value}
    return value


def core_edits(value: Any) -> list[Any]:
    """What `edits` does, numbers that are too large for something, lists that are too long,
    and things that are nested too deep."""
    found = [*edits(value), *map(put, HUGE), put(nested(12)), put(nested(200))]
    if isinstance(value, list):
        found += [put(value * 50), put([True] * len(value)), put([*value, "inf"]), put([1e300] * len(value))]
    return found


def mutants(name: str, most: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """A fixed sample of the single-field mutants of a core, sealed anew."""
    spec = spec_of(name)
    paths = [path for path in leaves(spec["mechanism"]) if path]
    every = [(path, edit) for path in paths for edit in core_edits(get(spec["mechanism"], path))]
    for path, edit in random.Random(name).sample(every, most):
        mutant = {**spec, "mechanism": changed(spec["mechanism"], path, edit)}
        if canonical(mutant) != canonical(spec):
            yield path, resealed(mutant)


def refused_or_loaded(folder: Path, mutant: dict[str, Any]) -> Any:
    """What a file loads as; where only its claims are wrong, what it would load as with the right ones."""
    try:
        return read(folder, mutant)
    except (InvalidSpec, NotPrivate):
        pass
    try:
        made = reading("mechanism", lambda: _mechanism(mutant))
    except (InvalidSpec, NotPrivate, RecursionError):
        return None
    return made if canonical(made.core()) == canonical(mutant["mechanism"]) else None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
def test_a_mutant_is_refused_or_keeps_the_promise_that_it_makes(name: str, tmp_path: Path) -> None:
    for path, mutant in mutants(name, MUTANTS if name in OTHER_THAN_ADDITIVE else 3):
        made = refused_or_loaded(tmp_path, mutant)
        if made is None:
            continue
        assert made.privacy.holds and getattr(made.privacy, "worst_ratio", 0) <= 1
        assert made.guarantee.to_text()
        if isinstance(made, OddsRatioTest):
            assert keeps_tradeoff(mutant["mechanism"]["tradeoff"], made.law.cdf), path
        loss = LOSSES.get(mutant["format"], lambda core: None)(mutant["mechanism"])
        if loss is not None:
            assert loss <= min(1.0, float(made.privacy.worst_ratio)) * (1 + 1e-7) + 1e-9, path


@pytest.mark.parametrize("name", [n for n in OTHER_THAN_ADDITIVE if format_of(n) in LOSSES])
def test_the_recomputation_sees_the_unaltered_promises(name: str) -> None:
    """A recomputation that found 0 everywhere would prove nothing."""
    spec = spec_of(name)
    loss = LOSSES[spec["format"]](spec["mechanism"])
    ratio = float(specimens()[name].privacy.worst_ratio)
    assert 0.1 * ratio < loss <= ratio * (1 + 1e-9)


WEAKER = {
    "lattice l1": (("norm", "map"), lambda v: [w * 1.001 for w in v]),
    "lattice ellipsoid": (("norm", "map"), lambda v: [[w * 1.001 for w in row] for row in v]),
    "lattice hull": (("norm", "scale"), lambda v: v / 1.001),
    "lattice gaussian": (("norm", "map"), lambda v: [[w * 1.001 for w in row] for row in v]),
    "lattice metric": (("norm", "map"), lambda v: [w * 1.001 for w in v]),
    "lattice distance": (("norm", "map"), lambda v: [w * 1.001 for w in v]),
    "lattice chain": (("norm", "map"), lambda v: [w * 1.001 for w in v]),
    "lattice impossible": (("norm", "map"), lambda v: [w * 1.001 for w in v]),
    "lattice rows": (("norm", "map"), lambda v: [w * 1.001 for w in v]),
    "marginals attributes": (("precisions", 1), lambda v: v * 1.01),
    "marginals presence": (("precisions", 0), lambda v: v * 1.01),
    "structured attributes": (("blocks", 1, "strength"), lambda v: v * 1.01),
    "structured metrics": (("blocks", 1, "strength"), lambda v: v * 1.01),
    "structured presence": (("blocks", 0, "strength"), lambda v: v * 1.01),
    "structured laplace": (("blocks", 0, "strength"), lambda v: v * 1.01),
    "mwem": (("shares", 0, 1), lambda v: "501/1000"),
    "mwem islands": (("queries", "weights", 0), lambda v: v * 1.001),
    "small-db": (("queries", "integers", 0, 0), lambda v: v - 1),
    "small-db islands": (("queries", "exponent"), lambda v: v + 1),
    "selection linear": (("rate",), lambda v: v * 1.001),
    "selection error": (("rate",), lambda v: v * 1.001),
    "selection closeness": (("rate",), lambda v: v * 1.001),
    "selection rank": (("rate",), lambda v: v * 1.001),
    "selection database": (("rate",), lambda v: v * 1.001),
    "selection table": (("score", "workload", "matrix", 1, 3), lambda v: v + 0.5),
    "selection invariant": (("rate",), lambda v: v * 1.001),
}


@pytest.mark.parametrize("name", WEAKER)
def test_weaker_noise_is_not_private(name: str, tmp_path: Path) -> None:
    spec = spec_of(name)
    path, weaker = WEAKER[name]
    mutant = changed(spec, ("mechanism", *path), put(weaker(get(spec["mechanism"], path))))
    with pytest.raises(NotPrivate):
        read(tmp_path, resealed(mutant))


@pytest.mark.parametrize("name", [n for n in OTHER_THAN_ADDITIVE if n.startswith("test")])
def test_a_test_that_promises_more_than_it_says_is_refused(name: str, tmp_path: Path) -> None:
    """Its noise follows from the promise, so what an attacker can alter is the statement."""
    spec = spec_of(name)
    for field, value in (("notion", "f-private"), ("relation", "Any two databases."), ("unprotected", []), ("parameters", {})):
        mutant = copy.deepcopy(spec)
        mutant["guarantee"][field] = value
        with pytest.raises(InvalidSpec, match="claims something else"):
            read(tmp_path, resealed(mutant))
    for adjacency in (1, 4):
        with pytest.raises(InvalidSpec):
            read(tmp_path, resealed(changed(spec, ("mechanism", "adjacency"), put(adjacency))))


@pytest.mark.every_room
def test_the_schema_names_every_format() -> None:
    schema = VALIDATOR.schema
    assert set(schema["properties"]["format"]["enum"]) == set(KINDS)
    assert {entry["if"]["properties"]["format"]["const"] for entry in schema["allOf"]} == set(KINDS)
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("decay", [1e-9, 0.9999999])
def test_a_chain_that_never_moves_does_not_pass_for_one_that_has_converged(decay: float, tmp_path: Path) -> None:
    """Coupled chains that stay at the origin meet at once: distance 0.05 was estimated, and the true table released."""
    mutant = changed(spec_of("lattice chain"), ("mechanism", "chain", "decay"), put(decay))
    with pytest.raises(InvalidSpec, match=r"chain\.decay"):
        read(tmp_path, resealed(mutant))


def test_a_chain_whose_estimate_promises_nothing_is_refused(tmp_path: Path) -> None:
    spec = spec_of("lattice chain")
    for key, value in (("steps", 1), ("pairs", 2)):
        with pytest.raises(InvalidSpec, match="promises nothing"):
            read(tmp_path, resealed(changed(spec, ("mechanism", "chain", key), put(value))))
    made = specimens()["lattice chain"]
    assert isinstance(made, LatticeMechanism) and made.chain is not None
    short = replace(made, chain=replace(made.chain, steps=1))
    with pytest.raises(DesignFailed, match="promises nothing"):
        short.release([5, 5, 5, 5])
