"""What docs/guides/verifying.md says of release files; its commands are run with those of all pages."""

from __future__ import annotations

from pathlib import Path

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "guides" / "verifying.md").read_text()


def test_the_page_names_every_key_of_a_release() -> None:
    from designer.files.kinds import KINDS
    from designer.files.releases import OPTIONAL, REQUIRED, form_of

    keys = {*REQUIRED, *OPTIONAL, *(key for format in KINDS for key in form_of(format).schema)}
    table = PAGE.split("## What a release file holds")[1].split("## What is checked")[0]
    missing = {key for key in keys if f"`{key}`" not in table}
    assert missing <= {"categories", "elements", "rounds", "p_greater", "p_less", "interval_95"}
