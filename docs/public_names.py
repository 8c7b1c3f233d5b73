"""Links to public names: from types in signatures, and from names between backticks, wherever they stand.

A name is what has an entry in the reference: the directives of its pages say which there are. `Workload`, `designer.Workload`
and `Workload.identity` are such names, and so is the type of the same object under the path where it is defined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer

ENTRY = re.compile(
    r"^\.\. auto(?:function|class|exception|data):: ([\w.]+)$", re.MULTILINE
)
NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
LINKED = (nodes.reference, nodes.title, addnodes.desc_signature, addnodes.pending_xref)


@cache
def known() -> dict[str, str]:
    """The name under which each has its entry, by that name, by its last word, and by where the object is defined.

    A last word that two entries have, as `metrics.partition` and `invariants.partition` do, is left out.
    """
    pages = sorted((Path(__file__).parent / "reference").glob("*.md"))
    entries = [
        name
        for page in pages
        for name in ENTRY.findall(page.read_text(encoding="utf-8"))
    ]
    lasts = [name.rpartition(".")[2] for name in entries]
    alone = {
        last: name
        for last, name in zip(lasts, entries, strict=True)
        if lasts.count(last) == 1
    }
    return alone | {
        alias: name for name in entries for alias in (name, defined_as(name))
    }


def defined_as(name: str) -> str:
    """The path of the module that defines an object, and its name there; the name itself of what is no class or function."""
    found = resolve_name(name)
    return (
        f"{found.__module__}.{found.__qualname__}"
        if hasattr(found, "__qualname__")
        else name
    )


def entry_of(text: str) -> str | None:
    """The entry that a text speaks of, with the member that it names behind; None of other texts, and of plain words."""
    plain = text.removesuffix("()")
    if not NAME.fullmatch(text) or (
        plain == text and plain.islower() and not re.search(r"[._]", plain)
    ):
        return None
    if plain in known():
        return known()[plain]
    owner, _, member = plain.rpartition(".")
    return f"{known()[owner]}.{member}" if owner in known() else None


def texts(doctree: nodes.document) -> Iterator[nodes.literal]:
    """What stands between backticks, but for headings, and what is a link already."""
    for found in list(doctree.findall(nodes.literal)):
        above = found.parent
        while above is not None and not isinstance(above, LINKED):
            above = above.parent
        if above is None:
            yield found


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Make links of the names between backticks; one that leads nowhere stays as it is."""
    for found in texts(doctree):
        entry = entry_of(found.astext())
        if entry is not None:
            link = addnodes.pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=entry,
                refexplicit=True,
                by_name=True,
            )
            link["refdoc"] = app.env.docname
            found.replace_self(link)
            link += found


def show_one_signature() -> None:
    """Let autodoc show what a function takes in all, and not the overloads that tell a type checker more."""
    analyse = ModuleAnalyzer.analyze

    def without_overloads(analyzer: ModuleAnalyzer) -> None:
        analyse(analyzer)
        analyzer.overloads = {}

    ModuleAnalyzer.analyze = without_overloads  # type: ignore[method-assign]


def find_name(
    app: Sphinx, env: BuildEnvironment, node: Any, shown: nodes.Node
) -> nodes.Node | None:
    """What a type in a signature leads to, where it has an entry under another path; a name without a link of its own."""
    entry = (
        known().get(node.get("reftarget", ""))
        if node.get("refdomain") == "py"
        else None
    )
    if entry is not None and entry != node["reftarget"]:
        python = env.get_domain("py")
        found = python.resolve_xref(
            env, node["refdoc"], app.builder, "obj", entry, node, shown
        )  # type: ignore[arg-type]
        if found is not None:
            return found
    return shown if node.get("by_name") else None
