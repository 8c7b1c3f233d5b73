"""How many rows of an entity to count: what is left out against the noise, from a public distribution of rows per entity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from designer.base.checks import count, positive, shown
from designer.base.errors import InvalidProblem


@dataclass(frozen=True)
class RowsToKeep:
    """A count of rows where at most `rows` of each entity count.

    left_out: the part of all rows that do not count, by which the count is too low. bias: how many rows that is. noise: the
    standard error. error: the root of `bias^2 + noise^2`.
    """

    rows: int
    left_out: float
    bias: float
    noise: float
    error: float


def rows_to_keep(sizes: Mapping[int, float], entities: float, standard_error: float, most: int = 10) -> tuple[RowsToKeep, ...]:
    """Compare how many rows of an entity may count, from 1 to `most`, by the error of one count of rows.

    The K rows of an entity share its budget, so noise grows with K: a standard error s of K = 1 becomes K s. Where entities
    have m rows with probability p_m, the bias is `entities * sum_m p_m max(0, m - K)`. The distribution is public, such as that
    of an earlier survey, and never that of the records to be released.

    Parameters
    ----------
    sizes : how many entities have each number of rows, or in which proportion.
    entities : how many of them the count is about: all, or those of a group.
    standard_error : of the count where one row of each entity counts, at the budget of the entity.
    most : the largest K.

    >>> for row in rows_to_keep({1: 70, 2: 20, 8: 10}, entities=1000, standard_error=60)[:3]:
    ...     print(row.rows, f"{row.left_out:.0%}", round(row.bias), row.noise, round(row.error))
    1 47% 900 60.0 902
    2 32% 600 120.0 612
    3 26% 500 180.0 531
    """
    if not sizes or any(type(m) is not int or m < 1 for m in sizes):
        raise InvalidProblem(f"sizes: {shown(dict(sizes))} has no numbers of rows from 1 on; give {{rows: entities}}.")
    if not all(math.isfinite(p) and p >= 0 for p in sizes.values()) or not sum(sizes.values()) > 0:
        raise InvalidProblem("sizes: some proportion is below 0 or not finite, or all are 0; give how many entities there are.")
    number, alone = positive(entities, "entities"), positive(standard_error, "standard_error")
    total = sum(sizes.values())
    mean = sum(m * p for m, p in sizes.items()) / total
    found = []
    for rows in range(1, count(most, "most") + 1):
        beyond = sum(max(0, m - rows) * p for m, p in sizes.items()) / total
        bias, noise = number * beyond, rows * alone
        found.append(RowsToKeep(rows, beyond / mean, bias, noise, math.hypot(bias, noise)))
    return tuple(found)
