"""Breaks of what other tools are told: privacy maps, laws of noise on file, noise from bytes, entries of registries."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

SPENDING, OPENDP = "designer/exchange/spending.py", "designer/exchange/opendp.py"
BYTES, PORTABLE = "designer/exchange/byte_sampler.py", "designer/exchange/portable.py"
LAW, REGISTRY, YAML = "designer/exchange/noise_law.py", "designer/exchange/registry.py", "designer/exchange/yaml_lines.py"
MAPS, NOISE = ("tests/exchange/test_opendp.py",), ("tests/exchange/test_noise_law.py",)
FROM_BYTES, ELSEWHERE = ("tests/exchange/test_byte_sampler.py",), ("tests/exchange/test_portable.py",)
ENTRIES = ("tests/exchange/test_registry.py",)

MUTANTS = (
    Mutant(SPENDING, "length**2 / 2)", "length**2 / 4)", "zCDP is told to OpenDP at half its rho", MAPS),
    Mutant(
        SPENDING,
        "certified = _worst(mechanism) * budget",
        "certified = _worst(mechanism) * budget / 2",
        "a changed record is told to cost half of what it does",
        MAPS,
    ),
    Mutant(
        SPENDING,
        "apart, factor = norm.between(images[:1], images), 2",
        "apart, factor = norm.between(images[:1], images), 1",
        "of many records, those on two sides of the first are told to be as far apart as each from it",
        MAPS,
    ),
    Mutant(
        SPENDING,
        "    if columns[:, norm.silent].any():\n        return None\n",
        "",
        "records that move an exact answer are told to cost something finite",
        MAPS,
    ),
    Mutant(
        SPENDING,
        '    if mechanism.delta is not None:\n        raise InvalidProblem(\n            \'distance: "budget"',
        '    if mechanism.delta == 0.5:\n        raise InvalidProblem(\n            \'distance: "budget"',
        "budgets of small changes are added up under one delta",
        MAPS,
    ),
    Mutant(
        OPENDP,
        "(relation {told})",
        "",
        "measurements of relations with one sentence compose in OpenDP, whatever their budgets",
        MAPS,
    ),
    Mutant(OPENDP, "dp.disable_features(*added)", "pass", "OpenDP's honest-but-curious stays switched on", MAPS),
    Mutant(BYTES, "if number < limit:", "if number <= limit:", "a uniform number reaches its limit", FROM_BYTES),
    Mutant(BYTES, "return k % 2 == 1", "return k % 2 == 0", "the chance of an exponential is its complement", FROM_BYTES),
    Mutant(
        BYTES,
        "if size or not negative:",
        "if True:",
        "zero is drawn twice as often as the discrete Laplace law has it",
        FROM_BYTES,
    ),
    Mutant(
        BYTES,
        "2 * p * q * t * t, read)",
        "4 * p * q * t * t, read)",
        "Laplace numbers are kept too often to be Gaussian",
        FROM_BYTES,
    ),
    Mutant(
        PORTABLE,
        "    if not mechanism.heard.all() or not mechanism.tells_multiples:\n",
        "    if not mechanism.tells_multiples:\n",
        "numbers without noise are handed to programs that add noise to all",
        ELSEWHERE,
    ),
    Mutant(
        PORTABLE,
        "made.grid.exponents[k], *law.numbers",
        "-made.grid.exponents[k], *law.numbers",
        "steps are inverse",
        ELSEWHERE,
    ),
    Mutant(
        LAW,
        "[weight * mechanism.grid.step(k) for",
        "[weight / mechanism.grid.step(k) for",
        "laws on file are not in steps",
        (*NOISE, *ELSEWHERE),
    ),
    Mutant(LAW, '"variances": [1 / rate**2 for', '"variances": [1 / rate for', "variances on file are deviations", NOISE),
    Mutant(
        REGISTRY,
        "if isinstance(cost, str) or apart or cost.records != 1",
        "if isinstance(cost, str) or cost.records != 1",
        "a deployment that publishes statistics exactly is registered as plain differential privacy",
        ENTRIES,
    ),
    Mutant(
        REGISTRY,
        "[r.expense for r in self.reserves] or",
        "[r.expense for r in self.reserves[:1]] or",
        "of several releases one is registered",
        ENTRIES,
    ),
    Mutant(
        YAML, "and line == line.strip() and one_line", "and one_line", "a text that begins with spaces cannot be read", ENTRIES
    ),
)
