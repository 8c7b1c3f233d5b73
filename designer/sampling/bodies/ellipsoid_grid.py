"""The norm `|F z|_2` of an ellipsoid, for exact sampling on the integer grid.

Derivation: docs/theory/sampling.md, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.base.repeated import distinct, for_each
from designer.sampling import continuous, integer_samplers
from designer.sampling.bodies.nearest_plane import ROUND_UP, NearestPlane
from designer.sampling.bodies.round_and_reject import NormLaw
from solvers.exact.bits import precision, working_precision

if TYPE_CHECKING:
    from flint import arb, arb_mat, fmpq, fmpq_mat

    from designer.sampling.integer_samplers import LazyUniform

SLOW_ELIMINATION = 80  # columns: about a second


@dataclass(frozen=True)
class EllipsoidGrid:
    """`||z|| = |F z|_2` on Z^s, F (K, s) of rank s, of exact rationals (floats are the dyadic numbers that they are).

    For the ellipsoid `{x : x' W x <= 1}` any F with `F' F = W` serves. Draws: `y = F^-1 r omega` with a Gamma(s) radius and a
    uniform direction (exponential fall-off), or `F^-1` times standard normals (Gaussian). Where K > s, as for a lattice whose
    basis F holds as columns, `(D^1/2 U)^-1` of the exact factorisation `F' F = U' D U` takes the place of F^-1.
    Entries are 0 or within 2^+-500.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.bodies.round_and_reject import RoundAndReject
    >>> noise = RoundAndReject(EllipsoidGrid([[0.5, 0.25], [0, 0.5]], NormLaw.GAUSSIAN))
    >>> noise.draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    factor: Sequence[Sequence[Fraction | float]]
    falloff: NormLaw = NormLaw.EXPONENTIAL
    share = 1.0
    spread: Floats = field(init=False, repr=False, compare=False)
    _floats: Floats = field(init=False, repr=False, compare=False)
    _inverse: Floats = field(init=False, repr=False, compare=False)
    _exact: Callable[[], fmpq_mat] = field(init=False, repr=False, compare=False)
    _triangular: Callable[[], tuple[fmpq_mat, list[fmpq]]] = field(init=False, repr=False, compare=False)
    _inverse_at: Callable[[int], arb_mat] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        factor = tuple(tuple(map(_exactly, row)) for row in self.factor)
        lengths = sorted({len(row) for row in factor})
        if len(lengths) != 1 or not 0 < lengths[0] <= len(factor):
            raise InvalidProblem(f"factor: {len(factor)} rows of lengths {lengths}; give at least as many rows as columns.")
        if any(entry and not Fraction(1, 2**500) < abs(entry) < 2**500 for entry in distinct(chain.from_iterable(factor))):
            raise InvalidProblem("factor: an entry is beyond 2^500 or nearer to 0 than 2^-500; rescale the grid.")
        assign(
            self,
            factor=factor,
            _exact=cache(self._exact_factor),
            _triangular=cache(self._eliminated),
            _inverse_at=cache(self._inverse_of_precision),
        )
        floats = np.array(for_each(float, list(chain.from_iterable(factor)))).reshape(len(factor), -1)
        inverse = self._rounded_inverse()
        spread = np.sqrt((inverse**2).sum(axis=1)) * ROUND_UP  # Cauchy and Schwarz
        assign(self, _floats=floats, _inverse=inverse, spread=spread)

    @property
    def dimension(self) -> int:
        """s."""
        return len(self.factor[0])

    @property
    def word_count(self) -> int:
        """s words for the Gamma radius of an exponential fall-off, and those of s normals."""
        gamma = self.dimension if self.falloff is NormLaw.EXPONENTIAL else 0
        return gamma + continuous.normal_words(self.dimension)

    @property
    def log_volume(self) -> float:
        """`log(pi^(s/2) / Gamma(s/2 + 1) / sqrt(det F'F))`."""
        s = self.dimension
        return s / 2 * math.log(math.pi) - math.lgamma(s / 2 + 1) + float(np.linalg.slogdet(self._inverse)[1])

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """The smaller of two bounds: columns added up, and `sqrt(s) |F W|_2` with `|.|_2^2 <= |.|_1 |.|_inf`.

        Seen through a plane that suits it, F has nearly orthogonal columns: `|G w|_2^2 <= |w|' |G' G| |w|` is sharp then.
        widths: (s,).
        """
        if plane is not None:
            seen, error = plane.through(self._floats)
            length = math.sqrt(float(widths @ np.abs(seen.T @ seen) @ widths))
            return (length + float(np.linalg.norm(error @ widths))) * ROUND_UP
        scaled = np.abs(self._floats) * widths
        spectral = np.sqrt(scaled.sum(axis=0).max() * scaled.sum(axis=1).max())
        return float(min(np.sqrt((scaled**2).sum(axis=0)).sum(), spectral * np.sqrt(np.count_nonzero(widths)))) * ROUND_UP

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """`y = F^-1 v` with |v| the norm.

        words: (n, word_count). Draws (n, s), norms (n,), errors (n,).
        """
        s, gamma = self.dimension, words.shape[1] - continuous.normal_words(self.dimension)
        vector, norm, error = continuous.normal_vectors(words[:, gamma:], s)
        if self.falloff is NormLaw.EXPONENTIAL:
            _, radius, radius_error = continuous.exponential_vectors(words[:, :gamma])
            vector, error = continuous.along(radius, radius_error, vector, norm, error)
            norm = radius
        # The roundings of the product are relative to sum |inverse| |vector|, at most `spread` times the norm.
        return vector @ self._inverse.T, norm, error + (s + 4) * 2.0**-52 * norm

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb]:
        """The same draw in ball arithmetic."""
        from flint import arb, arb_mat

        s, gamma = self.dimension, len(uniforms) - continuous.normal_words(self.dimension)
        normals = continuous.normal_vector_balls(uniforms[gamma:], s)
        norm: arb = sum((x**2 for x in normals), arb(0)).sqrt()
        if self.falloff is NormLaw.EXPONENTIAL:
            radius = sum((integer_samplers.exponential_ball(u) for u in uniforms[:gamma]), arb(0))
            normals, norm = [x * radius / norm for x in normals], radius
        return (self._inverse_balls() * arb_mat(s, 1, normals)).entries(), norm

    def norm(self, z: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """`|F z|_2` and its error, from the rounding of every product and sum in `F z`.

        z: (n, s). Norms (n,), errors (n,).
        """
        floats = z.astype(np.float64)
        length = np.sqrt(((floats @ self._floats.T) ** 2).sum(axis=1))
        rounding = np.sqrt(((np.abs(floats) @ np.abs(self._floats).T) ** 2).sum(axis=1))
        return length, (rounding + length) * (self.dimension + 6) * 2.0**-52

    def norm_ball(self, z: Sequence[int]) -> arb:
        """`|F z|_2`, a root of an exact rational."""
        from flint import arb, fmpq_mat

        image = (self._exact() * fmpq_mat(len(z), 1, list(z))).entries()
        root: arb = arb(sum(entry * entry for entry in image)).sqrt()
        return root

    def _exact_factor(self) -> fmpq_mat:
        """F."""
        from flint import fmpq, fmpq_mat

        entries = for_each(lambda x: fmpq(x.numerator, x.denominator), [_exactly(x) for x in chain.from_iterable(self.factor)])
        return fmpq_mat(len(self.factor), self.dimension, entries)

    def _inverse_balls(self) -> arb_mat:
        """Balls around `F^-1` (or what takes its place) at the working precision;
        kept, because at s = 100 they take 0.1 s and every hard draw asks."""
        return self._inverse_at(precision())

    def _inverse_of_precision(self, bits: int) -> arb_mat:
        """The same at the working precision, which is `bits`."""
        from flint import arb_mat

        try:
            return arb_mat(self._exact()).inv() if len(self.factor) == self.dimension else self._inverse_of_tall()
        except ZeroDivisionError:
            if self._exact().rank() < self.dimension:
                raise InvalidProblem("factor: singular; give an invertible matrix, or sample in a subspace.") from None
            with working_precision(2 * bits):
                return self._inverse_balls()

    def _inverse_of_tall(self) -> arb_mat:
        """`U^-1 D^-1/2` with `F' F = U' D U`, U unit upper triangular and D diagonal."""
        from flint import arb, arb_mat

        upper, pivots = self._triangular()
        roots = [1 / arb(pivot).sqrt() if pivot > 0 else arb("nan") for pivot in pivots]
        inverse = arb_mat(upper).inv().tolist()
        return arb_mat([[x * root for x, root in zip(row, roots, strict=True)] for row in inverse])

    def _eliminated(self) -> tuple[fmpq_mat, list[fmpq]]:
        """U and the diagonal of D, exactly, by fraction-free elimination.

        What all entries of `F' F` have in common, such as the square of a rate, is taken out of it first: each of the minors
        would hold it once more, in ever longer numbers.
        """
        from flint import fmpq, fmpq_mat, fmpz_mat

        if self.dimension > SLOW_ELIMINATION:
            announce(f"inverting a matrix of {self.dimension} columns exactly")
        gram, below = (self._exact().transpose() * self._exact()).numer_denom()
        if gram.rank() < self.dimension:
            raise InvalidProblem("factor: its columns are dependent; give a matrix of full column rank.")
        entries = [int(entry) for entry in gram.entries()]
        common = math.gcd(*entries)
        upper = fmpz_mat(self.dimension, self.dimension, [entry // common for entry in entries]).fflu()[3]
        minors = [int(upper[i, i]) for i in range(self.dimension)]
        unit = [fmpq(upper[i, j], minors[i]) for i in range(self.dimension) for j in range(self.dimension)]
        pivots = [fmpq(after * common, before * int(below)) for before, after in zip([1, *minors], minors, strict=False)]
        return fmpq_mat(self.dimension, self.dimension, unit), pivots

    def _rounded_inverse(self) -> Floats:
        """`F^-1`, every entry right to 2^-52 of its row's largest, from balls of sufficient precision."""
        for bits in (128, 256, 512, 1024, 2048, 4096):
            with working_precision(bits):
                balls = self._inverse_balls().tolist()
                middle = np.array([[float(ball.mid()) for ball in row] for row in balls])
                radius = np.array([[float(ball.rad()) for ball in row] for row in balls])
            if (radius.max(axis=1) <= 2.0**-54 * np.abs(middle).max(axis=1)).all():
                return middle
        raise InvalidProblem("factor: too ill-conditioned to invert with 4096 bits; choose another basis.")


def _exactly(entry: Fraction | float) -> Fraction:
    """A fraction as it is, so that equal entries that are one object stay one; a float as the number that it is."""
    return entry if type(entry) is Fraction else Fraction(entry)
