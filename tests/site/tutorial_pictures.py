"""The pictures on the pages of docs/tutorials, drawn as the pages draw them: `python -m tests.site.tutorial_pictures` writes
them below docs/tutorials/images."""

from __future__ import annotations

from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs" / "tutorials" / "images"
