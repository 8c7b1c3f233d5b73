"""Releases of averages from records: the problem file says what of a record each function tells apart."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from designer.certified.specified import Released, Specified
from designer.errors import InvalidProblem
from designer.files.data_files import read_records
from designer.problem_files.averages import AveragesFile
from designer.problem_files.kinds import read_request
from designer.statistical_queries.queries import StatisticalQueries
from designer.values.confidential import withholding

FLAG = "--counted-by"


def add_counting_option(made: argparse.ArgumentParser) -> None:
    """The problem file of averages."""
    made.add_argument(
        FLAG, type=Path, help=f"the problem file (kind {AveragesFile.kind!r}) of the spec, which says how --table is counted"
    )


def releasing_averages(mechanism: Specified, options: argparse.Namespace) -> Callable[[], Released]:
    """How a spec of averages releases from records; refused here where spec, problem file and options do not fit."""
    request = read_request(options.counted_by)
    if not isinstance(request, AveragesFile):
        raise InvalidProblem(
            f"{FLAG}: {options.counted_by} is of kind {request.kind!r}, whose specs take --table or --histogram as they are."
        )
    if options.table is None or options.histogram is not None:
        raise InvalidProblem(f"{FLAG}: says how records are counted; give them as --table, and no --histogram.")
    if options.entity is not None or options.rows_per_entity is not None:
        raise InvalidProblem("--entity, --rows-per-entity: bound the records of an entity; averages are over records.")
    if getattr(mechanism, "workload", None) != request.queries.workload:
        raise InvalidProblem(
            f"{FLAG}: {options.counted_by} asks for other averages than the spec; give the file of its design."
        )
    attributes = [name for group in request.queries.groups for name in group.domain.attributes]
    records = read_records(options.table, attributes, options.delimiter)
    return lambda: _released(mechanism, request.queries, records)


@withholding
def _released(mechanism: Specified, queries: StatisticalQueries, records: Callable[[], dict[str, list[str]]]) -> Released:
    """Counts of what the functions tell apart, and the release from them."""
    return mechanism.release_counts(queries.histogram(records()))
