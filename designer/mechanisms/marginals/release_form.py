"""Releases of marginals as files: noisy contrasts, and the tables that are put together from them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from designer.certified.release_form import RESTORE, ReleaseForm, ReleaseKeys, told, whole_table
from designer.base.errors import InvalidSpec
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.marginals.release import MarginalRelease
from designer.mechanisms.marginals.residuals import assemble
from designer.base.arrays import Floats
from designer.base.schema import NAMES, list_of, noted, record, text

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
            found.append(told(names, np.rint(table).astype(np.int64).tolist()))
        return found

    def rebuilt(self, mechanism: MarginalMechanism, content: Mapping[str, Any]) -> MarginalRelease:
        listed = content["residuals"]
        names = [list(mechanism.workload.names(subset)) for subset in mechanism.position]
        if not isinstance(listed, list) or [entry.get("attributes") for entry in listed] != names:
            raise InvalidSpec(f"residuals: are not over the attributes that the mechanism measures; {RESTORE}")
        noisy = {}
        for subset, entry in zip(mechanism.position, listed, strict=True):
            shape = [n - 1 for n in mechanism.workload.shape(subset)]
            noisy[subset] = whole_table(entry.get("values"), shape, f"residuals of {entry['attributes']}")
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
