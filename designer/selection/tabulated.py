"""Any utility function over a small universe: written out for every database, so that its certificate is an enumeration.

What a score may move: docs/theory/selection.md, sections 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import assign, count, names, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import COUNT, NAMES, of_kind
from designer.certificate.norms import Norm
from designer.limits import MOST_TABULATED_ENTRIES
from designer.problem.histogram import Universe
from designer.problem.relation import Block, Read, Relation
from designer.problem.workload import Workload
from designer.relations.metrics.metric import Metric
from designer.selection.scores import OF_FORMS, Integers, Range, Score

Histogram = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tabulated(Score):
    """`s_r(x)` for every histogram x of `records` records over N named elements: the workload is the table, (R, H),
    H = C(records + N - 1, N - 1).

    A Python function cannot be certified, its table can: `Tabulated.of` asks the function once for every histogram, and the
    certificate visits every protected pair of them. The number of records must be public, so relations that add or remove
    records are refused, and so are universes too large to enumerate (at most 2,000,000 entries and pairs). There is no way to
    hand in a sensitivity without its proof.

    >>> distinct = Tabulated.of(lambda x: [sum(c > 0 for c in x), 1], ["a", "b"], records=2, candidates=["many", "one"])
    >>> distinct.exact(np.array([1, 1]))
    ([2, 1], Fraction(1, 1))
    """

    records: int = 0
    elements: Sequence[object] = ()
    kind = "tabulated"
    schema = of_kind(
        "score",
        kind,
        {**OF_FORMS, "records": COUNT, "elements": NAMES},
        "A score for every histogram of `records` records over `elements`, a column of the workload each.",
    )

    @classmethod
    def of(
        cls,
        utility: Callable[[Histogram], Sequence[float]],
        elements: Sequence[object],
        records: int,
        candidates: Sequence[object],
    ) -> Tabulated:
        """The table of a function from histograms to one score for each candidate."""
        if not callable(utility):
            raise InvalidProblem(f"utility: {shown(utility)} is no function from histograms to scores.", value=utility)
        for name, given in (("elements", elements), ("candidates", candidates)):
            if not isinstance(given, (list, tuple, range)):
                raise InvalidProblem(f"{name}: {shown(given)} is not a list of names.", value=given)
        databases = _databases(len(elements), count(records, "records"), len(candidates))
        table = [utility(x) for x in databases]
        if not all(_is_row(row, len(candidates)) for row in table):
            raise InvalidProblem(f"utility: must return {len(candidates)} scores, one for each candidate.")
        return cls(Workload(np.array(table).T, candidates, list(map(str, databases))), None, records, elements)

    def __post_init__(self) -> None:
        super().__post_init__()
        assign(self, elements=names(self.elements, len(self.elements), "elements", "e"))
        expected = _databases(len(self.elements), count(self.records, "records"), len(self.candidates))
        if self.workload.elements != tuple(map(str, expected)):
            raise InvalidProblem(
                f"table: its columns are not the {len(expected)} histograms of {self.records} records; make it with "
                "`Tabulated.of`."
            )

    @property
    def size(self) -> int:
        """N, the number of universe elements (not of databases)."""
        return len(self.elements)

    @property
    def universe(self) -> Universe:
        """What counts are joined by: the elements, not the databases."""
        return Universe(tuple(map(str, self.elements)))

    @cached_property
    def places(self) -> dict[Histogram, int]:
        """The column of each histogram."""
        return {x: k for k, x in enumerate(histograms(self.size, self.records))}

    def changes(self, relation: Relation) -> Relation:
        """The relation between databases, the columns of the table."""
        if not isinstance(relation, Metric):
            raise InvalidProblem(
                f"relation: {relation.kind!r} is no metric, but a tabulated score needs changes of one record at a time and "
                "their number public; use one.",
                value=relation.kind,
            )
        return Neighbours(relation, self.records)

    def spread(self, rate: float) -> Norm:
        """The range of the changes of the scores."""
        return Range(np.full(len(self.candidates), rate))

    def exact(self, counts: NDArray[np.int64]) -> tuple[list[int], Fraction]:
        """The scores as integers, and the step that they count. InvalidProblem for another number of records, which is public.

        counts: (N,). R scores.
        """
        if sum(counts.tolist()) != self.records:
            raise InvalidProblem(f"histogram: must hold {self.records} records in all, as the score was tabulated for.")
        column = np.zeros(len(self.places), dtype=np.int64)
        column[self.places[tuple(counts.tolist())]] = 1
        return super().exact(column)

    def combine(self, answers: Integers, targets: Integers) -> Integers:
        """The scores themselves.

        answers, targets: (R,). Returns (R,).
        """
        return np.asarray(answers - targets)

    def sentence(self) -> str:
        return f"a table over all histograms of {self.records} records"

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "records": self.records, "elements": list(self.elements)}


@dataclass(frozen=True, eq=False)
class Neighbours(Relation):
    """Databases of `records` records as points; two that differ in one record have the budget of that change."""

    base: Relation
    records: int
    kind = "neighbours"
    budget_error = 2.0**-50

    @property
    def size(self) -> int:
        """H, the number of databases."""
        return math.comb(self.records + self.base.size - 1, self.records)

    @cached_property
    def _databases(self) -> list[Histogram]:
        return list(histograms(self.base.size, self.records))

    def blocks(self) -> Iterator[Block]:
        """The pairs z + e_i, z + e_j over all z of one record less, for each protected pair of elements."""
        size = self.base.size
        place = {x: k for k, x in enumerate(self._databases)}
        raised = np.array([[place[_raised(z, i)] for i in range(size)] for z in histograms(size, self.records - 1)])
        for i in range(size):
            for j in range(i):
                budget = self.base.exact_budget(i, j)
                if budget is not None:
                    yield Block(raised[:, i], raised[:, j], np.full(len(raised), float(budget)))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        """The budget of the record that changed."""
        moved = np.subtract(self._databases[right], self._databases[left])
        return self.base.exact_budget(int(moved.argmin()), int(moved.argmax()))

    def sentence(self) -> str:
        """That of the elements."""
        return self.base.sentence()

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "base": self.base.to_spec(), "records": self.records}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Neighbours:
        return cls(read(spec["base"]), count(spec["records"], "records"))


def histograms(elements: int, records: int) -> Iterator[Histogram]:
    """All ways to spread the records over the elements, in lexicographic order.

    >>> list(histograms(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if elements == 1:
        yield (records,)
        return
    for first in range(records + 1):
        for rest in histograms(elements - 1, records - first):
            yield (first, *rest)


def _databases(elements: int, records: int, candidates: int) -> list[Histogram]:
    if not elements:
        raise InvalidProblem("elements: none; name the elements of the universe.")
    few = min(records, elements - 1) < 64  # beyond, there are more than 2^64 databases
    total = math.comb(records + elements - 1, records) if few else MOST_TABULATED_ENTRIES + 1
    if total * max(candidates, elements**2) > MOST_TABULATED_ENTRIES:
        raise InvalidProblem(
            f"records: {shown(records)} over {elements} elements make {shown(total)} databases{'' if few else ' or more'}, "
            f"too many to enumerate for {candidates} candidates; write the score with linear forms "
            "(designer.selection.scores) or coarsen the universe.",
            value=records,
        )
    return list(histograms(elements, records))


def _is_row(row: object, length: int) -> bool:
    return isinstance(row, (list, tuple, np.ndarray)) and len(row) == length and all(np.ndim(score) == 0 for score in row)


def _raised(z: Histogram, i: int) -> Histogram:
    return (*z[:i], z[i] + 1, *z[i + 1 :])
