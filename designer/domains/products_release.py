"""What structured mechanisms hand out: noisy products, from which any of the answers are put together when they are asked for.

docs/theory/structured.md, section 3.

What a structured mechanism consists of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import LawOfAnswers
from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.domains.directions import JointLeastSquares, parts_of
from designer.domains.marginals_noise import kronecker_product
from designer.domains.mechanism import LAWS, MOST_ENTRIES, DomainAnswers, DomainRelease
from designer.domains.products_noise import MeasuredProduct, Noise, StrategyMatrix, sides
from designer.domains.products_workload import StructuredWorkload
from designer.limits import MOST_TERM_ANSWERS
from designer.sampling.entropy import Entropy
from designer.sampling.integer_margins import laplace_margin, sum_of_gaussians_margin, sums_are_nearly_normal
from designer.sampling.margins import NoiseFacts, NoiseReach, seed_of

TOGETHER: Literal["together"] = "together"
Serves = tuple[int, ...] | Literal["together"] | None

LISTED = 1000  # answers that a release lists by name
WORKING = 2**22  # numbers that are held while single answers are put together


class Structured(LawOfAnswers, Protocol):
    """What answers are put together by, and what their margins follow from."""

    @property
    def workload(self) -> StructuredWorkload: ...
    @property
    def noise(self) -> Noise: ...
    @property
    def matrices(self) -> Mapping[int, tuple[StrategyMatrix, ...]]: ...
    @property
    def blocks(self) -> tuple[MeasuredProduct, ...]: ...
    @property
    def serves(self) -> Serves: ...
    @property
    def together(self) -> JointLeastSquares | None: ...
    @property
    def measured(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def parts(self, term: int) -> tuple[MeasuredProduct, ...]: ...
    def workload_places(self, term: int, places: object) -> NDArray[np.intp]: ...
    def variances(self, term: int | Sequence[str], places: object) -> Floats: ...
    def draw_flat(self, size: int, entropy: Entropy) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class StructuredAnswers(DomainAnswers):
    """Answers from noisy products: the shape of each is the number of rows of each of its matrices, (p_1, ..., p_r)."""

    mechanism: Structured

    def table_at(self, place: int) -> Floats:
        return self.table(place)

    def answers(self, places: object, term: int | Sequence[str] = 0) -> Floats:
        """Some answers of a term, (m,): places (m, axes) are the numbers of the queries of its attributes, in the order of the
        domain. Unbiased; the others are not computed. term: its position, or the names of its attributes.
        """
        term = self.mechanism.workload.term(term)
        chosen = self.mechanism.workload_places(term, places)
        asked = list(self.mechanism.workload.terms[term])
        found = np.zeros(len(chosen))
        for block, values in self._blocks(term):
            rows = []
            for axis, (queries, inverse) in self._sides(term, block).items():
                column = chosen[:, asked.index(axis)] if axis in asked else np.zeros(len(chosen), dtype=np.intp)
                rows.append((axis, queries.rows(column) @ inverse))
            found += _contracted(values, [row for axis, row in rows if axis in block.parts])
            if outer := [row[:, 0] for axis, row in rows if axis not in block.parts]:
                found += (np.prod(outer, axis=0) - 1) * _contracted(values, [r for a, r in rows if a in block.parts])
        return found

    def standard_errors(self, places: object, term: int | Sequence[str] = 0) -> Floats:
        """Standard deviations of the noise in the same answers, (m,)."""
        return np.asarray(np.sqrt(self.mechanism.variances(term, places)), dtype=np.float64)

    def table(self, term: int | Sequence[str] = 0) -> Floats:
        """All answers of a term as an array, an axis for each of its attributes in the order of the domain."""
        workload = self.mechanism.workload
        term = workload.term(term)
        if workload.counts[term] > MOST_TERM_ANSWERS:
            raise InvalidProblem(
                f"term {term}: has {workload.counts[term]} answers, more than {MOST_TERM_ANSWERS}; ask for some, "
                "`answers(places)`."
            )
        total = np.zeros([queries.count for queries in workload.terms[term].values()])
        for block, values in self._blocks(term):
            found: Floats = values.astype(np.float64)
            for k, (axis, (queries, inverse)) in enumerate(self._sides(term, block).items()):
                if axis not in block.parts:
                    found = np.expand_dims(found, k)
                found = np.moveaxis(np.tensordot(queries.rows() @ inverse, found, axes=(1, k)), 0, k)
            dropped = tuple(k for k, axis in enumerate(self._sides(term, block)) if axis not in workload.terms[term])
            total += found.sum(axis=dropped)
        return total

    @cached_property
    def _estimates(self) -> Mapping[frozenset[int], Floats]:
        """Where all blocks answer together, what they say of the directions along each set of axes."""
        assert self.mechanism.together is not None
        return self.mechanism.together.estimates(self.measured)

    def _blocks(self, term: int) -> list[tuple[MeasuredProduct, NDArray[Any]]]:
        if self.mechanism.together is not None:
            parts = parts_of(list(self.mechanism.workload.terms[term]))
            known = [(part, self._estimates[part]) for part in parts if part in self._estimates]
            return [(MeasuredProduct(dict.fromkeys(sorted(part), 0), 1.0), own) for part, own in known]
        by_block = {id(block): values for block, values in zip(self.mechanism.blocks, self.measured, strict=True)}
        return [(block, by_block[id(block)]) for block in self.mechanism.parts(term)]

    def _sides(self, term: int, block: MeasuredProduct) -> dict[int, Any]:
        made = self.mechanism
        if made.together is not None:
            return made.together.sides(made.workload.terms[term], block)
        return sides(made.workload.terms[term], block, made.matrices, made.serves is None)


def _contracted(values: NDArray[Any], rows: Sequence[Floats]) -> Floats:
    """`sum over k of y[k_1, .., k_r] rows_1[m, k_1] .. rows_r[m, k_r]` for every m, a few m at a time."""
    measured = values.astype(np.float64)
    if not rows:
        return np.asarray(float(measured))[None]
    found, step = [], max(1, WORKING // max(1, measured[0].size))
    for start in range(0, len(rows[0]), step):
        part = np.tensordot(rows[0][start : start + step], measured, axes=(1, 0))
        for row in rows[1:]:
            part = np.einsum("mk...,mk->m...", part, row[start : start + step])
        found.append(part)
    return np.concatenate([*found, np.zeros(0)])


@dataclass(frozen=True, eq=False)
class StructuredRelease(DomainRelease, StructuredAnswers):
    """Noisy products with the guarantee they carry and the fingerprint of the mechanism that made them."""

    def _display_facts(self) -> Mapping[str, object]:
        """How many answers, and the fingerprint."""
        return {"answers": self.mechanism.workload.count, **super()._display_facts()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the noisy integers of every block, from which anybody puts answers together; and the answers, by name,
        where they are few."""
        names = self.mechanism.workload.domain.attributes
        listed = {} if self.mechanism.workload.count > LISTED else {"answers": named_answers(self)}
        return {
            **listed,
            "blocks": [
                {"attributes": [names[axis] for axis in sorted(block.parts)], "values": values.tolist()}
                for block, values in zip(self.mechanism.blocks, self.measured, strict=True)
            ],
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


def named_answers(released: StructuredAnswers) -> list[dict[str, Any]]:
    """All answers in the order of the terms, each with its name and the standard deviation of its noise."""
    workload, found = released.mechanism.workload, []
    for term, names in enumerate(workload.term_labels()):
        values, errors = released.table(term).ravel(), released.standard_errors(workload.places_of(term), term)
        found += [
            {"query": name, "answer": float(value), "standard_error": float(error)}
            for name, value, error in zip(names, values, errors, strict=True)
        ]
    return found


@dataclass(frozen=True, eq=False)
class SimulatedAnswers(StructuredAnswers):
    """Answers of noise alone, with a `stamp` that says that they are not private."""

    stamp: str


# How far the noise of the answers of structured workloads reaches with a given probability (docs/theory/intervals.md, 5).


TILTS = np.arange(1, 64) / 64  # of the largest that the moments allow


def reach_of_terms(mechanism: Structured) -> NoiseReach:
    """The noise of all answers of all terms, in order."""
    terms = range(len(mechanism.workload.terms))
    nearly = mechanism.noise == "gaussian" and sums_are_nearly_normal(_least(mechanism), mechanism.measured)
    count, few = mechanism.workload.count, mechanism.measured * mechanism.workload.count <= MOST_ENTRIES

    return NoiseReach(
        lambda level: np.concatenate([margins_of_term(mechanism, term, 1 - level) for term in terms]),
        lambda size, entropy: mechanism.draw_flat(size, entropy) @ answers_of_products(mechanism).T,
        np.zeros(count, dtype=bool),
        NoiseFacts(LAWS[mechanism.noise], nearly, mechanism.measured if few else math.inf),
        seed_of(mechanism.fingerprint),
        "the structured mechanism",
    )


def margins_of_term(mechanism: Structured, term: int, beyond: float) -> Floats:
    """Numbers t with `P(|noise| > t) <= beyond` for each answer of one term, (K,)."""
    parts = mechanism.parts(term)
    moments = [_coefficients(mechanism, term, block) for block in parts]
    strengths = [block.strength for block in parts]
    if mechanism.noise == "gaussian":
        deviations = np.sqrt(sum(squares / s for (squares, _), s in zip(moments, strengths, strict=True)))
        return np.asarray(deviations * sum_of_gaussians_margin(_least(mechanism), mechanism.measured, beyond))
    return laplace_margins(np.array([m[0] for m in moments]), np.array([m[1] for m in moments]), np.array(strengths), beyond)


def _least(mechanism: Structured) -> float:
    """The least variance of a coordinate, before it is made discrete."""
    return 1 / max(block.strength for block in mechanism.blocks)


def laplace_margins(squares: Floats, largest: Floats, rates: Floats, beyond: float) -> Floats:
    """Numbers t, (K,), with `P(|sum c_j z_j| > t) <= beyond`, z_j independent discrete Laplace noise of B rates.

    squares, largest: (B, K), sums of the squares of the coefficients of each rate, and the largest of them in size.
    By `E e^(s c z) <= 1 / (1 - (s c / rate)^2)` and convexity: `-log(1 - u x) <= -x log(1 - u)`, x from 0 to 1.
    """
    scales = largest / rates[:, None]
    reach = scales.max(axis=0)
    shares = np.divide(squares / rates[:, None] ** 2, reach**2, out=np.zeros_like(squares), where=reach > 0).sum(axis=0)
    logs = -np.log1p(-(TILTS[:, None] ** 2)) * shares + math.log(2 / beyond)
    found = (logs / TILTS[:, None]).min(axis=0) * reach * (1 + 1e-9)
    alone = (squares > 0).sum(axis=0) == 1
    single = alone & np.isclose(squares.sum(axis=0), largest.max(axis=0) ** 2, rtol=1e-12, atol=0)
    steps = np.array([laplace_margin(float(rate), beyond) for rate in rates])
    quantiles = steps[(squares > 0).argmax(axis=0)] * largest.max(axis=0) * (1 + 1e-9)
    return np.asarray(np.where(single, np.minimum(quantiles, found), found), dtype=np.float64)


def _coefficients(mechanism: Structured, term: int, block: MeasuredProduct) -> tuple[Floats, Floats]:
    """Of the answers of a term, (K,): the sum of the squares of their coefficients in a block, and the largest in size."""
    if mechanism.together is not None:
        return mechanism.together.maps(mechanism.workload.terms[term], block)[:2]
    rows = _factors(mechanism, term, block)
    squares = reduce(np.multiply.outer, [np.square(row).sum(axis=1) for row in rows], np.ones(()))
    largest = reduce(np.multiply.outer, [np.abs(row).max(axis=1) for row in rows], np.ones(()))
    return np.asarray(squares).ravel(), np.asarray(largest).ravel()


def _factors(mechanism: Structured, term: int, block: MeasuredProduct) -> list[Floats]:
    """The factors of the map from a block to the answers of a term, in the order of the axes; of an axis that is not asked
    about, one row."""
    listed = sides(mechanism.workload.terms[term], block, mechanism.matrices, mechanism.serves is None)
    return [queries.rows() @ inverse for queries, inverse in listed.values()]


def _map(mechanism: Structured, term: int, block: MeasuredProduct) -> Floats:
    """From a block to the answers of a term, (K, coordinates)."""
    if mechanism.together is None:
        return kronecker_product(_factors(mechanism, term, block))
    return mechanism.together.map(mechanism.workload.terms[term], block)


def answers_of_products(mechanism: Structured) -> Floats:
    """The matrix that makes all answers of all terms of the products of all blocks, end to end."""
    sizes = [math.prod(len(mechanism.matrices[a][m].rows) for a, m in block.parts.items()) for block in mechanism.blocks]
    starts = dict(zip(map(id, mechanism.blocks), np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
    widths = dict(zip(map(id, mechanism.blocks), sizes, strict=True))
    found = []
    for term, count in enumerate(mechanism.workload.counts):
        rows = np.zeros((count, sum(sizes)))
        for block in mechanism.parts(term):
            here = slice(starts[id(block)], starts[id(block)] + widths[id(block)])
            rows[:, here] = _map(mechanism, term, block)
        found.append(rows)
    return np.concatenate(found)
