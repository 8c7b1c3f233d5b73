"""Breaks of what stands between a family of one's own and the mechanism that is handed out."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

REGISTERED = "designer/designing/best.py"
OF_LIES = ("tests/designing/test_own_families.py::test_a_family_that_lies_is_refused",)

MUTANTS = (
    Mutant(
        "designer/designing/best.py",
        "return made if is_of_the_house(family) else",
        "return made if made.privacy.holds else",
        "a family of one's own is believed like those of the house",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        "if not asked or not _same_relation(made.relation, problem.relation):",
        "if not _same_relation(made.relation, problem.relation):",
        "a family of one's own may answer other queries",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        "if not asked or not _same_relation(made.relation, problem.relation):",
        "if not asked:",
        "a family of one's own may protect another relation",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        "if made.delta != problem.delta:",
        "if False:",
        "a family of one's own may spend a delta that nobody granted",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        'if problem.notion != "approximate" and made.falloff != FALLOFFS[problem.notion][0]:',
        "if False:",
        "a family of one's own may keep another notion",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        "replace(made, **mine).described(made.about)",
        "made",
        "what was altered behind its certificate is not certified again",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        "replace(made, **mine).described(made.about)",
        "made; made.verify().require()",
        "noise that was exchanged behind the numbers is drawn",
        ("tests/designing/test_own_families.py::test_noise_that_was_exchanged_behind_the_numbers_is_not_drawn",),
    ),
    Mutant(
        REGISTERED,
        "(made, *(getattr(made, name) for name in _parts(made)))",
        "tuple(getattr(made, name) for name in _parts(made))",
        "a mechanism may release in a way of its own",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        "(made, *(getattr(made, name) for name in _parts(made)))",
        "(made,)",
        "a norm of one's own is believed",
        OF_LIES,
    ),
    Mutant(
        REGISTERED,
        '"allow_vacuous": problem.allow_vacuous}',
        '"allow_vacuous": made.allow_vacuous}',
        "a family of one's own may hide nothing",
        ("tests/designing/test_own_families.py::test_a_family_that_hides_nothing_is_refused_unless_that_was_asked_for",),
    ),
    Mutant(
        REGISTERED,
        "if off > BIASED * np.max(errors):",
        "if off > np.inf:",
        "answers of a family of one's own are far off without a word",
        OF_LIES,
    ),
    Mutant(
        "designer/families/atoms.py",
        "        least = np.minimum(least, least.T)\n",
        "",
        "two atoms are bound by the budgets of one order of their elements",
        ("tests/designing/test_whole_strategies.py::test_running_totals_are_no_worse_than_counts_added_up",),
    ),
    Mutant(
        REGISTERED,
        "< (place[0], place[1] * (1 - EQUAL))",
        "<= place",
        "the last digit of a loss decides between families",
        ("tests/designing/test_whole_strategies.py::test_of_equal_losses_the_family_that_is_tried_first_is_kept",),
    ),
    Mutant(
        "designer/families/strategy_geometric.py",
        "if len(parts) <= MERGED else ():",
        "if len(parts) > MERGED else ():",
        "marginals are not measured as tables of several attributes",
        ("tests/designing/test_whole_strategies.py::test_marginals_are_no_worse_than_their_best_weighted_tables",),
    ),
)
