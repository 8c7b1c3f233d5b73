"""Breaks of what is made of designs and releases: plans by targets, tables on file, tables that agree, pages and pictures."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

FROM_RECORDS, LEAST = "designer/tables/from_records.py", "designer/designing/marginals_least.py"
FILES, FOLDERS, CSV = "designer/files/table_files.py", "designer/base/folders.py", "designer/base/csv_text.py"
COUNTS, AGREEMENT = "solvers/lattices/agreeing_counts.py", "designer/certified/agreement.py"
RELEASES, SUMMARY, STANDING = "designer/files/releases.py", "designer/reports/summary.py", "designer/reports/standing.py"
PLANS = "designer/reports/of_plans.py"
PLACES = "designer/reports/pictures/places.py"
OF_RECORDS, OF_LEAST = ("tests/tables/test_from_records.py",), ("tests/mechanisms/marginals/test_least_marginals.py",)
OF_MEETING, OF_TABLES = ("tests/mechanisms/marginals/test_meeting.py",), ("tests/cli/test_cli_tables.py",)
OF_FOLDERS, OF_CSV = ("tests/base/test_folders.py",), ("tests/base/test_csv_text.py",)
OF_SIZES = ("tests/solvers/lattices/test_agreeing_fuzz.py::test_small_numbers_beside_large_ones_reach_their_minimum",)
OF_COUNTS, OF_AGREEING = ("tests/solvers/lattices/test_agreeing_counts.py",), ("tests/certified/test_agreement.py",)
OF_RELEASES, OF_SUMMARIES = ("tests/files/test_read_release.py",), ("tests/reports/test_summary.py",)
OF_PROOFS = ("tests/reports/test_proofs.py",)

MUTANTS = (
    Mutant(
        FROM_RECORDS,
        "[: 1 if design.uniform else None]",
        "[:1]",
        "noise of several families is proven in the first group alone",
        OF_RECORDS,
    ),
    Mutant(
        FROM_RECORDS,
        "if open_to_all.loss(record) != policy.exact(",
        "if open_to_all.loss(record) < policy.exact(",
        "a plan that costs more than was designed passes",
        OF_RECORDS,
    ),
    Mutant(
        FROM_RECORDS,
        "for measured in ({}, *({m.column: _largest(m)} for m in plan.measures)):",
        "for measured in ({},):",
        "what amounts cost is not compared with the design",
        OF_RECORDS,
    ),
    Mutant(
        FROM_RECORDS,
        "precisions[hierarchy.slices[place]] = 1 / answer.variances",
        "precisions[hierarchy.slices[place]] = answer.variances",
        "noisier levels weigh more",
        OF_RECORDS,
    ),
    Mutant(
        LEAST,
        "(low, middle, made) if _ratio(made, asked) <= 1 else",
        "(low, middle, made) if _ratio(made, asked) <= 1.1 else",
        "targets are met but for a tenth",
        OF_MEETING,
    ),
    Mutant(
        LEAST,
        "    require_met(asked, _reached(nearest, asked))\n",
        "",
        "targets that no plan meets are designed for",
        OF_MEETING,
    ),
    Mutant(
        LEAST,
        "bound = max(bound, made.optimality.lower_bound - spent)",
        "bound = max(bound, made.optimality.lower_bound - spent / 2)",
        "a lower bound leaves out half of what multipliers add",
        OF_MEETING,
    ),
    Mutant(LEAST, "base.precisions * factor**2 *", "base.precisions * factor *", "variances fall with the factor", OF_LEAST),
    Mutant(
        LEAST,
        "0.0 if claim is None else met * math.sqrt(claim.lower_bound) * CONTINUOUS",
        "0.0 if claim is None else met * claim.lower_bound * CONTINUOUS",
        "the bound of the factor is that of its square",
        OF_LEAST,
    ),
    Mutant(
        LEAST,
        "math.exp(-min(square, 1000.0) / 2) / 2\n",
        "math.exp(-min(square, 1000.0) / 2)\n",
        "margins of marginals count one side",
        OF_LEAST,
    ),
    Mutant(
        FILES,
        "names = queries if len(queries) == len(table.answers)",
        "names = queries[::-1] if len(queries) == len(table.answers)",
        "units stand at the wrong answers",
        OF_TABLES,
    ),
    Mutant(
        FILES,
        "_with_agreeing(numbers_of(table, options.level), agreed, k)",
        "_with_agreeing(numbers_of(table, options.level), agreed, 0)",
        "every file has the agreeing numbers of the first table",
        OF_TABLES,
    ),
    Mutant(
        FILES,
        "numbers_of(table, options.level)",
        "numbers_of(table)",
        "intervals on file are of another level than is asked for",
        OF_TABLES,
    ),
    Mutant(FILES, "while name.lower() in taken:", "while name in taken:", "two tables share a file on some disks", OF_TABLES),
    Mutant(
        FOLDERS,
        "                _write(made / name, content)\n",
        "                target.mkdir(exist_ok=True)\n                _write(target / name, content)\n",
        "a folder is filled where readers see it",
        OF_FOLDERS,
    ),
    Mutant(
        FOLDERS,
        "if name not in _written(target)]",
        "if name not in _written(target) and name.startswith('.')]",
        "files of others are replaced with a folder",
        OF_FOLDERS,
    ),
    Mutant(
        FOLDERS, "                os.rename(aside, target)\n", "                pass\n", "a replaced folder is lost", OF_FOLDERS
    ),
    Mutant(
        CSV,
        "if _RUN.match(text) and not _NUMBER.fullmatch(text) else text",
        "if _GUARDED.match(text) else text",
        "spreadsheets run names",
        OF_CSV,
    ),
    Mutant(CSV, """.replace('"', '""')""", "", "a name with a quote ends its cell", OF_CSV),
    Mutant(CSV, 'repr(value).removesuffix(".0")', 'f"{value:.12g}"', "numbers on file are rounded", OF_CSV),
    Mutant(
        COUNTS,
        "(found.ended and (found.tight or (needed <= widths).all())):",
        "found.ended:",
        "the first window passes for a proof",
        OF_COUNTS,
    ),
    Mutant(COUNTS, "self.middle[owner]) + 1)", "self.middle[owner]))", "steps are priced at their foot", OF_COUNTS),
    Mutant(
        "solvers/programs/nearest_sums.py",
        "        if kept(exact, cells, totals):",
        "        if True:",
        "counts that miss the published totals pass",
        OF_COUNTS,
    ),
    Mutant(
        "solvers/programs/nearest_sums.py",
        "if least <= SAME / 10 and (polished or raw <= SAME / 10):",
        "if least <= SAME / 10:",
        "small numbers beside large ones stay where rounding hides their slope",
        OF_SIZES,
    ),
    Mutant(
        "solvers/programs/nearest_sums.py",
        "(program.slope(cells, multipliers) >= SAME), 0.0, cells)\n        slope = program.slope(cells, multipliers)",
        "((slope := program.slope(cells, multipliers)) >= SAME), 0.0, cells)",
        "slopes are those before the last cells went to 0",
        OF_SIZES,
    ),
    Mutant(
        "solvers/programs/nearest_sums.py",
        "(last > SAME, missed) < (at_last > SAME, least)",
        "missed < least",
        "a cell that is not yet 0 is better than the rounding of large numbers",
        ("tests/solvers/lattices/test_agreeing_fuzz.py::test_large_and_small_numbers_in_one_exact_row",),
    ),
    Mutant(
        "solvers/programs/conic.py",
        "return found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)",
        "return True",
        "the last point of a search that failed passes for a solution",
        ("tests/solvers/programs/test_nearest_sums.py::test_the_point_of_a_solver_that_did_not_end_well_is_never_taken",),
    ),
    Mutant(
        "solvers/programs/nearest_sums.py",
        "if best is None or at_last > SAME:",
        "if best is None:",
        "what is not nearest passes for the nearest",
        ("tests/solvers/programs/test_nearest_sums.py",),
    ),
    Mutant(
        AGREEMENT,
        "off / errors, 0.0)",
        "0.0 * off, 0.0)",
        "numbers far from what was released are not said to be",
        OF_AGREEING,
    ),
    Mutant(
        AGREEMENT,
        "weights = 1 / spread[noisy] ** 2",
        "weights = 1 / spread[noisy] ** 0",
        "agreeing tables are as near to noisy answers as to sharp ones",
        OF_AGREEING,
    ),
    Mutant(
        AGREEMENT,
        "    if not noisy.all():\n",
        "    if not noisy.any():\n",
        "agreeing tables move what is told exactly",
        OF_AGREEING,
    ),
    Mutant(
        RELEASES,
        "return mechanism, given, replace(rebuilt, row=row, guarantee=_guarantee_for(mechanism, row))",
        "return mechanism, given, replace(rebuilt, row=row)",
        "a release that is read back forgets what its rows are promised",
        OF_RELEASES,
    ),
    Mutant(
        RELEASES,
        "    _require_same_words(mechanism, given)\n",
        "",
        "a release may describe itself otherwise than its spec",
        ("tests/files/test_about_files.py",),
    ),
    Mutant(
        SUMMARY,
        'without any noise ({some(exact)})"] if exact else []',
        'without any noise ({some(exact)})"] if not exact else []',
        "answers without noise are no line of the first screen",
        OF_SUMMARIES,
    ),
    Mutant(
        SUMMARY,
        'told += [f"nobody is protected where {bare[0]}"] if bare else []',
        'told += [f"nobody is protected where {bare[0]}"] if bare and exact else []',
        "changes without a budget are no line of the first screen",
        OF_SUMMARIES,
    ),
    Mutant(
        STANDING,
        "    if evidence.ledger is None:\n",
        "    if evidence.ledger is evidence:\n",
        "that no ledger was looked at is not said",
        OF_SUMMARIES,
    ),
    Mutant(STANDING, 'False: "NO, it fails"', 'False: "yes"', "a test that fails is told as passed", OF_SUMMARIES),
    Mutant(PLANS, "(*_WITH_NORMAL_NOISE.steps, OTHER_NOISE)", "_WITH_NORMAL_NOISE.steps", "other noise has no step", OF_PROOFS),
    Mutant(
        PLANS,
        "return max((cost_of_amounts(made, record)",
        "return min((cost_of_amounts(made, record)",
        "a record is told what it loses in the group where it loses least",
        ("tests/reports/test_meanings.py",),
    ),
    Mutant(
        "designer/base/confidential.py",
        "            with unseen():\n",
        "            if unseen():\n",
        "progress shows what is done with confidential data",
        ("tests/throughout/test_progress.py::test_confidential_work_shows_nothing_of_itself",),
    ),
    Mutant(
        "designer/base/progress.py",
        "    display.hidden += 1\n",
        "    display.hidden += 0\n",
        "what is hidden from progress is drawn",
        ("tests/throughout/test_progress.py::test_confidential_work_shows_nothing_of_itself",),
    ),
    Mutant(
        PLACES,
        "degrees[_joined(table, rows, Path(path))]",
        "degrees[: len(_joined(table, rows, Path(path)))]",
        "answers stand at the places of others",
        ("tests/reports/pictures/test_places.py",),
    ),
    Mutant(
        PLACES,
        "for name in (latitude, longitude)]",
        "for name in (longitude, latitude)]",
        "maps are turned",
        ("tests/reports/pictures/test_places.py",),
    ),
)
