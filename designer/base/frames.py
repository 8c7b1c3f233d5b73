"""Data frames of any library, in and out, through one adapter, narwhals: pandas, polars, Arrow, relations of DuckDB, and what
else it knows.

Frames hold confidential data on the way in: nothing here says what one holds, only how it is called and shaped. narwhals is
imported when the first frame comes or goes, and imports none of the libraries itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.labels import EXACT, is_missing, number_in_file, number_of, texts_of, turns_to_floats, values_of, whole_of

Label = Hashable
Columns = list[tuple[Label, Sequence[object]]]

BACKENDS = ("pandas", "polars", "pyarrow")
PLAIN_TYPES = (Mapping, np.ndarray, list, tuple, range, str, bytes, int, float, type(None))


def _narwhals() -> Any:
    """The adapter, which a machine that only releases may lack."""
    try:
        import narwhals
    except ImportError:
        raise InvalidProblem(
            "data frames: are read and made by narwhals, which is not installed; pip install narwhals, or give a mapping, "
            "a list or an array."
        ) from None
    return narwhals


def is_frame(value: object) -> bool:
    """Is it a table with named columns of some library?"""
    return _adapted(value) is not None


def column_names(table: object) -> list[Label] | None:
    """What the columns of a data frame are called, the levels of its index before them; None for anything else. No entry is
    read, and no lazy frame collected."""
    frame = _adapted(table)
    return None if frame is None else [*(name for name, _ in index_of(table)), *_names(frame)]


def number_columns(table: object) -> list[tuple[Label, bool]] | None:
    """The columns of a data frame, each with whether numbers may be in it by its declared type; None for anything else. Its
    index is left out, no entry is read, and no lazy frame collected."""
    frame = _adapted(table)
    if frame is None:
        return None
    if hasattr(frame, "collect"):
        return [(name, _numeric(kind)) for name, kind in frame.collect_schema().items()]
    return [(name, holds_numbers(frame.get_column(name).to_native())) for name in _names(frame)]


def holds_numbers(values: object) -> bool:
    """May numbers be in an array or a column, by the type that is declared for it? Of Python objects, and where no type is
    declared, only the entries tell, so: yes. No entry is read."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype):
        return kind.kind in "biufO"
    if isinstance(values, PLAIN_TYPES):
        return True
    nw = _narwhals()

    if nw.dependencies.is_into_series(values):
        return _numeric(nw.from_native(values, series_only=True).dtype)
    if _of_arrow(values) and hasattr(values, "to_pylist") and not hasattr(values, "schema"):
        import pyarrow as pa

        return _numeric(nw.from_native(pa.chunked_array([values]), series_only=True).dtype)
    return True


def _numeric(kind: Any) -> bool:
    """By a type of narwhals. Categories are of any type, and so is what it does not know."""
    nw = _narwhals()
    return bool(kind.is_numeric() or kind in (nw.Boolean, nw.Categorical, nw.Enum, nw.Object, nw.Unknown))


def columns_of(table: object, wanted: Iterable[Label] | None = None) -> Columns | None:
    """The columns of a data frame by name, the levels of its index among them and before them; None for anything else.

    wanted: only columns of these names, as far as they are there. Lazy frames are collected, and of these columns alone.
    """
    frame = _adapted(table)
    if frame is None:
        return None
    names = list(_names(frame))
    levels = index_of(table)
    if wanted is not None:
        asked = set(wanted)
        names, levels = [name for name in names if name in asked], [level for level in levels if level[0] in asked]
    held = _collected(frame, names)
    return [*levels, *((name, values_of(held.get_column(name).to_native())) for name in names)]


def index_of(table: object) -> Columns:
    """The levels of the index of a frame or a series; none for the positions that pandas writes where nobody named rows, and
    none where a library knows no index."""
    index: Any = getattr(table, "index", None)
    if not hasattr(index, "get_level_values"):
        return []
    counted = hasattr(index, "start") and (index.name, index.start, index.step) == (None, 0, 1)
    return [] if counted else [(name, values_of(index.get_level_values(k))) for k, name in enumerate(index.names)]


def series_of(values: object) -> list[object] | None:
    """The entries of a single column of some library; None for anything else."""
    if isinstance(values, PLAIN_TYPES):
        return None
    nw = _narwhals()

    if nw.dependencies.is_into_series(values):
        return list(nw.from_native(values, series_only=True).to_list())
    return (
        list(values.to_pylist())
        if _of_arrow(values) and hasattr(values, "to_pylist") and not hasattr(values, "schema")
        else None
    )


def arrow_of(
    table: object,
    wanted: Iterable[Label],
    numbers: Collection[Label] = (),
    whole: Collection[Label] = (),
    *,
    refused: str | None = None,
) -> Any:
    """The columns of a data frame, or of a mapping of columns, that have these names as an Arrow table; None for anything else.
    An index is left out.

    Every value by itself, whatever the type of its column, which depends on all of them: texts (`label_of`), but for `numbers`,
    which are floats, and those of them in `whole`, which are whole numbers of 64 bits; a value that is none of these is
    missing, or refused with the text `refused`.
    """
    if isinstance(table, Mapping):
        columns = {name: table[name] for name in wanted if name in table}
    elif (frame := _adapted(table)) is not None:
        asked = set(wanted)
        names = [name for name in _names(frame) if name in asked]
        held = _collected(frame, names)
        columns = {name: held.get_column(name).to_native() for name in names}
    else:
        return None
    import pyarrow as pa

    return pa.table({name: _typed(column, name in numbers, name in whole, refused) for name, column in columns.items()})


def _typed(column: Any, number: bool, whole: bool, refused: str | None) -> Any:
    """A column in the type that its use demands, each different value read once where its type is one of Arrow's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.int64() if whole else pa.float64() if number else pa.string()

    def read(values: Sequence[object]) -> Any:
        if kind == pa.string():
            return pa.array(texts_of(values), kind)
        found = [whole_of(value) if whole else number_of(value) for value in values]
        if refused and any(own is None and not _is_blank(value) for own, value in zip(found, values, strict=True)):
            raise InvalidProblem(refused)
        return pa.array(found, kind)

    held = _arrow_array(column)
    if held is None:
        return read(values_of(column))
    if kind == pa.string() and (pa.types.is_string(held.type) or pa.types.is_large_string(held.type)):
        return held
    if kind != pa.float64() and turns_to_floats(column) and held.type in (pa.int64(), pa.uint64()):
        floats = pc.abs(pc.cast(held, pa.float64(), safe=False))
        held = pc.if_else(pc.less(floats, float(EXACT)), held, pa.scalar(None, held.type))
    if kind == pa.string() and pa.types.is_integer(held.type):
        return pc.cast(held, kind)
    if kind == pa.float64() and (pa.types.is_integer(held.type) or pa.types.is_floating(held.type)):
        floats = pc.cast(held, kind, safe=False)
        return pc.if_else(pc.is_nan(floats), pa.scalar(None, kind), floats)
    try:
        encoded = held.dictionary_encode()
        return read(encoded.dictionary.to_pylist()).take(encoded.indices)
    except (pa.ArrowException, ValueError):  # of types that have no dictionaries, or times beyond Python's
        return read(values_of(column))


def _is_blank(value: object) -> bool:
    """Is it a missing value of a column of numbers? A text that spells NaN is."""
    return is_missing(value) or (isinstance(value, str) and (not value.strip() or number_in_file(value) is not None))


def _arrow_array(column: Any) -> Any:
    """A column as one array of Arrow; None for what holds Python objects, whose type would be guessed from all of them."""
    import pyarrow as pa

    held = None
    with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            held = column
        elif type(column).__module__.partition(".")[0] == "polars" and str(column.dtype) != "Object":
            held = column.to_arrow()
        elif isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biuf":
            held = pa.array(column)
        elif type(column).__module__.partition(".")[0] == "pandas" and str(column.dtype) != "object":
            held = pa.array(column, from_pandas=True)
        if isinstance(held, pa.ChunkedArray):
            held = held.combine_chunks()
            held = held if isinstance(held, pa.Array) else pa.concat_arrays(held.chunks)
        if held is not None and pa.types.is_dictionary(held.type):
            held = held.cast(held.type.value_type)
        return held
    return None


def frame_of(columns: Mapping[str, Any], backend: str) -> Any:
    """A data frame of a library from columns: sequences of texts, or arrays of numbers, all equally long.

    backend: "pandas", "polars" or "pyarrow". `InvalidProblem` where there is no such library, or it is not installed.
    """
    if backend not in BACKENDS:
        raise InvalidProblem(
            f"backend: {shown(backend)} is none; {meant(backend, BACKENDS)}use one of {list(BACKENDS)}.", value=backend
        )
    nw = _narwhals()

    library: Any = backend
    kinds: dict[str, Any] = {name: _kind(column, nw) for name, column in columns.items()}
    try:
        return nw.from_dict(dict(columns), schema=kinds, backend=library).to_native()
    except ImportError:
        raise InvalidProblem(
            f"backend: {backend} is not installed; install it, or use another of {list(BACKENDS)}.", value=backend
        ) from None


def frame_of_rows(rows: Sequence[Mapping[str, Any]], names: Iterable[str], backend: str) -> Any:
    """The same from rows: a column of numbers where all that is there are numbers, NaN where one is missing; else of texts."""
    columns = {name: [row[name] for row in rows] for name in names}
    return frame_of({name: _filled(column) for name, column in columns.items()}, backend)


def _filled(column: Sequence[Any]) -> Any:
    if not all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in column):
        return ["" if value is None else str(value) for value in column]
    return np.array([np.nan if value is None else value for value in column], dtype=np.float64)


def _kind(column: Any, nw: Any) -> Any:
    """The type of a column, which an empty one would not tell."""
    number = isinstance(column, np.ndarray) and column.dtype.kind in "if"
    return (nw.Float64() if column.dtype.kind == "f" else nw.Int64()) if number else nw.String()


def _adapted(table: object) -> Any:
    """What narwhals makes of a frame; None where it is none. Tables of engines are not frames."""
    if isinstance(table, PLAIN_TYPES) or hasattr(table, "to_pyarrow_batches"):
        return None
    nw = _narwhals()

    try:
        lazy = nw.dependencies.is_polars_lazyframe(table) or nw.dependencies.is_duckdb_relation(table)
        if lazy or nw.dependencies.is_into_dataframe(table):
            return nw.from_native(table)
        if _of_arrow(table) and hasattr(table, "__arrow_c_stream__") and hasattr(table, "schema"):
            return nw.from_arrow(table, backend="pyarrow")
    except nw.exceptions.DuplicateError:
        raise InvalidProblem(f"table: must have each of the columns {_twice(table)} once; rename one.") from None
    return None


def _twice(table: Any) -> list[Label]:
    """Names of columns are public."""
    held = list(table.column_names if _of_arrow(table) else table.columns)
    return [name for name in dict.fromkeys(held) if held.count(name) > 1]


def _of_arrow(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "pyarrow"


def _names(frame: Any) -> list[Label]:
    return list(frame.collect_schema().names())


def _collected(frame: Any, names: Sequence[Label]) -> Any:
    """The frame in memory, of some columns."""
    if hasattr(frame, "collect"):
        return frame.select(*names).collect()
    native = frame.to_native()
    return _narwhals().from_native(as_pandas_may_hold(native)) if _of_arrow(native) else frame


def as_pandas_may_hold(table: Any) -> Any:
    """An Arrow table whose columns of long whole numbers that pandas held in types of NumPy are floats, as they are where one
    is missing."""
    import pyarrow as pa

    for name in turned_by_pandas((table.schema.metadata or {}).get(b"pandas", b"")) & set(table.column_names):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(place).cast(pa.float64(), safe=False))
    return table


def turned_by_pandas(metadata: bytes | str) -> set[str]:
    """The columns of long whole numbers that become floats as soon as one is missing, by what pandas writes of its types into
    Arrow tables and Parquet files."""
    with suppress(ValueError, KeyError, TypeError):
        columns = json.loads(metadata)["columns"]
        return {column["name"] for column in columns if column["numpy_type"] in ("int64", "uint64")}
    return set()
