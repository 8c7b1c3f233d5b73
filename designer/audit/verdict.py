"""What a deep verification says, line by line: proven, tested with which power, not looked at and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from designer.base.checks import shown
from designer.base.display import in_markdown, printed
from designer.base.errors import InvalidProblem
from designer.base.json_text import plain

Manner = Literal["proven", "tested", "not looked at"]
SMALLEST_SHARE, LARGEST_SHARE = 1e-4, 0.5


@dataclass(frozen=True)
class TestPower:
    """What a statistical test of a sampler must be able to see, and how often it may be wrong.

    sees: the relative error of a scale (0.01: one percent). probability: with which such an error is seen. false_alarm: the
    probability that a correct sampler is rejected, all tests of one verdict together. It follows from the normal and chi-square
    laws that means and counts of many draws follow approximately: no bound is proven.
    """

    __test__ = False  # no test of pytest's

    sees: float = 0.01
    probability: float = 0.99
    false_alarm: float = 1e-6

    def __post_init__(self) -> None:
        limits = {"sees": (SMALLEST_SHARE, LARGEST_SHARE), "probability": (0.5, 1 - 1e-9), "false_alarm": (1e-15, 0.1)}
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
                raise InvalidProblem(f"power.{name}: {shown(value)} is not a number from {least} to {most}.", value=value)

    def shared(self, parts: int) -> TestPower:
        """The same asked of one of so many parts: an equal share of the false alarms."""
        return replace(self, false_alarm=self.false_alarm / parts)

    def quantiles(self, tests: int) -> tuple[float, float]:
        """How many standard errors a statistic must be off to be rejected among `tests` of them, and how many further ones the
        declared probability takes."""
        from scipy.special import ndtri

        return float(-ndtri(self.false_alarm / (2 * max(tests, 1)))), float(ndtri(self.probability))

    def reached(self, tests: int, errors: float) -> float:
        """The probability of seeing what moves a statistic by so many standard errors."""
        from scipy.special import ndtr

        return float(ndtr(errors - self.quantiles(tests)[0])) if math.isfinite(errors) else 1.0


@dataclass(frozen=True)
class Finding:
    """One line of a verdict. holds: False where something is wrong; None where nothing was looked at."""

    manner: Manner
    subject: str
    words: str
    holds: bool | None = True
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The line for the terminal."""
        failed = "  <-- FAILS" if self.holds is False else ""
        return f"{printed(self.subject)}: {printed(self.words)}{failed}"


def proven(subject: str, words: str, holds: bool = True, **numbers: Any) -> Finding:
    """What a computation decides."""
    return Finding("proven", subject, words, holds, numbers)


def tested(subject: str, words: str, holds: bool, **numbers: Any) -> Finding:
    """What draws speak for, or against."""
    return Finding("tested", subject, words, holds, numbers)


def not_looked_at(subject: str, reason: str) -> Finding:
    """What nothing is said about, and why."""
    return Finding("not looked at", subject, reason, None)


@dataclass(frozen=True)
class DeepVerdict:
    """Everything that was found about one frozen object."""

    format: str
    fingerprint: str
    power: TestPower
    findings: tuple[Finding, ...]
    seconds: float
    seed: int | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing that was looked at fails."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The lines that fail."""
        return tuple(finding for finding in self.findings if finding.holds is False)

    def of(self, manner: Manner) -> tuple[Finding, ...]:
        """The lines of one manner."""
        return tuple(finding for finding in self.findings if finding.manner == manner)

    def to_text(self) -> str:
        """The verdict in words."""
        lines = [self._headline()]
        for manner in get_args(Manner):
            own = self.of(manner)
            lines += ["", manner.upper(), *(f"- {finding.line}" for finding in own)] if own else []
        return "\n".join(lines)

    def page_lines(self) -> list[str]:
        """The verdict in Markdown."""
        lines = ["## Deep verification", "", in_markdown(self._headline()), ""]
        rows = [f"| {f.manner} | {in_markdown(f.subject)} | {in_markdown(f.words)} |" for f in self.findings]
        return [*lines, "| | what | found |", "| --- | --- | --- |", *rows]

    def _headline(self) -> str:
        held = "nothing that was looked at fails" if self.holds else f"{len(self.failures)} of the lines below FAIL"
        drawn = (
            "draws with bits of the operating system" if self.seed is None else f"draws with seed {self.seed}: a rehearsal only"
        )
        return (
            f"Deep verification of {self.format} {self.fingerprint[:12]}: {held} ({self.seconds:.1f} s; {drawn}). "
            f"Asked of each test: see {100 * self.power.sees:g} % with probability {self.power.probability:g}; all of them "
            f"together reject a correct sampler with probability {self.power.false_alarm:g}, by laws that many draws follow "
            "approximately (normal, chi-square)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found: dict[str, Any] = plain(
            {
                "holds": self.holds,
                "format": self.format,
                "fingerprint": self.fingerprint,
                "power": vars(self.power),
                "seed": self.seed,
                "seconds": self.seconds,
                "findings": [{**vars(finding), "numbers": dict(finding.numbers)} for finding in self.findings],
            }
        )
        return found
