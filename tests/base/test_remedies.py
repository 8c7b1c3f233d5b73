"""What is said of files that are no JSON."""

from __future__ import annotations

import pytest

from designer.base.errors import InvalidSpec
from designer.base.json_text import json_object


@pytest.mark.parametrize(("content", "words"), [(b'{"a": 1, "b"', "it ends in the middle"), (b'{"a" 1}', "give a spec")])
def test_a_file_that_is_cut_off_is_told_from_one_that_is_wrong(content: bytes, words: str) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        json_object(content, "the file")
    assert words in str(refusal.value)
