"""The pseudo-inverse, whose rank does not hang on rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pseudo_inverse(matrix: Floats) -> Floats:
    """The Moore-Penrose inverse, (n, m), of a matrix (m, n): singular values up to max(m, n) 2^-52 of the largest are none.

    That much is rounding of rows that depend on each other; numpy's own default keeps it where it is above 1e-15.
    """
    rounding = max(matrix.shape) * 2.0**-52
    return np.asarray(np.linalg.pinv(matrix, rcond=rounding), dtype=np.float64)
