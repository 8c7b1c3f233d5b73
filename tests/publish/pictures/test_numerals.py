"""Numbers for people say the number, to the digits that they show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer.publish.pictures.numerals import for_people, ticks_for_people

LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read(text: str) -> float:
    """The number that a reader takes from the text."""
    mantissa, _, power = text.replace("\u2212", "-").replace(",", "").partition("×10")
    return float(mantissa) * 10.0 ** int(power.translate(LOWERED) or 0)


@pytest.mark.parametrize("digits", [1, 2, 3, 6, 10])
def test_what_is_read_is_the_number_to_its_digits(digits: int) -> None:
    generator = np.random.default_rng(3)
    for value in (generator.normal(size=400) * 10.0 ** generator.integers(-12, 15, 400)).tolist():
        assert read(for_people(value, digits)) == pytest.approx(float(f"{value:.{digits - 1}e}"), rel=1e-12)


def test_rounding_up_to_a_power_of_ten_and_special_numbers() -> None:
    assert for_people(0.99999) == "1" and for_people(999_999.0) == "1×10⁶" and for_people(99_999.0) == "100,000"
    assert [for_people(x) for x in (0.0, -0.0, math.inf, -math.inf, math.nan)] == ["0", "0", "∞", "\u2212∞", "unknown"]
    assert for_people(-1234.5) == "\u22121,230" and for_people(0.0001) == "0.0001"


@pytest.mark.parametrize(("low", "high"), [(2.0, 3.0), (0.5, 40.0), (1e-9, 1e9)])
def test_no_two_ticks_of_an_axis_read_alike(low: float, high: float) -> None:
    matplotlib = pytest.importorskip("matplotlib.figure")
    for scale in ("linear", "log"):
        axes = matplotlib.Figure().subplots()
        axes.set_xscale(scale)
        axes.set_xlim(low, high)
        ticks_for_people(axes.xaxis)
        axes.figure.canvas.draw()
        texts = [text.get_text() for text in axes.get_xticklabels() if text.get_text()]
        assert len(texts) >= 2 and len(set(texts)) == len(texts)
        assert [read(text) for text in texts] == pytest.approx(axes.get_xticks().tolist(), rel=1e-9, abs=1e-12)
