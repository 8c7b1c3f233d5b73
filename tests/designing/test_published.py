"""Under published statistics the default agrees with them, in whole numbers where counts are asked; other noise by name."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from pathlib import Path

import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, compare, design, invariants, metrics
from designer.cli import main
from designer.designing import dispatch as best
from designer.designing import listed
from designer.designing.auto import runs_for
from designer.designing.family import with_incumbent
from designer.designing.laplace import LAPLACE, PROJECTED_LAPLACE
from designer.lattice.design import LATTICE_GAUSSIAN, LATTICE_LAPLACE
from designer.mechanism import consistency as published
from designer.mechanism.caution_lines import cautions
from designer.mechanism.consistency import BREAKS, FRACTIONS, is_whole, keeps_published, told_combinations
from tests.oracles.asked_problems import asked

MARGINS = invariants.margins((2, 3))
TOLD = np.array([[1.0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
FILE = """title = "Children"
[domain]
county = ["Alpha", "Beta", "Gamma"]
education = ["Low", "Medium", "High"]
[workload]
marginals = [["county", "education"]]
[invariant]
margins = [["county"], ["education"]]
[relation]
epsilon = 1
"""


@pytest.mark.parametrize("queries", [np.eye(6), TOLD, np.array([[1.0, 0, 0, 0, 0, 0.5]])])
@pytest.mark.parametrize("family", ["laplace", "projected_laplace", "k_norm", "ellipsoid", "lattice_laplace", "lattice_rows"])
def test_what_agrees_is_what_no_draw_moves(family: str, queries: np.ndarray) -> None:
    """Combinations of answers that are sums of the statistics, found here by least squares, against draws."""
    problem = Problem(Workload(queries), MARGINS.protect(1.0))
    made = design(problem, family).mechanism
    noise = np.asarray(made.simulate(200, seed=1))
    kernel = np.linalg.svd(MARGINS.constraints.astype(float))[2][MARGINS.size - MARGINS.freedom :]
    left, values, _ = np.linalg.svd(queries @ kernel.T)
    told = left[:, int((values > 1e-9).sum()) :].T
    found = told_combinations(made, MARGINS)
    assert found is not None and np.linalg.matrix_rank(found, tol=1e-9) == len(told)
    moved = np.abs(noise @ told.T).max(initial=0.0) > 1e-6
    assert keeps_published(made) is not bool(moved)
    assert bool(cautions(made)[-1:] and "DISAGREES" in "".join(cautions(made))) is bool(moved)
    assert not is_whole(made) or bool((noise == np.rint(noise)).all()) or not problem.workload.whole_rows.all()


@pytest.mark.parametrize("most", [0, 3, 6])
@pytest.mark.parametrize("queries", [np.vstack([np.eye(6), np.ones(6)]), TOLD, np.array([[1.0, 0, 0, 0, 0, 0.5]])])
def test_many_queries_agree_as_few_do(queries: np.ndarray, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same by the span of what moves, from a decomposition or by iterations, as by the combinations that are told."""
    problem = Problem(Workload(queries), MARGINS.protect(1.0))
    made = [design(problem, name).mechanism for name in ("laplace", "projected_laplace", "k_norm", "ellipsoid", "lattice_rows")]
    known = [keeps_published(one) for one in made]
    monkeypatch.setattr(published, "MOST_QUERIES", most)
    assert [keeps_published(one) for one in made] == known


def test_noise_that_breaks_totals_of_very_many_queries_is_not_taken() -> None:
    """1,600 sums of nine cells: more queries than are decomposed."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (1600, 9)).astype(float)
    problem = Problem(Workload(rows), invariants.margins((3, 3)).protect(1.0))
    assert not keeps_published(design(problem, "laplace").mechanism)


@pytest.mark.nightly
def test_a_strategy_for_very_many_queries_keeps_the_totals() -> None:
    rows = np.random.default_rng(4).integers(0, 2, (1600, 9)).astype(float)
    problem = Problem(Workload(rows), invariants.margins((3, 3)).protect(1.0))
    assert keeps_published(design(problem, "strategy_laplace", effort="quick").mechanism)


@pytest.mark.parametrize(("notion", "size"), [("pure", 2), ("pure", 3), ("zcdp", 3)])
def test_the_default_agrees_and_counts_stay_whole(notion: str, size: int) -> None:
    published = invariants.margins((size, 3))
    problem = Problem(Workload.identity(size * 3), published.protect(1.0), notion)  # type: ignore[arg-type]
    made, again = (design(problem, effort="quick") for _ in range(2))
    counts = np.arange(size * 3)
    released = made.mechanism.release(counts)
    assert (released.answers == np.rint(released.answers)).all()
    assert (published.matrix @ released.answers == published.matrix @ counts).all()
    assert made.mechanism.fingerprint == again.mechanism.fingerprint
    tried = made.mechanism.provenance["tried"]
    agreeing = [said for said in tried.values() if said.startswith("loss ") and not (BREAKS in said or FRACTIONS in said)]
    assert made.loss == pytest.approx(min(float(said.split()[1].strip(",")) for said in agreeing), rel=1e-5)


def test_answers_that_are_no_counts_take_the_least_loss_that_agrees() -> None:
    rows = np.random.default_rng(0).normal(size=(6, 6))
    made = design(Problem(Workload(rows), MARGINS.protect(1.0)), effort="quick")
    losses = {name: design(made.problem, name).loss for name in ("projected_laplace", "k_norm", "lattice_laplace", "ellipsoid")}
    assert keeps_published(made.mechanism) and made.loss <= min(losses.values()) * (1 + 1e-9)
    assert not keeps_published(design(made.problem, "laplace").mechanism)


@pytest.mark.nightly
def test_noise_in_fractions_is_not_started_where_whole_numbers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Families that say so have fractions wherever they have a mechanism; they go last, and start where nothing else is."""
    stated = [family for family in listed.FAMILIES if family.fractions]
    assert [family.name for family in stated] == ["k_norm", "ellipsoid", "box", "capped_l1", "bundles", "strategy_laplace"]
    for number in range(0, 20, 4):
        problem = asked("published margins", number)
        if not problem.workload.whole_rows.all():
            continue
        for family in stated:
            with suppress(DesignFailed):
                assert not is_whole(design(problem, family.name, effort="quick").mechanism), (number, family.name)
    table = Problem(Workload.identity(6), MARGINS.protect(1.0))
    notes = design(table).mechanism.provenance["tried"]
    assert {notes[family.name] for family in stated} == {f"not started: {FRACTIONS}, and whole numbers are found"}
    assert list(notes)[-len(stated) :] == [way.name for way in runs_for(stated, table)]
    monkeypatch.setattr(listed, "FAMILIES", tuple(family for family in listed.FAMILIES if family in stated))
    made = design(table)
    assert made.mechanism.family in {family.name for family in stated} and not is_whole(made.mechanism)


def test_fractions_that_lose_less_do_not_end_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be beaten is the loss of whole numbers, once there are some: nothing before."""
    told: list[float] = []

    def heard(problem: Problem, reached: float) -> AbstractContextManager[None]:
        told.append(reached)
        return with_incumbent(problem, reached)

    monkeypatch.setattr(listed, "FAMILIES", (PROJECTED_LAPLACE, LATTICE_LAPLACE))
    monkeypatch.setattr(best, "with_incumbent", heard)
    made = design(Problem(Workload.identity(6), MARGINS.protect(1.0)))
    assert FRACTIONS in made.mechanism.provenance["tried"]["projected_laplace"]
    assert told[:2] == [np.inf, np.inf] and np.isfinite(told[2:]).all() and len(told) > 2


def test_without_published_statistics_nothing_changes() -> None:
    made = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), effort="quick")
    assert not any(BREAKS in said or FRACTIONS in said for said in made.mechanism.provenance["tried"].values())


def test_noise_that_breaks_what_is_published_is_not_taken_for_want_of_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best, "automatic_families", lambda problem, solver="auto": [LAPLACE])
    problem = Problem(Workload.identity(6), MARGINS.protect(1.0))
    with pytest.raises(DesignFailed, match="no noise that agrees with the published statistics was found; 'laplace' breaks"):
        design(problem)
    order = [LAPLACE, PROJECTED_LAPLACE, LATTICE_LAPLACE, LATTICE_GAUSSIAN]
    monkeypatch.setattr(best, "automatic_families", lambda problem, solver="auto": order)
    assert design(problem).mechanism.family == "lattice_laplace"


def test_compare_says_which_noise_breaks_what_is_published() -> None:
    found = compare(Problem(Workload.identity(6), MARGINS.protect(1.0)), ["laplace", "projected_laplace", "lattice_laplace"])
    notes = {row["family"]: row["note"] for row in found.rows}
    assert BREAKS in notes["laplace"] and FRACTIONS in notes["projected_laplace"] and not notes["lattice_laplace"]


@pytest.mark.nightly
def test_a_file_with_published_margins_releases_tables_that_have_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, spec, data = (tmp_path / name for name in ("p.toml", "s.json", "d.csv"))
    problem.write_text(FILE)
    rows = [(c, e) for c in ("Alpha", "Beta", "Gamma") for e in ("Low", "Medium", "High")]
    data.write_text("county,education,count\n" + "".join(f"{c},{e},{7 * k % 11}\n" for k, (c, e) in enumerate(rows)))
    assert main(["design", str(problem), "-o", str(spec), "--full"]) == 0
    out = capsys.readouterr().out
    assert "Family lattice_laplace" in out and "DISAGREES" not in out
    assert "laplace: not certified: its noise loses about" in out  # which breaks them, and is behind before that is asked
    released = tmp_path / "r.json"
    assert main(["release", str(spec), "--histogram", str(data), "--column", "count", "-o", str(released)]) == 0
    assert main(["verify", str(spec), str(released)]) == 0
    assert main(["design", str(problem), "--family", "laplace"]) == 0
    out = capsys.readouterr().out
    assert out.count("DISAGREES: the noise of laplace breaks the published statistics") == 1
