"""Release files of every kind: round trips, the published schema, and an attacker who alters any field, with and without a
fresh seal."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from designer import InvalidProblem, InvalidSpec, Problem, Workload, design, metrics
from designer.base.json_text import plain
from designer.certificate.frozen import FrozenMechanism, seal
from designer.domains.marginals import MarginalMechanism
from designer.files.releases import release_document, sealed, verify_release
from designer.files.schema import release_file_schema
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.release import determines
from designer.odds_ratio.noise import canonical_noise
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from tests.files.test_spec import changed, delete, edits, get, leaves
from tests.oracles.release_specimens import releases
from tests.oracles.spec_specimens import names_of, one_of_each_format, specimens

SCHEMA = release_file_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
NAMES = list(specimens())
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
# Nothing in the file or in the spec follows from these, so a forger with a fresh seal may choose them within their form.
FREE = ("time", "ledger", "rows")


def document(name: str) -> dict[str, Any]:
    maker, released = releases()[name]
    return json.loads(json.dumps(release_document(maker, released, time=NOON)))  # type: ignore[no-any-return]


FIRST_OF_FORMAT = one_of_each_format().values()


@pytest.mark.parametrize("name", NAMES)
def test_every_alteration_is_found_by_the_seal(name: str) -> None:
    maker, made = specimens()[name], document(name)
    everywhere = [path for path in leaves(made) if path]
    for path in everywhere if name in FIRST_OF_FORMAT else random.Random(name).sample(everywhere, 12):
        for edit in (delete, *random.Random(str(path)).sample(edits(get(made, path)), 2)):
            mutant = changed(made, path, edit)
            if json.dumps(plain(mutant), sort_keys=True) != json.dumps(made, sort_keys=True):
                with pytest.raises(InvalidSpec):
                    verify_release(maker, mutant)


def as_written(made: Any) -> str:
    """Plain data as a file has them, digits beyond the ninth left out: machines may differ there, and what differs there only
    is the same release."""

    def shortened(text: str) -> str:
        return text if abs(float(text)) < 1e9 and "." not in text else f"{float(text) + 0.0:.9g}"

    return json.dumps(json.loads(json.dumps(plain(made)), parse_float=shortened, parse_int=shortened), sort_keys=True)


def forged(name: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """A sample of the single-field alterations under a fresh seal, a large one for one release of each format."""
    made = document(name)
    every = [(path, edit) for path in leaves(made) if path for edit in edits(get(made, path))]
    every = [(path, edit) for path, edit in every if path[0] not in (*FREE, "seal") and path != ("guarantee", "software")]
    for path, edit in random.Random(name).sample(every, min(len(every), 200 if name in FIRST_OF_FORMAT else 20)):
        mutant = changed(made, path, edit)
        if as_written(mutant) != as_written(made):
            yield path, sealed(mutant)


@pytest.mark.parametrize("name", NAMES)
def test_a_forger_with_a_fresh_seal_is_found_out_unless_the_mechanism_could_have_made_it(name: str) -> None:
    maker, accepted = specimens()[name], set[tuple[Any, ...]]()
    for path, mutant in forged(name):
        try:
            verify_release(maker, mutant)
        except InvalidSpec:
            continue
        accepted.add(path)
    # Products of structured workloads and the candidate of a quantile are all that there is: nothing else follows from them.
    free = {("blocks", "values")} if maker.format == "dp-designer/structured-mechanism" else {("answers", "values")}
    free |= {("reports",)} if maker.format == "dp-designer/channel" else set()
    if maker.format == "dp-designer/table-plan":
        assert {path[1] for path in accepted} <= {"median"}
    elif isinstance(maker, AdditiveMechanism) and not maker._tells_multiples:
        free = {("answers",)}
    assert {path[:1] + path[2:3] for path in accepted} <= free


def test_rounds_of_queries_that_no_mechanism_has_are_refused() -> None:
    maker, made = specimens()["mwem"], document("mwem")
    assert isinstance(made["rounds"], list)
    for name in ("no such query", None, ["q0"]):
        altered = json.loads(json.dumps(made))
        altered["rounds"][0]["query"] = name
        with pytest.raises(InvalidSpec):
            verify_release(maker, sealed(altered))
    with pytest.raises(InvalidSpec, match="measurements of queries of the mechanism"):
        verify_release(
            maker, sealed({**made, "rounds": [*made["rounds"][:-1], {**made["rounds"][-1], "query": "no such query"}]})
        )


@pytest.mark.parametrize("name", names_of("dp-designer/mechanism"))
def test_answers_are_recovered_as_exact_rationals(name: str) -> None:
    maker, made = specimens()[name], document(name)
    assert isinstance(maker, AdditiveMechanism)
    if made["measured"] is None:
        assert not maker._tells_multiples
        return
    steps = [Fraction(2) ** e for e in made["measured"]["exponents"]]
    exact = [step * m for step, m in zip(steps, made["measured"]["multiples"], strict=True)]
    rebuilding = np.eye(len(exact)) if maker.reconstruction is None else maker.reconstruction
    for row, answer in zip(rebuilding.tolist(), made["answers"].values(), strict=True):
        wanted = sum((Fraction(a) * x for a, x in zip(row, exact, strict=True)), Fraction(0))
        size = sum(abs(Fraction(a) * x) for a, x in zip(row, exact, strict=True))
        assert abs(wanted - Fraction(answer)) <= size * Fraction(1, 2**45)


def test_floats_alone_would_not_tell_the_multiples() -> None:
    """Why they are in the file: at 2^40 steps to a scale, numbers above 2^13 scales have more digits than floats."""
    made = design(Problem(Workload([[0.0, 0.3, 0.7]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    assert isinstance(made, AdditiveMechanism)
    released = made._release_of([2**60 + 1] * len(made.grid.exponents))
    near = made._release_of([2**60] * len(made.grid.exponents))
    assert released.answers.tolist() == near.answers.tolist()
    one, other = release_document(made, released, time=NOON), release_document(made, near, time=NOON)
    assert one["answers"] == other["answers"] and one["measured"] != other["measured"] and one["seal"] != other["seal"]
    verify_release(made, one)


def hidden_total() -> AdditiveMechanism:
    """Of one answer, the noisy part and a number without noise, which only their sum tells."""
    from designer.certificate.norms import Norm
    from designer.mechanism.noise import Grid

    measured, rebuilt = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]), np.array([[1.0, 1.0]])
    norm, apart = Norm(np.array([1.0, np.inf]), "l1"), metrics.from_matrix([[0, 1, np.inf], [1, 0, np.inf], [np.inf] * 2 + [0]])
    asked = Workload([[1.0, 2.0, 0.0]])
    return AdditiveMechanism("custom", asked, apart, norm, Grid((0, 0)), measured=measured, reconstruction=rebuilt)


def test_what_the_answers_do_not_tell_is_not_written() -> None:
    """The number of records of one component is not protected, but this release has told it only with noise."""
    made = hidden_total()
    assert made.reconstruction is not None and not made._tells_multiples
    released = made.release([5, 7, 1])
    assert released.multiples is None
    written = release_document(made, released, time=NOON)
    assert written["measured"] is None and not written["published"] and not determines(made.reconstruction, ~made.norm.silent)
    assert "do not determine what was measured" in verify_release(made, written).to_text()


@pytest.mark.parametrize("name", names_of("dp-designer/lattice-mechanism", "dp-designer/row-mechanism"))
def test_a_table_that_breaks_what_it_states_is_refused(name: str) -> None:
    maker, made = specimens()[name], document(name)
    assert isinstance(maker, LatticeMechanism)
    place = next(k for k in range(maker.relation.size) if maker.relation.invariant.sums[:, k].any())
    element = maker.workload.elements[place]
    mutant = {**made, "table": {**made["table"], element: made["table"][element] + 1}}
    moved = maker._release_of(list(mutant["table"].values())).answers.tolist()
    with pytest.raises(InvalidSpec, match=r"published\[\d+\]\.value"):
        verify_release(maker, sealed({**mutant, "answers": dict(zip(made["answers"], moved, strict=True))}))


def test_published_statistics_are_those_of_the_data() -> None:
    maker, released = releases()["lattice ellipsoid"]
    assert isinstance(maker, LatticeMechanism)
    truth = np.arange(1, 5) % 4
    sums = maker.relation.invariant.sums @ truth
    assert [entry["value"] for entry in release_document(maker, released)["published"]] == sums.tolist()


def test_elements_that_no_record_can_have_and_negative_totals_are_refused() -> None:
    maker, released = releases()["lattice impossible"]
    assert isinstance(maker, LatticeMechanism)
    forbidden = maker.relation.impossible[0]
    table = np.zeros(4, dtype=int)
    table[forbidden] = 1
    with pytest.raises(InvalidSpec, match="no record can have"):
        verify_release(maker, release_document(maker, maker._release_of(table.tolist())))
    table = -np.eye(4, dtype=int)[(forbidden + 1) % 4]
    with pytest.raises(InvalidSpec, match="below 0"):
        verify_release(maker, release_document(maker, maker._release_of(table.tolist())))
    assert released.fingerprint == maker.fingerprint


def test_numbers_off_the_coset_of_the_noise_are_refused() -> None:
    """A staircase on a lattice: neighbours of a release on the grid are outside of what counts and noise reach."""
    made = design(Problem(Workload([[0.0, 6.0, 9.0]]), metrics.uniform(3, 1.0)), "staircase").mechanism
    one = made.release([3, 1, 2])
    verify_release(made, release_document(made, one))
    assert one.multiples is not None
    off = made._release_of([one.multiples[0] + 1])  # type: ignore[attr-defined]
    steps = {int(x) for x in (made.integers[0])}  # type: ignore[attr-defined]
    if np.gcd.reduce(sorted(steps)) > 1:
        with pytest.raises(InvalidSpec, match="no counts and no noise"):
            verify_release(made, release_document(made, off))


def test_exact_answers_off_what_counts_give_are_refused() -> None:
    """A silent answer is a whole combination of its entries, and not below 0 where these are not."""
    made = design(Problem(Workload([[2.0, 2.0, 2.0], [0.0, 1.0, 5.0]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    assert isinstance(made, AdditiveMechanism)
    one = made.release([3, 1, 2])
    assert one.multiples is not None and made.exact == ("q0",)
    silent = int(np.flatnonzero(made.norm.silent)[0])
    unit = int(np.gcd.reduce(made.integers[silent]))
    for value, words in ((one.multiples[silent] + 1, "no counts and no noise"), (-unit, "below 0")):
        multiples = [value if k == silent else m for k, m in enumerate(one.multiples)]
        if words == "below 0" or unit > 1:
            with pytest.raises(InvalidSpec, match=words):
                verify_release(made, release_document(made, made._release_of(multiples)))


def test_marginals_that_disagree_are_refused() -> None:
    maker, made = specimens()["marginals attributes"], document("marginals attributes")
    table = copy.deepcopy(made["tables"])
    table[0]["counts"][0] = np.add(table[0]["counts"][0], 1).tolist()
    with pytest.raises(InvalidSpec, match=r"tables\[0\]\.counts"):
        verify_release(maker, sealed({**made, "tables": table}))
    assert isinstance(maker, MarginalMechanism)
    place = next(k for k, entry in enumerate(made["residuals"]) if entry["attributes"] == ["place"])
    residuals = copy.deepcopy(made["residuals"])
    residuals[place]["values"][0] += 1
    with pytest.raises(InvalidSpec, match="a table without noise holds no counts"):
        verify_release(maker, sealed({**made, "residuals": residuals}))


def test_groups_beside_the_plan_are_refused() -> None:
    maker, made = specimens()["table plan"], document("table plan")
    for name, answer in made["answers"].items():
        for keys in ([*answer["keys"], ["XX"] * len(answer["columns"])], answer["keys"][::-1], answer["keys"][:-1]):
            if keys != answer["keys"]:
                with pytest.raises(InvalidSpec, match="answers"):
                    verify_release(maker, sealed({**made, "answers": {**made["answers"], name: {**answer, "keys": keys}}}))


def test_one_row_of_a_table_is_what_the_guarantee_says() -> None:
    import ibis

    from tests.oracles.release_specimens import table_of

    maker = specimens()["table plan"]
    table = ibis.memtable({**table_of(), "who": [k // 4 for k in range(40)]})
    released = maker.release(table, unit="job", entity="who", rows_per_entity=3)
    made = json.loads(json.dumps(release_document(maker, released)))
    left_out = made["rows"].pop("left_out")
    assert type(left_out) is int and made["rows"] == {"unit": "job", "entity": "who", "rows_per_entity": 3}
    known = {**made["rows"], "left_out": left_out}
    verify_release(maker, sealed({**made, "rows": known}))
    for rows in (
        None,
        made["rows"],
        {**known, "left_out": None},
        {**known, "left_out": 1.5},
        *({**known, key: value} for key, value in (("unit", None), ("rows_per_entity", 4), ("entity", ""))),
    ):
        with pytest.raises(InvalidSpec):
            verify_release(maker, sealed({**made, "rows": rows}))


@pytest.mark.parametrize("bad", ["2026-01-31", "2026-13-31T12:00:00Z", "2026-01-31T12:00:00+01:00", 12, None])
def test_times_that_are_none_are_refused(bad: Any) -> None:
    maker, made = specimens()["laplace uniform"], document("laplace uniform")
    with pytest.raises(InvalidSpec, match="time"):
        verify_release(maker, sealed({**made, "time": bad}))


def test_a_time_is_written_in_utc_and_needs_a_zone() -> None:
    maker, released = releases()["laplace uniform"]
    there = NOON.astimezone(timezone(timedelta(hours=5)))
    assert release_document(maker, released, time=there)["time"] == "2026-01-31T12:00:00Z"
    with pytest.raises(InvalidProblem, match="time"):
        release_document(maker, released, time=NOON.replace(tzinfo=None))


ENTRY = {"id": "0" * 32, "dataset": "people", "reservation": 2, "entry": 3, "head": "0" * 64}


def test_the_place_in_a_ledger_travels_with_the_release() -> None:
    maker, released = releases()["laplace uniform"]
    made = json.loads(json.dumps(release_document(maker, released, ledger=ENTRY)))
    VALIDATOR.validate(made)
    verdict = verify_release(maker, made)  # which has seen no ledger, so that anybody may have invented the entry
    assert not any("ledger" in line for line in verdict.checked)
    assert any("It names entry 3 of a ledger" in line for line in verdict.unchecked)
    for wrong in ({}, {**ENTRY, "entry": 0}, {**ENTRY, "entry": True}, {**ENTRY, "head": "0"}, {**ENTRY, "more": 1}, 3):
        mutant = sealed({**made, "ledger": wrong})
        assert not VALIDATOR.is_valid(mutant)
        with pytest.raises(InvalidSpec, match="ledger"):
            verify_release(maker, mutant)


def test_a_release_of_another_mechanism_is_not_written() -> None:
    maker, _ = releases()["laplace uniform"]
    with pytest.raises(InvalidProblem, match="was not made by this mechanism"):
        release_document(maker, releases()["laplace line"][1])


def test_newer_and_other_files_are_refused_with_a_way_on(tmp_path: Path) -> None:
    maker, made = specimens()["laplace uniform"], document("laplace uniform")
    for wrong in ({**made, "version": 2}, {**made, "version": True}, {**made, "format": "dp-designer/more"}, {}):
        with pytest.raises(InvalidSpec, match="this program reads"):
            verify_release(maker, {**wrong, "seal": seal(wrong)})
    with pytest.raises(InvalidSpec, match="release: is a spec; give the release behind its spec"):
        verify_release(maker, {**made, "format": "dp-designer/mechanism"})
    text = json.dumps(made)
    (tmp_path / "twice.json").write_text(text[:-1] + ', "time": "2026-01-31T12:00:00Z"}')
    with pytest.raises(InvalidSpec, match="the same key twice"):
        verify_release(maker, tmp_path / "twice.json")


def test_the_software_that_released_may_be_another_version() -> None:
    maker, made = specimens()["laplace uniform"], document("laplace uniform")
    verify_release(maker, sealed({**made, "guarantee": {**made["guarantee"], "software": "dp-designer 0.0.9"}}))
    with pytest.raises(InvalidSpec, match=r"guarantee\.software"):
        verify_release(maker, sealed({**made, "guarantee": {**made["guarantee"], "software": "another program 1"}}))


def test_standard_errors_of_tests_are_those_of_their_laws() -> None:
    """Against the integral of 2 x P(|N| > x) over the float distribution function, to four digits."""
    for tradeoff in (EpsilonDelta(1), EpsilonDelta("1/3"), Gaussian.of("1/2")):
        law = canonical_noise(tradeoff)
        x = (np.arange(2_000_000) + 0.5) * 1e-4
        variance = float((4 * x * law.cdf(-x)).sum() * 1e-4)
        deviation = law.standard_deviation()
        assert deviation is not None and abs(deviation - variance**0.5) < 1e-4 * deviation
    assert canonical_noise(EpsilonDelta("1/2", "1/100")).standard_deviation() is None


def test_a_mechanism_with_other_noise_does_not_verify_the_release() -> None:
    maker, released = releases()["laplace line"]
    assert isinstance(maker, AdditiveMechanism)
    wider = replace(maker, norm=maker.norm.divided(1.5))
    made = release_document(maker, released)
    forged = sealed({**made, "fingerprint": wider.fingerprint, "guarantee": wider.guarantee.to_dict()})
    with pytest.raises(InvalidSpec, match="standard_errors"):
        verify_release(wider, json.loads(json.dumps(forged)))


def test_every_specimen_is_of_a_frozen_kind() -> None:
    assert all(isinstance(maker, FrozenMechanism) for maker, _ in releases().values())
