"""Saved releases of every kind, read back with their answer tables and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from designer import InvalidProblem, InvalidSpec, read_release
from designer.base.answer_table import AnswerTable, interval_data
from designer.files.releases import release_document
from designer.mechanism.release import Release
from tests.oracles.release_specimens import releases
from tests.oracles.spec_specimens import specimens

NAMES = list(specimens())
# Formats whose releases hold numbers without intervals in some table, and what is said then.
WITHOUT = {"dp-designer/odds-ratio-test": "p-value", "dp-designer/table-plan": "quantile", "dp-designer/mwem": "output"}


@pytest.mark.parametrize("name", ["laplace uniform", "staircase coset", "table plan"])
def test_a_release_comes_back_with_the_same_intervals(name: str) -> None:
    maker, released = releases()[name]
    again = read_release(maker, release_document(maker, released))
    assert interval_data(again.answer_tables()) == interval_data(released.answer_tables())


@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_their_answers_and_widen_with_what_is_asked(name: str) -> None:
    maker, released = releases()[name]
    for table in released.answer_tables():
        assert len(table.keys) == len(table.answers) and all(len(key) == len(table.columns) for key in table.keys)
        assert len(set(table.keys)) == len(table.keys)
        try:
            each, more, joint = table.intervals(0.9), table.intervals(0.99), table.intervals(0.9, simultaneous=True)
        except InvalidProblem as refusal:
            assert WITHOUT[maker.format] in str(refusal)
            continue
        assert (more.lower <= each.lower + 1e-9).all() and (each.upper <= more.upper + 1e-9).all()
        if maker.format != "dp-designer/table-plan":  # where averages are cut at public bounds
            assert (joint.lower <= each.lower + 1e-9).all() and (each.upper <= joint.upper + 1e-9).all()
            assert (each.lower <= table.answers + 1e-9).all() and (table.answers <= each.upper + 1e-9).all()
        silent = table.standard_errors == 0 if table.standard_errors is not None else np.zeros(0, dtype=bool)
        assert (each.lower[silent] == each.upper[silent]).all() and (joint.lower[silent] == joint.upper[silent]).all()
        assert each.law and each.level == 0.9 and joint.simultaneous and not each.simultaneous


def test_an_altered_release_is_not_read() -> None:
    name = NAMES[0]
    maker, released = releases()[name]
    document = release_document(maker, released)
    with pytest.raises(InvalidSpec, match="seal"):
        read_release(maker, {**document, "answers": {}})


def test_a_release_without_its_mechanism_says_how_to_find_it() -> None:
    _, released = next(pair for pair in releases().values() if type(pair[1]) is Release)
    alone = Release(released.answers, released.queries, released.guarantee, released.fingerprint)
    assert alone.standard_errors is None
    with pytest.raises(InvalidProblem, match="read_release"):
        alone.intervals()


@pytest.mark.parametrize(("level", "joint", "words"), [(1.0, False, "level"), ("x", False, "level"), (0.9, 1, "simultaneous")])
def test_levels_and_kinds_that_are_none_are_refused(level: float, joint: bool, words: str) -> None:
    table = AnswerTable("answers", ("query",), (("a",),), np.array([1.0]), None)
    with pytest.raises(InvalidProblem, match=f"^{words}"):
        table.intervals(level, joint)
