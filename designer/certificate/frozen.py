"""Frozen objects that a spec file holds whole: what they do, what they promise, and how they are recomputed from plain data.

And the kinds of them, as the rest of the house knows each: a value that names its parts, wherever they live, as entry points
are named, `module:name`. A part is imported when it is first asked for: so a kind can name its page or its pictures, which live
above it, and who loads a spec imports neither. `designer.files.kinds` lists all kinds there are.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property, singledispatch
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, answer_lines, has_errors
from designer.base.arrays import Floats, Immutable, ReadOnlyParts, freeze
from designer.base.checks import shown
from designer.base.display import HEAD, Displayed, in_markdown, printed, terminal_width, wrapped
from designer.base.errors import InvalidProblem
from designer.base.json_text import canonical, canonical_text, plain, readable_text
from designer.base.lazy_imports import at_address
from designer.base.output import write_whole
from designer.base.progress_line import logged
from designer.base.schema import Named, Schema
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.guarantee import NOTHING, About, Guarantee, Optimality
from designer.sampling.entropy import Entropy, SystemEntropy

Takes = Literal["histogram", "records"]
NOTES = ("optimality", "provenance", "about")  # decide nothing, and may be replaced
HALF_UNIT = 0.5  # of a standard deviation
CHANGED = (
    "mechanism: was changed in this process after it was certified, so its guarantee may not hold; load its spec, or design "
    "it, again. Nothing was released."
)


class Released(Protocol):
    """What every release is: plain data on request, with the guarantee it carries and the fingerprint of what made it."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about this release."""

    @property
    def fingerprint(self) -> str:
        """That of the mechanism."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """Its numbers as tables, with standard errors and intervals; none where a choice was released, and no number."""


@dataclass(frozen=True)
class SpecForm:
    """The schemas of what a spec of one format holds.

    core: of `core()`. parameters: of the numbers in the guarantee. certificate: of `privacy`. rules: what such a spec must keep
    besides, in words of JSON Schema.
    """

    core: Named
    parameters: Named
    certificate: Named = PrivacyCertificate.schema
    rules: Schema = field(default_factory=dict)


class _Certified(ReadOnlyParts):
    """Objects that remember which parts their constructor certified."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        certified = {name: part for name, part in vars(made).items() if name not in NOTES}
        object.__setattr__(made, "_certified", MappingProxyType(certified))
        return made


class FrozenMechanism(Immutable, Displayed, metaclass=_Certified):
    """A mechanism of any kind that can be saved, loaded and verified; subclasses are frozen dataclasses.

    takes: what it releases from, the first preferred: counts of the universe elements, or records. `privacy` is the certificate
    of construction, a dataclass of plain values. Two of them are equal when they do the same: their fingerprints, hashes of
    `core()`, agree. `optimality`, `provenance` and `about` are notes that travel with the object and decide nothing.
    """

    format: ClassVar[str]
    spec_form: ClassVar[SpecForm]
    takes: ClassVar[tuple[Takes, ...]] = ("histogram",)
    privacy: Any
    allow_vacuous: bool = False
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = MappingProxyType({})
    about: About = NOTHING  # words of the maker for readers
    _certified: ClassVar[Mapping[str, Any]]  # of each object

    @abstractmethod
    def core(self) -> dict[str, Any]:
        """Everything that decides what the object does, as plain data."""

    def _require_listed(self) -> None:
        """Refuse to be written where a part is of a class of the caller, which no reader would know."""
        return

    @classmethod
    @abstractmethod
    def from_core(cls, core: Mapping[str, Any]) -> Self:
        """The object from the plain data of a file, validated and certified anew; a `ValueError` says what cannot be."""

    @abstractmethod
    def verify(self) -> Any:
        """The privacy certificate, recomputed."""

    @abstractmethod
    def release(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> Any:
        """Publish answers about confidential data, counts or records as their type says. Spends the budget once.

        What comes back is a `Released` of the kind of this mechanism: of linear queries a `designer.Release`.
        unit, entity, rows_per_entity: what one row of records is; see `designer.relations.records.row_unit.RowUnit`.
        """

    def check(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        """Refuse what `release` refuses for its form, with the same words: the kind of object, its shape, its names, and
        entries of counts that are no counts. Nothing is spent. No entry of records is looked at, and the counts of every data
        set pass that is as public as stated, so the answer tells of no record.

        Raises `InvalidProblem` for that, and where this object itself cannot release, such as after a part of it was changed.
        """
        require_unchanged(self)

    @abstractmethod
    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> Any:
        """`size` draws, stamped as a simulation that is not private: of the noise, where the data do not decide its law, else
        of what would be released for `data`, which are PUBLIC or invented. `InvalidProblem` where data are missing, or have no
        part in it."""

    def _display_facts(self) -> Mapping[str, object]:
        """Its family, the sizes of what it was asked, and the fingerprint."""
        asked, queries = getattr(self, "workload", None), getattr(self, "queries", None)
        sizes = asked._display_facts() if isinstance(asked, Displayed) else {}
        sizes = {"queries": len(queries)} if isinstance(queries, (list, tuple)) else sizes
        return {"family": getattr(self, "family", None), **sizes, "fingerprint": self.fingerprint[:HEAD]}

    @cached_property
    def guarantee(self) -> Guarantee:
        """The statement of what is promised, written once: it follows from the frozen parts."""
        return self._statement()

    @abstractmethod
    def _statement(self) -> Guarantee:
        """What `guarantee` remembers."""

    @property
    def exact(self) -> tuple[str, ...]:
        """The names of the answers that are published without any noise."""
        return ()

    @property
    def biased(self) -> dict[str, float]:
        """By query, of the answers that are biased, not only noisy: by how much each record may move one more, or less, than
        its query says. Errors and margins are those of the noise alone."""
        return {}

    @cached_property
    def vacuous(self) -> str | None:
        """Why the promise hides nothing, in words; None where it hides something."""
        return None

    def _require_substance(self) -> None:
        """Refuse an object that hides nothing, unless that was asked for by name."""
        if type(self.allow_vacuous) is not bool:
            raise InvalidProblem(
                f"allow_vacuous: {shown(self.allow_vacuous)} is neither True nor False.", value=self.allow_vacuous
            )
        if self.vacuous and not self.allow_vacuous:
            raise InvalidProblem(
                f"mechanism: hides nothing: {self.vacuous}; give some change that moves an answer a finite budget, or pass "
                "allow_vacuous=True if that is meant."
            )

    @property
    def _flag(self) -> dict[str, bool]:
        """What a core says about an object that hides nothing; nothing about any other."""
        return {"vacuous": True} if self.vacuous else {}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that decides what the object does; equal fingerprints mean equal mechanisms."""
        return hashlib.sha256(canonical(self.core())).hexdigest()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self) and self.fingerprint == other.fingerprint
            if isinstance(other, FrozenMechanism)
            else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def annotated(self, provenance: Mapping[str, Any], optimality: Optimality | None = None) -> Self:
        """The same object with a note on how it was made, and on how good it is.

        Nothing that the certificate reads changes, so it is not computed again.
        """
        return self._twin(provenance=dict(provenance), optimality=optimality or self.optimality)

    def described(self, about: About) -> Self:
        """The same object with words for readers, in the place of any that it has: title, data, units and the like.

        They go with it into its spec, its releases and its report, decide nothing, and are no part of the fingerprint. Raises
        `InvalidProblem` for a unit of an answer that there is not, where answers have names of their own.
        """
        if not isinstance(about, About):
            raise InvalidProblem(f"about: {shown(about)} is no About; give About(title=...) of designer.", value=about)
        if (names := named_answers(self)) is not None:
            about.require_units_of(names)
        return self._twin(about=about)

    def __reduce__(self) -> tuple[Any, ...]:
        rebuilt = super().__reduce__()
        return (*rebuilt, {"about": self.about}) if self.about else rebuilt

    def _twin(self, **notes: Any) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__ | freeze(notes))
        return twin

    def _release_entropy(self) -> Entropy:
        """The random bits of a release, for this object as it was certified; see `require_unchanged`."""
        require_unchanged(self)
        logged("drawing a release from %s", self.fingerprint)
        return SystemEntropy()

    def save(self, path: str | Path) -> Path:
        """Write the spec, one JSON file, whole or not at all: a regular file of that name is replaced,
        anything else is refused."""

        return save(self, Path(path))


# What other rooms ask of a frozen object. A kind that has more to say registers its answer beside its class.


def require_unchanged(mechanism: FrozenMechanism) -> None:
    """`InvalidProblem` where an attribute of an object, such as its noise, is another than the certified one: what it draws
    would then not be what the guarantee speaks of. Parts are compared by identity, since none can be written to."""
    if any(vars(mechanism).get(name) is not part for name, part in mechanism._certified.items()):
        raise InvalidProblem(CHANGED)


def warning(mechanism: FrozenMechanism) -> tuple[str, ...]:
    """The sentence that goes before everything that is said about an object that hides nothing; none for any other."""
    return (f"WARNING: this hides nothing: {mechanism.vacuous}.",) if mechanism.vacuous else ()


@singledispatch
def named_answers(mechanism: FrozenMechanism) -> tuple[str, ...] | None:
    """The names of all answers, which units are stated for; None where they are not all written out."""
    return None


@singledispatch
def answer_layout(mechanism: FrozenMechanism) -> Sequence[AnswerTable] | None:
    """The tables of its releases, in the order in which `noise_in_answers` draws, with 0 for each answer; None where the groups
    are not known before, or where no noise is drawn."""
    return None


@singledispatch
def rate_of_left_out(mechanism: FrozenMechanism) -> Fraction | None:
    """The rate of the discrete Laplace noise in the number of rows of entities that do not count; None where it is public, or
    where nothing is released from records."""
    return None


@singledispatch
def stated_guarantee(mechanism: FrozenMechanism) -> Guarantee:
    """What is promised to the entity that the problem file names; to a record where it names none."""
    return mechanism.guarantee


@singledispatch
def stated_budgets(mechanism: FrozenMechanism) -> tuple[str, Floats | None]:
    """For objects whose budgets are not those of a relation: of what they are, and the budgets, (n,); None elsewhere."""
    return "", None


@singledispatch
def below_by_noise(mechanism: FrozenMechanism, table: AnswerTable) -> NDArray[np.bool_]:
    """Which answers of a table of a release, (G,), have no bias and are below 0 by their noise alone, because without it they
    cannot be; none where nothing is known of it."""
    return np.zeros(len(table.answers), dtype=bool)


@singledispatch
def deviations_in_units(mechanism: FrozenMechanism) -> Iterable[tuple[str, float]]:
    """Answers that may be whole numbers, or tables of such, by name, each with the least standard deviation of its noise in
    units that rounding would find; none where an object has no such answers."""
    return ()


@singledispatch
def settle_claim(mechanism: FrozenMechanism, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """A file's certificate `claimed`, with what may honestly differ between machines replaced by the `proven` values."""
    return claimed


@singledispatch
def certificate_words(mechanism: FrozenMechanism) -> str:
    """The certificate in a line for each of its values, and the fingerprint."""
    return "\n".join([*_proven_lines(mechanism), f"Fingerprint {mechanism.fingerprint}"])


def _proven_lines(mechanism: FrozenMechanism) -> list[str]:
    return list(map(printed, mechanism.privacy.lines()))


@singledispatch
def summary_lines(mechanism: FrozenMechanism) -> list[str]:
    """What an object does, with its fingerprint, and what proves it, for the terminal."""
    holds = f"Certificate: {'empty' if mechanism.vacuous else 'holds'}"
    return [stated_guarantee(mechanism).to_text(), holds, *_proven_lines(mechanism)]


@singledispatch
def page_lines(mechanism: FrozenMechanism) -> list[str]:
    """The guarantee and the certificate in Markdown."""
    return [
        f"# {type(mechanism).__name__} {mechanism.fingerprint[:12]}",
        *("", "## Guarantee", "", "```", stated_guarantee(mechanism).to_text(), "```"),
        *("", "## Privacy certificate", "", f"- {'Empty' if mechanism.vacuous else 'Holds'}"),
        *(f"- {in_markdown(line)}" for line in mechanism.privacy.lines()),
    ]


@singledispatch
def release_lines(mechanism: FrozenMechanism, released: Any, rows: int | None = None) -> list[str]:
    """A release, without its guarantee, for the terminal; of tables at most so many rows."""
    tables = released.answer_tables()
    if has_errors(tables):
        further = getattr(released, "further_lines", ())
        return [
            *answer_lines(tables, mechanism.about.unit, rows, label=mechanism.about.records.label),
            *further,
            *kept_lines(released),
        ]
    return [*plain_lines(released), *kept_lines(released)]


def plain_lines(released: Any) -> list[str]:
    """The same without a table: its own words, or its plain data."""
    if hasattr(released, "to_text"):
        return [released.to_text()]
    data = {key: value for key, value in released.to_dict().items() if key != "guarantee"}
    return [json.dumps(plain(data), indent=1, ensure_ascii=False)]


def kept_lines(released: Any) -> list[str]:
    """What a release says of the rows of entities that did not count, for the terminal; nothing where all rows count."""
    row = getattr(released, "row", None)
    words = "" if row is None else row.left_out_words(released.guarantee)
    return wrapped(words, terminal_width()) if words else []


FORMAT_VERSION = 1


def to_spec(mechanism: FrozenMechanism) -> dict[str, Any]:
    """The whole spec as plain data; `InvalidProblem` for what could not be read again."""
    mechanism._require_listed()
    body = {
        "format": mechanism.format,
        "version": FORMAT_VERSION,
        "mechanism": mechanism.core(),
        "guarantee": mechanism.guarantee.to_dict(),
        "certificate": asdict(mechanism.privacy),
        "optimality": None if mechanism.optimality is None else mechanism.optimality.to_dict(),
        "provenance": dict(mechanism.provenance),
        "fingerprint": mechanism.fingerprint,
    }
    spec: dict[str, Any] = {**plain(body), **about_entry(mechanism)}
    return {**spec, "seal": seal(spec)}


def about_entry(mechanism: FrozenMechanism) -> dict[str, Any]:
    """What files say under `about`; nothing where the maker said nothing."""
    return {"about": mechanism.about.to_dict()} if mechanism.about else {}


def seal(spec: Mapping[str, Any]) -> str:
    """SHA-256 of the spec without its seal: shows accidental or careless alteration; the guarantee is recomputed besides."""
    body = {key: value for key, value in spec.items() if key != "seal"}
    try:
        text = canonical_text(body)
    except (TypeError, ValueError):  # not read from a file: arrays and infinities are in it
        text = canonical(body)
    return hashlib.sha256(text).hexdigest()


def save(mechanism: FrozenMechanism, path: Path, *, replace: bool = True) -> Path:
    """Write the spec, whole or not at all; see `designer.base.output.write_whole`."""
    return write_whole(path, readable_text(to_spec(mechanism)), replace=replace)


Part = Literal["mechanism", "release_form", "agreement", "composition", "inspection", "noise_law", "page", "pictures"]


@dataclass(frozen=True, kw_only=True)
class MechanismKind:
    """A kind of frozen mechanism: the format of its specs, and the addresses of its parts.

    mechanism: the frozen class, a `FrozenMechanism`, which reads and certifies specs. release_form: the `ReleaseForm` of its
    releases as files. agreement: the `Agreement` that makes tables of a release agree; None where there are no tables of sums
    of cells. composition: the `Composition` by which releases add up. inspection: the `Inspection` of deep verification.
    noise_law: the function that tells other tools the law of the noise; None where there is none that the data leave alone.
    page: the `Contributor` of its page for a board, with the sketches of its proofs. pictures: the function from a mechanism to
    its `Drawing`s; None where nothing is drawn of it. Every part is stated, so that none is forgotten.
    """

    format: str
    mechanism: str
    release_form: str
    agreement: str | None
    composition: str
    inspection: str
    noise_law: str | None
    page: str
    pictures: str | None

    def part(self, name: Part) -> Any:
        """What a part is, imported now if it was not; None where this kind has none."""
        address = getattr(self, name)
        return None if address is None else at_address(address)
