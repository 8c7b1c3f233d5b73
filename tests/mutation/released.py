"""Breaks between counts and answers: labels joined wrongly, sums that wrap, noise of the wrong law, texts that tell."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        "designer/question/histogram.py",
        "        ordered[place] = entry  # type: ignore[index]\n    return ordered",
        "        pass\n    return list(labelled.counts)",
        "counts that carry names are joined by position",
        ("tests/question/test_labels.py",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "if None in places or sorted(places) != list(range(len(universe.elements))):",
        "if None in places:",
        "elements may be named twice, or not at all",
        ("tests/question/test_labels.py::test_names_that_do_not_fit_are_refused_in_one_text",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "return spelled.pop() if len(spelled) == 1 else None",
        "return spelled.pop() if spelled else None",
        "a number that spells two names is given to one of them",
        ("tests/question/test_labels.py",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "    if not universe.is_numbered:\n        where",
        "    if False:\n        where",
        "counts without names are taken in any order",
        ("tests/question/test_labels.py",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "[name for name, _ in columns].count(column) != 1]",
        "[name for name, _ in columns].count(column) < 1]",
        "the first of two columns of one name is taken",
        ("tests/question/test_labels.py::test_a_column_that_names_elements_stands_there_once",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "return row if direct and named is None else (None,) * width",
        "return row if direct else (None,) * width",
        "a text that names two elements is given to one of them",
        ("tests/question/test_labels.py",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "usable = np.isfinite(given) & (given >= 0) & (given < 2.0**53) & (given == np.floor(given))",
        "usable = np.isfinite(given) & (given < 2.0**53)",
        "negative counts and parts of records are taken",
        (
            "tests/additive/test_release.py",
            "tests/throughout/test_bad_input.py",
        ),
    ),
    Mutant(
        "designer/question/histogram.py",
        "    if bound.max() < 2.0**62:\n",
        "    if bound.max() < 2.0**80:\n",
        "sums beyond 64 bits wrap around",
        ("tests/additive/test_release.py::test_answers_are_exact_integers_at_every_size",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "    if whole[list(universe.impossible)].any():\n        raise InvalidProblem(IMPOSSIBLE)\n",
        "",
        "records that cannot be are counted",
        ("tests/invariants/test_impossible.py::test_noise_keeps_away_and_specs_come_back",),
    ),
    Mutant(
        "designer/question/histogram.py",
        (
            "    if universe.agreeing is not None and exact_answers(universe.agreeing, whole).any():\n"
            "        raise InvalidProblem(DISAGREE)\n"
        ),
        "",
        "tables that do not agree are taken",
        ("tests/invariants/test_linked_tables.py",),
    ),
    Mutant(
        "designer/question/histogram.py",
        "        raise InvalidProblem(MISNAMED)\n",
        '        raise InvalidProblem(f"{MISNAMED} {places}")\n',
        "a refusal says which elements the data name",
        (
            "tests/question/test_labels.py",
            "tests/throughout/test_withheld.py",
        ),
    ),
    Mutant(
        "designer/values/confidential.py",
        "return InvalidProblem(WITHHELD) if own is None else own(*error.args)",
        'return InvalidProblem(f"{WITHHELD} {error}") if own is None else own(*error.args)',
        "the message of what failed is passed on",
        ("tests/throughout/test_withheld.py::test_data_that_fail_when_they_are_read_as_counts",),
    ),
    Mutant(
        "designer/values/confidential.py",
        ("        except (Exception, KeyboardInterrupt) as error:\n            told = _told(error)\n        # Outside"),
        "        except (Exception, KeyboardInterrupt) as error:\n            raise _told(error)\n        # Outside",
        "a refusal carries what failed as its context",
        ("tests/throughout/test_withheld.py",),
    ),
    Mutant(
        "designer/values/confidential.py",
        "    if isinstance(error, KeyboardInterrupt):\n        return KeyboardInterrupt()\n",
        "    if isinstance(error, KeyboardInterrupt):\n        return error\n",
        "an interrupt hands on the frames of the data",
        ("tests/throughout/test_withheld.py",),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        'object.__setattr__(self, "privacy", self.verify().require())',
        'object.__setattr__(self, "privacy", self.verify())',
        "a mechanism above its budgets is built",
        ("tests/certified/test_certificate.py::test_solver_answers_scaled_towards_less_noise_are_refused",),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        "return SensitivitySet.of(values, self._told)",
        "return SensitivitySet.of(self.target, self._told)",
        "the certificate speaks of the matrix before it was rounded to the grid",
        ("tests/certified/test_certificate.py::test_what_is_certified_is_the_matrix_that_is_released_from",),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        "exact = exact_answers(self.integers, counts(histogram, self.universe))",
        "exact = np.rint(self.grid.values(self.integers) @ counts(histogram, self.universe) / self.grid.steps)",
        "answers are summed in floats",
        (
            "tests/additive/test_release.py",
            "tests/throughout/test_release_attacks.py",
        ),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        "noise = self.noise.draw(1, SystemEntropy())[0]",
        "noise = self.noise.draw(1, SeededEntropy(0))[0]",
        "releases take the noise of a seed",
        (
            "tests/additive/test_release.py",
            "tests/throughout/test_release_laws.py",
        ),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        "return self.released([int(a) + int(z) for a, z in zip(exact, noise, strict=True)])",
        "return self.released([int(a) + abs(int(z)) for a, z in zip(exact, noise, strict=True)])",
        "noise only adds",
        ("tests/throughout/test_release_laws.py",),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        '            **({} if self.delta is None else {"delta": self.delta}),\n            **self.flag,',
        "            **self.flag,",
        "the fingerprint leaves out the delta",
        ("tests/designing/test_approximate_notion.py",),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        '"grid": list(self.grid.exponents),',
        '"grid": [0] * len(self.grid.exponents),',
        "the fingerprint leaves out the steps",
        ("tests/files/test_spec.py::test_round_trip",),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        "        if not self.relation.exact_on(values.T):\n",
        "        if False:\n",
        "pairs whose points are no exact floats are certified",
        (
            "tests/metrics/test_every_pair.py",
            "tests/throughout/test_trust.py",
        ),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        "        self._require_draws()\n",
        "",
        "what cannot be drawn is refused only when data are there",
        ("tests/additive/test_drawable.py::test_odd_maps_and_grids_are_refused_at_construction_or_release",),
    ),
    Mutant(
        "designer/additive/mechanism.py",
        "        require_family(self.family, ADDITIVE_FAMILIES)\n",
        "",
        "the closed list of families is open",
        ("tests/values/test_printing.py::test_a_family_that_does_not_exist_is_refused",),
    ),
    Mutant(
        "designer/additive/grid.py",
        "if (np.abs(multiples) > LARGEST).any():\n            k",
        "if False:\n            k",
        "entries beyond 2^52 steps are rounded",
        ("tests/certified/test_certificate.py::test_ill_fitting_parts_are_refused",),
    ),
    Mutant(
        "designer/additive/noise.py",
        "drawn[:, self.heard] = self.sampler.draw(size, entropy)",
        "drawn[:, self.heard] = self.sampler.draw(1, entropy)",
        "all draws of a simulation are one",
        (
            "tests/additive/test_noise.py",
            "tests/throughout/test_release_laws.py",
        ),
    ),
    Mutant(
        "designer/additive/noise.py",
        "return [Fraction(float(norm.map[k])) * step for k, step in zip(heard, steps, strict=True)]",
        "return [Fraction(float(norm.map[k])) * step for k, step in enumerate(steps)]",
        "weights go to the wrong coordinates where some get no noise",
        (
            "tests/additive/test_noise.py",
            "tests/throughout/test_release_laws.py",
            "tests/additive/test_release.py",
        ),
    ),
    Mutant(
        "designer/additive/noise.py",
        "law = DiscreteGaussian([1 / w**2 for w in _weights(norm, heard, steps)])",
        "law = DiscreteGaussian([1 / w for w in _weights(norm, heard, steps)])",
        "Gaussian noise takes a deviation for a variance",
        ("tests/additive/test_noise.py::test_renyi_divergences_of_gaussian_noise_are_within_the_budget",),
    ),
    Mutant(
        "designer/additive/noise.py",
        "return [[Fraction(float(w)) * step for w, step in zip(row, steps, strict=True)] for row in norm.factor]",
        "return [[Fraction(float(w)) * steps[0] for w in row] for row in norm.factor]",
        "every coordinate has the step of the first",
        ("tests/additive/test_noise.py::test_moments_agree_with_draws",),
    ),
    Mutant(
        "designer/additive/noise.py",
        ("vertices = [[c * scale / step for c, step in zip(row, steps, strict=True)] for row in body.vertices.fractions()]"),
        "vertices = [[c / step for c, step in zip(row, steps, strict=True)] for row in body.vertices.fractions()]",
        "the body of a gauge loses its scale",
        (
            "tests/additive/test_noise.py",
            "tests/throughout/test_release_laws.py",
        ),
    ),
    Mutant(
        "designer/additive/promise.py",
        "return relation if delta is None else Allowed(relation, WITH_DELTA[falloff](Fraction(delta)))",
        "return relation if delta is None else Allowed(relation, WITH_DELTA[falloff](Fraction(2 * delta)))",
        "twice the delta is spent",
        ("tests/designing/test_approximate_notion.py",),
    ),
)
