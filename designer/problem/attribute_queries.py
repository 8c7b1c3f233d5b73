"""What is asked of one attribute: the rows of a small matrix, by their kind where they have one.

Workloads over product domains are Kronecker products of these (docs/theory/structured.md, 1); nothing larger than one
attribute is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import count, shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.json_text import array
from designer.base.schema import COUNT, MATRIX, ClosedList, Named, either, exactly, one_of, record
from designer.problem.relation import Indices

SIZE_LIMIT = 2048  # values of an attribute whose queries have a structure: its Gram matrix is written out
ROWS_LIMIT = 2**24  # entries of rows that are written out at once
KINDS = ("identity", "total", "prefix", "ranges")


@dataclass(frozen=True, eq=False)
class AttributeQueries(Immutable):
    """Queries of an attribute of `size` values: "identity" (each value), "total", "prefix" (the first k), "ranges" (all
    intervals), "widths" (all intervals of `width` values), or "matrix", the rows of one, (K, size).

    size: the number of values. kind: one of the words above. width: for "widths". matrix: (K, size), for "matrix".

    >>> AttributeQueries("prefix", 3).rows(np.array([1])).tolist()
    [[1.0, 1.0, 0.0]]
    """

    kind: str
    size: int
    width: int | None = None
    matrix: Floats | None = None

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, "widths", "matrix"):
            raise InvalidProblem(
                f'queries: {shown(self.kind)} is unknown; use one of {[*KINDS]}, ("widths", w) or a matrix.', value=self.kind
            )
        if self.kind != "total" and self.size > SIZE_LIMIT:
            raise InvalidProblem(f"queries: an attribute has {self.size} values, more than {SIZE_LIMIT}; merge values.")
        if (self.kind == "widths") != (self.width is not None) or (self.kind == "matrix") != (self.matrix is not None):
            raise InvalidProblem(f'queries: "widths" has a width and "matrix" a matrix, and nothing else; got {self.kind!r}.')
        if self.width is not None and not 1 <= count(self.width, "queries.width") <= self.size:
            raise InvalidProblem(f"queries.width: is {self.width}; give a width from 1 to {self.size}.")
        if self.matrix is not None:
            matrix = real_array(self.matrix, "queries.matrix", 2)
            if matrix.shape[1] != self.size or not matrix.any():
                raise InvalidProblem(f"queries.matrix: has shape {matrix.shape}; give rows of {self.size} numbers, not all 0.")
            assign(self, matrix=matrix)

    @classmethod
    def of(cls, given: object, size: int) -> AttributeQueries:
        """From a kind, `("widths", w)`, a matrix or queries that are made already."""
        if isinstance(given, AttributeQueries):
            if given.size != size:
                raise InvalidProblem(f"queries: are about {given.size} values, the attribute has {size}.")
            return given
        if isinstance(given, str):
            return cls(given, size)
        if isinstance(given, tuple) and len(given) == 2 and given[0] == "widths":
            return cls("widths", size, width=given[1])
        return cls("matrix", size, matrix=real_array(given, "queries", 2))

    @cached_property
    def count(self) -> int:
        """K, how many there are."""
        n = self.size
        known = {"identity": n, "total": 1, "prefix": n, "ranges": n * (n + 1) // 2}
        if self.matrix is not None:
            return len(self.matrix)
        return n - self.width + 1 if self.width is not None else known[self.kind]

    @cached_property
    def gram(self) -> Floats:
        """`Q'Q`, (size, size), in closed form: how many queries hold both of two values."""
        i, n = np.arange(self.size, dtype=np.float64), self.size
        least, most = np.minimum.outer(i, i), np.maximum.outer(i, i)
        if self.matrix is not None:
            return frozen(self.matrix.T @ self.matrix)
        if self.width is not None:
            return frozen(np.maximum(np.minimum(least, n - self.width) - np.maximum(most - self.width + 1, 0) + 1, 0.0))
        if self.kind == "identity":
            return frozen(np.eye(n))
        known = {"total": np.ones((n, n)), "prefix": n - most, "ranges": (least + 1) * (n - most)}
        return frozen(known[self.kind])

    def rows(self, chosen: Indices | None = None) -> Floats:
        """The rows of these numbers, or all, (m, size)."""
        places = np.arange(self.count) if chosen is None else np.asarray(chosen, dtype=np.intp)
        if len(places) and not (places.min() >= 0 and places.max() < self.count):
            raise InvalidProblem(f"answers: a query number is not from 0 to {self.count - 1}, the last of its attribute.")
        if len(places) * self.size > ROWS_LIMIT:
            raise InvalidProblem(f"answers: {len(places)} queries of {self.size} values at once; ask for fewer.")
        if self.matrix is not None:
            return np.asarray(self.matrix[places])
        first, last = self._ends(places)
        value = np.arange(self.size)
        return np.asarray((value >= first[:, None]) & (value <= last[:, None]), dtype=np.float64)

    def _ends(self, places: Indices) -> tuple[Indices, Indices]:
        """The first and last value of intervals; ranges are ordered by first value, then last."""
        if self.kind == "total":
            return np.zeros_like(places), np.full_like(places, self.size - 1)
        if self.kind == "prefix":
            return np.zeros_like(places), places
        if self.kind == "ranges":
            left, right = np.triu_indices(self.size)
            return left[places], right[places]
        return places, places + (self.width or 1) - 1

    def labels(self, values: Sequence[str]) -> list[str]:
        """What each query is called, (count,): the value, the first and the last one of an interval, or its number."""
        if self.matrix is not None:
            return [f"query {k}" for k in range(self.count)]
        first, last = self._ends(np.arange(self.count))
        if self.kind == "identity":
            return list(values)
        return [f"{values[a]}..{values[b]}" for a, b in zip(first, last, strict=True)]

    def to_spec(self) -> dict[str, Any]:
        """Plain data; the size is the domain's."""
        if self.matrix is not None:
            return {"kind": "matrix", "matrix": self.matrix}
        return {"kind": self.kind} if self.width is None else {"kind": "widths", "width": self.width}


def recognised(rows: Floats) -> AttributeQueries | None:
    """The kind of queries whose rows, (K, N), these are, in order; None where they are of none.

    >>> recognised(np.tri(3)).kind
    'prefix'
    """
    queries, size = rows.shape
    if size > SIZE_LIMIT:
        return None
    known = [AttributeQueries(kind, size) for kind in KINDS]
    if 1 < size - queries + 1 <= size:
        known.append(AttributeQueries("widths", size, width=size - queries + 1))
    step = max(1, ROWS_LIMIT // size)
    pieces = [np.arange(start, min(start + step, queries)) for start in range(0, queries, step)]
    alike = (one for one in known if one.count == queries and all(np.array_equal(rows[at], one.rows(at)) for at in pieces))
    return next(alike, None)


SIMPLE = Named("queries_by_kind", record({"kind": one_of(*KINDS)}))
WIDTHS = Named("queries_of_a_width", record({"kind": exactly("widths"), "width": COUNT}))
ROWS = Named("queries_by_matrix", record({"kind": exactly("matrix"), "matrix": MATRIX}))
QUERIES = Named("attribute_queries", either(SIMPLE, WIDTHS, ROWS))


def queries_from_spec(spec: Any, size: int) -> AttributeQueries:
    """The inverse of `to_spec`."""
    return LISTED.read(spec, size)


LISTED: ClosedList[AttributeQueries] = ClosedList(
    "queries",
    {
        **{kind: (SIMPLE, lambda spec, size: AttributeQueries(spec["kind"], size)) for kind in KINDS},
        "widths": (WIDTHS, lambda spec, size: AttributeQueries("widths", size, width=spec["width"])),
        "matrix": (
            ROWS,
            lambda spec, size: AttributeQueries("matrix", size, matrix=array(spec["matrix"], 2, "queries.matrix")),
        ),
    },
)
