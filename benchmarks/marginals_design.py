"""Time to design marginals against the number of attributes and the order of the tables, with certified gaps;
and to release some.

    python benchmarks/marginals_design.py [largest number of attributes, default 100]

Attributes of 10 values, all tables of one to `order` attributes. "one": a record's presence with one budget (the setting of
residual planning); "own": budgets between 0.1 and 1 for each attribute.
Seconds include listing the subsets and the exact certificate.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from designer import MarginalWorkload, Presence, metrics
from designer.mechanisms.marginals.plan import design_marginals
from designer.problem.domain import Domain


def designs(largest: int) -> None:
    """One line a design."""
    print(f"{'attributes':>10}{'order':>6}{'residuals':>10}{'budgets':>9}{'loss':>9}{'seconds':>9}{'gap':>9}")
    for attributes, order in ((8, 3), (20, 2), (20, 3), (20, 4), (50, 3), (100, 2), (100, 3)):
        if attributes > largest:
            continue
        domain = Domain.of({f"a{i}": 10 for i in range(attributes)})
        budgets = np.random.default_rng(0).uniform(0.1, 1, attributes).tolist()
        for name, protection in (("one", Presence(1.0)), ("own", metrics.hamming(domain, budgets))):
            for loss in ("squared", "max"):
                start = time.perf_counter()
                made = design_marginals(MarginalWorkload.up_to(domain, order), protection, loss)
                seconds = time.perf_counter() - start
                assert made.optimality is not None
                row = f"{attributes:>10}{order:>6}{len(made.precisions):>10}{name:>9}{loss:>9}"
                print(f"{row}{seconds:>9.2f}{made.optimality.gap:>9.1e}", flush=True)


def releases() -> None:
    """Exact noise for all residuals, and all tables put together."""
    print(f"{'attributes':>10}{'order':>6}{'contrasts':>10}{'budgets':>9}{'draw':>9}{'tables':>9}{'cells':>9}")
    for attributes, order in ((8, 3), (20, 2), (20, 3)):
        domain = Domain.of({f"a{i}": 10 for i in range(attributes)})
        budgets = np.random.default_rng(0).uniform(0.1, 1, attributes).tolist()
        for name, protection in (("one", Presence(1.0)), ("own", metrics.hamming(domain, budgets))):
            made = design_marginals(MarginalWorkload.up_to(domain, order), protection)
            start = time.perf_counter()
            noise = made.simulate(1, seed=0)[0]
            drawn = time.perf_counter()
            cells = sum(table.size for table in noise.tables().values())
            together = time.perf_counter() - drawn
            contrasts = sum(array.size for array in noise.residuals.values())
            print(
                f"{attributes:>10}{order:>6}{contrasts:>10}{name:>9}{drawn - start:>9.2f}{together:>9.2f}{cells:>9}", flush=True
            )


if __name__ == "__main__":
    designs(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    releases()
