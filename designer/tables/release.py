"""Releases of a plan: exact aggregates of the records meet exact noise, and only the sum of the two goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from designer.confidential import withholding
from designer.engines.row_unit import RowUnit
from designer.errors import InvalidProblem
from designer.frozen import Floats, count, frozen
from designer.guarantee import Guarantee
from designer.printing import printed
from designer.sampling.discrete_gaussian import DiscreteGaussian
from designer.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from designer.selection import Selection
from designer.tables.aggregates import Numbers, cell_counts, no_counts, numbers
from designer.tables.groups import Groups, Labels
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive, Average, Query

if TYPE_CHECKING:
    from designer.tables.plan import TablePlan

Choose = Callable[[Selection, Any], int]


@dataclass(frozen=True, eq=False)
class Answer:
    """The noisy answers of one query, one for each key in order.

    variances: of the noise that was drawn, exact (None where an answer is no sum: quantiles, averages). integers: the noisy numbers of
    steps themselves, from which `values = integers * step` are computed; hierarchies are made consistent from them and the variances.
    """

    name: str
    columns: tuple[str, ...]
    keys: tuple[Labels, ...]
    values: Floats
    variances: Floats | None = None
    integers: tuple[int, ...] | None = None
    step: Fraction | None = None

    def __getitem__(self, key: Sequence[object] | str) -> float:
        """The answer of one group, `answer["Retail"]` or `answer["DE", "11"]`."""
        labels = (key,) if isinstance(key, str) else tuple(map(str, key))
        if labels not in self._place:
            raise InvalidProblem(f"key: {labels} is no group of {self.name!r}.")
        return float(self.values[self._place[labels]])

    @cached_property
    def _place(self) -> dict[Labels, int]:
        return {labels: i for i, labels in enumerate(self.keys)}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, a row for each group."""
        return {
            "columns": list(self.columns),
            "keys": [list(labels) for labels in self.keys],
            "values": self.values.tolist(),
            "variances": None if self.variances is None else self.variances.tolist(),
            "integers": None if self.integers is None else list(self.integers),
            "step": None if self.step is None else str(self.step),
        }


@dataclass(frozen=True, eq=False)
class _Answers:
    answers: dict[str, Answer]

    def __getitem__(self, name: str) -> Answer:
        if name not in self.answers:
            raise InvalidProblem(f"name: {name!r} is not among {sorted(self.answers)}.")
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
class TableRelease(_Answers):
    """Noisy answers by query name, with the guarantee they carry and the fingerprint of the plan that made them."""

    guarantee: Guarantee
    fingerprint: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data: answers, the guarantee, the fingerprint."""
        answers = {name: answer.to_dict() for name, answer in self.answers.items()}
        return {"answers": answers, "fingerprint": self.fingerprint, "guarantee": self.guarantee.to_dict()}


@dataclass(frozen=True, eq=False)
class TableSimulation(_Answers):
    """Answers of a public table with noise, and a `stamp` that says that they protect nobody."""

    stamp: str


@withholding
def release(plan: TablePlan, table: Any, unit: RowUnit) -> TableRelease:
    """Exact integers plus exact noise from the operating system's entropy."""
    rows = unit.rows(table, plan.columns)
    answers = _answers(plan, rows, SystemEntropy(), lambda selection, counts: selection.release(counts).index)
    return TableRelease(answers, plan.guarantee_for(unit), plan.fingerprint)


@withholding
def simulate(plan: TablePlan, table: Any, seed: int | None, unit: RowUnit) -> TableSimulation:
    """The same for a public table, with a seed."""
    entropy = SystemEntropy() if seed is None else SeededEntropy(count(seed, "seed", least=0))

    def choose(selection: Selection, counts: Any) -> int:
        own = None if seed is None else int(entropy.words(1)[0] >> np.uint64(1))
        return int(selection.simulate(counts, 1, own).indices[0])

    stamp = "simulation, not private: " + ("no seed" if seed is None else f"seed {seed}")
    return TableSimulation(_answers(plan, unit.rows(table, plan.columns), entropy, choose), stamp)


def _answers(plan: TablePlan, table: Any, entropy: Entropy, choose: Choose) -> dict[str, Answer]:
    made: dict[str, Answer] = {}
    for level in plan.levels:
        queries = [query for query in plan.noisy if query.groups == level]
        if queries:
            exact = numbers(level, queries, table)
            keys = level.keys if level.keys is not None else _selected(level, exact, entropy)
            for place, part in enumerate(queries):
                made[part.name] = _noisy(part, keys, [exact[key][place] if key in exact else 0 for key in keys], entropy)
    for query in plan.queries:
        if isinstance(query, Quantile):
            made[query.name] = _quantiles(query, table, choose)
        if isinstance(query, Average):
            made[query.name] = _ratio(query, *(made[part.name] for part in query.parts))
    return made


def _selected(level: Groups, exact: Numbers, entropy: Entropy) -> tuple[Labels, ...]:
    """Groups whose noisy count reaches the threshold, sorted, because the order in which an engine finds them is theirs."""
    selection = level.selection
    assert selection is not None
    labels = sorted(exact)
    noise = _draws(DiscreteGaussian([selection.variance]), len(labels), entropy)
    return tuple(key for key, z in zip(labels, noise, strict=True) if exact[key][-1] + z >= selection.threshold)


def _noisy(query: Additive, keys: tuple[Labels, ...], exact: list[int], entropy: Entropy) -> Answer:
    variances = query.grid_variances()
    law = DiscreteGaussian(variances)
    noise = _draws(law, len(keys), entropy)
    integers = tuple(number + z for number, z in zip(exact, noise, strict=True))
    values = np.array([_amount(number, query.step) for number in integers])
    drawn = np.broadcast_to(law.variance() * float(query.step) ** 2, len(keys))
    return Answer(query.name, _columns(query), keys, frozen(values), frozen(drawn), integers, query.step)


def _amount(number: int, step: Fraction) -> float:
    """The float nearest to `number step` (Python divides integers correctly rounded); beyond the floats it is infinite: a refusal would depend on data."""
    try:
        return number * step.numerator / step.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _draws(law: DiscreteGaussian, size: int, entropy: Entropy) -> list[int]:
    """`size` integers, of one law or of a law each; none where no group was found."""
    if not size:
        return []
    return [int(z) for z in law.draw(size if len(law.variances) == 1 else 1, entropy).ravel()]


def _quantiles(query: Quantile, table: Any, choose: Choose) -> Answer:
    counts = cell_counts(query, table)
    assert query.groups.keys is not None
    chosen = [choose(query.choice, counts.get(key, no_counts(query))) for key in query.groups.keys]
    values = np.array([float(query.candidates[index]) for index in chosen])
    return Answer(query.name, _columns(query), query.groups.keys, frozen(values))


def _ratio(query: Average, sums: Answer, counts: Answer) -> Answer:
    """Noisy sums over noisy counts, which are taken to be at least 1."""
    return Answer(query.name, _columns(query), sums.keys, frozen(sums.values / np.maximum(counts.values, 1.0)))


def _columns(query: Query) -> tuple[str, ...]:
    return tuple(key.name for key in query.groups.columns)
