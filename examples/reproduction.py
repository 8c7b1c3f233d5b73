"""What the examples share: computed values beside the intervals that a paper publishes, a theorem allows or another
computation gives, and where pictures go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.publish.pictures.figures import picture_bytes

Floats = NDArray[np.float64]
Published = Mapping[str, tuple[float, float]]
Result = tuple[dict[str, float], Published]

PICTURES = Path("out")


def saved(drawing: Any, path: Path) -> Path:
    """A figure in a file, without its date: equal figures give equal bytes."""
    path.write_bytes(picture_bytes(drawing, path.suffix))
    return path


def show(
    title: str, reproduce: Callable[..., Result], differences: Mapping[str, str], draw: Callable[[Path], object] | None = None
) -> None:
    """Print computed beside published, say where they differ and why, and draw the picture."""
    computed, published = reproduce(full=True)
    print(title)
    for name, value in computed.items():
        low, high = published.get(name, (None, None))
        wanted = "" if low is None else f"expected: {low:g}" if low == high else f"expected: {low:g} to {high:g}"
        print(f"  {name:52} {value:10.4g}   {wanted}")
    for name, reason in differences.items():
        print(f"  Why {name!r} differs: {reason}")
    if draw is not None:
        PICTURES.mkdir(exist_ok=True)
        print(f"  Drawn to {draw(PICTURES)}")
