"""`design`: a problem in, a certified frozen mechanism out."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from designer.certificate import PrivacyCertificate
from designer.errors import DesignFailed, InvalidProblem, Refusal, UntrueBound
from designer.frozen import positive, shown
from designer.limit import Limit, limit
from designer.mechanism import Mechanism
from designer.optimality import Optimality
from designer.problem import Problem
from designer.version import VERSION

# Above this many universe elements a scan of all pairs takes a second or more, and "auto" leaves out families that need many.
AUTO_ELEMENTS = 5000


@dataclass(frozen=True)
class Family:
    """A way to build a mechanism for a problem: its name, one line about it, the notion it serves, and the module of its builder.

    The builder is the function of the family's name in `designer.families.<module>`; it is imported when it is needed, with its solvers.
    scans_little: needs few scans of the pairs, so that "auto" starts it on any size. on_request: serves another end than least loss (integer
    tables), so "auto" leaves it out. invariants_only: serves or compares relations under an invariant; "auto" and `compare` leave it out
    elsewhere.
    """

    name: str
    title: str
    notion: str
    module: str
    baseline: bool = False
    scans_little: bool = False
    on_request: bool = False
    invariants_only: bool = False

    def concerns(self, problem: Problem) -> bool:
        """Whether the family has something to say about such a relation."""
        return not (self.invariants_only and problem.relation.single_records)

    @property
    def build(self) -> Callable[..., Mechanism]:
        """The builder, problem in, mechanism out."""
        builder: Callable[..., Mechanism] = getattr(import_module(f"designer.families.{self.module}"), self.name)
        return builder

    def options(self) -> list[str]:
        """The names of the builder's options."""
        return list(inspect.signature(self.build).parameters)[1:]


FAMILIES = (
    Family("laplace", "independent Laplace noise, optimal scales", "pure", "laplace", scans_little=True),
    Family("projected_laplace", "Laplace noise, projected", "pure", "projected", scans_little=True, invariants_only=True),
    Family("k_norm", "K-norm: the convex hull of the sensitivity set", "pure", "k_norm"),
    Family("ellipsoid", "exponential noise in the best ellipsoid", "pure", "ellipsoid"),
    Family("box", "exponential noise in the smallest box", "pure", "box", scans_little=True),
    Family("strategy_laplace", "Laplace noise on optimised other queries", "pure", "strategy_laplace"),
    Family("laplace_joint", "biased Laplace for a known number of records", "pure", "laplace_joint"),
    Family("gaussian", "the optimal Gaussian matrix mechanism", "gaussian", "ellipsoid"),
    Family(
        "diagonal_gaussian",
        "independent Gaussian noise, optimal scales",
        "gaussian",
        "ellipsoid",
        scans_little=True,
    ),
    Family(
        "lattice_laplace", "integer noise that keeps the invariant", "pure", "lattice", on_request=True, invariants_only=True
    ),
    Family(
        "lattice_gaussian",
        "integer Gaussian noise that keeps the invariant",
        "gaussian",
        "lattice",
        on_request=True,
        invariants_only=True,
    ),
    Family("isotropic_gaussian", "equal Gaussian noise", "gaussian", "ellipsoid", baseline=True),
    Family("l2_ball", "exponential noise in a Euclidean ball", "pure", "ellipsoid", baseline=True),
    Family("strategy_1", "Laplace, the budget shared equally (DX Strategy 1)", "pure", "laplace", baseline=True),
    Family("strategy_2", "Laplace, equal scales (DX Strategy 2)", "pure", "laplace", baseline=True),
    Family("strategy_3", "Laplace, greedy split (DX Algorithm 3)", "pure", "laplace", baseline=True),
    Family("uniform_budget", "Laplace, one budget for all pairs", "pure", "laplace", baseline=True),
    Family(
        "group_laplace",
        "Laplace by group privacy (SEMI Algorithm 4)",
        "pure",
        "group_privacy",
        baseline=True,
        invariants_only=True,
    ),
    Family(
        "group_l2_ball",
        "a Euclidean ball by group privacy (SEMI Algorithm 5)",
        "pure",
        "group_privacy",
        baseline=True,
        invariants_only=True,
    ),
    Family(
        "group_box", "a cube by group privacy (SEMI Algorithm 6)", "pure", "group_privacy", baseline=True, invariants_only=True
    ),
    Family(
        "group_gaussian",
        "equal Gaussian noise by group privacy",
        "gaussian",
        "group_privacy",
        baseline=True,
        invariants_only=True,
    ),
)


@dataclass(frozen=True)
class Design:
    """A mechanism with what is known about it: the privacy certificate, and how close it is to the best of its family."""

    problem: Problem
    mechanism: Mechanism
    seconds: float

    @property
    def privacy(self) -> PrivacyCertificate:
        """The certificate, computed from the frozen mechanism."""
        return self.mechanism.privacy

    @property
    def optimality(self) -> Optimality | None:
        """Value, lower bound and gap of the design objective; None for baselines, which claim nothing."""
        return self.mechanism.optimality

    @property
    def loss(self) -> float:
        """The problem's own loss at the noise that is in fact drawn, weights included, plus the worst bias where records are known."""
        variances = self.mechanism.query_variances()
        absolutes = self.mechanism.query_mean_absolutes() if self.problem.loss == "absolute" else None
        return self.problem.loss_of(variances, absolutes) + self.bias

    @property
    def bias(self) -> float:
        """The largest loss from bias over histograms of n records, see `Problem.bias_of`."""
        return self.problem.bias_of(self.mechanism.effective)

    @property
    def is_biased(self) -> bool:
        """True when the design answers other queries than asked on purpose, beyond rounding to the grid."""
        return self.mechanism.family == "laplace_joint"

    @cached_property
    def efficiency(self) -> float | None:
        """The limit of all unbiased mechanisms, at databases from which every protected change is possible, over the loss, at most 1.

        None where no limit is known, where fewer records are public than make every change possible, and for biased designs.
        """
        return None if self.limit is None or not self.loss else self.limit.value / self.loss

    @cached_property
    def limit(self) -> Limit | None:
        """The limit behind the efficiency; None for biased designs and where none is known."""
        return None if self.is_biased else limit(self.problem)

    @property
    def error(self) -> float:
        """Expected total squared error of the noise."""
        return self.mechanism.error("squared")


def design(problem: Problem, /, family: str = "auto", **options: Any) -> Design:
    """The best mechanism of a family for a problem, certified.

    family: a name in `FAMILIES`, or "auto" for the best that applies (see `best_of_all`). options: those of the builder.
    Raises `InvalidProblem` for an unknown family or option, `DesignFailed` when the family has no mechanism for the problem.

    >>> from designer import Problem, Workload, metrics
    >>> made = design(Problem(Workload.identity(3), metrics.uniform(3, epsilon=1.0)), "laplace")
    >>> made.privacy.holds, made.mechanism.scales.round(9).tolist()
    (True, [2.0, 2.0, 2.0])
    """
    if family == "auto":
        if unknown := sorted(set(options) - {"seconds"}):
            raise InvalidProblem(
                f"options: {shown(unknown)} unknown to 'auto', which takes ['seconds']; name a family beside them."
            )
        return best_of_all(problem, **options)
    chosen = family_named(family)
    unknown = sorted(set(options) - set(chosen.options()))
    if unknown:
        raise InvalidProblem(
            f"options: {shown(unknown)} unknown to family {chosen.name!r}, which takes {chosen.options() or 'none'}."
        )
    if chosen.notion != problem.notion:
        raise DesignFailed(
            f"family: {chosen.name!r} is {chosen.notion}, the problem asks for {problem.notion!r}; choose another family."
        )
    start = time.perf_counter()
    mechanism = built(chosen, problem, options)
    seconds = time.perf_counter() - start
    provenance = {
        "software": f"dp-designer {VERSION}",
        "family": chosen.title,
        "loss": problem.loss,
        "options": options,
        "seconds": round(seconds, 3),
    }
    return Design(problem, mechanism.annotated(provenance), seconds)


def built(family: Family, problem: Problem, options: Mapping[str, Any]) -> Mechanism:
    """The family's mechanism; arithmetic that stops, on numbers that floats cannot hold side by side, is a refusal in words."""
    try:
        return family.build(problem, **options)
    except (Refusal, UntrueBound):
        raise
    except (ArithmeticError, ValueError) as failure:  # overflow, singular matrices, solvers that are handed infinity
        raise DesignFailed(
            f"{family.name}: {reason(failure)}; its numbers may span more orders of magnitude than floats can: state the queries or the "
            "budgets in other units, or choose another family."
        ) from failure


def best_of_all(problem: Problem, seconds: float = 60.0) -> Design:
    """The design of least loss among the families of the problem's notion, baselines left out; its provenance lists what was tried.

    seconds: once one family has a mechanism, none is started after this time. They come in the order of `FAMILIES`. A family that fails,
    in whatever way, is listed with its reason, and the others go on.
    """
    allowed, start = positive(seconds, "options.seconds"), time.perf_counter()
    made: list[Design] = []
    tried: dict[str, str] = {}
    for family in FAMILIES:
        if family.notion != problem.notion or family.baseline or family.on_request or not family.concerns(problem):
            continue
        if made and time.perf_counter() - start > allowed:
            tried[family.name] = f"not started: {allowed:g} s were over"
            continue
        if problem.relation.size > AUTO_ELEMENTS and not family.scans_little:
            tried[family.name] = f"not started: more than {AUTO_ELEMENTS} elements; ask for it by name"
            continue
        try:
            candidate = design(problem, family.name)
            tried[family.name] = f"loss {candidate.loss:.6g} in {candidate.seconds:.2f} s"
        except Exception as failure:
            tried[family.name] = f"no mechanism: {reason(failure)}"
        else:
            made.append(candidate)
    if not made:
        raise DesignFailed(f"auto: no family has a mechanism for this problem: {tried}")
    best = min(made, key=lambda candidate: candidate.loss)
    provenance = {**best.mechanism.provenance, "tried": tried}
    return Design(problem, best.mechanism.annotated(provenance), time.perf_counter() - start)


def reason(failure: Exception) -> str:
    """Why a family has no mechanism: its refusal, or the error that stopped it, by name."""
    return str(failure) if isinstance(failure, DesignFailed) else f"stopped by {type(failure).__name__}: {failure}"


def family_named(name: str) -> Family:
    """The family of that name."""
    for family in FAMILIES:
        if family.name == name:
            return family
    raise InvalidProblem(f"family: {shown(name)} is unknown; use one of {['auto', *(f.name for f in FAMILIES)]}.")
