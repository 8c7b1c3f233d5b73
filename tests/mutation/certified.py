"""Breaks of certificates and their ground: pairs that are missed, roundings to the wrong side, claims that are believed."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        "designer/certified/certificate.py",
        ("return PrivacyCertificate(worst is not None and worst <= 1, worst, witness, search.pairs, arithmetic, theorem)"),
        ("return PrivacyCertificate(worst is not None and worst >= 0, worst, witness, search.pairs, arithmetic, theorem)"),
        "every finite worst ratio holds",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "return PrivacyCertificate(ratio is not None and ratio <= 1, ratio, witness, 0, arithmetic, theorem)",
        "return PrivacyCertificate(ratio is not None, ratio, witness, 0, arithmetic, theorem)",
        "every finite length of unlisted changes holds",
        ("tests/invariants/test_lengths.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "if self.holds:\n",
        "if self.holds or self.worst_ratio is not None:\n",
        "a certificate above 1 refuses nothing",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "max(search.best, Fraction(search.covered), Fraction(search.passed_over), Fraction(0))",
        "max(search.best, Fraction(search.passed_over), Fraction(0))",
        "pairs that were only bounded do not count",
        ("tests/certified/test_bounded_pairs.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "if length is None or budget == 0:\n",
        "if length is None:\n",
        "a budget of 0 that is spent is no excess",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "if not self.failed or value >= self.floor:\n",
        "if self.failed:\n",
        "pairs that floats cannot settle are not evaluated",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "    _check_silent(search)\n",
        "",
        "coordinates without noise may move",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "ratio = None if infinite else longest.bound / relation.budget",
        "ratio = longest.bound / relation.budget",
        "unlisted changes may move what gets no noise",
        ("tests/invariants/test_lengths.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "    for block in sensitivity.relation.beside():\n        yield block, sensitivity.ratios_of(norm, block)\n",
        "",
        "pairs beside those of a search are not looked at",
        ("tests/certified/test_searched_pairs.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "if certificate.worst_ratio == 0:\n        return True",
        "if certificate.worst_ratio == 0:\n        return False",
        "a mechanism that hides nothing does not say so",
        ("tests/throughout/test_vacuous.py",),
    ),
    Mutant(
        "designer/certified/certificate.py",
        "if not budget or length is None or abs(length / budget - ratio) > Fraction(1, 1 << 40):",
        "if not budget or length is None:",
        "any pair of a file passes for the worst",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "u = [Fraction(float(a)) - Fraction(float(b)) for a, b",
        "u = [(Fraction(float(a)) - Fraction(float(b))) / 2 for a, b",
        "exact differences are halved",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "else norm.between(images[block.left], images[block.right])",
        "else norm.between(images[block.left] / 2, images[block.right] / 2)",
        "the lengths of rectangles of pairs are halved",
        ("tests/certified/test_sensitivity.py",),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "lengths /= np.abs(budgets)  # never -0, whatever a relation yields",
        "lengths /= 2 * np.abs(budgets)  # never",
        "float ratios are taken against twice the budget",
        ("tests/certified/test_sensitivity.py",),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "lengths[np.isnan(lengths)] = np.inf\n",
        "lengths[np.isnan(lengths)] = 0.0\n",
        "lengths that overflow count as 0",
        ("tests/certified/test_sensitivity.py::test_lengths_that_overflow_count_as_infinite",),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "same = label[order[1:]] == label[order[:-1]]",
        "same = label[order[1:]] != label[order[:-1]]",
        "coordinates that protected changes move count as silent",
        ("tests/certified/test_sensitivity.py",),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "return SensitivitySet(self.relation, self.points[:, coordinates])",
        "return SensitivitySet(self.relation, self.points)",
        "part of the coordinates is all of them",
        ("tests/certified/test_sensitivity.py",),
    ),
    Mutant(
        "designer/certified/steep.py",
        "parts.append(apart + radii[level][x] + radii[level][y])",
        "parts.append(apart + radii[level][x])",
        "the bound of the pairs of two groups is too tight",
        ("tests/certified/test_searched_pairs.py",),
    ),
    Mutant(
        "designer/certified/steep.py",
        "radius = (radii[0] + apart).reshape(-1, 2).max(axis=1)",
        "radius = (radii[0] + apart).reshape(-1, 2).min(axis=1)",
        "a group's radius is that of its smaller half",
        ("tests/certified/test_searched_pairs.py",),
    ),
    Mutant(
        "designer/certified/steep.py",
        "self.covered = self._enough\n",
        "self.covered = 0.0\n",
        "groups that a tolerance settled are not covered",
        ("tests/certified/test_bounded_pairs.py",),
    ),
    Mutant(
        "designer/certified/steep.py",
        "chosen = np.nonzero(bounds >= max(self.floor, np.nextafter(self.covered, np.inf)))",
        "chosen = np.nonzero(bounds > 2 * self.floor)",
        "pairs that may be the worst are let go",
        ("tests/certified/test_searched_pairs.py",),
    ),
    Mutant(
        "designer/certified/steep.py",
        "self.covered = max(self.covered, float(self.bounds[rest[0]]))",
        "self.covered = self.covered",
        "pairs that are too many to hold are forgotten",
        ("tests/certified/test_searched_pairs.py",),
    ),
    Mutant(
        "designer/certified/norms.py",
        "return unit * max(images, default=0)",
        "return unit * min(images, default=0)",
        "the maximum norm is the minimum",
        ("tests/certified/test_norms.py",),
    ),
    Mutant(
        "designer/certified/norms.py",
        "return root_above(unit**2 * sum(value * value for value in images))",
        "return root_above(unit**2 * max(value * value for value in images))",
        "the exact l2 norm is that of the largest coordinate",
        ("tests/certified/test_norms.py",),
    ),
    Mutant(
        "designer/certified/norms.py",
        (
            "        if any(c for c, quiet in zip(u, self.silent, strict=True) if quiet):\n"
            "            return None\n        moved ="
        ),
        "        moved =",
        "the exact norm ignores coordinates without noise",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/norms.py",
        "return 2 * terms * _UNIT_ROUNDOFF * largest + (terms",
        "return 0 * terms * _UNIT_ROUNDOFF * largest + (terms",
        "the rounding of float lengths is not allowed for",
        (
            "tests/certified/test_norms.py",
            "tests/certified/test_certificate.py",
        ),
    ),
    Mutant(
        "designer/certified/norms.py",
        "return self.body.gauge_exact(Points.of([heard]))[0] / Fraction(self.scale)",
        "return self.body.gauge_exact(Points.of([heard]))[0]",
        "the exact gauge forgets the scale of its body",
        ("tests/certified/test_norms.py",),
    ),
    Mutant(
        "designer/certified/scale_up.py",
        "return safe if proven is None else max(1.0, safe * float_above(proven) * margin)",
        "return safe if proven is None else safe * float_above(proven) * margin * 0.999",
        "noise is narrowed a little below what is proven",
        ("tests/certified/test_certificate.py",),
    ),
    Mutant(
        "designer/certified/unlisted.py",
        'bounds.append(self.relation.longest(np.nextafter(sizes * (1 + terms * 2.0**-50), np.inf), "l1"))',
        'bounds.append(self.relation.longest(np.nextafter(sizes * 0.5, np.inf), "l1"))',
        "bounds by columns are halved",
        ("tests/invariants/test_lengths.py",),
    ),
    Mutant(
        "designer/certified/unlisted.py",
        "if not single.all() or len(np.unique(columns)) < len(columns):",
        "if not single.all():",
        "cells that are measured twice count once",
        ("tests/invariants/test_lengths.py",),
    ),
    Mutant(
        "designer/certified/claims.py",
        'near = abs(Fraction(ratio) - Fraction(proven["worst_ratio"])) <= Fraction(1, 1 << 40)',
        'near = Fraction(ratio) <= Fraction(proven["worst_ratio"])',
        "a smaller worst ratio than the proven one is believed",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/certified/specified.py",
        'body = {key: value for key, value in spec.items() if key != "seal"}',
        'body = {key: value for key, value in spec.items() if key not in ("seal", "provenance")}',
        "the seal leaves out the notes",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/certified/specified.py",
        "    mechanism.require_listed()\n    body = {",
        "    body = {",
        "what nobody can load again is saved",
        ("tests/metrics/test_own_metric.py",),
    ),
    Mutant(
        "designer/files/spec.py",
        '    if spec["seal"] != seal(spec):\n',
        '    if len(spec["seal"]) != len(seal(spec)):\n',
        "the seal is not compared",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/files/spec.py",
        '        "fingerprint": mechanism.fingerprint,\n        "guarantee"',
        '        "guarantee"',
        "the claimed fingerprint is not compared",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/files/spec.py",
        (
            'result["parameters"] = {\n'
            '            key: proven["parameters"].get(key) if _same_float(value, '
            'proven["parameters"].get(key)) else value'
        ),
        'result["parameters"] = {\n            key: proven["parameters"].get(key)',
        "the parameters of a guarantee are not compared",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/files/spec.py",
        "abs(one - other) <= 1e-9 * abs(other)",
        "abs(one - other) <= 1e-2 * abs(other)",
        "parameters may be a hundredth off",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/files/spec.py",
        "claimed = mechanism.settled_claim(claimed, value)",
        "claimed = value",
        "the claimed certificate is not compared",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/files/spec.py",
        "if mechanism.vacuous and not allow_vacuous:",
        "if False:",
        "a mechanism that hides nothing is loaded unasked",
        ("tests/throughout/test_vacuous.py",),
    ),
    Mutant(
        "designer/files/spec.py",
        'if mechanism.fingerprint != hashlib.sha256(canonical(spec["mechanism"])).hexdigest():',
        "if len(mechanism.fingerprint) != 64:",
        "a core may hold more than its object",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/files/spec.py",
        'type(spec["version"]) is not int or spec["version"] != FORMAT_VERSION',
        'type(spec["version"]) is not int',
        "files of any version are read as this one",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
    Mutant(
        "designer/files/spec.py",
        "module, name = FORMATS[format]",
        'module, name = FORMATS.get(format) or tuple(format.split(":"))',
        "a file may name the class that reads it",
        (
            "tests/files/test_spec.py",
            "tests/files/test_spec_formats.py",
        ),
    ),
)
