"""Releases as folders of tables, and numbers that agree, by how many answers there are."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.growth.case import Case
from designer import Domain, MarginalMechanism, MarginalRelease, MarginalWorkload, Presence
from designer.domains.marginals_plan import design_marginals
from designer.files.releases import release_document
from designer.files.table_files import FileKind, TableOptions, agreeing_tables, write_tables
from designer.tables import Count, TablePlan, hierarchy


def one_table(cells: int) -> tuple[MarginalMechanism, MarginalRelease]:
    """A released table of so many cells."""
    domain = Domain.of({"place": cells // 100, "age": 100})
    made = design_marginals(MarginalWorkload.of(domain, [["place", "age"]]), Presence(mu=1.0))
    random = np.random.default_rng(cells)
    records = {"place": random.integers(0, cells // 100, 2 * cells), "age": random.integers(0, 100, 2 * cells)}
    return made, made.release({name: column.tolist() for name, column in records.items()})


def written(given: tuple[MarginalMechanism, MarginalRelease], kind: FileKind) -> str:
    """All files of the folder, intervals included."""
    made, released = given
    with TemporaryDirectory() as folder:
        path = Path(folder, "tables")
        write_tables(made, released, release_document(made, released), path, TableOptions(kind))
        return f"{sum(file.stat().st_size for file in path.iterdir()) / 1e6:.1f} MB"


def as_csv(given: Any) -> str:
    """CSV."""
    return written(given, "csv")


def as_parquet(given: Any) -> str:
    """Parquet."""
    return written(given, "parquet")


def framed(given: tuple[MarginalMechanism, MarginalRelease]) -> str:
    """A frame of polars."""
    return f"{given[1].to_frame('polars').shape[0]} rows"


@cache
def hierarchy_of(groups: int) -> tuple[TablePlan, Any]:
    """A release of a plan of three levels, with so many groups in the last."""
    import ibis

    levels = hierarchy(["state", "county"], [(str(k // 50), str(k)) for k in range(groups)])
    plan = TablePlan([Count(f"level {k}", level, variance=9) for k, level in enumerate(levels)])
    random = np.random.default_rng(groups)
    county = random.integers(0, groups, 10 * groups)
    return plan, plan.release(ibis.memtable({"state": (county // 50).astype(str), "county": county.astype(str)}))


def agreeing_levels(given: tuple[TablePlan, Any]) -> str:
    """Whole numbers that agree over three levels."""
    found = agreeing_tables(*given)
    return "proven" if "no nearer" in found.words else "not proven"


def crossed(cells: int) -> tuple[MarginalMechanism, MarginalRelease]:
    """Three crossing tables over so many joint cells."""
    size = round(cells ** (1 / 3))
    domain = Domain.of(dict.fromkeys("abc", size))
    made = design_marginals(MarginalWorkload.of(domain, [["a", "b"], ["b", "c"], ["a", "c"]]), Presence(mu=1.0))
    random = np.random.default_rng(cells)
    return made, made.release({name: random.integers(0, size, 20 * cells).tolist() for name in "abc"})


def agreeing_margins(given: tuple[MarginalMechanism, MarginalRelease]) -> str:
    """Whole numbers that agree over three crossing tables."""
    found = agreeing_tables(*given)
    return "proven" if "no nearer" in found.words else "not proven"


CASES = (
    Case("folders: CSV", "answers", (10_000, 30_000, 100_000, 300_000), as_csv, one_table),
    Case("folders: Parquet", "answers", (10_000, 30_000, 100_000, 300_000), as_parquet, one_table),
    Case("folders: a frame", "answers", (10_000, 30_000, 100_000, 300_000), framed, one_table),
    Case("folders: whole numbers that agree over levels", "groups", (250, 1_000, 4_000, 15_000), agreeing_levels, hierarchy_of),
    Case("folders: whole numbers that agree over crossing tables", "cells", (64, 216, 1_000, 3_375), agreeing_margins, crossed),
)
