"""Figures of matplotlib, which is imported where one is made, and their bytes: the same for the same picture."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.version import installing_with
from designer.publish.pictures.labels import add_remark, as_text, name_ticks, shortened, spell_out_missing
from designer.publish.pictures.numerals import for_people, no_less, ticks_for_people
from designer.publish.pictures.style import colour, ink

INK = "#12345e"  # stands for the colour of the page's text, in pictures that are put into pages
# What a picture of its own looks like: small letters, no frame to the right and above, names as texts that readers can search.
STYLE: Mapping[str, Any] = MappingProxyType(
    {
        "font.size": 9.0,
        "axes.titlesize": 10.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": False,
        "axes.unicode_minus": True,
        "legend.fontsize": 8.0,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "dp-designer",
        "svg.id": None,
        "path.simplify": True,
    }
)
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor", "patch.edgecolor")
# Matplotlib writes the date of a file, and so do readers of it, unless these are empty.
UNDATED: Mapping[str, Mapping[str, None]] = MappingProxyType(
    {"svg": MappingProxyType({"Date": None}), "pdf": MappingProxyType({"CreationDate": None}), "png": MappingProxyType({})}
)


def require_matplotlib() -> None:
    """`InvalidProblem`, with what to install, where matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        missing = "" if (error.name or "").partition(".")[0] == "matplotlib" else f" ({shown(str(error))})"
        raise InvalidProblem(f"plot: pictures need matplotlib{missing}; {installing_with('plot')}.") from None


def figure(columns: int = 1, width: float = 6.0, height: float = 4.0) -> Any:
    """Open a figure without a screen, and its axes (an array when there are several). Raises `ModuleNotFoundError` without
    matplotlib (extra `plot`).

    Parameters
    ----------
    columns : how many axes beside one another.
    width, height : in inches.
    """
    drawing = blank(width * columns, height)
    return drawing, drawing.subplots(1, columns)


def blank(width: float, height: float, *, shown_soon: bool = False) -> Any:
    """An empty figure, in inches; one that `pyplot` knows, so that a notebook shows it, where that is asked for and loaded."""
    require_matplotlib()
    pyplot = sys.modules.get("matplotlib.pyplot") if shown_soon else None
    if pyplot is not None:
        return pyplot.figure(figsize=(width, height), layout="constrained")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@contextmanager
def styled(ink: str | None = None) -> Iterator[None]:
    """The look of pictures of their own while they are drawn and written. ink: a colour for lines and letters."""
    require_matplotlib()
    from matplotlib import rc_context

    look: Any = {**STYLE, **{name: ink for name in INKED if ink is not None}}
    with rc_context(look):
        yield


def check_picture(path: Path) -> None:
    """Refuse a name without one of the endings that pictures have, before anything is computed for it."""
    known = blank(1, 1).canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise InvalidProblem(f"plot: {shown(str(path))} cannot be drawn; end its name in .png, .svg or .pdf.", value=path)


def picture_bytes(drawing: Any, suffix: str, *, transparent: bool = False) -> bytes:
    """A figure in a format, named as files end, without its date: equal figures give equal bytes."""
    kind, written = suffix.removeprefix(".").lower(), io.BytesIO()
    if kind != "svg":  # whose letters are those of the reader
        spell_out_missing(drawing)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        drawing.savefig(written, format=kind, dpi=150, metadata=dict(UNDATED.get(kind, {})) or None, transparent=transparent)
    return written.getvalue()


# Forms that pictures of many things share: bars by name, points with spans, tables in colours, and the largest of many.


MOST_NAMES = 30  # names that are read at a glance
LOOKED_AT = 1000  # names whose lengths say how wide a picture is
SPREAD = 30.0  # of the largest over the least positive value, from which an axis is logarithmic


def largest_of(values: Floats, most: int = MOST_NAMES) -> NDArray[np.intp]:
    """Places of the values, (n,), in their own order where they are few; else of the largest, which come first; equal ones, up
    to six digits, stay in order."""
    if len(values) <= most:
        return np.arange(len(values))
    known = np.nan_to_num(values, nan=-np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(known))) - 5)
        rounded = np.where(np.isfinite(unit) & (unit > 0), np.round(known / unit) * unit, known)
    return np.argsort(-rounded, kind="stable")[:most]


def rest_words(values: Floats, shown_places: Sequence[int] | NDArray[np.intp], what: str = "") -> str:
    """What is said of the values, (n,), that are not shown: how many, and between what they lie. Empty where all are."""
    rest = np.delete(values, np.asarray(shown_places, dtype=np.intp))
    if not len(rest):
        return ""
    low, high = no_less(float(rest.min())), no_less(float(rest.max()))
    between = low if low == high else f"{low} to {high}"
    return f"the {len(values) - len(rest)} largest of {len(values)}{what and ' ' + what}; the others: {between}"


def height_for(rows: int) -> float:
    """Inches of a picture with so many rows, those beyond `MOST_NAMES` left out."""
    return 1.3 + 0.21 * max(3, min(rows, MOST_NAMES))


def size_for(names: Sequence[object]) -> dict[str, Any]:
    """Width and height in inches of a picture whose rows have these names, those beyond `MOST_NAMES` left out."""
    return {"width": 5.6 + 0.07 * max([12, *map(len, shortened(names[:LOOKED_AT]))]), "height": height_for(len(names))}


def bars_by_name(axes: Any, names: Sequence[object], values: Floats, label: str, *, best: int | None = None) -> None:
    """A bar for each of the largest values, (n,), the first on top, with its number beside it; a word about the rest.

    Points take the place of bars where the axis is logarithmic, which has no zero that lengths could be measured from.
    best: the place of one to be told apart by its colour.
    """
    places = largest_of(values)
    kept = np.asarray(values, dtype=np.float64)[places]
    finite = np.where(np.isfinite(kept), kept, 0.0)
    rows = np.arange(len(places))
    shades = [colour(0) if best is None or place == best else "0.6" for place in places.tolist()]
    if logarithmic(axes.xaxis, finite):
        axes.scatter(finite, rows, color=shades, s=36)
        axes.grid(axis="x", alpha=0.25)
    else:
        axes.barh(rows, finite, color=shades, height=0.7)
    for row, reach, value in zip(rows.tolist(), finite.tolist(), kept.tolist(), strict=True):
        beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
        as_text(axes.annotate(no_less(value), (reach, row), **beside))
    name_rows(axes, [names[place] for place in places.tolist()])
    axes.set_xlabel(label, parse_math=False)
    axes.margins(x=0.12)
    remark(axes, rest_words(np.asarray(values), places))
    ticks_for_people(axes.xaxis)


def spans_by_name(axes: Any, names: Sequence[object], values: Floats, spans: Floats | None, label: str) -> NDArray[np.intp]:
    """A point for each of the largest values, (n,), with a line from `spans[0]` to `spans[1]`, (2, n); returns their places."""
    places = largest_of(values)
    rows = np.arange(len(places))
    beyond = None if spans is None else np.abs(np.asarray(spans)[:, places] - np.asarray(values)[places])
    style = {"fmt": "o", "markersize": 4, "color": colour(0), "ecolor": colour(0), "elinewidth": 1.4, "capsize": 2.5}
    axes.errorbar(np.asarray(values)[places], rows, xerr=beyond, **style)
    if (np.asarray(values)[places] < 0).any() or (spans is not None and (np.asarray(spans)[0, places] < 0).any()):
        axes.axvline(0.0, color=ink(axes), linewidth=0.6)
    name_rows(axes, [names[place] for place in places.tolist()])
    axes.set_xlabel(label, parse_math=False)
    axes.grid(axis="x", alpha=0.25)
    remark(axes, rest_words(np.asarray(values), places))
    ticks_for_people(axes.xaxis)
    return places


def name_rows(axes: Any, names: Sequence[object]) -> None:
    """Rows from top to bottom with their names."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    name_ticks(axes.yaxis, range(len(names)), names)
    axes.tick_params(axis="y", length=0)


def remark(axes: Any, words: str) -> None:
    """A remark at the upper right, where there is something to say."""
    if words:
        add_remark(axes, words)


def logarithmic(axis: Any, values: Floats) -> bool:
    """Make an axis logarithmic where the values, (n,), are positive and far apart; returns whether it is."""
    positive = values[values > 0]
    far = len(positive) == len(values) > 1 and positive.max() / positive.min() > SPREAD
    if far:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    return bool(far)


def table_in_colours(axes: Any, values: Floats, rows: Sequence[object], columns: Sequence[object], label: str) -> Any:
    """A cell in colour for each entry, (n, m), its number in it where there are few; blue below and orange above zero."""
    from matplotlib.colors import LinearSegmentedColormap

    signed = bool((values < 0).any())
    reach = float(np.abs(values).max(initial=0.0)) or 1.0
    shades = LinearSegmentedColormap.from_list("signed", [colour(0), "#f2f2f2", colour(1)])
    positive = LinearSegmentedColormap.from_list("positive", ["#f2f2f2", colour(0)])
    picture = axes.imshow(
        values,
        cmap=shades if signed else positive,
        vmin=-reach if signed else 0.0,
        vmax=reach,
        aspect="auto",
        interpolation="none",
    )
    name_ticks(axes.yaxis, range(len(rows)), rows)
    name_ticks(axes.xaxis, range(len(columns)), columns, rotation=0.0 if _fits(columns) else 90.0)
    if values.size <= 200:
        for (row, column), value in np.ndenumerate(values):
            deep = abs(value) > 0.6 * reach
            axes.text(
                column, row, for_people(float(value)), ha="center", va="center", fontsize=7, color="white" if deep else "0.1"
            )
    bar = axes.figure.colorbar(picture, ax=axes, shrink=0.8)
    bar.set_label(label, parse_math=False)
    ticks_for_people(bar.ax.yaxis)
    return picture


def _fits(names: Sequence[object]) -> bool:
    return max(len(str(name)) for name in names) * len(names) <= 48
