"""Rounding of what solvers and searches found, so that the last digits of a processor's arithmetic decide nothing.

Numbers that two processors find agree to about 15 digits. Rounded to `BITS` bits they are equal, but where one lies within
that difference of the middle between two, about once in a million.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BITS = 32
EXACT = 20  # bits beyond those, in which a reconstruction is made right again
MOST_WORK = 2e9  # of the pseudo-inverse of the measured rows, beyond which a reconstruction is left as it was found
PIECE = 17  # bits: sums of fewer than 2^19 products of two such numbers are exact floats in any order
AGREEING = 2.0**-44  # relatively: how far equal numbers may be apart; a part of the margin of each repair


def rounded(values: Array, bits: int = BITS) -> Array:
    """Each number to the nearest of so many bits."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, bits)), exponents - bits))


def steady(value: float) -> float:
    """A loss as it is compared with others: to six digits, so that of equal ones the first is taken."""
    return float(f"{value:.6g}")


def rounded_alike(values: Array, axis: int, bits: int = BITS) -> Array:
    """All numbers along an axis to the nearest multiples of one unit, of which the largest has `bits` bits."""
    largest = rounded(np.abs(values).max(axis=axis, keepdims=True, initial=0.0))
    units = np.frexp(largest)[1] - bits
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -units)), units)) + 0.0  # no -0


def rounded_up(value: float) -> float:
    """The least number of `BITS` bits that is at least `value`, or less by no more than `AGREEING`, relatively."""
    mantissa, exponent = math.frexp(value * (1 - AGREEING))
    return math.ldexp(math.ceil(math.ldexp(mantissa, BITS)), exponent - BITS)


def product(left: Array, right: Array) -> Array:
    """The product of (K, R) and (R, N), added up in the order of the R, which no library of linear algebra changes."""
    return np.asarray(np.einsum("ij,jk->ik", left, right))


def inverse_of(matrix: Array) -> Array:
    """The inverse of a positive definite matrix (n, n), by eliminations in order; no numbers where it has none."""
    size = len(matrix)
    work = np.hstack([matrix, np.eye(size)])
    with np.errstate(all="ignore"):
        for k in range(size):
            row = work[k] / work[k, k]
            work -= work[:, k, None] * row
            work[k] = row
    return work[:, size:]


def largest_first(values: Array, most: int) -> NDArray[np.intp]:
    """Places of the largest values, (most,) or fewer, the first of equal ones first."""
    return np.argsort(-rounded(values), kind="stable")[:most]


def reconstruction_of(found: Array, measured: Array, wanted: Array) -> Array:
    """A reconstruction G, (K, R), near the one `found`, with `G measured = wanted` up to the rounding of floats, where `found`
    has that up to 2^-20: rounded, and made right by what is missing, which is computed without a rounding error.

    measured: (R, N). wanted: (K, N).
    """
    if math.prod(measured.shape) * min(measured.shape) > MOST_WORK:
        return found
    exponents = np.frexp(rounded(np.abs(measured).max(axis=1, initial=0.0)))[1]
    rows, near = np.ldexp(measured, -exponents[:, None]), rounded_alike(np.ldexp(found, exponents), 1)
    missing = wanted - _product(near, rows)
    if (np.abs(missing).max(initial=0.0)) > 2.0**-20 * np.abs(wanted).max(initial=0.0):
        return found
    units = np.frexp(np.abs(near).max(axis=1, keepdims=True, initial=0.0))[1] - BITS - EXACT
    moved = np.rint(np.ldexp(missing @ np.linalg.pinv(rows, rcond=1e-11), -units))
    if np.abs(moved).max(initial=0.0) > 2.0 ** (EXACT + 4):  # of rows that nearly repeat others
        return found
    return np.asarray(np.ldexp(near + np.ldexp(moved, units), -exponents)) + 0.0


def _product(left: Array, right: Array) -> Array:
    """The product of (K, R) and (R, N), its parts exact and added up in a fixed order."""
    parts = [first @ second for second in _pieces(right, 0) for first in _pieces(left, 1)]
    total = np.zeros((len(left), right.shape[1]))
    for part in reversed(parts):
        total += part
    return total


def _pieces(matrix: Array, axis: int) -> list[Array]:
    """Matrices of numbers of `PIECE` bits, in one unit along the axis, that add up to the matrix."""
    pieces: list[Array] = []
    while matrix.any() and len(pieces) < 4:
        pieces.append(rounded_alike(matrix, axis, PIECE))
        matrix = matrix - pieces[-1]
    return pieces
