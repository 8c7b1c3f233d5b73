"""What files share that ask about counts by element: universe, queries and relation are written as for linear queries."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from designer.base.schema import COUNT, Fragment, Named, Schema, either, noted, record
from designer.files.data_files import read_matrix
from designer.problem.workload import Workload
from designer.problem_file.forms import ProblemFile, Reader, require_form
from designer.problem_file.linear import MATRICES, WORKLOAD_NOTE, LinearFile, LinearReader
from designer.problem_file.linear_forms import DOMAIN, ELEMENTS
from designer.problem_file.relations import BUDGETED, INVARIANT, RELATION_NOTE, by_notion, metric_forms, relation_rules

SHARED = ("elements", "domain", "workload", "relation", "invariant")  # read by the reader of linear queries
WORKLOAD = Named("matrix_workload", noted(WORKLOAD_NOTE, either(*(form.schema for form in MATRICES))))
RECORDS = record({"records": noted("How many records there are, a public number.", COUNT)}, note="What is public of the data.")


def over_a_metric(needed: Mapping[str, Fragment], free: Mapping[str, Fragment]) -> Schema:
    """The form of a file with queries over elements that a metric protects, and sections of its own."""
    metric, _ = metric_forms()
    return record(
        {"workload": WORKLOAD, "relation": metric, **needed}, {"elements": ELEMENTS, "domain": DOMAIN, **free}, **by_notion()
    )


def over_a_relation(needed: Mapping[str, Fragment], **rules: Any) -> Schema:
    """The same over any relation, statistics that are published included; whether queries are asked is left to the rules."""
    _, without = metric_forms()
    relation = noted(RELATION_NOTE, either(without, BUDGETED))
    shared: dict[str, Fragment] = {"workload": WORKLOAD, "elements": ELEMENTS, "domain": DOMAIN}
    shared["invariant"] = INVARIANT.fragment
    return record({"relation": relation, **needed}, shared, allOf=[relation_rules(), rules])


class AskingReader(Reader, ABC):
    """A file with sections of its own beside those of linear queries, which `question` reads."""

    def require(self, kind: type[ProblemFile]) -> None:
        """Hold own sections against their form; the reader of linear queries looks into the shared ones."""
        self.require_own(kind.whole())

    def require_own(self, whole: Schema) -> None:
        """The same, for the form of the whole file."""
        forms = {name: {"type": "object"} if name in SHARED else form for name, form in whole["properties"].items()}
        needed = {name: forms.pop(name) for name in whole["required"]}
        require_form(self.path, record(needed, forms), self.data)
        self.question.require(LinearFile)

    @cached_property
    def question(self) -> LinearReader:
        """The reader of the shared sections."""
        return LinearReader(self.path, self.shared())

    def shared(self) -> dict[str, Any]:
        return {name: self.data[name] for name in (*SHARED, "unlisted") if name in self.data}

    def workload(self) -> Workload:
        """The queries, which a matrix holds."""
        if self.question.is_structured:
            kind = self.question.workload_kind()
            raise self.refuse(
                "workload", kind, self.data["workload"][kind],
                f"is for linear queries, which need no matrix; give one of {[form.name for form in MATRICES]}",
            )  # fmt: skip
        self.question.require_one_universe()
        return self.question.workload()

    def read_files(self) -> tuple[Path, ...]:
        """All files that were read, each once."""
        return tuple(dict.fromkeys([*self.files, *self.question.files]))

    def numbers(self, section: str, key: str) -> Any:
        """Numbers that stand in the file itself, or in a file that the key names; None where there are none."""
        given = self.get(section, key, (list, str), None)
        return read_matrix(self.file(section, key)) if isinstance(given, str) else given

    def row_of_numbers(self, section: str, key: str) -> Any:
        """The same as one list; a file of them has one row or one column."""
        found = self.numbers(section, key)
        if not isinstance(found, np.ndarray):
            return found
        if 1 not in found.shape:
            raise self.refuse(section, key, self.data[section][key], f"holds {found.shape} numbers; give one row or one column")
        return found.ravel()
