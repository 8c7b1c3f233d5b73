"""Breaks between counts and answers: labels joined wrongly, sums that wrap, noise of the wrong law, texts that tell."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        "designer/problem/histogram.py",
        "        ordered[place] = entry  # type: ignore[index]\n    return ordered",
        "        pass\n    return list(labelled.counts)",
        "counts that carry names are joined by position",
        ("tests/problem/test_labels.py::test_counts_of_any_kind_are_joined_by_name",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "if None in places or sorted(places) != list(range(len(universe.elements))):",
        "if None in places:",
        "elements may be named twice, or not at all",
        ("tests/problem/test_labels.py::test_names_that_do_not_fit_are_refused_in_one_text",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "return spelled.pop() if len(spelled) == 1 else None",
        "return spelled.pop() if spelled else None",
        "a number that spells two names is given to one of them",
        ("tests/problem/test_labels.py::test_numbers_name_what_they_spell_and_nothing_when_they_spell_two",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "    if not universe.is_numbered:\n        where",
        "    if False:\n        where",
        "counts without names are taken in any order",
        ("tests/problem/test_labels.py::test_positions_of_a_table_are_no_names",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "[name for name, _ in columns].count(column) != 1]",
        "[name for name, _ in columns].count(column) < 1]",
        "the first of two columns of one name is taken",
        ("tests/problem/test_labels.py::test_a_level_of_the_index_and_a_column_of_one_name_are_both_refused",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "return row if direct and named is None else (None,) * width",
        "return row if direct else (None,) * width",
        "a text that names two elements is given to one of them",
        ("tests/problem/test_labels.py::test_a_text_that_is_the_name_of_one_element_and_the_key_of_another_names_none",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "usable = np.isfinite(given) & (given >= 0) & (given < 2.0**53) & (given == np.floor(given))",
        "usable = np.isfinite(given) & (given < 2.0**53)",
        "negative counts and parts of records are taken",
        ("tests/mechanisms/additive/test_release.py::test_unusable_counts_give_one_text_whatever_they_are",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "    if bound.max() < 2.0**62:\n",
        "    if bound.max() < 2.0**80:\n",
        "sums beyond 64 bits wrap around",
        ("tests/mechanisms/additive/test_release.py::test_answers_are_exact_integers_at_every_size",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "    if whole[list(universe.impossible)].any():\n        raise InvalidProblem(IMPOSSIBLE)\n",
        "",
        "records that cannot be are counted",
        ("tests/relations/invariants/test_impossible.py::test_noise_keeps_away_and_specs_come_back",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        (
            "    if universe.agreeing is not None and exact_answers(universe.agreeing, whole).any():\n"
            "        raise InvalidProblem(DISAGREE)\n"
        ),
        "",
        "tables that do not agree are taken",
        (
            "tests/relations/invariants/test_linked_tables.py::test_a_histogram_made_by_hand_whose_tables_disagree_is_refused_at_release",
        ),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "        raise InvalidProblem(MISNAMED)\n",
        '        raise InvalidProblem(f"{MISNAMED} {places}")\n',
        "a refusal says which elements the data name",
        ("tests/problem/test_labels.py::test_names_that_do_not_fit_are_refused_in_one_text",),
    ),
    Mutant(
        "designer/base/confidential.py",
        "return InvalidProblem(WITHHELD) if own is None else own(*error.args)",
        'return InvalidProblem(f"{WITHHELD} {error}") if own is None else own(*error.args)',
        "the message of what failed is passed on",
        ("tests/throughout/test_withheld.py::test_data_that_fail_when_they_are_read_as_counts",),
    ),
    Mutant(
        "designer/base/confidential.py",
        ("        except (Exception, KeyboardInterrupt) as error:\n            told = _told(error)\n        # Outside"),
        "        except (Exception, KeyboardInterrupt) as error:\n            raise _told(error)\n        # Outside",
        "a refusal carries what failed as its context",
        ("tests/throughout/test_withheld.py::test_data_that_fail_when_they_are_read_as_counts",),
    ),
    Mutant(
        "designer/base/confidential.py",
        "    if isinstance(error, KeyboardInterrupt):\n        return KeyboardInterrupt()\n",
        "    if isinstance(error, KeyboardInterrupt):\n        return error\n",
        "an interrupt hands on the frames of the data",
        ("tests/throughout/test_withheld.py::test_the_wrapper_keeps_refusals_and_forgets_their_chain",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "assign(self, privacy=self.verify().require())",
        "assign(self, privacy=self.verify())",
        "a mechanism above its budgets is built",
        ("tests/certified/test_certificate.py::test_solver_answers_scaled_towards_less_noise_are_refused",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "return SensitivitySet.of(values, self._told)",
        "return SensitivitySet.of(self.target, self._told)",
        "the certificate speaks of the matrix before it was rounded to the grid",
        ("tests/certified/test_certificate.py::test_what_is_certified_is_the_matrix_that_is_released_from",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "exact = exact_answers(self.integers, given)",
        "exact = np.rint(self.grid.values(self.integers) @ given / self.grid.steps)",
        "answers are summed in floats",
        ("tests/mechanisms/additive/test_release.py::test_answers_beyond_the_floats_are_infinite_and_no_error",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "noise = self.noise.draw(1, self.release_entropy())[0]",
        "noise = self.noise.draw(1, SeededEntropy(0))[0]",
        "releases take the noise of a seed",
        ("tests/mechanisms/additive/test_release.py::test_overflow_beyond_int64_in_a_release",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "return self._release_of([int(a) + int(z) for a, z in zip(exact, noise, strict=True)])",
        "return self._release_of([int(a) + abs(int(z)) for a, z in zip(exact, noise, strict=True)])",
        "noise only adds",
        ("tests/throughout/test_release_laws.py::test_additive_noise",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        '            **({} if self.delta is None else {"delta": self.delta}),\n            **self.flag,',
        "            **self.flag,",
        "the fingerprint leaves out the delta",
        ("tests/designing/test_approximate_notion.py::test_a_file_that_claims_less_delta_or_less_noise_is_refused",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        '"grid": list(self.grid.exponents),',
        '"grid": [0] * len(self.grid.exponents),',
        "the fingerprint leaves out the steps",
        ("tests/files/test_spec.py::test_round_trip",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "        if not self.relation.exact_on(values.T):\n",
        "        if False:\n",
        "pairs whose points are no exact floats are certified",
        ("tests/certified/test_certificate.py::test_sums_over_a_change_that_are_no_floats_prove_nothing",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "        self._require_draws()\n",
        "",
        "what cannot be drawn is refused only when data are there",
        ("tests/mechanisms/additive/test_drawable.py::test_odd_maps_and_grids_are_refused_at_construction_or_release",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "        require_family(self.family, ADDITIVE_FAMILIES)\n",
        "",
        "the closed list of families is open",
        ("tests/base/test_printing.py::test_a_family_that_does_not_exist_is_refused",),
    ),
    Mutant(
        "designer/mechanisms/additive/noise.py",
        "if (np.abs(multiples) > LARGEST).any():\n            k",
        "if False:\n            k",
        "entries beyond 2^52 steps are rounded",
        ("tests/certified/test_certificate.py::test_ill_fitting_parts_are_refused",),
    ),
    Mutant(
        "designer/mechanisms/additive/noise.py",
        "drawn[:, self.heard] = self.sampler.draw(size, entropy)",
        "drawn[:, self.heard] = self.sampler.draw(1, entropy)",
        "all draws of a simulation are one",
        ("tests/mechanisms/additive/test_noise.py::test_draws_follow_the_enumerated_law_and_not_one_a_hundredth_wider",),
    ),
    Mutant(
        "designer/mechanisms/additive/noise.py",
        "law = DiscreteGaussian([1 / w**2 for w in weights])",
        "law = DiscreteGaussian([1 / w for w in weights])",
        "Gaussian noise takes a deviation for a variance",
        ("tests/mechanisms/additive/test_noise.py::test_renyi_divergences_of_gaussian_noise_are_within_the_budget",),
    ),
    Mutant(
        "designer/mechanisms/additive/noise.py",
        "return [[Fraction(float(w)) * step for w, step in zip(row, steps, strict=True)] for row in norm.factor]",
        "return [[Fraction(float(w)) * steps[0] for w in row] for row in norm.factor]",
        "every coordinate has the step of the first",
        ("tests/mechanisms/additive/test_noise.py::test_moments_agree_with_draws",),
    ),
    Mutant(
        "designer/mechanisms/additive/noise.py",
        ("vertices = [[c * scale / step for c, step in zip(row, steps, strict=True)] for row in body.vertices.fractions()]"),
        "vertices = [[c / step for c, step in zip(row, steps, strict=True)] for row in body.vertices.fractions()]",
        "the body of a gauge loses its scale",
        ("tests/mechanisms/additive/test_noise.py::test_likelihood_ratios_of_pure_noise_are_within_the_budget_everywhere",),
    ),
    Mutant(
        "designer/mechanisms/additive/mechanism.py",
        "return relation if delta is None else Allowed(relation, WITH_DELTA[falloff](Fraction(delta)))",
        "return relation if delta is None else Allowed(relation, WITH_DELTA[falloff](Fraction(2 * delta)))",
        "twice the delta is spent",
        (
            "tests/designing/test_approximate_notion.py::test_no_protected_pair_is_told_apart_by_more_than_delta_of_the_rounded_law",
        ),
    ),
    Mutant(
        "designer/relations/rows/tabulation.py",
        "return stated, counts(found, self.universe)",
        "return None, counts(found, self.universe)",
        "a release from records does not say what a row is",
        (
            "tests/throughout/test_data_of_any_kind.py::test_the_type_and_the_names_of_the_data_decide_and_every_form_counts_the_same",
        ),
    ),
    Mutant(
        "designer/relations/rows/tabulation.py",
        "if row != RowUnit() or not is_frame(table):",
        "if is_frame(table) or not is_frame(table):",
        "the rows of a table of counts are counted as one record each",
        (
            "tests/throughout/test_data_of_any_kind.py::"
            "test_a_data_frame_that_may_hold_counts_or_records_is_refused_until_that_is_said",
        ),
    ),
    Mutant(
        "designer/relations/rows/given.py",
        'return "records" if names & set(columns) and not names <= set(elements) else "histogram"',
        'return "records" if any(hasattr(data[name], "__len__") for name in names) else "histogram"',
        "an entry of confidential data is looked at before the ledger has reserved what it costs",
        (
            "tests/accounts/test_ledger.py::"
            "test_a_release_is_reserved_before_data_are_touched_and_recorded_when_it_is_handed_out",
        ),
    ),
    Mutant(
        "designer/base/confidential.py",
        "own(*error.args)  # without its value",
        "own(*error.args, value=getattr(error, 'value', None))",
        "the refusal of a release holds the value that was refused",
        ("tests/house/test_refusals.py::test_what_is_refused_of_confidential_data_has_no_value",),
    ),
)
