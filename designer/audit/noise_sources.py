"""Noise that is added to exact answers: for each kind of it the law that its certificate speaks of, and its own draws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.audit.stated_law import BalanceStatistics, Integers, StatedLaw
from designer.audit.tally import Source, Watch
from designer.base.arrays import Floats
from designer.certified.norms import Norm
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.mechanisms.lattice.row_mechanism import RowMechanism
from designer.sampling.entropy import Entropy

MOST_WATCHED = 24  # coordinates or vectors of jointly drawn noise
FINE_STEPS = 2.0**-16  # of the norm of one step: sums over the grid are integrals, up to what no test sees


def balance_watch(law: StatedLaw) -> Callable[[Integers], BalanceStatistics]:
    """The watch of a law."""
    return lambda pilot: BalanceStatistics.of(law, pilot)


def additive_source(made: AdditiveMechanism, entropy: Entropy) -> Source:
    """The noise of the measured coordinates that get any, in steps of the grid."""
    heard = made.noise.heard
    words = f"P(z) proportional to the {made.falloff} fall-off in the certified norm of {len(heard)} coordinates"
    return Source(
        "noise",
        words,
        lambda size: made.noise.draw(size, entropy)[:, heard],
        balance_watch(additive_law(made.norm, heard, made.grid.steps, made.falloff)),
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
        apart = _apart(weights, falloff)
        return StatedLaw(lambda z: apart(z).sum(axis=1), units, units.T, apart, degree=degree)
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


def _apart(weights: Floats, falloff: str) -> Callable[[Floats], Floats]:
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
