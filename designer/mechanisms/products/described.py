"""What a structured mechanism consists of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from designer.mechanisms.products.blocks import MeasuredProduct, Noise, Protection, StrategyMatrix
from designer.problem.products_workload import StructuredWorkload


class Described(Protocol):
    """What a core is written of, and answers are put together by."""

    @property
    def workload(self) -> StructuredWorkload: ...
    @property
    def protection(self) -> Protection: ...
    @property
    def noise(self) -> Noise: ...
    @property
    def matrices(self) -> Mapping[int, tuple[StrategyMatrix, ...]]: ...
    @property
    def blocks(self) -> tuple[MeasuredProduct, ...]: ...
    @property
    def serves(self) -> tuple[int, ...] | None: ...
