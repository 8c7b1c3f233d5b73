"""A path with a zero byte, or with half of a surrogate pair, is refused by everything that reads a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from designer import load, read_problem
from designer.accounts.store import content_hash
from designer.base.errors import Refusal
from designer.files.signatures import SigningKey
from designer.problem_file.kinds import read_request

READERS: dict[str, Callable[[str], object]] = {
    "load": load,
    "read_problem": read_problem,
    "read_request": read_request,
    "SigningKey.read": SigningKey.read,
    "content_hash": lambda path: content_hash([Path(path)], "ledger"),
}


@pytest.mark.parametrize("path", ["specs\0.json", "\ud800.json"], ids=["zero byte", "surrogate"])
@pytest.mark.parametrize("name", READERS)
def test_a_path_that_names_no_file_is_refused(name: str, path: str) -> None:
    with pytest.raises(Refusal, match="cannot"):
        READERS[name](path)
