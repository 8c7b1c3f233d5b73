"""What mechanisms over the attributes of a domain have in common: marginals, and products of queries of single attributes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, ConfidenceLimits, Tabular, symmetric_limits, tables_in_order
from designer.base.arrays import Floats, frozen
from designer.base.checks import count
from designer.base.errors import InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.json_text import array
from designer.base.schema import BUDGETS, POSITIVE, ClosedList, Named, either, exactly, noted, record
from designer.certificate.certificate import PrivacyCertificate, Witness
from designer.certificate.frozen import FrozenMechanism, answer_layout, rate_of_left_out, stated_guarantee, warning
from designer.certificate.guarantee import NOTIONS, TIMING, Guarantee
from designer.domains.marginals_tables import Tables, reading, require_form
from designer.domains.marginals_workload import MarginalWorkload, Subsets
from designer.mechanism.release import require_no_data
from designer.problem.domain import Domain
from designer.problem.histogram import rule_entry, rule_from
from designer.relations.metrics.attributes import Hamming, Product, hamming
from designer.relations.metrics.presence import BUDGET_OF, Presence
from designer.relations.records.counting import records_of
from designer.relations.records.row_unit import RowUnit, guarantee_as_stated, left_out_rate, required_unit, row_unit_of
from designer.sampling.entropy import Entropy, simulation_entropy, stamp_of_each
from designer.sampling.margins import Margins, NoiseReach
from solvers.exact.rational import float_above, root_above
from solvers.programs.budget_shares import PLAIN_ENTRIES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# What is protected in marginals: attribute values with a budget each, or the presence of a record; and what measuring
# residuals costs.
#
# A residual measured with precision s (one over the variance of its orthonormal coordinates) spends, in squared budget
# (docs/theory/marginals.md, 2):
#
#     attribute i of a record changes:   s * 2 prod_{j in A, j != i} (n_j - 1)/n_j   if i is in A, nothing otherwise,
#     a record appears or disappears:    s * prod_{j in A} (n_j - 1)/n_j.


Protection = Hamming | Presence


@dataclass(frozen=True, eq=False)
class Change:
    """One kind of protected change: who moves, what it is called, its budget, and the squared length
    `factor numerator / denominator` that it gives to the residuals `members` (positions among the measured subsets)
    at precision 1.

    members, numerators, denominators: (m,).
    """

    words: str
    budget: float
    members: NDArray[np.intp]
    factor: int
    numerators: NDArray[np.int64]
    denominators: NDArray[np.int64]

    @property
    def lengths(self) -> Floats:
        """The squared lengths as floats."""
        return np.asarray(self.factor * self.numerators / self.denominators)

    def load(self, precisions: Floats) -> Fraction:
        """`sum s_A length_A / budget^2`, exact.

        precisions s: (number of measured subsets,). docs/theory/marginals.md, section 2.
        """
        return self.spent(precisions) / Fraction(self.budget) ** 2

    def spent(self, precisions: Floats) -> Fraction:
        """`sum s_A length_A`, exact: equal lengths are collected first, so that few fractions are added.

        precisions s: (number of measured subsets,). `InvalidProblem` where what moves gets no noise.
        """
        chosen = precisions[self.members]
        if not np.isfinite(chosen).all():
            raise InvalidProblem(f"precisions: infinite where {self.words}; what a protected change moves needs noise.")
        order = np.lexsort((self.denominators, self.numerators))
        lengths = np.stack([self.numerators[order], self.denominators[order]], axis=1)
        starts = np.flatnonzero(np.append(True, (np.diff(lengths, axis=0) != 0).any(axis=1)))
        sums = zip(np.split(chosen[order], starts[1:]), lengths[starts].tolist(), strict=True)
        return self.factor * sum((dyadic_sum(alike) * Fraction(top, bottom) for alike, (top, bottom) in sums), Fraction(0))


def dyadic_sum(values: Floats) -> Fraction:
    """The exact sum of finite floats, (n,), n up to 2^36: whole mantissas of one exponent are added in halves."""
    mantissas, exponents = np.frexp(values)
    whole, total = np.ldexp(mantissas, 53).astype(np.int64), Fraction(0)
    for exponent in np.unique(exponents).tolist():
        alike = whole[exponents == exponent]
        total += ((int((alike >> 27).sum()) << 27) + int((alike & (2**27 - 1)).sum())) * Fraction(2) ** (exponent - 53)
    return total


def changes(protection: Protection, domain: Domain, measured: Subsets) -> list[Change]:
    """The kinds of protected changes that move a measured residual; all others are implied by them or unprotected."""
    sizes = np.append(np.array(domain.shape, dtype=np.int64), 1)
    shapes = sizes[measured.axes]
    members = measured.axes >= 0
    if isinstance(protection, Presence):
        everything = np.arange(len(measured))
        numerators = np.where(members, shapes - 1, 1).prod(axis=1)
        return [Change("a record appears", protection.epsilon, everything, 1, numerators, shapes.prod(axis=1))]
    found = []
    order = np.argsort(measured.axes, axis=None, kind="stable")
    bounds = np.searchsorted(measured.axes.ravel()[order], np.arange(len(domain.attributes) + 1))
    for axis, budget in enumerate(protection.budgets):
        rows = np.sort(order[bounds[axis] : bounds[axis + 1]]) // max(1, measured.axes.shape[1])
        if len(rows) and np.isfinite(budget):
            others = members[rows] & (measured.axes[rows] != axis)
            numerators = np.where(others, shapes[rows] - 1, 1).prod(axis=1)
            denominators = np.where(others, shapes[rows], 1).prod(axis=1)
            words = f"one record changes in {domain.attributes[axis]!r} alone"
            found.append(Change(words, budget, rows, 2, numerators, denominators))
    return found


def load_matrix(found: list[Change], measured: int) -> csr_array | Floats:
    """G (changes, measured): entry `length / budget^2`, so that `G s <= 1` is the promise; a plain array where it is small."""
    # One division at a time: the square of a budget of 1e-200 is no float.
    with np.errstate(over="ignore", under="ignore"):
        values = np.concatenate([change.lengths / change.budget / change.budget for change in found])
    if not (np.isfinite(values) & (values > 0)).all():
        raise InvalidProblem("budgets: their squares leave the floats; choose budgets between 1e-150 and 1e150.")
    rows = np.repeat(np.arange(len(found)), [len(change.members) for change in found])
    columns = np.concatenate([change.members for change in found])
    if len(found) * measured <= PLAIN_ENTRIES:
        plain = np.zeros((len(found), measured))
        plain[rows, columns] = values
        return plain
    from scipy.sparse import coo_array, csr_array

    return csr_array(coo_array((values, (rows, columns)), shape=(len(found), measured)))


ATTRIBUTES = Named(
    "protected_attributes", record({"kind": exactly("attributes"), "budgets": BUDGETS}, note="A budget for each attribute.")
)
SPEC_NOTE = "Under Laplace noise epsilon, in nats; under Gaussian noise mu, and no epsilon: the promise is mu^2 / 2 of zCDP."
PRESENCE = Named(
    "protected_presence",
    record(
        {"kind": exactly("presence"), "epsilon": noted(SPEC_NOTE, POSITIVE)}, note="One budget for the presence of a record."
    ),
)
PROTECTION = either(ATTRIBUTES, PRESENCE)


def protection_to_spec(protection: Protection) -> dict[str, Any]:
    """Plain data; the domain is the workload's."""
    if isinstance(protection, Presence):
        return {"kind": "presence", "epsilon": protection.epsilon}
    return {"kind": "attributes", "budgets": list(protection.budgets)}


def protection_from_spec(spec: Any, domain: Domain, notion: str) -> Protection:
    """The inverse of `protection_to_spec`; specs call the budget of a presence epsilon, whatever the notion."""
    return PROTECTIONS.read(spec, domain, notion)


PROTECTIONS: ClosedList[Protection] = ClosedList(
    "protection",
    {
        "presence": (PRESENCE, lambda spec, _, notion: Presence(**{BUDGET_OF[notion]: spec["epsilon"]})),
        "attributes": (
            ATTRIBUTES,
            lambda spec, domain, _: hamming(domain, array(spec["budgets"], 1, "protection.budgets").tolist()),
        ),
    },
)


LAWS = {
    "gaussian": "sums of independent discrete Gaussians, by normal noise that smooths them",
    "laplace": "exponential moments of sums of independent discrete Laplace noise",
}
MOST_ENTRIES = 10**7  # of the matrix from noisy integers to answers: 80 MB
# Widened beyond the exact load, so that a machine that rounds otherwise reaches the same verdict.
MARGIN = 1 - 2.0**-40
R = TypeVar("R", bound="DomainRelease")
S = TypeVar("S", bound="DomainAnswers")


@dataclass(frozen=True, eq=False)
class DomainAnswers:
    """Answers from the noisy integers of a mechanism, `measured` one array for each residual or block."""

    mechanism: Any
    measured: tuple[NDArray[Any], ...]

    @abstractmethod
    def table_at(self, place: int) -> Floats:
        """The answers of one table or term, an axis for each of its attributes."""


@dataclass(frozen=True, eq=False)
class DomainRelease(DomainAnswers, Tabular):
    """Noisy answers, with the guarantee they carry and the fingerprint of the mechanism that made them."""

    guarantee: Guarantee
    fingerprint: str
    row: RowUnit | None = field(default=None, kw_only=True)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data."""

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The answers of each table or term, by its attributes; refused where they are too many to be written out."""
        titles = self.mechanism.workload.titles
        return tables_in_order([self._answer_table(*named) for named in enumerate(titles)], self.mechanism, self)

    def _answer_table(self, place: int, title: str) -> AnswerTable:
        answers, errors = self.table_at(place).ravel(), np.sqrt(self.mechanism.variances_of(place)).ravel()
        return AnswerTable(title, *key_columns(self.mechanism.workload, place), answers, errors)


def key_columns(workload: Any, place: int) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """The columns of one table or term and the keys of its answers; of an empty one the total."""
    names = workload.names_of(place)
    return (names, workload.keys_of(place)) if names else (("query",), (("total",),))


def stored(noisy: NDArray[Any]) -> NDArray[Any]:
    """64-bit or Python integers, by the noisy numbers: the type that the true ones took would tell how large they are.

    noisy: (...,), a table of any shape. Returns the same shape.
    """
    wide = np.abs(noisy.astype(np.float64)).max(initial=0.0) >= 2.0**62
    return frozen(noisy.astype(object if wide else np.int64))


def domain_of_core(core: Mapping[str, Any]) -> Domain:
    """The domain that a core names."""
    if not all(type(text) is str for names in (core["attributes"], *core["values"]) for text in names):
        raise InvalidSpec("attributes: names and values must be texts.")
    return Domain(tuple(core["attributes"]), tuple(tuple(values) for values in core["values"]), rule_from(core))


class DomainMechanism(FrozenMechanism, Generic[R, S]):
    """What mechanisms over the attributes of a domain have in common: how records are taken, what a row costs, what is proven
    of the changes, and the promise."""

    workload: Any
    protection: Presence | Hamming | Product
    _alone: ClassVar[str]  # what becomes of attributes that are not protected
    _release_type: ClassVar[Any]
    _simulated_type: ClassVar[Any]

    @property
    @abstractmethod
    def law(self) -> str:
        """The law of the noise, "gaussian" or "laplace"."""

    @property
    @abstractmethod
    def changes(self) -> Sequence[Any]:
        """The kinds of protected changes that imply all others."""

    @property
    @abstractmethod
    def _counted(self) -> MarginalWorkload:
        """The tables that are counted."""

    @abstractmethod
    def error(self, loss: str = "squared") -> float:
        """Expected loss of all answers, weighted: "squared" adds weight times variance, "max" takes the largest."""

    @abstractmethod
    def variances_of(self, place: int) -> Floats:
        """Variance of every number of one table or term, in its shape; exact for the discrete noise that is drawn.

        place: that of the table or term among those that are asked for.
        """

    @abstractmethod
    def _true(self, tables: Tables) -> Sequence[NDArray[Any]]:
        """What noise is added to, exact, array by array; confidential."""

    @abstractmethod
    def _drawn(self, entropy: Entropy) -> Sequence[NDArray[np.int64]]:
        """One draw of the noise of these arrays."""

    @abstractmethod
    def draw_flat(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` draws of the noise of all of them end to end, (size, coordinates), for few of them."""

    @abstractmethod
    def _noise_reach(self) -> NoiseReach:
        """How far the noise of all answers reaches, in order."""

    @hides_data_in_errors
    def _released(self, count_tables: Callable[[], Tables]) -> R:
        """Exact whole numbers of the true tables plus exact noise from the operating system's entropy."""
        true = self._true(count_tables())
        drawn = self._drawn(self._release_entropy())
        return self._release_of([exact + noise for exact, noise in zip(true, drawn, strict=True)])

    def _release_of(self, noisy: Sequence[NDArray[Any]]) -> R:
        """The release of noisy whole numbers, array by array."""
        made: R = self._release_type(self, tuple(map(stored, noisy)), self.guarantee, self.fingerprint)
        return made

    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> tuple[S, ...]:
        """`size` draws of the noise in all answers, for simulation only: each is stamped as not private."""
        require_no_data(data)
        self._require_drawable()
        entropy = simulation_entropy(seed)
        stamps = stamp_of_each(seed, count(size, "size"))
        return tuple(self._simulated_type(self, tuple(self._drawn(entropy)), stamp) for stamp in stamps)

    def _require_drawable(self) -> None:
        """Refuse to draw more noise than a release holds."""
        return

    @cached_property
    def _reach(self) -> Margins:
        return cache(self._noise_reach().margins)

    def _whole(self) -> NDArray[np.bool_] | bool:
        """Which of all answers are whole numbers, (A,), or whether all are."""
        return True

    def _limits_of(self, released: R, level: float, simultaneous: bool) -> ConfidenceLimits:
        """Intervals of all answers, in order; see `designer.base.answer_table`."""
        answers = np.concatenate([released.table_at(place).ravel() for place in range(len(self.workload.titles))])
        margins, law = self._reach(level, simultaneous)
        return symmetric_limits(answers, margins, np.broadcast_to(self._whole(), answers.shape), law)

    def core(self) -> dict[str, Any]:
        domain = self.workload.domain
        return {
            "attributes": list(domain.attributes),
            "values": [list(values) for values in domain.values],
            **self._core_of_kind(),
            **rule_entry(domain.unlisted),
            **self._flag,
        }

    @abstractmethod
    def _core_of_kind(self) -> dict[str, Any]:
        """What a core says beside the domain."""

    def _require_protection(self) -> None:
        """Refuse a protection of another domain, of another notion than that of the noise, or beside unlisted values that it
        cannot count."""
        if not isinstance(self.protection, Presence) and self.protection.domain != self.workload.domain:
            raise InvalidProblem("protection: speaks of another domain than the workload; build both from one Domain.")
        self.protection.require_rule(self.workload.domain.unlisted)
        if isinstance(self.protection, Presence):
            self.protection.require_notion("zcdp" if self.law == "gaussian" else "pure")

    def _certificate_of(self, loads: Sequence[Fraction], theorem: str, how: str = "") -> PrivacyCertificate:
        """The certificate of what each kind of change spends of its budget: of Gaussian noise the square of that share."""
        if not loads:
            words = "nothing to compute: no protected change moves an answer"
            return PrivacyCertificate(True, Fraction(0), None, 0, words, theorem)
        ratio = worst = max(loads)
        if self.law == "gaussian":  # squares are compared; the root is rounded up, at most to 1 where the square is at most 1
            ratio = min(root_above(worst), Fraction(1)) if worst <= 1 else root_above(worst)
        change = self.changes[loads.index(worst)]
        witness = Witness(0, 1, change.words, (), change.budget)
        arithmetic = f"exact rationals for all {len(loads)} kinds of changes that imply the others{how}"
        return PrivacyCertificate(worst <= 1, ratio, witness, len(loads), arithmetic, theorem)

    @hides_data_in_errors
    def check(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        """See `FrozenMechanism.check`: the data that `release` takes."""
        super().check(data)
        row = row_unit_of(unit, entity, rows_per_entity, self.about.records)
        require_form(self._counted, data, row, self.guarantee_for, **self._taken)

    def release(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> R:
        """Noisy tables or products of confidential data. Spends the budget once.

        data: records, as a data frame, a mapping of columns, a list of rows, or an Ibis table, which stays where it is: its
        engine counts groups, one query for each largest table that is asked about. Or `Counts` of the true tables, `{("sex",
        "age"): array}`, of at least the largest requested subsets, or of the attributes of every largest block. A
        `StructuredMechanism` also takes counts of all combinations of values, of domains that are small enough to list them: an
        array in the order of `Domain.elements`, or counts by name.

        unit, entity, rows_per_entity: of records. An Ibis table is a row-wise view of one table, so that a row is a record;
        anything else, such as a join, needs a `unit`, the caller's word for what one row is. entity, rows_per_entity: a column,
        and how many rows of each of its values count. The guarantee of the release states both. `InvalidProblem` for counts
        that are no tables, and wherever `check` refuses.
        """
        row = row_unit_of(unit, entity, rows_per_entity, self.about.records).read_from(data)
        stated, count_tables = hides_data_in_errors(reading)(self._counted, data, row, self.guarantee_for, **self._taken)
        released = self._released(count_tables)
        if stated is None:
            return released
        return replace(released, guarantee=stated, row=row.with_left_out(records_of(data), rate_of_left_out(self)))

    @property
    def _taken(self) -> dict[str, bool]:
        """Is the number of records public, and are counts of all combinations of values taken?"""
        return {"fixed": not isinstance(self.protection, Presence), "histograms": "histogram" in self.takes}

    def guarantee_for(self, unit: RowUnit) -> Guarantee:
        """The same for what one row is. What a row moves by a length, an entity of k rows moves by k lengths at most: k times
        the largest budget.

        unit: what one row is.
        """
        k, rule = required_unit(unit).rows_per_entity, self.workload.domain.unlisted
        budget = None if k is None else float_above(self.protection.entity_budget(k))
        return unit.stated(self.guarantee, rule, budget=budget, rate=None if budget is None else rate_of_left_out(self))

    def _parameters(self) -> dict[str, float | int | None]:
        protection = self.protection
        if isinstance(protection, Presence):
            least = most = protection.epsilon
        else:
            parts = getattr(protection, "parts", ())
            budgets = [np.min(p.distances()[~np.eye(p.size, dtype=bool)], initial=np.inf) for p in parts]
            least = float(min(budgets)) if parts else min(protection.budgets)  # type: ignore[union-attr]
            most = protection.largest_budget()
        return {
            "smallest_budget": least if np.isfinite(least) else None,
            "largest_finite_budget": most or None,
            "worst_ratio": self.privacy.ratio,
        }

    def _promise(self, mechanism: str, integers: str, values: str = "") -> Guarantee:
        """The statement of what is promised. mechanism, integers: its draws and its arithmetic in words. values: what more is
        said of the values of a record."""
        presence = isinstance(self.protection, Presence)
        return Guarantee(
            unit="The presence of one record." if presence else f"The attribute values of one record{values}.",
            relation=self.protection.sentence(),
            unprotected=self._unprotected(),
            notion=NOTIONS["gaussian" if self.law == "gaussian" else "exponential"],
            parameters=self._parameters(),
            mechanism=mechanism,
            sampling="Exact: random bits of the operating system, compared with probabilities in exact arithmetic.",
            floating_point=integers,
            timing=TIMING,
            fingerprint=self.fingerprint,
        )

    def _unprotected(self) -> tuple[str, ...]:
        protection, attributes = self.protection, self.workload.domain.attributes
        if isinstance(protection, Presence):
            return ()
        if isinstance(protection, Hamming):
            open_ones = [bool(np.isinf(budget)) for budget in protection.budgets]
            words = f"Unprotected attributes, with {self._alone}: {{}}."
        else:
            open_ones = [bool(part.components().any()) for part in protection.parts]
            words = "Changes between different connected components of {} are not protected."
        named = ", ".join(repr(name) for name, is_open in zip(attributes, open_ones, strict=True) if is_open)
        return (*warning(self), "The number of records is public.", *((words.format(named),) if named else ()))


stated_guarantee.register(DomainMechanism, guarantee_as_stated)


@answer_layout.register(DomainMechanism)
def _answer_layout(mechanism: DomainMechanism[Any, Any]) -> tuple[AnswerTable, ...]:
    named = [(title, *key_columns(mechanism.workload, place)) for place, title in enumerate(mechanism.workload.titles)]
    return tables_in_order([AnswerTable(*own, np.zeros(len(own[2])), None) for own in named], mechanism, None)


@rate_of_left_out.register(DomainMechanism)
def _rate_of_left_out(mechanism: DomainMechanism[Any, Any]) -> Fraction | None:
    return left_out_rate(mechanism.protection.entity_budget(1)) if isinstance(mechanism.protection, Presence) else None
