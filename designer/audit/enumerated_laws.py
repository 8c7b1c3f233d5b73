"""Laws written out: a coarse instance of the same kind, its output distribution against the claim, and its own sampler."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.audit.balance_tests import BalanceStatistics, Integers, StatedLaw
from designer.audit.mean_tests import Source, Watch
from designer.audit.verdict import Finding, not_looked_at, proven, tested
from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.certificate.norm_kinds import BundleNorm, CappedNorm
from designer.certificate.norms import Gauge, Norm
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.mechanism.noise import Grid, noise_for
from designer.sampling.entropy import Entropy
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace

if TYPE_CHECKING:
    from designer.lattice.mechanism import LatticeMechanism
    from designer.lattice.row_mechanism import RowMechanism

# Noise that is added to exact answers: for each kind of it the law that its certificate speaks of, and its own draws.
MOST_WATCHED = 24  # coordinates or vectors of jointly drawn noise
MOST_ALONE = (
    1024  # independent coordinates that are tested one by one: of more 60 s show an error of 5 % at best; more in groups
)
FINE_STEPS = 2.0**-16  # of the norm of one step: sums over the grid are integrals, up to what no test sees


def balance_watch(law: StatedLaw) -> Callable[[Integers], BalanceStatistics]:
    """The watch of a law."""
    return lambda pilot: BalanceStatistics.of(law, pilot)


def additive_source(made: AdditiveMechanism | HierarchyMechanism, entropy: Entropy) -> Source:
    """The noise of the measured coordinates that get any, in steps of the grid."""
    heard = made.noise.heard
    words = f"P(z) proportional to the {made.falloff} fall-off in the certified norm of {len(heard)} coordinates"
    law = additive_law(made.norm, heard, made.grid.steps, made.falloff)
    words += f", averaged in {law.groups[-1] + 1} groups" if law.groups is not None else ""
    return Source(
        "noise",
        words,
        lambda size: made.noise.draw(size, entropy)[:, heard],
        balance_watch(law),
        width=len(heard),
    )


def additive_law(norm: Norm, heard: NDArray[np.intp], steps: Floats, falloff: str) -> StatedLaw:
    """`exp(-||z||)`, `exp(-||z||^2 / 2)`, or normal noise that is rounded, on the multiples of the steps.

    heard: (s,) places in the R coordinates of the norm that get noise. steps: (R,).
    """
    size, degree = len(heard), 1 if falloff == "exponential" else 2
    if _is_apart(norm, falloff):
        weights = norm.map[heard] * steps[heard]
        units: Any = np.eye(size, dtype=np.int8)  # of which nothing is read but how many there are
        apart = _independent(weights, falloff)
        law = StatedLaw(lambda z: apart(z).sum(axis=1), units, units.T, apart, degree=degree)
        groups, order = np.arange(size) * -(-size // MOST_ALONE) // size, np.argsort(weights, kind="stable")
        return replace(law, groups=groups, places_watched=order) if size > MOST_ALONE else law
    watched = _spread(size)
    moves = np.eye(size, dtype=np.int64)[watched]
    places = np.eye(size)[:, watched]

    def length(z: Floats) -> Floats:
        full = np.zeros((len(z), norm.dimension))
        full[:, heard] = z * steps[heard]
        return np.asarray(norm(full))

    fine = float(length(np.eye(size)).max()) < FINE_STEPS
    radial = _radial(size, degree) if fine else None
    if degree == 1:
        return StatedLaw(length, moves, places, radial=radial)
    return StatedLaw(lambda z: length(z) ** 2 / 2, moves, places, degree=2, radial=radial)


def _is_apart(norm: Norm, falloff: str) -> bool:
    """Whether the coordinates are independent."""
    plain = type(norm) is Norm and norm.map.ndim == 1
    return plain and (norm.order == "l1" or (norm.order == "l2" and falloff != "exponential"))


def _independent(weights: Floats, falloff: str) -> Callable[[Floats], Floats]:
    """The energies of independent coordinates of these weights for one step, (n, s) to (n, s)."""
    if falloff == "exponential":
        return lambda z: np.asarray(np.abs(z) * weights)
    if falloff == "gaussian" or float(weights.max()) < FINE_STEPS:
        return lambda z: np.asarray((z * weights) ** 2 / 2)
    return lambda z: _rounded_energy(z, weights)


def _rounded_energy(z: Floats, weights: Floats) -> Floats:
    """`-log(F((|z| + 1/2) w) - F((|z| - 1/2) w))` for the normal distribution function F, from its tails."""
    from scipy.special import log_ndtr

    near, far = log_ndtr(-(np.abs(z) - 0.5) * weights), log_ndtr(-(np.abs(z) + 0.5) * weights)
    return np.asarray(-near - np.log(-np.expm1(far - near)))


def _radial(size: int, degree: int) -> Callable[[Floats], Floats]:
    """The distribution function of the energy in s dimensions: `||z||` follows Gamma(s), `||z||^2 / 2` Gamma(s / 2)."""
    from scipy.special import gammainc

    return lambda energy: np.asarray(gammainc(size / degree, energy))


def _spread(size: int) -> NDArray[np.intp]:
    """All places, or some of many, evenly spread."""
    return np.arange(size) if size <= MOST_WATCHED else np.linspace(0, size - 1, MOST_WATCHED).astype(np.intp)


def lattice_source(made: LatticeMechanism, entropy: Entropy) -> Source:
    """The noise of a table, which keeps its invariant; vectors of a basis where the rank is small, short ones elsewhere."""
    words = f"P(z) proportional to the {made.falloff} fall-off in the certified norm on a lattice of rank {made.dimension}"
    return table_source(made, words, entropy, balance_watch(lattice_law(made)))


def table_source(
    made: LatticeMechanism | RowMechanism, words: str, entropy: Entropy, watch: Callable[[Integers], Watch]
) -> Source:
    """Integer noise of a table, which must keep the invariant. words: its law. watch: what is looked at in draws, (n, N)."""
    constraints = made.relation.invariant.constraints

    def belongs(draws: Integers) -> NDArray[np.bool_]:
        return np.asarray(~np.asarray(draws @ constraints.T).any(axis=1))

    return Source(
        "noise",
        words,
        lambda size: made.sampler.draw(size, entropy),
        watch,
        belongs,
        "an integer table that the public statistics do not see",
        made.relation.size,
    )


def lattice_law(made: LatticeMechanism) -> StatedLaw:
    """The law of the certified norm on the integer kernel."""
    moves, places, basis = kernel_moves(made)
    columns, norm = made.columns, made.norm
    if made.falloff == "exponential":
        return StatedLaw(lambda z: np.asarray(norm(z[:, columns])), moves, places, basis=basis)
    return StatedLaw(lambda z: np.asarray(norm(z[:, columns]) ** 2 / 2), moves, places, basis=basis, degree=2)


def kernel_moves(made: LatticeMechanism) -> tuple[Integers, Floats, bool]:
    """A basis of the kernel with its dual; of large ranks short vectors with themselves."""
    rows = np.array(made.lattice.basis.tolist(), dtype=np.int64)
    if len(rows) > MOST_WATCHED:
        rows = rows[_spread(len(rows))]
        return rows, (rows / (rows.astype(np.float64) ** 2).sum(axis=1)[:, None]).T, False
    return rows, _dual(rows), True


def _dual(rows: Integers) -> Floats:
    """Columns that give the coordinates of a vector of the span, (N, m): the pseudo-inverse, from exact rationals."""
    from flint import fmpq_mat, fmpz_mat

    exact = fmpz_mat([[int(x) for x in row] for row in rows])
    square = fmpq_mat(exact * exact.transpose()).inv()
    found: Any = (fmpq_mat(exact).transpose() * square).tolist()
    return np.array([[float(Fraction(int(x.p), int(x.q))) for x in row] for row in found])


SUBJECT = "coarse instance"
DEEP = 40.0
MOST_POINTS = 2**21
DRAWS = 100_000
LEAST_EXPECTED = 25.0
SHIFTS = 2  # steps in each coordinate
ORDERS = (1.25, 2.0, 8.0)


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """A law on a box of coordinates: points (P, m), their probabilities, and how long a shift by whole coordinates is."""

    words: str
    points: Integers
    chances: Floats
    length: Callable[[Floats], Floats]  # of coordinates (n, m): the claimed loss, or length
    falloff: str
    draw: Callable[[int], Integers]  # coordinates


def coarse_findings(write: Callable[[], WrittenOut | str], false_alarm: float) -> list[Finding]:
    """The two lines about a coarse instance: neighbours' laws against the claim, and draws against the law, rejected at
    `false_alarm`. write: makes the instance, or says why there is none."""
    try:
        law = write()
    except (InvalidProblem, ValueError, OverflowError, np.linalg.LinAlgError) as refusal:
        return [not_looked_at(SUBJECT, f"none of few outputs is made: {str(refusal)[:120]}")]
    if isinstance(law, str):
        return [not_looked_at(SUBJECT, law)]
    return [_claims(law), _follows(law, false_alarm)]


def additive_written_out(made: AdditiveMechanism | HierarchyMechanism, entropy: Entropy) -> WrittenOut | str:
    """The norm on its first coordinates (of hulls: a small one of the same class), with steps of about half of the noise's
    width."""
    norm = small_norm(made.norm)
    if norm is None:
        return "nothing gets noise"
    size = norm.dimension
    steps = [int(np.floor(np.log2(0.7 / float(norm(row))))) for row in np.eye(size)]
    grid = Grid(tuple(steps))
    noise = noise_for(norm, grid, made.falloff)
    law = additive_law(norm, np.arange(size), grid.steps, made.falloff)
    units = grid.steps

    def length(c: Floats) -> Floats:
        return np.asarray(norm(c * units))

    words = f"{type(norm).__name__} of order {norm.order} in {size} dimensions, {made.falloff} fall-off, steps of half a width"
    return _enumerated(words, law.energy, length, size, made.falloff, lambda n: noise.draw(n, entropy))


def small_norm(norm: Norm) -> Norm | None:
    """The norm on at most two coordinates that get noise; for classes that cannot be cut down, a small one of the class."""
    heard = np.flatnonzero(~norm.silent)
    if not len(heard):
        return None
    if len(heard) <= 2 and len(heard) == norm.dimension:
        return norm
    if type(norm) is Norm:
        return Norm(norm.map[..., heard[:2]] if norm.map.ndim == 1 else _square(norm.map[:, heard[:2]]), norm.order)
    hexagon = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    if isinstance(norm, CappedNorm):
        return CappedNorm(np.array([1.0, 0.75]), 1.5)
    if isinstance(norm, BundleNorm):
        halves = [Gauge(np.array([[1.0]]), np.array([0.5])), Gauge(np.array([[1.0]]), np.array([0.75]))]
        return BundleNorm(halves, [(0,), (1,)], norm.combine, 2)
    return Gauge(hexagon, np.array([0.5, 0.75, 1.0]))


def _square(columns: Floats) -> Floats:
    """The triangular factor of the same Gram matrix, so that the map is square."""
    return np.asarray(np.linalg.qr(columns, mode="r"))


def lattice_written_out(made: LatticeMechanism, entropy: Entropy) -> WrittenOut | str:
    """The mechanism itself where its rank is at most 2 and its noise narrow."""
    if made.chain is not None:
        return "a chain is not exact, and its guarantee says so"
    if made.dimension > 2:
        return f"the lattice has rank {made.dimension}; laws of rank 1 and 2 are written out"
    law = lattice_law(made)
    basis = law.moves.astype(np.float64)

    def length(c: Floats) -> Floats:
        return np.asarray(made.norm((c @ basis)[:, made.columns]))

    def draw(size: int) -> Integers:
        return law.coordinates(made.sampler.draw(size, entropy)).astype(np.int64)

    words = f"the mechanism itself, a lattice of rank {made.dimension}"
    return _enumerated(words, lambda c: law.energy(c @ basis), length, made.dimension, made.falloff, draw)


def one_coordinate(laplace: bool, entropy: Entropy) -> WrittenOut | str:
    """One coordinate of the law that every coordinate has."""
    width = Fraction(2, 5) if laplace else Fraction(4)
    sampler = DiscreteLaplace([width]) if laplace else DiscreteGaussian([width])
    scale = float(width) if laplace else float(width) ** -0.5
    power = 1 if laplace else 2

    def length(c: Floats) -> Floats:
        return np.asarray(np.abs(c[:, 0]) * scale)

    words = f"one coordinate of discrete {'Laplace' if laplace else 'Gaussian'} noise"
    return _enumerated(
        words,
        lambda c: np.asarray(length(c) ** power / power),
        length,
        1,
        "exponential" if laplace else "gaussian",
        lambda n: sampler.draw(n, entropy),
    )


def _enumerated(
    words: str,
    energy: Callable[[Floats], Floats],
    length: Callable[[Floats], Floats],
    size: int,
    falloff: str,
    draw: Callable[[int], Integers],
) -> WrittenOut | str:
    """The law on a box beyond whose faces it has next to nothing."""
    reach = _reach(energy, size)
    if (2 * reach + 1).prod() > MOST_POINTS:
        return f"the noise is so wide that {int((2 * reach + 1).prod())} outputs have a probability above exp(-{DEEP:g})"
    axes = [np.arange(-r, r + 1) for r in reach.astype(int)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)
    heights = energy(points.astype(np.float64))
    weights = np.exp(-(heights - heights.min()))
    return WrittenOut(words, points, weights / weights.sum(), length, falloff, draw)


def _reach(energy: Callable[[Floats], Floats], size: int) -> Floats:
    """The half-width of a box that holds all points of energy below `DEEP`: along a coordinate, doubled until the least energy
    of a face, found on a coarse net of it, is beyond."""
    reach = np.full(size, 4.0)
    for _ in range(24):
        low = [_least_on_face(energy, reach, k) < DEEP for k in range(size)]
        if not any(low) or (2 * reach + 1).prod() > 4 * MOST_POINTS:
            return reach
        reach = np.where(low, np.ceil(reach * 1.4), reach)
    return reach


def _least_on_face(energy: Callable[[Floats], Floats], reach: Floats, k: int) -> float:
    nets = [np.array([reach[j]]) if j == k else np.linspace(-reach[j], reach[j], 65) for j in range(len(reach))]
    face = np.stack(np.meshgrid(*nets, indexing="ij"), axis=-1).reshape(-1, len(reach))
    return float(energy(face).min())


def _claims(law: WrittenOut) -> Finding:
    """Neighbours' laws, for every shift of a few steps: ratios, Renyi divergences, or what exceeds `exp(b)`."""
    shape = law.points.max(axis=0) - law.points.min(axis=0) + 1
    table = law.chances.reshape(shape)
    worst, shifts = -math.inf, 0
    for shift in product(range(-SHIFTS, SHIFTS + 1), repeat=len(shape)):
        if not any(shift):
            continue
        claimed = float(law.length(np.array([shift], dtype=np.float64))[0])
        here, there = _overlap(table, shift)
        worst, shifts = max(worst, _excess(law.falloff, here, there, claimed)), shifts + 1
    kind = {"exponential": "likelihood ratios", "gaussian": "Renyi divergences"}.get(law.falloff, "excess probabilities")
    words = (
        f"{law.words}: {len(law.points)} outputs, {shifts} shifts: {kind} exceed what the norm claims by {worst:.2g} at most"
    )
    return proven(SUBJECT, f"{words} (rounding 1e-9)", worst <= 1e-9, outputs=len(law.points), excess=worst)


def _overlap(table: Floats, shift: tuple[int, ...]) -> tuple[Floats, Floats]:
    """The probabilities of z and of z + shift where both are in the box."""
    here = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(shift, table.shape, strict=True))
    there = tuple(slice(max(0, s), n - max(0, -s)) for s, n in zip(shift, table.shape, strict=True))
    return table[here].ravel(), table[there].ravel()


def _excess(falloff: str, here: Floats, there: Floats, claimed: float) -> float:
    """How far two laws are apart beyond the claim."""
    seen = (here > 1e-280) & (there > 1e-280)
    p, q = here[seen], there[seen]
    if falloff == "exponential":
        return float(np.abs(np.log(p) - np.log(q)).max() - claimed)
    if falloff == "gaussian":
        found = [math.log(float((p**a * q ** (1 - a)).sum())) / (a - 1) - a * claimed**2 / 2 for a in ORDERS]
        return max(found)
    from scipy.special import ndtr

    gaps = []
    for budget in (0.0, claimed**2 / 2, claimed**2 / 2 + claimed):
        promised = ndtr(claimed / 2 - budget / claimed) - math.exp(budget) * ndtr(-claimed / 2 - budget / claimed)
        gaps.append(float(np.maximum(p - math.exp(budget) * q, 0).sum() - promised))
    return max(gaps)


def _follows(law: WrittenOut, false_alarm: float) -> Finding:
    """The sampler of the coarse instance, output by output."""
    from scipy.stats import chi2

    draws = law.draw(DRAWS)
    low = law.points.min(axis=0)
    shape = law.points.max(axis=0) - low + 1
    place = draws - low
    inside = ((place >= 0) & (place < shape)).all(axis=1)
    counts = np.bincount(np.ravel_multi_index(tuple(place[inside].T), tuple(shape)), minlength=len(law.points))
    expected = DRAWS * law.chances
    pooled = expected < LEAST_EXPECTED
    seen, expected = _pooled(counts, expected, pooled)
    score = float(((seen - expected) ** 2 / expected).sum())
    chance = float(chi2.sf(score, len(expected) - 1))
    words = (
        f"{DRAWS} draws of it in {len(expected)} cells of outputs: chance {chance:.3g} of being further off (rejected below "
        f"{false_alarm:.3g}; the chance is that of a chi-square law, an approximation)"
    )
    holds = bool(inside.all()) and chance >= false_alarm
    return tested(
        f"{SUBJECT}, its sampler", words, holds, draws=DRAWS, cells=len(expected), chance=chance, false_alarm=false_alarm
    )


def _pooled(counts: NDArray[Any], expected: Floats, pooled: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Rare outputs as one, joined to the most frequent where they are rare together."""
    rare = (float(counts[pooled].sum()), float(expected[pooled].sum()))
    kept = (counts[~pooled].astype(np.float64), expected[~pooled].copy())
    if rare[1] >= LEAST_EXPECTED or not len(kept[1]):
        return np.append(kept[0], rare[0]), np.append(kept[1], rare[1])
    top = int(kept[1].argmax())
    kept[0][top] += rare[0]
    kept[1][top] += rare[1]
    return kept
