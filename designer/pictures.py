"""Pictures of comparisons and noise, the list of those that compare; matplotlib is imported where a picture is drawn."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from designer.errors import InvalidProblem
from designer.values.checks import shown
from designer.values.output import write_whole

# From a comparison to a figure of matplotlib, such as `figure` makes.
Draw = Callable[[Any], Any]

_PICTURES: dict[str, Draw] = {}


def register_picture(name: str, draw: Draw) -> None:
    """Make `Comparison.plot(path, kind=name)` draw `draw(comparison)`, a figure of matplotlib, until the program ends.

    Nothing in a problem file or a spec names a picture.
    Raises `InvalidProblem` for a name that is taken, and for no name or no function.
    """
    if not isinstance(name, str) or not name or name in _PICTURES:
        raise InvalidProblem(f"picture: the name {shown(name)} is taken, or is no name; {sorted(_PICTURES)} are there.")
    if not callable(draw):
        raise InvalidProblem(f"picture: {shown(draw)} draws nothing; give a function from a comparison to a figure.")
    _PICTURES[name] = draw


def save_picture(kind: str, comparison: Any, path: Path, *, replace: bool = True) -> Path:
    """Draw a picture of the list and write it, whole or not at all, in the format that the ending of its name says."""
    check_picture(path)
    if kind not in list(_PICTURES):
        raise InvalidProblem(
            f"plot: {shown(kind)} is no picture; use one of {sorted(_PICTURES)}, or register_picture one of your own first."
        )
    drawing = _PICTURES[kind](comparison)
    if not callable(getattr(drawing, "savefig", None)):
        raise InvalidProblem(f"plot: {shown(kind)} gave {shown(type(drawing).__name__)}; return a figure of matplotlib.")
    picture = io.BytesIO()
    drawing.savefig(picture, format=path.suffix[1:].lower(), dpi=150)
    return write_whole(path, picture.getvalue(), replace=replace)


def figure(columns: int = 1, width: float = 6.0, height: float = 4.0) -> Any:
    """A figure without a screen, and its axes (an array when there are several)."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidProblem("plot: pictures need matplotlib; install dp-designer[plot].") from None
    drawing = Figure(figsize=(width * columns, height), layout="constrained")
    return drawing, drawing.subplots(1, columns)


def check_picture(path: Path) -> None:
    """Refuse a name without one of the endings that pictures have, before anything is computed for it."""
    drawing, _ = figure()
    known = drawing.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise InvalidProblem(f"plot: {shown(str(path))} cannot be drawn; end its name in .png, .svg or .pdf.")
