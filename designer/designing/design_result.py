"""`Design`: a mechanism with what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, Generic, TypeVar

from designer.base.display import Displayed
from designer.base.lazy_imports import at_address
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import Optimality
from designer.designing.least_noise import Limit, limit, part_of_loss
from designer.mechanism.consistency import BREAKS, BROKEN, FRACTIONS, invariant_of, is_whole, keeps_published
from designer.mechanism.interface import Mechanism
from designer.relations.problem import Problem

M = TypeVar("M", bound=Mechanism, covariant=True)
F = TypeVar("F", bound=FrozenMechanism, covariant=True)
P = TypeVar("P", covariant=True)


@dataclass(frozen=True)
class Designed(Displayed, Generic[P, F]):
    """A frozen object for a problem, how many seconds it took, and what it says of itself."""

    problem: P
    mechanism: F
    seconds: float

    def _display_facts(self) -> Mapping[str, object]:
        gap, cut = None if self.optimality is None else self.optimality.gap, {"cut": self.cut} if self.cut else {}
        return {**self.mechanism._display_facts(), "gap": gap, "seconds": round(self.seconds, 3), **cut}

    @property
    def cut(self) -> str:
        """Why its search was ended before it was done, and what finishes it; empty where nothing was cut off."""
        return str(self.mechanism.provenance.get("cut", ""))

    @property
    def privacy(self) -> PrivacyCertificate:
        """The certificate, computed from the frozen mechanism."""
        certificate: PrivacyCertificate = self.mechanism.privacy
        return certificate

    @property
    def program(self) -> Any:
        """The convex program that states it, or a part of it, with this answer in its variables; built when it is asked for.

        `print` shows it, `program.cvxpy_problem()` is whole. `DesignFailed` where no program states the family, with
        how its numbers are found.
        """
        return at_address("designer.programs.search:program_of")(self)

    @property
    def optimality(self) -> Optimality | None:
        """Value, lower bound and gap of the design objective; None where nothing is claimed, as by baselines."""
        return self.mechanism.optimality


@dataclass(frozen=True)
class Design(Designed[Problem, M]):
    """A mechanism of kind M with what is known about it: the privacy certificate, and how close it is to the best of its
    family. problem: what was asked. seconds: how long the design took, wall-clock."""

    @property
    def loss(self) -> float:
        """The problem's own loss at the noise that is in fact drawn, weights included,
        with the worst bias where records are known."""
        variances = self.mechanism.query_variances()
        absolutes = self.mechanism.query_mean_absolutes() if self.problem.loss == "absolute" else None
        return self.problem.worst_loss(variances, absolutes, self.mechanism.effective)

    def _display_facts(self) -> Mapping[str, object]:
        return {**super()._display_facts(), self.problem.loss: self.loss}

    def _repr_html_(self) -> str:
        """What notebooks show, as the terminal does: the noise of each answer, the certificate and the efficiency."""
        in_brief = at_address("designer.designing.printouts:design_in_brief")  # which imports this file
        title, _, *lines = in_brief(type(self).__name__, self).split("\n")
        lines.append(f"Privacy:     {self.mechanism.guarantee.relation}")
        said = "".join(f"<tr><td>{escape(line.strip())}</td></tr>" for line in lines)
        return f"<div><p><strong>{escape(title)}</strong></p><table><tbody>{said}</tbody></table></div>"

    @property
    def bias(self) -> float:
        """The largest loss from bias over histograms of n records, see `Problem.bias_of`."""
        return self.problem.bias_of(self.mechanism.effective)

    @property
    def is_biased(self) -> bool:
        """True when the design answers other queries than asked on purpose, beyond rounding to the grid."""
        return self.mechanism.family in ("laplace_joint", "k_norm_joint", "gaussian_joint", "separable")

    @cached_property
    def efficiency(self) -> float | None:
        """A loss that no additive noise is below, proven, over the loss of this design, at most 1; `limit.theorem` names the
        proof, and `limit.scope` says which other mechanisms it speaks of.

        None where no limit is known, and for biased designs.
        """
        return (
            None if self.limit is None or not self.loss else part_of_loss(self.limit, self.problem, self.mechanism, self.loss)
        )

    @cached_property
    def limit(self) -> Limit | None:
        """The limit behind the efficiency; None for biased designs and where none is known."""
        return None if self.is_biased else limit(self.problem)

    @property
    def error(self) -> float:
        """Expected total squared error, unweighted, with the worst bias where records are known."""
        noise: float = self.mechanism.error("squared")
        if not self.is_biased:
            return noise
        return noise + replace(self.problem, loss="squared", weights=None).bias_of(self.mechanism.effective)


@dataclass(frozen=True)
class DesignOfKind(Design[Any]):
    """A design of a problem that is not one of linear queries. measured: its loss, as the problem says it."""

    problem: Any
    mechanism: Any
    measured: float = 0.0
    _repr_html_ = Displayed._repr_html_

    @property
    def loss(self) -> float:
        """What the problem calls its loss, of what is in fact drawn."""
        return self.measured

    @property
    def error(self) -> float:
        """Expected total squared error of the noise, where the mechanism knows one; the loss elsewhere."""
        found: float = self.mechanism.error("squared") if hasattr(self.mechanism, "error") else self.measured
        return found

    @property
    def bias(self) -> float:
        """0: nothing is known of a loss from bias."""
        return 0.0

    @property
    def is_biased(self) -> bool:
        """False: nothing is answered in the place of what was asked."""
        return False

    @cached_property
    def limit(self) -> Limit | None:
        """None: no limit is known."""
        return None


def asks_for_whole(problem: Problem) -> bool:
    """Whether statistics are published and every query is one of whole numbers, so that whole answers go before others."""
    return invariant_of(problem) is not None and bool(problem.workload.whole_rows.all())


def rank_by_consistency(problem: Problem, made: Design[Mechanism]) -> tuple[int, str]:
    """0 where the default may take a design, 1 where another one that releases whole numbers goes before it, 2 where it breaks
    what is published; and why, in words."""
    if invariant_of(problem) is None:
        return 0, ""
    if not keeps_published(made.mechanism):
        return BROKEN, BREAKS
    if asks_for_whole(problem) and not is_whole(made.mechanism):
        return 1, FRACTIONS
    return 0, ""
