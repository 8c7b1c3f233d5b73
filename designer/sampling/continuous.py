"""Exponential and normal numbers as functions of uniform words: in float64 with an error bound, and in ball arithmetic.

A word w stands for a number U uniform on `[w, w + 1] / 2^64`. The float functions return `(value, error)` such that the true
value, for every U in that interval, is within `error`; the ball functions return a ball around the same true value.
Derivation: docs/theory/sampling.md, section 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.lazy_uniform import LazyUniform

Floats = NDArray[np.float64]

# Assumed of numpy, and measured by a test: log to 2^-48 relative (32 ulp), cos and sin to 2^-48. Documented are four ulp.
LOG_ERROR = 2.0**-48
EXP_ERROR = 2.0**-44  # np.exp to 2^-48 relative (assumed), and the roundings of an argument below 50
CIRCLE_ERROR = 2.0**-46  # cos and sin 2^-48, angle: three roundings of a number up to 2 pi (2^-48.7) and the bits not drawn


def exponential(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """`-log U` and its error: `1/w` for the bits not drawn, 2^-52 for w as a float, and the error of the logarithm.

    words: (...,), 64 random bits each, the leading ones of U. Values (...,), errors (...,).
    """
    floats = words.astype(np.float64)
    value = -np.log(np.maximum(floats, 1.0) * 2.0**-64)
    with np.errstate(divide="ignore"):
        return value, 1.0 / floats + (LOG_ERROR * value + 2.0**-52)


def exponential_ball(uniform: LazyUniform) -> arb:
    """`-log U`."""
    return -uniform.ball().log()


def normal_pair(radius: NDArray[np.uint64], angle: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
    """Two independent standard normals `R cos(2 pi V)`, `R sin(2 pi V)` with `R = sqrt(-2 log U)`, and their common error.

    Box and Muller's pair. The root is off by `|R^2 - R'^2| / (R + R')`, at most twice the error of the exponential over R.
    radius, angle: (...,), 64 random bits each. Two arrays (...,) and their errors (...,).
    """
    energy, error = exponential(radius)
    length, turn = np.sqrt(2.0 * energy), angle.astype(np.float64) * (2.0 * np.pi * 2.0**-64)
    with np.errstate(divide="ignore"):
        return length * np.cos(turn), length * np.sin(turn), 2.0 * error / length + CIRCLE_ERROR * length


def normal_pair_balls(radius: LazyUniform, angle: LazyUniform) -> tuple[arb, arb]:
    """The two normals of `normal_pair`."""
    length = (-2 * radius.ball().log()).nonnegative_part().sqrt()
    turn = 2 * angle.ball()
    return length * turn.cos_pi(), length * turn.sin_pi()


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


def accepted(
    bits: NDArray[np.uint64], count: int, exponent: Floats, error: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which draws of chance `exp(-exponent)` a uniform of `count` known bits accepts, and which it leaves open.

    The true exponent is at least 0 and within `error` of the given one; for errors below 1 `exp(+-error)` is in `1 +- 2 error`.
    bits, exponent, error: (n,). Two masks (n,).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        error = error + EXP_ERROR
        chance = np.exp(-np.maximum(exponent, 0.0))
        below = (bits + np.uint64(1)).astype(np.float64) * 2.0**-count < chance * (1.0 - 2.0 * error)
        above = bits.astype(np.float64) * 2.0**-count > chance * (1.0 + 2.0 * error)
    sound = error < 1.0
    return below & sound, ~((below | above) & sound)


def nearest(place: Floats, error: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The floor of `place`, and where `error` and the roundings of `place` itself (2^-50) leave it open.

    place, error: (...,). Floors (...,), 0 where open, and a mask (...,).
    """
    floor = np.floor(place)
    fraction, error = place - floor, error + (np.abs(place) + 1.0) * 2.0**-50
    open_ = ~((fraction > error) & (fraction < 1.0 - error))
    return np.where(open_, 0.0, floor).astype(np.int64), open_
