"""`python -m examples.papers [dx semi int rec] [--quick] [--to FOLDER]`: each numbered item of the four papers, what is
published and what is computed, its verdict, and the seconds; and the numbers and pictures of the pages on the papers."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from designer.base.progress import each_of, showing_progress
from designer.base.progress_line import time_words
from designer.publish.pictures.figures import styled
from examples.papers.frame import Paper, Read, Row
from examples.papers.pages import PAGES, RUNS, Run, figure, interval, number_lines, run_lines, runs_of
from examples.papers.places import unsatisfied

QUICK = 0.2  # of the time of a full run
KEYS = tuple(key for key in ("dx", "semi", "int", "rec") if (Path(__file__).parent / key / "paper.py").is_file())


def paper(key: str) -> Paper:
    """The rows of a paper."""
    found: Paper = importlib.import_module(f"examples.papers.{key}.paper").PAPER
    return found


def compute(asked: Paper, full: bool) -> list[Run]:
    """Each row computed and told. What several rows take from one computation counts in the seconds of the first."""
    runs = []
    for row in each_of(asked.rows, f"computing {asked.key}"):
        started = time.monotonic()
        values, against = row.values(full), tuple(unsatisfied(row, full))
        seconds = time.monotonic() - started
        expected = [value for value in values if value.expected is not None]
        runs.append(
            Run(
                asked.key,
                row.item,
                str(row.verdict),
                f"{sum(value.reached for value in expected)} of {len(expected)}",
                f"{seconds:.1f}",
                date.today().isoformat(),
                against,
            )
        )
        print("\n".join(told(asked, row, full, seconds, against)), flush=True)
    return runs


def told(asked: Paper, row: Row, full: bool, seconds: float, against: Sequence[str]) -> list[str]:
    """An item as it is printed, a line for each quantity and each erratum below it."""
    lines = [f"{asked.key} {row.item}: {row.verdict}; {seconds:.1f} s"]
    for value in row.values(full):
        outside = "" if value.reached else "; outside"
        source = "expected" if value.read is Read.OWN else f"published ({value.read})"
        lines.append(f"  {value.name}: {source} {interval(value.expected)}, computed {figure(value.computed)}{outside}")
    for erratum in row.errata:
        stated, found = erratum.contradiction()
        lines.append(f"  erratum, {erratum.title}: stated {stated}, found {found}")
    return lines + [f"  NOT AS THE VERDICT SAYS: {why}" for why in against]


def draw(asked: Paper, folder: Path) -> None:
    """The pictures of a paper."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [picture for section in asked.sections for picture in section.pictures]
    for picture in each_of(pictures, f"drawing {asked.key}"):
        with styled():
            picture.draw(folder)


def write(asked: Paper, runs: list[Run], folder: Path, full: bool) -> Path:
    """The numbers of a paper, its items in the table of all, and its pictures, below a folder."""
    if full:
        draw(asked, folder / "pictures")
    written, table = folder / "numbers" / f"{asked.key}.txt", folder / RUNS
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(number_lines(asked, full))
    others = [run for run in runs_of(table.read_text()) if run.paper != asked.key] if table.is_file() else []
    table.write_text(run_lines(sorted([*others, *runs], key=lambda run: KEYS.index(run.paper))))
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the items, write numbers and pictures; 1 where an item is not as its verdict says."""
    parser = argparse.ArgumentParser(prog="python -m examples.papers", description=__doc__)
    parser.add_argument("papers", nargs="*", choices=[*KEYS, []], help="which papers; all unless given")
    parser.add_argument("--quick", action="store_true", help="sampled numbers, printed; written only --to a folder")
    parser.add_argument("--to", type=Path, default=None, help="folder; docs/papers of the checkout unless given")
    asked = parser.parse_args(arguments)
    papers = [paper(key) for key in asked.papers or KEYS]
    minutes = sum(one.minutes for one in papers) * (QUICK if asked.quick else 1)
    print(
        f"{sum(len(one.rows) for one in papers)} items; this takes about {time_words(60 * minutes)} on two cores.", flush=True
    )
    started, against = time.monotonic(), 0
    with showing_progress():
        for one in papers:
            runs = compute(one, not asked.quick)
            against += sum(bool(run.against) for run in runs)
            if asked.to or not asked.quick:
                print(f"Wrote {write(one, runs, asked.to or PAGES, not asked.quick)}.", flush=True)
    print(f"Done in {time_words(time.monotonic() - started)}; items that are not as their verdicts say: {against}.")
    sys.exit(1 if against else 0)


if __name__ == "__main__":
    main()
