"""Frozen objects that a spec file holds whole: what they do, what they promise, and how they are recomputed from plain data.

And the kinds of them, as the rest of the house knows each: a value that names its parts, wherever they live, as entry points
are named, `module:name`. A part is imported when it is first asked for: so a kind can name its page or its pictures, which live
above it, and who loads a spec imports neither. `designer.files.kinds` lists all kinds there are.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, answer_lines, has_errors
from designer.base.arrays import Floats, Immutable, ReadOnlyParts, locked
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


# What the rest of the house asks a mechanism for, and nobody who designs, verifies or releases: `dir` leaves it out.
_INNER = """
    accuracy_words allow_vacuous annotated answer_lines ball_words below_by_noise biases blocks candidates cells
    certificate_schema certificate_words choose_each core counted counted_keys design_lines deviations differences
    display_facts display_rows draw draw_blocks drawn entity_budget falloffs flag flat_loss from_core heard hidden histogram_of
    integers known_errors left_out_rate limits_of named_answers noise_facts noise_in_answers noise_of noisy numbers page_lines
    parameters_schema parts plain_lines position proves_bound reach_of_answers rebuilding release_entropy require_listed
    require_substance require_unchanged round_of rows sampler schema serves settled_claim simulated_draws spec_rules
    spent_delta spent_deltas summary_lines tells_multiples told_budgets universe warning workload_places
"""
INNER = frozenset(_INNER.split())


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
    schema: ClassVar[Named]  # of `core()`
    parameters_schema: ClassVar[Named]  # of the numbers in the guarantee
    certificate_schema: ClassVar[Named] = PrivacyCertificate.schema
    spec_rules: ClassVar[Schema] = MappingProxyType({})  # what a spec of this format must keep besides, in words of JSON Schema
    takes: ClassVar[tuple[Takes, ...]] = ("histogram",)
    synthetic: ClassVar[bool] = False  # does it release data that are made up?
    privacy: Any
    allow_vacuous: bool = False
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = MappingProxyType({})
    about: About = NOTHING  # words of the maker for readers
    _certified: ClassVar[Mapping[str, Any]]  # of each object

    def __dir__(self) -> list[str]:
        """What a user of the object needs; `INNER` is there, and not listed."""
        return sorted(name for name in super().__dir__() if name not in INNER)

    @abstractmethod
    def core(self) -> dict[str, Any]:
        """Everything that decides what the object does, as plain data."""

    def require_listed(self) -> None:
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
    ) -> Released:
        """What is published about confidential data, counts or records as their type says; spends the budget once.

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
        self.require_unchanged()

    @property
    def left_out_rate(self) -> Fraction | None:
        """The rate of the discrete Laplace noise in the number of rows of entities that do not count; None where it is public,
        or where nothing is released from records."""
        return None

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of the records that are read as exact numbers."""
        return ()

    @property
    def counted_keys(self) -> tuple[str, ...]:
        """The columns of the records that are read as whole numbers."""
        return ()

    @abstractmethod
    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> Any:
        """`size` draws, stamped as a simulation that is not private: of the noise, where the data do not decide its law, else
        of what would be released for `data`, which are PUBLIC or invented. `InvalidProblem` where data are missing, or have no
        part in it."""

    def display_facts(self) -> Mapping[str, object]:
        """Its family, the sizes of what it was asked, and the fingerprint."""
        asked, queries = getattr(self, "workload", None), getattr(self, "queries", None)
        sizes = asked.display_facts() if isinstance(asked, Displayed) else {}
        sizes = {"queries": len(queries)} if isinstance(queries, (list, tuple)) else sizes
        return {"family": getattr(self, "family", None), **sizes, "fingerprint": self.fingerprint[:HEAD]}

    def certificate_words(self) -> str:
        """The certificate in a line for each of its values, and the fingerprint."""
        return "\n".join([*self._proven_lines(), f"Fingerprint {self.fingerprint}"])

    def _proven_lines(self) -> list[str]:
        return list(map(printed, self.privacy.lines()))

    def summary_lines(self) -> list[str]:
        """What it does, with its fingerprint, and what proves it, for the terminal."""
        return [self.guarantee.to_text(), f"Certificate: {'empty' if self.vacuous else 'holds'}", *self._proven_lines()]

    def page_lines(self) -> list[str]:
        """The guarantee and the certificate in Markdown."""
        return [
            f"# {type(self).__name__} {self.fingerprint[:12]}",
            *("", "## Guarantee", "", "```", self.guarantee.to_text(), "```"),
            *("", "## Privacy certificate", "", f"- {'Empty' if self.vacuous else 'Holds'}"),
            *(f"- {in_markdown(line)}" for line in self.privacy.lines()),
        ]

    def answer_lines(self, released: Any, rows: int | None = None) -> list[str]:
        """A release of this mechanism, without its guarantee, for the terminal; of tables at most so many rows."""
        tables = released.answer_tables()
        if has_errors(tables):
            further = getattr(released, "further_lines", ())
            return [*answer_lines(tables, self.about.unit, rows), *further, *kept_lines(released)]
        return [*self.plain_lines(released), *kept_lines(released)]

    def plain_lines(self, released: Any) -> list[str]:
        """The same without a table: its own words, or its plain data."""
        if hasattr(released, "to_text"):
            return [released.to_text()]
        data = {key: value for key, value in released.to_dict().items() if key != "guarantee"}
        return [json.dumps(plain(data), indent=1, ensure_ascii=False)]

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

    @property
    def nearly_exact(self) -> tuple[str, ...]:
        """The names of the answers in whole numbers whose noise is below half a unit: rounding gives the truth most of the
        time."""
        return tuple(name for name, deviation in self.deviations() if deviation < HALF_UNIT and name not in self.exact)

    def spent_deltas(self) -> dict[str, float | None]:
        """The `delta` that is promised, and the `spent_delta` of the worst pair; nothing where the promise has none, or is a
        function of the record."""
        return {}

    @cached_property
    def vacuous(self) -> str | None:
        """Why the promise hides nothing, in words; None where it hides something."""
        return None

    def require_substance(self) -> None:
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
    def warning(self) -> tuple[str, ...]:
        """The sentence that goes before everything that is said about an object that hides nothing; none for any other."""
        return (f"WARNING: this hides nothing: {self.vacuous}.",) if self.vacuous else ()

    def told_budgets(self) -> tuple[str, Floats | None]:
        """For objects whose budgets are not those of a relation: of what they are, and the budgets, (n,); None elsewhere."""
        return "", None

    def below_by_noise(self, table: AnswerTable) -> NDArray[np.bool_]:
        """Which answers of a table of a release, (G,), have no bias and are below 0 by their noise alone, because without it
        they cannot be; none where nothing is known of it."""
        return np.zeros(len(table.answers), dtype=bool)

    def deviations(self) -> Iterable[tuple[str, float]]:
        """Answers that may be whole numbers, or tables of such, by name, each with the least standard deviation of its noise in
        units that rounding would find; none where an object has no such answers."""
        return ()

    @property
    def flag(self) -> dict[str, bool]:
        """What a core says about an object that hides nothing; nothing about any other."""
        return {"vacuous": True} if self.vacuous else {}

    def settled_claim(self, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
        """A file's certificate `claimed`, with what may honestly differ between machines replaced by the `proven` values."""
        return claimed

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
        if self.named_answers is not None:
            about.require_units_of(self.named_answers)
        return self._twin(about=about)

    @property
    def named_answers(self) -> tuple[str, ...] | None:
        """The names of all answers, which units are stated for; None where they are not all written out."""
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        rebuilt = super().__reduce__()
        return (*rebuilt, {"about": self.about}) if self.about else rebuilt

    def _twin(self, **notes: Any) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__ | locked(notes))
        return twin

    def require_unchanged(self) -> None:
        """`InvalidProblem` where an attribute of this object, such as its noise, is another than the certified one: what it
        draws would then not be what the guarantee speaks of. Parts are compared by identity, since none can be written to."""
        if any(vars(self).get(name) is not part for name, part in self._certified.items()):
            raise InvalidProblem(CHANGED)

    def release_entropy(self) -> Entropy:
        """The random bits of a release, for this object as it was certified; see `require_unchanged`."""
        self.require_unchanged()
        logged("drawing a release from %s", self.fingerprint)
        return SystemEntropy()

    def save(self, path: str | Path) -> Path:
        """Write the spec, one JSON file, whole or not at all: a regular file of that name is replaced,
        anything else is refused."""

        return save(self, Path(path))


def kept_lines(released: Any) -> list[str]:
    """What a release says of the rows of entities that did not count, for the terminal; nothing where all rows count."""
    row = getattr(released, "row", None)
    words = "" if row is None else row.left_out_words(released.guarantee)
    return wrapped(words, terminal_width()) if words else []


FORMAT_VERSION = 1


def to_spec(mechanism: FrozenMechanism) -> dict[str, Any]:
    """The whole spec as plain data; `InvalidProblem` for what could not be read again."""
    mechanism.require_listed()
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
