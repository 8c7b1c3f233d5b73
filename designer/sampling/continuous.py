"""Vectors of exponential and normal numbers as functions of uniform words: in float64 with an error bound, and in balls.

A word w stands for a number U uniform on `[w, w + 1] / 2^64`. The float functions return `(value, error)` such that the true
value, for every U in that interval, is within `error`; the ball functions return balls around the same true values. Single
numbers: `integer_samplers.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.sampling.integer_samplers import exponential, normal_pair, normal_pair_balls

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.integer_samplers import LazyUniform


def exponential_vectors(words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
    """Rows of s exponentials, their sums (Gamma(s)), and the errors of rows and sums in the l1 norm; words (n, s)."""
    values, errors = exponential(words)
    total = values.sum(axis=1)
    return values, total, errors.sum(axis=1) + words.shape[1] * 2.0**-52 * total


def normal_vectors(words: NDArray[np.uint64], dimension: int) -> tuple[Floats, Floats, Floats]:
    """Rows of s normals, their l2 norms, and the errors of rows and norms in l2; words (n, 2 ceil(s / 2)).

    Rows (n, s); norms and errors (n,). `dimension` is s.
    """
    half = words.shape[1] // 2
    cosine, sine, error = normal_pair(words[:, :half], words[:, half:])
    values = np.concatenate([cosine, sine], axis=1)[:, :dimension]
    length = np.sqrt((values**2).sum(axis=1))
    return values, length, np.sqrt(2.0 * (error**2).sum(axis=1)) + (dimension + 4) * 2.0**-52 * length


def normal_words(dimension: int) -> int:
    """How many words `normal_vectors` takes for one vector."""
    return 2 * ((dimension + 1) // 2)


def normal_vector_balls(uniforms: Sequence[LazyUniform], dimension: int) -> list[arb]:
    """One row of `normal_vectors`."""
    half = len(uniforms) // 2
    pairs = [normal_pair_balls(radius, angle) for radius, angle in zip(uniforms[:half], uniforms[half:], strict=True)]
    return [*(pair[0] for pair in pairs), *(pair[1] for pair in pairs)][:dimension]


def along(radius: Floats, radius_error: Floats, vector: Floats, length: Floats, vector_error: Floats) -> tuple[Floats, Floats]:
    """`radius * vector / length`, row by row, and its error in the norm in which `length` is the norm of `vector`.

    In any norm `|a / |a| - b / |b||` is at most `2 |a - b| / |b|`; a radius right to a quarter makes that `2.5 radius` times.
    radius, radius_error, length, vector_error: (n,). vector: (n, s). Returns (n, s) and errors (n,), infinite where the radius
    is not known to a quarter.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = radius_error + 3.0 * radius * vector_error / length + radius * 2.0**-50
        return vector * (radius / length)[:, None], np.where(4.0 * radius_error < radius, error, np.inf)
