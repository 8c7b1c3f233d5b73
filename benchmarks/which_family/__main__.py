"""Design for a grid of typical problems with every family that serves them, print the tables, and write the page.

Loss over the least, efficiency, processor seconds of a design with its loss. Four minutes of one processor:

    OMP_NUM_THREADS=1 python -m benchmarks.which_family        # measure, save benchmarks/which_family.json, write the page
    python -m benchmarks.which_family --only "two counts" ...  # measure and print these problems alone
    python -m benchmarks.which_family --page                   # write the page from the figures that were saved
"""

from __future__ import annotations

import argparse

from benchmarks.which_family.grid import GRID
from benchmarks.which_family.measuring import measure, save, saved
from benchmarks.which_family.page import parts, tables_text, write


def main() -> None:
    """Measure, print, write."""
    given = argparse.ArgumentParser(description="every family on typical problems")
    given.add_argument("--only", nargs="+", choices=[one.key for one in GRID], help="print these problems alone")
    given.add_argument("--page", action="store_true", help="write the page from the figures that were saved")
    chosen = given.parse_args()
    if chosen.page:
        write(saved())
        return
    figures = measure(one for one in GRID if chosen.only is None or one.key in chosen.only)
    if chosen.only is not None:
        print(tables_text(figures))
        return
    save(figures)
    write(figures)
    print("\n\n".join(parts(figures).values()))


if __name__ == "__main__":
    main()
