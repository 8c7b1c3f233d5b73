"""Names of data sets: one spelling for each, nothing in them that cannot be seen, and no two in a ledger that look alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.printing import one_line

LONGEST_NAME = 200
UNPRINTABLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Alphabets with letters that look like those of another of them; a word is written in one.
ALPHABETS = frozenset({"LATIN", "GREEK", "COPTIC", "CYRILLIC", "ARMENIAN", "CHEROKEE", "LISU", "GEORGIAN", "DESERET", "OSAGE"})
# What other alphabets have that looks like a letter of this one; dashes and quotes.
ALIKE = {
    "A": "АΑ",
    "B": "ВΒ",
    "E": "ЕΕЁ",
    "G": "Ԍ",
    "H": "НΗ",
    "I": "ІΙӀЇ",
    "J": "Ј",
    "K": "КΚ",
    "L": "Լ",
    "M": "МΜ",
    "N": "Ν",
    "O": "ОΟՕ",
    "P": "РΡ",
    "Q": "Ԛ",
    "S": "Ѕ",
    "T": "ТΤ",
    "W": "Ԝ",
    "X": "ХΧ",
    "Y": "УҮΥ",
    "Z": "Ζ",
    "a": "аαɑ",
    "b": "вβь",
    "c": "сϲ",
    "d": "ԁ",
    "e": "еεё",
    "g": "ցɡ",
    "h": "һհ",
    "i": "іιїı",
    "j": "јϳ",
    "k": "кκ",
    "l": "ӏ",
    "m": "м",
    "n": "νηո",
    "o": "оοօ",
    "p": "рρ",
    "q": "ԛ",
    "r": "г",
    "s": "ѕ",
    "t": "тτ",
    "u": "ս",
    "w": "ԝω",
    "x": "хχ",
    "y": "уүγυ",
    "-": "‐‑‒–—―−",
    "'": "’‘ʼ´",
    "/": "∕⁄",
}
_LOOK = str.maketrans({other: letter for letter, others in ALIKE.items() for other in others})
_STROKES = str.maketrans("1I|0O", "llloo")


def dataset_name(text: object) -> str:
    """A name as a ledger keeps it: composed (NFC), without blanks at its ends, with one between words.

    `InvalidProblem` for what is no text of 1 to 200 characters, holds a character that cannot be seen, or a word with letters
    of two alphabets; what is odd is shown as its escape.
    """
    if not isinstance(text, str):
        raise InvalidProblem(f"dataset: {shown(text)} is no text; give a name.", value=text)
    name = re.sub(" +", " ", unicodedata.normalize("NFC", text).strip(" "))
    if not 0 < len(name) <= LONGEST_NAME:
        raise InvalidProblem(f"dataset: {escaped(text)} is no text of 1 to {LONGEST_NAME} characters; give a name.")
    unseen = [c for c in name if one_line(c) != c or unicodedata.category(c) in UNPRINTABLE or (c.isspace() and c != " ")]
    if unseen:
        raise InvalidProblem(
            f"dataset: {escaped(name)} holds {_character(unseen[0])}, which cannot be seen in a line; leave it out."
        )
    for word in re.findall(r"[^\W\d_]+", name):
        scripts = {unicodedata.name(c, "").split(" ")[0] for c in word} & ALPHABETS
        if len(scripts) > 1:
            odd = next(c for c in word if not c.isascii())
            raise InvalidProblem(
                f"dataset: {escaped(name)} mixes letters of the alphabets {sorted(scripts)} in a word, such as "
                f"{_character(odd)}; write each word in one alphabet."
            )
    return name


def look_alike(name: str, others: Iterable[str]) -> str | None:
    """The first other name that a reader may take for this one: the same but for capitals, letters of other alphabets that look
    alike, strokes such as l, I and 1, or ways of writing one character."""
    return next((other for other in others if other != name and _looks(other) & _looks(name)), None)


def require_distinct(name: str, others: Iterable[str]) -> None:
    """Refuse a new name that looks like one of those that a ledger has."""
    if (other := look_alike(name, others)) is not None:
        raise InvalidProblem(
            f"dataset: {escaped(name)} looks like {escaped(other)}, which this ledger has; if they are the same data use that "
            "name, and if they are not, one that nobody takes for it."
        )


def escaped(text: str) -> str:
    """A text with all but plain ASCII as escapes, in quotes and cut where it is long: two texts that look alike then do not."""
    return shown(text.encode("ascii", "backslashreplace").decode())


def _character(c: str) -> str:
    return f"U+{ord(c):04X} {unicodedata.name(c, '(no name)')}"


def _looks(name: str) -> frozenset[tuple[str, str]]:
    """Two pictures of a name: one that has no capitals, one in which strokes and circles are alike."""
    seen = unicodedata.normalize("NFKC", name.translate(_LOOK)).translate(_LOOK)
    return frozenset({("letters", seen.casefold()), ("strokes", seen.translate(_STROKES))})
