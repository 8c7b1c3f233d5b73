"""What has to be read of the second verifier to believe it about one spec: `python -m tests.verifier.reading` prints the table
of the page on auditing.

Counted are the lines, mathematics and empty ones among them, of every function that runs while the spec is verified, and of the
classes around them up to their first function; what never runs decides nothing about that spec.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from designer.verifier import standalone
from tests.verifier.altered import bytes_of

FILE = Path(standalone.__file__)
SECTIONS = {
    "dp-designer/mechanism": "additive noise",
    "dp-designer/channel": "own reports",
    "dp-designer/lattice-mechanism": "integer tables",
    "dp-designer/row-mechanism": "tables drawn row by row",
    "dp-designer/selection": "selections",
    "dp-designer/marginals": "marginal tables",
    "dp-designer/structured-mechanism": "structured queries",
    "dp-designer/staircase-mechanism": "staircases",
    "dp-designer/hierarchy-mechanism": "counts of nested groups",
    "dp-designer/mwem": "synthetic data, MWEM",
    "dp-designer/small-db": "synthetic data, SmallDB",
    "dp-designer/odds-ratio-test": "tests of odds ratios",
    "dp-designer/table-plan": "plans of a table",
}


def spans() -> tuple[dict[int, int], dict[int, range]]:
    """By the first line of each function, decorators aside: how many lines it has, and the head of the class that holds it."""
    sizes, heads = {}, {}
    for node in ast.walk(ast.parse(FILE.read_text())):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            sizes[node.lineno] = node.end_lineno - node.lineno + 1
        if isinstance(node, ast.ClassDef):
            functions = [part.lineno for part in node.body if isinstance(part, ast.FunctionDef)]
            heads.update(dict.fromkeys(functions, range(node.lineno, functions[0])) if functions else {})
    return sizes, heads


def outermost(sizes: dict[int, int], ran: set[int]) -> Iterator[int]:
    """Those functions that lie in no other one that runs."""
    for first in ran & set(sizes):
        if not any(other < first < other + sizes[other] for other in ran & set(sizes)):
            yield first


def lines_that_run(content: bytes) -> int:
    """How many lines there are to read about this spec, or ledger."""
    ran = set(standalone.functions([content]))
    sizes, heads = spans()
    read = list(outermost(sizes, ran))
    return sum(sizes[first] for first in read) + len({line for first in read for line in heads.get(first, ())})


def by_format() -> dict[str, list[int]]:
    """The lines to read about each specimen that it checks, sorted, by the words for its format; and about two ledgers."""
    from tests.oracles.ledgers import busy_ledger
    from tests.verifier.test_ledgers import long_ledger
    from tests.verifier.test_standalone import checked

    found: dict[str, list[int]] = {}
    for spec in checked().values():
        found.setdefault(SECTIONS[spec["format"]], []).append(lines_that_run(bytes_of(spec)))
    with TemporaryDirectory() as folder:
        ledgers = [busy_ledger(Path(folder) / "busy").ledger, long_ledger(Path(folder) / "long")]
        found["ledgers"] = [lines_that_run(ledger.store.path.read_bytes()) for ledger in ledgers]
    return {words: sorted(found[words]) for words in (*SECTIONS.values(), "ledgers")}


def main() -> None:
    """What the module does: see there."""
    print("| format | specs | lines to read, least | median | most |", "| --- | --- | --- | --- | --- |", sep="\n")
    for words, counts in by_format().items():
        print(f"| {words} | {len(counts)} | {counts[0]} | {counts[len(counts) // 2]} | {counts[-1]} |")


if __name__ == "__main__":
    main()
