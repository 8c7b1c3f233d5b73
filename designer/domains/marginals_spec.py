"""Agreeing tables of marginals: all are margins of one array of counts, with the published ones among them.

Releases of marginals as files: noisy contrasts, and the tables that are put together from them.

What releases cost together: squares of budgets add.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec
from designer.base.progress import announce, step
from designer.base.published_margins import PublishedSums
from designer.base.schema import NAMES, list_of, noted, record, text
from designer.certificate.agreement import (
    RESTORE,
    AgreeingTables,
    Agreement,
    Moved,
    ReleaseForm,
    ReleaseKeys,
    agreed,
    as_entry,
    require_cells,
    whole_table,
)
from designer.certificate.guarantee import Guarantee
from designer.domains.marginals import MarginalMechanism, MarginalRelease
from designer.domains.marginals_noise import assemble
from designer.domains.marginals_workload import MarginalWorkload
from designer.limits import MOST_AGREEING_CELLS, MOST_WHOLE_TABLE_CELLS
from designer.mechanism.agreeing_answers import crossing_tables, require_few, whole_tables_of
from solvers.programs.nearest_sums import AskedTable, fitted_counts, table_of

# Post-processing of released marginals: nonnegative whole tables that agree wherever they share attributes.
#
# docs/theory/marginals.md, section 6.


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
    """Compute all requested tables as nonnegative whole numbers that agree exactly, from the release alone: privacy is
    untouched. Where the number of records is public, they have it.

    One histogram over all attributes that are asked about is fitted, so these may have up to 2^18 combinations together;
    `InvalidProblem` beyond.
    """
    if not isinstance(release, MarginalRelease):
        raise InvalidProblem(f"release: {shown(release)} is none of marginals; give what `release` returned.", value=release)
    mechanism, workload = release.mechanism, release.mechanism.workload
    used, shape = workload.used, workload.shape(workload.used)
    if math.prod(shape) > MOST_WHOLE_TABLE_CELLS:
        raise InvalidProblem(
            f"whole tables: the attributes asked about have {math.prod(shape)} combinations, more than "
            f"{MOST_WHOLE_TABLE_CELLS}; ask for tables over fewer attributes in one plan, or round each table by itself."
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


NESTED = noted("Nested lists, an axis for each attribute in their order.", {"type": ["array", "number", "string"]})
ATTRIBUTES = list_of(text(), least=0)
CATEGORIES = noted("The values of each attribute, in order.", {"type": "object", "additionalProperties": NAMES})


class MarginalForm(ReleaseForm[MarginalMechanism, MarginalRelease]):
    """Tables by the names of their attributes, and the contrasts that they come from."""

    schema: ClassVar[ReleaseKeys] = {
        "categories": CATEGORIES,
        "tables": list_of(
            record({"attributes": ATTRIBUTES, **dict.fromkeys(("counts", "variances", "standard_errors"), NESTED)})
        ),
        "residuals": list_of(record({"attributes": ATTRIBUTES, "values": NESTED})),
    }
    checked = (
        "Every noisy contrast is a whole number; tables that no noise enters hold whole counts from 0 on.",
        "Every table, variance and standard error is the one that follows from the contrasts, so tables agree wherever they "
        "share attributes.",
    )

    def content(self, mechanism: MarginalMechanism, released: MarginalRelease) -> dict[str, Any]:
        domain = mechanism.workload.domain
        tables = released.to_dict()["tables"]
        return {
            "categories": {name: list(values) for name, values in zip(domain.attributes, domain.values, strict=True)},
            "tables": [{**table, "standard_errors": np.sqrt(np.array(table["variances"])).tolist()} for table in tables],
            "residuals": [
                {"attributes": list(mechanism.workload.names(subset)), "values": values.tolist()}
                for subset, values in released.residuals.items()
            ],
        }

    def published(self, mechanism: MarginalMechanism, released: MarginalRelease) -> list[dict[str, Any]]:
        found = []
        for subset, table in exact_tables(mechanism, released).items():
            names = " x ".join(mechanism.workload.names(subset)) or "number of records"
            found.append(as_entry(names, np.rint(table).astype(np.int64).tolist()))
        return found

    def rebuilt(self, mechanism: MarginalMechanism, content: Mapping[str, Any]) -> MarginalRelease:
        listed = content["residuals"]
        names = [list(mechanism.workload.names(subset)) for subset in mechanism.position]
        if not isinstance(listed, list) or [entry.get("attributes") for entry in listed] != names:
            raise InvalidSpec(f"residuals: are not over the attributes that the mechanism measures; {RESTORE}")
        noisy = []
        for subset, entry in zip(mechanism.position, listed, strict=True):
            shape = [n - 1 for n in mechanism.workload.shape(subset)]
            noisy.append(whole_table(entry.get("values"), shape, f"residuals of {entry['attributes']}"))
        released = mechanism._release_of(noisy)
        for table in exact_tables(mechanism, released).values():
            if np.abs(table - np.rint(table)).max() > 1e-6 or np.rint(table).min() < 0:
                raise InvalidSpec(f"residuals: a table without noise holds no counts; {RESTORE}")
        return released


def exact_tables(mechanism: MarginalMechanism, released: MarginalRelease) -> dict[tuple[int, ...], Floats]:
    """The largest tables all of whose contrasts are without noise."""
    silent = {subset for subset, k in mechanism.position.items() if np.isinf(mechanism.precisions[k])}
    whole = [subset for subset in silent if all(part in silent for part in _below(subset))]
    largest = sorted(subset for subset in whole if not any(set(subset) < set(other) for other in whole))
    shapes = {subset: mechanism.workload.shape(subset) for subset in largest}
    residuals = released.residuals
    return {
        subset: assemble(subset, shape, lambda part: residuals[part].astype(np.float64)) for subset, shape in shapes.items()
    }


def _below(subset: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All parts of a subset but itself."""
    return [part for size in range(len(subset)) for part in combinations(subset, size)]


PROVEN_CELLS = 4_000  # of crossing margins whose nearest whole table is proven in seconds
DETOUR = " Found by projected gradients and by moving single records, since the joint cells are many."


class MarginAgreement(Agreement[MarginalMechanism, MarginalRelease]):
    """Exactly where the attributes that are asked about have few combinations; by `whole_tables` where they have more and
    nothing is published."""

    def require(self, mechanism: MarginalMechanism, published: PublishedSums | None) -> None:
        cells = _cells(mechanism.workload)
        if cells > (MOST_WHOLE_TABLE_CELLS if published is None and not _is_exact(mechanism) else MOST_AGREEING_CELLS):
            require_cells(cells, "the attributes that are asked about")
        if published is not None:
            _published(mechanism.workload, published)

    def made(
        self, mechanism: MarginalMechanism, released: MarginalRelease, published: PublishedSums | None, whole: bool
    ) -> AgreeingTables:
        tables, cells = released.answer_tables(), _cells(mechanism.workload)
        free = published is None and not _is_exact(mechanism)
        if cells > MOST_AGREEING_CELLS or (free and whole and cells > PROVEN_CELLS):
            found = whole_tables(released)
            counts = tuple(table.ravel().astype(np.float64) for table in found.tables.values())
            return AgreeingTables(
                counts, ("",) * len(counts), f"Post-processing: {WORDS.format(records=found.records)}{DETOUR}", True
            )
        errors = np.concatenate([np.asarray(table.standard_errors) for table in tables])
        exact = [*_exact(mechanism, released), *([] if published is None else [_published(mechanism.workload, published)])]
        answers = np.concatenate([table.answers for table in tables])
        sums = margin_rows(mechanism.workload, mechanism.workload.subsets.tuples())
        joined, words = agreed(sums, answers, errors, exact, whole)
        return AgreeingTables.joined(joined, tables, words, whole)

    def require_unbiased(self, mechanism: MarginalMechanism, whole: bool) -> None:
        if whole:
            names, rows = _named_rows(mechanism.workload)
            crossing_tables(rows, names, np.zeros(len(names), dtype=bool))

    def unbiased(self, mechanism: MarginalMechanism, released: MarginalRelease, whole: bool) -> AgreeingTables:
        if not whole:
            return super().unbiased(mechanism, released, whole)
        return whole_tables_of(_named_rows(mechanism.workload)[1], released)


def _named_rows(workload: MarginalWorkload) -> tuple[list[str], Any]:
    """The answers by name, (K,), and as sums of cells, (K, N), few enough to be rounded."""
    subsets = workload.subsets.tuples()
    require_few(sum(math.prod(workload.shape(subset)) for subset in subsets), _cells(workload))
    tables = zip(workload.titles, map(workload.keys_of, range(len(subsets))), strict=True)
    names = [" / ".join((title, *key)) for title, keys in tables for key in keys]
    return names, margin_rows(workload, subsets)


def margin_rows(workload: MarginalWorkload, subsets: Iterable[tuple[int, ...]]) -> Any:
    """Each cell of some tables as a sum of the cells over all attributes that are asked about, (K, N), sparse."""
    from scipy.sparse import csr_array, vstack

    shape = workload.shape(workload.used)
    places = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.intp)
    cells = np.arange(places.shape[1])
    parts = [csr_array((0, len(cells)))]
    for subset in subsets:
        own = [workload.used.index(axis) for axis in subset]
        size = math.prod(shape[k] for k in own)
        row = np.ravel_multi_index(tuple(places[own]), tuple(shape[k] for k in own)) if own else np.zeros_like(cells)
        parts.append(csr_array((np.ones(len(cells)), (row, cells)), shape=(size, len(cells))))
    return vstack(parts)


def _exact(mechanism: MarginalMechanism, released: MarginalRelease) -> list[tuple[Any, Floats]]:
    """The tables that no noise enters, asked for or not: other tables tell them as their margins."""
    tables = exact_tables(mechanism, released)
    values = [np.rint(table).ravel() for table in tables.values()]
    return [(margin_rows(mechanism.workload, tables), np.concatenate([np.zeros(0), *values]))]


def _is_exact(mechanism: MarginalMechanism) -> bool:
    return bool(np.isinf(mechanism.precisions).any())


def _cells(workload: MarginalWorkload) -> int:
    return math.prod(workload.shape(workload.used))


def _published(workload: MarginalWorkload, published: PublishedSums) -> tuple[Any, Floats]:
    """Published sums over the cells of all attributes that are asked about."""
    domain = workload.domain
    keys = list(product(*(domain.values[axis] for axis in workload.used)))
    return published.matched(workload.names(workload.used), keys)
