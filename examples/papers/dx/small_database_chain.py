"""A Metropolis chain for small databases that are too many to list: for study only.

Nothing is known about how near its law is to the one that is private: a mixing time that is proven for these scores is either
exponential in `n R / c` or needs c so large that answers are worthless (docs/theory/synthetic.md, 3).
So there is no release here, only simulation.
"""

from __future__ import annotations

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import count
from designer.synthetic.queries import LipschitzQueries, public_records, whole_histogram
from designer.synthetic.release import SyntheticSimulation


def simulate_chain(
    queries: LipschitzQueries, records: int, size: int, histogram: object, steps: int, seed: int
) -> SyntheticSimulation:
    """The state after `steps` moves of one record, of a chain whose stationary law has weights `exp(-s(y) / (2 c))` on
    histograms of m = `size` records, `s(y) = max_k |P_k x - (n / m) P_k y|`.

    A move takes a record, uniform among the m, to an element j, uniform among the N. As histograms, not records, are the
    states, a move from i to j is proposed with probability y_i / (m N) and back with (y_j + 1)
    / (m N): the quotient enters the acceptance.
    """
    x = whole_histogram(histogram, queries.workload.universe, public_records(records))
    generator = np.random.default_rng(count(seed, "seed", least=0))
    matrix, rate, scale = queries.values, float(queries.rate) / 2, records / count(size, "size")
    placed = generator.integers(0, len(x), size)
    y = np.bincount(placed, minlength=len(x))
    gaps = scale * matrix @ y - matrix @ x
    for _ in range(count(steps, "steps")):
        s, j = int(generator.integers(size)), int(generator.integers(len(x)))
        i = int(placed[s])
        moved = gaps + scale * (matrix[:, j] - matrix[:, i])
        gain = rate * float(np.abs(gaps).max() - np.abs(moved).max())
        if i != j and np.log(generator.random()) < gain + np.log((y[j] + 1) / y[i]):
            placed[s], gaps = j, moved
            y[i] -= 1
            y[j] += 1
    synthetic: Floats = frozen(scale * y)
    stamp = f"simulation, not private: {steps} steps of a chain whose distance from its law is not known, seed {seed}"
    return SyntheticSimulation(synthetic, frozen(matrix @ synthetic), queries.workload.queries, (), stamp)
