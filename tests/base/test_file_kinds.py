"""What the bytes of a file look like, each by its first marks."""

from __future__ import annotations

import pytest

from designer.base.output import looks_like


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty"),
        (b"title = 'x'", "a problem file"),
        (b"name,count\nA,1", "a table (CSV)"),
        (b'{"format": "dp-designer/mechanism", "spec_version": 1}', "a spec"),
    ],
)
def test_each_kind_is_told_by_its_text(content: bytes, kind: str) -> None:
    assert looks_like(content) == kind
