"""The colours of a page, in light and in dark, and how well they can be told apart."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "raised": "#f4f6f8",
    "ink": "#1b1f24",
    "soft": "#4a535e",
    "line": "#c5cbd3",
    "link": "#0b4f91",
    "alarm-paper": "#fff0dc",
    "alarm-ink": "#5f2d00",
    "alarm-line": "#b25c00",
}
DARK: Mapping[str, str] = {
    "paper": "#14171a",
    "raised": "#1e2328",
    "ink": "#e6e8eb",
    "soft": "#b0b8c2",
    "line": "#454d57",
    "link": "#8fbcff",
    "alarm-paper": "#38240e",
    "alarm-ink": "#ffdcae",
    "alarm-line": "#d98a2b",
}
# What is written in which colour on which: every pair that the page uses.
WRITTEN = (
    ("ink", "paper"),
    ("ink", "raised"),
    ("soft", "paper"),
    ("soft", "raised"),
    ("link", "paper"),
    ("link", "raised"),
    ("alarm-ink", "alarm-paper"),
    ("link", "alarm-paper"),
)


def variables(palette: Mapping[str, str]) -> str:
    """The palette as variables of a style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def contrast(one: str, other: str) -> float:
    """The contrast of two colours `#rrggbb` by the formula of the WCAG, from 1 to 21.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
