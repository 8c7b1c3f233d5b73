"""Exact draws from a finite law whose probabilities are whole numbers over one denominator.

One uniform whole number below the denominator decides: as many random bits as the denominator has, drawn again where they make
a number that is not below it. No float is involved.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

WORD = 64


def uniform_below(total: int, size: int, entropy: Entropy) -> list[int]:
    """`size` independent whole numbers, each uniform on 0 .. total - 1.

    Each try takes the leading `(total - 1).bit_length()` bits of its words, the first word first.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> all(0 <= number < 10**30 for number in uniform_below(10**30, 5, SeededEntropy(1)))
    True
    """
    bits = (total - 1).bit_length()
    words = max(1, -(-bits // WORD))
    found: list[int] = []
    while len(found) < size:
        drawn = entropy.random_words((size - len(found)) * words).reshape(-1, words).tolist()
        for row in drawn:
            number = 0
            for word in row:
                number = number << WORD | word
            number >>= words * WORD - bits
            if number < total:
                found.append(number)
    return found


def draw_from_table(weights: Sequence[int], size: int, entropy: Entropy) -> NDArray[np.intp]:
    """`size` independent indices, k with probability exactly `weights[k] / sum(weights)`.

    weights: whole numbers, none below 0, their sum above 0.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> draw_from_table([0, 3, 0], 2, SeededEntropy(1)).tolist()
    [1, 1]
    """
    ends = list(accumulate(weights))
    return np.array([bisect_right(ends, number) for number in uniform_below(ends[-1], size, entropy)], dtype=np.intp)
