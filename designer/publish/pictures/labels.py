"""Names on axes and in legends: short, never two alike, never taken for formulas, in letters that are there."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

from designer.base.display import printed

WIDEST = 36  # letters of a name on an axis
WIDEST_IN_LEGEND = 60
DOTS = "…"
REMARK = "remark"


def shortened(names: Sequence[object], widest: int = WIDEST) -> list[str]:
    """The names, each at most so many letters wide, cut in the middle; names that differ stay different.

    >>> shortened(["a county with a long name, Ohio", "a county with a long name, Utah"], 12)
    ['a coun… Ohio', 'a coun… Utah']
    >>> shortened(["x" * 30 + "a" + "x" * 30, "x" * 30 + "b" + "x" * 30], 12)
    ['xxx…xxx (#1)', 'xxx…xxx (#2)']
    """
    whole = [printed(name) for name in names]
    cut = [_cut(name, widest) for name in whole]
    seen: dict[str, set[str]] = {}
    for name, short in zip(whole, cut, strict=True):
        seen.setdefault(short, set()).add(name)
    return [
        short if len(seen[short]) == 1 else _numbered(name, widest, place)
        for place, (name, short) in enumerate(zip(whole, cut, strict=True), start=1)
    ]


def with_unit(name: str, unit: str) -> str:
    """A name with what is counted, where that is known: `jobs (persons)`."""
    return f"{name} ({unit})" if unit else name


def _numbered(name: str, widest: int, place: int) -> str:
    """Cut further, with the place in the list, which no other name has."""
    number = f" (#{place})"
    return _cut(name, max(3, widest - len(number))) + number


def _cut(name: str, widest: int) -> str:
    if _width(name) <= widest:
        return name
    head, tail = "", ""
    for near, far in zip(name, reversed(name), strict=True):
        if _width(head + near + tail) >= widest:
            break
        head += near
        if _width(head + far + tail) >= widest:
            break
        tail = far + tail
    return head.rstrip() + DOTS + tail


def _width(text: str) -> int:
    """How many Latin letters wide: letters of East Asia take two, marks above and below others none."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def name_ticks(axis: Any, places: Sequence[float], names: Sequence[object], *, rotation: float = 0.0) -> None:
    """Names at places of an axis of matplotlib, shortened."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_major_formatter(FixedFormatter(shortened(names)))
    axis.set_tick_params(labelrotation=rotation)
    for label in axis.get_ticklabels():
        as_text(label)


def as_text(artist: Any) -> Any:
    """Let a text of matplotlib be what it says, dollar signs and all, in fonts that have its letters where some are there."""
    artist.set_parse_math(False)
    further = fonts_for(artist.get_text())
    if further:
        artist.set_fontfamily([*artist.get_fontfamily(), *further])
    return artist


def legend(axes: Any, handles: Sequence[Any], names: Sequence[object], **options: Any) -> Any:
    """A legend whose names are texts: matplotlib alone leaves out those that begin with an underscore."""
    made = axes.legend(list(handles), ["-"] * len(handles), **options)
    for text, name in zip(made.get_texts(), shortened(names, WIDEST_IN_LEGEND), strict=True):
        text.set_text(name)
        as_text(text)
    return made


def add_remark(axes: Any, text: str, **options: Any) -> Any:
    """A remark above the right end of the axes, small; a title goes above it (`REMARK`)."""
    style = {"ha": "right", "va": "bottom", "fontsize": 8, "gid": REMARK, **options}
    return as_text(axes.annotate(text, (1.0, 1.0), (0, 2), xycoords="axes fraction", textcoords="offset points", **style))


@cache
def fonts_for(text: str) -> tuple[str, ...]:
    """Families of installed fonts that hold letters of the text which the usual font lacks, most letters first."""
    missing = {c for c in text if not c.isspace() and ord(c) not in _letters(_usual())}
    if not missing:
        return ()
    found: list[str] = []
    for font in _real_fonts():
        if not missing:
            break
        held = {c for c in missing if ord(c) in _letters(font.fname)} if font.style == "normal" else set()
        if held:
            found.append(font.name)
            missing -= held
    return tuple(found)


def _usual() -> str:
    from matplotlib.font_manager import findfont

    return str(findfont("DejaVu Sans"))


@cache
def _letters(path: str) -> frozenset[int]:
    """The letters that a font file holds; none of one that cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (RuntimeError, OSError):
        return frozenset()


def spell_out_missing(made: Any) -> None:
    """Write letters of a figure that no font has as their numbers, U+4E2D, where they would be empty boxes."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedFormatter

    for text in made.findobj(Text):
        text.set_text(_spelled(text.get_text()))
    for axis in (axis for axes in made.axes for axis in (axes.xaxis, axes.yaxis)):
        formatter = axis.get_major_formatter()
        if isinstance(formatter, FixedFormatter):  # which writes the names of ticks anew
            axis.set_major_formatter(FixedFormatter(shortened(list(map(_spelled, formatter.seq)))))


def _spelled(written: str) -> str:
    if written.isascii():
        return written
    files = [_usual(), *_files(fonts_for(written))]
    return "".join(c if _drawn(c, files) else f"[U+{ord(c):04X}]" for c in written)


def _files(families: Sequence[str]) -> list[str]:
    return [font.fname for font in _real_fonts() if font.name in families]


def _real_fonts() -> list[Any]:
    """The installed fonts but for the one that draws a box for every letter."""
    from matplotlib.font_manager import fontManager

    return [font for font in fontManager.ttflist if "Last Resort" not in font.name]


def _drawn(letter: str, files: Sequence[str]) -> bool:
    return letter.isspace() or any(ord(letter) in _letters(file) for file in files)
