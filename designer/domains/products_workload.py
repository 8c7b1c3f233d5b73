"""Workloads over product domains: unions of Kronecker products of queries of single attributes, of any number of queries.

docs/theory/structured.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import assign, count, positive, shown
from designer.base.display import Displayed
from designer.base.errors import InvalidProblem
from designer.base.json_text import array
from designer.base.schema import COUNT, MATRIX, ClosedList, Named, either, exactly, one_of, record
from designer.domains.marginals_workload import MarginalWorkload
from designer.limits import MOST_ROW_ENTRIES, MOST_STRUCTURED_VALUES, MOST_TERMS, MOST_WRITTEN_ENTRIES
from designer.problem.domain import Domain
from designer.problem.relation import Indices
from designer.problem.workload import Workload

# What is asked of one attribute: the rows of a small matrix, by their kind where they have one.
#
# Workloads over product domains are Kronecker products of these (docs/theory/structured.md, 1); nothing larger than one
# attribute is written out.


KINDS = ("identity", "total", "prefix", "ranges")


@dataclass(frozen=True, eq=False)
class AttributeQueries(Immutable):
    """Queries of an attribute of `size` values: "identity" (each value), "total", "prefix" (the first k) or "ranges" (all
    intervals). Or "widths" (all intervals of `width` values), or "matrix", the rows of one, (K, size).

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
        if self.kind != "total" and self.size > MOST_STRUCTURED_VALUES:
            raise InvalidProblem(
                f"queries: an attribute has {self.size} values, more than {MOST_STRUCTURED_VALUES}; merge values."
            )
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
        if len(places) * self.size > MOST_ROW_ENTRIES:
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
    if size > MOST_STRUCTURED_VALUES:
        return None
    known = [AttributeQueries(kind, size) for kind in KINDS]
    if 1 < size - queries + 1 <= size:
        known.append(AttributeQueries("widths", size, width=size - queries + 1))
    step = max(1, MOST_ROW_ENTRIES // size)
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


class _Named:
    """Queries by axis and kind, made once: what is known of them is computed once for all terms."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = shape
        self.made: dict[tuple[int, str], AttributeQueries] = {}

    def queries(self, axis: int, given: object) -> AttributeQueries:
        """Those of one term."""
        if not isinstance(given, str):
            return AttributeQueries.of(given, self.shape[axis])
        if (axis, given) not in self.made:
            self.made[axis, given] = AttributeQueries.of(given, self.shape[axis])
        return self.made[axis, given]


@dataclass(frozen=True, eq=False)
class StructuredWorkload(Immutable, Displayed):
    """For every term all combinations of its attributes' queries: `Q = Q_1 x ... x Q_d` (Kronecker), one term after the other.

    terms: for each the queries of the attributes that it asks about, by position; "total" of all others. weights: (T,),
    multiply the variance of every answer of a term in the objective. The matrix is never written out.

    >>> sums = StructuredWorkload.of(Domain.of({f"a{i}": 64 for i in range(5)}), [{f"a{i}": "prefix" for i in range(5)}])
    >>> sums.count
    1073741824
    """

    domain: Domain
    terms: tuple[Mapping[int, AttributeQueries], ...]
    weights: Floats

    @classmethod
    def of(
        cls, domain: Domain, terms: Sequence[Mapping[str, object]], weights: Sequence[float] | None = None
    ) -> StructuredWorkload:
        """From terms that name attributes and their queries (`AttributeQueries.of`); attributes not named are summed over."""
        if (
            not isinstance(domain, Domain)
            or isinstance(terms, (str, Mapping))
            or not all(isinstance(t, Mapping) for t in terms)
        ):
            raise InvalidProblem("domain, terms: give a Domain and a list of mappings from attributes to their queries.")
        made, named = [], _Named(domain.shape)
        for term in terms:
            placed = {domain.axis(name): given for name, given in term.items()}
            made.append({axis: named.queries(axis, placed[axis]) for axis in sorted(placed)})
        return cls(
            domain, tuple(made), frozen(np.ones(len(made)) if weights is None else np.asarray(weights, dtype=np.float64))
        )

    @classmethod
    def tables(
        cls,
        domain: Domain,
        subsets: Mapping[Sequence[str], float] | Sequence[Sequence[str]],
        asked: Mapping[str, object] | None = None,
    ) -> StructuredWorkload:
        """Tables over subsets of attributes in which some attributes are asked otherwise than by value: `asked={"age":
        "prefix"}` makes every table with an age one of running totals over it. A mapping of subsets gives weights."""
        others = dict(asked or {})
        if unknown := [name for name in others if name not in domain.attributes]:
            raise InvalidProblem(
                f"asked: {shown(unknown)} are no attributes; the domain has {list(domain.attributes)[:8]}.", value=unknown
            )
        # Made once, so that an attribute has the same queries in every table.
        made = {name: AttributeQueries.of(given, domain.shape[domain.axis(name)]) for name, given in others.items()}
        weights = list(subsets.values()) if isinstance(subsets, Mapping) else None
        return cls.of(domain, [{name: made.get(name, "identity") for name in subset} for subset in subsets], weights)

    @classmethod
    def of_marginals(cls, marginals: MarginalWorkload, asked: Mapping[str, object] | None = None) -> StructuredWorkload:
        """The tables of a marginal workload with its weights, some attributes asked otherwise than by value, as in `tables`.

        >>> from designer import MarginalWorkload
        >>> pairs = MarginalWorkload.up_to(Domain.of({"age": 16, "sex": ["F", "M"]}), 2)
        >>> StructuredWorkload.of_marginals(pairs, {"age": "ranges"}).counts
        (136, 2, 272)
        """
        if not isinstance(marginals, MarginalWorkload):
            raise InvalidProblem(
                f"marginals: {type(marginals).__name__} is no MarginalWorkload; make one with `up_to` or `of`.",
                value=type(marginals).__name__,
            )
        sets = [marginals.names(subset) for subset in marginals.subsets.tuples()]
        return cls.tables(marginals.domain, dict(zip(sets, marginals.weights.tolist(), strict=True)), asked)

    def _display_facts(self) -> Mapping[str, object]:
        """How many answers of how many terms, over how many combinations of values."""
        return {"answers": self.count, "terms": len(self.terms), "elements": self.domain.size}

    def __post_init__(self) -> None:
        if not 0 < len(self.terms) <= MOST_TERMS:
            raise InvalidProblem(f"terms: there are {len(self.terms)}; give from one to {MOST_TERMS}.")
        if self.weights.shape != (len(self.terms),):
            raise InvalidProblem(f"weights: {self.weights.shape} for {len(self.terms)} terms; give one for each.")
        checked = [positive(float(w), f"weights[{k}]") for k, w in enumerate(self.weights)]
        assign(self, weights=frozen(np.array(checked)))
        # "total", and any kind of query of an attribute of one value, says what leaving out the attribute says.
        kept = tuple(
            {axis: q for axis, q in term.items() if q.kind == "matrix" or (q.kind != "total" and q.size > 1)}
            for term in self.terms
        )
        assign(self, terms=kept)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many queries each term has."""
        return tuple(math.prod(queries.count for queries in term.values()) for term in self.terms)

    @property
    def count(self) -> int:
        """How many queries there are."""
        return sum(self.counts)

    @property
    def shape(self) -> tuple[int, int]:
        """(K queries, N combinations of values), of what nobody writes out."""
        return self.count, self.domain.size

    @property
    def used(self) -> tuple[int, ...]:
        """Positions of the attributes that some term asks about."""
        return tuple(sorted({axis for term in self.terms for axis in term}))

    @property
    def titles(self) -> tuple[str, ...]:
        """What each term is called: its attributes joined by " x ", "total" for the empty one."""
        return tuple(" x ".join(self.names_of(place)) or "total" for place in range(len(self.terms)))

    def names_of(self, place: int) -> tuple[str, ...]:
        """The attributes that one term asks about."""
        return tuple(self.domain.attributes[axis] for axis in self.terms[place])

    def keys_of(self, place: int) -> tuple[tuple[str, ...], ...]:
        """What its queries of each attribute are called, answer by answer."""
        return tuple(product(*(queries.labels(self.domain.values[axis]) for axis, queries in self.terms[place].items())))

    def places_of(self, term: int) -> NDArray[np.intp]:
        """The numbers of the queries of each attribute of a term, for all its answers, (K, axes)."""
        return np.argwhere(np.ones([queries.count for queries in self.terms[term].values()], dtype=bool))

    @cached_property
    def product(self) -> dict[int, AttributeQueries] | None:
        """The only term, where there is one only."""
        return dict(self.terms[0]) if len(self.terms) == 1 else None

    def term(self, given: int | Sequence[str]) -> int:
        """The position of a term, given so, or by the names of the attributes that it asks about, in any order."""
        if isinstance(given, int) and not isinstance(given, bool):
            if 0 <= given < len(self.terms):
                return given
            raise InvalidProblem(f"term: {shown(given)} is not from 0 to {len(self.terms) - 1}.", value=given)
        if not isinstance(given, (list, tuple)):
            raise InvalidProblem(f"term: {shown(given)} is neither a position nor a list of attributes.", value=given)
        found = self._named.get(frozenset(self.domain.axis(name) for name in given), [])
        if len(found) != 1:
            raise InvalidProblem(
                f"term: {len(found)} terms ask about {shown(list(given))} and nothing else; "
                + ("give its position." if found else "name all attributes of one term.")
            )
        return found[0]

    @cached_property
    def _named(self) -> dict[frozenset[int], list[int]]:
        """Positions of the terms about the same attributes."""
        found: dict[frozenset[int], list[int]] = {}
        for place, term in enumerate(self.terms):
            found.setdefault(frozenset(term), []).append(place)
        return found

    def written_out(self) -> Workload:
        """The matrix over the whole domain, (count, domain.size), for `design` and every family: small domains only.

        >>> asked = StructuredWorkload.of(Domain.of({"age": 2, "sex": ["F", "M"]}), [{"age": "prefix"}, {"sex": "identity"}])
        >>> asked.written_out().queries, asked.written_out().matrix[0].tolist()
        (('age 0..0', 'age 0..1', 'sex F', 'sex M'), [1.0, 1.0, 0.0, 0.0])
        """
        if self.count * self.domain.size > MOST_WRITTEN_ENTRIES:
            raise InvalidProblem(
                f"workload: {shown(self.count)} queries over {shown(self.domain.size)} elements are more than "
                f"{MOST_WRITTEN_ENTRIES} entries; a StructuredProblem is designed without writing them out.",
                value=self.count,
            )
        labels = [label for listed in self.term_labels() for label in listed]
        matrix = np.concatenate([self._rows(term) for term in self.terms])
        return Workload(matrix, labels if len(set(labels)) == len(labels) else None, self.domain.elements, self.domain.keys)

    def term_labels(self) -> Iterator[list[str]]:
        """The names of the answers of each term, in their order."""
        for term in self.terms:
            yield [" ".join(names) or "total" for names in product(*map(self._labels, term, term.values()))]

    def _rows(self, term: Mapping[int, AttributeQueries]) -> Floats:
        """The queries of a term over the whole domain."""
        rows: Floats = np.ones((1, 1))
        for axis, size in enumerate(self.domain.shape):
            rows = np.asarray(np.kron(rows, term[axis].rows() if axis in term else np.ones((1, size))), dtype=np.float64)
        return rows

    def _labels(self, axis: int, queries: AttributeQueries) -> list[str]:
        """Names of the queries of an attribute."""
        return [f"{self.domain.attributes[axis]} {label}" for label in queries.labels(self.domain.values[axis])]
