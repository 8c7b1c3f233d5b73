"""Lists of the numbered items of a paper, found in its text by a regular expression: `python -m examples.papers.items TEXT`.

The text of a paper is not part of the project; what is committed is the list, one item a line (`items/dx.txt`), and a test
sees that each has a row.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

KINDS = r"Definition|Theorem|Lemma|Proposition|Corollary|Algorithm|Table|Figure|Fig\.|Example|Remark|Fact"
AT_A_START = re.compile(rf"^\W*({KINDS}) (\d+(?:\.\d+)*)(?=[.: (]|$)(.*)", re.MULTILINE)
SECTION = re.compile(r"^(\d+)\.(?:\d+\.)* [A-Z]")
LISTS = Path(__file__).parent / "items"


def found(text: str) -> list[str]:
    """Items in the order in which they first begin a line, each once.

    Where a conversion of the paper has lost the numbers of some kinds ("Definition 0"), the section's counter gives them
    back.
    """
    section, counter, names = "0", 0, []
    for line in text.splitlines():
        heading, item = SECTION.match(line), AT_A_START.match(line)
        if heading and not item and int(heading[1]) in (int(section), int(section) + 1):
            section, counter = heading[1], counter if heading[1] == section else 0
        if item:
            kind, number = item[1].replace("Fig.", "Figure"), item[2]
            if "." in number:
                counter = int(number.split(".")[1])
            elif number == "0":
                counter += 1
                number = f"{section}.{counter}"
            names.append(f"{kind} {number}")
    return list(dict.fromkeys(names))


def listed(key: str) -> list[str]:
    """The committed list of a paper."""
    return (LISTS / f"{key}.txt").read_text().splitlines()


if __name__ == "__main__":
    print("\n".join(found(Path(sys.argv[1]).read_text())))
