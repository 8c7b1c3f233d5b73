"""The runner of pages: what it runs, what it refuses, and that a page which says what is not so fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil.example import SybilFailure

from designer.designing import known_families
from tests.site.blocks import by_call, by_shell, matches, run_page

FENCE = "```"


def fenced(kind: str, text: str) -> str:
    return f"{FENCE}{kind}\n{text}\n{FENCE}\n\n"


@pytest.fixture
def assert_runs(tmp_path: Path):
    """Runs a page of that text in a folder of its own."""

    def run(*blocks: str, by=by_shell):
        page, folder = tmp_path / "some_page.md", tmp_path / "folder"
        page.write_text("# A page\n\n" + "".join(blocks), encoding="utf-8")
        folder.mkdir(exist_ok=True)
        return run_page(page, folder, by)

    return run


def test_a_page_without_blocks_leaves_nothing(assert_runs, tmp_path: Path) -> None:
    assert set(assert_runs("Plain words, and `code`.\n\n    indented $ false\n")) == set(assert_runs())
    assert list((tmp_path / "folder").iterdir()) == []


def test_blocks_share_one_namespace_and_one_folder(assert_runs, tmp_path: Path) -> None:
    names = assert_runs(
        fenced("python", "from pathlib import Path\nx = 2\nPath('made').write_text('by the page')"),
        fenced("python", ">>> x + 1\n3\n>>> print(Path('made').read_text())\nby ... page"),
        fenced("console", "$ cat made; echo\nby the page\n$ ls\nmade"),
    )
    assert names["x"] == 2 and (tmp_path / "folder" / "made").read_text() == "by the page"


def test_a_program_that_fails_fails_the_page_and_names_the_line(assert_runs) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        assert_runs(fenced("python", "x = 1\nx / 0"))
    assert caught.traceback[-1].lineno == 4 and caught.traceback[-1].path.name == "some_page.md"


@pytest.mark.parametrize("block", [fenced("python", ">>> 1 + 1\n3"), fenced("console", "$ echo two\nthree")])
def test_another_output_fails_the_page(assert_runs, block: str) -> None:
    with pytest.raises(SybilFailure, match=r"some_page.md, line [34], (?s:.*)(Got:|it printed:)"):
        assert_runs(block)


def test_output_that_the_page_leaves_out_fails_it(assert_runs) -> None:
    with pytest.raises(SybilFailure, match="it printed:\nsomething"):
        assert_runs(fenced("console", "$ echo something"))


def test_a_block_with_a_caption_is_a_file_before_the_next_block(assert_runs) -> None:
    assert_runs(
        fenced("{code-block} csv", ":caption: counts.csv\n\nplace,count\nnorth,3"),
        fenced("console", "$ cat counts.csv\nplace,count\nnorth,3"),
        fenced("{code-block} csv", ":caption: counts.csv\n\nplace,count\nnorth,4"),
        fenced("python", ">>> open('counts.csv').read()[-2:]\n'4\\n'"),
    )


def test_a_program_with_a_caption_is_written_and_not_run(assert_runs) -> None:
    assert_runs(fenced("{code-block} python", ":caption: tool.py\n\nprint(1 + 1)"), fenced("console", "$ python tool.py\n2"))


@pytest.mark.parametrize("by", [pytest.param(by_shell, marks=pytest.mark.nightly), by_call])
def test_a_refusal_has_to_be_declared(assert_runs, by) -> None:
    with pytest.raises(SybilFailure, match=r"ended with 2:\ndp-designer: "):
        assert_runs(fenced("console", "$ dp-designer show nothing.toml\n..."), by=by)
    assert_runs(
        fenced("console", '$ dp-designer show nothing.toml || echo "exit $?"\ndp-designer: ...nothing.toml...\nexit 2'), by=by
    )


def test_a_declared_refusal_that_does_not_come_fails_the_page(assert_runs) -> None:
    with pytest.raises(SybilFailure, match="exit 2"):
        assert_runs(fenced("console", '$ dp-designer --version || echo "exit $?"\n...\nexit 2'), by=by_call)


def test_both_ways_to_run_a_command_print_the_same() -> None:
    for command in ("dp-designer --version", "dp-designer show"):
        assert by_shell(command) == by_call(command)


def test_a_command_goes_on_behind_a_backslash(assert_runs) -> None:
    assert_runs(fenced("console", "$ echo one \\\n    two\none two"))


def test_blocks_of_other_languages_and_of_the_class_not_run_are_left_alone(assert_runs) -> None:
    assert_runs(
        fenced("text", "$ false"),
        fenced("r", "stop()"),
        fenced("{code-block} python", ":class: not-run\n\n1 / 0"),
        fenced("{code-block} text", ":caption: Answers, for example\n\n$ false"),
    )


def test_a_console_block_without_a_prompt_fails_the_page(assert_runs) -> None:
    with pytest.raises(SybilFailure, match="begins with a line"):
        assert_runs(fenced("console", "echo one"))


def test_classes_of_a_page_have_a_module_and_its_families_are_forgotten(assert_runs) -> None:
    before = known_families()
    names = assert_runs(
        fenced(
            "python",
            "from dataclasses import dataclass\nfrom designer.designing import Family, register\n"
            "@dataclass\nclass Own:\n    size: 'int'\nregister(Family('own', 'a test', 'pure', Own))",
        )
    )
    assert names["Own"].__module__ == "page_some_page" and known_families() == before


def test_anything_stands_for_any_number_of_lines() -> None:
    assert matches("a\n...\nz", "a\nb\nc\nz\n") and matches("...", "") and matches("a  \n", "a")
    assert not matches("a\n...\nz", "a\nb") and not matches("a.c", "abc")
