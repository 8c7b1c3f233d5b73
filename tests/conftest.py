"""The tiers. The default: every case of the tests of `PROMISES`, every case that a mutant names, and the first case of every
test. `quick`: what the files of `QUICK` have in it. `nightly`: all that is not `heavy`.

A test that asks for a room that was taken out is skipped (tests/rooms.py). A case that is marked `nightly` or `heavy` stands in
that tier alone. A test that is asked for by its name (`file::test`) runs with all its cases, but for `--tier`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from tests import rooms
from tests.mutation.listed import named_tests

# Two workers share two cores: a thread each for linear algebra, where nobody asked for more.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# How long an example takes depends on what else the machine does; which ones are drawn must not.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")

pytest.register_assert_rewrite("tests.oracles")

TESTS = Path(__file__).parent
# What an unfinished addition fails, and what a broken promise fails first. Without paths, `pytest -m quick` collects these
# files and no other.
QUICK = (
    *("house/test_additions.py", "house/test_layers.py", "house/test_public_names.py"),
    *("house/test_reference.py", "house/test_start_up.py", "house/test_tests.py", "house/test_refusals.py"),
    *("files/test_kinds.py", "files/test_schema.py", "files/test_stated_sentences.py"),
    *("problem_file/test_kinds.py", "problem_file/test_keys.py", "problem_file/test_problem_schema.py"),
    *("relations/test_kinds.py", "relations/metrics/test_metric_kinds.py", "relations/metrics/test_turns_and_refusals.py"),
    *("certificate/test_certificate.py", "publish/test_proofs.py", "cli/test_cli_export.py"),
)
# Promises of privacy: certificates, what is promised, relations, samplers, the ledger, what a record counts as, files that are
# altered. The default runs every case of these.
PROMISES = (
    "certificate",
    "tradeoff",
    "relations",
    "problem",
    "base",
    "sampling",
    "accounts",
    "verifier",
    "throughout",
    "files",
)
APART = ("nightly", "heavy")
# Of a test with one case that a mutant names, all are made and that one is kept beside the first.
NAMED = {test: test.partition("[")[0] for test in named_tests() if "[" in test}


class Doctests:
    """Collects the doctests of files that hold any: of the others every name would be looked at, and every module imported."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[Any], list[Any]]:
        collectors = yield
        return [c for c in collectors if not isinstance(c, DoctestModule) or b">>> " in file_path.read_bytes()]


class WithoutRooms:
    """Skips tests that ask for a room that was taken out, or for all rooms."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path in [TESTS / folder for folder in rooms.OF_ALL] else None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, Any, Any]:
        report = yield
        call = report.__dict__.get("call")
        if call is not None and call.excinfo and (room := rooms.asked_for(call.excinfo.value)):
            del report.__dict__["call"]
            report.outcome, report.longrepr = "skipped", (report.nodeid, 0, rooms.needs(room))
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        if item.get_closest_marker("every_room"):
            pytest.skip("asks for every room")
        return (yield from _skipping())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        return (yield from _skipping())


def _skipping() -> Generator[None, None, None]:
    try:
        return (yield)
    except Exception as error:
        if room := rooms.asked_for(error):
            pytest.skip(rooms.needs(room))
        raise


def _failure(words: Callable[..., tuple[int, str]], error: BaseException, options: Any) -> tuple[int, str]:
    """What a command says of a failure; one over a room that was taken out goes on to the test."""
    if rooms.asked_for(error):
        raise error
    return words(error, options)


def pytest_configure(config: pytest.Config) -> None:
    """Registers what holds for all folders, not only for that of this file. The quick tier asks for its files, where no path
    is given, so that no other is read."""
    config.pluginmanager.register(Doctests())
    if rooms.ABSENT:
        from designer.cli import runner

        config.pluginmanager.register(WithoutRooms())
        runner._failure = partial(_failure, runner._failure)
    if config.option.markexpr == "quick" and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(TESTS / file) for file in QUICK]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--tier`."""
    parser.addoption("--tier", action="store_true", help="of a test that is named, run the cases of its tier, not all")


def _promises(path: Path) -> bool:
    """Whether the default runs every case of the tests of a file."""
    place = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return place.partition("/")[0] in PROMISES


def _asked(config: pytest.Config, path: Path, function: str) -> bool:
    """Whether the command names the test, for all its cases."""
    named = (arg.partition("[")[0] for arg in config.args)
    return not config.option.tier and any(part.endswith(f"{path.name}::{function}") for part in named)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects without the garbage collector, which would look at thousands of items again and again: an eighth of the time.
    Afterwards it looks for circles after 100,000 new objects, not 700."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the items of each tier."""
    seen = set[str]()
    quick = {TESTS / file for file in QUICK}
    for item in items:
        function = item.nodeid.partition("[")[0]
        name = function.partition("::")[2]
        if item.get_closest_marker("heavy"):
            continue
        alone = item.get_closest_marker("nightly") is not None
        item.add_marker(pytest.mark.nightly)
        if _asked(item.config, item.path, name):
            item.add_marker(pytest.mark.default)
        elif not alone and (function not in seen or _promises(item.path) or item.nodeid in NAMED):
            seen.add(function)
            item.add_marker(pytest.mark.default)
            if item.path in quick:
                item.add_marker(pytest.mark.quick)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In the default tier, makes the first case of a test that does not run whole, and no others, which would be left out once
    they are made."""
    path, function, config = metafunc.definition.path, metafunc.definition.nodeid.partition("::")[2], metafunc.config
    whole = _promises(path) or metafunc.definition.nodeid in NAMED.values() or _asked(config, path, function)
    if config.option.markexpr == "default" and not whole:
        metafunc.parametrize = partial(_first_case, metafunc.parametrize)  # type: ignore[method-assign]


def _first_case(
    parametrize: Callable[..., None],
    names: str | Sequence[str],
    values: Iterable[Any],
    *rest: Any,
    ids: Any = None,
    **named: Any,
) -> None:
    """`parametrize` with the first of its values that no tier has to itself; with the first one where all are."""
    listed = list(values)
    kept = next((k for k, value in enumerate(listed) if not _apart(value)), 0)
    given = ids if ids is None or callable(ids) else [list(ids)[kept]]
    parametrize(names, [listed[kept]], *rest, ids=given, **named)


def _apart(value: Any) -> bool:
    """Whether the value of a parameter stands in one tier alone."""
    return isinstance(value, type(pytest.param())) and any(mark.name in APART for mark in value.marks)
