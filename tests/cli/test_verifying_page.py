"""The commands of docs/guides/verifying.md print what the page says that they print."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from designer.cli import main

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "guides" / "verifying.md").read_text()
BLOCKS = re.findall("```console\n(.*?)```", PAGE, re.DOTALL)


def ran(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, a line for an exit code other than 0 behind it."""
    words = shlex.split(command)
    if words[0] != "dp-designer":
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout
    code = main(words[1:])
    said = capsys.readouterr()
    return said.out + said.err + (f"[exit code {code}]\n" if code else "")


def test_the_commands_of_the_page_print_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cryptography")
    for path in (ROOT / "examples").glob("two_counts*"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(BLOCKS), re.MULTILINE)
    assert len(commands) == 10
    for command, printed in commands:
        wanted = re.escape(printed).replace(re.escape("..."), "(?s:.*)")
        found = ran(command, capsys)
        assert re.fullmatch(wanted, found), (command, printed, found)


def test_the_page_names_every_key_of_a_release() -> None:
    from designer.files.releases import FORMS, OPTIONAL, REQUIRED, form_of

    keys = {*REQUIRED, *OPTIONAL, *(key for format in FORMS for key in form_of(format).schema)}
    table = PAGE.split("## What a release file holds")[1].split("## What is checked")[0]
    missing = {key for key in keys if f"`{key}`" not in table}
    assert missing <= {"categories", "elements", "rounds", "p_greater", "p_less", "interval_95"}
