"""Breaks of ledgers: data touched before anything is recorded, totals that are exceeded, entries that may be altered."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        "designer/accounts/ledger.py",
        "            self.ready()\n",
        "",
        "a release is reserved though its records lack the columns that it needs",
        (
            "tests/accounts/test_ledger.py::"
            "test_what_is_public_of_the_data_is_looked_at_once_the_ledger_has_agreed_and_before_it_records",
        ),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "        known = self._with_room()\n",
        "        self.ready()\n        known = self._with_room()\n",
        "files are opened before the ledger has agreed",
        (
            "tests/accounts/test_ledger.py::"
            "test_what_is_public_of_the_data_is_looked_at_once_the_ledger_has_agreed_and_before_it_records",
        ),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "            last.require_room(self.expense, self.row)\n",
        "",
        "a release is reserved whatever is left",
        ("tests/accounts/test_ledger.py::test_what_exceeds_the_total_is_refused_before_data_are_touched",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "            if standing != known:\n                standing.require_room(self.expense, self.row)\n",
        "",
        "what another process reserved meanwhile does not count",
        ("tests/accounts/test_ledger.py::test_what_is_reserved_while_the_ledger_is_asked_counts",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "        with Reservation(self, mechanism, row, (), check=check) as reservation:\n            made = release()\n",
        "        made = release()\n        with Reservation(self, mechanism, row, (), check=check) as reservation:\n",
        "data are touched before anything is reserved",
        (
            "tests/accounts/test_ledger.py::test_a_release_is_reserved_before_data_are_touched_and_recorded_when_it_is_handed_out",
        ),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "            document = reservation.record(release_document(mechanism, made))\n",
        '            document = {**release_document(mechanism, made), "ledger": {}}\n',
        "what is handed out is not recorded",
        (
            "tests/accounts/test_ledger.py::test_a_release_is_reserved_before_data_are_touched_and_recorded_when_it_is_handed_out",
        ),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "            if not rows.has(place):\n",
        "            if rows.number < place.number:\n",
        "a ledger that was exchanged during a release records it",
        (
            "tests/accounts/test_covered_totals.py::test_a_ledger_that_was_set_back_and_written_to_again_records_nothing_of_before",
        ),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        ('            if any(entry.content.get("reservation") == place.number for entry in rows.after(place)):\n'),
        "            if False:\n",
        "one reservation serves two releases",
        ("tests/accounts/test_ledger.py::test_a_release_by_hand_is_recorded_once",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "            if after.equal and not after.total.covers(after.spent.total):\n",
        "            if False:\n",
        "a total is stated below what is spent",
        ("tests/accounts/test_ledger.py::test_raising_a_total_is_an_entry_with_a_name_and_a_reason",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "return expense_of(mechanism, rows_per_entity=row.rows_per_entity or 1)",
        "return expense_of(mechanism)",
        "an entity of several rows is charged for one",
        ("tests/accounts/test_ledger.py::test_entities_and_single_rows_are_not_added_up",),
    ),
    Mutant(
        "designer/accounts/standing.py",
        "            equal[key] = replace(known, times=known.times + 1)\n",
        "            equal[key] = replace(known, times=1)\n",
        "releases of equal cost are spent once",
        ("tests/accounts/test_standing.py::test_a_fresh_reader_knows_what_all_entries_come_to",),
    ),
    Mutant(
        "designer/accounts/standing.py",
        "            if first.hash != hash:\n",
        "            if False:\n",
        "an entry that a sum names may be exchanged",
        ("tests/accounts/test_standing.py::test_a_sum_that_says_something_else_is_found",),
    ),
    Mutant(
        "designer/accounts/standing.py",
        'if part.name not in ("fingerprint", "format"))',
        'if part.name in ("unit", "moves", "records", "replaced"))',
        "releases of different cost are spent as equal ones",
        ("tests/accounts/test_standing.py::test_a_fresh_reader_knows_what_all_entries_come_to",),
    ),
    Mutant(
        "designer/accounts/check.py",
        '            if canonical(entry.content["standings"]) != canonical(summed(standings)["standings"]):\n',
        "            if False:\n",
        "a sum that says less than was spent passes the check",
        ("tests/accounts/test_standing.py::test_a_sum_that_says_something_else_is_found",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "        if seen is not None and rows.has(seen.last):\n",
        "        if seen is not None:\n",
        "a ledger that was set back is not read anew",
        ("tests/accounts/test_ledger.py::test_a_ledger_that_was_set_back_counts_what_it_says",),
    ),
    Mutant(
        "designer/accounts/standing.py",
        "        if not self.total.covers(after.total):\n",
        "        if not self.total.covers(self.spent.total):\n",
        "the release that exceeds the total is made",
        ("tests/accounts/test_ledger.py::test_what_exceeds_the_total_is_refused_before_data_are_touched",),
    ),
    Mutant(
        "designer/accounts/standing.py",
        "        if self.row is not None and (self.row.name, self.row.entity) != (row.name, row.entity):\n",
        "        if False:\n",
        "single rows and entities are added up",
        ("tests/accounts/test_ledger.py::test_entities_and_single_rows_are_not_added_up",),
    ),
    Mutant(
        "designer/accounts/standing.py",
        "return () if allowed is None else tuple(line for line in after.unprotected if line not in allowed)",
        "return ()",
        "what was not allowed is left unprotected",
        ("tests/accounts/test_ledger.py::test_what_stays_unprotected_must_have_been_allowed",),
    ),
    Mutant(
        "designer/accounts/balances.py",
        "            if end and not allowance.total.covers(allowance.spent(self.expenses[:end]).total):\n",
        "            if end and not allowance.total.covers(allowance.spent(self.expenses[:1]).total):\n",
        "a check looks at the first expense alone",
        ("tests/accounts/test_covered_totals.py::test_expenses_beyond_the_total_are_found_whoever_wrote_them",),
    ),
    Mutant(
        "designer/accounts/standing.py",
        "        return () if line in allowed else (line,)\n",
        "        return ()\n",
        "a published partition is chosen by looking at an answer",
        (
            "tests/accounts/together/test_fixed_before.py::test_a_ledger_refuses_a_scope_that_was_not_fixed_before_the_first_answer",
        ),
    ),
    Mutant(
        "designer/accounts/entries.py",
        "return spent(expenses, times=times, records_public=RECORDS_PUBLIC in (self.publishes or ()))",
        "return spent(expenses, times=times)",
        "the unit that a ledger counts in is chosen by looking at an answer",
        (
            "tests/accounts/together/test_fixed_before.py::"
            "test_where_the_number_of_records_may_be_published_changes_of_a_record_are_counted_from_the_start",
        ),
    ),
    Mutant(
        "designer/accounts/chain.py",
        'return hashlib.sha256(f"{previous}\\n{body}".encode()).hexdigest()',
        "return hashlib.sha256(body.encode()).hexdigest()",
        "the hash of an entry leaves out the one before it",
        ("tests/accounts/test_chain.py::test_the_chain_is_what_the_page_says_it_is",),
    ),
    Mutant(
        "designer/accounts/chain.py",
        "    if entry.hash != entry_hash(previous, entry.body):\n",
        "    if len(entry.hash) != 64:\n",
        "the text of an entry may be altered",
        ("tests/accounts/test_chain.py::test_an_alteration_of_any_field_is_found",),
    ),
    Mutant(
        "designer/accounts/chain.py",
        "    if entry.previous != previous:\n",
        "    if False:\n",
        "an entry need not follow the one before it",
        ("tests/accounts/test_chain.py::test_an_alteration_of_any_field_is_found",),
    ),
    Mutant(
        "designer/accounts/chain.py",
        'ADDED_LATER = ("ledger", "seal", "signature")',
        'ADDED_LATER = ("ledger", "seal", "signature", "answers")',
        "the hash of a release leaves out its answers",
        ("tests/accounts/test_ledger.py::test_a_release_that_was_altered_is_not_the_recorded_one",),
    ),
    Mutant(
        "designer/accounts/check.py",
        '    if entry.kind != "released" or entry.content["output"] != output_hash(document):\n',
        '    if entry.kind != "released":\n',
        "a release that was altered passes for the recorded one",
        ("tests/accounts/test_ledger.py::test_a_release_that_was_altered_is_not_the_recorded_one",),
    ),
    Mutant(
        "designer/accounts/check.py",
        "    if all(entry.hash != head for entry in entries):\n",
        "    if not entries:\n",
        "an older copy passes for the ledger",
        ("tests/accounts/test_chain.py::test_a_ledger_that_was_cut_off_with_care_is_found_by_the_head_of_a_release",),
    ),
    Mutant(
        "designer/accounts/check.py",
        "        if (key is None) != (entry.signature is None):\n",
        "        if False:\n",
        "an entry may lose its signature",
        ("tests/accounts/test_chain.py::test_an_alteration_of_any_field_is_found",),
    ),
    Mutant(
        "designer/accounts/check.py",
        "            if trusted is not None:\n                _require_signed(entry, trusted)\n",
        "",
        "signatures are counted, and not verified",
        ("tests/accounts/test_covered_totals.py::test_every_signature_is_shown_to_who_is_trusted_to_judge_it",),
    ),
    Mutant(
        "designer/accounts/store.py",
        '    connection.execute("BEGIN IMMEDIATE")\n',
        '    connection.execute("BEGIN DEFERRED")\n',
        "two processes read before either writes",
        ("tests/accounts/test_ledger.py::test_a_ledger_that_another_process_holds_is_waited_for_and_then_refused",),
    ),
    Mutant(
        "designer/accounts/store.py",
        '        yield\n        connection.execute("COMMIT")\n',
        '        yield\n        connection.execute("ROLLBACK")\n',
        "what is recorded is not kept",
        (
            "tests/accounts/test_ledger.py::test_a_release_is_reserved_before_data_are_touched_and_recorded_when_it_is_handed_out",
        ),
    ),
    Mutant(
        "designer/accounts/store.py",
        (
            '        if (counted := [row[0] for row in connection.execute("SELECT seq FROM '
            'sqlite_sequence")]) != [rows.number]:\n'
        ),
        "        if not (counted := [rows.number]):\n",
        "entries that were cut off at the end are not missed",
        ("tests/accounts/test_chain.py::test_every_deletion_is_found",),
    ),
    Mutant(
        "designer/accounts/store.py",
        "        if _schema(connection) != sorted(SCHEMA):\n",
        "        if False:\n",
        "a file without its triggers passes",
        ("tests/accounts/test_chain.py::test_a_file_that_is_no_longer_as_it_was_made_is_refused",),
    ),
    Mutant(
        "designer/accounts/totals.py",
        "return value is not None and value <= self.limit",
        "return value is None or value <= self.limit",
        "what has no number in the notion of a total is covered",
        ("tests/accounts/test_ledger.py::test_releases_are_made_as_long_as_they_add_up_within_the_total",),
    ),
    Mutant(
        "designer/accounts/totals.py",
        "            return spent.rho\n",
        "            return spent.approximate_rho[0] if spent.approximate_rho else None\n",
        "the delta beside a rho is forgotten",
        ("tests/accounts/test_covered_totals.py::test_a_total_in_zcdp_covers_no_release_with_a_delta_of_its_own",),
    ),
    Mutant(
        "designer/accounts/totals.py",
        "Fraction(spent.delta_at(self.epsilon, precise=precise))",
        "Fraction(spent.delta_at(2 * self.epsilon, precise=precise))",
        "the delta is taken at twice the epsilon",
        ("tests/accounts/test_ledger.py::test_releases_are_made_as_long_as_they_add_up_within_the_total",),
    ),
)
