"""The gallery: parts of it written here, all of it by the example (`pytest -m heavy`)."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")


@pytest.mark.nightly
def test_the_gallery_writes_every_picture_that_it_names(tmp_path: Path) -> None:
    from examples.pictures import GALLERY, write_all

    parts = {name: GALLERY[name] for name in ("hexagon", "business", "hard cases")}
    written = write_all(tmp_path / "pictures", "svg", parts)
    names = {path.stem for path in written}
    assert {"space_ellipsoid", "business_loss_1", "one_noise", "many_errors", "islands_ball", "names_answers"} <= names
    assert sorted(tmp_path.glob("pictures/*")) == sorted(written) and len(names) == len(written)
    for path in written:
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg") and "Glyph" not in path.read_text()
    texts = (tmp_path / "pictures" / "names_answers.svg").read_text()
    assert all(name in texts for name in ("北海道", "Санкт-Петербург", "$x_1$ &amp; &lt;b&gt;", "_hidden", "…"))
