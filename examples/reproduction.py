"""What the examples share: computed values beside the intervals that a paper publishes, a theorem allows or another
computation gives, and where pictures go."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.publish.pictures.figures import picture_bytes

Floats = NDArray[np.float64]
Published = Mapping[str, tuple[float, float]]
Result = tuple[dict[str, float], Published]

PICTURES = Path("out")
# Of processor time, measured once on one core with everything that an example prints and draws.
SECONDS: Mapping[str, int] = {
    "approximate_notion": 4,
    "city_release": 2,
    "custom_loss": 6,
    "dx_example_1": 2,
    "dx_single_queries": 2,
    "dx_synthetic": 18,
    "gaussian_optimum": 7,
    "int_tables": 22,
    "least_budget": 7,
    "linked_tables": 1,
    "own_report": 6,
    "selection_mechanisms": 4,
    "semi_dp_figures": 4,
    "semi_dp_hexagon": 2,
    "semi_dp_published": 4,
    "semi_dp_umpu": 2,
    "service": 11,
    "slow_policies": 10,
    "statistical_queries": 3,
}


def saved(drawing: Any, path: Path) -> Path:
    """A figure in a file, without its date: equal figures give equal bytes."""
    path.write_bytes(picture_bytes(drawing, path.suffix))
    return path


def expected(value: float, low: float, high: float) -> str:
    """What a value should be, and whether it is; of a single number, which is rounded, only the number.

    >>> expected(1.2, 1, np.inf), expected(2, 0, 1), expected(3, 3, 3), expected(1, 1 - 1e-9, 1 + 1e-9)
    ('expected: at least 1: yes', 'expected: 0 to 1: NO', 'expected: 3', 'expected: 1 +- 1e-09: yes')
    """
    if low == high:
        return f"expected: {low:g}"
    if np.isinf(low) or np.isinf(high):
        words = f"at most {high:g}" if np.isinf(low) else f"at least {low:g}"
    else:
        words = f"{low:g} to {high:g}" if f"{low:g}" != f"{high:g}" else f"{(low + high) / 2:g} +- {(high - low) / 2:.2g}"
    return f"expected: {words}: {'yes' if low <= value <= high else 'NO'}"


@cache
def tell_time(example: str) -> None:
    """Say once, before an example starts, how long it takes."""
    known = SECONDS.get(example)
    print("  Not timed" if known is None else f"  About {known} s of processor time", flush=True)


def show(
    title: str, reproduce: Callable[..., Result], differences: Mapping[str, str], draw: Callable[[Path], object] | None = None
) -> None:
    """Print computed beside published, say where they differ and why, and draw the picture."""
    print(title)
    tell_time(Path(inspect.getfile(inspect.unwrap(reproduce))).stem)
    computed, published = reproduce(full=True)
    for name, value in computed.items():
        low, high = published.get(name, (None, None))
        print(f"  {name:52} {value:10.4g}   {'' if low is None else expected(value, low, high)}".rstrip())
    for name, reason in differences.items():
        print(f"  Why {name!r} differs: {reason}")
    if draw is not None:
        PICTURES.mkdir(exist_ok=True)
        print(f"  Drawn to {draw(PICTURES)}")
