"""Pictures of comparisons and noise; matplotlib is imported where a picture is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from designer.errors import InvalidProblem
from designer.values.checks import shown

if TYPE_CHECKING:
    pass


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
