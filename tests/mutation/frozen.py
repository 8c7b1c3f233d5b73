"""Breaks of what makes a frozen object frozen, a signature checked, and a malformed request free."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

FROZEN = "tests/throughout/test_frozen.py::"
SIGNED = "tests/files/test_signatures.py::"
CHECKED = "tests/throughout/test_check.py::"
NAMED = "tests/accounts/test_names.py::"
DECLARED = "tests/base/test_declared.py::"
LISTED = "tests/base/test_closed_list.py::"

MUTANTS = (
    Mutant(
        "designer/base/arrays.py",
        "    return isinstance(part, bytes) or (array.dtype.hasobject and owner is not array) or not array.size\n",
        "    return True\n",
        "an array that its owner can make writable again passes as read-only",
        (FROZEN + "test_no_flag_makes_an_array_writable_again",),
    ),
    Mutant(
        "designer/certified/frozen.py",
        "        certified = {name: part for name, part in vars(made).items() if name not in NOTES}\n",
        "        certified: dict[str, Any] = {}\n",
        "an object does not remember what it was certified with",
        (FROZEN + "test_release_and_ledger_refuse_what_was_changed",),
    ),
    Mutant(
        "designer/base/arrays.py",
        "known.setdefault(self.attrname, locked(self.func(instance)))",
        "known.setdefault(self.attrname, self.func(instance))",
        "what a property remembers stays writable",
        (FROZEN + "test_nothing_reachable_from_a_frozen_object_can_be_written_to",),
    ),
    Mutant(
        "designer/certified/frozen.py",
        "        self.require_unchanged()\n        logged(",
        "        logged(",
        "a changed object is released from",
        (FROZEN + "test_release_and_ledger_refuse_what_was_changed",),
    ),
    Mutant(
        "designer/files/spec.py",
        "        if asked is None and not signature_path(source).exists():\n",
        "        if asked is None:\n",
        "the signature beside a file is not looked at",
        (SIGNED + "test_every_command_refuses_a_signature_that_does_not_fit",),
    ),
    Mutant(
        "designer/files/spec.py",
        "    if asked is not None:\n",
        "    if False:\n",
        "bytes pass for signed",
        (SIGNED + "test_load_takes_bytes_and_plain_data",),
    ),
    Mutant(
        "designer/cli/options.py",
        '    trusted = None if getattr(options, "release", None) is not None else options.signer\n',
        "    trusted = None\n",
        "the signer that is asked for is not looked at",
        (SIGNED + "test_every_command_asks_for_a_signer",),
    ),
    Mutant(
        "designer/problem/histogram.py",
        "        in_order(dict.fromkeys(histogram, 0), universe)\n",
        "        pass\n",
        "names that are no elements are found when the budget is spent",
        (CHECKED + "test_a_malformed_request_is_refused_by_the_words_of_release_and_costs_nothing",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "        self.check()\n\n        def build",
        "        def build",
        "a malformed request spends its budget",
        (CHECKED + "test_a_malformed_request_is_refused_by_the_words_of_release_and_costs_nothing",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "        if isinstance(error, (Refusal, RuntimeError)) and error.args",
        "        if False and error.args",
        "a refusal does not say that its budget stays spent",
        (CHECKED + "test_what_only_the_entries_tell_is_spent_and_the_message_says_so",),
    ),
    Mutant(
        "designer/accounts/ledger.py",
        "            require_distinct(name, list(standings))\n",
        "",
        "a look-alike gets a budget of its own",
        (NAMED + "test_look_alikes_get_no_budget_of_their_own",),
    ),
    Mutant(
        "designer/accounts/names.py",
        "    if unseen:\n",
        "    if False:\n",
        "names that differ by what cannot be seen have budgets of their own",
        (NAMED + "test_what_cannot_be_seen_is_refused_and_shown_as_its_escape",),
    ),
    Mutant(
        "designer/base/declared.py",
        "                assign(self, **{name: check(value)})\n",
        "                check(value)\n",
        "a field is checked and keeps what was handed in, not what the check made of it",
        (DECLARED + "test_values_are_converted_and_an_heir_checks_what_it_inherits",),
    ),
    Mutant(
        "designer/base/declared.py",
        "if value is not None or not optional:",
        "if value is not None:",
        "None passes unchecked in a field that needs a value",
        (DECLARED + "test_refusals_name_the_field",),
    ),
    Mutant(
        "designer/base/declared.py",
        'for field in fields(kind) if "check" in field.metadata]',
        'for field in fields(kind) if "check" in field.metadata and field.name in vars(kind)["__annotations__"]]',
        "a class does not check the fields that it inherits",
        (DECLARED + "test_values_are_converted_and_an_heir_checks_what_it_inherits",),
    ),
    Mutant(
        "designer/base/declared.py",
        "            value.setflags(write=False)\n",
        "            pass\n",
        "arrays that a constructor adds to a frozen object stay writable",
        (DECLARED + "test_arrays_that_a_constructor_adds_are_read_only",),
    ),
    Mutant(
        "designer/base/schema.py",
        "not isinstance(found, str) or found not in self.entries:",
        "found not in self.entries:",
        "a name that is no text ends a closed list in an error of Python",
        (LISTED + "test_a_name_that_is_not_listed_is_refused_with_field_value_and_remedy",),
    ),
    Mutant(
        "designer/base/schema.py",
        "keys(form) | (all_keys(form) & spec.keys())",
        "keys(form) | spec.keys()",
        "a key that the form of an entry has not is passed over",
        (LISTED + "test_keys_that_the_form_has_not_or_that_are_missing_are_refused",),
    ),
    Mutant(
        "designer/base/schema.py",
        "keys(form) | (all_keys(form) & spec.keys())",
        "all_keys(form) & spec.keys()",
        "a key that the form of an entry needs may be missing",
        (LISTED + "test_a_key_that_is_missing_is_refused_though_none_is_unknown",),
    ),
    Mutant(
        "designer/base/schema.py",
        '"additionalProperties": False,',
        '"additionalProperties": True,',
        "published forms are open to any further key",
        ("tests/base/test_schema.py::test_a_record_needs_its_keys_and_has_no_others",),
    ),
)
