"""A page as one file of HTML that needs nothing else: no network, no script, its style and its pictures within it.

Names come from files: everything is escaped, and pictures are looked through before they are put in.

The colours of a page, in light and in dark, and how well they can be told apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from designer.base.errors import InvalidProblem
from designer.base.printing import one_line
from designer.base.version import installing_with
from designer.reports.content import BoardPage, Picture
from designer.reports.glossary import MEANINGS, anchor_of, with_terms

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
    made: str = template("page.html.jinja").render(
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
def template(name: str) -> Any:
    """A page of the folder of templates; `InvalidProblem` where Jinja2 (extra `report`) is missing."""
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
    return found.get_template(name)


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
        raise InvalidProblem(f"picture: {picture.name!r} is no SVG.", value=picture.name) from None
    for element in root.iter():
        if _plain(str(element.tag)) not in DRAWN or LOADING.search(element.text or ""):
            raise InvalidProblem(f"picture: {picture.name!r} holds more than a drawing does.", value=picture.name)
        for name, value in element.attrib.items():
            leads = _plain(name) == "href" and not INSIDE.match(value)
            if leads or _plain(name).lower().startswith("on") or LOADING.search(value):
                raise InvalidProblem(f"picture: {picture.name!r} holds more than a drawing does.", value=picture.name)


def _plain(name: str) -> str:
    return name.rpartition("}")[2]
