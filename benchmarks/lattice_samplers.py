"""Exact lattice noise: acceptance, time a draw, and effectively independent draws of
a Metropolis chain at published settings, in one run.

Acceptances of nearest plane at rate 1/4: 55 % (4x4), 40 % (6x6), 23 % (10x10); of l1 25 % (4x4), 3 in 10^4 (10x10). A chain's
step is worth 1/T of an independent draw, T the integrated autocorrelation time of the norm; but a user who wants one draw close
to the law pays the steps after which the coupling bound is as low as its number of pairs lets it be (0.06 at 95 % confidence),
and that is the other column. Times are CPU times.

Measured on a shared core: "thousands of times" is reached for one draw close to the law (l1: 2,900 for the intersecting
constraints, 860 at 4x4; l2: 30,000 at 4x4), not for effectively independent draws of a chain that runs on: 9 and 15 (l1), 490
(l2), 430 (Illinois). l2 on 10x10: 72 us a draw; Illinois: 26 us;
l1 on 10x10: 0.11 s, where no chain was known to have converged.

    OMP_NUM_THREADS=1 python -m benchmarks.lattice_samplers [--no-chain]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from designer.sampling.entropy import SeededEntropy, SystemEntropy
from designer.sampling.lattices.lattice_choice import LatticeSampler, lattice_sampler_for
from designer.sampling.lattices.lattice_gaussian import LatticeGaussian
from solvers.exact.hermite import smith_transforms
from solvers.lattices.chain import Chain, JumpLaw, l1_energy, l2_energy
from solvers.lattices.convergence import autocorrelation_time, variation_bound
from solvers.lattices.kernel import integer_kernel

SECONDS = 1.0
CHAINS, STEPS, PAIRS, LAG = 50, 5_000, 50, 2_000
LIMIT = 100_000  # steps in which pairs of chains may meet


@dataclass(frozen=True)
class Setting:
    """Invariants, norm, rate, and the decay of the published chain's jumps (None: no chain was published)."""

    name: str
    matrix: NDArray[np.int64]
    norm: str
    rate: Fraction
    decay: float | None = None


def margins(*shape: int) -> NDArray[np.int64]:
    """One-way margins of a table."""
    cells = np.arange(math.prod(shape)).reshape(shape)
    return np.array([np.isin(cells.ravel(), np.take(cells, i, axis)) for axis, n in enumerate(shape) for i in range(n)]).astype(
        np.int64
    )


def intersecting() -> NDArray[np.int64]:
    """14 records, two in each region of three intersecting sets."""
    return np.array([[((i // 2 + 1) >> j) & 1 for i in range(14)] for j in range(3)])


def settings() -> Iterator[Setting]:
    """The published applications, and larger tables."""
    quarter = Fraction(1, 4)
    yield Setting("three intersecting invariants", intersecting(), "l1", quarter, math.exp(-1))
    yield Setting("three intersecting invariants", intersecting(), "l2", quarter, math.exp(-1.5))
    yield Setting("4x4", margins(4, 4), "l1", quarter, math.exp(-1))
    yield Setting("4x4", margins(4, 4), "l2", quarter, math.exp(-2))
    yield Setting("Illinois, 102 counties", np.ones((1, 102), dtype=np.int64), "l1", Fraction(24, 125), math.exp(-2.5))
    for shape in ((5, 5), (6, 6), (10, 10)):
        yield Setting("x".join(map(str, shape)), margins(*shape), "l1", quarter)
    for shape in ((6, 6), (10, 10), (4, 4, 4)):
        yield Setting("x".join(map(str, shape)), margins(*shape), "l2", quarter)
    yield Setting("a state of 254 counties", np.ones((1, 254), dtype=np.int64), "l1", Fraction(24, 125))
    yield Setting("a state of 254 counties", np.ones((1, 254), dtype=np.int64), "l2", quarter)


def microseconds(sampler: LatticeSampler) -> float:
    """Time a draw, in batches of 1,000 (of 10 where that takes long), from the operating system's entropy."""
    start = time.process_time()
    sampler.draw(10, SystemEntropy())
    batch = 1000 if time.process_time() - start < SECONDS / 10 else 10
    count, start = 0, time.process_time()
    while (spent := time.process_time() - start) < SECONDS:
        count += len(sampler.draw(batch, SystemEntropy()))
    return 1e6 * spent / count


def chain_costs(setting: Setting, decay: float) -> tuple[float, float, int | None]:
    """Microseconds a step, steps an effectively independent draw is worth, and steps to the lowest bound."""
    kernel = setting.matrix.shape[1] - integer_kernel(setting.matrix).dimension
    basis = smith_transforms(setting.matrix)[2].T[kernel:].astype(np.int64)
    energy = (l1_energy if setting.norm == "l1" else l2_energy)(float(setting.rate))
    chain, source = Chain(basis, energy, JumpLaw((decay,)), jointly=True), SeededEntropy(1)
    states, _, _ = chain.run(chain.start(CHAINS), STEPS, source)
    start = time.process_time()
    _, _, trace = chain.run(states, STEPS, source, thin=10)
    step = 1e6 * (time.process_time() - start) / (CHAINS * STEPS)
    worth = 10 * autocorrelation_time(energy(trace.reshape(-1, basis.shape[1])).reshape(trace.shape[:2]))
    times = chain.meeting_times(LAG, PAIRS, source, LIMIT)
    bound = variation_bound(times, LAG, np.arange(0, LIMIT, 500), limit=LIMIT)
    return step, worth, bound.steps_for(float(bound.high.min()))


def main() -> None:
    """Prints one Markdown row a setting."""
    print(
        "| invariants | norm | method | accepted | us a draw | us a chain step | steps a draw is worth | ratio | steps to "
        "the bound | ratio |"
    )
    print("|" + " --- |" * 10)
    for setting in settings():
        choice = lattice_sampler_for(setting.matrix, setting.norm, setting.rate)
        assert choice.sampler is not None, choice.considered
        ours = microseconds(choice.sampler)
        row = f"| {setting.name} | {setting.norm} | {choice.method} | {choice.acceptance:.2f} | {ours:.3g} "
        if setting.decay is not None and "--no-chain" not in sys.argv:
            step, worth, until = chain_costs(setting, setting.decay)
            last = "not met | " if until is None else f"{until} | {until * step / ours:.3g}"
            row += f"| {step:.3g} | {worth:.3g} | {worth * step / ours:.3g} | {last} |"
        else:
            row += "| | | | | |"
        print(row, flush=True)
    for name, matrix in (
        ("4x4", margins(4, 4)),
        ("10x10", margins(10, 10)),
        ("254 counties", np.ones((1, 254), dtype=np.int64)),
    ):
        gaussian = LatticeGaussian.isotropic(integer_kernel(matrix), Fraction(100))
        print(
            f"| {name} | Gaussian, sd 10 | Klein | {gaussian.pilot_acceptance(1000, SeededEntropy(0)):.2f} | "
            f"{microseconds(gaussian):.3g} | | | | | |"
        )


if __name__ == "__main__":
    main()
