"""Pictures of a plan: the noise of each query, and what a record loses by each of its measures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from designer.certified.specified import Specified
from designer.pictures.charts import bars_by_name, size_for
from designer.pictures.drawing import Drawing
from designer.pictures.labels import with_unit
from designer.pictures.numerals import no_less
from designer.records.drawn import policy_drawings
from designer.records.policy import Policy
from designer.tables.queries import Additive, Aggregated


class DrawnPlan(Specified):
    """A plan, as far as its pictures go."""

    splitting: Any

    @property
    @abstractmethod
    def noisy(self) -> tuple[Aggregated, ...]:
        """All sums and counts that get noise, the parts of averages among them."""

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """The loss of a record that counts in all queries."""

    @property
    @abstractmethod
    def split_policy(self) -> Policy:
        """The coarser policy by split rows."""

    def own_drawings(self) -> tuple[Drawing, ...]:
        """What a record loses by each measure, and the standard error of each query."""
        policies = {"policy": self.policy, **({} if self.splitting is None else {"by split rows": self.split_policy})}
        noise = self._noise()
        return (*policy_drawings(policies), *([] if noise is None else [noise]))

    def _noise(self) -> Drawing | None:
        """Bars: the standard error of every sum and count with Gaussian noise, the largest where groups differ."""
        drawn = [query for query in self.noisy if isinstance(query, Additive)]
        if not drawn:
            return None
        names: Sequence[str] = [with_unit(query.name, self.about.unit(query.name)) for query in drawn]
        errors = np.sqrt([float(max(query.variances)) for query in drawn])
        low, high = no_less(float(errors.min())), no_less(float(errors.max()))
        alt = f"Bars for the standard errors of {len(names)} queries, per group, from {low} to {high}."

        def draw(axes: Any) -> None:
            bars_by_name(axes, names, errors, "standard error of the noise in a group")

        return Drawing("errors", "Standard error of each query", alt, draw, **size_for(names))
