"""The linear queries that are to be answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen, real_array, refuse_lossy_integers
from designer.base.checks import assign, count, names, shown
from designer.base.display import SHOWN_ROWS, Displayed, Preview
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import array, require_keys
from designer.base.labels import is_missing, listed_label
from designer.base.run_length import NAME_RUNS, in_runs, names_from, names_in_runs, numbers_from, or_runs
from designer.base.schema import MATRIX, NAMES, PLACE, Fragment, Named, either, keys, list_of, noted, number, record
from designer.limits import MOST_DENSE_ENTRIES, MOST_NAMED_ELEMENTS
from designer.problem.compressed_rows import IntervalRows, compressed, entries_of, row_places, same, settled, written_out
from designer.problem.domain import Domain, require_domain
from designer.problem.histogram import REFUSE, Keys, Universe, Unlisted, in_order, rule_from
from designer.problem.relation import Indices, Relation

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Predicate = Mapping[str, object] | Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, eq=False, init=False)
class Workload(Immutable, Displayed):
    """Answers `Q x` of a histogram x: `matrix` Q of shape (K queries, N universe elements), dense, scipy-sparse, or ranges.

    A large matrix is kept as it is described, see `designer.problem.compressed_rows`. Entries are taken as the exact rational
    numbers that their float64 values are. `keys` says which columns of a table name the elements, and what they hold for each.
    Counts are joined by them, or by the names of the elements alone.

    matrix: (K, N), or rows as described. queries: K names. elements: N names. keys: which columns of a table name the elements.
    levels: of counts of nested units, see `nested`, the columns of the levels and what they hold for each query.

    >>> Workload([[1, 1, 0], [0, 0, 2]], queries=["small", "large"]).shape
    (2, 3)
    """

    matrix: Floats | csr_array | IntervalRows
    queries: tuple[str, ...]
    elements: tuple[str, ...]
    keys: Keys | None
    levels: Keys | None

    def __init__(
        self,
        matrix: object,
        queries: Sequence[object] | None = None,
        elements: Sequence[object] | None = None,
        keys: Keys | None = None,
        levels: Keys | None = None,
    ) -> None:
        if keys is not None and elements is None:
            elements = keys.names
        given = matrix
        if not isinstance(matrix, IntervalRows):
            given = sparse_rows(matrix) if hasattr(matrix, "tocsr") else real_array(matrix, "workload.matrix", 2)
        checked = settled(given)
        assign(
            self,
            matrix=checked,
            queries=names(queries, checked.shape[0], "workload.queries", "q"),
            elements=names(elements, checked.shape[1], "workload.elements", "e"),
        )
        if keys is not None:
            keys.require_spelled(self.elements)
        if levels is not None:
            _require_levels(levels, len(self.queries))
        assign(self, keys=keys, levels=levels)

    @property
    def shape(self) -> tuple[int, int]:
        """(K queries, N universe elements)."""
        return len(self.queries), len(self.elements)

    def _display_facts(self) -> Mapping[str, object]:
        """Its sizes, and whether it is kept sparse."""
        queries, elements = self.shape
        kept = "ranges" if isinstance(self.matrix, IntervalRows) else "sparse" if self.is_sparse else None
        return {"queries": queries, "elements": elements, "kept": kept}

    def _display_rows(self) -> Preview | None:
        """The first queries, each with how many elements it reads."""
        read = (np.count_nonzero(row) for row in self.dense_rows(SHOWN_ROWS))
        rows = list(zip(self.queries, read, strict=False))
        return Preview(("query", "elements read"), rows, len(self.queries))

    @cached_property
    def universe(self) -> Universe:
        """What counts are joined by."""
        return Universe(self.elements, self.keys)

    @cached_property
    def names_in_spec(self) -> Mapping[str, Any]:
        """The names of the queries and of the elements, and the columns that hold these, as a spec has them."""
        named = {"queries": names_in_runs(self.queries), "elements": names_in_runs(self.elements)}
        columns = {"keys": self.keys, "levels": self.levels}
        return {**named, **{name: own.to_spec() for name, own in columns.items() if own is not None}}

    @property
    def unlisted(self) -> Unlisted:
        """What happens to a record that names no element; see `designer.problem.histogram`."""
        return REFUSE if self.keys is None else self.keys.unlisted

    @property
    def is_sparse(self) -> bool:
        """True when the matrix is not written out."""
        return not isinstance(self.matrix, np.ndarray)

    def dense(self) -> Floats:
        """The matrix as a dense read-only array; `InvalidProblem` above `rows.MOST_DENSE` entries, with what serves instead."""
        return self.matrix if isinstance(self.matrix, np.ndarray) else frozen(written_out(self.matrix))

    def dense_rows(self, first: int) -> Floats:
        """The first rows of the matrix as a dense array."""
        return written_out(self.matrix[:first])

    @property
    def is_identity(self) -> bool:
        """Whether the queries are the counts of the elements, in order."""
        queries, elements = self.shape
        if queries != elements:
            return False
        if isinstance(self.matrix, np.ndarray):
            return np.array_equal(self.matrix, np.eye(elements))
        here = np.arange(elements)
        if isinstance(self.matrix, IntervalRows):
            return np.array_equal(self.matrix.starts, here) and np.array_equal(self.matrix.ends, here + 1)
        rows, columns = self.matrix.nonzero()
        return np.array_equal(rows, here) and np.array_equal(columns, here) and bool((self.matrix.diagonal() == 1).all())

    @cached_property
    def whole_rows(self) -> NDArray[np.bool_]:
        """(K,) booleans: the queries whose answers are whole numbers, because all their entries are."""
        if isinstance(self.matrix, np.ndarray):
            return np.asarray((self.matrix == np.rint(self.matrix)).all(axis=1))
        if isinstance(self.matrix, IntervalRows):
            return np.ones(self.shape[0], dtype=bool)
        broken = self.matrix.data != np.rint(self.matrix.data)
        return np.asarray(np.bincount(row_places(self.matrix)[broken], minlength=self.shape[0]) == 0)

    @cached_property
    def nonnegative_rows(self) -> NDArray[np.bool_]:
        """(K,) booleans: the queries whose answers no counts bring below 0, because none of their entries is."""
        if isinstance(self.matrix, np.ndarray):
            return np.asarray((self.matrix >= 0).all(axis=1))
        if isinstance(self.matrix, IntervalRows):
            return np.ones(self.shape[0], dtype=bool)
        return np.asarray(np.bincount(row_places(self.matrix)[self.matrix.data < 0], minlength=self.shape[0]) == 0)

    @cached_property
    def counts_records(self) -> bool:
        """Whether every answer is a number of records, because all entries are 0 or 1: then all are in one unit."""
        entries = entries_of(self.matrix)
        return bool(((entries == 0) | (entries == 1)).all())

    def answer(self, histogram: object) -> Floats:
        """`Q x` in floating point, for public or synthetic data, joined by name like counts.
        A private answer comes from `Mechanism.release`.

        histogram: (N,), counts.
        """
        return np.asarray(self.matrix @ real_array(in_order(histogram, self.universe), "histogram", 1), dtype=np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        own, others = ((one.queries, one.universe, one.levels) for one in (self, other))
        return own == others and same(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.queries, self.elements))

    @classmethod
    def identity(cls, universe: int | Domain | Sequence[object]) -> Workload:
        """Every element's own count, called as the element is: K = N.

        universe: the number of elements, their names, or a domain whose combinations they are.

        >>> Workload.identity(["Ohio", "Utah"]).queries
        ('Ohio', 'Utah')
        """
        n, elements, keys = _universe(universe)
        here = np.arange(n)
        return cls(IntervalRows(here, here + 1, n), elements, elements, keys)

    @classmethod
    def prefix(cls, universe: int | Domain | Sequence[object]) -> Workload:
        """Cumulative counts: query k sums elements 0..k of a universe as `identity` takes it.

        universe: N, a domain, or the names of the elements.
        """
        n, elements, keys = _universe(universe)
        named = [f"<={name}" for name in elements or _numbered(n)]
        return cls(IntervalRows(np.zeros(n, dtype=np.int64), np.arange(1, n + 1), n), named, elements, keys)

    @classmethod
    def total(cls, universe: int | Domain | Sequence[object]) -> Workload:
        """The number of all records, "total", over a universe as `identity` takes it.

        universe: N, a domain, or the names of the elements.
        """
        n, elements, keys = _universe(universe)
        return cls(IntervalRows(np.zeros(1, dtype=np.int64), np.array([n]), n), ["total"], elements, keys)

    @classmethod
    def ranges(
        cls,
        universe: int | Domain | Sequence[object],
        starts: object,
        ends: object,
        queries: Sequence[object] | None = None,
    ) -> Workload:
        """Sums over ranges of a universe as `identity` takes it: query k sums the elements `starts[k]` to `ends[k] - 1`.

        starts, ends: (K,), whole numbers, the first element counted as 0. queries: the names, `q0, q1, ...` where none are
        given.

        >>> Workload.ranges(5, [0, 2], [2, 5]).matrix.tolist()
        [[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]]
        """
        n, elements, keys = _universe(universe)
        return cls(IntervalRows(starts, ends, n), queries, elements, keys)  # type: ignore[arg-type]  # checked there

    @classmethod
    def partition(
        cls, universe: int | Domain | Sequence[object], labels: Sequence[object], queries: Sequence[object] | None = None
    ) -> Workload:
        """The count of each group of elements: `labels`, (N,), say which group each element of the universe is in.

        The groups are in the order in which they first occur, and called as their labels are unless `queries` name them.

        universe: N, a domain, or the names of the elements. labels: (N,), the class of each element. queries: names of the
        classes.

        >>> Workload.partition(["Ohio", "Utah", "Iowa"], ["Midwest", "West", "Midwest"]).queries
        ('Midwest', 'West')
        """
        from scipy.sparse import csr_array

        n, elements, keys = _universe(universe)
        if len(labels) != n:
            raise InvalidProblem(f"labels: {len(labels)} labels for {n} elements; give one for each.")
        place: dict[str, int] = {}
        rows = np.array([place.setdefault(listed_label(label), len(place)) for label in labels])
        named = list(place) if queries is None else queries
        return cls(csr_array((np.ones(n), (rows, np.arange(n))), shape=(len(place), n)), named, elements, keys)

    @classmethod
    def nested(cls, universe: int | Domain | Sequence[object], levels: Mapping[str, Sequence[object]]) -> Workload:
        """Count all records, "total", and the records of each unit of every level, from coarse to fine.

        Units are in the order in which they first occur, and called by their level: "county=Ayre". Releases have a table for
        each level. Raises `InvalidProblem`, with level and unit, for a unit that lies in two of the level above, and for an
        element without a unit.

        universe: N, a domain, or the names of the elements. levels: for each level, by its name, the unit of each element.

        >>> Workload.nested(3, {"region": ["N", "N", "S"], "county": ["a", "b", "c"]}).queries
        ('total', 'region=N', 'region=S', 'county=a', 'county=b', 'county=c')
        """
        from scipy.sparse import csr_array

        n, elements, keys = _universe(universe)
        if not levels:
            raise InvalidProblem("levels: there are none; name at least one, from coarse to fine.")
        unit, above = np.zeros(n, dtype=np.intp), ""
        paths: list[tuple[str, ...]] = [()]
        queries, rows, places = ["total"], [("",) * len(levels)], [unit]
        for depth, (level, given) in enumerate(levels.items(), start=1):
            finer, called, first = _units_of(level, given, n)
            if (wrong := np.flatnonzero(unit[first][finer] != unit)).size:
                one = int(wrong[0])
                in_two = [shown(paths[int(unit[k])][-1]) for k in (int(first[finer[one]]), one)]
                raise InvalidProblem(
                    f"levels: {level} {shown(called[int(finer[one])])} lies in {above} {in_two[0]} and in {above} {in_two[1]}; "
                    "write levels from coarse to fine, and give each unit a name of its own, such as its code.",
                    value=called[int(finer[one])],
                )
            paths = [(*paths[int(unit[k])], name) for k, name in zip(first.tolist(), called, strict=True)]
            places.append(len(queries) + finer)
            queries += [f"{level}={name}" for name in called]
            rows += [(*path, *("",) * (len(levels) - depth)) for path in paths]
            unit, above = finer, level
        entries = np.ones(n * len(places)), (np.concatenate(places), np.tile(np.arange(n), len(places)))
        return cls(csr_array(entries, shape=(len(queries), n)), queries, elements, keys, Keys(tuple(levels), tuple(rows)))

    @classmethod
    def stack(cls, *parts: Workload) -> Workload:
        """The queries of several workloads over the same elements, one workload after the other; names are those of the parts,
        which must differ.

        parts: workloads over the same elements.

        >>> Workload.stack(Workload.identity(2), Workload.total(2)).queries
        ('q0', 'q1', 'total')
        """
        if not parts or not all(isinstance(part, Workload) and part.universe == parts[0].universe for part in parts):
            raise InvalidProblem(
                "stack: needs at least one workload, all over the same elements; give workloads of one universe."
            )
        queries = [name for part in parts for name in part.queries]
        return cls(_stacked([part.matrix for part in parts]), queries, parts[0].elements, parts[0].keys)

    @classmethod
    def all_ranges(cls, universe: int | Domain | Sequence[object]) -> Workload:
        """All n(n+1)/2 interval counts, ordered by left end and then right end; a universe as `identity` takes it.

        universe: N, a domain, or the names of the elements.
        """
        n, elements, keys = _universe(universe)
        _refuse_huge(n * (n + 1) // 2, n)
        left, right = np.triu_indices(n)
        position = np.arange(n)
        rows = (position >= left[:, None]) & (position <= right[:, None])
        called = list(elements or (f"e{k}" for k in range(n)))
        queries = [f"{called[a]}..{called[b]}" for a, b in zip(left, right, strict=True)]
        return cls(rows.astype(float), queries, elements, keys)

    @classmethod
    def random(cls, queries: int, elements: int, kind: str = "real", seed: int | None = None) -> Workload:
        """Independent entries, uniform on [0, 1] (`kind="real"`) or on {0, 1} (`kind="binary"`): DX sections 4.1 and 4.2.

        queries: K. elements: N. kind: "real" for entries between 0 and 1, "binary" for 0 and 1. seed: of the draws.
        """
        generator = np.random.default_rng(None if seed is None else count(seed, "seed", least=0))
        shape = (count(queries, "queries"), count(elements, "elements"))
        _refuse_huge(*shape)
        if kind == "real":
            return cls(generator.random(shape))
        if kind == "binary":
            return cls(generator.integers(0, 2, shape).astype(float))
        raise InvalidProblem(f'kind: {shown(kind)} is unknown; use "real" or "binary".', value=kind)

    @classmethod
    def marginals(cls, domain: Domain, subsets: Sequence[Sequence[str]]) -> Workload:
        """Ask for the marginal tables over each subset of attributes; the empty subset is the total.

        domain: the attributes. subsets: the attributes of each table.
        """
        require_domain(domain)
        if not isinstance(subsets, Collection):
            raise InvalidProblem(f"subsets: {shown(subsets)} is no list of lists of attributes; give one.", value=subsets)
        _refuse_huge(max(1, len(subsets)), domain.size)
        codes = np.unravel_index(np.arange(domain.size), domain.shape)
        rows: list[Any] = []
        labels: list[str] = []
        for subset in subsets:
            listed = isinstance(subset, Collection) and not isinstance(subset, str)
            if not listed or not all(isinstance(name, str) for name in subset) or len(set(subset)) != len(subset):
                raise InvalidProblem(f"subsets: {shown(subset)} is not a list of attributes, each named once.", value=subset)
            axes = [domain.axis(name) for name in subset]
            _refuse_huge(len(rows) + math.prod(domain.shape[a] for a in axes), domain.size)
            for cell in product(*(range(domain.shape[a]) for a in axes)):
                rows.append(
                    np.all([codes[a] == v for a, v in zip(axes, cell, strict=True)], axis=0) if axes else np.ones(domain.size)
                )
                labels.append(
                    ", ".join(f"{domain.attributes[a]}={domain.values[a][v]}" for a, v in zip(axes, cell, strict=True))
                    or "total"
                )
        return cls(np.array(rows, dtype=float), labels, domain.elements, domain.keys)

    @classmethod
    def predicates(cls, domain: Domain, predicates: Mapping[str, Predicate]) -> Workload:
        """Counts of the records that satisfy each predicate,
        a mapping `{attribute: value or list of values}` or a function of the element.

        domain: the attributes. predicates: for each query, by its name, the values that count in it.

        >>> d = Domain.of({"sex": ["F", "M"], "age": 3})
        >>> Workload.predicates(d, {"young men": {"sex": "M", "age": [0, 1]}}).matrix.tolist()
        [[0.0, 0.0, 0.0, 1.0, 1.0, 0.0]]
        """
        _refuse_huge(len(predicates), domain.size)
        rows = [_mask(domain, predicate) for predicate in predicates.values()]
        return cls(np.array(rows, dtype=float), list(predicates), domain.elements, domain.keys)


def _universe(given: int | Domain | Sequence[object]) -> tuple[int, Sequence[object] | None, Keys | None]:
    """How many elements there are, their names where they have some, and the columns that hold them."""
    if isinstance(given, Domain):
        return given.size, given.elements, given.keys
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)) and given:
        return len(given), names(given, len(given), "universe", "e"), None
    if isinstance(given, (Sequence, float)):
        raise InvalidProblem(
            f"universe: {shown(given)} is no universe; give the number of elements, their names, or a domain.", value=given
        )
    size = count(given, "universe")
    if size > MOST_NAMED_ELEMENTS:
        raise InvalidProblem(
            f"universe: {shown(size)} elements are more than {MOST_NAMED_ELEMENTS:,}, each of which has a name; merge "
            "elements, or state queries of attributes, which are never written out (StructuredWorkload, MarginalWorkload).",
            value=size,
        )
    return size, None, None


def _units_of(level: str, given: Sequence[object], n: int) -> tuple[Indices, list[str], Indices]:
    """The unit of each of n elements, (n,), and of each unit its name and its first element."""
    if len(given) != n:
        raise InvalidProblem(f"levels: {level} has {len(given)} units for {n} elements; give one for each.")
    place: dict[str, int] = {}
    labels = ["" if is_missing(name) else listed_label(name) for name in given]
    if "" in labels:
        raise InvalidProblem(f"levels: {level} is empty in row {labels.index('') + 1}; name the unit of each element.")
    unit = np.array([place.setdefault(label, len(place)) for label in labels], dtype=np.intp)
    return unit, [*place], np.unique(unit, return_index=True)[1]


def _require_levels(levels: Keys, queries: int) -> None:
    """Refuse columns of levels that do not say of each query which unit of which level it counts, the coarse ones first."""
    depths = [sum(map(bool, row)) for row in levels.rows]
    filled = all(all(row[:depth]) for row, depth in zip(levels.rows, depths, strict=True))
    if len(depths) != queries or not filled or depths != sorted(depths) or levels.unlisted != REFUSE:
        raise InvalidProblem(
            f"workload.levels: {len(depths)} rows over {list(levels.columns)} for {queries} queries; give one for each query, "
            "coarse levels first, with the unit and those above it, and no text in the columns of finer levels."
        )


def _numbered(n: int) -> list[str]:
    """The names of elements that have none of their own."""
    return [f"e{k}" for k in range(n)]


def _stacked(parts: list[Any]) -> Any:
    """Matrices of as many columns, one above the other."""
    if all(isinstance(part, IntervalRows) for part in parts):
        starts, ends = (np.concatenate([getattr(part, name) for part in parts]) for name in ("starts", "ends"))
        return IntervalRows(starts, ends, parts[0].size)
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.vstack(parts)
    from scipy.sparse import vstack

    return vstack([compressed(part) for part in parts], format="csr")


def _refuse_huge(queries: int, elements: int) -> None:
    """Dense matrices that no memory holds are refused before they are begun."""
    if queries * elements > MOST_DENSE_ENTRIES:
        raise InvalidProblem(
            f"workload.matrix: {shown(queries)} queries over {shown(elements)} elements are more than {MOST_DENSE_ENTRIES} "
            "entries; merge elements, or ask fewer queries. Tables and products of queries of attributes are never written "
            "out in `designer.domains` and `designer.domains`.",
            value=queries,
        )


def _mask(domain: Domain, predicate: Predicate) -> Any:
    """0/1 row of the elements that satisfy a predicate."""
    if callable(predicate):
        return [bool(predicate(dict(zip(domain.attributes, row, strict=True)))) for row in product(*domain.values)]
    mask = np.ones(domain.shape, dtype=bool)
    for name, wanted in predicate.items():
        axis = domain.axis(name)
        listed = wanted if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
        keep = np.zeros(domain.shape[axis], dtype=bool)
        keep[[domain.code(name, value) for value in listed]] = True
        mask &= keep.reshape([-1 if a == axis else 1 for a in range(len(domain.shape))])
    return mask.ravel()


def sparse_rows(matrix: Any) -> csr_array:
    """A checked, frozen copy in compressed rows; duplicate entries are summed."""
    from scipy.sparse import csr_array

    if matrix.ndim != 2:
        raise InvalidProblem(f"workload.matrix: has {matrix.ndim} dimensions, shape {matrix.shape}; give an array with 2.")
    if matrix.dtype.kind not in "biuf":
        raise InvalidProblem(
            f"workload.matrix: entries of type {matrix.dtype} are not real numbers; convert them to floats first."
        )
    entries = csr_array(matrix)
    rows = entries.astype(np.float64, copy=True)
    if rows.data.size:
        refuse_lossy_integers(entries.data, rows.data, "workload.matrix")
    rows.sum_duplicates()
    if 0 in rows.shape:
        raise InvalidProblem(f"workload.matrix: is empty, shape {rows.shape}; give at least one query and one element.")
    if not np.isfinite(rows.data).all():
        raise InvalidProblem("workload.matrix: holds NaN or infinity; replace the entry by a finite number.")
    for part in (rows.data, rows.indices, rows.indptr):
        part.setflags(write=False)
    return rows


ROWS = record(
    {
        "values": or_runs(list_of(number(), least=0)),
        "columns": or_runs(list_of(PLACE, least=0)),
        "starts": or_runs(list_of(PLACE, least=2)),
    },
    note="Compressed rows: entries of row k are at starts[k] .. starts[k + 1].",
)
RANGES = record(
    {"starts": or_runs(list_of(PLACE)), "ends": or_runs(list_of(PLACE))},
    note="Rows of ones: row k is 1 from element starts[k] on and before ends[k].",
)
NAMED = {"queries": either(NAMES, NAME_RUNS), "elements": either(NAMES, NAME_RUNS)}
LEVELS = "The levels of nested units, coarse first, and for each query its unit and those above it; empty in finer levels."
COLUMNS: dict[str, Fragment] = {"keys": Keys.schema, "levels": noted(LEVELS, Keys.schema.body)}
DENSE = Named("dense_workload", record({**NAMED, "matrix": MATRIX}, COLUMNS))
SPARSE = Named("sparse_workload", record({**NAMED, "rows": ROWS}, COLUMNS))
OF_RANGES = Named("workload_of_ranges", record({**NAMED, "ranges": RANGES}, COLUMNS))
WORKLOAD = Named("workload", either(DENSE, SPARSE, OF_RANGES))


def workload_to_spec(workload: Workload) -> dict[str, Any]:
    """A workload by its names and its matrix, or by compressed rows or ranges where it is not written out."""
    return {**workload.names_in_spec, **matrix_to_spec(workload.matrix)}


def matrix_to_spec(matrix: Any) -> dict[str, Any]:
    """Rows in the form in which they are kept."""
    if isinstance(matrix, np.ndarray):
        return {"matrix": matrix}
    if isinstance(matrix, IntervalRows):
        return {"ranges": {"starts": in_runs(matrix.starts), "ends": in_runs(matrix.ends)}}
    parts = {"values": matrix.data, "columns": matrix.indices, "starts": matrix.indptr}
    return {"rows": {name: in_runs(part) for name, part in parts.items()}}


def workload_from_spec(spec: Mapping[str, Any]) -> Workload:
    """The workload of a spec; ranges and compressed rows are checked before anything trusts them."""
    optional = COLUMNS.keys() & spec.keys()
    form = next((form for key, form in (("rows", SPARSE), ("ranges", OF_RANGES)) if key in spec), DENSE)
    require_keys(spec, keys(form) | optional, "workload")
    columns = [keys_from_spec(spec[name], f"workload.{name}") if name in spec else None for name in COLUMNS]
    queries, elements = (names_from(spec[key], f"workload.{key}") for key in ("queries", "elements"))
    return Workload(matrix_from_spec(spec, (len(queries), len(elements))), queries, elements, *columns)


def matrix_from_spec(spec: Mapping[str, Any], shape: tuple[int, int], where: str = "workload") -> Any:
    """The rows that `matrix_to_spec` wrote."""
    if "matrix" in spec:
        return array(spec["matrix"], 2, f"{where}.matrix")
    if "ranges" in spec:
        require_keys(spec["ranges"], keys(RANGES), f"{where}.ranges")
        starts, ends = (_indices(spec["ranges"][key], f"{where}.ranges.{key}") for key in ("starts", "ends"))
        if len(starts) != shape[0]:
            raise InvalidSpec(f"{where}.ranges: {len(starts)} ranges for {shape[0]} rows; restore the file.")
        return IntervalRows(starts, ends, shape[1])
    from scipy.sparse import csr_array

    require_keys(spec["rows"], keys(ROWS), f"{where}.rows")
    values = array(numbers_from(spec["rows"]["values"], f"{where}.rows.values"), 1, f"{where}.rows.values")
    columns, starts = (_indices(spec["rows"][key], f"{where}.rows.{key}") for key in ("columns", "starts"))
    # Checked here and before scipy sees them: its compiled loops trust these numbers with the memory of the process.
    row = np.searchsorted(starts, np.arange(len(columns)), side="right")
    ordered = (
        len(starts) == shape[0] + 1
        and starts[0] == 0
        and (np.diff(starts) >= 0).all()
        and starts[-1] == len(columns) == len(values)
    )
    if not (ordered and (columns < shape[1]).all() and (np.diff(row * shape[1] + columns) > 0).all()):
        raise InvalidSpec(
            f"{where}.rows: starts must rise from 0 to the number of values, and columns within each row, below the number "
            "of elements."
        )
    return csr_array((values, columns, starts), shape=shape)


def keys_from_spec(spec: Any, where: str = "workload.keys") -> Keys:
    """The columns that name the elements, or the levels of the queries, from the plain data of a spec."""
    require_keys(spec, keys(Keys.schema) | ({"unlisted"} & spec.keys()), where)
    return Keys(tuple(spec["columns"]), tuple(map(tuple, spec["rows"])), rule_from(spec))


def _indices(value: Any, field: str) -> NDArray[np.int64]:
    found = numbers_from(value, field)
    if isinstance(found, np.ndarray) and found.dtype.kind == "i" and (found >= 0).all():
        return found.astype(np.int64)
    if not isinstance(found, list) or not all(type(entry) is int and 0 <= entry < 2**31 for entry in found):
        raise InvalidSpec(f"{field}: must be a list of whole numbers from 0 to 2^31.")
    return np.array(found, dtype=np.int64)


# What a user knows of a change: the change of the histogram itself, or the difference of the answers that it makes.
#
# What differences spend: docs/theory/foundations.md, section 1.


# Relative to the entries of a row: below this a coordinate that should not move does not, but for rounding.
ROUNDING = 1e-9


def changes_given(change: object, answers: object, workload: Workload, relation: Relation, target: Floats) -> Floats:
    """Changes of the histogram, (N,) or (M, N), from one of the two; see `change_behind` for answers."""
    if (change is None) == (answers is None):
        raise InvalidProblem("privacy_loss: give a change of the histogram, or answers= for a difference of answers; not both.")
    queries, elements = workload.shape
    if answers is None:
        return _rows(change, "change", elements, "a change of the histogram has one entry for each element")
    given = _rows(answers, "answers", queries, "a difference of answers has one entry for each query")
    return change_behind(given, workload, relation, target)


def change_behind(answers: Floats, workload: Workload, relation: Relation, target: Floats) -> Floats:
    """A change that moves the answers so, and nothing that is public;
    every other one moves the rows of `target`, (R, N), alike.

    answers: (K,) or (M, K). Refused where no such change exists, or where several do that a mechanism tells apart.
    """
    told = np.vstack([workload.dense(), relation.public_rows()])
    size = np.abs(told).max(axis=1)
    size[size == 0] = 1.0
    left, values, right = np.linalg.svd(told / size[:, None], full_matrices=False)
    basis = right[values > ROUNDING * values.max(initial=0.0)]
    if (np.abs(target - target @ basis.T @ basis).max(axis=1) > ROUNDING * np.abs(target).max(axis=1)).any():
        raise InvalidProblem(
            "answers: several changes of the histogram move the answers so, and spend different budgets; give the change "
            "itself."
        )
    rank = len(basis)
    wanted = np.zeros((*answers.shape[:-1], len(told)))
    wanted[..., : answers.shape[-1]] = answers
    wanted = wanted / size
    found = (wanted @ left[:, :rank] / values[:rank]) @ basis
    if (np.abs(found @ (told / size[:, None]).T - wanted).max(axis=-1) > 1e-6 * np.abs(wanted).max(axis=-1)).any():
        raise InvalidProblem(
            "answers: no protected change of the histogram moves the answers so; give a difference that the queries can have."
        )
    return np.where(np.abs(found) > ROUNDING * np.abs(found).max(axis=-1, keepdims=True), found, 0.0)


def moved(change: Floats, rows: Floats, quiet: NDArray[np.bool_]) -> Floats:
    """`rows @ change`, (R,) or (M, R); a `quiet` row, (R,) booleans, that moves by no more than rounding does not move."""
    result = np.asarray(change @ rows.T)
    rounding = ROUNDING * (np.abs(change) @ np.abs(rows).T)
    return np.where(quiet & (np.abs(result) <= rounding), 0.0, result)


def _rows(value: object, name: str, length: int, meaning: str) -> Floats:
    array = real_array(value, name, 2 if np.ndim(value) == 2 else 1)  # type: ignore[arg-type]
    if array.shape[-1] != length:
        raise InvalidProblem(f"{name}: has shape {array.shape}; {meaning}: ({length},) or (M, {length}).")
    return array
