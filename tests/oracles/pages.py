"""Pages of HTML as a reader with a screen reader meets them: what stands where, and what breaks the rules of access."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "link", "br", "img", "hr", "input"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}


@dataclass
class Element:
    """One element: its name, its attributes, what holds it, and the text in it."""

    tag: str
    attributes: dict[str, str]
    path: tuple[str, ...]
    text: str = ""
    children: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """The elements of a page in order; `stray` are ends without a beginning, and beginnings without an end."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source, self.elements, self.open, self.stray = text, list[Element](), list[Element](), list[str]()
        self.feed(text)
        self.close()
        self.stray += [element.tag for element in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        made = Element(tag, {name: value or "" for name, value in attrs}, tuple(e.tag for e in self.open))
        if len(made.attributes) != len(attrs):
            self.stray.append(f"{tag} with an attribute twice")
        if self.open:
            self.open[-1].children.append(tag)
        self.elements.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of SVG that ends where it begins."""
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1].tag == tag:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """The last one that is open ends, if the page is well formed."""
        if self.open and self.open[-1].tag == tag:
            self.open.pop()
        else:
            self.stray.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        """Text, told of every element around it."""
        for element in self.open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        """The elements of these names, in order."""
        return [element for element in self.elements if element.tag in tags]

    @property
    def outside(self) -> list[Element]:
        """The elements that are no part of a drawing."""
        return [element for element in self.elements if "svg" not in element.path]

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...], int]]:
        """What names cannot change: elements with the names of their attributes, and how deep they stand."""
        return [(e.tag, tuple(e.attributes), len(e.path)) for e in self.outside]


def faults(page: Page) -> list[str]:
    """What breaks the rules of access, in words; nothing of a page that everybody can read."""
    return [*page.stray, *_frame(page), *_headings(page), *_tables(page), *_names(page), *_drawings(page), *_links(page)]


def _frame(page: Page) -> list[str]:
    landmarks = Counter(element.tag for element in page.elements)
    found = [
        f"{tag}: {landmarks[tag]} times" for tag in ("html", "main", "header", "footer", "title") if _times(page, tag) != 1
    ]
    language = page.all("html")[0].attributes.get("lang")
    viewport = [m.attributes["content"] for m in page.all("meta") if m.attributes.get("name") == "viewport"]
    first = page.all("a")[0]
    found += [] if language == "en" else ["no language"]
    found += [] if viewport and "user-scalable" not in viewport[0] and "maximum-scale" not in viewport[0] else ["no zoom"]
    return found + ([] if first.attributes.get("href") == "#main" and first.text.startswith("Skip") else ["no skip link first"])


def _times(page: Page, tag: str) -> int:
    return sum(element.tag == tag for element in page.outside)


def _headings(page: Page) -> list[str]:
    levels = [int(element.tag[1]) for element in page.elements if element.tag in HEADINGS]
    found = [] if levels.count(1) == 1 and levels[0] == 1 else ["not one h1, first of all"]
    found += [f"h{low} to h{high}" for low, high in pairwise(levels) if high > low + 1]
    return found + [f"empty {e.tag}" for e in page.elements if e.tag in HEADINGS and not e.text.strip()]


def _tables(page: Page) -> list[str]:
    found = [f"th without scope: {e.text[:30]}" for e in page.all("th") if e.attributes.get("scope") not in ("col", "row")]
    found += ["table without caption" for e in page.all("table") if e.children[:1] != ["caption"]]
    found += ["empty caption" for e in page.all("caption") if not e.text.strip()]
    rows = [e for e in page.all("tr") if e.path[-1] == "tbody"]
    return found + ["row without a header" for e in rows if e.children[:1] != ["th"]]


def _names(page: Page) -> list[str]:
    used = Counter(e.attributes["id"] for e in page.elements if "id" in e.attributes)
    found = [f"id twice: {name}" for name, times in used.items() if times > 1]
    asked = [e.attributes["aria-labelledby"] for e in page.elements if "aria-labelledby" in e.attributes]
    return found + [f"names nothing: {name}" for name in asked if name not in used]


def _drawings(page: Page) -> list[str]:
    drawings = [e for e in page.all("svg") if "svg" not in e.path]
    found = [f"drawing without {what}" for e in drawings for what in ("title", "desc") if what not in e.children]
    found += ["drawing without its role" for e in drawings if e.attributes.get("role") != "img"]
    return found + ["figure without a caption" for e in page.all("figure") if "figcaption" not in e.children]


def _links(page: Page) -> list[str]:
    ids = {e.attributes.get("id") for e in page.elements}
    found = [f"leads nowhere: {e.attributes.get('href')}" for e in page.all("a") if e.attributes.get("href", "")[1:] not in ids]
    return found + [f"link without words: {e.attributes}" for e in page.all("a") if not e.text.strip()]
