"""Names and sentences made fit to print: whatever a file calls a query or an element, it stays within its line and its cell.
Numbers that are claimed as bounds stay bounds."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from html import escape
from itertools import accumulate
from typing import Any

# Characters that break a line, move the cursor, turn the direction of text or cannot be seen. A fixed list: what is printed is
# compared with what another version of Python printed, whose tables of characters may differ.
INVISIBLE = (
    "\\x00-\\x1f\\x7f-\\xa0\\xad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f"
    "\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f"
    "\\u2800\\u3000\\u3164\\ud800-\\udfff\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\U00013430-\\U0001345f\\U00016fe4"
    "\\U0001bca0-\\U0001bca3\\U0001d159\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_SPACES = re.compile("(?<= ) +")
# What has a meaning in Markdown within a line; an underscore within a word has none.
MOST_NAMES = 100  # that a sentence of a guarantee lists one by one
_MARKDOWN = re.compile(r"[\\`*\[\]<|&~$]|(?<!\w)_|_(?!\w)")


def one_line(text: str) -> str:
    """The text with every character that breaks a line, moves the cursor,
    turns text around or cannot be seen written as its escape.

    >>> print(one_line("all\\nBudgets: none\\u2028"))
    all\\nBudgets: none\\u2028
    """
    return _INVISIBLE.sub(lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)


def printed(name: object) -> str:
    """A name fit for a line: `one_line`, and no runs of spaces, which would pass for the end of a line where lines are wrapped.

    >>> print(printed("a   b"))
    a \\x20\\x20b
    """
    return _SPACES.sub(lambda run: "\\x20" * len(run.group()), one_line(str(name)))


def in_markdown(name: object) -> str:
    """A name fit for a line or a cell of Markdown: `printed`, and nothing in it is taken for a mark.

    >>> print(in_markdown("a|b <i> k_norm"))
    a\\|b \\<i> k_norm
    """
    return _MARKDOWN.sub(lambda mark: "\\" + mark.group(), printed(name))


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "answer"), counted(1200, "answer")
    ('1 answer', '1,200 answers')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def every_name(names: Sequence[str]) -> str:
    """All names; of more than 100 the first 8, how many more, and a hash of all, so that different lists read differently.

    >>> every_name(["sex", "age"])
    'sex, age'
    >>> every_name([f"cell {k}" for k in range(101)]).removeprefix("cell 0, cell 1, cell 2, cell 3, cell 4, cell 5, ")
    'cell 6, cell 7 and 93 more (SHA-256 of all names: 745c4e3851b1e4c4)'
    """
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    hashed = hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()[:16]
    return f"{', '.join(names[:8])} and {len(names) - 8} more (SHA-256 of all names: {hashed})"


def printed_below(value: float, digits: int = 4) -> str:
    """A finite number with so many digits, rounded down, for what is claimed as a lower bound.

    >>> printed_below(1.2348), printed_below(1402739.9), printed_below(0.0)
    ('1.234', '1.402e+06', '0')
    """
    lower = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal_from_float(value)
    return f"{float(lower):.{digits}g}"


# Numbers for people: few digits, thousands separated, and rounded to the side on which what is said stays true.
#
# Losses, errors and what privacy costs are never shown below what they are, bounds from below and efficiencies never above.
# Figures that files compare are written with all their digits, elsewhere.


DIGITS = 4
# Of two floats that different machines compute from the same numbers, relative: that far off, a round number is itself.
TIE_TOLERANCE = Decimal("1e-9")
PLAIN = range(-4, 12)  # decimal exponents that are written out


def at_most(value: float, digits: int = DIGITS) -> str:
    """A number with so many digits, rounded up: for losses, errors, budgets.

    >>> at_most(15.6707), at_most(1402739.9), at_most(16.000000000001), at_most(2.5e-7), at_most(math.inf)
    ('15.68', '1,403,000', '16', '2.5e-7', 'infinite')
    """
    return _written(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = DIGITS) -> str:
    """A number with so many digits, rounded down: for bounds from below, efficiencies, gains.

    >>> at_least(1.2348), at_least(1402739.9), at_least(0.0), at_least(0.99999999999)
    ('1.234', '1,402,000', '0', '1')
    """
    return _written(value, digits, ROUND_FLOOR)


def closest(value: float | Fraction, digits: int = DIGITS) -> str:
    """A number with so many digits, which claims nothing.

    >>> closest(5.642151), closest(-1234567.0, 7), closest(1e15)
    ('5.642', '-1,234,567', '1e+15')
    """
    return _written(value, digits, ROUND_HALF_EVEN)


def share_at_least(value: float) -> str:
    """A share of 1 in percent with a digit behind the point, rounded down.

    >>> share_at_least(0.24613), share_at_least(1.0), share_at_least(0.00001)
    ('24.6 %', '100 %', '0.001 %')
    """
    return f"{at_least(100 * value, 3)} %"


def share_at_most(value: float) -> str:
    """A share of 1 in percent with two digits, rounded up; what is far below a thousandth of a percent is not told apart.

    >>> share_at_most(0.0123), share_at_most(3e-12), share_at_most(0.0)
    ('1.3 %', '< 0.0001 %', '0 %')
    """
    return "< 0.0001 %" if 0 < value < 1e-6 else f"{at_most(100 * value, 2)} %"


def rounded(value: float | Fraction, digits: int, direction: str) -> Decimal:
    """A finite number with so many digits, strictly on the side that is asked for (a rounding of `decimal`); no trailing zeros.

    >>> rounded(16.000000000001, 4, ROUND_CEILING), rounded(Fraction(2, 3), 3, ROUND_FLOOR), rounded(-0.0, 3, ROUND_FLOOR)
    (Decimal('16.01'), Decimal('0.666'), Decimal('0'))
    """
    exact, context = Fraction(value), Context(prec=digits, rounding=direction)
    short = context.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(context)
    return short if short else Decimal(0)


def number_text(number: Decimal, plain: range, power: Callable[[int], str]) -> str:
    """A number in full, thousands separated, where its decimal exponent is in `plain`; elsewhere from 1 to 10 and with `power`
    of the exponent.

    >>> number_text(Decimal("12.5"), PLAIN, "e{:+d}".format), number_text(Decimal("1.25E+20"), PLAIN, "e{:+d}".format)
    ('12.5', '1.25e+20')
    """
    exponent = number.adjusted()
    if not number or exponent in plain:
        return f"{number:,f}"
    return f"{number.scaleb(-exponent):f}{power(exponent)}"


def settled(value: float | Fraction, digits: int, direction: str = ROUND_CEILING) -> Decimal:
    """The same, but for digits in which machines differ: a number that is so near to a round one is that one.

    >>> settled(16.000000000001, 4), settled(16.0001, 4)
    (Decimal('16'), Decimal('16.01'))
    """
    close = rounded(value, digits, ROUND_HALF_EVEN)
    near = abs(Fraction(close) - Fraction(value)) <= Fraction(TIE_TOLERANCE) * abs(Fraction(value))
    return close if near else rounded(value, digits, direction)


def _written(value: float | Fraction, digits: int, direction: str) -> str:
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    return number_text(settled(value, digits, direction), PLAIN, "e{:+d}".format)


# How values show themselves: one line in a terminal, a small table in a notebook; never thousands of numbers.
#
# Whatever a file calls a query, it is escaped here, once. The HTML takes its colours from the page around it, so it reads in
# light and in dark, and it loads nothing.


SHOWN_ROWS = 10
LONGEST = 60  # characters of a value in a line
HEAD = 12  # of a fingerprint


@dataclass(frozen=True)
class Preview:
    """The first rows of a table, under its columns, and how many there are."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    total: int


class Displayed(ABC):
    """What shows itself by a few facts and perhaps the first rows of a table.

    Whoever derives from it as a dataclass keeps this `repr`: the decorator leaves a `__repr__` alone that the class has.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Displayed.__repr__  # type: ignore[method-assign]

    @abstractmethod
    def _display_facts(self) -> Mapping[str, object]:
        """What to say, by name, in order; what is None is left out. Quick, whatever the size."""

    def _display_rows(self) -> Preview | None:
        """The first rows of what it holds; None where that is no table."""
        return None

    def __repr__(self) -> str:
        """One line; never an exception, because debuggers ask objects that are half made."""
        try:
            facts = _texts(self._display_facts())
        except Exception:
            return object.__repr__(self)
        return f"<{type(self).__name__}: {', '.join(f'{name} {value}' for name, value in facts.items())}>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return as_html(type(self).__name__, self._display_facts(), self._display_rows())


def as_html(kind: str, facts: Mapping[str, object], preview: Preview | None = None) -> str:
    """A heading, a line for the facts, and a table of the first rows."""
    said = "; ".join(f"{escape(name)} {escape(value)}" for name, value in _texts(facts).items())
    heading = f"<p><strong>{escape(kind)}</strong>{': ' if said else ''}{said}</p>"
    return f"<div>{heading}{'' if preview is None else _table(preview)}</div>"


def _table(preview: Preview) -> str:
    head = "".join(f"<th>{escape(printed(name))}</th>" for name in preview.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in preview.rows)
    left = preview.total - len(preview.rows)
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if (isinstance(value, (int, float)) and not isinstance(value, bool)) or _NUMBER.fullmatch(str(value)):
        return f'<td style="text-align: right">{_text(value)}</td>'
    return f'<td style="text-align: left">{escape(_text(value))}</td>'


def _texts(facts: Mapping[str, object]) -> dict[str, str]:
    return {printed(name): _text(value) for name, value in facts.items() if value is not None}


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printed(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


# Tables and paragraphs for a terminal: aligned, and no wider than it is.
#
# What is handed in is fit to print already (`designer.base.display`).


WIDTH = 100  # where no terminal says its own
NARROWEST = 40
GAP = "  "
SHORTEST_NAME = 12
_NUMBER = re.compile(r"(-?[0-9,]+)([.][0-9]+)?( %)?")
_LABEL = re.compile(r" *(?:[A-Z][\w ]*: +(?=\S))?")  # what the lines below a long one are set in by


@dataclass(frozen=True)
class Column:
    """A column of a table: its head and its cells; numbers are set with their decimal marks one below another."""

    head: str
    cells: tuple[str, ...]
    number: bool = True


def terminal_width() -> int:
    """The columns of the terminal, which `COLUMNS` overrides; a fixed width elsewhere."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def text_table(columns: Sequence[Column], width: int = WIDTH) -> list[str]:
    """The lines of a table: heads, a rule, a line for each row.

    columns: the first names the rows and always stays, cut where it must be; of the others as many as fit, from the left.

    >>> print("\\n".join(text_table([Column("family", ("a", "long"), False), Column("loss", ("1.25", "10"))], 40)))
    family   loss
    ------  -----
    a        1.25
    long    10
    """
    set_out = [_set(column) for column in columns]
    ends = list(accumulate(len(column[0]) + len(GAP) for column in set_out))
    first = len(set_out[0][0])
    spare = max(SHORTEST_NAME, first - max(0, ends[min(1, len(ends) - 1)] - len(GAP) - width))
    names = [_cut(line, min(first, spare)) for line in set_out[0]]
    saved = first - len(names[0])
    kept = [column for column, end in zip(set_out[1:], ends[1:], strict=True) if end - len(GAP) - saved <= width]
    return [GAP.join(cells).rstrip() for cells in zip(names, *kept, strict=True)]


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """A line in as many as it takes; those below are set in behind the label of the first, or as it is.

    >>> wrapped("Limit: no noise that keeps the promise loses less than that at any number.", 40)
    ['Limit: no noise that keeps the promise', '       loses less than that at any', '       number.']
    """
    if len(text) <= width:
        return [text]
    found = _LABEL.match(text)
    inner = found.end() if found and found.end() <= width // 2 else 0
    words = textwrap.wrap(text[inner:], width - inner, break_long_words=False, break_on_hyphens=False)
    return [(text[:inner] if place == 0 else " " * inner) + line for place, line in enumerate(words)]


def _set(column: Column) -> list[str]:
    """Head, rule and cells, all of one width."""
    cells = _aligned(column.cells) if column.number else list(column.cells)
    width = max(map(len, [column.head, *cells]))
    if not column.number:
        return [column.head.ljust(width), "-" * width, *(cell.ljust(width) for cell in cells)]
    return [column.head.rjust(width), "-" * width, *(cell.rjust(width) for cell in cells)]


def _aligned(cells: Sequence[str]) -> list[str]:
    """Numbers with what is behind their decimal marks in one width; cells with words or an exponent as they are."""
    found = [_NUMBER.fullmatch(cell) for cell in cells]
    longest = max((len(number[2] or "") for number in found if number), default=0)
    return [
        f"{number[1]}{number[2] or '':{longest}}{number[3] or ''}" if number and longest else cell
        for number, cell in zip(found, cells, strict=True)
    ]


def _cut(line: str, width: int) -> str:
    text = line.rstrip()
    return text.ljust(width) if len(text) <= width else text[: width - 1] + ("-" if set(text) == {"-"} else "…")
