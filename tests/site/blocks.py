"""Runs every block of code of a page, in order, in one fresh folder and one namespace, as its reader would.

    python -m tests.site.blocks docs/guides/programs.md ...

- `python`: a program, or a session of `>>>` whose output is compared; `...` stands for anything, blanks count once.
- `console`: lines `$ command`, each with all that it prints behind it; `...` stands for anything, over lines too. A command
  ends with 0; a refusal is declared: `$ command || echo "exit $?"`. A line that ends in a backslash goes on in the next one.
- `{code-block} LANGUAGE` with `:caption: NAME`: a file of that name, written before the next block.
- `<!-- folder examples/NAME -->`: the files of that folder, copied before the first block.

A block of class `not-run`, and those of other languages, are left alone.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sybil import Document, Example, Region
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.myst.lexers import DirectiveLexer

from designer.base.display import WIDTH
from designer.cli import main
from designer.designing import forget, known_families

OUTPUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SESSION = DocTestStringParser(DocTestEvaluator(OUTPUT))
COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n?(?P<output>(?:(?!\$ ).*\n?)*)", re.MULTILINE)
DECLARED = ' || echo "exit $?"'
SHELL_MARKS = re.compile(r"[|&;<>$`\\*?~#(){}\n]")
FOLDER = re.compile(r"<!-- folder (examples/[\w/]+) -->")
ROOT = Path(__file__).parents[2]
PLAIN_NAME = re.compile(r"[\w.-]+")

Evaluator = Callable[[Example], str | None]


def matches(expected: str, found: str) -> bool:
    """Whether `found` is what was expected, where `...` stands for anything and ends of lines do not count.

    >>> matches("Saved to ...\\nDone\\n", "Saved to x.json.\\nDone")
    True
    """
    wanted = ".*".join(re.escape(part) for part in trimmed(expected).split("..."))
    return re.fullmatch(wanted, trimmed(found), re.DOTALL) is not None


def trimmed(text: str) -> str:
    """Without blanks at the ends of lines, and without empty lines at the end."""
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def environment() -> dict[str, str]:
    """That of this process, with the commands of its interpreter first, and output as it is written."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}


def by_shell(command: str) -> tuple[int, str]:
    """The exit code of a command and all that it printed, by bash."""
    done = subprocess.run(
        ["bash", "-c", command], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def by_call(command: str) -> tuple[int, str]:
    """The same by the function that `dp-designer` calls, where the command needs nothing of a shell: it starts at once."""
    plain = command.removesuffix(DECLARED).replace("\\\n", "")
    if not plain.startswith("dp-designer ") or SHELL_MARKS.search(plain):
        return by_shell(command)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main(shlex.split(plain)[1:])
        except SystemExit as ended:
            code = int(ended.code or 0)
    if code and command.endswith(DECLARED):
        return 0, f"{said.getvalue()}exit {code}\n"
    return code, said.getvalue()


def console(run: Callable[[str], tuple[int, str]]) -> Evaluator:
    """Runs a block of commands and says what differed; None where all of them did what the page says."""

    def evaluated(example: Example) -> str | None:
        if not example.parsed.startswith("$ "):
            return "A block of the language console begins with a line `$ command`."
        for found in COMMAND.finditer(example.parsed):
            code, printed = run(found["command"])
            if code:
                return f"$ {found['command']}\nended with {code}:\n{printed}"
            if not matches(found["output"], printed):
                return f"$ {found['command']}\nthe page says:\n{found['output']}\nit printed:\n{printed}"
        return None

    return evaluated


def write_file(example: Example) -> None:
    """The file of a block that has a name for its caption."""
    name, text = example.parsed
    Path(name).write_text(text, encoding="utf-8")


def pieces(region: Region, language: str, run: Callable[[str], tuple[int, str]]) -> Iterator[Region]:
    """What is run of a block of that language."""
    source = region.lexemes["source"]
    region.parsed = source
    if language == "python" and source.startswith(">>>"):
        for line in SESSION(source, "session"):
            line.adjust(region, source)
            yield line
    elif language == "python":
        region.evaluator = PythonEvaluator()
        yield region
    elif language == "console":
        region.evaluator = console(run)
        yield region


class Blocks:
    """The parser of a page, as Sybil calls it.

    run: what runs a command, `by_shell` or `by_call`.
    """

    def __init__(self, run: Callable[[str], tuple[int, str]]) -> None:
        self.run = run

    def __call__(self, document: Document) -> Iterator[Region]:
        for region in FencedCodeBlockLexer("[a-z]+")(document):
            yield from pieces(region, region.lexemes["language"], self.run)
        for region in DirectiveLexer("code-block")(document):
            options = region.lexemes["options"]
            if "not-run" in options.get("class", "").split():
                continue
            if "caption" in options and PLAIN_NAME.fullmatch(options["caption"]):
                region.parsed = (options["caption"], region.lexemes["source"])
                region.evaluator = write_file
                yield region
            else:
                yield from pieces(region, region.lexemes["arguments"], self.run)


@contextlib.contextmanager
def module_of(document: Document) -> Iterator[dict[str, Any]]:
    """The namespace of a page as that of a module, so that its classes have one; afterwards its families are forgotten."""
    module = types.ModuleType(f"page_{Path(document.path).stem}")
    families = {family.name for family in known_families()}
    sys.modules[module.__name__] = module
    try:
        yield vars(module)
    finally:
        del sys.modules[module.__name__]
        for family in known_families():
            if family.name not in families:
                forget(family.name)


def run_page(page: Path, folder: Path, run: Callable[[str], tuple[int, str]] = by_call) -> dict[str, Any]:
    """Run all blocks of a page in a folder; returns the names that they leave.

    An error of a program is raised as it is, with the lines of the page in its traceback; anything else that is not as the page
    says is a `SybilFailure`, an `AssertionError` that names the page and the line. Lines are as wide as where no terminal says
    its own width, wherever the tests run.
    """
    for name in FOLDER.findall(page.read_text(encoding="utf-8")):
        shutil.copytree(ROOT / name, folder, dirs_exist_ok=True)
    document = Document.parse(str(page.resolve()), Blocks(run))
    with contextlib.chdir(folder), patch.dict(os.environ, COLUMNS=str(WIDTH)), module_of(document) as names:
        document.namespace = names
        for example in document.examples():
            example.evaluate()
        return dict(names)


def run_all(pages: Sequence[str]) -> int:
    """Run pages one by one, each in a folder of its own, with a shell for their commands; returns how many failed."""
    failed = 0
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            try:
                run_page(Path(page), Path(folder), by_shell)
            except Exception as error:
                failed += 1
                print(f"{page}: {type(error).__name__}: {error}")
            else:
                print(f"{page}: every block does what the page says")
    return failed


if __name__ == "__main__":
    sys.exit(min(1, run_all(sys.argv[1:])))
