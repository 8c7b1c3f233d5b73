"""Whole releases of public data, as a caller makes them: what comes out less the exact answers is the noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.audit.noise_sources import additive_source, lattice_source
from designer.audit.row_sources import row_source
from designer.audit.stated_law import Integers
from designer.audit.tally import Source
from designer.certified.frozen import Specified
from designer.base.errors import InvalidProblem
from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.mechanisms.lattice.row_mechanism import RowMechanism
from designer.sampling.entropy import SystemEntropy

WIDTH = 2**10  # a release costs as much as this many numbers


def released_source(made: Specified) -> Source | None:
    """Releases of a table of zeros, or of one record in every cell; None where they do not give the noise back."""
    entropy = SystemEntropy()
    if isinstance(made, AdditiveMechanism) and made.reconstruction is None and len(made.noise.heard):
        return _whole(additive_source(made, entropy), lambda: _noise_of_answers(made))
    if isinstance(made, RowMechanism):
        return _whole(row_source(made, entropy), lambda: _noise_of_table(made))
    if isinstance(made, LatticeMechanism) and made.chain is None:
        return _whole(lattice_source(made, entropy), lambda: _noise_of_table(made))
    return None


def _whole(source: Source, once: Any) -> Source | None:
    """The same source with releases in the place of draws."""
    try:
        once()
    except InvalidProblem:
        return None

    def draw(size: int) -> Integers:
        return np.array([once() for _ in range(size)], dtype=np.int64)

    return replace(source, name="whole releases", draw=draw, width=max(WIDTH, source.width))


def _noise_of_answers(made: AdditiveMechanism) -> Integers:
    """The answers to no records, in steps."""
    released = made.release([0] * made.relation.size).answers
    found = np.rint(np.asarray(released)[made.noise.heard] / made.grid.steps[made.noise.heard])
    return np.asarray(found, dtype=np.int64)


def _noise_of_table(made: LatticeMechanism) -> Integers:
    """The released table less the table."""
    impossible = set(made.relation.impossible)
    table = [0 if k in impossible else 1 for k in range(made.relation.size)]
    return np.array(made.release(table).table, dtype=np.int64) - np.array(table, dtype=np.int64)
