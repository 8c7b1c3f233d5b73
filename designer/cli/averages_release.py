"""Releases of averages from records: the problem file says what of a record each function tells apart."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from designer.certified.guarantee import Guarantee
from designer.certified.frozen import Released
from designer.relations.rows.row_unit import RowUnit
from designer.base.errors import InvalidProblem
from designer.files.data_files import read_records, require_records_file
from designer.files.problem.averages import AveragesFile
from designer.files.problem.kinds import read_request
from designer.families.averages.queries import StatisticalQueries
from designer.tables.opening import open_table, require_openable
from designer.base.confidential import withholding

FLAG = "--counted-by"


def add_counting_option(made: argparse.ArgumentParser) -> None:
    """The problem file of averages."""
    made.add_argument(
        FLAG, type=Path, help=f"the problem file (kind {AveragesFile.kind!r}) of the spec, which says how --table is counted"
    )


def releasing_averages(mechanism: Any, options: argparse.Namespace) -> tuple[Callable[[], object], Callable[[], Released]]:
    """A look at the names of columns of records, and the release of a spec of averages from them; refused here where spec,
    problem file and options do not fit. The records are not opened here."""
    request = read_request(options.counted_by)
    if not isinstance(request, AveragesFile):
        raise InvalidProblem(
            f"{FLAG}: {options.counted_by} is of kind {request.kind!r}, whose specs take --table or --histogram as they are."
        )
    if options.table is None or options.histogram is not None:
        raise InvalidProblem(f"{FLAG}: says how records are counted; give them as --table, and no --histogram.")
    if getattr(mechanism, "workload", None) != request.queries.workload:
        raise InvalidProblem(
            f"{FLAG}: {options.counted_by} asks for other averages than the spec; give the file of its design."
        )
    attributes = [name for group in request.queries.groups for name in group.domain.attributes]
    require_records_file(options.table)
    row = RowUnit(entity=options.entity, rows_per_entity=options.rows_per_entity)
    stated, given = mechanism.guarantee_for(row), (options.table, attributes, options.delimiter)

    def ready() -> None:
        read_records(*given)
        if row.entity is not None:
            require_openable(options.table, delimiter=options.delimiter)

    def release() -> Released:
        records = read_records(*given) if row.entity is None else partial(_bounded, options, row, attributes)
        return _released(mechanism, request.queries, records, row, stated)

    return ready, release


@withholding
def _released(
    mechanism: Any, queries: StatisticalQueries, records: Callable[[], Any], row: RowUnit, stated: Guarantee
) -> Released:
    """Counts of what the functions tell apart, and the release from them."""
    released: Released = replace(mechanism.release_counts(queries.histogram(records())), guarantee=stated, row=row)
    return released


def _bounded(options: argparse.Namespace, row: RowUnit, attributes: list[str]) -> dict[str, list[Any]]:
    """The rows of each entity that count, as columns."""
    rows = row.rows(open_table(options.table, delimiter=options.delimiter), attributes)
    held: dict[str, list[Any]] = rows.select(*attributes).to_pyarrow().to_pydict()
    return held
