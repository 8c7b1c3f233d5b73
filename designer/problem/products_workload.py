"""Workloads over product domains: unions of Kronecker products of queries of single attributes, of any number of queries.

docs/theory/structured.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import positive, shown
from designer.base.declared import assign
from designer.base.display import Displayed
from designer.base.errors import InvalidProblem
from designer.problem.attribute_queries import AttributeQueries
from designer.problem.domain import Domain
from designer.problem.marginals_workload import MarginalWorkload
from designer.problem.workload import Workload

TERMS_LIMIT = 200_000
WRITTEN_LIMIT = 2**26  # entries of a workload that is written out: 512 MB


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

    def display_facts(self) -> Mapping[str, object]:
        """How many answers of how many terms, over how many combinations of values."""
        return {"answers": self.count, "terms": len(self.terms), "elements": self.domain.size}

    def __post_init__(self) -> None:
        if not 0 < len(self.terms) <= TERMS_LIMIT:
            raise InvalidProblem(f"terms: there are {len(self.terms)}; give from one to {TERMS_LIMIT}.")
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
        if self.count * self.domain.size > WRITTEN_LIMIT:
            raise InvalidProblem(
                f"workload: {shown(self.count)} queries over {shown(self.domain.size)} elements are more than {WRITTEN_LIMIT} "
                "entries; a StructuredProblem is designed without writing them out.",
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
