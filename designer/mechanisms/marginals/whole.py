"""Post-processing of released marginals: nonnegative whole tables that agree wherever they share attributes.

docs/theory/marginals.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce, step
from designer.certified.agreement import Moved
from designer.certified.guarantee import Guarantee
from designer.mechanisms.marginals.release import MarginalRelease
from solvers.programs.table_fit import AskedTable, fitted_counts, table_of

CELLS = 2**18  # of the attributes that are asked about, all together
WORDS = (
    "Nonnegative whole tables, all of one histogram of {records} records: they agree wherever they share attributes. The "
    "histogram was fitted to the released tables by least squares, weighted by variances, and rounded; no nearer one is "
    "excluded. Unlike the released tables these are not unbiased."
)


@dataclass(frozen=True, eq=False)
class WholeTables:
    """Tables of whole numbers by the names of their attributes, computed from the release of `fingerprint`, whose guarantee
    they keep.

    distance: root mean square, over all cells of requested tables, of how far they are from the released ones in standard
    deviations of the noise. post_processing: what was done, in words. Each table is (n_1, ..., n_r), axes follow the domain.
    """

    tables: Mapping[tuple[str, ...], NDArray[np.int64]]
    records: int
    distance: float
    post_processing: str
    guarantee: Guarantee
    fingerprint: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data: tables by the names of their attributes, what was done, the guarantee, the fingerprint."""
        return {
            "tables": [{"attributes": list(names), "counts": table.tolist()} for names, table in self.tables.items()],
            "records": self.records,
            "distance": self.distance,
            "post_processing": self.post_processing,
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


@step("whole tables")
def whole_tables(release: MarginalRelease) -> WholeTables:
    """All requested tables as nonnegative whole numbers that agree exactly, from the release alone: privacy is untouched.
    Where the number of records is public, they have it.

    One histogram over all attributes that are asked about is fitted, so these may have up to 2^18 combinations together;
    `InvalidProblem` beyond.
    """
    if not isinstance(release, MarginalRelease):
        raise InvalidProblem(f"release: {shown(release)} is none of marginals; give what `release` returned.", value=release)
    mechanism, workload = release.mechanism, release.mechanism.workload
    used, shape = workload.used, workload.shape(workload.used)
    if math.prod(shape) > CELLS:
        raise InvalidProblem(
            f"whole tables: the attributes asked about have {math.prod(shape)} combinations, more than {CELLS}; ask for tables "
            "over fewer attributes in one plan, or round each table by itself."
        )
    announce("marginals: fitting whole tables")
    place = {axis: k for k, axis in enumerate(used)}
    asked, variances = [], {}
    for subset, names in zip(workload.subsets.tuples(), map(workload.names, workload.subsets.tuples()), strict=True):
        variances[names] = mechanism.variances(names)
        weight = 1 / max(float(variances[names].mean()), 1e-6)
        asked.append(AskedTable(tuple(place[axis] for axis in subset), release.table(names), weight))
    try:
        counts = fitted_counts(shape, asked, round(float(asked[0].values.sum())) if mechanism.is_exact(()) else None)
    except RuntimeError:
        raise DesignFailed("whole tables: the solver gave up; ask for tables over fewer attributes in one plan.") from None
    tables = {names: table_of(counts, table.axes) for names, table in zip(variances, asked, strict=True)}
    square = [(tables[n] - t.values) ** 2 / np.maximum(variances[n], 1e-6) for n, t in zip(variances, asked, strict=True)]
    distance = math.sqrt(sum(float(part.sum()) for part in square) / sum(part.size for part in square))
    records = int(counts.sum())
    moved = Moved.of(
        np.concatenate([table.values.ravel() for table in asked]),
        np.concatenate([tables[names].ravel() for names in variances]),
        np.sqrt(np.concatenate([part.ravel() for part in variances.values()])),
        [name for table in release.answer_tables() for name in table.names()],
    )
    words = f"{WORDS.format(records=records)} {moved.sentence()}"
    return WholeTables(tables, records, distance, words, release.guarantee, release.fingerprint)
