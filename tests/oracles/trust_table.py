"""What breaks privacy software, what was tried here, and the tests that try it: the table of docs/explanation/trust.md.

`python -m tests.oracles.trust_table` prints it with the number of tries of each row, the test cases that pytest collects under
the names of the row; where a test tries more inside a case, the row says so in words.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Attack:
    """One row: what breaks, what is tried, what came of it, and the tests, as `file` or `file::function`."""

    breaks: str
    tried: str
    result: str
    tests: tuple[str, ...]


def _of(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/{folder}/{name}" for name in names)


ATTACKS = (
    Attack(
        "a solver says optimal, and the answer violates privacy",
        "raw answers of every solver, answers scaled towards less noise, constructor paths around the certificate",
        "refused, or repaired and certified anew in rationals",
        (
            *_of("certificate", "test_certificate.py"),
            *_of(
                "designing", "test_laplace_program.py::test_no_pair_exceeds_its_budget_in_exact_arithmetic_whatever_the_solver"
            ),
            *_of("designing", "test_quadratic_programs.py::test_another_solver_is_repaired_and_certified_too"),
        ),
    ),
    Attack(
        "a sensitivity formula is wrong by a factor, or used outside its regime",
        "brute force over all neighbouring databases of small domains, every protected pair in rationals by a second route",
        "equal to the certificates",
        (
            *_of("certificate", "test_sensitivity.py"),
            *_of("relations/invariants", "test_invariants.py::test_the_changes_are_those_of_all_pairs_of_small_databases"),
            *_of("relations/invariants", "test_semi_adjacency.py::test_integer_programs_agree_with_all_databases"),
            *_of("audit", "test_deep_verification.py::test_pairs_one_by_one_find_what_a_certificate_does_not_say"),
        ),
    ),
    Attack(
        "the right mechanism with the wrong theorem",
        "output distributions written out for neighbours, against the claim, in every notion (deep verification, every format)",
        "no ratio, divergence or error beyond the claim (rounding 1e-9)",
        (
            *_of("audit", "test_deep_verification.py::test_a_mechanism_of_every_format_holds"),
            *_of("tradeoff", "test_accounting.py"),
            *_of("relations", "test_composition.py::test_group_and_composition_bounds_hold_for_the_noise"),
        ),
    ),
    Attack(
        "floating-point outputs reveal the input",
        "outputs of neighbours on the grid; what leaves is a function of noisy integers",
        "the sets of outputs are equal",
        (
            *_of("mechanism", "test_release.py::test_neighbours_reach_the_same_grid_and_answers_land_on_it"),
            *_of("throughout", "test_release_attacks.py::test_what_leaves_is_a_function_of_noisy_integers"),
            *_of("audit", "test_deep_verification.py::test_a_draw_that_cannot_be_is_found_alone"),
        ),
    ),
    Attack(
        "rounding, overflow and reordering before noise",
        "counts up to and beyond 64 bits, permuted universes, sums that floats round away",
        "exact integers, or refused",
        (
            *_of("mechanism", "test_release.py::test_answers_are_exact_integers_at_every_size"),
            *_of("mechanism", "test_release.py::test_overflow_beyond_int64_in_a_release"),
            *_of("mechanism", "test_release.py::test_a_permuted_universe_gives_the_permuted_mechanism"),
            *_of("throughout", "test_bad_input.py::test_queries_whose_floats_are_not_their_integers_are_refused"),
            *_of("throughout", "test_bad_input.py::test_sums_that_floats_round_away_prove_nothing"),
        ),
    ),
    Attack(
        "time depends on the noise drawn",
        "the rank correlation of the time of a draw with the size of the noise, in every deep verification",
        "**not prevented**: excluded by every guarantee, measured and printed",
        _of("throughout", "test_release_attacks.py::test_the_statement_says_that_time_is_not_covered"),
    ),
    Attack(
        "forked processes share random state",
        "forks of a process that draws, or releases",
        "different noise in all of them",
        (
            *_of("sampling", "test_discrete_laplace.py::test_four_forks_draw_four_different_outputs"),
            *_of("mechanism", "test_release.py::test_forked_processes_release_different_noise"),
            *_of("throughout", "test_trust.py::test_no_random_generator_with_state_is_near_a_release"),
        ),
    ),
    Attack(
        "a seeded release",
        "seeds handed to every way to release; where the bits of every format come from",
        "no seed reaches a release; what is made with one is stamped",
        (
            *_of("mechanism", "test_release.py::test_no_seed_reaches_a_release"),
            *_of("throughout", "test_release_attacks.py::test_all_randomness_is_the_operating_system_s_and_none_is_kept"),
            *_of("throughout", "test_release_attacks.py::test_simulated_choices_repeat_with_a_seed_only_and_say_so"),
        ),
    ),
    Attack(
        "NaN, infinities, negative counts and values out of the domain",
        "unusable data of every kind, for every format",
        "one text, whatever the confidential values",
        (
            *_of("throughout", "test_release_attacks.py::test_every_unusable_count_is_refused_with_one_text"),
            *_of("throughout", "test_release_attacks.py::test_every_unusable_table_is_refused_with_one_text"),
            *_of("throughout", "test_release_attacks.py::test_records_outside_the_domain_are_refused_with_one_text"),
            *_of("throughout", "test_bad_input.py::test_bad_input_is_refused_with_a_field_and_in_no_time"),
        ),
    ),
    Attack(
        "the neighbouring relation is not what the user thinks",
        "metric axioms of exact budgets, words of every relation and statement",
        "unit, relation, invariants and notion stand in every guarantee",
        (
            *_of("relations/metrics", "test_metrics.py::test_exact_budgets_are_a_metric"),
            *_of("relations/metrics", "test_metrics.py::test_blocks_imply_every_protected_pair"),
            *_of("throughout", "test_trust.py::test_the_guarantee_states_all_that_it_must"),
        ),
    ),
    Attack(
        "parameters rounded in the wrong direction, underflow",
        "budgets and units from 5e-324 to 1.7e308; conversions against integrals",
        "correct, or refused with a way on",
        (
            *_of("throughout", "test_trust.py::test_extreme_budgets_are_designed_or_refused"),
            *_of("throughout", "test_trust.py::test_extreme_queries_are_designed_or_refused"),
            *_of("throughout", "test_bad_input.py::test_conversions_of_extreme_budgets_are_bounds_all_the_same"),
        ),
    ),
    Attack(
        "a spec that runs code, or unpacks without end",
        "broken files, nests of any depth, bombs, altered files (100,000 in the one case of the heavy tier)",
        "refused; nothing is imported or run",
        (
            *_of("files", "test_spec.py::test_nothing_in_a_spec_is_imported_or_run"),
            *_of("files", "test_spec.py::test_broken_files_are_refused"),
            *_of("files", "test_spec.py::test_nesting_of_any_depth_is_refused"),
            *_of("files", "test_spec.py::test_compressed_rows_that_unpack_to_a_bomb_are_refused"),
            *_of("files", "test_fuzz_files.py"),
        ),
    ),
    Attack(
        "a spec edited to weaker noise with the same claim",
        "every field of every kind of spec altered, with the old seal and with a fresh one",
        "refused, or an object that keeps the guarantee it makes",
        (
            *_of("files", "test_spec.py::test_every_altered_field_is_refused_under_the_old_seal"),
            *_of("files", "test_spec.py::test_an_attacker_with_a_fresh_seal_gets_nothing_but_what_is_proven"),
            *_of("files", "test_spec_formats.py::test_a_mutant_is_refused_or_keeps_the_promise_that_it_makes"),
            *_of("files", "test_spec_formats.py::test_weaker_noise_is_not_private"),
        ),
    ),
    Attack(
        "correlated outputs accounted one by one",
        "one norm over all measured answers; joint laws written out, and joint draws tested for their correlations",
        "nothing is accounted coordinate by coordinate",
        (
            *_of("audit", "test_stated_laws.py::test_every_statistic_has_mean_0_under_its_law"),
            *_of("certificate", "test_certificate.py::test_verdict_and_ratio_against_fractions"),
        ),
    ),
    Attack(
        "invariants leave few or no protected neighbours",
        "relations, files and formats that protect nothing",
        "refused unless asked for by name, and then said loudly",
        (
            *_of("throughout", "test_vacuous.py"),
            *_of("throughout", "test_trust.py::test_components_of_the_protected_graph_are_reported"),
        ),
    ),
    Attack(
        "a policy that depends on the confidential data",
        "other data in the same mechanism",
        "fingerprint, policy and certificate stay",
        (
            *_of("throughout", "test_trust.py::test_the_mechanism_does_not_depend_on_data"),
            *_of("throughout", "test_release_attacks.py::test_types_of_a_release_do_not_depend_on_the_data"),
        ),
    ),
    Attack(
        "truncated tails or capped loops sold as pure privacy",
        "exact laws of samplers far out; a chain, whose law is approximate",
        "tails are exact; a chain's distance is a declared delta, and an estimate",
        (
            *_of("sampling", "test_discrete_laplace.py::test_an_all_zero_word_reaches_into_the_tail"),
            *_of("sampling", "test_discrete_laplace.py::test_a_draw_beyond_64_bits_is_an_error_and_not_a_wrong_number"),
            *_of("lattice", "test_lattice_chain.py::test_the_guarantee_states_the_estimate_as_one_and_absorbs_it"),
        ),
    ),
    Attack(
        "true values in logs, exceptions, reports, tracebacks",
        "a canary value in data that fail in every place, searched for in everything that is produced",
        "found nowhere",
        (
            *_of("throughout", "test_withheld.py"),
            *_of("mechanism", "test_release.py::test_true_values_appear_nowhere"),
            *_of("throughout", "test_release_attacks.py::test_no_object_keeps_a_true_value"),
        ),
    ),
    Attack(
        "statistical tests too weak to see a wrong sampler",
        "samplers that are 1 % wrong and seven kinds of other faults, put under our own tests",
        "rejected; how often, with confidence limits: `benchmarks/audit_power.py`",
        (
            *_of("audit", "test_deep_verification.py::test_samplers_that_are_a_little_wrong_are_rejected"),
            *_of("audit", "test_deep_verification.py::test_right_samplers_are_not"),
            *_of("throughout", "test_release_laws.py"),
        ),
    ),
)


def collected() -> Counter[str]:
    """How many cases each `file` and each `file::function` has."""
    files = sorted({name.split("::")[0] for attack in ATTACKS for name in attack.tests})
    plain = ["-o", "addopts=--import-mode=importlib", "-p", "no:cacheprovider", "-q", "--collect-only"]
    command = [sys.executable, "-m", "pytest", *plain, *files]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    found: Counter[str] = Counter()
    for line in lines:
        if "::" in line:
            case = line.strip().split("[")[0]
            found.update((case, case.split("::")[0]))
    return found


def rows(counts: Mapping[str, int] | None = None) -> Iterator[str]:
    """The table, in Markdown; counts: how many cases each name of a test has, for a column of them."""
    yield "| # | what breaks | what is tried |" + (" tries |" if counts else "") + " result | tests |"
    yield "| --- | --- | --- |" + (" --- |" if counts else "") + " --- | --- |"
    for number, attack in enumerate(ATTACKS, 1):
        tries = f" {sum(counts[name] for name in attack.tests)} |" if counts else ""
        tests = ", ".join(f"`{name.removeprefix('tests/')}`" for name in attack.tests)
        yield f"| {number} | {attack.breaks} | {attack.tried} |{tries} {attack.result} | {tests} |"


if __name__ == "__main__":
    print(*rows(collected()), sep="\n")
