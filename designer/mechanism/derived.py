"""Ratios, differences and quantiles of released answers with intervals by the joint law of the noise: post-processing.

Let U = u + X and V = v + Y be released sums with noise (X, Y), and r = u / v. Then U - r V = X - r Y, whose law is known for
each r. So the numbers r with |U - r V| within the quantile of |X - r Y| at the level hold u / v with that probability, whatever
the data are (Fieller 1954). The quantile is an order statistic of repeatable draws of the exact sampler, too low with
probability 1e-9 (docs/theory/intervals.md, 3). It is compared at all r at once: draw i counts against r where
|X_i - r Y_i| < |U - r V|, which turns at (U - X_i) / (V - Y_i) and (U + X_i) / (V + Y_i) alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from designer.base.answer_table import LEVEL, AnswerTable, ConfidenceLimits
from designer.base.arrays import Floats, frozen
from designer.base.checks import meant, probability, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import COUNT, POSITIVE, Named, either, list_of, noted, record, text
from designer.certificate.frozen import FrozenMechanism, Released, answer_layout
from designer.limits import MOST_DERIVED_ROWS
from designer.sampling.entropy import SeededEntropy
from designer.sampling.margins import FAILURE, ROOMY, affordable, safe_rank, seed_of

SAME_RELEASE = "earlier: is the same release, whose noise cancels; give another one."
LARGEST_SAMPLE = 20_000  # draws; more move the ends by less than 2 %
Weights = str | Mapping[str, float]  # an answer by its name, or a weighted sum of answers


@dataclass(frozen=True)
class DerivedAnswer:
    """A number computed from released answers, and an interval that holds it without noise with probability `level`.

    value: None where it is no number. lower, upper: infinite where the answers leave it open. law: in a sentence.
    """

    value: float | None
    lower: float
    upper: float
    level: float
    law: str


def ratio(
    mechanism: FrozenMechanism, released: Released, numerator: Weights, denominator: Weights, level: float = LEVEL
) -> DerivedAnswer:
    """Divide one released sum by another: a mean, a rate, a share of a total. Raises `InvalidProblem` for an unknown answer,
    for biased answers, and where the noise cannot be drawn often enough.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    released : what a release of the mechanism returned.
    numerator : the name of an answer, or weights of answers by name.
    denominator : the same; without noise it must not be 0.
    level : of the interval, between 0 and 1.
    """
    sums = np.stack([_weights(mechanism, numerator, "numerator"), _weights(mechanism, denominator, "denominator")])
    return _ratio(mechanism, released, sums, probability(level, "level"))


def _ratio(mechanism: Any, released: Released, sums: Floats, level: float) -> DerivedAnswer:
    """sums: weights of all answers above and below, (2, K)."""
    noise, rank, law = _noise(mechanism, released, sums, level, 0)
    above, below = (sums @ _answers(mechanism, released)).tolist()
    lower, upper = _ratio_limits(above, below, noise[:, 0], noise[:, 1], rank)
    return DerivedAnswer(above / below if below else None, lower, upper, level, law)


def difference(
    mechanism: FrozenMechanism,
    released: Released,
    other: FrozenMechanism,
    other_released: Released,
    answer: Weights,
    level: float = LEVEL,
) -> DerivedAnswer:
    """Subtract a released sum from the same sum of another release, whose noise is independent: a change between two periods.
    Raises `InvalidProblem` as `ratio` does.

    Parameters
    ----------
    mechanism : of the later release.
    released : the later release.
    other : the mechanism of the earlier release.
    other_released : the earlier release, another one.
    answer : the name of an answer of both, or weights of answers by name.
    level : of the interval, between 0 and 1.
    """
    require_another(released, other_released)
    later, earlier = _weights(mechanism, answer, "answer"), _weights(other, answer, "answer")
    return _change((mechanism, released, later), (other, other_released, earlier), probability(level, "level"))


def _change(after: tuple[Any, Released, Floats], before: tuple[Any, Released, Floats], level: float) -> DerivedAnswer:
    """A sum of a release less one of an earlier release. after, before: mechanism, release, weights of all answers."""
    (noise, rank, law), (beside, other_rank, _) = (
        _noise(mechanism, released, weights[None], level, stream)
        for stream, (mechanism, released, weights) in enumerate((after, before))
    )
    if len(beside) != len(noise):
        draws = min(len(beside), len(noise))
        noise, beside, rank = noise[:draws], beside[:draws], rank if len(noise) == draws else other_rank
    margin = float(np.partition(np.abs(noise[:, 0] - beside[:, 0]), rank - 1)[rank - 1])
    margin *= 1 if margin == round(margin) else ROOMY  # whole numbers are exact
    later, earlier = (float(weights @ _answers(mechanism, released)) for mechanism, released, weights in (after, before))
    value = later - earlier
    return DerivedAnswer(value, value - margin, value + margin, level, law)


def quantile(
    mechanism: FrozenMechanism,
    released: Released,
    counts: Sequence[Weights],
    values: Sequence[float],
    q: float = 0.5,
    level: float = LEVEL,
) -> DerivedAnswer:
    """Find the q-quantile of all records that were counted: the least value that at least a share q of them does not exceed.

    The interval holds the values that two tests do not reject, each with half of what the level leaves. A value is rejected
    where the records up to it are too few, or those up to the value before it too many. Raises `InvalidProblem` as `ratio`
    does.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    released : what a release of the mechanism returned.
    counts : of the records at each value, or above the value before and up to it: names of answers, or weights of answers.
    values : rising, one for each count.
    q : between 0 and 1.
    level : of the interval, between 0 and 1.
    """
    q, level = probability(q, "q"), probability(level, "level")
    if not len(counts) == len(values) > 0 or not all(low < high for low, high in pairwise(values)):
        raise InvalidProblem("values: do not rise, or are not one for each count; give the upper end of each group, in order.")
    cells = np.stack([_weights(mechanism, one, f"counts[{k}]") for k, one in enumerate(counts)])
    sums = np.cumsum(cells, axis=0) - q * cells.sum(axis=0)
    noise, rank, law = _noise(mechanism, released, sums, (1 + level) / 2, 0)
    above = sums @ _answers(mechanism, released)
    lowest, highest = (np.partition(side, rank - 1, axis=0)[rank - 1] * ROOMY for side in (-noise, noise))
    slack = ROOMY - 1
    enough = above >= -lowest - slack * np.abs(above)
    before = np.append(True, (above < highest + slack * np.abs(above))[:-1])
    found = int(np.argmax(above >= 0)) if (above >= 0).any() else len(values) - 1
    kept = np.append(np.flatnonzero(enough & before), found)
    return DerivedAnswer(float(values[found]), float(values[kept.min()]), float(values[kept.max()]), level, law)


def _answers(mechanism: Any, released: Released) -> Floats:
    """The answers in the order in which noise is drawn; 0 in the place of what is no number, which nothing is computed from."""
    held = {table.name: table.answers for table in released.answer_tables()}
    return np.asarray(np.nan_to_num(np.concatenate([held[table.name] for table in _layout(mechanism)])))


@lru_cache(maxsize=2)
def _layout(mechanism: Any) -> tuple[AnswerTable, ...]:
    """The tables of a release, without its numbers; refused where these are not known before it."""
    found = answer_layout(mechanism)
    if found is None:
        raise InvalidProblem(
            f"mechanism: releases of {mechanism.format!r}, or of groups that are found by their noisy sizes, have no derived "
            "answers; leave them out."
        )
    return tuple(found)


@lru_cache(maxsize=2)
def _places(mechanism: Any) -> dict[str, int]:
    """Where each answer stands, by its name in its table, and by that of its query."""
    names = [name for table in _layout(mechanism) for name in table.names()]
    queries = getattr(getattr(mechanism, "workload", None), "queries", ())
    more = zip(queries, range(len(names)), strict=True) if len(queries) == len(names) else ()
    return {**dict(zip(names, range(len(names)), strict=True)), **dict(more)}


def _weights(mechanism: Any, given: Weights, field: str) -> Floats:
    """The weight of each answer of a release."""
    places = _places(mechanism)
    weights = np.zeros(sum(len(table.keys) for table in _layout(mechanism)))
    for name, weight in ({given: 1.0} if isinstance(given, str) else given).items():
        if name not in places:
            raise InvalidProblem(
                f"{field}: {shown(name)} is no answer; {meant(name, places)}use one of {shown([*places])}.", value=name
            )
        if not math.isfinite(weight):
            raise InvalidProblem(
                f"{field}: the weight of {shown(name)} is {shown(weight)}, not finite; give a number.", value=weight
            )
        weights[places[name]] = weight
    return weights


def _noise(mechanism: Any, released: Released, sums: Floats, level: float, stream: int) -> tuple[Floats, int, str]:
    """Draws of the noise in some sums of answers, (draws, sums), the rank of a safe order statistic, and both in words."""
    if released.fingerprint != mechanism.fingerprint:
        raise InvalidProblem("released: was made by another mechanism; give the one whose fingerprint it names.")
    law = getattr(released, "law", None)
    made = law if hasattr(law, "noise_in_answers") else mechanism  # answers that were made to agree have less noise
    return _noise_of(mechanism, made, sums, level, stream)


def _noise_of(mechanism: Any, made: Any, sums: Floats, level: float, stream: int) -> tuple[Floats, int, str]:
    """The same, before there is a release. made: what draws."""
    if getattr(mechanism, "biased", None):
        raise InvalidProblem(
            "mechanism: its answers are biased, so no interval is known; design an unbiased one, or give the answers alone."
        )
    used = np.flatnonzero(sums.any(axis=0))
    draws, rank = _draws_and_rank(sums.shape[1], level)
    words = f"{draws:,} repeatable draws of the joint noise, an order statistic too low with probability {FAILURE:g}"
    noise = _drawn(made, draws, stream)[:, used]
    if np.isnan(noise[:1]).any():
        name = [*_places(mechanism)][used[np.isnan(noise[0])][0]]
        raise InvalidProblem(
            f"answer: {shown(name)} is an average, a quantile or a sum whose noise depends on it, and no sum with noise of its "
            "own law; name the .sum and .count of an average.",
            value=name,
        )
    return noise @ sums[:, used].T, rank, words


def _draws_and_rank(answers: int, level: float) -> tuple[int, int]:
    """How often the noise in so many answers is drawn, and the rank of a safe order statistic."""
    draws = min(LARGEST_SAMPLE, affordable(answers, answers))
    rank = safe_rank(draws, level, FAILURE)
    if rank is None:
        raise InvalidProblem(f"level: {draws:,} draws of {answers:,} answers are too few for {level:g}; ask for a lower level.")
    return draws, rank


@lru_cache(maxsize=4)
def _drawn(mechanism: Any, draws: int, stream: int) -> Floats:
    """Draws of the noise in all answers, (draws, K), at most 32 MB."""
    draw = getattr(mechanism, "noise_in_answers", None)
    if draw is None and hasattr(mechanism, "_noise_reach"):
        draw = mechanism._noise_reach().draw
    if draw is None:
        raise InvalidProblem(
            f"mechanism: the noise of {mechanism.format!r} cannot be drawn in all answers; use intervals of each answer."
        )
    entropy = SeededEntropy(seed_of(mechanism.fingerprint) + 2 + stream)
    return frozen(draw(draws, entropy))


def _ratio_limits(above: float, below: float, x: Floats, y: Floats, rank: int) -> tuple[float, float]:
    """The least and the largest r against which fewer than `rank` draws count."""
    outside = np.abs(y) < abs(below)  # the draw counts against every r beyond both of its ends; else against those between them
    if outside.sum() < rank:
        return -math.inf, math.inf
    inside = np.abs(y) > abs(below)
    turns = outside | inside
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort(np.stack([(above - x) / (below - y), (above + x) / (below + y)]), axis=0)[:, turns]
    steps = np.where(outside[turns], -1, 1)

    def reach(far: Floats, near: Floats) -> float:
        """Coming from infinity, where fewer than `rank` draws count for the first time."""
        at, by = np.concatenate([far, near]), np.concatenate([steps, -steps])
        order = np.argsort(-at, kind="stable")
        at, counts = at[order], int(outside.sum()) + np.cumsum(by[order])
        return float(at[np.argmax(counts < rank)])

    lower, upper = -reach(-ends[0], -ends[1]), reach(ends[1], ends[0])
    slack = (ROOMY - 1) * max(abs(lower), abs(upper))
    return lower - slack, upper + slack


# Tables of ratios that a file asks for. A part of a ratio is a table, whose rows stand beside those of the other part by the
# columns that both have; an answer; or a list of answers that are added up.


PART = either(text(), list_of(text()))
DERIVED = Named(
    "derived",
    record(
        {"name": noted("Of the table.", text())},
        {
            "ratio": noted("Numerator and denominator: a table, an answer, or answers to be added up.", list_of(PART, 2, 2)),
            "share": noted("A table: each of its answers as a share of their sum.", text()),
            "within": noted("Columns of that table: shares are of the sum of rows with equal values there.", list_of(text())),
            "per": noted("What ratios are multiplied by, such as 100 or 1000.", POSITIVE),
            "reading": noted(
                "One count, or the table of all: estimates of least worst-case error, biased, beside them.", text()
            ),
            "records": noted("The public number of records, for a reading.", COUNT),
            "limit": noted("A public upper limit of the count in its place, which no data decided.", COUNT),
            "unit": noted("What they are counted in.", text()),
        },
        note="A table computed from released answers, ratios with intervals by their joint law. It spends no budget.",
        oneOf=[{"required": ["ratio"]}, {"required": ["share"]}, {"required": ["reading"]}],
    ),
)


@dataclass(frozen=True, eq=False)
class DerivedTable(ABC):
    """A table of numbers that are computed from released answers, row by row.

    name, columns, keys: of the table. sums: for each row two rows of weights of all answers. per, unit: of what is shown.
    """

    name: str
    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    sums: Sequence[tuple[Floats, Floats]]
    per: float = 1.0
    unit: str = ""
    meaning: ClassVar[str]

    @abstractmethod
    def require(self, mechanism: FrozenMechanism, level: float) -> None:
        """Refuse, before there is a release, what has no intervals at this level."""

    def answers(self, mechanism: FrozenMechanism, released: Released, level: float) -> list[DerivedAnswer]:
        """What is computed from a release, row by row, with intervals."""
        raise NotImplementedError

    def table(self, mechanism: FrozenMechanism, released: Released) -> AnswerTable:
        """The same as a table, whose intervals hold one by one."""

        def limits(level: float, simultaneous: bool) -> ConfidenceLimits:
            if simultaneous:
                raise InvalidProblem("intervals: those of derived answers hold one by one; none are known for all at once.")
            found = self.answers(mechanism, released, level)
            lower, upper = (self.per * np.array([getattr(one, end) for one in found]) for end in ("lower", "upper"))
            return ConfidenceLimits(lower, upper, found[0].law)

        found = [one.value for one in self.answers(mechanism, released, LEVEL)]
        values = np.array([np.nan if value is None else self.per * value for value in found])
        return AnswerTable(self.name, self.columns, self.keys, values, None, limits=limits, meaning=self.meaning)


class Ratios(DerivedTable):
    """Ratios: of each row the sums above and below."""

    meaning = (
        "Computed from released answers, as a quotient of numbers with noise; it has a bias where the noise is not small "
        "beside the denominator. Of sums of amounts that were clipped to public bounds, it is of the clipped amounts."
    )

    @classmethod
    def of(cls, mechanism: FrozenMechanism, given: Mapping[str, Any]) -> Ratios:
        """From plain data of the form `DERIVED`; refused where they name no table or answer of the mechanism."""
        name, within = given["name"], given.get("within", [])
        where = f"derived {shown(name)}"
        if ("ratio" in given) == ("share" in given) or (within and "share" not in given):
            raise InvalidProblem(f"{where}: give a ratio of two, or the share of a table and perhaps within; not both.")
        _draws_and_rank(sum(len(table.keys) for table in _layout(mechanism)), LEVEL)
        above = _Part.of(mechanism, given.get("share", given.get("ratio", [""])[0]), where)
        if "share" in given:
            if not above.columns:
                known = [table.name for table in _layout(mechanism)]
                raise InvalidProblem(f"{where} share: {shown(given['share'])} is no table of rows; use one of {shown(known)}.")
            below = above.summed(tuple(within), where)
        else:
            below = _Part.of(mechanism, given["ratio"][1], where)
        columns, keys, sums = above.beside(below, name, where)
        return cls(name, columns, keys, sums, given.get("per", 1.0), given.get("unit", ""))

    def require(self, mechanism: FrozenMechanism, level: float) -> None:
        for sums in self.sums:
            _noise_of(mechanism, mechanism, np.stack(sums), level, 0)

    def answers(self, mechanism: FrozenMechanism, released: Released, level: float) -> list[DerivedAnswer]:
        return [_ratio(mechanism, released, np.stack(sums), level) for sums in self.sums]


@dataclass(frozen=True, eq=False)
class ChangesSince(DerivedTable):
    """The answers of a table less those of an earlier release, in the rows that both have: of each row the weights in both.

    before: the earlier release and its mechanism.
    """

    before: tuple[FrozenMechanism, Released] = field(kw_only=True)
    meaning = "The answer of this release less that of the earlier one, with the noise of both; without a bias."

    @classmethod
    def of(
        cls, mechanism: FrozenMechanism, earlier: FrozenMechanism, released: Released, since: str = ""
    ) -> list[ChangesSince]:
        """The tables of sums that two mechanisms have in common; refused where there are none. released: the earlier one.
        since: its period."""
        known, found = {table.name: table for table in _layout(earlier)}, []
        for table in _layout(mechanism):
            other = known.get(table.name)
            shared = [key for key in table.keys if other and other.columns == table.columns and key in other.keys]
            if not shared:
                continue
            after, before = (_rows_of(own, table.name, "--earlier") for own in (mechanism, earlier))
            if _is_sum(mechanism, after.values()) and _is_sum(earlier, before.values()):
                sums = [(after[key], before[key]) for key in shared]
                title, unit = f"{table.name}, change{f' since {since}' if since else ''}", mechanism.about.unit(table.name)
                found.append(cls(title, table.columns, tuple(shared), sums, unit=unit, before=(earlier, released)))
        if not found:
            raise InvalidProblem(
                "--earlier: has no table of sums with a row of this release; give a release of the same tables."
            )
        return found

    def require(self, mechanism: FrozenMechanism, level: float) -> None:
        for side, made in enumerate((mechanism, self.before[0])):
            _noise_of(made, made, np.stack([both[side] for both in self.sums]), level, side)

    def answers(self, mechanism: FrozenMechanism, released: Released, level: float) -> list[DerivedAnswer]:
        require_another(released, self.before[1])
        return [_change((mechanism, released, after), (*self.before, before), level) for after, before in self.sums]


def require_another(released: Released, other: Released) -> None:
    """Refuse the same release twice, whose noise cancels. Two releases may have the same answers by chance."""
    if released is other:
        raise InvalidProblem(SAME_RELEASE)


def _is_sum(mechanism: Any, rows: Iterable[Floats]) -> bool:
    """Have all these answers noise of their own law?"""
    weights = np.sum([*rows], axis=0)
    draws, _ = _draws_and_rank(len(weights), LEVEL)
    return not np.isnan(_drawn(mechanism, draws, 0)[0, weights != 0]).any()


@dataclass(frozen=True, eq=False)
class _Part:
    """One part of a ratio: rows of weights by key, of a table, or one row without a key."""

    columns: tuple[str, ...]
    rows: Mapping[tuple[Any, ...], Floats]

    @classmethod
    def of(cls, mechanism: Any, given: str | Sequence[str], where: str) -> _Part:
        columns = {table.name: table.columns for table in _layout(mechanism)}
        if isinstance(given, str) and given in columns:
            rows = _rows_of(mechanism, given, where)
            alone = columns[given] == ("query",) and len(rows) == 1
            return cls((), {(): rows.popitem()[1]}) if alone else cls(columns[given], rows)
        names = [given] if isinstance(given, str) else given
        if unknown := [name for name in names if name not in _places(mechanism)]:
            raise InvalidProblem(
                f"{where}: {shown(unknown[0])} is neither a table nor an answer; "
                f"{meant(unknown[0], [*columns, *_places(mechanism)])}the tables are {shown([*columns])}, and answers are "
                f"called like {shown(next(iter(_places(mechanism))))}.",
                value=unknown[0],
            )
        return cls((), {(): _weights(mechanism, dict.fromkeys(names, 1.0), where)})

    def summed(self, within: tuple[str, ...], where: str) -> _Part:
        """The sums of the rows that have the same values in some columns."""
        if unknown := [name for name in within if name not in self.columns]:
            raise InvalidProblem(f"{where} within: {shown(unknown[0])} is no column of it; use some of {[*self.columns]}.")
        rows: dict[tuple[Any, ...], Floats] = {}
        for key, weights in self.rows.items():
            own = tuple(key[self.columns.index(name)] for name in within)
            rows[own] = rows.get(own, 0.0) + weights
        return _Part(within, rows)

    def beside(
        self, below: _Part, name: str, where: str
    ) -> tuple[tuple[str, ...], tuple[Any, ...], list[tuple[Floats, Floats]]]:
        """Columns, keys, and the weights above and below of each row."""
        if not set(below.columns) <= set(self.columns):
            raise InvalidProblem(
                f"{where}: the denominator has columns {[*below.columns]}, the numerator {[*self.columns]}; give a denominator "
                "whose columns are among those of the numerator."
            )
        places = [self.columns.index(name) for name in below.columns]
        matched = {key: tuple(key[place] for place in places) for key in self.rows}
        if unknown := [own for own in matched.values() if own not in below.rows]:
            raise InvalidProblem(f"{where}: the denominator has no row {shown(list(unknown[0]))}; give one that has all.")
        columns, keys = (self.columns, tuple(self.rows)) if self.columns else (("query",), ((name,),))
        return columns, keys, [(weights, below.rows[matched[key]]) for key, weights in self.rows.items()]


def _rows_of(mechanism: Any, name: str, where: str) -> dict[tuple[Any, ...], Floats]:
    """The weights that give each answer of a table, by its key."""
    owners = [table.name for table in _layout(mechanism) for _ in table.keys]
    keys = [key for table in _layout(mechanism) for key in table.keys if table.name == name]
    if len(keys) > MOST_DERIVED_ROWS:
        raise InvalidProblem(f"{where}: {shown(name)} has {len(keys):,} rows; give at most {MOST_DERIVED_ROWS:,}.")
    weights = np.zeros((len(keys), len(owners)))
    weights[:, np.array(owners) == name] = np.eye(len(keys))
    return dict(zip(keys, weights, strict=True))
