"""The tiers: `quick` is the files of `QUICK`, `first` the first case of every test, both without those marked slow or heavy;
the default is all but heavy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Two workers share two cores: a thread each for linear algebra, where nobody asked for more.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# How long an example takes depends on what else the machine does.
settings.register_profile("house", deadline=None)
settings.load_profile("house")

pytest.register_assert_rewrite("tests.oracles")

TESTS = Path(__file__).parent
# What an unfinished addition fails, and what a broken promise fails first: less than a minute of processor. Without paths,
# `pytest -m quick` collects these files and no other.
QUICK = (
    *("house/test_additions.py", "house/test_layers.py", "house/test_prose.py", "house/test_public_names.py"),
    *("house/test_reference.py", "house/test_start_up.py", "house/test_tests.py", "house/test_refusals.py"),
    *("files/test_kinds.py", "files/test_corpus.py", "files/test_schema.py", "files/test_spec_formats.py"),
    *("files/test_releases.py", "files/test_stated_sentences.py"),
    *("files/problem/test_kinds.py", "files/problem/test_keys.py", "files/problem/test_problem_schema.py"),
    *("relations/test_kinds.py", "relations/metrics/test_metric_kinds.py", "relations/metrics/test_turns_and_refusals.py"),
    *("certified/test_certificate.py", "throughout/test_frozen.py", "reports/test_proofs.py", "cli/test_cli_export.py"),
)


def pytest_configure(config: pytest.Config) -> None:
    """The quick tier asks for its files, where no path is given, so that no other is read."""
    if config.option.markexpr == "quick" and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(TESTS / file) for file in QUICK]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the quick tier, and the first case of every test function, so that the tier of first cases meets each
    room and each new test without a list."""
    seen = set()
    quick = {TESTS / file for file in QUICK}
    for item in items:
        function = item.nodeid.partition("[")[0]
        if item.get_closest_marker("heavy") or item.get_closest_marker("slow"):
            continue
        if item.path in quick:
            item.add_marker(pytest.mark.quick)
        if function not in seen:
            seen.add(function)
            item.add_marker(pytest.mark.first)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In the tier of first cases, makes the first case of a test that is neither slow nor heavy, and no other, which would be
    left out once it is made; a test that is itself marked so keeps all its cases."""
    if metafunc.config.option.markexpr == "first" and not metafunc.definition.get_closest_marker("first"):
        metafunc.parametrize = partial(_first_case, metafunc.parametrize)  # type: ignore[method-assign]


def _first_case(
    parametrize: Callable[..., None],
    names: str | Sequence[str],
    values: Iterable[Any],
    *rest: Any,
    ids: Any = None,
    **named: Any,
) -> None:
    """`parametrize` with the first of its values that is marked neither slow nor heavy; with the first one where all are."""
    listed = list(values)
    kept = next((k for k, value in enumerate(listed) if not _left_out(value)), 0)
    one = slice(kept, kept + 1)
    given = ids if ids is None or callable(ids) else list(ids)[one]
    parametrize(names, listed[one], *rest, ids=given, **named)


def _left_out(value: Any) -> bool:
    """Whether the value of a parameter is marked slow or heavy."""
    return isinstance(value, type(pytest.param())) and any(mark.name in ("slow", "heavy") for mark in value.marks)
