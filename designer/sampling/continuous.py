"""Exponential and normal numbers as functions of uniform words: in float64 with an error bound, and in ball arithmetic.

A word w stands for a number U uniform on `[w, w + 1] / 2^64`. The float functions return `(value, error)` such that the true
value, for every U in that interval, is within `error`; the ball functions return a ball around the same true value.
Derivation: docs/theory/sampling.md, section 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.lazy_uniform import LazyUniform

Floats = NDArray[np.float64]

# Assumed of numpy, and measured by a test: log to 2^-48 relative (32 ulp), cos and sin to 2^-48. Documented are four ulp.
LOG_ERROR = 2.0**-48
CIRCLE_ERROR = 2.0**-46  # cos and sin 2^-48, angle: three roundings of a number up to 2 pi (2^-48.7) and the bits not drawn


def exponential(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """`-log U` and its error: `1/w` for the bits not drawn, 2^-52 for w as a float, and the error of the logarithm."""
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
