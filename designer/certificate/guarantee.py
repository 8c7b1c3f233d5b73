"""What is promised, in words and numbers, complete enough to be read without the program; and what is claimed beside it: how
near the noise is to the least, and which family proposed it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from html import escape
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from designer.base.checks import assign, meant, shown
from designer.base.display import one_line, printed
from designer.base.errors import InvalidProblem, InvalidSpec, UntrueBound
from designer.base.schema import COUNT, HASH, Named, Schema, keys, list_of, noted, number, or_null, record, text
from designer.base.version import VERSION
from designer.limits import LONGEST_ABOUT, MOST_QUERY_NAME_CHARACTERS, MOST_STATED_UNITS, MOST_UNIT_CHARACTERS
from designer.problem.reading import READING, UNSAID, Reading
from designer.problem.relation import Relation
from solvers.solution import relative_gap

POST_PROCESSING = (
    "Anything computed from a release alone keeps the guarantee. Budgets of several releases about the same records add up "
    "pair by pair (pure) or in squares (gaussian)."
)
ESTIMATED = (
    "Anything computed from a release alone keeps the guarantee. Of several releases nothing is claimed here, because how far "
    "the law of the noise is from the one stated is an estimate."
)
TRADEOFFS_MULTIPLY = (
    "Anything computed from a release alone keeps the guarantee. Several releases about the same records keep the tensor "
    "product of their tradeoff functions, change by change."
)
TIMING = (
    "Noise is drawn in batches by table look-up; the time of a draw may depend on the noise and is not covered. The guarantee "
    "does not cover attackers who can time single releases precisely."
)
FLOATING_POINT = (
    "Every answer is an integer multiple of a step fixed at design time; answers before noise are summed in exact integers. "
    "The float returned is computed from that integer alone."
)

SOFTWARE = "dp-designer [0-9a-z.+]{1,40}"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The statement that goes with every spec, release and report. All fields are sentences or plain data.

    Sentences hold names that files chose: they are kept as `printed` writes them, so that none begins a line of its own.
    unit: who is protected. relation: what may change, with which budgets. unprotected: what has none, or is published exactly.
    notion: what a budget promises. parameters: its numbers. mechanism, sampling, floating_point: the law of the noise, how it
    is drawn, and what of it is rounded. timing, post_processing: what is excluded, and what stays true. software, fingerprint:
    what made it, and of which frozen object it speaks.
    """

    unit: str
    relation: str
    unprotected: tuple[str, ...]
    notion: str
    parameters: Mapping[str, float | int | None]
    mechanism: str
    sampling: str
    floating_point: str
    timing: str
    post_processing: str = POST_PROCESSING
    software: str = f"dp-designer {VERSION}"
    fingerprint: str
    schema = Named(
        "guarantee",
        record(
            {
                "unit": text(),
                "relation": text(),
                "unprotected": list_of(text(), least=0),
                "notion": text(),
                "parameters": noted("Numbers of the promise; which ones depends on the format.", {}),
                "mechanism": text(),
                "sampling": text(),
                "floating_point": text(),
                "timing": text(),
                "post_processing": text(),
                "software": text(f"^{SOFTWARE}$"),
                "fingerprint": HASH,
            }
        ),
    )

    def __post_init__(self) -> None:
        assign(self, unprotected=tuple(map(printed, self.unprotected)))
        for part in fields(self):
            if isinstance(words := getattr(self, part.name), str):
                assign(self, **{part.name: printed(words)})

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a spec."""
        held = {part.name: getattr(self, part.name) for part in fields(self)}
        return {**held, "unprotected": list(self.unprotected), "parameters": dict(self.parameters)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """From the plain data of a spec; every field must be there and none other."""
        known = keys(cls.schema)
        if set(data) != known:
            raise InvalidSpec(f"guarantee: has keys {sorted(data)}; a statement has exactly {sorted(known)}.")
        return cls(**{**data, "unprotected": tuple(data["unprotected"])})

    @property
    def not_protected(self) -> str:
        """What is not protected, in words."""
        return " ".join(self.unprotected) or "Nothing is published without noise."

    def to_text(self) -> str:
        """A page to read."""
        return "\n".join(f"{name + ':':15}{text}" for name, text in self._sentences())

    def _repr_html_(self) -> str:
        """What notebooks show: the same as a table."""
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in self._sentences())
        return f"<div><p><strong>Guarantee</strong></p><table><tbody>{rows}</tbody></table></div>"

    def _sentences(self) -> list[tuple[str, str]]:
        """Each part under its name."""
        budget = ", ".join(f"{printed(name.replace('_', ' '))} {value!r}" for name, value in self.parameters.items())
        return [
            ("Protects", self.unit),
            ("Relation", self.relation),
            ("Budgets", budget),
            ("Notion", self.notion),
            ("Not protected", self.not_protected),
            ("Mechanism", self.mechanism),
            ("Sampling", self.sampling),
            ("Numbers", self.floating_point),
            ("Time", self.timing),
            ("Afterwards", self.post_processing),
            ("Software", self.software),
            ("Fingerprint", self.fingerprint),
        ]


NOTIONS = {
    "exponential": (
        "Pure dX-privacy: for every protected change with budget b, every set of outputs has probabilities within a factor "
        "exp(b) (DX Definition 2; with one budget for all changes this is epsilon-differential privacy)."
    ),
    "gaussian": (
        "Zero-concentrated dX-privacy: for every protected change with budget b, the Renyi divergence of order alpha is at "
        "most alpha b^2 / 2, that is b^2/2-zCDP for the change (in the continuous limit b-Gaussian differential privacy)."
    ),
}

APPROXIMATE = (
    "Approximate dX-privacy: for every protected change with budget b, every set of outputs has probabilities P and P' with "
    "P <= exp(b) P' + delta, delta = {delta!r}. It holds change by change: the budgets of changes that follow one another do "
    "not add up under one delta."
)


RATIO = Named("ratio", or_null(number(least=0, most=1)))
BUDGET_OR_NONE = Named("budget_or_none", or_null(number(least=0)))
# What guarantees say in numbers: of the budgets of any relation, and of what changes,
# components of a metric or records of an invariant.
BUDGET_RANGE = {"smallest_budget": BUDGET_OR_NONE, "largest_finite_budget": BUDGET_OR_NONE, "worst_ratio": RATIO}
CHANGING = {"connected_components": COUNT, "adjacency": COUNT}


def budget_range(relation: Relation) -> tuple[float | None, float | None]:
    """Smallest and largest finite budget of a relation; None where there is none."""
    # Implied pairs are longer than those that imply them: the blocks know the smallest budget, not the largest.
    least = relation.least_budget()
    return (None, None) if np.isinf(least) else (least, relation.largest_budget())


def bounded(objective: str, value: float, lower_bound: float, method: str, rounding: float = 0.0) -> Optimality:
    """The claim that a value is at least its bound. A bound above the value by up to `rounding` is the value, by more an
    `UntrueBound`: then one of them is wrong, and nothing that rests on either may be shown."""
    if not lower_bound <= value + rounding:
        raise UntrueBound(
            f"optimality: the bound {lower_bound!r} exceeds the value {value!r} that was reached by more than rounding, "
            f"{rounding!r}; this is an error of the program."
        )
    return Optimality(objective, value, min(lower_bound, value), method)


@dataclass(frozen=True)
class Optimality:
    """`value` of the objective at the design, and `lower_bound` that no design of the same family can beat.

    `objective` says what is minimised, `method` how the bound was found. `gap = (value - lower_bound) / value`. verified:
    computed here; False for the note of a file, which nothing recomputes and anybody may have written.
    """

    objective: str
    value: float
    lower_bound: float
    method: str
    verified: bool = field(default=True, compare=False)
    schema = Named(
        "optimality",
        record(
            {"objective": text(), "value": number(least=0), "lower_bound": number(least=0), "method": text()},
            note="A note: loading neither believes nor recomputes it.",
        ),
    )

    def __post_init__(self) -> None:
        for name in ("objective", "method"):
            assign(self, **{name: printed(getattr(self, name))})

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a spec, where every claim of optimality is a note."""
        return {"objective": self.objective, "value": self.value, "lower_bound": self.lower_bound, "method": self.method}

    @property
    def gap(self) -> float:
        """Relative gap; infinite when no bound is known, as after loading."""
        return relative_gap(self.value, self.lower_bound) if self.verified else math.inf


CUSTOM = "custom"  # a mechanism made by hand, or by a family of one's own

AdditiveFamily = Literal[
    "laplace",
    "projected_laplace",
    "k_norm",
    "ellipsoid",
    "box",
    "bundles",
    "capped_l1",
    "strategy_laplace",
    "strategy_gaussian",
    "strategy_geometric",
    "hierarchy",
    "laplace_joint",
    "k_norm_joint",
    "gaussian_joint",
    "gaussian",
    "diagonal_gaussian",
    "isotropic_gaussian",
    "l2_ball",
    "strategy_1",
    "strategy_2",
    "strategy_3",
    "uniform_budget",
    "group_laplace",
    "group_l2_ball",
    "group_box",
    "group_gaussian",
]
LatticeFamily = Literal["lattice_laplace", "lattice_gaussian", "lattice_rows"]
RowFamily = Literal["lattice_rows"]
StaircaseFamily = Literal["staircase", "by_moves", "truncated_geometric"]

ADDITIVE_FAMILIES = frozenset({*get_args(AdditiveFamily), "subspace_laplace", "subspace_gaussian", "separable", CUSTOM})
LATTICE_FAMILIES = frozenset({*get_args(LatticeFamily), CUSTOM})
ROW_FAMILIES = frozenset({*get_args(RowFamily), CUSTOM})
STAIRCASE_FAMILIES = frozenset({*get_args(StaircaseFamily), CUSTOM})
HIERARCHY_FAMILIES = frozenset({"hierarchy", CUSTOM})


def require_family(family: object, known: frozenset[str]) -> None:
    """Refuse any other name than those of `known`."""
    if not isinstance(family, str) or family not in known:
        raise InvalidProblem(
            f'family: {shown(family)} is unknown; use one of {sorted(known)}, "{CUSTOM}" for noise of your own.', value=family
        )


# What the maker says a mechanism is for: title, data, period, who publishes and answers, what one record is, units.
#
# Words for readers. They travel with the object from the problem file into its spec, its releases and its report; they decide
# nothing, no fingerprint has them, and nobody proves them.


ALL = "*"  # in `units`: every answer that has none of its own
UNITS_SHOWN = 6
NOTES = {
    "title": "What is published, in a line.",
    "data": "The data that it is made from.",
    "period": "The time that the data speak of.",
    "publisher": "Who publishes.",
    "contact": "Where questions go.",
    "record": "What one record of the data is said to be. Whether one has several is bounded by `--entity` alone.",
}
SAID_OF = {"record": "One row is said to be"}


def _words(longest: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": longest}


UNITS: Schema = noted(
    f'What answers are counted in, by the names of their queries; "{ALL}" stands for all that are not named.',
    {
        "type": "object",
        "minProperties": 1,
        "maxProperties": MOST_STATED_UNITS,
        "propertyNames": {"minLength": 1, "maxLength": MOST_QUERY_NAME_CHARACTERS},
        "additionalProperties": _words(MOST_UNIT_CHARACTERS),
    },
)

SAID = Named(
    "about",
    record(
        {},
        {
            **{name: noted(NOTES[name], _words(longest)) for name, longest in LONGEST_ABOUT.items()},
            "units": UNITS,
            "records": READING,
        },
        note="Stated by the publisher for readers: not verified, and part of no fingerprint.",
        minProperties=1,
    ),
)


@dataclass(frozen=True)
class About:
    """Notes of the maker for readers, each one line of text, empty where nothing is said.

    title: what is published. data: what it is made from. period: the time that the data speak of. publisher, contact: who
    publishes, and where questions go. record: what one record is. units: what answers are counted in, by the names of their
    queries. `"*"` is for every answer that is not named, and a text stands for `{"*": text}`. records: how a file of records is
    read, and whose they are, a `Reading` or its plain data.

    Nothing of this is proven, and none of it may come from confidential data. Raises `InvalidProblem` for what is no text, too
    long, or holds characters that cannot be seen.

    >>> made = About("Commuters", units={"*": "persons", "share": "percent"})
    >>> made.unit("north"), made.unit("share"), bool(made), bool(About())
    ('persons', 'percent', True, False)
    """

    title: str = ""
    data: str = ""
    period: str = ""
    publisher: str = ""
    contact: str = ""
    record: str = ""
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    records: Reading = UNSAID
    schema: ClassVar[Named] = SAID

    def __post_init__(self) -> None:
        for name, longest in LONGEST_ABOUT.items():
            _require_line(getattr(self, name), f"about.{name}", longest)
        records = self.records if isinstance(self.records, Reading) else Reading.of(self.records, "about.records")
        assign(self, units=MappingProxyType(_units(self.units)), records=records)

    def __bool__(self) -> bool:
        """Is anything said?"""
        return any(getattr(self, each.name) for each in fields(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _about, (self.to_dict(),)

    def unit(self, query: str) -> str:
        """What the answer to a query is counted in; empty where that is not said.

        query: its name.
        """
        return self.units.get(query) or self.units.get(ALL, "")

    def lines(self) -> list[str]:
        """What is said beside the title, fit to print: a line for each, with its name."""
        said = [(SAID_OF.get(name, name.capitalize()), getattr(self, name)) for name in LONGEST_ABOUT if name != "title"]
        said += [("Units", self._unit_words()), *((f"Codes of {name}", words) for name, words in self.records.legend())]
        return [f"{printed(head)}: {printed(words)}" for head, words in said if words]

    def heading(self) -> list[str]:
        """The title underlined, and `lines`; empty where nothing is said."""
        title = printed(self.title)
        return [*([title, "=" * len(title)] if title else []), *self.lines()]

    def _unit_words(self) -> str:
        named = [f"{query} in {unit}" for query, unit in self.units.items() if query != ALL]
        listed = named[:UNITS_SHOWN] + ([f"{len(named) - UNITS_SHOWN} more"] if len(named) > UNITS_SHOWN else [])
        rest = [f"all others in {self.units[ALL]}" if named else self.units[ALL]] if ALL in self.units else []
        return ", ".join([*listed, *rest])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is said, and nothing else."""
        said = {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name)}
        said |= {"units": dict(self.units)} if self.units else {}
        return {**said, "records": self.records.to_dict()} if self.records else said

    @classmethod
    def from_dict(cls, given: object) -> About:
        """From plain data that say something; a key that there is not, and an empty text, are refused."""
        known = [each.name for each in fields(cls)]
        if not isinstance(given, Mapping) or not given:
            raise InvalidProblem(f"about: {shown(given)} says nothing; give some of the keys {known}.", value=given)
        for key, value in given.items():
            if key not in known:
                raise InvalidProblem(f"about.{one_line(str(key))[:40]}: is unknown; {meant(key, known)}the keys are {known}.")
            if not value:
                raise InvalidProblem(f"about.{key}: {shown(value)} says nothing; leave the key out.", value=value)
        return cls(**given)

    def require_units_of(self, queries: Iterable[str]) -> None:
        """Refuse a unit of a query that there is not."""
        wanted = set(self.units) - {ALL}
        if unknown := sorted(wanted - set(queries)) if wanted else []:
            known = list(queries)
            raise InvalidProblem(
                f"about.units: {shown(unknown[0])} is the name of no query; {meant(unknown[0], known)}the queries are "
                f"{shown(known)}, and {ALL!r} stands for all.",
                value=unknown[0],
            )


def _about(said: dict[str, Any]) -> About:
    return About(**said)


def _units(given: object) -> dict[str, str]:
    """Units by name, checked."""
    named = {ALL: given} if isinstance(given, str) and given else given
    if not isinstance(named, Mapping):
        raise InvalidProblem(
            f"about.units: {shown(given)} is no text and no mapping; give 'persons' or {{'total': 'persons'}}.", value=given
        )
    if len(named) > MOST_STATED_UNITS:
        raise InvalidProblem(
            f"about.units: has {len(named)} entries; give at most {MOST_STATED_UNITS}, and {ALL!r} for all others."
        )
    for name, unit in named.items():
        _require_line(unit, f"about.units[{shown(name)}]", MOST_UNIT_CHARACTERS, least=1)
        if not isinstance(name, str) or not 1 <= len(name) <= MOST_QUERY_NAME_CHARACTERS:
            raise InvalidProblem(
                f"about.units: {shown(name)} is no name of a query; give a text of 1 to {MOST_QUERY_NAME_CHARACTERS} "
                "characters.",
                value=name,
            )
    return dict(named)


def _require_line(value: object, field: str, longest: int, least: int = 0) -> None:
    """Refuse anything but one line of text that can be seen whole."""
    if not isinstance(value, str):
        raise InvalidProblem(f"{field}: {shown(value)} is no text; give one line.", value=value)
    if not least <= len(value) <= longest:
        raise InvalidProblem(f"{field}: {shown(value)} has {len(value)} characters; give {least} to {longest}.", value=value)
    if one_line(value) != value:
        raise InvalidProblem(
            f"{field}: {shown(value)} holds a line break or a character that cannot be seen; write it in one line with "
            "plain spaces.",
            value=value,
        )


NOTHING = About()
