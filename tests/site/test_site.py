"""The site as a whole: built without a warning, it loads nothing from elsewhere, links lead somewhere, and search finds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from sphinx.search.en import SearchEnglish

from tests.house.test_public_names import NAMES

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
MADE_OF = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "pyproject.toml")
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data", "embed": "src"}
# Words that a reader looks for, and a page that has to be among those found.
WANTED = {
    "hexagon": "theory/protection",
    "staircase": "theory/least_noise",
    "k_norm": "guides/which_family",
    "blowfish": "reference/problems",
    "fingerprint": "explanation/glossary",
}


@dataclass
class Page(HTMLParser):
    """What one page of the site loads, links to, and offers as anchors."""

    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if (
            tag in LOADING
            and LOADING[tag] in given
            and given.get("rel") not in ("canonical", "index", "search", "next", "prev")
        ):
            self.loads.append(given[LOADING[tag]])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def outside(address: str) -> bool:
    """Whether an address leads out of the site."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc) and parts.scheme != "data"


def lead_nowhere(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Every link within the site whose file or anchor is not there."""
    missing = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target in pages if target.suffix == ".html" else target.exists()
            # Pages of source text lead back to the page of a name, which may have its anchor under a second name.
            exact = parts.fragment and target in pages and "_modules" not in path.parts
            anchored = not exact or unquote(parts.fragment) in pages[target].anchors
            if not outside(link) and not (there and anchored):
                missing.append(f"{path.relative_to(site)}: {link}")
    return missing


def index_of(site: Path) -> dict[str, object]:
    """The index of the search, which browsers load as a script."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


def pages_with(index: dict, word: str) -> set[str]:
    """The pages that a search for one word finds, as a word or as the name of an object."""
    stem = SearchEnglish({}).stem(word.lower())
    found = [index[kind].get(stem, []) for kind in ("terms", "titleterms")]
    numbers = {number for some in found for number in (some if isinstance(some, list) else [some])}
    numbers |= {entry[0] for entries in index["objects"].values() for entry in entries if entry[4] == word}
    return {index["docnames"][number] for number in numbers}


def build(checkout: Path) -> Path:
    """The site, from a copy of what it is made of: what a build writes beside its sources stays in the copy."""
    for name in MADE_OF:
        shutil.copy(ROOT / name, checkout / name)
    for name in ("designer", "solvers", "tests", "benchmarks"):
        (checkout / name).symlink_to(ROOT / name)
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("gallery" if name == "docs" else "out"))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "docs", "out/site"]
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout / "out" / "site"


@pytest.mark.nightly
def test_the_site_builds_without_a_warning_and_holds_together(tmp_path: Path) -> None:
    site = build(tmp_path)
    pages = {path: read(path) for path in site.rglob("*.html")}
    assert len(pages) > 60
    assert {address for page in pages.values() for address in page.loads if outside(address)} == set()
    assert lead_nowhere(site, pages) == []
    index = index_of(site)
    assert {word for word, page in WANTED.items() if page not in pages_with(index, word)} == set()
    public = {name for names in NAMES.values() for name in names.split() if not name.startswith("__")}
    assert {name for name in public if not any(page.startswith("reference/") for page in pages_with(index, name))} == set()


def test_a_link_to_a_file_or_an_anchor_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">x</a><a href="#gone">y</a><a href="c.html">z</a></p>')
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html#here">x</a><a href="https://example.org/#e">y</a></p>')
    pages = {path: read(path) for path in tmp_path.glob("*.html")}
    assert lead_nowhere(tmp_path, pages) == ["a.html: #gone", "a.html: c.html"]


def test_what_a_page_loads_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="https://example.org/x.js"></script><link rel="stylesheet" href="//example.org/x.css"><img src="x.png">'
        '<link rel="canonical" href="https://example.org"><a href="https://example.org">x</a><img src="data:image/png,x">'
    )
    assert [address for address in read(tmp_path / "a.html").loads if outside(address)] == [
        "https://example.org/x.js",
        "//example.org/x.css",
    ]


# Where pages may send their readers. A new host is a decision, so it is written down here.
HOSTS = {"keepachangelog.com", "pre-commit.com", "semver.org"}
HOSTS |= {"arxiv.org", "doi.org", "docs.opendp.org", "docs.tmlt.dev", "ibis-project.org", "www.cvxpy.org"}


def test_links_out_of_the_project_are_few_and_known() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "gallery" not in path.parts]
    pages += [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    found = {link for page in pages for link in re.findall(r"https?://[^\s)>`\"']+", page.read_text(encoding="utf-8"))}
    assert {urlsplit(link).hostname for link in found} <= HOSTS
    assert {link for link in found if link.startswith("http:")} == set()
