"""Pictures of comparisons and noise; matplotlib is imported where a picture is drawn."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from designer.errors import InvalidProblem
from designer.files.output import write_whole
from designer.frozen import shown

if TYPE_CHECKING:
    from designer.compare import Comparison


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


def draw_comparison(comparison: Comparison, path: Path, *, replace: bool = True) -> Path:
    """Left: the loss of every family. Right: the standard deviation of the noise of each query, sorted for the best family."""
    check_picture(path)
    drawing, (left, right) = figure(columns=2)
    rows = sorted((row for row in comparison.rows if row["loss"] is not None), key=lambda row: row["loss"], reverse=True)
    if not rows:
        raise InvalidProblem("plot: no family has a mechanism for this problem, there is nothing to draw.")
    bars = left.barh([row["family"] for row in rows], [row["loss"] for row in rows], color="0.6")
    bars[-1].set_color("tab:blue")
    left.bar_label(bars, fmt="%.3g", padding=3)
    weighted = "" if (comparison.problem.costs == 1).all() else "weighted "
    words = {
        "squared": "expected total squared error",
        "absolute": "expected total absolute error",
        "max": "largest query variance",
    }
    left.set_xlabel(weighted + words[comparison.problem.loss])
    left.set_xscale("log")
    left.margins(x=0.25)
    order = np.argsort(rows[-1]["scales"])
    for row in rows[::-1]:
        right.plot(np.sqrt(2) * np.array(row["scales"])[order], marker="o", markersize=3, linewidth=1, label=row["family"])
    right.set_yscale("log")
    right.set_xlabel(f"queries, sorted by the noise of {rows[-1]['family']}")
    right.set_xticks(range(len(order)) if len(order) <= 20 else [])
    right.set_ylabel("standard deviation of the noise")
    right.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    picture = io.BytesIO()
    drawing.savefig(picture, format=path.suffix[1:].lower(), dpi=150)
    return write_whole(path, picture.getvalue(), replace=replace)
