"""A page as one file of HTML that needs nothing else: no network, no script, its style and its pictures within it.

Names come from files: everything is escaped, and pictures are looked through before they are put in.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from designer.base.errors import InvalidProblem
from designer.reports.content import BoardPage, Picture
from designer.reports.glossary import MEANINGS, anchor_of, with_terms
from designer.reports.palette import DARK, LIGHT, variables
from designer.base.printing import one_line
from designer.base.version import installing_with

TEMPLATES = Path(__file__).parent / "templates"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
# What a drawing may consist of.
DRAWN = frozenset(
    {"svg", "g", "path", "defs", "use", "text", "tspan", "rect", "circle", "ellipse", "line", "polyline", "polygon", "clipPath"}
    | {"title", "desc", "style", "image", "linearGradient", "radialGradient", "stop", "pattern"}
)
INSIDE = re.compile(r"#[\w.-]+$|data:image/png;base64,[A-Za-z0-9+/=\s]+$")
LOADING = re.compile(r"url\((?!#)|@import|expression|javascript:", re.IGNORECASE)


def html_of(page: BoardPage) -> str:
    """The page as HTML. Raises `InvalidProblem` where Jinja2 (extra `report`) is missing."""
    made: str = _template().render(
        page=page,
        policy=POLICY,
        light=variables(LIGHT),
        dark=variables(DARK),
        glossary=[
            (anchor_of(term), term, meaning) for term, meaning in sorted(MEANINGS.items(), key=lambda entry: entry[0].lower())
        ],
        linker=Linker,
        kind=lambda piece: type(piece).__name__,
        drawn=drawn,
    )
    return made


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise InvalidProblem(
            f"report: a page in HTML needs Jinja2, which is not installed; {installing_with('report')}, or write the page as "
            ".md."
        ) from None
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=tidy,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return found.get_template("page.html.jinja")


def tidy(value: object) -> object:
    """A text fit to be seen: nothing in it is invisible or turns it around, and no line begins with a sign of percent. What is
    HTML already stays as it is."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return one_line(value).replace(" %", "\N{NO-BREAK SPACE}%")


class Linker:
    """Writes texts with links to the words of the glossary, each word once in its part of the page."""

    def __init__(self) -> None:
        self.linked: set[str] = set()

    def said(self, text: str) -> Any:
        """The text, escaped, with its links."""
        from markupsafe import Markup, escape

        pieces = []
        for piece, term in with_terms(str(tidy(text))):
            if term is None or term in self.linked:
                pieces.append(escape(piece))
            else:
                self.linked.add(term)
                pieces.append(Markup('<a class="term" href="#{}">{}</a>').format(anchor_of(term), piece))
        return Markup("").join(pieces)


def drawn(picture: Picture) -> Any:
    """A drawing to be put into the page as it is, once nothing was found in it but lines, letters and embedded dots."""
    from markupsafe import Markup

    _require_drawing(picture)
    return Markup(picture.svg)


def _require_drawing(picture: Picture) -> None:
    """Refuse what could load, run or lead elsewhere."""
    try:
        root = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", picture.svg))
    except ElementTree.ParseError:
        raise InvalidProblem(f"picture: {picture.name!r} is no SVG.") from None
    for element in root.iter():
        if _plain(str(element.tag)) not in DRAWN or LOADING.search(element.text or ""):
            raise InvalidProblem(f"picture: {picture.name!r} holds more than a drawing does.")
        for name, value in element.attrib.items():
            leads = _plain(name) == "href" and not INSIDE.match(value)
            if leads or _plain(name).lower().startswith("on") or LOADING.search(value):
                raise InvalidProblem(f"picture: {picture.name!r} holds more than a drawing does.")


def _plain(name: str) -> str:
    return name.rpartition("}")[2]
