"""What a problem file of any kind asks for: made into a frozen object, with lines for the terminal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.printing import printed
from designer.certified.about import NOTHING, About
from designer.certified.frozen import Specified, to_spec
from designer.designing.caution_lines import cautions
from designer.designing.printouts import optimality_lines
from designer.files.problem.listing import Listing

AT_EACH_BUDGET = "change its budget or noise, and read what dp-designer design prints of accuracy and privacy"


@dataclass(frozen=True)
class Choices:
    """What the caller decides in the place of the file; None or empty where the file, or the rule of the kind, decides."""

    family: str | None = None
    solver: str | None = None
    solver_options: Mapping[str, Any] = field(default_factory=dict)
    effort: str | None = None
    seconds: float | None = None

    @property
    def limits(self) -> Mapping[str, Any]:
        """Effort and seconds, where they are given."""
        given = {"effort": self.effort, "seconds": self.seconds}
        return {name: value for name, value in given.items() if value is not None}

    def of_file(self, family: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The family to take and its options: those of the file, unless the caller names another family."""
        if self.family in (None, family):
            return family, dict(options)
        assert self.family is not None
        return self.family, {}

    def require(self, kind: str, takes: tuple[str, ...]) -> None:
        """Refuse choices that a kind of file does not take."""
        for choice in fields(self):
            value = getattr(self, choice.name)
            if value is not None and value != {} and choice.name not in takes:
                others = f"it takes {', '.join(takes)}" if takes else "what can be chosen stands in the file"
                raise InvalidProblem(
                    f"{choice.name}: {shown(value)} does not go with files of kind {kind!r}; {others}.", value=value
                )


@dataclass(frozen=True)
class Outcome:
    """What was made for a request: the frozen object, lines for the terminal, and the same as data. brief: fewer lines, for who
    asks for no more; all of them where there are no others."""

    mechanism: Specified
    lines: tuple[str, ...]
    data: Mapping[str, Any]
    brief: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Request(ABC):
    """A problem file that was read: its title, the files that were read for it, and how its mechanism is made.

    kind: its name in the closed list of kinds. choices: the names of those `Choices` that it takes. about: what the file says
    about itself, which goes with what is made of it.
    """

    kind: ClassVar[str]
    choices: ClassVar[tuple[str, ...]] = ()
    title: str
    files: tuple[Path, ...] = ()
    about: About = NOTHING

    def __post_init__(self) -> None:
        if self.named_answers is not None:
            self.about.require_units_of(self.named_answers)

    @property
    def named_answers(self) -> tuple[str, ...] | None:
        """The names of the answers, which units are stated for; None where they are not all known before the design."""
        return None

    @abstractmethod
    def make(self, choices: Choices) -> Specified:
        """The frozen object that the file asks for."""

    @abstractmethod
    def description(self) -> Mapping[str, object]:
        """What is asked and what is protected, a few words each, for `show`."""

    def accuracy_lines(self, made: Any) -> list[str]:
        """How accurate the answers of what was made are, for the terminal."""
        return []

    def made(self, choices: Choices | None = None) -> Outcome:
        """The frozen object, and lines about it: what was made, its certificate, accuracy, and optimality where it is known.

        Raises `InvalidProblem` for choices that this kind does not take, `DesignFailed` where there is no mechanism.
        """
        chosen = choices or Choices()
        chosen.require(self.kind, self.choices)
        start = perf_counter()
        with self._naming_the_file():
            mechanism = self.make(chosen).described(self.about)
        seconds = perf_counter() - start
        return Outcome(mechanism, tuple(self._lines(mechanism, seconds)), to_spec(mechanism))

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """What the parts of a file say together is found wrong only when they are put together: the file is named then, too."""
        try:
            yield
        except InvalidProblem as error:
            known = not self.files or str(error).startswith(str(self.files[0]))
            raise error if known else error.within(f"{self.files[0]}: ") from None

    def least(self, choices: Choices | None = None, *, step: float | None = None) -> Outcome:
        """The design at the least factor on all budgets that meets the accuracy that the file asks for."""
        raise self.without("budget", f"no accuracy is stated in it; {AT_EACH_BUDGET}")

    @property
    def compared(self) -> Any:
        """The problem whose families `compare` puts side by side."""
        each = "design it with each --family NAME, and compare what is printed"
        raise self.without("compare", each if "family" in self.choices else "it has one design, which dp-designer design makes")

    def listing(self) -> Listing:
        """Which values, groups and numbers the records are expected to have."""
        raise self.without("check", "it does not say which columns of records it reads")

    def without(self, command: str, remedy: str) -> InvalidProblem:
        """The refusal of a command that this kind of file does not have; for the caller to raise."""
        return InvalidProblem(f"{command}: does not go with a file of kind {self.kind!r}; {remedy}.")

    def _lines(self, made: Specified, seconds: float) -> list[str]:
        title = printed(self.title)
        head = [title, "=" * len(title), *cautions(made), *made.summary_lines()]
        return [*head, *self.accuracy_lines(made), *optimality_lines(made.optimality), f"Time:        {seconds:.2f} s"]
