"""Names and sentences made fit to print: whatever a file calls a query or an element, it stays within its line and its cell.
Numbers that are claimed as bounds stay bounds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context

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
