"""What a record loses under policies, by the value of one of its measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.labels import as_text, legend
from designer.reports.pictures.numerals import for_people, ticks_for_people
from designer.reports.pictures.style import series_style
from designer.base.arrays import Floats
from designer.base.checks import shown

SCAN: Floats = np.power(10.0, np.arange(-9, 16))  # where a policy is looked at to find the values at which it changes
RISE, REACH = 1.02, 1e4
PLACES = 241


class LosesByRecord(Protocol):
    """A policy, as far as its picture goes."""

    @property
    def attributes(self) -> tuple[str, ...]: ...
    @property
    def unit(self) -> str: ...
    def keys(self) -> dict[str, tuple[str | int, ...]]: ...
    def __call__(self, columns: Mapping[str, NDArray[Any]]) -> Floats: ...


def measures_of(policy: LosesByRecord) -> list[str]:
    """The numeric attributes that a policy reads."""
    known = policy.keys()
    return [name for name in policy.attributes if name not in known]


def losses_along(policy: LosesByRecord, measure: str, values: Floats) -> Floats:
    """The losses, (n,), of records of which one measure has the values, (n,), all others 0, and every key its first value."""
    columns: dict[str, NDArray[Any]] = {name: np.zeros(len(values)) for name in measures_of(policy)}
    columns |= {name: np.array([known[0]] * len(values), dtype=object) for name, known in policy.keys().items()}
    return policy(columns | {measure: np.asarray(values, dtype=np.float64)})


def policy_drawing(policies: Mapping[str, LosesByRecord], measure: str) -> Drawing:
    """Loss against the value of one measure, both logarithmic, a curve for each policy by its name.

    Raises `InvalidProblem` for a measure that none of them reads.
    """
    known = sorted({name for policy in policies.values() for name in measures_of(policy)})
    if measure not in known:
        raise InvalidProblem(f"measure: {shown(measure)} is read by none of the policies; use one of {shown(known)}.")
    reading = {name: policy for name, policy in policies.items() if measure in measures_of(policy)}
    values = _values(list(reading.values()), measure)
    losses = {name: losses_along(policy, measure, values) for name, policy in reading.items()}
    ends = "; ".join(f"{name} from {for_people(float(y[0]))} to {for_people(float(y[-1]))}" for name, y in losses.items())
    alt = f"Loss of a record by its {measure}, from {for_people(values[0])} to {for_people(values[-1])}: {ends}."
    units = {policy.unit for policy in reading.values()}
    unit = {"zcdp": " (rho)", "pure": " (epsilon)"}[units.pop()] if len(units) == 1 else ""
    name = f"loss_{known.index(measure) + 1}" if len(known) > 1 else "loss"

    def draw(axes: Any) -> None:
        _draw(axes, values, losses, measure, f"loss of the record{unit}")

    return Drawing(name, f"What a record loses by its {measure}", alt, draw)


def policy_drawings(policies: Mapping[str, LosesByRecord]) -> tuple[Drawing, ...]:
    """A picture for each measure that the policies read."""
    known = sorted({name for policy in policies.values() for name in measures_of(policy)})
    return tuple(policy_drawing(policies, name) for name in known)


def _values(policies: list[LosesByRecord], measure: str) -> Floats:
    """Values between where the first loss begins to rise and where it is large, (PLACES,)."""
    starts, ends = [], []
    for policy in policies:
        losses = losses_along(policy, measure, SCAN)
        rising = np.flatnonzero(losses > RISE * losses[0])
        first = int(rising[0]) if len(rising) else 0
        beyond = np.flatnonzero(losses > REACH * max(losses[0], losses[first] / 100))
        starts.append(max(first - 1, 0))
        ends.append(min(int(beyond[0]) if len(beyond) else len(SCAN) - 1, first + 5))
    return np.geomspace(SCAN[min(starts)], SCAN[max([*ends, min(starts) + 1])], PLACES)


def _draw(axes: Any, values: Floats, losses: Mapping[str, Floats], measure: str, label: str) -> None:
    handles = []
    for series, y in enumerate(losses.values()):
        handles += axes.plot(values, y, **{**series_style(series), "marker": None, "linewidth": 1.6})
    axes.set_xscale("log")
    if all((y > 0).all() for y in losses.values()):
        axes.set_yscale("log")
    as_text(axes.set_xlabel(f"{measure} of the record"))
    as_text(axes.set_ylabel(label))
    axes.grid(alpha=0.25)
    ticks_for_people(axes.xaxis)
    ticks_for_people(axes.yaxis)
    if len(losses) > 1:
        legend(axes, handles, list(losses), loc="upper left")
