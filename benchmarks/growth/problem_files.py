"""Problem files of more and more codes, tables and groups: read, designed, saved, loaded; and targets at stated budgets."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.growth.case import Case
from designer.domains.marginals_least import marginals_meeting
from designer.domains.marginals_plan import design_marginals

PLAN = """
kind = "table_plan"
[measures.jobs]
upper = 100000
[hierarchies.place]
columns = ["state", "county"]
keys_from = "codes.csv"
levels = ["nation", "state", "county"]
[design]
hierarchy = "place"
[design.accuracy.jobs.levels]
nation = {standard_error = 1000}
state = {standard_error = 500}
county = {relative_error = 0.1, totals_from = "codes.csv", share = 0.9}
[design.prior]
cap = {jobs = 50}
[queries.firms]
ask = "count"
groups = ["state", "county"]
[targets]
margin = {"firms by state" = 50, "firms by county" = 20}
"""


def plan_of_codes(codes: int) -> str:
    """A plan over a hierarchy whose counties stand in a table: from the file to a spec that was loaded again."""
    from designer import load
    from designer.problem_file.kinds import read_request

    rows = "".join(f"S{place % 50},C{place},{100 + place % 977}\n" for place in range(codes))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        path.write_text(PLAN)
        (path.parent / "codes.csv").write_text("state,county,jobs\n" + rows)
        made = read_request(path).made().mechanism
        again = load(made.save(path.parent / "spec.json"))
    gap = made.optimality.gap if made.optimality else float("nan")
    return f"gap {gap:.1e}, equal: {again.fingerprint == made.fingerprint}"


def marginals_of_file(attributes: int) -> str:
    """All tables of two attributes of 8 values, a budget for each attribute."""
    from designer import load
    from designer.problem_file.kinds import read_request

    names = [f"a{i}" for i in range(attributes)]
    budgets = ", ".join(f"{name} = {0.5 + i % 3}" for i, name in enumerate(names))
    text = 'kind = "marginals"\n[domain]\n' + "".join(f"{name} = 8\n" for name in names)
    text += f'[workload]\nup_to = 2\n[relation]\nmetric = "hamming"\nbudgets = {{{budgets}}}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.toml"
        path.write_text(text)
        made = read_request(path).made().mechanism
        again = load(made.save(path.parent / "spec.json"))
    gap = made.optimality.gap if made.optimality else float("nan")
    return f"gap {gap:.1e}, equal: {again.fingerprint == made.fingerprint}"


def targets_met(attributes: int) -> str:
    """A tenth of these tables are to have nine tenths of the standard error that they have without targets."""
    from designer import MarginalWorkload, Presence, Targets
    from designer.problem.domain import Domain

    ask = MarginalWorkload.up_to(Domain.of({f"a{i}": 8 for i in range(attributes)}), 2)
    free = design_marginals(ask, Presence(mu=1.0))
    names: list[Any] = [ask.names(subset) for subset in ask.subsets.tuples()]
    wanted = {name: 0.9 * float(free.variances(name).max()) ** 0.5 for name in names[::10]}
    made = marginals_meeting(ask, Presence(mu=1.0), Targets(standard_error=wanted))
    gap = made.optimality.gap if made.optimality else float("nan")
    return f"{len(wanted)} targets, loss {made.error() / free.error():.4f} of that without, gap {gap:.1e}"


CASES = (
    Case("a table plan by design from a problem file", "codes", (100, 1_000, 10_000, 100_000), plan_of_codes),
    Case("marginals from a problem file", "attributes", (5, 10, 20, 40, 80), marginals_of_file),
    Case("marginals that meet targets", "attributes", (5, 10, 20, 40), targets_met),
)
