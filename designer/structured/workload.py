"""Workloads over product domains: unions of Kronecker products of queries of single attributes, of any number of queries.

docs/theory/structured.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.errors import InvalidProblem
from designer.question.domain import Domain
from designer.structured.attribute_queries import AttributeQueries
from designer.values.arrays import Floats, Immutable, frozen
from designer.values.checks import positive, shown

TERMS_LIMIT = 200_000


@dataclass(frozen=True, eq=False)
class StructuredWorkload(Immutable):
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
        shape, made = domain.shape, []
        for term in terms:
            placed = {domain.axis(name): given for name, given in term.items()}
            made.append({axis: AttributeQueries.of(placed[axis], shape[axis]) for axis in sorted(placed)})
        return cls(
            domain, tuple(made), frozen(np.ones(len(made)) if weights is None else np.asarray(weights, dtype=np.float64))
        )

    @classmethod
    def tables(
        cls, domain: Domain, subsets: Sequence[Sequence[str]], asked: Mapping[str, object] | None = None
    ) -> StructuredWorkload:
        """Tables over subsets of attributes in which some attributes are asked otherwise than by value: `asked={"age":
        "prefix"}` makes every table with an age one of running totals over it."""
        others = dict(asked or {})
        if unknown := [name for name in others if name not in domain.attributes]:
            raise InvalidProblem(f"asked: {shown(unknown)} are no attributes; the domain has {list(domain.attributes)[:8]}.")
        return cls.of(domain, [{name: others.get(name, "identity") for name in subset} for subset in subsets])

    def __post_init__(self) -> None:
        if not 0 < len(self.terms) <= TERMS_LIMIT:
            raise InvalidProblem(f"terms: there are {len(self.terms)}; give from one to {TERMS_LIMIT}.")
        if self.weights.shape != (len(self.terms),):
            raise InvalidProblem(f"weights: {self.weights.shape} for {len(self.terms)} terms; give one for each.")
        checked = [positive(float(w), f"weights[{k}]") for k, w in enumerate(self.weights)]
        object.__setattr__(self, "weights", frozen(np.array(checked)))
        # "total" says what leaving out an attribute says.
        kept = tuple({axis: q for axis, q in term.items() if q.kind != "total"} for term in self.terms)
        object.__setattr__(self, "terms", kept)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many queries each term has."""
        return tuple(math.prod(queries.count for queries in term.values()) for term in self.terms)

    @property
    def count(self) -> int:
        """How many queries there are."""
        return sum(self.counts)

    @property
    def used(self) -> tuple[int, ...]:
        """Positions of the attributes that some term asks about."""
        return tuple(sorted({axis for term in self.terms for axis in term}))

    @cached_property
    def product(self) -> dict[int, AttributeQueries] | None:
        """The only term, where there is one only."""
        return dict(self.terms[0]) if len(self.terms) == 1 else None
