"""Design for a grid of typical problems with every family that serves them, save the figures, and print the tables.

Loss over the least, efficiency, processor seconds of a design with its loss. Four minutes of one processor:

    OMP_NUM_THREADS=1 python -m benchmarks.which_family        # measure, save benchmarks/which_family.json
    python -m benchmarks.which_family --only "two counts" ...  # measure and print these problems alone

docs/guides/which_family.md shows the figures that were saved.
"""

from __future__ import annotations

import argparse

from benchmarks.which_family.grid import GRID
from benchmarks.which_family.measuring import measure, save
from benchmarks.which_family.page import parts, tables_text


def main() -> None:
    """Measure, save, print."""
    given = argparse.ArgumentParser(description="every family on typical problems")
    given.add_argument("--only", nargs="+", choices=[one.key for one in GRID], help="print these problems alone")
    chosen = given.parse_args()
    figures = measure(one for one in GRID if chosen.only is None or one.key in chosen.only)
    if chosen.only is not None:
        print(tables_text(figures))
        return
    save(figures)
    print("\n\n".join(parts(figures).values()))


if __name__ == "__main__":
    main()
