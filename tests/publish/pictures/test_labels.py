"""Names on axes: short, never two alike, never formulas, never left out, in letters that are there."""

from __future__ import annotations

import numpy as np
import pytest

from designer.publish.pictures.labels import (
    REMARK,
    as_text,
    fonts_for,
    legend,
    name_ticks,
    said,
    shortened,
    spell_out_missing,
    with_unit,
)

figures = pytest.importorskip("matplotlib.figure")


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
    assert said(axes, "a word").get_gid() == REMARK


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
