"""Pages that are put together: every file has one place, headings go down a level, and links lead to where parts are."""

from __future__ import annotations

import doctest
import inspect
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from designer import limits
from designer.designing import FAMILIES
from designer.problem_file.templates import decided_file
from solvers import limits as solver_limits

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import derived  # noqa: E402
import docstrings  # noqa: E402
import formulas  # noqa: E402
import notebooks  # noqa: E402
import pages  # noqa: E402
import questions  # noqa: E402


@pytest.mark.parametrize("module", [pages, docstrings, formulas, notebooks, derived])
def test_the_examples_of_the_module_hold(module: ModuleType) -> None:
    done = doctest.testmod(module)
    assert done.failed == 0 < done.attempted


def test_parameters_are_a_list_behind_the_prose_and_before_the_examples() -> None:
    def take(level: float, seed: int, *, low: float, high: float) -> None:
        """Sums up, in

            a formula.

        level: 0.95, or

        * seed: stays in this list.

        Raises `InvalidProblem`. seed: of draws.

        Parameters
        ----------
        low, high
            in `km`,
            from 0.

        >>> 1 + 1
        2
        """

    lines = (inspect.getdoc(take) or "").splitlines()
    docstrings.as_markup(None, "function", "take", take, None, lines)
    told = [line for line in lines if line]
    fields = [":param level: 0.95, or", ":param seed: of draws."]
    fields += [f":param {name}: in ``km``, from 0." for name in ("low", "high")]
    assert told[-6:] == [*fields, ">>> 1 + 1", "2"]
    assert told[:4] == ["Sums up, in", "::", "    a formula.", "* seed: stays in this list."]


def test_a_text_is_not_shown_with_the_docstring_of_its_type() -> None:
    lines = ["Create a new string object from the given object."]
    docstrings.as_markup(None, "data", "designer.__version__", "0.1.0", None, lines)
    assert lines == []


def test_every_part_is_a_file_with_one_place_and_no_part_holds_parts() -> None:
    parts = [part for listed in pages.PARTS.values() for part in listed]
    assert len(parts) == len(set(parts)) and not set(parts) & {*pages.PARTS, *pages.REPOSITORY}
    assert [name for name in (*parts, *pages.PARTS, *pages.REPOSITORY) if not (DOCS / f"{name}.md").is_file()] == []


def test_a_notebook_is_shown_with_what_its_cells_print() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A title\n", "and a text"]},
        {"cell_type": "code", "source": ["x = 6\n", "print('| a |')\n", "print('| --- |')\n", "print(x)"]},
        {"cell_type": "code", "source": ["y = 7 * x"]},
        {"cell_type": "code", "source": ["print(y)"]},
    ]
    told = "\n\n".join(notebooks.run(cells))
    assert told.startswith("## A title\nand a text\n\n```python\nx = 6\n")
    assert "\n\n| a |\n| --- |\n\n```{code-block} text\n:class: printed\n\n6\n```" in told
    assert told.endswith("```python\nprint(y)\n```\n\n```{code-block} text\n:class: printed\n\n42\n```")


def test_a_page_has_a_table_in_the_place_of_its_mark() -> None:
    made = derived.with_tables("# A\n\n<!-- options keys -->\n\n<!-- sizes: begin -->\n")
    assert made.startswith("# A\n\n\n| option | what it says |\n| --- | --- |\n| `{new,show}` |")
    assert made.endswith("|\n\n\n<!-- sizes: begin -->\n")
    told = "\n".join(derived.questions(""))
    assert ElementTree.fromstring(questions.picture()).get("role") == "img"
    assert [f"## {k}. " in told for k in range(1, 8)] == [True] * 7 and decided_file(questions.LEAVES[0]) in told


def test_every_limit_has_a_row_with_the_files_that_refuse() -> None:
    names = [name for module in (limits, solver_limits) for name in vars(module) if name.isupper()]
    rows = [row.split(" | ") for row in list(derived.limits(""))[2:]]
    assert len(rows) == len(names)
    assert [row for row in rows if len(row) != 3 or not re.fullmatch(r"`\w+/[\w/]+\.py`.* \|", row[2])] == []


def test_every_notebook_is_on_the_page_of_notebooks() -> None:
    named = notebooks.MARK.findall((DOCS / "tutorials" / "notebooks.md").read_text(encoding="utf-8"))
    assert sorted(named) == sorted(path.stem for path in notebooks.NOTEBOOKS.glob("*.ipynb"))


def test_a_page_holds_the_prose_of_its_parts_in_their_order() -> None:
    for page, parts in pages.PARTS.items():
        made = pages.assembled(page, (DOCS / f"{page}.md").read_text(encoding="utf-8"))
        titles = ["#" + (DOCS / f"{part}.md").read_text(encoding="utf-8").partition("\n")[0] for part in parts]
        places = [made.index(f"\n({pages.place(part)})=\n\n{title}\n") for part, title in zip(parts, titles, strict=True)]
        assert places == sorted(places), page
        prose = pages.FENCE.sub("", made)
        assert [line for line in prose.splitlines() if line.startswith("# ")] == [made.splitlines()[0]], page


def test_code_keeps_its_comments_and_anchors_are_kept() -> None:
    assert pages.below("# A\n\n```python\n# note\n```\n") == "## A\n\n```python\n# note\n```\n"
    assert pages.led("[x](ledger.md#entries)", "docs/guides/service", "docs/guides/service") == "[x](composition.md#entries)"
    assert pages.led("[x](https://a.org/b.md)", "README", "README") == "[x](https://a.org/b.md)"


def test_names_of_the_program_and_broken_formulas_stay_code() -> None:
    for text in (*(family.name for family in FAMILIES), "norm", "spec.json", "design(problem)", "a ^ b", "x_", "(x"):
        with pytest.raises(formulas.NoFormula):
            formulas.mathml(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("|u|^2", "|u|2"),
        ("exp(-norm(z)) <= e^b", "exp(−norm(z))≤eb"),
        ("sum_k w_k'z", "∑kwk′z"),
        ("sqrt(t) != (2 pi)^-1", "t≠(2π)−1"),
        ("x < y, all of z", "x<y,allofz"),
    ],
)
def test_a_formula_keeps_its_signs_in_their_order_and_is_well_formed(text: str, wanted: str) -> None:
    made = ElementTree.fromstring(f"<math>{formulas.mathml(text)}</math>")
    assert "".join(made.itertext()) == wanted


def test_the_hash_of_the_second_verifier_is_the_one_that_verify_prints(capsys: pytest.CaptureFixture[str]) -> None:
    from designer.cli.entry import main

    root = Path(derived.__file__).resolve().parents[1]
    assert main(["verify", str(root / "tests/data/specs/family_box.json"), "--independent", "--json"]) == 0
    page = derived.with_tables((root / "docs/explanation/auditing.md").read_text(encoding="utf-8"))
    assert f"`{json.loads(capsys.readouterr().out)['verifier_sha256']}`" in page
