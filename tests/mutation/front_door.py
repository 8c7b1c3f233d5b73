"""Breaks of what a file asks for: budgets, bounds, targets and units that reach other numbers than those that were meant."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

HERE = "designer/files/problem/"
RELATIONS, MARGINALS, LINEAR = f"{HERE}relations.py", f"{HERE}marginals.py", f"{HERE}linear_request.py"
PLAN, PARTS, QUERIES = f"{HERE}table_plan.py", f"{HERE}plan_parts.py", f"{HERE}plan_queries.py"
SELECTION, MWEM, ODDS, AVERAGES = (f"{HERE}{name}.py" for name in ("selection", "synthetic", "odds_ratio", "averages"))
OF_RELATIONS = ("tests/files/problem/test_relation_file.py",)
OF_MARGINALS = ("tests/files/problem/test_marginals_file.py",)
OF_PLANS = ("tests/files/problem/test_table_plan_file.py",)
OF_ASKING = ("tests/files/problem/test_asking_files.py",)
OF_WORDS = ("tests/files/problem/test_about_section.py",)

MUTANTS = (
    Mutant(
        RELATIONS,
        "return invariant.protect(epsilon)\n",
        "return invariant.protect(2 * epsilon)\n",
        "what an invariant leaves open gets twice the budget of the file",
        OF_RELATIONS,
    ),
    Mutant(
        RELATIONS,
        'Form("blowfish", [GROUND, THRESHOLD, EPSILON]',
        'Form("blowfish", [GROUND, EPSILON, THRESHOLD]',
        "the threshold of a file is taken for its budget",
        OF_RELATIONS,
    ),
    Mutant(
        RELATIONS,
        "PART], of_values(metrics.scaled))",
        "PART], lambda _, factor, part: metrics.scaled(1.0, part))",
        "the factor of a scaled metric is not read",
        OF_RELATIONS,
    ),
    Mutant(
        RELATIONS,
        "if epsilon is not None and epsilons is not None:",
        "if False:",
        "of a budget for all and budgets for each, the larger may count",
        OF_RELATIONS,
    ),
    Mutant(
        MARGINALS,
        'return Presence(given["epsilon" if "epsilon" in given else "mu"])',
        'return Presence(2 * given["epsilon" if "epsilon" in given else "mu"])',
        "a record of marginals gets twice the budget of the file",
        OF_MARGINALS,
    ),
    Mutant(
        MARGINALS,
        'return metrics.hamming(self.domain, given["budgets"])',
        'return metrics.hamming(self.domain, dict(zip(attributes, given["budgets"].values(), strict=True)))',
        "budgets go to attributes by their places, not by their names",
        OF_MARGINALS,
    ),
    Mutant(
        MARGINALS,
        'return metrics.hamming(self.domain, given["budgets"])\n',
        'return metrics.hamming(self.domain, {a: min(b, 1.0) for a, b in given["budgets"].items()})\n',
        "inf is taken for a budget",
        OF_MARGINALS,
    ),
    Mutant(
        MARGINALS,
        "targets=self.targets, tolerance",
        "targets=None, tolerance",
        "the targets of marginals are ignored",
        OF_MARGINALS,
    ),
    Mutant(
        MARGINALS,
        "list(dict.fromkeys(cell for cell in table[column] if cell))",
        "sorted({cell for cell in table[column] if cell})",
        "the values of an attribute are in another order than in the table that lists them",
        OF_MARGINALS,
    ),
    Mutant(
        LINEAR,
        "targets=self.targets, **options)",
        "targets=None, **options)",
        "the targets of linear queries are ignored",
        ("tests/files/problem/test_targets_file.py",),
    ),
    Mutant(
        PLAN,
        "        if self.targets is not None:\n",
        "        if self.targets is self:\n",
        "the targets of a plan are ignored",
        OF_PLANS,
    ),
    Mutant(PLAN, 'given.get("on_average", False)', "False", "targets on average are targets of each group", OF_PLANS),
    Mutant(
        PLAN,
        'PriorRecords.quantiles(columns, given["quantiles"], given.get("allowed"))',
        'PriorRecords.quantiles(columns, given["quantiles"])',
        "the losses that quantiles of records are allowed are not read",
        OF_PLANS,
    ),
    Mutant(
        PLAN,
        "totals[rows.start + groups.place[label]] += value",
        "totals[rows.start + groups.place[label]] = value",
        "of the rows of a group the last one is its public total",
        OF_PLANS,
    ),
    Mutant(
        PARTS,
        'for key in ("step", "lower", "upper") if key in given}',
        'for key in ("step", "upper") if key in given}',
        "the lower bound of a measure is not read",
        OF_PLANS,
    ),
    Mutant(
        PARTS,
        "rational(str(value) if isinstance(value, float) else value, field)",
        "rational(value, field)",
        "decimals of a file are the floats next to them",
        OF_PLANS,
    ),
    Mutant(
        PARTS,
        '[self.exact(given["thresholds"][name], name) for name in names]',
        '[self.exact(given["thresholds"][name], name) for name in reversed(names)]',
        "the thresholds of splitting go to other measures",
        OF_PLANS,
    ),
    Mutant(
        QUERIES,
        'self.exact(loss.get("size", 1), f"{of}loss.size")',
        'self.exact(1, f"{of}loss.size")',
        "a loss is that of a record of size 1, whatever size is stated",
        OF_PLANS,
    ),
    Mutant(
        QUERIES,
        'f"{asked[0]}.count", of="count_")',
        'f"{asked[0]}.count")',
        "the count of an average has the noise of its sum",
        OF_PLANS,
    ),
    Mutant(
        SELECTION,
        "if self.rate is not None:\n",
        "if self.rate is self:\n",
        "the rate of a selection is not read",
        OF_ASKING,
    ),
    Mutant(
        SELECTION,
        'law=section.get("law", "exponential")',
        'law="exponential"',
        "the law of a selection is not read",
        OF_ASKING,
    ),
    Mutant(
        MWEM,
        "equal_shares(best, self.choice)",
        "equal_shares(best, 1 - self.choice)",
        "the part of a round that is spent on the choice is spent on the measurement",
        OF_ASKING,
    ),
    Mutant(
        ODDS,
        '.group(section.get("group", 1))',
        ".group(1)",
        "what is promised to groups is promised to each record alone",
        OF_ASKING,
    ),
    Mutant(
        AVERAGES,
        "return dict(zip(rows, numbers, strict=True))",
        "return dict(zip(cells, numbers, strict=True))",
        "the numbers of a table go to combinations by their places",
        OF_ASKING,
    ),
    Mutant(
        f"{HERE}request.py",
        "            self.about.require_units_of(self.named_answers)\n",
        "            pass\n",
        "units of queries that there are not are no mistake",
        OF_WORDS,
    ),
    Mutant(
        "designer/certified/about.py",
        'return self.units.get(query) or self.units.get(ALL, "")',
        'return self.units.get(ALL, "") or self.units.get(query, "")',
        "the unit of all answers stands for that of one",
        ("tests/certified/test_about.py",),
    ),
    Mutant(
        f"{HERE}kind.py",
        "        require_filled(path, data)\n",
        "",
        "places that wait for a budget pass for one",
        ("tests/files/problem/test_starting.py",),
    ),
)
