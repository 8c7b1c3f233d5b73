"""From accuracy targets for the groups of a hierarchy to a plan that can be released, in one step.

The program: docs/theory/record_design.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import frozen
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem, NotPrivate, hides_data_in_errors
from designer.base.frames import turned_by_pandas
from designer.base.progress import announce
from designer.base.version import VERSION, installing_with
from designer.problem.histogram import OTHERS, REFUSE, UNREADABLE, Unlisted
from designer.relations.records.csv_rows import Marks, batches, header
from designer.relations.records.engines import has_long_decimals
from designer.tables.answers import Answer
from designer.tables.condition import Condition
from designer.tables.groups import Groups, Labels, tree
from designer.tables.measure import Measure
from designer.tables.plan import TablePlan
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, RecordDesign, design_records
from designer.tables.queries import Count, Query, Sum
from designer.tables.unit_splitting import UnitSplitting

NOT_ASKED = "No answer of this level was released: its values are sums of those of the levels below."


def design_table_plan(
    levels: Mapping[str, Groups],
    measures: Sequence[Measure],
    accuracies: Sequence[Accuracy],
    prior: PriorRecords,
    *,
    where: Sequence[Condition] = (),
    beside: Sequence[Query] = (),
    splitting: UnitSplitting | None = None,
    families: NDArray[np.int64] | None = None,
    tolerance: float = 1e-6,
    unlisted: Unlisted = REFUSE,
) -> TablePlan:
    """The plan of noisy sums and counts whose consistent answers meet all targets at the least functional of the exact policy.

    levels: named, from `hierarchy` or `nested_codes`, coarse to fine; `tree(levels)` orders the groups. measures: what is
    summed. accuracies: as in `design_records`, by the column of a measure, or `COUNT` for the number of records; deviations
    (n,) of the consistent answers, in the order of the groups of `tree(levels)`. prior: public records whose losses count.
    where: conditions of all queries. beside: further queries of the plan, whose noise is stated. splitting: a coarser policy,
    too. families, tolerance: as in `design_records`. unlisted: as in `TablePlan`.

    A query is named "MEASURE by LEVEL"; a level that a measure need not be asked in has none. The policy of these queries is
    that of the design, exactly; how good it is, is noted (`plan.optimality`). `consistent_levels` makes the answers of a
    release consistent. Raises `InvalidProblem`, or `DesignFailed` where the bound stays open.

    >>> from designer.tables import hierarchy, tree
    >>> levels = dict(zip(["all", "state"], hierarchy(["state"], [["DE"], ["RI"]])))
    >>> jobs = Accuracy("jobs", np.full(tree(list(levels.values())).size, 20.0))
    >>> plan = design_table_plan(levels, [Measure("jobs")], [jobs], PriorRecords.cap({"jobs": 50}))
    >>> [query.name for query in plan.queries], plan.optimality.gap < 1e-6
    (['jobs by all', 'jobs by state'], True)
    """
    by_column = {measure.column: measure for measure in measures}
    for accuracy in accuracies:
        if accuracy.measure not in (*by_column, COUNT):
            raise InvalidProblem(
                f"accuracies: {shown(accuracy.measure)} is no measure; the measures are {[*by_column, COUNT]}.",
                value=accuracy.measure,
            )
    announce("table plan: dividing the noise among the levels")
    design = design_records(tree(list(levels.values())), accuracies, prior, families=families, tolerance=tolerance)
    queries = _queries_of(design, levels, by_column, tuple(where))
    require_equal_policies(TablePlan(queries), design, list(levels.values())[-1])
    plan = TablePlan((*queries, *beside), splitting, unlisted=unlisted)
    return plan.annotated(_notes(design), design.optimality)


def _notes(design: RecordDesign) -> dict[str, Any]:
    schemes = {name: f"functional {value:.6g}" for name, value in design.schemes.items()}
    return {"software": f"dp-designer {VERSION}", "family": "records", "tried": schemes}


def _queries_of(
    design: RecordDesign, levels: Mapping[str, Groups], measures: Mapping[str, Measure], where: tuple[Condition, ...]
) -> list[Query]:
    """A sum, or a count, for every measure and every level that is asked."""
    found: list[Query] = []
    for name in design.measures:
        precisions = design.group_precisions(name)
        for (level, groups), rows in zip(levels.items(), design.hierarchy.slices, strict=True):
            variance = _variance(precisions[rows], level)
            if variance is not None:
                title = f"{name} by {level}"
                counted = Count(title, groups, where, variance)
                found.append(counted if name == COUNT else Sum(title, groups, where, variance, measures[name]))
    return found


def _variance(precisions: NDArray[np.float64], level: str) -> Fraction | tuple[Fraction, ...] | None:
    """One over the precisions of the groups of a level, exact; None where none of them is asked."""
    if not precisions.any():
        return None
    if not precisions.all():
        raise DesignFailed(f"families: some groups of level {level!r} are asked, some are not; let a level be in one family.")
    variances = tuple(1 / Fraction(s) for s in precisions.tolist())
    return variances[0] if len(set(variances)) == 1 else variances


def require_equal_policies(plan: TablePlan, design: RecordDesign, finest: Groups) -> None:
    """The proof that a plan costs what was designed: `plan.loss` is the policy of the design, as fractions, at records of a
    finest group (of all of them, where noise differs between groups). `NotPrivate` otherwise.

    finest: the groups of the last level. Both are sums over measures of squares, times a number for each group: they agree
    everywhere if they do where nothing is measured, and where each measure alone is as large as it can be.
    """
    open_to_all = TablePlan(tuple(replace(query, where=()) for query in plan.queries))
    labels = [name for name, inner in zip(design.hierarchy.labels, design.hierarchy.inner, strict=True) if not inner]
    for name, key in list(zip(labels, finest.keys or (), strict=True))[: 1 if design.uniform else None]:
        policy, place = design.policy(name), _record_of(finest, key)
        for measured in ({}, *({m.column: _largest(m)} for m in plan.measures)):
            record = {**place, **{m.column: measured.get(m.column, Fraction(0)) for m in plan.measures}}
            if open_to_all.loss(record) != policy.exact(open_to_all.amounts(record)):
                raise NotPrivate(
                    f"policy: that of the plan at group {shown(name)} is not the one that was designed; this is an error of "
                    "the program, please report it."
                )


def _largest(measure: Measure) -> Fraction:
    """The value that is farthest from 0."""
    return max(measure.bounds, key=abs) * measure.step


def _record_of(groups: Groups, key: Labels) -> dict[str, object]:
    """The key columns of a record of a group: of nested codes the longest that the key lists."""
    found: dict[str, object] = {}
    for column, label in zip(groups.columns, key, strict=True):
        if label != OTHERS or column.column not in found:
            found[column.column] = label
    return found


def consistent_levels(answers: Sequence[Answer], levels: Sequence[Groups]) -> tuple[Answer, ...]:
    """Compute the answers of all levels of a hierarchy, of least weighted squares: children add up to their parents.

    Returns an answer for each level, of levels that were not asked too, with variances, and with how far it was moved
    (`post_processing`). Post-processing: as private as what it is computed from. InvalidProblem where an answer is of no level,
    or the finest level was not asked.

    Parameters
    ----------
    answers : of one measure, such as `release["jobs by state"]`, for some or all of the levels, each once.
    levels : all of them, coarse to fine.

    >>> from designer.tables import hierarchy
    >>> all_, state = hierarchy(["state"], [["DE"]])
    >>> asked = Answer("jobs by state", ("state",), state.keys, np.array([3.0, 4.0]), np.array([1.0, 1.0]))
    >>> [answer.values.tolist() for answer in consistent_levels([asked], [all_, state])]
    [[7.0], [3.0, 4.0]]
    """
    hierarchy = tree(levels)
    values, precisions = np.zeros(hierarchy.size), np.zeros(hierarchy.size)
    seen: dict[int, Answer] = {}
    for answer in answers:
        place = _level_of(answer, levels)
        if place in seen or answer.variances is None:
            raise InvalidProblem(
                f"answers: {shown(answer.name)} is of a level that has one already, or has no variances; give one answer of "
                "each level, with variances.",
                value=answer.name,
            )
        seen[place] = answer
        values[hierarchy.slices[place]] = answer.values
        precisions[hierarchy.slices[place]] = 1 / answer.variances
    made, spread = hierarchy.estimate(values, precisions), hierarchy.variances(precisions)
    found = []
    for place, (level, rows) in enumerate(zip(levels, hierarchy.slices, strict=True)):
        columns, keys, name = tuple(key.name for key in level.columns), level.keys or (), f"level {place}"
        if place in seen:
            found.append(replace(seen[place].consistent(made[rows], spread[rows]), name=name, columns=columns, keys=keys))
        else:
            found.append(Answer(name, columns, keys, frozen(made[rows]), frozen(spread[rows]), post_processing=NOT_ASKED))
    return tuple(found)


def _level_of(answer: Answer, levels: Sequence[Groups]) -> int:
    for place, level in enumerate(levels):
        if isinstance(answer, Answer) and answer.keys == level.keys and len(answer.columns) == len(level.columns):
            return place
    raise InvalidProblem(f"answers: {shown(getattr(answer, 'name', answer))} is of none of the levels; give those of the plan.")


# CSV files as columns of texts and numbers, by rules that read each record alone: none is refused or dropped for what it
# holds.
#
# - The first line names the columns; it is public, and refused where it is no text in UTF-8; a byte-order mark is not of it.
# - Below it, bytes that are not UTF-8 become U+FFFD.
# - Fields are separated by the delimiter; one in double quotes may hold delimiters, line ends and doubled quotes.
# - A line ends in a line feed, or in a carriage return and a line feed; a carriage return alone is part of its field.
# - Fields that a record lacks, and empty ones, are missing; those too many are cut off; a blank line is no record.
# - A record is what the quotes make of the file: one that never closes makes one record of all lines that follow.


# Files as tables: Parquet and CSV on the embedded engine, which reads them in pieces and never needs to hold them.


@hides_data_in_errors
def open_table(
    path: str | Path,
    numbers: Sequence[str] = (),
    *,
    whole: Sequence[str] = (),
    delimiter: str = ",",
    decimal: str = ".",
    thousands: str = "",
    unlisted: Unlisted = "drop",
    memory: str | None = None,
    spill: str | Path | None = None,
    threads: int | None = None,
) -> Any:
    """An Ibis table of a Parquet or CSV file (or of several Parquet files, `folder/*.parquet`), on a DuckDB engine of its own.

    A CSV file has no types, and types guessed from its rows would depend on them. So all its columns are texts, but for
    `numbers`, where what is no number is missing, and those of them in `whole`, which are keys as well: there what is no whole
    number of 64 bits is missing. What is a record, a field and a number is said in `designer.tables.records`, and depends on
    no other record; "1,234" is a number with decimal="," or thousands=",", and missing otherwise. unlisted="refuse": what is
    no number, and not empty, is refused. memory: such as "512MB", the most the engine may take. What does not fit is written,
    as it is, to temporary files in the folder `spill`, by default `.tmp` in the working directory.
    """
    marks = Marks(delimiter, decimal, thousands)
    names, suffix = _column_names(path, numbers, whole, delimiter), Path(path).suffix
    engine = _engine(memory, spill, threads)
    if suffix == ".parquet":
        return _opened(path, lambda: _as_pandas_may_hold(engine, str(path)))
    kinds = {name: "BIGINT" if name in whole else "DOUBLE" if name in numbers else "VARCHAR" for name in names}
    return _opened(path, lambda: _filled(engine, Path(path), kinds, marks, unlisted == REFUSE))


@hides_data_in_errors
def require_openable(path: str | Path, numbers: Sequence[str] = (), *, whole: Sequence[str] = (), delimiter: str = ",") -> None:
    """Refuse what `open_table` refuses for the names of files and of columns, which are public; no record is read."""
    _column_names(path, numbers, whole, delimiter)


@hides_data_in_errors
def has_records(path: str | Path, delimiter: str = ",") -> bool:
    """Is there a record behind the header? To be asked only where the number of records is public."""
    if Path(path).suffix == ".csv":
        return next(batches(Path(path), delimiter, 1), None) is not None
    from pyarrow import parquet

    return any(parquet.read_metadata(name).num_rows for name in glob(str(path)))


def require_table_file(path: str | Path) -> None:
    """Refuse a path whose name, or absence, `open_table` refuses, and a machine without DuckDB; nothing is opened."""
    _require_files(path)
    _modules()


def _require_files(path: str | Path) -> None:
    files, suffix = glob(str(path)) or [str(path)], Path(path).suffix
    if suffix not in (".parquet", ".csv"):
        raise InvalidProblem(
            f"{path}: is neither a .parquet nor a .csv file; save a spreadsheet as CSV, or open the table with Ibis.",
            value=path,
        )
    if not all(map(os.path.isfile, files)):
        raise InvalidProblem(f"{path}: no such file; give a .parquet or .csv file, or 'folder/*.parquet'.")


def _column_names(path: str | Path, numbers: Sequence[str], whole: Sequence[str], delimiter: str) -> list[str]:
    """The columns of a CSV file; none of files that know their types."""
    _require_files(path)
    suffix = Path(path).suffix
    names = [] if suffix == ".parquet" else header(Path(path), delimiter)
    if suffix == ".csv" and (missing := [name for name in (*numbers, *whole) if name not in names]):
        raise InvalidProblem(f"{path}: has no columns {shown(missing)}; name those that are there.")
    return names


def _modules() -> tuple[Any, Any]:
    """DuckDB and Ibis."""
    try:
        import duckdb
        import ibis
    except ImportError:
        raise InvalidProblem(f"--table: records need Ibis and DuckDB; {installing_with('tables')}.") from None
    return duckdb, ibis


def _engine(memory: str | None, spill: str | Path | None, threads: int | None) -> Any:
    """A DuckDB of its own behind Ibis."""
    duckdb, ibis = _modules()
    settings = {"memory_limit": memory, "temp_directory": None if spill is None else str(spill), "threads": threads}
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return ibis.duckdb.connect(**given)
    except (duckdb.Error, TypeError, ValueError):
        raise InvalidProblem(
            f"memory, spill, threads: DuckDB does not take {shown(given)}; see its documentation of them."
        ) from None


def _opened(path: str | Path, read: Callable[[], Any]) -> Any:
    """The engine's own words may quote the file, so they are not said."""
    import duckdb

    try:
        return read()
    except duckdb.Error:
        raise InvalidProblem(
            f"{path}: is empty, damaged or of another type than its name says; nothing was read.", value=path
        ) from None


def _as_pandas_may_hold(engine: Any, path: str) -> Any:
    """A Parquet file as a table, in which long whole numbers that pandas held in types of NumPy are floats, as they are where
    one is missing."""
    table = engine.read_parquet(path, hive_partitioning=False)
    if has_long_decimals(engine, [path]):
        raise InvalidProblem(
            f"{path}: holds decimals of more than 38 digits, of which DuckDB makes others; write fewer digits."
        )
    written = "SELECT DISTINCT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'pandas'"
    turned = set().union(*(turned_by_pandas(text) for (text,) in engine.con.execute(written, [path]).fetchall()))
    floats = {name: table[name].cast("float64") for name in table.columns if name in turned}
    return table.mutate(**floats) if floats else table


def _filled(engine: Any, path: Path, kinds: dict[str, str], marks: Marks, refusing: bool) -> Any:
    """The records of a CSV file as a table of the engine."""
    import pyarrow as pa

    read = {"BIGINT": (marks.whole, pa.int64()), "DOUBLE": (marks.number, pa.float64())}
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds.values()))
    engine.con.execute(f"CREATE TABLE records ({columns})")
    given = ", ".join(
        f"NULLIF(c{place}, '')" if kind == "VARCHAR" else f"c{place}" for place, kind in enumerate(kinds.values())
    )
    for batch in batches(path, marks.delimiter, len(kinds)):
        arrays = {}
        for place, (kind, cells) in enumerate(zip(kinds.values(), batch, strict=True)):
            take, kept = read.get(kind, (None, pa.string()))
            values = list(map(take, cells)) if take else cells
            if refusing and any(value is None and cell.strip() for value, cell in zip(values, cells, strict=True)):
                raise InvalidProblem(UNREADABLE)
            arrays[f"c{place}"] = pa.array(values, kept)
        engine.con.register("batch", pa.table(arrays))
        engine.con.execute(f"INSERT INTO records SELECT {given} FROM batch")
        engine.con.unregister("batch")
    return engine.table("records").rename({name: f"c{place}" for place, name in enumerate(kinds)})
