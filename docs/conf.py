"""The documentation site: `python -m sphinx -W -n docs out/site`, from the root of a checkout, with the extra `dev`.

Docstrings are plain sentences, so that they read well in a terminal: `docstrings.py` beside this file makes of them what Sphinx
reads. Nothing is taken from the network, neither while the site is built nor while it is read.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef

HERE = Path(__file__).parent
# Pictures are drawn while the site is built; threads of linear algebra that wait for each other take longer than one.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# The colours of a package that the theme loads send what any program logs to the terminal.
logging.getLogger("dp-designer").setLevel(logging.WARNING)
sys.path[:0] = [str(HERE.parent), str(HERE)]

from designer import __version__  # noqa: E402
from designer.cli.export_commands import SCHEMAS, schema_text  # noqa: E402

from docstrings import as_markup, leave_types_alone  # noqa: E402
from formulas import typeset  # noqa: E402
from notebooks import MARK, NOTEBOOKS, with_notebooks  # noqa: E402
from pages import HOST, PARTS, REPOSITORY, assembled, led  # noqa: E402
from public_names import find_name, link_names, show_one_signature  # noqa: E402

project = "dp-designer"
author = "The dp-designer maintainers"
copyright = author
version = release = __version__
language = "en_GB"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 5
highlight_language = "text"  # formulas stand in indented blocks
smartquotes = False  # options of commands begin with two hyphens
exclude_patterns = [
    "_build",
    "**sg_execution_times.rst",
    "gallery/*.ipynb",
    "gallery/*.json",
    "gallery/*.zip",
    "gallery/*.py",
]
exclude_patterns += [f"{name}.md" for name in (*HOST, *REPOSITORY)]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name for name in ("Floats", "Integers", "Indices", "Booleans", "ArrayLike")
}
# Within a union Sphinx shows how an alias is represented, and not its name.
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # type: ignore[method-assign]
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
nitpicky = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"dp-designer {__version__}"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["custom.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

# Pictures from real data: one file each, which sphinx-gallery runs while the site is built.
PICTURES = HERE.parent / "examples" / "gallery"
if sorted(PICTURES.glob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": [str(PICTURES)],
        "gallery_dirs": ["gallery"],
        "filename_pattern": r"/plot_",
        "abort_on_example_error": True,
        "download_all_examples": False,
        "remove_config_comments": True,
        "show_signature": False,
        "min_reported_time": 3600,  # seconds of the machine that built the site say nothing
        "write_computation_times": False,  # their page would load scripts from elsewhere
        "image_scrapers": ("matplotlib",),
    }
suppress_warnings = ["config.cache"]  # the settings of the gallery hold a function
SIGNATURE = re.compile(r'<dl>\s*((?:<dd><em class="sig-param.*</dd>\s*)+)</dl>')
ROOT_PAGES = {
    "CHANGELOG.md": "explanation/changelog",
    "SECURITY.md": "explanation/security",
    "CONTRIBUTING.md": "guides/contributing",
}


def lead_to_pages(app: Sphinx, doctree: nodes.document) -> None:
    """Included files of the root link to each other by name; here they lead to the pages that include them."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        if link["reftype"] == "myst" and link["reftarget"] in ROOT_PAGES:
            link.attributes |= {
                "refdomain": "doc",
                "reftarget": ROOT_PAGES[link["reftarget"]],
                "reftargetid": None,
            }
        elif link["reftype"] == "myst" and link["reftarget"] == "LICENSE":
            link.replace_self(link.children)


def put_together(app: Sphinx, page: str, text: list[str]) -> None:
    """What Sphinx reads of a page: with its tables, parts and notebooks, and with links to where the parts are."""
    if (HERE / page).with_suffix(".md").is_file():
        text[0] = assembled(page, text[0])
        for part in PARTS.get(page, ()):
            app.env.note_dependency(str(HERE / f"{part}.md"))
        for name in MARK.findall(text[0]):
            app.env.note_dependency(str(NOTEBOOKS / f"{name}.ipynb"))
        text[0] = with_notebooks(text[0])


def led_from_the_root(app: Sphinx, path: Path, page: str, text: list[str]) -> None:
    """What a page includes from the root of the checkout, with links to where the parts are."""
    text[0] = led(text[0], path.stem, path.stem)


def add_schemas(app: Sphinx, failure: Exception | None) -> None:
    """The schemas of all formats, at the root of the site."""
    if failure is None and app.builder.format == "html":
        for name in SCHEMAS:
            (Path(app.outdir) / f"{name}.schema.json").write_text(
                schema_text(name), encoding="utf-8"
            )


def divide_signatures(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Long signatures have a parameter a line; Sphinx makes of them lists of meanings without a word that they explain."""
    context["body"] = SIGNATURE.sub(
        lambda found: (
            f'<div class="parameters">{re.sub("(?<=</)dd|(?<=<)dd", "div", found[1])}</div>'
        ),
        context.get("body", ""),
    )


def setup(app: Sphinx) -> None:
    """Docstrings as they are written, and languages that Pygments does not know as plain text."""
    for plain in ("csv", "mermaid"):
        app.add_lexer(plain, TextLexer)
    app.connect("source-read", put_together)
    app.connect("include-read", led_from_the_root)
    app.connect("autodoc-process-docstring", as_markup)
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", typeset)
    show_one_signature()
    app.connect("missing-reference", find_name)
    app.connect("missing-reference", leave_types_alone)
    app.connect("doctree-read", lead_to_pages)
    app.connect("html-page-context", divide_signatures)
    app.connect("build-finished", add_schemas)
