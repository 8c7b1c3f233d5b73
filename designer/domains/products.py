"""The frozen mechanism of structured workloads: noisy Kronecker products, certified through their factors.

The law and its cost: docs/theory/structured.md, section 2.

Structured mechanisms as plain data: factors only, never their products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats
from designer.base.checks import assign
from designer.base.errors import InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.json_text import array, flagged_vacuous, require_keys
from designer.base.progress import announce, track
from designer.base.schema import (
    NAMES,
    PLACE,
    POSITIVE,
    POSITIVE_VECTOR,
    VACUOUS,
    VALUES,
    Named,
    either,
    exactly,
    keys,
    list_of,
    noted,
    one_of,
    or_null,
    record,
    whole,
)
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate
from designer.certificate.frozen import SpecForm, below_by_noise, deviations_in_units, kept_lines, plain_lines, release_lines
from designer.certificate.guarantee import BUDGET_RANGE, Guarantee, Optimality
from designer.domains.directions import JointLeastSquares, weights_along
from designer.domains.marginals_tables import Tables
from designer.domains.marginals_workload import MarginalWorkload, Subsets
from designer.domains.mechanism import PRESENCE, DomainMechanism, domain_of_core, protection_from_spec, protection_to_spec
from designer.domains.products_noise import (
    KindOfChange,
    MeasuredProduct,
    Noise,
    Protection,
    StrategyMatrix,
    exact_product,
    kinds_of_changes,
    share_spent,
    sides,
    summed_square,
)
from designer.domains.products_release import (
    LISTED,
    TOGETHER,
    Serves,
    SimulatedAnswers,
    StructuredRelease,
    reach_of_terms,
)
from designer.domains.products_workload import QUERIES, StructuredWorkload, queries_from_spec
from designer.limits import LARGEST_GAUSSIAN_VARIANCE, MOST_MEASURED
from designer.problem.domain import Domain
from designer.problem.histogram import IN_SPECS, Universe
from designer.relations.kinds import relation_from_spec
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.metric import METRIC
from designer.relations.metrics.presence import Presence
from designer.sampling.entropy import Entropy
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.sampling.margins import NoiseReach

TERM = Named("structured_term", record({"axes": list_of(PLACE, least=0, distinct=True), "queries": list_of(QUERIES, least=0)}))
AXIS = Named("strategy_matrices", record({"axis": PLACE, "rows": list_of(list_of(list_of(whole())))}))
BLOCK = Named(
    "structured_block",
    record({"axes": list_of(PLACE, least=0, distinct=True), "matrices": list_of(PLACE, least=0), "strength": POSITIVE}),
)
CORE = Named(
    "structured_mechanism",
    record(
        {
            "attributes": NAMES,
            "values": VALUES,
            "terms": list_of(TERM),
            "weights": POSITIVE_VECTOR,
            "protection": either(PRESENCE, METRIC),
            "noise": one_of("gaussian", "laplace"),
            "matrices": list_of(AXIS, least=0),
            "blocks": list_of(BLOCK),
            "serves": noted(
                'The block that answers each term; null for residuals; "together" where least squares of all blocks answer.',
                or_null(either(list_of(PLACE), exactly(TOGETHER))),
            ),
        },
        {"vacuous": VACUOUS, **IN_SPECS},
        note="Kronecker products of integer matrices of single attributes, each measured with one noise.",
    ),
)


def _placed(entry: Any, named: Named, axes: str, values: str, domain: Domain) -> list[tuple[int, Any]]:
    """Pairs of an axis and what stands for it, axes rising."""
    require_keys(entry, keys(named), named.name)
    if len(entry[axes]) != len(entry[values]) or entry[axes] != sorted(set(entry[axes])):
        raise InvalidSpec(f"{named.name}: axes must rise, with one entry of {values!r} for each.")
    return [(_axis(axis, domain), value) for axis, value in zip(entry[axes], entry[values], strict=True)]


def _axis(value: Any, domain: Domain) -> int:
    if _place(value) >= len(domain.attributes):
        raise InvalidSpec(f"axis: must be a position from 0 to {len(domain.attributes) - 1}.")
    return int(value)


def _place(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InvalidSpec("structured mechanism: positions must be whole numbers from 0.")
    return value


def _integer_rows(rows: Any) -> StrategyMatrix:
    values = array(rows, 2, "matrices.rows")
    if not (np.isfinite(values).all() and (values == np.rint(values)).all() and (np.abs(values) < 2**52).all()):
        raise InvalidSpec("matrices.rows: must hold whole numbers.")
    return StrategyMatrix(values.astype(np.int64))


def _protection(spec: Any, domain: Domain, noise: str) -> Protection:
    if isinstance(spec, dict) and spec.get("kind") == "presence":
        made = protection_from_spec(spec, domain, "zcdp" if noise == "gaussian" else "pure")
        assert isinstance(made, Presence)
        return made
    relation = relation_from_spec(spec)
    if not isinstance(relation, (Hamming, Product)):
        raise InvalidSpec("protection.kind: must be presence, hamming or product.")
    return relation


ANNOUNCED = 2**20  # coordinates that take seconds
MOST_LOOKED_AT = 2**16  # answers of a term whose variances are computed one by one
THEOREM = {
    "gaussian": (
        "Every coordinate of a product of integer matrices gets independent discrete Gaussian noise of variance 1 / s. A "
        "change moves the products by integer vectors whose squared lengths are products of squared column lengths; if the sum "
        "of s times these is at most b^2, the Renyi divergence of every order alpha is at most alpha b^2 / 2 "
        "(docs/theory/structured.md, 2; foundations.md, 1)."
    ),
    "laplace": (
        "Every coordinate of a product of integer matrices gets independent discrete Laplace noise of rate r. A change moves "
        "the products by integer vectors whose l1 norms are products of l1 column norms; if the sum of r times these is at "
        "most b, likelihoods differ by a factor of at most exp(b) (docs/theory/structured.md, 2)."
    ),
}
INTEGERS = (
    "Measured products and their noise are integers, summed exactly; the noisy integers are part of the release. Answers are "
    "floats computed from those integers alone."
)


@dataclass(frozen=True, eq=False)
class StructuredMechanism(DomainMechanism[StructuredRelease, SimulatedAnswers]):
    """Noisy answers to a structured workload, of any number of queries.

    matrices: for each attribute that is asked about, by axis, the integer matrices that blocks refer to. blocks: what is
    measured. serves: for each term the block that answers it. None for residuals, where the matrix of an axis has one row less
    than values. Then a term is put together from all blocks over its axes. Construction certifies every protected change, and
    raises `NotPrivate` where one spends more than its budget.
    """

    format = "dp-designer/structured-mechanism"
    spec_form = SpecForm(CORE, Named("parameters_of_structured", record(BUDGET_RANGE)))
    takes = ("records", "histogram")
    _alone = "queries of them alone answered exactly"
    _release_type, _simulated_type = StructuredRelease, SimulatedAnswers

    workload: StructuredWorkload
    protection: Protection
    noise: Noise
    matrices: Mapping[int, tuple[StrategyMatrix, ...]]
    blocks: tuple[MeasuredProduct, ...]
    serves: Serves = None
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    allow_vacuous: bool = False
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.noise not in THEOREM:
            raise InvalidProblem(f'noise: {self.noise!r} is unknown; use "gaussian" or "laplace".', value=self.noise)
        domain = self.workload.domain
        self._require_protection()
        for axis, listed in self.matrices.items():
            if any(matrix.rows.shape[1] != domain.shape[axis] for matrix in listed):
                raise InvalidProblem(
                    f"matrices: one for {domain.attributes[axis]!r} has not {domain.shape[axis]} columns; give one column for "
                    "each value."
                )
        least = 1 / LARGEST_GAUSSIAN_VARIANCE if self.noise == "gaussian" else 2.0**-55
        for block in self.blocks:
            if not (math.isfinite(block.strength) and block.strength > least):
                raise InvalidProblem("blocks: a strength is not a positive number that 64-bit noise allows; raise the budgets.")
            if any(place not in range(len(self.matrices.get(axis, ()))) for axis, place in block.parts.items()):
                raise InvalidProblem("blocks: one refers to a matrix that is not there; name one of those that are.")
        if self.serves not in (None, TOGETHER) and (
            not isinstance(self.serves, tuple)
            or len(self.serves) != len(self.workload.terms)
            or any(b not in range(len(self.blocks)) for b in self.serves)
        ):
            raise InvalidProblem('serves: name one of the blocks for each term, or give "together" or None.')
        assign(self, privacy=self.verify().require())
        self._require_substance()
        for k, term in enumerate(self.workload.terms):
            if self.together is None:
                self.parts(k)
            else:
                self.together.costs(term)

    @cached_property
    def together(self) -> JointLeastSquares | None:
        """How all blocks together know the directions of the answers; None where each term has blocks of its own."""
        if self.serves != TOGETHER:
            return None
        return JointLeastSquares(self.matrices, self.blocks, [self.variance_of(block) for block in self.blocks])

    @property
    def law(self) -> Noise:
        return self.noise

    @cached_property
    def changes(self) -> list[KindOfChange]:
        """The kinds of protected changes that imply all others."""
        return kinds_of_changes(self.protection, self.workload.domain, self.workload.used)

    @cached_property
    def vacuous(self) -> str | None:
        return None if self.changes else NOTHING_MOVES

    def verify(self) -> PrivacyCertificate:
        """The largest `||u|| / b` over the kinds of protected changes, recomputed in exact rationals through the factors."""
        loads = [share_spent(change, self.noise, self.matrices, self.blocks) for change in self.changes]
        return self._certificate_of(loads, THEOREM[self.noise], ", through the factors")

    def parts(self, term: int) -> tuple[MeasuredProduct, ...]:
        """The blocks that a term is put together from."""
        if self.serves == TOGETHER:
            return self.blocks
        if isinstance(self.serves, tuple):
            return (self.blocks[self.serves[term]],)
        axes = set(self.workload.terms[term])
        found = tuple(block for block in self._over.get(frozenset(axes), ()))
        if len(found) != 2 ** len(axes):
            raise InvalidProblem(
                "blocks: a residual of a term is not measured; give one block for every part of its attributes."
            )
        return found

    @cached_property
    def _over(self) -> dict[frozenset[int], list[MeasuredProduct]]:
        """For the attributes of every term, the blocks over some of them."""
        named = {frozenset(block.parts): block for block in self.blocks}
        wanted = {frozenset(term) for term in self.workload.terms}
        return {axes: [named[part] for part in _parts_of(axes) if part in named] for axes in wanted}

    def variance_of(self, block: MeasuredProduct) -> float:
        """The variance of each coordinate's discrete noise."""
        if self.noise == "laplace":
            return float(DiscreteLaplace([Fraction(block.strength)]).variance()[0])
        wide = 1 / block.strength
        return wide if wide >= 4.0 else float(DiscreteGaussian([1 / Fraction(block.strength)]).variance()[0])

    @cached_property
    def term_errors(self) -> NDArray[np.float64]:
        """The total variance of all answers of each term, (T,), exact up to floats."""
        if self.together is not None:
            return np.array([self.together.total(term) for term in self.workload.terms])
        known: dict[tuple[int, int, int], float] = {}
        residual = self.serves is None
        totals = []
        for k, term in enumerate(self.workload.terms):
            total = 0.0
            for block in self.parts(k):
                found = self.variance_of(block)
                for axis in {*term, *block.parts}:
                    key = (axis, id(term.get(axis)), block.parts.get(axis, -1))
                    if key not in known:
                        known[key] = summed_square(sides(term, block, self.matrices, residual)[axis])
                    found *= known[key]
                total += found
            totals.append(total)
        return np.array(totals)

    def error(self, loss: str = "squared") -> float:
        """The total of variances over all answers, weighted ("squared"), or the largest weighted variance ("max")."""
        if loss == "max":
            return max(float(weight * self.variances_of(k).max()) for k, weight in enumerate(self.workload.weights))
        if loss != "squared":
            raise InvalidProblem(f'loss: {loss!r} is unknown; use "squared" or "max".', value=loss)
        return float(self.workload.weights @ self.term_errors)

    @property
    def root_mean_squared_error(self) -> float:
        """Of an answer, all terms weighted alike."""
        return math.sqrt(float(self.term_errors.sum()) / self.workload.count)

    def variances(self, term: int | Sequence[str], places: object) -> NDArray[np.float64]:
        """Variances of single answers of a term, (m,), which is given by its position or the names of its attributes;
        places (m, axes of the term): the number of the query of each axis."""
        term = self.workload.term(term)
        chosen = self.workload_places(term, places)
        if self.together is not None:
            return self.together.variances(self.workload.terms[term], chosen)
        total = np.zeros(len(chosen))
        for block in self.parts(term):
            found = np.full(len(chosen), self.variance_of(block))
            for axis, (queries, inverse) in sides(self.workload.terms[term], block, self.matrices, self.serves is None).items():
                asked = axis in self.workload.terms[term]
                column = (
                    chosen[:, list(self.workload.terms[term]).index(axis)] if asked else np.zeros(len(chosen), dtype=np.intp)
                )
                found *= np.square(weights_along(queries.rows(column), inverse)).sum(axis=1)
            total += found
        return total

    def workload_places(self, term: int, places: object) -> NDArray[np.intp]:
        """Checked query numbers, (m, axes of the term)."""
        axes = len(self.workload.terms[term])
        chosen = np.asarray(places)
        if chosen.ndim != 2 or chosen.shape[1] != axes or chosen.dtype.kind not in "iu":
            raise InvalidProblem(f"places: have shape {chosen.shape}; give (m, {axes}) whole numbers, one for each attribute.")
        return chosen.astype(np.intp)

    @property
    def measured(self) -> int:
        """How many coordinates get noise."""
        return sum(math.prod(len(self.matrices[a][m].rows) for a, m in block.parts.items()) for block in self.blocks)

    @property
    def universe(self) -> Universe:
        """What counts are joined by; of small domains."""
        return Universe(self.workload.domain.elements, self.workload.domain.keys)

    @cached_property
    def _counted(self) -> MarginalWorkload:
        """The tables of counts that the blocks are made of; refused where a release would draw too much noise."""
        self._require_drawable()
        axes = {tuple(sorted(block.parts)) for block in self.blocks}
        sets = Subsets.of(sorted(axes))
        return MarginalWorkload(self.workload.domain, sets, np.ones(len(sets)))

    @hides_data_in_errors
    def _released(self, count_tables: Callable[[], Tables]) -> StructuredRelease:
        if self.measured > ANNOUNCED:
            announce(f"structured: counting records and drawing noise for {self.measured} coordinates")
        return super()._released(count_tables)

    def variances_of(self, place: int) -> Floats:
        counts = [queries.count for queries in self.workload.terms[place].values()]
        return self.variances(place, self.workload.places_of(place)).reshape(counts)

    def _true(self, tables: Tables) -> list[NDArray[Any]]:
        """`(M_1 x ... x M_d) x` of every block, exact; confidential."""
        found = []
        for block in self.blocks:
            axes = tuple(sorted(block.parts))
            over, table = next((over, table) for over, table in tables.items() if set(axes) <= set(over))
            kept = np.asarray(table.sum(axis=tuple(k for k, axis in enumerate(over) if axis not in axes)))
            found.append(exact_product(kept, [self.matrices[axis][block.parts[axis]].rows for axis in axes]))
        return found

    def _drawn(self, entropy: Entropy) -> list[NDArray[np.int64]]:
        return [drawn[0] for drawn in self.draw_blocks(1, entropy)]

    def draw_flat(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return np.concatenate([drawn.reshape(size, -1) for drawn in self.draw_blocks(size, entropy)], axis=1)

    def _require_drawable(self) -> None:
        if self.measured > MOST_MEASURED:
            raise InvalidProblem(
                f"release: {self.measured} coordinates would get noise, more than {MOST_MEASURED}; such designs are "
                "certified, and their errors known, but they are not drawn. Ask for tables over fewer of the attributes at "
                "once (`StructuredWorkload.tables`), or merge values."
            )

    def _noise_reach(self) -> NoiseReach:
        return reach_of_terms(self)

    def _whole(self) -> NDArray[np.bool_]:
        whole = [all(bool((own.rows() == np.rint(own.rows())).all()) for own in term.values()) for term in self.workload.terms]
        return np.repeat(whole, self.workload.counts)

    def draw_blocks(self, size: int, entropy: Entropy) -> list[NDArray[np.int64]]:
        """`size` draws of every block's noise, in order: (size, p_1, ..., p_r) each."""
        drawn = []
        for block in track(self.blocks, "drawing noise"):
            shape = tuple(len(self.matrices[axis][block.parts[axis]].rows) for axis in sorted(block.parts))
            strength = Fraction(block.strength)
            law = DiscreteLaplace([strength]) if self.noise == "laplace" else DiscreteGaussian([1 / strength])
            drawn.append(law.draw(size * math.prod(shape), entropy).reshape(size, *shape))
        return drawn

    def _core_of_kind(self) -> dict[str, Any]:
        workload, protection = self.workload, self.protection
        return {
            "terms": [{"axes": list(term), "queries": [q.to_spec() for q in term.values()]} for term in workload.terms],
            "weights": workload.weights,
            "protection": protection_to_spec(protection) if isinstance(protection, Presence) else protection.to_spec(),
            "noise": self.noise,
            "matrices": [
                {"axis": axis, "rows": [matrix.rows.tolist() for matrix in listed]}
                for axis, listed in sorted(self.matrices.items())
            ],
            "blocks": [
                {"axes": list(block.parts), "matrices": list(block.parts.values()), "strength": block.strength}
                for block in self.blocks
            ],
            "serves": list(self.serves) if isinstance(self.serves, tuple) else self.serves,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> StructuredMechanism:
        allowed = flagged_vacuous(core, keys(CORE) | ({"unlisted"} & core.keys()))
        domain = domain_of_core(core)
        terms = tuple(
            {axis: queries_from_spec(q, domain.shape[axis]) for axis, q in _placed(term, TERM, "axes", "queries", domain)}
            for term in core["terms"]
        )
        matrices = {}
        for entry in core["matrices"]:
            require_keys(entry, keys(AXIS), "matrices")
            matrices[_axis(entry["axis"], domain)] = tuple(_integer_rows(rows) for rows in entry["rows"])
        blocks = tuple(
            MeasuredProduct(
                {axis: _place(k) for axis, k in _placed(block, BLOCK, "axes", "matrices", domain)}, float(block["strength"])
            )
            for block in core["blocks"]
        )
        return cls(
            StructuredWorkload(domain, terms, array(core["weights"], 1, "weights")),
            _protection(core["protection"], domain, core["noise"]),
            core["noise"],
            matrices,
            blocks,
            tuple(map(_place, core["serves"])) if isinstance(core["serves"], list) else core["serves"],
            allow_vacuous=allowed,
        )

    def _statement(self) -> Guarantee:
        law = "exp(-z^2 / (2 variance))" if self.noise == "gaussian" else "exp(-rate |z|)"
        return self._promise(
            f"{len(self.blocks)} Kronecker products of integer matrices over {len(self.workload.used)} attributes: "
            f"independent integer noise in their {self.measured} coordinates, P(z) proportional to {law}; the "
            f"{self.workload.count} answers are fixed linear maps of them.",
            INTEGERS,
        )


@deviations_in_units.register(StructuredMechanism)
def _deviations_in_units(mechanism: StructuredMechanism) -> Iterable[tuple[str, float]]:
    """Of every term that of the answer with the least noise; of very many answers, the root of their mean variance."""
    listed = zip(mechanism.workload.titles, mechanism.workload.counts, mechanism.term_errors.tolist(), strict=True)
    for k, (title, answers, total) in enumerate(listed):
        least = total / answers if answers > MOST_LOOKED_AT else float(mechanism.variances_of(k).min())
        yield title, math.sqrt(least)


@below_by_noise.register(StructuredMechanism)
def _below_by_noise(mechanism: StructuredMechanism, table: AnswerTable) -> NDArray[np.bool_]:
    asked = (queries for term in mechanism.workload.terms for queries in term.values())
    counts = all(queries.matrix is None or (queries.rows() >= 0).all() for queries in asked)
    return (table.answers < 0) & counts


@release_lines.register(StructuredMechanism)
def _release_lines(mechanism: StructuredMechanism, released: Any, rows: int | None = None) -> list[str]:
    if mechanism.workload.count <= LISTED:
        return release_lines.dispatch(object)(mechanism, released, rows)
    return [*plain_lines(released), *kept_lines(released)]


def _parts_of(axes: frozenset[int]) -> list[frozenset[int]]:
    """All subsets."""
    listed = sorted(axes)
    return [frozenset(a for k, a in enumerate(listed) if mask >> k & 1) for mask in range(2 ** len(listed))]
