"""Every example, sampled here and in full under `pytest -m heavy`: computed within the published interval,
differences explained and real."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import examples

SHARED = {"reproduction", "papers", "dx_setting", "rec_setting", "int_setting"}
FIRST = "dx_blowfish"  # which the default tier runs: 2 seconds of processor time, adult_tables takes 24
NAMES = sorted(
    (module.name for module in pkgutil.iter_modules(examples.__path__) if module.name not in SHARED),
    key=lambda name: (name != FIRST, name),
)


def check(name: str, full: bool) -> None:
    module = importlib.import_module(f"examples.{name}")
    computed, published = module.reproduce(full=full)
    assert set(published) <= set(computed) and set(module.DIFFERENCES) <= set(published)
    for key, (low, high) in published.items():
        reached = low <= computed[key] <= high
        # An explained difference that is no longer there must not stay in the list.
        assert reached != (key in module.DIFFERENCES), f"{name}: {key} = {computed[key]}, published {low} to {high}"


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str) -> None:
    check(name, full=False)


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_example_in_full(name: str) -> None:
    check(name, full=True)
