"""Large and long input: cheap checks first, no text of a user's size in a message, NaN by its name."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    DesignFailed,
    InvalidProblem,
    InvalidSpec,
    NotPrivate,
    Problem,
    Workload,
    design,
    load,
    metrics,
    read_problem,
)
from designer.base.checks import names
from designer.base.json_text import array, canonical, plain
from designer.certificate.frozen import seal, to_spec
from designer.files import spec as specs
from tests.files.test_spec import mechanisms

LONG = "x" * 20_000
HUGE: list[Any] = [LONG, [LONG], [LONG] * 9, {LONG: LONG}, 10**4000, [[10**4000]], "9" * 20_000]
SHORT = 2100


def saved(tmp_path: Path, change: Any) -> Path:
    spec = json.loads(json.dumps(to_spec(mechanisms()["uniform"])))
    change(spec)
    spec["seal"] = "0" * 64 if spec["seal"] == "stale" else seal(spec)
    path = tmp_path / "s.json"
    path.write_text(json.dumps(spec))
    return path


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in nested data, of lists the first entry."""
    inside = data.items() if isinstance(data, dict) else list(enumerate(data))[:1] if isinstance(data, list) else []
    return [path, *(place for key, value in inside for place in places(value, (*path, key)))]


def test_shape_is_checked_before_anything_is_serialised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of zeros in place of a matrix took minutes to be hashed, element by element."""

    def zeros(spec: dict[str, Any]) -> None:
        spec["mechanism"]["workload"]["matrix"] = [[0] * 100_000]
        spec["seal"] = "stale"

    path = saved(tmp_path, zeros)
    monkeypatch.setattr(specs, "seal", lambda _: pytest.fail("serialised"))
    with pytest.raises(InvalidSpec, match="matrix"):
        load(path)


@pytest.mark.parametrize("key", ["mechanism", "guarantee", "certificate", "provenance", "fingerprint", "seal"])
def test_kinds_are_checked_before_the_seal(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = json.loads(json.dumps(to_spec(mechanisms()["uniform"])))
    spec[key] = [0] * 1000
    monkeypatch.setattr(specs, "seal", lambda _: pytest.fail("serialised"))
    with pytest.raises(InvalidSpec, match=key):
        specs.from_spec(spec)


def test_the_seal_is_that_of_the_canonical_form() -> None:
    for made in mechanisms().values():
        spec = to_spec(made)
        body = {key: value for key, value in spec.items() if key != "seal"}
        assert spec["seal"] == hashlib.sha256(canonical(body)).hexdigest()


def test_arrays_mean_the_same_with_and_without_infinity() -> None:
    assert array([[1, 2.5], ["inf", 0]], 2, "f").tolist() == [[1, 2.5], [math.inf, 0]]
    assert array([], 1, "f").shape == (0,) and float(array(3, 0, "f")) == 3
    for bad in ([True], [[1, False]], [None], ["nan"], [[1], [2, 3]], [10**400], [{}], "inf x", [["inf", "1"]]):
        with pytest.raises((InvalidSpec, ValueError, OverflowError)):
            array(bad, 1, "f")


def test_not_a_number_is_written_as_such() -> None:
    assert plain([math.nan, np.float64("nan"), np.array([np.nan, -np.inf, np.inf])]) == ["nan", "nan", ["nan", "-inf", "inf"]]


def test_a_name_twice_among_many_is_found_in_one_pass() -> None:
    many = [*map(str, range(200_000)), "199999"]
    with pytest.raises(InvalidProblem, match="'199999' appears twice"):
        names(many, len(many), "queries", "q")


@pytest.mark.parametrize("huge", range(len(HUGE)))
def test_no_message_about_a_spec_is_of_the_size_of_the_spec(huge: int, tmp_path: Path) -> None:
    original = json.loads(json.dumps(to_spec(mechanisms()["matrix"])))
    for *way, last in (place for place in places(original) if place):
        spec = json.loads(json.dumps(original))
        inner = spec
        for key in way:
            inner = inner[key]
        inner[last] = HUGE[huge]
        if last != "seal":
            spec["seal"] = seal(spec) if True else "0" * 64
        try:
            specs.from_spec(spec)
        except (InvalidSpec, InvalidProblem, NotPrivate) as error:
            assert len(str(error)) < SHORT, (way, last)
        else:
            assert way == ["optimality"] or way[:1] == ["provenance"], "only notes may be as long as one likes"


PROBLEM = {
    "workload": {"builder": '"identity"', "size": "3"},
    "relation": {"metric": '"uniform"', "epsilon": "1"},
    "problem": {"loss": '"squared"', "notion": '"pure"', "records": "3", "weights": "[1, 1, 1]"},
    "design": {"family": '"laplace"'},
    "domain": {"a": "3"},
}
LONG_TOML = [
    f'"{LONG}"',
    f'["{LONG}"]',
    "[[" + "1," * 5_000 + "]]",
    f'{{"{LONG}" = 1}}',
    "-1e300",
    "[" + f'"{LONG}",' * 3 + "]",
]


@pytest.mark.parametrize("section", PROBLEM)
@pytest.mark.parametrize("value", range(len(LONG_TOML)))
def test_no_message_about_a_problem_file_is_of_its_size(section: str, value: int, tmp_path: Path) -> None:
    for key in [*PROBLEM[section], LONG, "matrix", "columns", "points"]:
        changed = {**PROBLEM, section: {**PROBLEM[section], f'"{key}"' if key == LONG else key: LONG_TOML[value]}}
        lines = [f"[{name}]\n" + "\n".join(f"{k} = {v}" for k, v in pairs.items()) for name, pairs in changed.items()]
        (tmp_path / "p.toml").write_text("\n".join(lines))
        try:
            file = read_problem(tmp_path / "p.toml")
            design(file.problem, file.family, **file.options)
        except (InvalidProblem, DesignFailed) as error:
            assert len(str(error)) < SHORT, key[:40]


HUGE_CALLS = {
    "workload names": lambda v: Workload([[1.0, 0.0]], queries=v),
    "workload names twice": lambda v: Workload([[1.0, 0.0], [0.0, 1.0]], queries=[LONG, LONG]),
    "matrix": lambda v: Workload(v),
    "family": lambda v: design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), v),
    "options": lambda v: design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace", **{LONG: v}),
    "loss": lambda v: Problem(Workload.identity(3), metrics.uniform(3, 1.0), loss=v),
    "epsilon": lambda v: metrics.uniform(3, v),
    "size": lambda v: metrics.uniform(v, 1.0),
    "random": lambda v: Workload.random(2, 3, v, 1),
    "save": lambda v: design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism.save(LONG),
}


@pytest.mark.parametrize("name", HUGE_CALLS)
def test_no_message_about_an_argument_is_of_its_size(name: str) -> None:
    for value in HUGE:
        with pytest.raises((InvalidProblem, DesignFailed)) as caught:
            HUGE_CALLS[name](value)
            pytest.skip("accepted")
        assert len(str(caught.value)) < SHORT


@pytest.mark.parametrize("kind", [InvalidProblem, InvalidSpec, NotPrivate, DesignFailed])
def test_a_refusal_keeps_its_beginning_and_its_remedy(kind: type[ValueError]) -> None:
    cut = str(kind(f"field: {LONG} is wrong; do this."))
    assert len(cut) <= 2000 and cut.startswith("field: x") and cut.endswith("is wrong; do this.")
    assert str(kind("field: short.")) == "field: short."
