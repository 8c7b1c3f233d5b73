"""Bars, spans and tables say the numbers that they are given; of very many, the largest, and a word about the rest. Names on
axes: short, never two alike, never formulas, never left out, in letters that are there.
"""

from __future__ import annotations

import numpy as np
import pytest

from designer.base.answer_table import AnswerTable
from designer.publish.pictures.answers import answer_drawings, spans_of
from designer.publish.pictures.figures import MOST_NAMES, bars_by_name, largest_of, rest_words, spans_by_name, table_in_colours
from designer.publish.pictures.labels import (
    REMARK,
    add_remark,
    as_text,
    fonts_for,
    legend,
    name_ticks,
    shortened,
    spell_out_missing,
    with_unit,
)

figures = pytest.importorskip("matplotlib.figure")


@pytest.mark.parametrize(("values", "told"), [([3.0, 1.0, 20.0], ["3", "1", "20"]), ([3.0, 1.0, 2000.0], ["3", "1", "2,000"])])
def test_bars_are_as_long_as_their_numbers_in_the_order_given_and_points_where_nothing_is_zero(
    values: list[float], told: list[str]
) -> None:
    axes = figures.Figure().subplots()
    bars_by_name(axes, ["a", "b", "c"], np.array(values), "error ($)")
    points = [place[0] for group in axes.collections for place in group.get_offsets().tolist()]
    widths = [bar.get_width() for bar in axes.patches]
    assert (axes.get_xscale(), widths, points) == (("log", [], values) if max(values) > 30 else ("linear", values, []))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c"] and axes.get_xlabel() == "error ($)"
    assert [text.get_text() for text in axes.texts] == told and [text.xy[0] for text in axes.texts] == values
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top


def test_of_two_hundred_the_thirty_largest_are_drawn_and_the_rest_told() -> None:
    axes, values = figures.Figure().subplots(), np.arange(1.0, 201.0)
    bars_by_name(axes, [f"q{k}" for k in range(200)], values, "error")
    assert [bar.get_width() for bar in axes.patches] == values[::-1][:MOST_NAMES].tolist()
    remarks = [text.get_text() for text in axes.texts if text.get_gid() == REMARK]
    assert remarks == ["the 30 largest of 200; the others: 1 to 170"]
    assert largest_of(np.ones(40)).tolist() == list(range(MOST_NAMES)) and rest_words(np.ones(3), range(3)) == ""
    assert rest_words(np.ones(40), range(30), "counties") == "the 30 largest of 40 counties; the others: 1"


def test_infinite_and_missing_numbers_are_said_and_not_drawn() -> None:
    axes = figures.Figure().subplots()
    bars_by_name(axes, ["a", "b"], np.array([np.inf, 1.0]), "error")
    assert [bar.get_width() for bar in axes.patches] == [0.0, 1.0] and [t.get_text() for t in axes.texts] == ["∞", "1"]


def test_points_and_their_lines_are_answers_and_intervals() -> None:
    axes = figures.Figure().subplots()
    answers, spans = np.array([-5.0, 7.0]), np.array([[-9.0, 6.0], [-1.0, 9.0]])
    spans_by_name(axes, ["a", "b"], answers, spans, "answer")
    points, (bars,) = axes.containers[0][0], axes.containers[0][2]
    assert points.get_xdata().tolist() == [-5.0, 7.0]
    assert [segment[:, 0].tolist() for segment in bars.get_segments()] == [[-9.0, -1.0], [6.0, 9.0]]


def test_a_table_in_colours_holds_its_numbers() -> None:
    axes, values = figures.Figure().subplots(), np.array([[1.0, -2.0, 0.0], [3.0, 4.0, -5.0]])
    picture = table_in_colours(axes, values, ["up", "down"], ["a", "b", "c"], "noise")
    assert picture.get_array().tolist() == values.tolist() and picture.get_clim() == (-5.0, 5.0)
    assert sorted(t.get_text() for t in axes.texts) == sorted(["1", "\u22122", "0", "3", "4", "\u22125"])


def test_answers_without_a_law_have_standard_errors_or_nothing() -> None:
    keys = (("a", "x"), ("b", "y"))
    plain = AnswerTable("answers", ("place", "sex"), keys, np.array([1.0, 2.0]), np.array([0.5, 0.25]))
    spans, words = spans_of(plain)
    assert spans is not None and spans.tolist() == [[0.5, 1.75], [1.5, 2.25]] and words == "one standard error"
    bare = AnswerTable("jobs", ("place", "sex"), keys, np.array([1.0, 2.0]), None)
    assert spans_of(bare) == (None, "without intervals")
    first, second = answer_drawings([plain, bare], lambda name: {"jobs": "persons"}.get(name, ""))
    assert (first.name, second.name, second.title) == ("answers", "answers_2", "Noisy answers: jobs")
    assert second.plot().get_xlabel() == "noisy answer, without intervals (persons)"
    assert [text.get_text() for text in first.plot().get_yticklabels()] == ["a / x", "b / y"]


def test_names_that_differ_stay_different_whatever_their_width() -> None:
    generator = np.random.default_rng(1)
    for widest in (8, 12, 36):
        names = ["".join(generator.choice(list("ab…京 "), generator.integers(0, 60))) for _ in range(300)]
        names += ["x" * 99 + str(k) + "x" * 99 for k in range(12)]
        short = shortened(names, widest)
        assert len(set(short)) == len(set(names)) or widest < 12
        assert all((a == b) == (m == n) for a, m in zip(short, names, strict=True) for b, n in zip(short, names, strict=True))


def test_short_names_are_as_they_are_and_long_ones_keep_both_ends() -> None:
    assert shortened(["Ohio", "Utah"]) == ["Ohio", "Utah"] and shortened([]) == []
    (cut,) = shortened(["the first half of a long name, and its last half"], 20)
    assert len(cut) <= 20 and cut.startswith("the first") and cut.endswith("last half")


def test_control_characters_and_turned_text_are_spelled_out() -> None:
    assert shortened(["a\nb\u202eevil"]) == ["a\\nb\\u202eevil"]
    assert with_unit("jobs", "persons") == "jobs (persons)" and with_unit("jobs", "") == "jobs"


def test_dollar_signs_and_underscores_are_drawn_as_they_are() -> None:
    axes = figures.Figure().subplots()
    lines = axes.plot([0, 1], [0, 1]) + axes.plot([0, 1], [1, 0])
    made = legend(axes, lines, ["_hidden", "$\\frac{a}{$"])
    assert [text.get_text() for text in made.get_texts()] == ["_hidden", "$\\frac{a}{$"]
    name_ticks(axes.yaxis, [0, 1], ["$x", "y$"])
    axes.figure.canvas.draw()  # a formula that is none would be refused here
    assert not any(text.get_parse_math() for text in [*made.get_texts(), *axes.get_yticklabels()])
    assert add_remark(axes, "a word").get_gid() == REMARK


def test_letters_that_no_font_has_are_spelled_out_and_others_stay() -> None:
    drawing = figures.Figure()
    texts = [as_text(drawing.text(0.5, 0.5, name)) for name in ("Île", "x\U000e0fffy", "Ελλάδα", "plain")]
    spell_out_missing(drawing)
    assert [text.get_text() for text in texts] == ["Île", "x[U+E0FFF]y", "Ελλάδα", "plain"]


def test_letters_without_a_font_are_spelled_out_in_the_names_of_ticks_when_they_are_drawn() -> None:
    axes = figures.Figure().subplots()
    name_ticks(axes.yaxis, [0, 1], ["a\U0001f9ff", "Ö"])  # a sign of 2018
    with_fonts = fonts_for("\U0001f9ff")
    spell_out_missing(axes.figure)
    axes.figure.canvas.draw()
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a\U0001f9ff" if with_fonts else "a[U+1F9FF]", "Ö"]
