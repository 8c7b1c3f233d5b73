"""`python -m examples.papers [dx semi int rec] [--quick] [--to FOLDER]`: numbers and pictures of the pages on the papers,
computed anew."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Sequence
from pathlib import Path

from designer.base.progress import each_of, showing_progress, step
from designer.base.progress_line import time_words
from designer.publish.pictures.figures import styled
from examples.papers.frame import Numbers, Paper, results
from examples.papers.pages import PAGES, number_lines

KEYS = tuple(key for key in ("dx", "semi", "int", "rec") if (Path(__file__).parent / key / "paper.py").is_file())


def paper(key: str) -> Paper:
    """The rows of a paper."""
    found: Paper = importlib.import_module(f"examples.papers.{key}.paper").PAPER
    return found


def compute(asked: Paper, full: bool) -> None:
    """Everything that the rows need, told one by one."""
    numbers: dict[object, Numbers] = {n.reproduce: n for row in asked.rows for n in row.numbers}
    for entry in each_of(list(numbers.values()), f"computing {asked.key}"):
        with step(entry.reproduce.__module__):
            results(entry.reproduce, full)


def draw(asked: Paper, folder: Path) -> None:
    """The pictures of a paper."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [picture for section in asked.sections for picture in section.pictures]
    for picture in each_of(pictures, f"drawing {asked.key}"):
        with styled():
            picture.draw(folder)


def write(asked: Paper, folder: Path, full: bool) -> Path:
    """The numbers of a paper and its pictures, below a folder."""
    compute(asked, full)
    if full:
        draw(asked, folder / "pictures")
    written = folder / "numbers" / f"{asked.key}.txt"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(number_lines(asked, full))
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Write numbers and pictures."""
    parser = argparse.ArgumentParser(prog="python -m examples.papers", description=__doc__)
    parser.add_argument("papers", nargs="*", choices=[*KEYS, []], help="which papers; all unless given")
    parser.add_argument("--quick", action="store_true", help="sampled numbers and no pictures; not into docs/papers")
    parser.add_argument("--to", type=Path, default=None, help="folder; docs/papers of the checkout unless given")
    asked = parser.parse_args(arguments)
    if asked.quick and asked.to is None:
        parser.error("--quick writes sampled numbers, which the pages do not show: name a folder by --to.")
    folder = asked.to or PAGES
    papers = [paper(key) for key in asked.papers or KEYS]
    if not asked.quick:
        print(f"This takes about {time_words(60 * sum(p.minutes for p in papers))} on two cores.", flush=True)
    started = time.monotonic()
    with showing_progress():
        for one in papers:
            print(f"  {write(one, folder, not asked.quick)}", flush=True)
    print(f"Written in {time_words(time.monotonic() - started)}.")


if __name__ == "__main__":
    main()
