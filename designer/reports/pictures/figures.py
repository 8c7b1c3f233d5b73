"""Figures of matplotlib, which is imported where one is made, and their bytes: the same for the same picture."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.version import installing_with
from designer.reports.pictures.labels import spell_out_missing

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
    """A figure without a screen, and its axes (an array when there are several).

    columns: how many axes beside one another. width, height: in inches. Raises `ModuleNotFoundError` without matplotlib
    (extra `plot`).
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
