"""How far the noise of the answers of structured workloads reaches with a given probability (docs/theory/intervals.md, 5)."""

from __future__ import annotations

import math
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.mechanisms.marginals.accuracy import kronecker_product
from designer.mechanisms.products.blocks import MeasuredProduct
from designer.mechanisms.products.reconstruction import sides
from designer.mechanisms.products.release import Structured
from designer.sampling.entropy import Entropy
from designer.sampling.integers.margins import laplace_margin, sum_of_gaussians_margin, sums_are_nearly_normal
from designer.sampling.reach import NoiseFacts, NoiseReach
from designer.sampling.simulated_reach import seed_of

LAWS = {
    "gaussian": "sums of independent discrete Gaussians, by normal noise that smooths them",
    "laplace": "exponential moments of sums of independent discrete Laplace noise",
}
MOST_ENTRIES = 10**7  # of the matrix from products to answers: 80 MB
TILTS = np.arange(1, 64) / 64  # of the largest that the moments allow


class StructuredNoise(Structured, Protocol):
    """What the margins need to know of a mechanism."""

    @property
    def measured(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def draw_blocks(self, size: int, entropy: Entropy) -> list[NDArray[np.int64]]: ...


def reach_of_terms(mechanism: StructuredNoise) -> NoiseReach:
    """The noise of all answers of all terms, in order."""
    terms = range(len(mechanism.workload.terms))
    nearly = mechanism.noise == "gaussian" and sums_are_nearly_normal(_least(mechanism), mechanism.measured)
    count, few = mechanism.workload.count, mechanism.measured * mechanism.workload.count <= MOST_ENTRIES

    def draw(size: int, entropy: Entropy) -> Floats:
        blocks = [own.reshape(size, -1) for own in mechanism.draw_blocks(size, entropy)]
        return np.asarray(np.concatenate(blocks, axis=1) @ answers_of_products(mechanism).T, dtype=np.float64)

    return NoiseReach(
        lambda level: np.concatenate([margins_of_term(mechanism, term, 1 - level) for term in terms]),
        draw,
        np.zeros(count, dtype=bool),
        NoiseFacts(LAWS[mechanism.noise], nearly, mechanism.measured if few else math.inf),
        seed_of(mechanism.fingerprint),
        "the structured mechanism",
    )


def whole_terms(mechanism: Structured) -> NDArray[np.bool_]:
    """Of all answers of all terms, whether they are whole numbers, (A,)."""
    listed = zip(mechanism.workload.terms, mechanism.workload.counts, strict=True)
    return np.concatenate([np.full(count, all(_whole(own.rows()) for own in term.values())) for term, count in listed])


def _whole(rows: Floats) -> bool:
    return bool((rows == np.rint(rows)).all())


def margins_of_term(mechanism: StructuredNoise, term: int, beyond: float) -> Floats:
    """Numbers t with `P(|noise| > t) <= beyond` for each answer of one term, (K,)."""
    parts = mechanism.parts(term)
    moments = [_coefficients(mechanism, term, block) for block in parts]
    strengths = [block.strength for block in parts]
    if mechanism.noise == "gaussian":
        deviations = np.sqrt(sum(squares / s for (squares, _), s in zip(moments, strengths, strict=True)))
        return np.asarray(deviations * sum_of_gaussians_margin(_least(mechanism), mechanism.measured, beyond))
    return laplace_margins(np.array([m[0] for m in moments]), np.array([m[1] for m in moments]), np.array(strengths), beyond)


def _least(mechanism: StructuredNoise) -> float:
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
