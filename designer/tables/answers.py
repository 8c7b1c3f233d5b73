"""What a plan hands out: noisy answers by query and group, released with a guarantee or simulated with a stamp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.answer_table import AnswerTable, LawOfAnswers, Tabular, tables_in_order
from designer.base.arrays import Floats, frozen
from designer.base.display import Displayed, Preview, printed
from designer.base.errors import InvalidProblem
from designer.certificate.agreement import Moved
from designer.certificate.guarantee import Guarantee
from designer.relations.records.row_unit import RowUnit
from designer.tables.groups import Labels

CONSISTENT = "Values of least squares, weighted by variances, which agree in all sums that they share."


@dataclass(frozen=True, eq=False)
class Answer(Displayed):
    """The noisy answers of one query, one for each key in order.

    variances: of the noise that was drawn, exact (None where an answer is no sum: quantiles, averages, and where the variance
    depends on the sum). integers: the noisy whole numbers themselves, from which values are computed: `integers * step`, or,
    without a step, what noise on a transformed sum makes of them. Hierarchies are made consistent from them and the variances.
    values, variances: (G,), for G keys, in the units of the query. post_processing: what was made of released answers, and how
    many standard errors the farthest value lies from the one that was released. Empty where these are the released values.
    """

    name: str
    columns: tuple[str, ...]
    keys: tuple[Labels, ...]
    values: Floats
    variances: Floats | None = None
    integers: tuple[int, ...] | None = None
    step: Fraction | None = None
    post_processing: str = ""

    def __getitem__(self, key: Sequence[object] | str) -> float:
        """The answer of one group, `answer["Retail"]` or `answer["DE", "11"]`."""
        labels = (key,) if isinstance(key, str) else tuple(map(str, key))
        if labels not in self._place:
            raise InvalidProblem(f"key: {labels} is no group of {self.name!r}.", value=labels)
        return float(self.values[self._place[labels]])

    @cached_property
    def _place(self) -> dict[Labels, int]:
        return {labels: i for i, labels in enumerate(self.keys)}

    def _display_facts(self) -> Mapping[str, object]:
        return {"query": self.name, "answers": len(self.values)}

    def _display_rows(self) -> Preview | None:
        return self.table()._display_rows()

    def table(self) -> AnswerTable:
        """The answers by the columns of the groups; those of everybody by the name of the query."""
        columns, keys = (self.columns, self.keys) if self.columns else (("query",), ((self.name,),) * len(self.keys))
        errors = None if self.variances is None else np.sqrt(self.variances)
        return AnswerTable(self.name, columns, keys, self.values, errors)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, a row for each group."""
        return {
            "columns": list(self.columns),
            "keys": [list(labels) for labels in self.keys],
            "values": self.values.tolist(),
            "variances": None if self.variances is None else self.variances.tolist(),
            "integers": None if self.integers is None else list(self.integers),
            "step": None if self.step is None else str(self.step),
            **({"post_processing": self.post_processing} if self.post_processing else {}),
        }

    def consistent(self, values: Floats, variances: Floats) -> Answer:
        """The answers of least squares in the place of these, with how far they lie from them. values, variances: (G,)."""
        released = self.table()
        moved = Moved.of(released.answers, values, released.standard_errors, released.names())
        return replace(
            self,
            values=frozen(values),
            variances=frozen(variances),
            integers=None,
            step=None,
            post_processing=f"{CONSISTENT} {moved.sentence()}",
        )


@dataclass(frozen=True, eq=False)
class Answers:
    """Noisy answers by query name."""

    answers: dict[str, Answer]

    def __getitem__(self, name: str) -> Answer:
        if name not in self.answers:
            raise InvalidProblem(f"name: {name!r} is not among {sorted(self.answers)}.", value=name)
        return self.answers[name]

    def to_text(self) -> str:
        """A line for each group of each query, with the standard deviation of its noise."""
        lines = []
        for answer in self.answers.values():
            lines.append(printed(answer.name))
            deviations = [None] * len(answer.keys) if answer.variances is None else np.sqrt(answer.variances).tolist()
            for labels, value, deviation in zip(answer.keys, answer.values.tolist(), deviations, strict=True):
                lines.append(
                    f"  {printed(' / '.join(labels)) or 'all'}: {value:,.15g}"
                    + ("" if deviation is None else f" +- {deviation:,.4g}")
                )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class TableRelease(Answers, Tabular):
    """Noisy answers by query name, with the guarantee they carry and the fingerprint of the plan that made them."""

    guarantee: Guarantee
    fingerprint: str
    row: RowUnit | None = field(default=None, kw_only=True)
    law: LawOfAnswers | None = field(default=None, kw_only=True, repr=False)

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The answers of each query, by the columns of its groups."""
        return tables_in_order([answer.table() for answer in self.answers.values()], self.law, self)

    def _display_facts(self) -> Mapping[str, object]:
        return {
            "queries": len(self.answers),
            "answers": sum(len(own.keys) for own in self.answers.values()),
            **super()._display_facts(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data: answers, the guarantee, the fingerprint."""
        answers = {name: answer.to_dict() for name, answer in self.answers.items()}
        return {"answers": answers, "fingerprint": self.fingerprint, "guarantee": self.guarantee.to_dict()}


@dataclass(frozen=True, eq=False)
class TableSimulation(Answers):
    """Answers of a public table with noise, and a `stamp` that says that they protect nobody."""

    stamp: str
