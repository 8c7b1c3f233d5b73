"""True marginal tables of confidential data: from columns, by a database, or as given.
Refusals depend on public shapes alone, in fixed texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.base.frames import column_names, holds_numbers
from designer.base.labels import Labels
from designer.base.progress import track
from designer.certificate.guarantee import Guarantee
from designer.domains.marginals_workload import MarginalWorkload, positions
from designer.limits import MOST_HISTOGRAM_CELLS
from designer.problem.domain import Domain
from designer.problem.histogram import REFUSE, UNUSABLE, Counts, Universe, bare, carries_names, counts
from designer.relations.records.counting import NO_COUNTS, form_of, is_expression, labelled, records_of, require_no_rows
from designer.relations.records.engines import octets, require_table_columns
from designer.relations.records.row_unit import RowUnit

UNKNOWN = (
    "records: hold a value outside the domain, or lack one (an empty cell is a missing value: give it a word, and list that "
    "word); correct the records, list what is missing, or state what happens to such records (`unlisted`). dp-designer check, "
    "for the holder of the data, says which they are. Nothing was released."
)
NO_COLUMNS = (
    "records: must map attributes to columns, as a data frame or a table of Ibis does, or be Counts of the true tables. "
    "Nothing was released."
)
UNLISTED = "records: a column is not a list of values, one for each record; nothing was released."
UNEQUAL = "records: columns differ in length; nothing was released."
LABELLED = (
    "tables: one carries labels of its own; give plain arrays in the order of the values of the domain, or release from "
    "records. Nothing was released."
)
INCONSISTENT = "tables: two of them disagree about the same records; count them from one source. Nothing was released."

MANY = (
    'records: are more than can be looked at one by one, which unlisted = "drop" needs; take "count as others" or "refuse". '
    "Nothing was released."
)

MOST_SCANS = 32  # tables that the engine counts one by one
MOST_CODES = 2**31  # bytes of all codes of all records, where they are counted here
CELLS_TOGETHER = 2**14  # combinations of values that one scan counts for several tables
Tables = dict[tuple[int, ...], NDArray[np.int64]]
Stated = Callable[[RowUnit], Guarantee]


def reading(
    workload: MarginalWorkload, data: Any, row: RowUnit, stated: Stated, *, fixed: bool, histograms: bool = False
) -> tuple[Guarantee | None, Callable[[], Tables]]:
    """How the largest requested marginals are counted from data of any kind, and the statement of a release from records; None
    for counts. fixed: the number of records is public. histograms: are counts of all combinations of values taken?"""
    if _are_counts(workload, data, histograms):
        require_no_rows(row)
        given: Any = bare(data)
        return (
            None,
            lambda: tables_of_counts(workload, given) if _are_tables(workload, given) else tables_of_histogram(workload, data),
        )
    records = records_of(data)
    if not is_expression(records) and row == RowUnit():
        return stated(row), lambda: tables_of_columns(workload, records)
    guarantee = stated(row)
    if not is_expression(records):
        require_columns(workload, records)
        records = labelled(records, _labels(workload), row.entity)
    rows = row.rows(records, workload.columns, unlisted=workload.domain.unlisted)
    if fixed:
        row.require_fixed_rows(records, workload.columns)
    return guarantee, lambda: tables_of_database(workload, rows)


def require_form(
    workload: MarginalWorkload, data: Any, row: RowUnit, stated: Stated, *, fixed: bool, histograms: bool = False
) -> None:
    """Refuse what a release of such data refuses for its form, and counts that are none. No entry of records is looked at."""
    if _are_counts(workload, data, histograms):
        reading(workload, data, row, stated, fixed=fixed, histograms=histograms)[1]()
        return
    stated(row)
    records = records_of(data)
    if not is_expression(records) and row == RowUnit():
        require_columns(workload, records)
    else:
        require_table(workload, records, row, fixed=fixed)


def _are_counts(workload: MarginalWorkload, data: object, histograms: bool) -> bool:
    """Are these counts? Where histograms are not taken, only `Counts` of tables are."""
    if histograms:
        return form_of(data, workload.domain.attributes) == "histogram"
    if isinstance(data, Counts) and not _are_tables(workload, data.table):
        raise InvalidProblem(NO_COUNTS)
    return isinstance(data, Counts)


def _are_tables(workload: MarginalWorkload, given: object) -> bool:
    """Does it map the axes of tables, and not elements, by their names?"""
    names = list(given) if isinstance(given, Mapping) else []
    return bool(names) and all(isinstance(own, tuple) and set(own) <= set(workload.domain.attributes) for own in names)


def require_columns(workload: MarginalWorkload, columns: Any) -> None:
    """Refuse what `tables_of_columns` refuses for its form: what has no columns, lacks one, or has some of different lengths.
    No entry is looked at."""
    present = columns if isinstance(columns, Mapping) else column_names(columns)
    if present is None:
        raise InvalidProblem(NO_COLUMNS)
    names = _required(workload, present)
    if isinstance(columns, Mapping):
        given = [columns[name] for name in names]
        if not all(hasattr(column, "__len__") and not isinstance(column, (str, bytes)) for column in given):
            raise InvalidProblem(UNLISTED)
        if len({len(column) for column in given}) > 1:
            raise InvalidProblem(UNEQUAL)


def require_table(workload: MarginalWorkload, table: Any, row: RowUnit, *, fixed: bool) -> None:
    """The same of an Ibis table: what is none, what `row` does not allow, what lacks a column. fixed: the number of records is
    public, so that no row may be left out."""
    present = row.present(table, workload.columns)
    if fixed:
        row.require_fixed_rows(table, workload.columns)
    require_column_of_each(workload, present)
    if is_expression(table):
        require_table_columns(table, workload.columns)


def _required(workload: MarginalWorkload, present: Container[Any]) -> list[str]:
    """The attributes of requested marginals, each of which must be among the columns that are there."""
    names = list(workload.names(workload.used))
    if missing := [name for name in names if name not in present]:
        raise InvalidProblem(
            f"records: have no column for {missing[:8]}; give one for every attribute of a requested marginal."
        )
    if not names:
        raise InvalidProblem("records: the total alone needs no attribute, hence no column to count; give Counts({(): total}).")
    return names


def tables_of_columns(workload: MarginalWorkload, columns: Any) -> Tables:
    """The largest requested marginals of records given as columns (a mapping or a data frame); records with values that are
    not listed as the domain says."""
    used = workload.used
    require_columns(workload, columns)
    held = labelled(columns, _labels(workload))
    codes = [_codes(workload.domain, axis, held[name]) for axis, name in zip(used, workload.names(used), strict=True)]
    kept = dict(zip(used, _kept(workload.domain, codes), strict=True))
    return {subset: _counted(workload, subset, [kept[axis] for axis in subset]) for subset in workload.maximal.tuples()}


def tables_of_database(workload: MarginalWorkload, table: Any) -> Tables:
    """The largest requested marginals of an Ibis table, counted where it lives: one `GROUP BY` for as many of them as have few
    cells together, and only counts travel.

    Of more than `MOST_SCANS` tables the codes of the records come here in one scan, where they fit, and are counted here; so
    they do where records are left out, each of all tables or of none.
    """
    require_column_of_each(workload, table.columns)
    require_table_columns(table, workload.columns)
    subsets = list(workload.maximal.tuples())
    fits = (len(subsets) > MOST_SCANS or workload.domain.unlisted == "drop") and _bytes_of_codes(workload, table) <= MOST_CODES
    if workload.domain.unlisted == "drop" and workload.used and not fits:
        raise InvalidProblem(MANY)
    if fits and workload.used:
        codes = dict(zip(workload.used, _codes_of_rows(workload, table), strict=True))
        return {subset: _counted(workload, subset, [codes[k] for k in subset]) for subset in track(subsets, "counting tables")}
    found: Tables = {}
    for axes, own in track(list(_by_scan(workload, subsets).items()), "counting tables"):
        counted = engine_counts(workload, axes, table)
        found |= {subset: _marginal(counted, [axes.index(axis) for axis in subset]) for subset in own}
    return {subset: found[subset] for subset in subsets}


def _by_scan(workload: MarginalWorkload, subsets: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """Tables by the axes that one scan counts: of many tables of few cells the table over all their axes."""
    scans: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for subset in subsets:
        joined = ((known, tuple(sorted({*known, *subset}))) for known in scans)
        fitting = next(((known, axes) for known, axes in joined if math.prod(workload.shape(axes)) <= CELLS_TOGETHER), None)
        if fitting is None:
            scans.setdefault(subset, []).append(subset)
        else:
            scans[fitting[1]] = [*scans.pop(fitting[0]), subset]
    return scans


def _marginal(table: NDArray[np.int64], kept: Sequence[int]) -> NDArray[np.int64]:
    """Counts over some axes of a table, which are in order; as 64 bits hold the number of its records, they hold these."""
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in kept)))


def require_column_of_each(workload: MarginalWorkload, present: Container[Any]) -> None:
    """Refuse a table without a column for every attribute of a requested marginal."""
    if missing := [name for name in workload.names(workload.used) if name not in present]:
        raise InvalidProblem(f"records: the table has no column for {missing}; rename its columns to the attributes.")


def engine_counts(workload: MarginalWorkload, subset: tuple[int, ...], table: Any) -> NDArray[np.int64]:
    """One table by its engine."""
    names, label = workload.names(subset), "records"
    while label in table.columns:
        label += "_"
    rows = table.select(**{name: _told_apart(table[name]) for name in names}) if names else table
    groups = rows.group_by(list(names)).agg(**{label: rows.count()}) if names else rows.agg(**{label: rows.count()})
    found = groups.to_pyarrow().to_pydict()
    codes = [_codes(workload.domain, axis, found[name]) for axis, name in zip(subset, names, strict=True)]
    return _counted(workload, subset, codes, np.array(found[label], dtype=np.int64))


def _kind_of_codes(workload: MarginalWorkload) -> np.dtype[Any]:
    """The smallest integers that hold every position."""
    return np.min_scalar_type(-max(workload.domain.shape[axis] for axis in workload.used))


def _bytes_of_codes(workload: MarginalWorkload, table: Any) -> int:
    """What the codes of all records would fill."""
    rows = int(table.count().to_pyarrow().as_py())
    return rows * len(workload.used) * _kind_of_codes(workload).itemsize


def _codes_of_rows(workload: MarginalWorkload, table: Any) -> list[NDArray[np.int64]]:
    """The positions of the values of all records, an array for each attribute, from one scan: batch by batch, each value of a
    batch looked up once."""
    names, domain, kind = workload.names(workload.used), workload.domain, _kind_of_codes(workload)
    rows = table.select(**{name: _told_apart(table[name]) for name in names})
    found: list[list[NDArray[np.int64]]] = [[] for _ in names]
    for batch in rows.to_pyarrow_batches():
        for own, axis, column in zip(found, workload.used, batch.columns, strict=True):
            encoded = column.dictionary_encode(null_encoding="encode")
            values = _codes(domain, axis, encoded.dictionary.to_pylist()).astype(kind)
            own.append(values[encoded.indices.to_numpy(zero_copy_only=False)])
    return _kept(domain, [np.concatenate([*own, np.zeros(0, dtype=kind)]) for own in found])


def _kept(domain: Domain, codes: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The codes of the records that count: all, or those without a value that is not listed."""
    if domain.unlisted != "drop":
        return codes
    listed = np.logical_and.reduce([own >= 0 for own in codes])
    return [own[listed] for own in codes]


def _told_apart(column: Any) -> Any:
    """A column whose groups have one label each: texts by their bytes. What else an engine takes for equal is one label."""
    return octets(column) if column.type().is_string() else column


def tables_of_counts(workload: MarginalWorkload, given: Mapping[Sequence[str], Any]) -> Tables:
    """The largest requested marginals among given tables, checked for shape, counts and mutual agreement."""
    if not isinstance(given, Mapping):
        raise InvalidProblem("tables: must map the names of the axes of each table to its counts; nothing was released.")
    checked = {}
    for (names, table), axes in zip(given.items(), _axes_of_tables(workload, given), strict=True):
        checked[tuple(sorted(axes))] = np.transpose(_counts(table, workload.shape(axes), names), np.argsort(axes))
    seen: Tables = {}
    for subset in workload.maximal.tuples():
        for part, marginal in _marginals(subset, checked[subset]):
            if not np.array_equal(seen.setdefault(part, marginal), marginal):
                raise InvalidProblem(INCONSISTENT)
    return {subset: checked[subset] for subset in workload.maximal.tuples()}


def _axes_of_tables(workload: MarginalWorkload, given: Mapping[Sequence[str], Any]) -> list[tuple[int, ...]]:
    """The axes of given tables, whose names are public; refused where a largest requested marginal is not among them."""
    axes = [positions(workload.domain, names) for names in given]
    there = {tuple(sorted(own)) for own in axes}
    if missing := [workload.names(subset) for subset in workload.maximal.tuples() if subset not in there]:
        raise InvalidProblem(f"tables: {missing[:4]} are missing; give the largest requested marginals, `workload.maximal`.")
    return axes


def require_small(workload: MarginalWorkload) -> None:
    """Refuse counts of all combinations of values where there are too many of them."""
    domain = workload.domain
    if domain.size > MOST_HISTOGRAM_CELLS:
        raise InvalidProblem(
            f"histogram: the domain has {domain.size} combinations of values, more than {MOST_HISTOGRAM_CELLS}; give a table "
            "of records, which are counted over the attributes that are asked about."
        )


def tables_of_histogram(workload: MarginalWorkload, histogram: object) -> Tables:
    """The largest requested marginals of counts of all combinations of values, as an array in their order or by name."""
    require_small(workload)
    domain = workload.domain
    whole = counts(histogram, Universe(domain.elements, domain.keys)).reshape(domain.shape)
    exact = whole if whole.astype(np.float64).sum() < 2.0**62 else whole.astype(object)
    axes = range(len(domain.shape))
    return {
        subset: np.asarray(exact.sum(axis=tuple(axis for axis in axes if axis not in subset)))
        for subset in workload.maximal.tuples()
    }


def _counts(table: Any, shape: tuple[int, ...], names: Sequence[str]) -> NDArray[np.int64]:
    """One given table as integers."""
    array = _as_array(table, shape, names)
    return counts(array.ravel(), Universe.of_size(array.size)).reshape(shape)


def _as_array(table: Any, shape: tuple[int, ...], names: Sequence[str]) -> NDArray[Any]:
    """One given table of a type that counts may have, whatever its entries are; labels would be dropped, so that cells of
    another order went by wrong names."""
    if carries_names(table):
        raise InvalidProblem(LABELLED)
    try:
        array = np.asarray(table)
    except (TypeError, ValueError):
        raise InvalidProblem(UNUSABLE) from None
    if array.shape != shape:
        raise InvalidProblem(f"tables: the one over {list(names)} has shape {array.shape}; {shape} is needed.")
    if not holds_numbers(table):
        raise InvalidProblem(UNUSABLE)
    return array


def _marginals(subset: tuple[int, ...], table: NDArray[np.int64]) -> list[tuple[tuple[int, ...], NDArray[Any]]]:
    """All marginals of a table, in Python integers where sums may leave 64 bits."""
    exact = table if table.astype(np.float64).sum() < 2.0**62 else table.astype(object)
    places = range(len(subset))
    chosen = (kept for size in range(len(subset)) for kept in combinations(places, size))
    return [(tuple(subset[k] for k in kept), exact.sum(axis=tuple(k for k in places if k not in kept))) for kept in chosen]


def _labels(workload: MarginalWorkload) -> dict[str, Labels]:
    """Of each column that is counted, which of its listed values the values of records are."""
    return {workload.domain.attributes[axis]: workload.domain.labels(axis) for axis in workload.used}


def _codes(domain: Domain, axis: int, column: Iterable[object]) -> NDArray[np.int64]:
    """See `Domain.codes`; refused where the domain says so."""
    codes = domain.codes(axis, column)
    if domain.unlisted == REFUSE and (codes < 0).any():
        raise InvalidProblem(UNKNOWN)
    return codes


def _cells(codes: list[NDArray[Any]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Positions in a table in row-major order; codes are within the shape."""
    cell = codes[0].astype(np.int64)
    for code, size in zip(codes[1:], shape[1:], strict=True):
        cell *= size
        cell += code
    return cell


def _counted(
    workload: MarginalWorkload,
    subset: tuple[int, ...],
    codes: list[NDArray[np.int64]],
    amounts: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Counts, or sums of `amounts`, of every cell; sums in integers, because floats would lose counts beyond 2^53."""
    shape = workload.shape(subset)
    cell = _cells(codes, shape) if subset else np.zeros(1, dtype=np.int64)
    if amounts is None:
        return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    table = np.zeros(int(np.prod(shape)), dtype=np.int64)
    np.add.at(table, cell, amounts)
    return table.reshape(shape)
