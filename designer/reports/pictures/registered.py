"""Pictures of a user's own, by the name under which they were registered, and files of pictures of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.output import write_whole
from designer.reports.pictures.drawing import Drawing, chosen
from designer.reports.pictures.figures import check_picture, picture_bytes, require_matplotlib, styled

# From a comparison to a figure of matplotlib, such as `figure` makes.
Draw = Callable[[Any], Any]
OWN = ("families", "deviations", "budget", "relation")  # of comparisons and least budgets, never a user's

_PICTURES: dict[str, Draw] = {}


def register_picture(name: str, draw: Draw) -> None:
    """Let `designer.plot(comparison, path, kind=name)` draw `draw(comparison)`, a figure of matplotlib, in this process.

    Nothing in a problem file or a spec names a picture.
    Raises `InvalidProblem` for a name that is taken, and for no name or no function.

    name: of the kind of picture. draw: a function from a comparison to a figure.
    """
    if not isinstance(name, str) or not name or name in (*OWN, *_PICTURES):
        there = sorted({*OWN, *_PICTURES})
        raise InvalidProblem(f"picture: the name {shown(name)} is taken, or is no name; {there} are there.")
    if not callable(draw):
        raise InvalidProblem(
            f"picture: {shown(draw)} draws nothing; give a function from a comparison to a figure.", value=draw
        )
    _PICTURES[name] = draw


def registered_figure(kind: str, comparison: Any) -> Any:
    """The figure that a registered picture draws; None where none of that name is registered."""
    if kind not in list(_PICTURES):
        return None
    require_matplotlib()
    made = _PICTURES[kind](comparison)
    if not callable(getattr(made, "savefig", None)):
        raise InvalidProblem(
            f"plot: {shown(kind)} gave {shown(type(made).__name__)}; return a figure of matplotlib.", value=kind
        )
    return made


def kind_among(drawings: Sequence[Drawing], kind: object) -> Drawing:
    """The picture of that name among those of a comparison; the refusal of any other names the registered ones, too."""
    if kind not in {drawing.name for drawing in drawings}:
        there = sorted({*(drawing.name for drawing in drawings), *_PICTURES})
        raise InvalidProblem(
            f"plot: {shown(kind)} is no picture; use one of {there}, or register_picture one of your own first.", value=kind
        )
    return chosen(drawings, str(kind), "this comparison")


def save_figure(made: Any, path: Path, *, replace: bool = True) -> Path:
    """Write a figure, or what a function draws, whole or not at all, in the format that the ending of its name says."""
    check_picture(path)
    with styled():
        return write_whole(path, picture_bytes(made() if callable(made) else made, path.suffix), replace=replace)
