"""An entry of the Differential Privacy Deployments Registry: what the spec, its words, a release and a ledger tell, in the form
that the registry takes, and what nobody told, marked as such.

The form is that of the public records of the registry (opendp/deployments-registry-data), as it was in July 2026; `ENTRY`
states it. docs/guides/exchange.md, section 3.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from designer.accounts.composition.cost_record import Expense, Spent, expense_of, spent
from designer.accounts.dataset_state import Balance, Reserve
from designer.accounts.totals import decimal_text
from designer.base.arrays import Immutable
from designer.base.checks import shown
from designer.base.display import at_least, at_most, in_markdown, one_line
from designer.base.errors import InvalidProblem
from designer.base.schema import exactly, list_of, number, one_of, record, text
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import About, Guarantee, Optimality
from designer.problem.relation import RECORDS_PUBLIC
from designer.problem.workload import Workload
from designer.relations.records.row_unit import RowUnit
from solvers.exact.rational import float_above

# Plain data as YAML of a closed form: blocks of keys, texts in quotes or as literal lines, comments where something is
# unknown.
#
# Nothing that a text holds can end it, begin a key, or be taken for a number, a date or a word of YAML.


@dataclass(frozen=True)
class Unknown:
    """What nobody told: why, in words, and what stands in its place, None where the key is left out."""

    why: str
    value: Any = None


def yaml_text(data: Mapping[str, Any]) -> str:
    """A mapping of names to texts, numbers, lists, mappings and `Unknown` as YAML.

    >>> print(yaml_text({"name": "no", "year": Unknown("when?", "1900"), "size": 1e-6}), end="")
    name: "no"
    # UNKNOWN: when?
    year: "1900"
    size: 1.0e-06
    """
    return "".join(line + "\n" for line in _lines(data, ""))


def known_data(data: Any) -> Any:
    """The same as plain data: what a reader of the YAML gets."""
    if isinstance(data, Mapping):
        told = ((key, value.value if isinstance(value, Unknown) else value) for key, value in data.items())
        return {key: known_data(value) for key, value in told if value is not None}
    return [known_data(item) for item in data] if isinstance(data, (list, tuple)) else data


def unknown_fields(data: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """The path and the reason of everything that is unknown."""
    for key, value in data.items():
        if isinstance(value, Unknown):
            yield place + key, value.why
        elif isinstance(value, Mapping):
            yield from unknown_fields(value, f"{place}{key}.")


def _lines(data: Mapping[str, Any], margin: str) -> Iterator[str]:
    for key, value in data.items():
        if isinstance(value, Unknown):
            yield f"{margin}# UNKNOWN: {one_line(value.why)}"
            if value.value is None:
                yield f"{margin}# {key}:"
                continue
            value = value.value
        yield from _entry(key, value, margin)


def _entry(key: str, value: Any, margin: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield f"{margin}{key}:"
        yield from _lines(value, margin + "  ")
    elif isinstance(value, (list, tuple)):
        yield f"{margin}{key}:"
        yield from (f"{margin}  - {_scalar(item)}" for item in value)
    elif isinstance(value, str) and _literal(value):
        yield f"{margin}{key}: |-"
        yield from (f"{margin}  {line}" for line in value.split("\n"))
    else:
        yield f"{margin}{key}: {_scalar(value)}"


def _literal(text: str) -> bool:
    """Several lines that can stand as they are: none empty, none with spaces at an end, nothing that cannot be seen."""
    lines = text.split("\n")
    return len(lines) > 1 and all(line and line == line.strip() and one_line(line) == line for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return in_double_quotes(value)
    if type(value) is int:
        return str(value)
    if type(value) is float and math.isfinite(value):
        return _number(value)
    raise InvalidProblem(f"value: {shown(value)} is no text and no finite number; YAML of this form has no other.", value=value)


def _number(value: float) -> str:
    """With a point, without which readers of YAML 1.1 take an exponent for a text."""
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    return text if "." in mantissa or not exponent else f"{mantissa}.0e{exponent}"


def in_double_quotes(text: str) -> str:
    """A text in double quotes, with an escape for whatever cannot be seen.

    >>> print(in_double_quotes('a "b": c'))
    "a \\"b\\": c"
    """
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\\n':
        return json.dumps(character)[1:-1]
    if one_line(character) == character and character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 2**8 else f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"


TO_FILL_IN = "TO BE FILLED IN"
NO_DATE = "1900-01-01"  # what the registry's own template has in this place
VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
PRODUCTS = ("Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
NAMED = 8  # elements that the data domain names
ENTRY = record(
    {
        "url_slug": text("^[a-z0-9-]+$"),
        "status": one_of("Draft"),
        "tier": one_of(1, 2, 3),
        "deployment": record(
            {
                "basic": record(
                    {
                        **{key: text() for key in ("name", "intended_use", "data_product_region", "description")},
                        "data_curators": list_of(text()),
                        "data_product_type": one_of(*PRODUCTS),
                        "publication_date": text("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
                    },
                    {"data_product_sector": one_of(*SECTORS)},
                ),
                "administrative": record({"registry_authors": list_of(text())}, {"sources": text(), "notes": text()}),
            },
            {
                "dp_variant": record(
                    {}, {"variant_name": one_of(*VARIANTS), "data_domain": text(), "unprotected_quantities": text()}
                ),
                "privacy_loss": record(
                    {},
                    {
                        "privacy_unit": text(),
                        "privacy_unit_details": text(),
                        "privacy_parameters": record({}, {name: number(least=0) for name in ("epsilon", "delta", "rho")}),
                        "privacy_parameters_details": text(),
                    },
                ),
                "deployment_model": record(
                    {},
                    {
                        "model_name": exactly("Central"),
                        "release_type": one_of("One release", "Many releases"),
                        "access_type": exactly("Non-interactive"),
                        "data_source_type": one_of("Static", "Dynamic"),
                        **{key: text() for key in ("release_type_details", "data_source_type_details", "actors")},
                    },
                ),
                "accounting": record({}, {"post_processing": text(), "composition": text()}),
                "implementation": record(
                    {},
                    {key: text() for key in ("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification")},
                ),
            },
        ),
    },
    note="What this program writes of the registry's records.",
)


@dataclass(frozen=True)
class RegistryEntry(Immutable):
    """One entry. fields: by section and name, as the registry has them, `Unknown` where nobody told."""

    fields: Mapping[str, Any]

    @property
    def unknown(self) -> tuple[tuple[str, str], ...]:
        """The path of every field that nobody told, with what to write there."""
        return tuple(unknown_fields(self.fields))

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what a reader of the YAML gets."""
        found: dict[str, Any] = known_data(self.fields)
        return found

    def to_yaml(self) -> str:
        """The file: comments before what is unknown."""
        return yaml_text(self.fields)


def registry_entry(
    mechanism: FrozenMechanism,
    *,
    about: About | None = None,
    release: Mapping[str, Any] | None = None,
    balance: Balance | None = None,
) -> RegistryEntry:
    """Gather what is known of a deployment of this mechanism. `InvalidProblem` where release or ledger are of another
    mechanism.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    about : words for readers, those of the mechanism unless given.
    release : the plain data of a release file, whose time is the date of publication.
    balance : of the data set in a ledger, which tells how often the mechanism released, and what that cost.
    """
    if not isinstance(mechanism, FrozenMechanism):
        raise InvalidProblem(f"mechanism: {shown(mechanism)} is no frozen object; load a spec, or design one.", value=mechanism)
    if release is not None and release.get("fingerprint") != mechanism.fingerprint:
        raise InvalidProblem("release: was made by another spec; give a release of this one.")
    known = _Known(mechanism, about or mechanism.about, release, _own_reserves(mechanism, balance), balance)
    basic = _basic(known)
    return RegistryEntry(
        {
            "url_slug": _slug(known),
            "status": "Draft",
            "tier": 2,
            "deployment": {
                "basic": basic,
                "dp_variant": _variant(known),
                "privacy_loss": _loss(known),
                "deployment_model": _model(known),
                "accounting": _accounting(known),
                "implementation": _implementation(known),
                "administrative": _administrative(known),
            },
        }
    )


@dataclass(frozen=True)
class _Known:
    """All that there is to tell from."""

    mechanism: FrozenMechanism
    about: About
    release: Mapping[str, Any] | None
    reserves: tuple[Reserve, ...]
    balance: Balance | None

    @cached_property
    def row(self) -> RowUnit | None:
        """What one row was: as the release says, or the last that the ledger records; None where neither says it."""
        if self.release is not None:
            return None if self.release["rows"] is None else RowUnit.from_dict(self.release["rows"])
        return self.reserves[-1].row if self.reserves and self.reserves[-1].row != RowUnit() else None

    @property
    def rows_per_entity(self) -> int | None:
        """How many rows of an entity count; None where nothing bounds them."""
        return None if self.row is None else self.row.rows_per_entity

    @cached_property
    def guarantee(self) -> Guarantee:
        """Sentences of what is promised: by the release, for what one row was."""
        if self.row is None:
            return self.mechanism.guarantee
        made: Any = self.mechanism
        stated: Guarantee = made.guarantee_for(self.row)
        return stated

    @property
    def times(self) -> list[str]:
        """When it was published: by the release, or by the ledger."""
        released = [reserve.entry.content["time"] for reserve in self.reserves if reserve.state == "released"]
        return [self.release["time"]] if self.release is not None else released

    @cached_property
    def cost(self) -> Spent | str:
        """What the deployment costs: all its releases of the ledger, or one; or the reason why there is no such number."""
        try:
            expenses: Sequence[Expense] = [r.expense for r in self.reserves] or [
                expense_of(self.mechanism, rows_per_entity=self.rows_per_entity)
            ]
            return spent(expenses)
        except InvalidProblem as refusal:
            return str(refusal)


def _own_reserves(mechanism: FrozenMechanism, balance: Balance | None) -> tuple[Reserve, ...]:
    if balance is None:
        return ()
    own = tuple(reserve for reserve in balance.reserves if reserve.expense.fingerprint == mechanism.fingerprint)
    if not own:
        raise InvalidProblem(
            f"ledger: has no release of this spec under the data set {shown(balance.name)}; name the one that was released "
            "from."
        )
    return own


def for_field(words: object) -> str:
    """Words fit for a field: nothing in them is taken for Markdown, and backslashes are entities, as the registry asks."""
    return in_markdown(words).replace("\\\\", "&#92;")


def _items(lines: Sequence[str]) -> str:
    """One line, or a list."""
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def _slug(known: _Known) -> str:
    words = re.findall("[a-z0-9]+", f"{known.about.title} {known.about.publisher}".lower())
    return "-".join([*words[:10], known.mechanism.fingerprint[:12]])


def _basic(known: _Known) -> dict[str, Any]:
    about, times = known.about, known.times
    synthetic = getattr(known.mechanism, "synthetic", False)  # does it release data that are made up?
    return {
        "name": for_field(about.title) if about.title else Unknown("the name of the data product", TO_FILL_IN),
        "data_curators": [for_field(about.publisher)] if about.publisher else Unknown("who publishes", [TO_FILL_IN]),
        "intended_use": Unknown("what the data product is for", TO_FILL_IN),
        "data_product_type": "Synthetic data" if synthetic else "Summary statistics",
        "data_product_region": Unknown("the region that the data describe", TO_FILL_IN),
        "description": _items(list(_description(known))),
        "publication_date": times[0][:10] if times else Unknown("the date of publication, YYYY-MM-DD", NO_DATE),
        "data_product_sector": Unknown(f"one of {', '.join(SECTORS)}"),
    }


def _description(known: _Known) -> Iterator[str]:
    about, asked = known.about, getattr(known.mechanism, "workload", None)
    if about.data:
        yield f"Data: {for_field(about.data)}"
    if about.period:
        yield f"Period: {for_field(about.period)}"
    if isinstance(asked, Workload):
        yield f"Noisy answers to {asked.shape[0]} linear queries of the counts of records by {asked.shape[1]} elements."
    else:
        yield f"A release of the kind {for_field(known.mechanism.format)}."


def _variant(known: _Known) -> dict[str, Any]:
    asked = getattr(known.mechanism, "workload", None)
    domain: Any = Unknown("actual, potential or counterfactual data that are protected")
    if isinstance(asked, Workload):
        more = f" and {len(asked.elements) - NAMED} more" if len(asked.elements) > NAMED else ""
        domain = f"Any counts of records by these elements: {', '.join(map(for_field, asked.elements[:NAMED]))}{more}."
    return {
        "variant_name": _variant_name(known),
        "data_domain": domain,
        "unprotected_quantities": _items([for_field(line) for line in known.guarantee.unprotected] or ["None."]),
    }


def _variant_name(known: _Known) -> str:
    """The common name where all changes of one record are protected by the same kind of number; Custom elsewhere."""
    cost = known.cost
    apart = [line for line in known.guarantee.unprotected if line != RECORDS_PUBLIC]
    if isinstance(cost, str) or apart or cost.records != 1 or known.mechanism.vacuous:
        return "Custom"
    return {"pure": "Pure DP", "zcdp": "Zero-concentrated DP", "approximate": "Approximate DP"}.get(_notion(cost), "Custom")


def _loss(known: _Known) -> dict[str, Any]:
    cost, statement = known.cost, known.guarantee
    told = for_field(known.about.record)
    if known.rows_per_entity is not None:
        assert known.row is not None
        said = f", a row said to be: {told}" if told else ""
        unit = f"All rows with one value of {for_field(known.row.entity)}, of which at most {known.rows_per_entity} count{said}"
    else:
        unit = f"One row, said to be: {told}" if told else "One row"
    details = [statement.unit, statement.relation, statement.notion]
    if isinstance(cost, str):
        parameters: Any = Unknown(f"no single number holds for all changes ({cost})")
        numbers = "No single number holds for all changes; the relation says what each costs."
    else:
        parameters, numbers = _parameters(cost), f"For the change that costs most: {cost.unit}."
    return {
        "privacy_unit": unit if isinstance(cost, str) else f"{unit} ({for_field(cost.unit)})",
        "privacy_unit_details": _items([for_field(line) for line in details]),
        "privacy_parameters": parameters,
        "privacy_parameters_details": _items([for_field(numbers), *map(for_field, _ranges(statement))]),
    }


def _notion(cost: Spent) -> str:
    """The notion in which all that was released is stated; none of the three where zCDP has a delta, or stands beside one."""
    notions = {expense.notion for expense in cost.expenses}
    if {"approximate", "zcdp"} <= notions or any(expense.notion == "zcdp" and expense.delta for expense in cost.expenses):
        return "other"
    return next(notion for notion in ("approximate", "zcdp", "pure") if notion in notions)


def _parameters(cost: Spent) -> Any:
    """Numbers of the notion, rounded up."""
    notion, approximate, concentrated = _notion(cost), cost.approximate, cost.approximate_rho
    if notion == "pure" and cost.epsilon is not None:
        return {"epsilon": float_above(cost.epsilon)}
    if notion == "zcdp" and cost.rho is not None:
        return {"rho": float_above(cost.rho)}
    if notion == "approximate" and approximate is not None:
        return {"epsilon": float_above(approximate[0]), "delta": float_above(approximate[1])}
    if concentrated is not None:
        return {"rho": float_above(concentrated[0]), "delta": float_above(concentrated[1])}
    return Unknown("the cost is of a kind that this form does not hold")


def _ranges(statement: Guarantee) -> Iterator[str]:
    """Budgets that differ between changes."""
    least, most = (statement.parameters.get(name) for name in ("smallest_budget", "largest_finite_budget"))
    if least is not None and most is not None and least != most:
        yield f"Budgets of single changes run from {least!r} to {most!r}."


def _model(known: _Known) -> dict[str, Any]:
    count = len(known.reserves)
    kind = "Many releases" if count > 1 else "One release"
    once = Unknown("One release or Many releases: no release and no ledger was given")
    found: dict[str, Any] = {
        "model_name": "Central",
        "release_type": kind if count or known.release is not None else once,
        "data_source_type": Unknown("Static or Dynamic"),
        "access_type": "Non-interactive",
        "actors": Unknown("who sees the data, and what they are trusted for"),
    }
    if count:
        found["release_type_details"] = (
            f"A ledger records {count} of this mechanism, from {for_field(known.times[0])} on."
            if (known.times)
            else "A ledger records that its budget is reserved."
        )
    return found


def _accounting(known: _Known) -> dict[str, Any]:
    lines = [for_field(known.guarantee.post_processing)]
    if known.balance is not None:
        lines.append(for_field(_account(known.balance)))
    return {"post_processing": Unknown("what was computed from the release afterwards"), "composition": _items(lines)}


def _account(balance: Balance) -> str:
    """The whole data set in a line."""
    used = balance.total.measured(balance.spent.total)
    reached = "not in its terms" if used is None else decimal_text(used)
    return (
        f"A ledger adds up all {len(balance.reserves)} releases of the data set {balance.name!r} and refuses what exceeds its "
        f"total ({balance.total.to_text()}); spent of that number: {reached}."
    )


def _implementation(known: _Known) -> dict[str, Any]:
    statement, optimality = known.guarantee, known.mechanism.optimality
    lines = [
        statement.mechanism,
        f"Sampling: {statement.sampling}",
        f"Numbers: {statement.floating_point}",
        f"Time: {statement.timing}",
        f"Software: {statement.software}; the guarantee is recomputed from the spec file alone.",
        f"Fingerprint of the spec (SHA-256): {statement.fingerprint}",
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": Unknown("what was done before, and how its privacy loss was accounted for"),
        "mechanisms": _items([for_field(line) for line in lines]),
        "justification": Unknown("why these choices were made", None if optimality is None else _optimal(optimality)),
    }


def _optimal(note: Optimality) -> str:
    """What is known of the choice of the noise; that of the budgets is for people to say."""
    claim = f"The noise has the least {note.objective}: {at_most(note.value)}, and no design of its family is below "
    return for_field(f"{claim}{at_least(note.lower_bound)} ({note.method}).")


def _administrative(known: _Known) -> dict[str, Any]:
    contact = [f"Questions: {for_field(known.about.contact)}"] if known.about.contact else []
    seal = [] if known.release is None else [f"Seal of the release file: {for_field(known.release.get('seal'))}"]
    notes = ["Written by dp-designer from what the spec proves; words on title, data and publisher are the maker's."]
    return {
        "sources": Unknown("papers, pages, or the data product itself"),
        "notes": _items([*notes, *contact, *seal]),
        "registry_authors": Unknown("who filled this in", [TO_FILL_IN]),
    }
