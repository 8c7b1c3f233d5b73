"""What a spec of a plan for a table holds."""

from __future__ import annotations

from designer.problem.unlisted import IN_SPECS
from designer.tables.groups import Groups
from designer.tables.query_file import QUERY
from designer.tables.unit_splitting import UnitSplitting
from designer.base.schema import COUNT, Named, RATIONAL, list_of, needs_one_of, noted, number, or_null, record, text

MOST_QUERIES = 1000
PLAN = Named(
    "table_plan",
    record(
        {
            "levels": list_of(Groups.schema),
            "queries": list_of(QUERY, most=MOST_QUERIES),
            "splitting": or_null(UnitSplitting.schema),
            "rho": noted("The loss of a split row.", or_null(RATIONAL)),
        },
        {"constant": RATIONAL, **IN_SPECS},
        note="Queries of one table, each with its noise; `groups` of a query is its place among `levels`. `constant` "
        "is the loss of every record beside that of its split rows.",
    ),
)
DELTAS = {"delta": number(least=0, most=1), "delta_of_one_row": number(least=0, most=1)}
PARAMETERS = Named(
    "parameters_of_table_plans",
    record(
        {"queries": COUNT},
        {"rho_per_split_row": number(least=0), "constant_loss": number(least=0), **DELTAS},
        note="The delta of found groups, of every record or of a record of one row.",
        anyOf=needs_one_of(*DELTAS),
    ),
)
RHO_IS_STATED = {
    "if": {"properties": {"mechanism": {"properties": {"rho": text()}}}},
    "then": {"properties": {"guarantee": {"properties": {"parameters": {"required": ["rho_per_split_row"]}}}}},
}
