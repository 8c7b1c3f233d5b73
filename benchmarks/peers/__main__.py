"""Compute our side of every comparison and print the page, or write it (about four minutes of processor).

OMP_NUM_THREADS=1 python -m benchmarks.peers [--small] [--page docs/benchmarks.md] [NAME ...]
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.peers import (
    counts,
    gaussian_strategies,
    marginals,
    norms,
    opendp,
    own_reports,
    products,
    running_sums,
    single_counts,
    targets,
)
from benchmarks.peers.table import WIDTH, PeerTable

MAKERS: dict[str, Callable[[bool], Sequence[PeerTable]]] = {
    "gaussian_strategies": lambda small: (gaussian_strategies.table(small),),
    "products": lambda small: (products.table(small),),
    "marginals": marginals.tables,
    "targets": lambda small: (targets.table(small),),
    "running_sums": lambda small: (running_sums.table(small),),
    "norms": lambda small: (norms.table(small),),
    "single_counts": lambda small: (single_counts.table(small),),
    "own_reports": lambda small: (own_reports.table(small),),
    "opendp": opendp.tables,
    "counts": counts.tables,
}
AHEAD = 1.0005  # a ratio from which on the others' number is better than rounding explains
INTRODUCTION = """# Benchmarks against other tools

For readers who ask what a design gains over the tools they know. Each table has numbers that others published, or that their
own code gave, and ours for the same problem, computed by `python -m benchmarks.peers --page docs/benchmarks.md` from the
problem alone; less is better everywhere. "Over the best other" is our number over the best of theirs: below 1, ours is better.
"Proven least over ours" says how far ours is from a bound that no mechanism of its kind beats, where one is proven. The numbers
of others, their sources and versions are in `benchmarks/peers/published.json`."""


def behind(tables: Sequence[PeerTable]) -> Iterator[str]:
    """A line for each table on which another is ahead, with the worst of its problems."""
    for table in tables:
        worst = max(table.rows, key=lambda row: row.ratio)
        if worst.ratio > AHEAD:
            count = sum(row.ratio > AHEAD for row in table.rows)
            others = (
                f"{count} of {len(table.rows)} problems, the worst {worst.problem}: {worst.ratio:.4g} times the best other."
            )
            yield textwrap.fill(f"- {table.title}: {others}", WIDTH, subsequent_indent="  ")


def page(tables: Sequence[PeerTable]) -> str:
    """The whole page."""
    losses = "\n".join(behind(tables)) or "Nowhere in these tables."
    ahead = f"## Where others are ahead\n\n{losses}"
    return "\n\n".join([INTRODUCTION, *(table.to_markdown() for table in tables), ahead]) + "\n"


def main() -> None:
    """Print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the small problems of each table, in seconds")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page there; otherwise it is printed")
    parser.add_argument("names", nargs="*", choices=[*MAKERS, []], help="these tables alone")
    given = parser.parse_args()
    tables: list[PeerTable] = []
    for number, name in enumerate(given.names or MAKERS, 1):
        print(f"{number} of {len(given.names or MAKERS)}: {name}", flush=True)
        tables += MAKERS[name](given.small)
    if given.page is None:
        print(page(tables))
    else:
        given.page.write_text(page(tables))


if __name__ == "__main__":
    main()
