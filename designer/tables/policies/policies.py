"""Every per-record policy and their compositions (docs/theory/records.md).

>>> sectors = {"mining": Splitting(1, {"pay": 10}), "retail": Splitting(1, {"pay": 5})}
>>> by_sector = Piecewise("sector", sectors, ConstantPolicy(1))
>>> total = SumOfPolicies([ConstantPolicy("1/4"), by_sector])
>>> [total.exact({"sector": sector, "pay": 15}) for sector in ("mining", "retail", "other")]
[Fraction(17, 4), Fraction(37, 4), Fraction(5, 4)]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import assign, checked, shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.labels import is_missing
from designer.limits import DEEPEST_NESTING
from designer.relations.records.engines import octets, octets_of
from designer.relations.records.values import entry, is_whole
from designer.tables.policies.plain_policies import ConstantPolicy, GaussianSums, LaplaceSums, NoisySums, Splitting
from designer.tables.policies.policy import Columns, Policy, Read, Unit, column, length, parameter, raised, same_unit
from solvers.exact.rational import float_above

__all__ = [
    "AsZcdp",
    "ConstantPolicy",
    "GaussianSums",
    "LaplaceSums",
    "MaximumOfPolicies",
    "NoisySums",
    "Piecewise",
    "Policy",
    "ScaledPolicy",
    "Splitting",
    "SumOfPolicies",
]

# Losses below which `P + exp(-P) - 1` is `P^2` times this series, in which nothing cancels; rates above which r / sinh(r) is 0;
# losses from which the zCDP of a pure promise counts as all of it.
SERIES_UP_TO, LARGEST_RATE, ALL_IN_ALL = 0.0625, 2**10, 512
SERIES = [(-1) ** k / math.factorial(k) for k in range(2, 10)]
GroupLabel = str | int


class Compound(Policy):
    """A policy made of others; all in one unit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        same_unit(self.inner(), f"policy.{self.kind}")
        if policy_depth(self) > DEEPEST_NESTING:
            raise InvalidProblem(
                f"policy.{self.kind}: nests policies {policy_depth(self)} deep; at most {DEEPEST_NESTING} levels are read back."
            )

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.inner() for name in part.attributes))

    @property
    def unit(self) -> Unit:
        return self.inner()[0].unit

    def keys(self) -> dict[str, tuple[GroupLabel, ...]]:
        known: dict[str, tuple[GroupLabel, ...]] = {}
        for part in self.inner():
            for name, values in part.keys().items():
                known[name] = tuple(dict.fromkeys(known.get(name, ()) + values))
        return known


@dataclass(frozen=True)
class Combined(Compound):
    """Several policies, combined record by record."""

    parts: tuple[Policy, ...]
    sign: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, Sequence) or not self.parts or not all(isinstance(part, Policy) for part in self.parts):
            raise InvalidProblem(f"policy.parts: {shown(self.parts)} is no list of at least one policy.", value=self.parts)
        assign(self, parts=tuple(self.parts))
        super().__post_init__()

    def inner(self) -> tuple[Policy, ...]:
        return self.parts

    def sentence(self) -> str:
        return self.sign.join(f"({part.sentence()})" for part in self.parts)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(tuple(map(read, _listed(spec["parts"], "policy.parts"))))


@dataclass(frozen=True)
class SumOfPolicies(Combined):
    """Sequential composition (Lemma 4.2): several releases about the same records cost the sum of their policies,
    adaptive or not."""

    kind = "sum"
    sign: ClassVar[str] = " + "

    def exact(self, record: Mapping[str, object]) -> Fraction:
        return sum((part.exact(record) for part in self.parts), Fraction(0))

    def __call__(self, columns: Columns) -> Floats:
        return raised(np.sum([part(columns) for part in self.parts], axis=0), len(self.parts))

    def expression(self, table: Any) -> Any:
        total = self.parts[0].expression(table)
        for part in self.parts[1:]:
            total = total + part.expression(table)
        return total


@dataclass(frozen=True)
class MaximumOfPolicies(Combined):
    """Parallel composition (Lemma 4.3): releases on disjoint parts of the data, a record being in one of them,
    cost the largest policy.

    Where the part a record is in can be read from the record, `Piecewise` is sharper.
    """

    kind = "maximum"
    sign: ClassVar[str] = " max "

    def exact(self, record: Mapping[str, object]) -> Fraction:
        return max(part.exact(record) for part in self.parts)

    def __call__(self, columns: Columns) -> Floats:
        return np.asarray(np.max([part(columns) for part in self.parts], axis=0))

    def expression(self, table: Any) -> Any:
        import ibis

        return ibis.greatest(*(part.expression(table) for part in self.parts))


@dataclass(frozen=True)
class ScaledPolicy(Compound):
    """`factor * P(r)`: the same release repeated, or a share of a budget.

    factor: at least 0, exact. part: the policy of one release.
    """

    factor: Fraction = field(metadata=checked(parameter, says="policy.factor"))
    part: Policy
    kind = "scaled"

    def inner(self) -> tuple[Policy, ...]:
        return (self.part,)

    def exact(self, record: Mapping[str, object]) -> Fraction:
        return self.factor * self.part.exact(record)

    def __call__(self, columns: Columns) -> Floats:
        with np.errstate(over="ignore"):
            return raised(self.part(columns) * float_above(self.factor), 2)

    def expression(self, table: Any) -> Any:
        return self.part.expression(table) * float(self.factor)

    def sentence(self) -> str:
        return f"{self.factor} * ({self.part.sentence()})"

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(spec["factor"], read(spec["part"]))


@dataclass(frozen=True)
class Piecewise(Compound):
    """The policy of the group that a record's key names, `other` for every key that is not listed or missing.

    It holds for mechanisms that treat the groups of a partition apart (Lemma 4.3): thresholds by industry, say. A key of
    another type than all listed ones is refused; texts are compared by their bytes.
    On an engine the keys must be of the column's type.
    """

    attribute: str
    groups: Mapping[GroupLabel, Policy]
    other: Policy
    kind = "piecewise"

    def __post_init__(self) -> None:
        listed = dict(self.groups) if isinstance(self.groups, Mapping) else {}
        if not listed or any(isinstance(key, bool) or not isinstance(key, (str, int)) for key in listed):
            raise InvalidProblem(
                f"policy.groups: {shown(self.groups)} is no mapping from texts or whole numbers to policies.", value=self.groups
            )
        assign(self, groups=GroupPolicies(listed))
        super().__post_init__()

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.attribute, *super().attributes)))

    def keys(self) -> dict[str, tuple[GroupLabel, ...]]:
        inner = super().keys()
        return {**inner, self.attribute: tuple(dict.fromkeys((*self.groups, *inner.get(self.attribute, ()))))}

    def inner(self) -> tuple[Policy, ...]:
        return (*self.groups.values(), self.other)

    def exact(self, record: Mapping[str, object]) -> Fraction:
        return self.inner()[self._places([entry(record, self.attribute)])[0]].exact(record)

    def __call__(self, columns: Columns) -> Floats:
        where = np.array(self._places(column(columns, self.attribute).tolist()), dtype=np.intp)
        losses = np.empty(length(columns))
        for i in np.unique(where).tolist():
            rows = where == i
            losses[rows] = self.inner()[i]({name: np.asarray(values)[rows] for name, values in columns.items()})
        return losses

    def _places(self, keys: Sequence[object]) -> list[int]:
        """The place of each key's policy, those of missing and unlisted keys last;
        a key of another type than the listed ones is refused."""
        place, kinds = {key: i for i, key in enumerate(self.groups)}, {type(key) for key in self.groups}
        for key in keys:
            kind = int if is_whole(key) else str if isinstance(key, str) else None
            if type(key) not in kinds and kind not in kinds and not is_missing(key):
                raise InvalidProblem(
                    f"record[{self.attribute!r}]: is of type {type(key).__name__}, the listed keys are not; convert it."
                )
        return [len(place) if is_missing(key) else place.get(key, len(place)) for key in keys]  # type: ignore[call-overload]

    def expression(self, table: Any) -> Any:
        import ibis

        key = table[self.attribute]
        named = octets(key) if key.type().is_string() else key
        return ibis.cases(
            *(
                (named == (octets_of(value, key) if isinstance(value, str) else value), part.expression(table))
                for value, part in self.groups.items()
            ),
            else_=self.other.expression(table),
        )

    def sentence(self) -> str:
        cases = "; ".join(f"{policy.sentence()} where {self.attribute} = {key!r}" for key, policy in self.groups.items())
        return f"[{cases}; {self.other.sentence()} otherwise]"

    def to_spec(self) -> dict[str, Any]:
        groups = [[key, policy.to_spec()] for key, policy in self.groups.items()]
        return {"kind": self.kind, "attribute": self.attribute, "groups": groups, "other": self.other.to_spec()}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        pairs = _listed(spec["groups"], "policy.groups")
        if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], (str, int)) for pair in pairs):
            raise InvalidSpec("policy.groups: must be a list of pairs [key, policy].")
        groups = {key: read(policy) for key, policy in pairs}
        if len(groups) != len(pairs):
            raise InvalidSpec("policy.groups: lists a key twice; list each once.")
        return cls(spec["attribute"], groups, read(spec["other"]))


class GroupPolicies(Mapping[GroupLabel, Policy]):
    """The policies of a partition, frozen."""

    def __init__(self, policies: Mapping[GroupLabel, Policy]) -> None:
        self._policies = dict(policies)

    def __getitem__(self, key: GroupLabel) -> Policy:
        return self._policies[key]

    def __iter__(self) -> Iterator[GroupLabel]:
        return iter(self._policies)

    def __len__(self) -> int:
        return len(self._policies)

    def __hash__(self) -> int:
        return hash(frozenset(self._policies.items()))

    def __repr__(self) -> str:
        return repr(self._policies)


@dataclass(frozen=True)
class AsZcdp(Compound):
    """What a pure policy is under zCDP: `P(r) tanh(P(r) / 2)`,
    which is at most `P(r)^2 / 2` and at most `P(r)` (`accounting.pure_rho`).

    rate: where P is the loss under independent discrete Laplace noise, the largest rate of a step; then it is `P(r) - (1 -
    exp(-P(r))) rate / sinh(rate)` (`accounting.laplace_rho`). 0 of any other noise."""

    part: Policy
    rate: Fraction = Fraction(0)
    kind = "as_zcdp"

    def __post_init__(self) -> None:
        assign(self, rate=parameter(self.rate, "policy.rate", zero=True))
        if not isinstance(self.part, Policy) or self.part.unit != "pure":
            raise InvalidProblem(
                f"policy.part: {shown(self.part)} is no policy in unit 'pure'; only such a one is converted.", value=self.part
            )
        super().__post_init__()

    @property
    def unit(self) -> Unit:
        return "zcdp"

    def inner(self) -> tuple[Policy, ...]:
        return (self.part,)

    def exact(self, record: Mapping[str, object]) -> Fraction:
        from designer.tradeoff.conversions import rho_of_laplace, rho_of_pure

        loss = self.part.exact(record)
        return rho_of_laplace(loss, self.rate) if self.rate else rho_of_pure(loss)

    @property
    def _narrowed(self) -> float:
        """`1 - rate / sinh(rate)`, rounded up."""
        from solvers.exact.balls import float_above_real, rational_ball

        rate = min(self.rate, Fraction(LARGEST_RATE))
        return float_above_real(lambda: 1 - rational_ball(rate) / rational_ball(rate).sinh())

    def __call__(self, columns: Columns) -> Floats:
        losses = self.part(columns)
        with np.errstate(over="ignore"):
            found = np.minimum(raised(losses * np.tanh(losses / 2), 8), losses)
        if not self.rate:
            return found
        small = np.minimum(losses, SERIES_UP_TO)
        series = np.polynomial.polynomial.polyval(small, SERIES) * small**2
        curved = np.where(losses < SERIES_UP_TO, series, losses + np.expm1(-losses))
        sharp = np.minimum(found, raised(curved - np.expm1(-losses) * self._narrowed, 48))
        return np.where(losses < ALL_IN_ALL, sharp, found)

    def expression(self, table: Any) -> Any:
        import ibis

        loss = self.part.expression(table)
        power = (-ibis.least(loss, 500.0)).exp()  # some engines refuse to underflow
        sharp = loss * (1.0 - power) / (1.0 + power)
        if not self.rate:
            return sharp
        small, series = ibis.least(loss, SERIES_UP_TO), ibis.literal(0.0)
        for factor in reversed(SERIES):
            series = series * small + factor
        curved = (loss < SERIES_UP_TO).ifelse(series * small * small, loss - (1.0 - power))
        return (loss < ALL_IN_ALL).ifelse(ibis.least(sharp, curved + (1.0 - power) * self._narrowed), sharp)

    def sentence(self) -> str:
        if self.rate:
            return f"P - (1 - exp(-P)) r / sinh(r) with r = {self.rate} and P = {self.part.sentence()}"
        return f"P tanh(P / 2) with P = {self.part.sentence()}"

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(read(spec["part"]), spec["rate"])


def policy_depth(policy: Policy) -> int:
    """How many levels of policies a policy holds, itself included."""
    return 1 + max(map(policy_depth, policy.inner()), default=0)


def _listed(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidSpec(f"{field}: {shown(value)} is no list.", value=value)
    return value
