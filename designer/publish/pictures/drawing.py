"""`Drawing`: one picture of something, ready to be drawn into axes, with the sentence for those who cannot see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from designer.base.checks import shown
from designer.base.display import one_line
from designer.base.errors import InvalidProblem
from designer.base.output import write_whole
from designer.publish.pictures.figures import INK, blank, check_picture, picture_bytes, styled
from designer.publish.pictures.labels import REMARK, as_text

_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STYLE = '<style type="text/css">*{'
_IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture: `draw(axes)` draws it into axes of matplotlib and touches nothing else.

    name: by which it is asked for, one word. title: above it. alt: a sentence that says what it shows, for those who cannot see
    it. depth: it needs axes with three dimensions. width, height: of a figure of its own, in inches.
    """

    name: str
    title: str
    alt: str
    draw: Callable[[Any], None]
    depth: bool = False
    width: float = 6.4
    height: float = 4.0

    def figure(self, *, shown_soon: bool = False) -> Any:
        """A figure of its own, drawn, with the title above it.

        shown_soon: let `matplotlib.pyplot` know of it, where that is loaded, so that it is shown as its figures are.
        """
        made = blank(self.width, self.height, shown_soon=shown_soon)
        axes = made.add_subplot(projection="3d" if self.depth else None)
        self.draw(axes)
        self.entitle(axes)
        return made

    def entitle(self, axes: Any) -> None:
        """Write the title above the axes, and above a remark that stands there."""
        pad = 16 if any(text.get_gid() == REMARK for text in axes.texts) else 6
        as_text(axes.set_title(one_line(self.title), loc="center" if self.depth else "left", pad=pad))

    def plot(self, ax: Any = None) -> Any:
        """Draw into `ax`, or into axes of their own; returns the axes.

        Raises `InvalidProblem` where matplotlib is missing, and for axes that have not the dimensions of the picture.
        """
        if ax is None:
            return self.figure(shown_soon=True).axes[0]
        if not callable(getattr(ax, "plot", None)) or not callable(getattr(ax, "set_xlabel", None)):
            raise InvalidProblem(
                f"ax: {shown(type(ax).__name__)} are no axes of matplotlib; give those of a figure, or None.",
                value=type(ax).__name__,
            )
        if self.depth != (getattr(ax, "name", "") == "3d"):
            made = 'projection="3d"' if self.depth else "two dimensions"
            raise InvalidProblem(f"ax: the picture {self.name!r} needs axes with {made}; make such axes, or pass None.")
        self.draw(ax)
        return ax

    def svg(self) -> str:
        """The picture as an element `<svg>` to put into a page: lines and letters in the colour of the page's text, no
        background, title and description for readers of the screen; equal pictures give equal texts."""
        with styled(INK):
            text = picture_bytes(self.figure(), "svg", transparent=True).decode()
        text = _METADATA.sub("", _HEAD.sub("", text, count=1)).replace(INK, "currentColor")
        text = text.replace(_STYLE, _STYLE.replace("*{", f"#{self.name}-figure_1 *{{"))
        text = _IDENTIFIER.sub(rf"\g<1>{self.name}-", text)
        said = f"<title>{escape(one_line(self.title), False)}</title><desc>{escape(one_line(self.alt), False)}</desc>"
        start = text.index(">") + 1
        return f'<svg role="img"{text[4 : start - 1]}>{said}{text[start:]}'.rstrip()

    def save(self, path: str | Path, *, replace: bool = True) -> Path:
        """Write it, whole or not at all, in the format that the ending of the name says; two runs write the same bytes.

        replace: may a regular file of that name be replaced?
        """
        check_picture(target := Path(path))
        with styled():
            return write_whole(target, picture_bytes(self.figure(), target.suffix), replace=replace)


def side_by_side(drawings: Sequence[Drawing]) -> Any:
    """Pictures in two dimensions side by side in one figure."""
    made = blank(sum(drawing.width for drawing in drawings), max(drawing.height for drawing in drawings))
    for place, drawing in enumerate(drawings, start=1):
        axes = made.add_subplot(1, len(drawings), place)
        drawing.draw(axes)
        drawing.entitle(axes)
    return made


def chosen(drawings: Sequence[Drawing], kind: str | None, what: str) -> Drawing:
    """The picture of that name, or the first; `InvalidProblem`, with the names that there are, for any other.

    what: of which these are the pictures, in words.
    """
    if not drawings:
        raise InvalidProblem(f"plot: there is no picture of {what}; its summary says in words what it is.")
    for drawing in drawings:
        if kind is None or drawing.name == kind:
            return drawing
    raise InvalidProblem(
        f"kind: {shown(kind)} is no picture of {what}; use one of {[drawing.name for drawing in drawings]}.", value=kind
    )
