"""The files of examples/gallery: each runs alone in an empty folder with public names, labels its axes, and states numbers that
it computes."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles.public_imports import inner_names

pyplot: Any = pytest.importorskip("matplotlib.pyplot")

FOLDER = Path(__file__).parents[3] / "examples" / "gallery"
FILES = sorted(FOLDER.glob("plot_*.py"))
LONG = {"plot_blowfish_graphs", "plot_error_against_budget", "plot_families_against_the_limit"}  # three to five seconds each
OUTSIDE = {"matplotlib", "numpy", "designer", "fractions", "itertools", "math", "pathlib", "tempfile"}

Globals = dict[str, Any]


def of_the_counties(g: Globals) -> list[str]:
    states, noise = g["states"], g["noise"]
    assert np.array_equal(noise, np.rint(noise)) and all(noise[states == state].sum() == 0 for state in set(states))
    several = np.array([(states == state).sum() > 1 for state in states])
    least, *_, most = sorted({f"{error:.0f}" for error in g["errors"][several]})
    assert not g["errors"][~several].any()
    people = g["counties"]["population"]
    assert g["counties"]["county"][people.argmin()] == "Loving County"
    return [
        f"all {len(states):,} counties",
        f"county is {least} to {most} persons where",
        f"Texas, has {people.min()} inhabitants",
    ]


def of_the_marginals(g: Globals) -> list[str]:
    ratio = {pair: g["errors"][pair] / g["single"][pair] for pair in g["errors"]}
    both, none = ([r for pair, r in ratio.items() if len({*pair} & {*g["hidden"]}) == k] for k in (2, 0))
    assert 1 < max(both) < 2 and all(1 / 7 < r < 1 / 6 for r in none)
    return [f"released, {len(ratio)} of them", "at most twice as much", f"the {['six'][len(none) - 6]} tables of two others"]


def of_the_balls(g: Globals) -> list[str]:
    losses = g["losses"]
    worse = [state for state, found in losses.items() if found["laplace"] < found["k_norm"]]
    best = [state for state, found in losses.items() if min(found, key=found.__getitem__) == "k_norm"]
    gain = max(1 - found["k_norm"] / found["laplace"] for found in losses.values())
    assert worse == ["CA", "MD", "OR", "WA"]
    return [
        f"in {len(best)} of {len(losses)} states",
        f"up to {gain:.0%}".replace("%", " %"),
        "California, Maryland, Oregon and",
    ]


def of_the_plants(g: Globals) -> list[str]:
    sizes, losses, capacity = g["sizes"], g["losses"], g["plants"]["capacity_mw"]
    start = sizes[np.flatnonzero(losses["Student"] < losses["Gaussian"])[0]]
    assert abs(start - 1600) < 30 and (losses["Student"] / losses["Gaussian"]).max() < 4.01
    assert (losses["split"] >= losses["Gaussian"]).all() and np.median(capacity) <= 8
    gauss, student = losses["Gaussian"][-1], losses["Student"][-1]
    more = f"the {(capacity > start).sum()} plants above 1,600 megawatts"
    return [
        f"{gauss:.0f} for the largest",
        f"the largest loses {gauss / student:.0f} times less",
        f"{len(capacity):,} power",
        more,
    ]


def of_the_test(g: Globals) -> list[str]:
    place = list(g["ratios"]).index(2.0)
    shares = {name: f"with {powers[place]:.0%}".replace("%", " %") for name, powers in g["power"].items()}
    fisher = f"with {g['best'][place]:.0%}".replace("%", " %")
    return [
        f"{shares['epsilon 1']} under a budget of 1",
        f"{fisher} by Fisher's",
        f"{shares['epsilon 1/10']} under a budget of 1/10",
    ]


def of_the_prefix_sums(g: Globals) -> list[str]:
    strips, totals, designed = (float(np.sqrt(np.mean(found**2))) for found in g["errors"].values())
    assert g["best"].optimality.gap < 1e-6
    return [f"{designed:.1f} persons in place of {strips:.1f} and {totals:.1f}", f"{g['here'].sum()} cities"]


def of_the_hexagons(g: Globals) -> list[str]:
    swaps, cycles = (np.hypot(*g["seen"][g["moved"] == records].T) for records in (2, 3))
    # The way to a corner of the outer hexagon leaves the inner one at the middle of a side.
    assert np.isclose(cycles.max(), 2 * swaps.max() * np.cos(np.pi / 6)) and len(swaps) == 18 and len(cycles) == 12
    assert all((g["noisy"].sum(axis=axis) == g["table"].sum(axis=axis)).all() for axis in (0, 1))
    return ["to twice its size", f"at {g['wider']:.2f} times"]


def of_the_limit(g: Globals) -> list[str]:
    halves, totals = g["reached"]["two halves"], g["reached"]["running totals"]
    assert all(max(found.values()) <= 1 for found in g["reached"].values())
    return [f"staircase reaches {100 * halves['staircase']:.3g} %", f"here reaches {100 * max(totals.values()):.2g} %"]


def of_the_budgets(g: Globals) -> list[str]:
    one = {family: found[1] for family, found in g["errors"].items()}
    ratio = one["laplace"] / one["strategy_laplace"]
    assert all(np.allclose(np.array(found) * g["budgets"], found[1], rtol=0.01) for found in g["errors"].values())
    return [f"{ratio:.1f} times less", f"to {one['strategy_laplace']:.1f} persons instead of {one['laplace']:.1f}"]


def of_the_table(g: Globals) -> list[str]:
    outside = np.abs(g["released"] - g["true"]) > g["margin"]
    assert outside.mean() < 0.05 and g["true"].sum() == 48842
    return [f"{len(g['true'])} cells", f"{g['margin']:.0f} persons to both sides"]


STATED: dict[str, Callable[[Globals], list[str]]] = {
    "plot_blowfish_graphs": lambda g: ["{:.1f}, {:.1f} and {:.1f} persons".format(*g["errors"].values())],
    "plot_business_hierarchy": lambda g: [f"from 20,000 jobs to {round(g['errors']['state'], -2):,.0f}"],
    "plot_circles_of_odds": lambda g: [
        f"error is {np.hypot(*g['error_mm']):.1f} mm",
        f"{g['people'].sum() / 1e6:.0f} million people",
    ],
    "plot_city_norm_balls": lambda g: [
        f"{g['losses']['k_norm']:.1f} km²",
        f"Laplace noise {g['losses']['laplace']:.1f} and a box {g['losses']['box']:.1f}",
        f"the {g['large'].sum()} of more",
    ],
    "plot_error_against_budget": of_the_budgets,
    "plot_families_against_the_limit": of_the_limit,
    "plot_hexagons_of_margins": of_the_hexagons,
    "plot_intervals": lambda g: [
        f"here {['none', 'one'][(np.abs(g['noise']) > g['alone']).sum()]} of {len(g['noise'])} misses",
        f"{g['ratio']:.1f} times as wide",
    ],
    "plot_loss_by_size": of_the_plants,
    "plot_marginals_of_adult": of_the_marginals,
    "plot_noise_on_a_map_of_counties": of_the_counties,
    "plot_prefix_sums": of_the_prefix_sums,
    "plot_released_against_true": of_the_table,
    "plot_staircase_against_laplace": lambda g: [f"{g['errors']['staircase']:.2f} instead of {g['errors']['laplace']:.2f}"],
    "plot_tradeoffs_and_a_private_test": of_the_test,
    "plot_which_ball_wins": of_the_balls,
    "plot_year_of_a_ledger": lambda g: [f"come to {sum(g['alone']):.1f}", f"states {g['together'][-1]:.1f}"],
}


def draw(path: Path) -> None:
    """Run a file, and look at its figure and at what its text states."""
    pyplot.close("all")
    try:
        found = runpy.run_path(str(path))
        said = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
        assert [phrase for phrase in STATED[path.stem](found) if phrase not in said] == []
        labelled = [axes for number in pyplot.get_fignums() for axes in pyplot.figure(number).axes if axes.get_ylabel()]
        assert len(pyplot.get_fignums()) == 1 and labelled
        assert any(axes.get_xlabel() for axes in labelled) or path.stem == "plot_blowfish_graphs"
    finally:
        pyplot.close("all")


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and figures without a screen."""
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    return tmp_path


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in LONG], ids=lambda path: path.stem)
def test_a_file_of_the_gallery_draws_what_its_text_states(path: Path, alone: Path) -> None:
    draw(path)
    assert list(alone.iterdir()) == []


@pytest.mark.heavy
@pytest.mark.parametrize("path", [path for path in FILES if path.stem in LONG], ids=lambda path: path.stem)
def test_a_long_file_of_the_gallery_draws_what_its_text_states(path: Path, alone: Path) -> None:
    draw(path)
    assert list(alone.iterdir()) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_gallery_is_one_to_copy(path: Path) -> None:
    """Public names, the usual libraries, no path of the checkout, a title and at most sixty lines."""
    text = path.read_text()
    tree = ast.parse(text)
    assert inner_names(text) == set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] in OUTSIDE
        elif isinstance(node, ast.Import):
            assert {name.name.partition(".")[0] for name in node.names} <= OUTSIDE
    title, line = text.splitlines()[1:3]
    assert line == "=" * len(title) and 20 <= len(text.splitlines()) <= 60
    assert (
        "examples" not in text
        and "__file__" not in text
        and "random" not in text
        and ".release(" not in text.replace("people.release(mechanism", "")
    )


def test_there_are_files_for_every_topic() -> None:
    assert len(FILES) >= 14 and {path.stem for path in FILES} == set(STATED)
