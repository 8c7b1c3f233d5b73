"""All 3,143 US counties with the population of every state published exactly: real noise, real noise that is projected, and
integer noise, each designed, certified, saved, loaded and released.

The populations are those of the census of 2010; one person may live in another county of the same state. The file has no
coordinates, so the picture shows counties by their population.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from designer import Mechanism, Problem, Workload, datasets, design, invariants, load
from designer.extend import figure
from examples.reproduction import Floats, Result, show

BUDGET = 0.1  # epsilon of the pure notion, mu of the Gaussian one
SMALL = 8  # states, those of the fewest counties
FAMILIES: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "Gaussian": ("gaussian", "zcdp", {}),
    "projected Laplace": ("projected_laplace", "pure", {}),
    "integer Gaussian": ("lattice_gaussian", "zcdp", {}),
    "integer Laplace": ("lattice_laplace", "pure", {"shape": "l1"}),
}
DIFFERENCES: dict[str, str] = {}
Integers = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Counties:
    """Their names, states and inhabitants of 2010."""

    names: tuple[str, ...]
    states: tuple[str, ...]
    people: Integers


@cache
def counties(full: bool) -> Counties:
    """All of them, or those of `SMALL` states."""
    read, people = datasets.us_counties(), datasets.us_counties()["population"]
    states = read["state"].tolist()
    chosen = sorted(sorted(set(states)), key=states.count)[: None if full else SMALL]
    here = [i for i, state in enumerate(states) if state in chosen]
    names = tuple(f"{read['county'][i]}, {read['state_abbr'][i]}" for i in here)
    return Counties(names, tuple(states[i] for i in here), people[here])


@dataclass(frozen=True)
class Outcome:
    """What one family gave: its mechanism as loaded, and one release."""

    mechanism: Mechanism
    released: Floats


@cache
def outcome(name: str, full: bool) -> Outcome:
    """Design, save, load and release."""
    family, notion, options = FAMILIES[name]
    here = counties(full)
    relation = invariants.partition(here.states).protect(BUDGET, adjacency=1)
    workload = Workload(Workload.identity(len(here.names)).matrix, here.names, here.names)
    made = design(Problem(workload, relation, notion=notion), family, **options).mechanism
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(made.save(Path(folder) / "spec.json"), Mechanism)
    assert loaded.fingerprint == made.fingerprint
    return Outcome(loaded, np.asarray(loaded.release(here.people).answers))


def totals(values: Floats, states: tuple[str, ...]) -> Floats:
    """The sums of the states."""
    return np.bincount(np.unique(states, return_inverse=True)[1], values)


def reproduce(full: bool = False) -> Result:
    """Standard errors, the worst share of the budget, and how far state totals moved, family by family."""
    here = counties(full)
    computed: dict[str, float] = {"counties": float(len(here.names))}
    published: dict[str, tuple[float, float]] = {}
    for name, (_, notion, _) in FAMILIES.items():
        found = outcome(name, full)
        errors = found.mechanism.standard_errors()
        several = np.array([here.states.count(state) > 1 for state in here.states])
        moved = np.abs(totals(found.released - here.people, here.states)).max()
        computed |= {
            f"{name}: standard error, largest": float(errors.max()),
            f"{name}: standard error, mean": float(errors[several].mean()),
            f"{name}: worst share of the budget": float(found.mechanism.privacy.worst_ratio or 0),
            f"{name}: largest change of a state's total": float(moved),
        }
        # One person moves two counties by one: root 2 / mu, or scales of 2 / epsilon, less what the projection takes off.
        alone = 2**0.5 / BUDGET if notion == "zcdp" else 2 * 2**0.5 / BUDGET
        published |= {
            f"{name}: standard error, largest": (0.9 * alone, 1.01 * alone),
            f"{name}: worst share of the budget": (1 - 1e-6, 1.0),
            f"{name}: largest change of a state's total": (0.0, 0.0 if "integer" in name else 1e-6),
        }
    return computed, published


def draw(folder: Path) -> Path:
    """The noise of one release by the population of the county, and standard errors by the number of counties of the state."""
    here = counties(True)
    plot, (by_size, by_state) = figure(2)
    counted = [here.states.count(state) for state in here.states]
    for name, mark, colour in zip(FAMILIES, "oo..", ("C0", "C1", "C2", "C3"), strict=True):
        found = outcome(name, True)
        noise = np.abs(found.released - here.people) / here.people
        order = np.argsort(here.people)
        smooth = [np.median(part) for part in np.array_split(noise[order], 60)]
        middle = [np.median(part) for part in np.array_split(here.people[order], 60)]
        by_size.plot(middle, smooth, color=colour, label=name)
        errors = found.mechanism.standard_errors()
        by_state.plot(counted, errors, mark, color=colour, fillstyle="none", label=name)
    by_size.set(xscale="log", yscale="log", xlabel="population of the county", ylabel="noise over population, median of 52")
    by_state.set(xlabel="counties of the state", ylabel="standard error, persons", ylim=(0, None))
    by_size.set_title(f"{len(here.names):,} counties, one release")
    by_state.set_title("states' totals published exactly")
    by_size.legend(fontsize=8)
    by_state.legend(fontsize=8)
    path = folder / "all_counties.png"
    plot.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show("All counties within states, the states' totals published", reproduce, DIFFERENCES, draw)
