"""The whole page, put together from what each section says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from designer.base.display import one_line
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.json_text import utc_text
from designer.base.progress import announce
from designer.base.version import VERSION, installing_with
from designer.certificate.frozen import FrozenMechanism
from designer.files.kinds import mechanism_kind
from designer.mechanism.caution_lines import cautions
from designer.publish import sections
from designer.publish.content import BoardPage, Evidence, PageSection, Picture, date_words, named
from designer.publish.contributor import Contributor
from designer.publish.pictures.kinds import drawings_of
from designer.publish.sections import by_oneself, deep_section, verification
from designer.publish.summary import headlines


def contributor_of(made: FrozenMechanism) -> Contributor[Any]:
    """What speaks for the format of an object; `InvalidProblem` for one that no spec can hold."""
    kind = mechanism_kind(made)
    if kind is None:
        raise InvalidProblem(
            f"mechanism: {made.format!r} is no format of specs, so there is no page for it.", value=made.format
        )
    contributor: Contributor[Any] = kind.part("page")()
    return contributor


def board_page(evidence: Evidence) -> BoardPage:
    """What is said of an object, and of its release and its ledger where they were looked at.

    The same evidence gives the same page, but for the time.
    """
    made, time = evidence.made, date_words(utc_text(evidence.time))
    contributor = contributor_of(made)
    announce("report: writing the page")
    told, accurate = contributor.published(made), contributor.accuracy(made)
    title = named(made.about.title, 200) if made.about.title else told.answer
    parts = [
        sections.published(made, told),
        sections.budgets(evidence, contributor),
        sections.unprotected(evidence, contributor),
        sections.accuracies(accurate, evidence.release),
        *([sections.answers(evidence.release)] if evidence.release else []),
        *_pictures(evidence),
        *sections.spending(evidence),
        *sections.comparison(evidence),
        sections.certificate(made, contributor),
        verification(evidence, contributor),
        *deep_section(evidence),
        by_oneself(evidence),
        sections.full_statement(evidence.guarantee),
    ]
    return BoardPage(
        title=title,
        subtitle=f"Mechanism {made.fingerprint[:12]}",
        time=time,
        software=f"dp-designer {VERSION}",
        fingerprint=made.fingerprint,
        headlines=headlines(evidence, contributor, told, accurate),
        sections=tuple(parts),
        warnings=tuple(named(line, 600) for line in cautions(made)),
    )


def _pictures(evidence: Evidence) -> Iterator[PageSection]:
    """What there is to be seen, where drawings can be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    released = None if evidence.release is None else evidence.release.released
    try:
        every = drawings_of(evidence.made, released)
        # pictures of draws and of geometry decide nothing for a board
        found = [d for d in every if not re.fullmatch("noise|ball|table|answers_.*", d.name) and not _level(evidence, d.name)]
        drawn = tuple(Picture(d.name, d.title, d.alt, d.svg()) for d in found[:2])
    except (DesignFailed, InvalidProblem):
        return  # what has no number has no picture; its sections say why
    if drawn:
        yield PageSection("pictures", "Pictures", drawn)


def _level(evidence: Evidence, name: str) -> bool:
    """Is it the picture of standard errors that are all the same? A number says as much."""
    if name != "errors" or not hasattr(evidence.made, "standard_errors"):
        return False
    errors = evidence.made.standard_errors()
    return bool(errors.max() <= 1.01 * errors.min())


# The words of the field that a page uses, each with what it means to somebody who is new to it.


# Each word as the list shows it, with the forms that a text may have it in.
FORMS: Mapping[str, tuple[str, ...]] = {
    "accuracy": ("accuracy",),
    "approximate privacy": ("approximate privacy", "approximate dX-privacy", "(epsilon, delta)"),
    "budget": ("budgets", "budget"),
    "candidate": ("candidates", "candidate"),
    "certificate": ("certificates", "certificate"),
    "deep verification": ("deep verification",),
    "delta": ("deltas", "delta"),
    "differential privacy": ("differential privacy", "dX-privacy"),
    "epsilon": ("epsilons", "epsilon"),
    "family": ("families", "family"),
    "fingerprint": ("fingerprints", "fingerprint"),
    "guarantee": ("guarantees", "guarantee"),
    "ledger": ("ledgers", "ledger"),
    "limit": ("no additive noise is below",),
    "margin": ("margins", "margin"),
    "noise": ("noise",),
    "norm": ("norm balls", "norm ball", "norms", "norm"),
    "odds": ("odds",),
    "policy": ("policies", "policy"),
    "pure privacy": ("pure dX-privacy", "pure privacy", "pure promises", "pure promise"),
    "record": ("records", "record"),
    "Renyi divergence": ("Renyi divergences", "Renyi divergence"),
    "rho": ("rho",),
    "right guesses": ("right guesses",),
    "seal": ("seal",),
    "signature": ("signatures", "signature"),
    "spec": ("specs", "spec"),
    "split row": ("split rows", "split row"),
    "standard error": ("standard errors", "standard error"),
    "synthetic table": ("synthetic tables", "synthetic table"),
    "theorem": ("theorems", "theorem"),
    "tradeoff function": ("tradeoff functions", "tradeoff function"),
    "zero-concentrated privacy": (
        "zero-concentrated privacy", "zero-concentrated dX-privacy", "zero-concentrated", "zCDP",
    ),
}  # fmt: skip
MEANINGS: Mapping[str, str] = {
    "accuracy": "How near released numbers are to the true ones, 95 % of the time.",
    "approximate privacy": "A promise of a factor exp(epsilon) on probabilities, but for a probability of delta.",
    "budget": "What a change of the data may cost; outputs become at most exp(budget) times as likely.",
    "candidate": "One of the things that may be chosen; all are public.",
    "certificate": "The result of computing, from the file alone, that no protected change exceeds its budget.",
    "deep verification": "Small cases written out in full, and the random numbers tested.",
    "delta": "By what probabilities may differ beyond the factor exp(epsilon); far below 1 over the number of people.",
    "differential privacy": "What is released is nearly as likely whatever one record says.",
    "epsilon": "One budget for all changes; small is safe.",
    "family": "A way of making noise.",
    "fingerprint": "64 characters computed from all that decides a release; equal ones mean the same mechanism.",
    "guarantee": "The full statement of what is promised.",
    "ledger": "The book in which each release is entered with its cost, before it is made.",
    "limit": "A loss that no noise added to the answers can be below.",
    "margin": "Of an answer: what its noise stays below 95 % of the time. Of a table: its sums.",
    "noise": "Random numbers added to true answers.",
    "norm": "A way to measure lengths; noise falls off with its length.",
    "odds": "How likely one thing is against another: 1 to 19 is a chance of 1 in 20.",
    "policy": "A public function that says how much each record may lose.",
    "pure privacy": "A promise on odds that holds for every output.",
    "record": "What is protected: usually the data of one person.",
    "Renyi divergence": "A measure of how different two lists of probabilities are.",
    "rho": "The budget of zero-concentrated privacy.",
    "right guesses": "How often the best attacker tells two equally likely cases apart; 50 % is chance.",
    "seal": "A number in a file that shows accidental changes, not deliberate ones.",
    "signature": "A proof that the holder of a secret key signed this file.",
    "spec": "The file that holds a mechanism whole.",
    "split row": "A large record counts as several rows of limited size.",
    "standard error": "The typical size of the noise in an answer.",
    "synthetic table": "A made-up table that answers certain queries nearly as the true one.",
    "theorem": "The sentence that turns what was computed into the promise.",
    "tradeoff function": "How many misses an attacker must have, for each share of false alarms.",
    "zero-concentrated privacy": "A promise on averages of odds; it implies (epsilon, delta) at every delta.",
}
_TERM_OF = {form.lower(): term for term, forms in FORMS.items() for form in forms}
LETTERS = ("delta", "deltas", "epsilon", "epsilons", "rho")
_ANY = re.compile(
    r"(?<![\w-])(" + "|".join(re.escape(form) for form in sorted(_TERM_OF, key=len, reverse=True)) + r")(?![\w-])",
    re.IGNORECASE,
)


def _is_name(text: str, found: re.Match[str]) -> bool:
    """Is it a part of a name, such as Delta County or Seal Beach, rather than a word that begins a sentence?"""
    word = found.group()
    return word.istitle() and (word.lower() in LETTERS or re.match(r" [A-Z]", text[found.end() :]) is not None)


def anchor_of(term: str) -> str:
    """What links to a word of the glossary point to.

    >>> anchor_of("standard error")
    'word-standard-error'
    """
    return "word-" + term.lower().replace(" ", "-")


def with_terms(text: str) -> Iterator[tuple[str, str | None]]:
    """A text in pieces: each with the word of the glossary that it is a form of, or None."""
    end = 0
    for found in _ANY.finditer(text):
        if _is_name(text, found):
            continue
        if found.start() > end:
            yield text[end : found.start()], None
        yield found.group(), _TERM_OF[found.group().lower()]
        end = found.end()
    if end < len(text):
        yield text[end:], None


# A page as one file of HTML that needs nothing else: no network, no script, its style and its pictures within it.
#
# Names come from files: everything is escaped, and pictures are looked through before they are put in.
#
# The colours of a page, in light and in dark, and how well they can be told apart.


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
        meanings=[(anchor_of(term), term, MEANINGS[term]) for term in sorted(MEANINGS, key=str.lower)],
        first=Linker(),
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

    def __init__(self, known: Collection[str] = MEANINGS) -> None:
        """known: the words that get a link."""
        self.linked: set[str] = set()
        self.known = known

    def said(self, text: str) -> Any:
        """The text, escaped, with its links."""
        from markupsafe import Markup, escape

        pieces = []
        for piece, term in with_terms(str(tidy(text))):
            if term is None or term not in self.known or term in self.linked:
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
