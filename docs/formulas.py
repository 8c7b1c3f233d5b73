"""Formulas of the theory pages, typeset by the browser: what a page writes as `x_i^2 <= b` becomes MathML.

Formulas are written in plain characters, so that they read well in a terminal and in certificates. What is no formula (names
of files, families and functions of the program) is told by its words, and stays code.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx

NAMES = "alpha beta gamma delta epsilon eps zeta eta theta kappa lambda mu nu xi"
NAMES += (
    " pi rho sigma tau phi chi psi omega Gamma Delta Theta Lambda Sigma Phi Psi Omega"
)
GREEK = dict(zip(NAMES.split(), "αβγδεεζηθκλμνξπρστφχψωΓΔΘΛΣΦΨΩ", strict=True))
BIG = {"sum": "∑", "prod": "∏", "integral": "∫"}
LISTED = """
max min exp log ln sinh cosh tanh coth asinh atanh sin cos tan det tr
diag floor ceil Var Cov inf sup arg mod rank lim sign abs conv

of over the for all if and or with is at most least times where in on
to by as every some else its that no from

level rate norm loss weight mean const step error slope centre power
length err absolute relative worst total half
"""
# Quantities go by a word; alone they may be names of the program.
NAMED, WORDS, QUANTITIES = (frozenset(part.split()) for part in LISTED.split("\n\n"))
ROOTS = ("sqrt", "root")
SIGNS = {
    "<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "...": "…", "..": "…", "*": "·", "-": "−", "||": "‖", "~": "∼", "'": "′",
}  # fmt: skip
TOKEN = re.compile(
    r"\s+|[A-Za-z]+|\d+(?:\.\d+)?|<=|>=|!=|->|\.\.\.|\.\.|\|\||[-+*/=<>|~,;:(){}\[\]^_!'.∈√∞·≤≥−∑∏]"
)
OPEN, CLOSE = "([{", ")]}"


class NoFormula(Exception):
    """The text is no formula, or has a form that is not read here."""


def tokens(text: str, words: bool) -> list[str]:
    """The pieces of a formula; `words`: whether words that are not known may stand in it, as text."""
    found, place = [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise NoFormula(text[place])
        found.append(match[0])
        place = match.end()
    known = {*GREEK, *BIG, *NAMED, *WORDS, *ROOTS, "infinity"}
    if len(found) > 3:
        known |= QUANTITIES
    for piece in found:
        if len(piece) > 2 and piece.isalpha() and piece not in known and not words:
            raise NoFormula(piece)
    return found


class Reader:
    """One formula from left to right: atoms, each with what stands below and above it."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces, self.place = pieces, 0

    def row(self, end: str | None = None) -> str:
        """Everything up to a closing bracket, or to the end."""
        made: list[str] = []
        while self.place < len(self.pieces) and self.pieces[self.place] != end:
            if self.pieces[self.place].isspace():
                made.append(self.space())
                self.place += 1
                continue
            made.append(self.scripted(self.atom()))
        if end is not None:
            if self.place == len(self.pieces):
                raise NoFormula(end)
            self.place += 1
        return "".join(made)

    def space(self) -> str:
        """Wide between parts of a line, thin between factors, none beside a sign, which has its own."""
        if len(self.pieces[self.place]) > 1:
            return '<mspace width="1.2em"/>'
        around = (
            self.pieces[max(0, self.place - 1)],
            self.pieces[min(self.place + 1, len(self.pieces) - 1)],
        )
        factors = all(
            re.match(r"[\w(){}|\[\]']", piece) and piece not in WORDS
            for piece in around
        )
        return '<mspace width="0.17em"/>' if factors else ""

    def scripted(self, atom: str) -> str:
        """An atom with primes, and with what stands below and above it."""
        below = above = ""
        while self.place < len(self.pieces) and self.pieces[self.place] in (
            "_",
            "^",
            "'",
        ):
            sign = self.pieces[self.place]
            self.place += 1
            if sign == "'":
                above += "<mo>′</mo>"
            elif sign == "_" and not below:
                below = self.script()
            elif sign == "^" and (not above or above.startswith("<mo>′")):
                above += self.script()
            else:
                raise NoFormula(sign)
        if below and above:
            return f"<msubsup>{atom}<mrow>{below}</mrow><mrow>{above}</mrow></msubsup>"
        if below or above:
            tag = "msub" if below else "msup"
            return f"<{tag}>{atom}<mrow>{below or above}</mrow></{tag}>"
        return atom

    def script(self) -> str:
        """What stands above or below: a group without its brackets, or one atom with its sign."""
        piece = self.next()
        if piece in ("(", "{", "|"):
            inside = self.row({"(": ")", "{": "}"}.get(piece, "|"))
            return f"<mo>|</mo>{inside}<mo>|</mo>" if piece == "|" else inside
        if piece in "+-" and (
            self.place == len(self.pieces)
            or not re.match(r"[\w(]", self.pieces[self.place])
        ):
            return f"<mo>{SIGNS.get(piece, piece)}</mo>"
        if piece == "-":
            return f"<mo>−</mo>{self.script()}"
        if not re.match(r"\w", piece):
            raise NoFormula(piece)
        self.place -= 1
        return self.atom()

    def next(self) -> str:
        if self.place == len(self.pieces) or self.pieces[self.place].isspace():
            raise NoFormula("the end")
        self.place += 1
        return self.pieces[self.place - 1]

    def atom(self) -> str:
        """One letter, number, word, bracketed group or sign."""
        piece = self.next()
        if piece in OPEN:
            closing = CLOSE[OPEN.index(piece)]
            inside = f"<mrow>{self.row(closing)}</mrow>"
            return f'<mrow><mo stretchy="false">{piece}</mo>{inside}<mo stretchy="false">{closing}</mo></mrow>'
        if piece in ROOTS:
            if self.place < len(self.pieces) and self.pieces[self.place] == "(":
                self.place += 1
                return f"<msqrt>{self.row(')')}</msqrt>"
            if self.place < len(self.pieces) and self.pieces[self.place] == " ":
                self.place += 1
            return f"<msqrt>{self.scripted(self.atom())}</msqrt>"
        if piece in GREEK:
            return f"<mi>{GREEK[piece]}</mi>"
        if piece == "infinity":
            return "<mi>∞</mi>"
        if piece in BIG:
            return f'<mo largeop="false">{BIG[piece]}</mo>'
        if piece in NAMED:
            return f'<mi mathvariant="normal">{piece}</mi>'
        if piece.isalpha():
            if piece in WORDS or len(piece) > 2:
                gap = '<mspace width="0.3em"/>' if piece in WORDS else ""
                return f"{gap}<mtext>{piece}</mtext>{gap}"
            letters = "".join(f"<mi>{letter}</mi>" for letter in piece)
            return f"<mrow>{letters}</mrow>" if len(piece) > 1 else letters
        if piece[0].isdigit():
            return f"<mn>{piece}</mn>"
        if piece in ("^", "_", "'") or piece in CLOSE:
            raise NoFormula(piece)
        tight = ' lspace="0.05em" rspace="0.05em"' if piece in ("|", "||", "/") else ""
        return f'<mo stretchy="false"{tight}>{escape(SIGNS.get(piece, piece))}</mo>'


def mathml(text: str, *, words: bool = False) -> str:
    """The inside of `<math>` for a formula. Raises `NoFormula` for what is none.

    >>> mathml("x_i^2 <= b")
    '<msubsup><mi>x</mi><mrow><mi>i</mi></mrow><mrow><mn>2</mn></mrow></msubsup><mo stretchy="false">≤</mo><mi>b</mi>'
    >>> mathml("e^(-x)")
    '<msup><mi>e</mi><mrow><mo stretchy="false">−</mo><mi>x</mi></mrow></msup>'
    >>> for code in ("k_norm", "designer/designing/evenness.py", "(x"):
    ...     try:
    ...         print(mathml(code))
    ...     except NoFormula:
    ...         print("code")
    code
    code
    code
    """
    return Reader(tokens(text, words)).row()


def typeset(app: Sphinx, doctree: nodes.document) -> None:
    """Formulas of a theory page: those in a sentence, and those on lines of their own, where every line is one."""
    if not app.env.docname.startswith("theory/"):
        return
    for found in list(doctree.findall(nodes.literal)):
        above = found.parent
        if isinstance(above, nodes.title) or found.astext() == "":
            continue
        try:
            made = mathml(found.astext())
        except NoFormula:
            continue
        found.replace_self(nodes.raw("", f"<math>{made}</math>", format="html"))
    for block in list(doctree.findall(nodes.literal_block)):
        lines = block.astext().splitlines()
        aligned = sum(bool(re.search(r"\S {3,}\S", line)) for line in lines) > 1
        if aligned or block.get("language", "text") not in ("default", "text", "none"):
            continue  # a table, a matrix or a program
        try:
            rows = [
                f'<math display="block">{mathml(line.strip(), words=True)}</math>'
                for line in lines
                if line.strip()
            ]
        except NoFormula:
            continue
        block.replace_self(
            nodes.raw("", f'<div class="formula">{"".join(rows)}</div>', format="html")
        )
