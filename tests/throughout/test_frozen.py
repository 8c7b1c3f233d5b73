"""Arrays, mappings and lists to which a frozen object leads cannot be written to, and a changed object is not released from."""

from __future__ import annotations

import functools
import pickle
import sys
import threading
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.accounts import Ledger, Total, composed
from designer.base.arrays import freeze, is_readonly
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.frozen import FrozenMechanism, require_unchanged
from tests.oracles.spec_specimens import specimens

ATOMS = (str, bytes, int, float, complex, type(None), type, types.ModuleType, range, slice)
NAMES = list(specimens())


def reachable(root: object) -> Iterator[tuple[str, Any]]:
    """Everything that attributes and entries lead to, with the way there. It knows nothing of `designer.base.arrays`."""
    waiting, seen = [("", root)], {}
    while waiting:
        way, value = waiting.pop()
        if isinstance(value, ATOMS) or id(value) in seen:
            continue
        seen[id(value)] = value
        yield way, value
        if isinstance(value, (dict, types.MappingProxyType)):
            waiting += [(f"{way}[{key!r}]", part) for key, part in value.items()]
        elif isinstance(value, (tuple, list, set, frozenset)):
            waiting += [(f"{way}[{k}]", part) for k, part in enumerate(value)]
        elif isinstance(value, np.ndarray):
            waiting += [(f"{way}.base", value.base)] if value.base is not None else []
            waiting += [(f"{way}[...]", part) for part in value.ravel()] if value.dtype.hasobject else []
        elif not isinstance(value, (types.FunctionType, functools._lru_cache_wrapper)):
            waiting += [(f"{way}.{name}", part) for name, part in getattr(value, "__dict__", {}).items()]


def writable(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.flags.writeable)
    return isinstance(value, (dict, list, set, bytearray, memoryview)) or (
        "flint" in type(value).__module__ and hasattr(value, "nrows")
    )


def exercised(mechanism: FrozenMechanism) -> None:
    """Every public property and, of those that take nothing, every public method: what they remember is reachable then."""
    for name in dir(type(mechanism)):
        if name.startswith("_") or name in ("plot", "save"):
            continue
        part = getattr(type(mechanism), name)
        if isinstance(part, (property, functools.cached_property)) or name in ("standard_errors", "margins", "joint_margins"):
            try:
                found = getattr(mechanism, name)
                if callable(found) and name.endswith(("margins", "errors")):
                    found()
            except (InvalidProblem, DesignFailed, AttributeError):
                pass


@pytest.mark.parametrize("name", NAMES)
def test_nothing_reachable_from_a_frozen_object_can_be_written_to(name: str) -> None:
    mechanism = specimens()[name]
    for stage in ("as designed", "after use", "a twin", "a copy from a pickle"):
        if stage == "after use":
            exercised(mechanism)
        if stage == "a twin":
            mechanism = mechanism.annotated({"made": {"by": ["hand"]}})
        if stage == "a copy from a pickle":
            mechanism = pickle.loads(pickle.dumps(mechanism))
        found = [way for way, value in reachable(mechanism) if writable(value)]
        assert not found, f"{stage}: {found[:5]}"


@pytest.mark.parametrize("name", NAMES)
def test_no_flag_makes_an_array_writable_again(name: str) -> None:
    for way, value in reachable(specimens()[name]):
        if isinstance(value, np.ndarray) and value.size and not value.dtype.hasobject:
            with pytest.raises(ValueError, match="WRITEABLE"):
                value.setflags(write=True)
            assert is_readonly(value), way


def counts(made: FrozenMechanism) -> Any:
    return [3] * len(made.workload.elements)  # type: ignore[attr-defined]


def asked(family: str = "laplace") -> FrozenMechanism:
    return design(Problem(Workload([[1, 0, 1], [0, 1, 1]]), metrics.uniform(3, 0.5)), family).mechanism


def test_the_second_answer_cannot_be_published_exactly_by_writing_to_the_noise() -> None:
    made = asked()
    for array in (made.noise.heard, made.relation.nearness.units, made.norm.map, made.integers):  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="read-only"):
            array[-1] = 0
    with pytest.raises(TypeError):
        made.provenance["family"] = "another"  # type: ignore[index]


def test_release_and_ledger_refuse_what_was_changed(tmp_path: Any) -> None:
    made = asked()
    vars(made)["noise"] = asked().noise  # type: ignore[attr-defined]
    with pytest.raises(InvalidProblem, match="was changed in this process"):
        made.release(counts(made))
    ledger = Ledger.create(tmp_path / "ledger.db")
    people = ledger.state("people", Total(epsilon=2), publishes=None)
    with pytest.raises(InvalidProblem, match="was changed in this process"):
        people.release(made, counts(made))
    assert not people.balance().expenses


def test_what_threads_remember_of_one_object_is_one_thing_and_no_change() -> None:
    """Threads that release, look, and make twins of one new object: each gets the same statement."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            made = pickle.loads(pickle.dumps(asked()))
            start = threading.Barrier(6)

            def used(turn: int, made: FrozenMechanism = made, start: threading.Barrier = start) -> Any:
                start.wait()
                if turn % 3 == 0:
                    return made.release(counts(made)).guarantee
                if turn % 3 == 1:
                    twin = made.annotated({"turn": turn})
                    return twin.release(counts(twin)).guarantee
                exercised(made)
                return made.guarantee

            with ThreadPoolExecutor(6) as pool:
                found = list(pool.map(used, range(6)))
            assert all(statement == made.guarantee for statement in found)
            assert found[0] is found[3] is found[2] is made.guarantee
            require_unchanged(made)
    finally:
        sys.setswitchinterval(interval)


def test_notes_may_be_replaced_and_a_twin_holds_what_its_original_held() -> None:
    made = asked()
    twin = made.annotated({"by": "hand"})
    twin.release(counts(twin))
    vars(made)["norm"] = object()
    twin.release(counts(twin))
    with pytest.raises(InvalidProblem, match="was changed"):
        made.annotated({"by": "another"}).release(counts(twin))


def test_releases_together_keep_what_they_are_made_of() -> None:
    made = composed(asked(), asked())
    assert not [way for way, value in reachable(made) if writable(value)]


def test_what_is_read_only_is_left_as_it_is() -> None:
    array = np.arange(6.0).reshape(2, 3)
    made = freeze({"a": [array, {1}]})
    assert isinstance(made, types.MappingProxyType) and made["a"][1] == frozenset({1})
    assert not np.shares_memory(made["a"][0], array) and (made["a"][0] == array).all()
    assert freeze(made["a"]) is made["a"] and freeze(made) is made
    columns = freeze(np.asfortranarray(array))
    assert columns.flags.f_contiguous and (columns == array).all() and is_readonly(columns)
    objects = freeze(np.array([[1, 2], [3, 4]], dtype=object))
    with pytest.raises(ValueError, match="WRITEABLE"):
        objects.setflags(write=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_of_what_is_reachable_answers_hasattr_and_leaves_nothing_writable(name: str) -> None:
    """What is remembered along the way, at any depth, cannot be written to."""
    made = pickle.loads(pickle.dumps(specimens()[name]))
    for way, value in list(reachable(made)):
        if type(value).__module__.startswith("designer."):
            for attribute in dir(type(value)):
                try:
                    hasattr(value, attribute)
                except Exception as error:
                    raise AssertionError(f"{way}.{attribute}: {error!r}") from error
    require_unchanged(made)
    assert not [way for way, value in reachable(made) if writable(value)]


def test_an_attribute_that_is_not_there_says_why() -> None:
    made = specimens()["bundles sum"]
    assert not hasattr(made, "scales") and getattr(made, "scales", None) is None
    with pytest.raises(InvalidProblem, match="has no scale for each query"):
        _ = made.scales  # type: ignore[attr-defined]
