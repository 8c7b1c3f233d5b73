"""The frozen hierarchical mechanism: noisy counts of nested groups, whole numbers, and the answers that agree with all of them.

Privacy is that of independent noise in the counts: along the groups that hold a record the rates add up to at most its budget.
The answers are computed from the noisy counts alone (docs/theory/strategies.md, section 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign
from designer.base.errors import InvalidProblem, InvalidSpec, NoAttribute
from designer.base.json_text import array, flagged_vacuous
from designer.base.run_length import in_runs, numbers_from, or_runs
from designer.base.schema import POSITIVE, VACUOUS, Named, either, keys, list_of, needs_one_of, one_of, record
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate
from designer.certificate.frozen import SpecForm
from designer.certificate.guarantee import (
    BUDGET_RANGE,
    CHANGING,
    HIERARCHY_FAMILIES,
    Optimality,
    require_family,
)
from designer.certificate.implicit_rows import DescribedSet, certify_described
from designer.certificate.norms import Norm, weighted_l1
from designer.limits import MOST_DRAWN_NUMBERS
from designer.mechanism.additive import LAWS, PURE_SHIFT
from designer.mechanism.interface import Falloff, GridMechanism
from designer.mechanism.nesting import Nesting, described_rows, require_rates
from designer.mechanism.noise import Grid, Noise, noise_for
from designer.mechanism.release import Release
from designer.mechanism.spec import GridComposition, GridForm
from designer.problem.compressed_rows import Matrix, written_out
from designer.problem.relation import Relation
from designer.problem.workload import (
    RANGES,
    ROWS,
    WORKLOAD,
    Workload,
    changes_given,
    matrix_from_spec,
    matrix_to_spec,
    workload_from_spec,
    workload_to_spec,
)
from designer.relations.kinds import RELATION, relation_from_spec
from designer.sampling.entropy import Entropy, SeededEntropy
from designer.sampling.margins import NoiseFacts

DRAWS = 2000
AT_ONCE = 2**23  # counts whose draws are held together
CONSISTENT = "; the answers are the least squares of all noisy counts"
GROUPS = Named("nested_groups", either(record({"rows": ROWS}), record({"ranges": RANGES})))


@dataclass(frozen=True, eq=False)
class HierarchyMechanism(GridMechanism):
    """Releases the noisy counts of nested groups, whole numbers, and the answers that follow from them by least squares.

    family: "hierarchy", or "custom". workload: what was asked, Q (K, N), sums of groups. relation: what is hidden, with one
    budget for all changes of a record. groups: (R, N), of ones and zeros, any two of which are apart or one within the other,
    as intervals or compressed rows; those within a group hold all of its elements, or there are none. rates: (R,), of the
    two-sided geometric noise of each count. Raises `NotPrivate` where rates of the groups that a change moves add up to more
    than its budget, and `InvalidProblem` for groups that are not nested and queries that are no sums of them.

    Nothing of the square of the number of groups is formed: a million counts take some hundred megabytes.
    """

    format = "dp-designer/hierarchy-mechanism"
    spec_form = SpecForm(
        Named(
            "hierarchy_mechanism",
            record(
                {
                    "family": one_of(*sorted(HIERARCHY_FAMILIES)),
                    "workload": WORKLOAD,
                    "relation": RELATION,
                    "groups": GROUPS,
                    "rates": or_runs(list_of(POSITIVE)),
                },
                {"vacuous": VACUOUS},
                note="Noise in the counts of nested groups; the answers are their least squares.",
            ),
        ),
        Named("parameters_of_hierarchies", record(BUDGET_RANGE, CHANGING, anyOf=needs_one_of(*CHANGING))),
    )

    family: str
    workload: Workload
    relation: Relation
    groups: Matrix
    rates: Floats
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    allow_vacuous: bool = False
    falloff: Falloff = field(default="exponential", init=False)
    integers: Any = field(init=False, repr=False)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_family(self.family, HIERARCHY_FAMILIES)
        self.relation.require_elements(self.workload.shape[1], self.workload.unlisted)
        if self.relation.simple is None:
            raise InvalidProblem(
                "relation: has several budgets for the changes of a record; groups take one, such as metrics.add_remove or "
                "metrics.uniform."
            )
        rates = real_array(self.rates, "rates", 1)
        require_rates(rates)
        groups = described_rows(self.groups)
        if groups.shape != (len(rates), self.workload.shape[1]):
            raise InvalidProblem(
                f"groups: have shape {groups.shape}; give one for each of {len(rates)} rates, over {self.workload.shape[1]} "
                "elements."
            )
        assign(self, rates=rates, groups=groups, integers=Grid((0,) * len(rates)).multiples(groups))
        assign(self, privacy=self.verify().require())
        _ = self.nesting.asked, self.noise
        self._require_substance()

    @cached_property
    def vacuous(self) -> str | None:
        return None if self.privacy.ratio else NOTHING_MOVES

    @cached_property
    def grid(self) -> Grid:  # type: ignore[override]
        """Noise and counts are whole numbers."""
        return Grid((0,) * len(self.rates))

    @cached_property
    def norm(self) -> Norm:
        """What a change of the counts spends: the rates of those that it moves."""
        return weighted_l1(self.rates)

    @cached_property
    def noise(self) -> Noise:
        """The exact sampler of the noise in the counts."""
        return noise_for(self.norm, self.grid, self.falloff)

    @cached_property
    def nesting(self) -> Nesting:
        """The groups as a tree, and the queries as sums of its nodes."""
        return Nesting.of(self.groups, self.rates, self.workload.matrix)

    @property
    def reconstruction(self) -> Floats:  # type: ignore[override]
        """Never written out: `NoAttribute`."""
        raise NoAttribute("reconstruction: of a hierarchy is never written out; answers are the least squares of its counts.")

    @property
    def effective(self) -> Any:
        """The queries themselves, which least squares estimate without bias."""
        return self.workload.matrix

    @property
    def exact(self) -> tuple[str, ...]:
        return ()

    @property
    def _heard(self) -> NDArray[np.bool_]:
        return np.ones(len(self.rates), dtype=bool)

    @property
    def _law_words(self) -> str:
        return f"{LAWS[self.falloff].format(norm=self.norm.sentence)}{CONSISTENT}"

    def _draws(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return self.noise.draw(size, entropy)

    @property
    def _tells_multiples(self) -> bool:
        """A release holds the noisy counts."""
        return True

    def verify(self) -> PrivacyCertificate:
        """The privacy certificate, recomputed from the frozen numbers: sums of rates, in rationals."""
        return certify_described(self.sensitivity(), self.norm, PURE_SHIFT, self.workload.elements)

    def sensitivity(self) -> Any:
        """The differences that must be hidden in the counts of the groups."""
        return DescribedSet(self.relation, self.integers, np.zeros(len(self.rates), dtype=np.int64))

    def privacy_loss(self, change: object = None, *, answers: object = None) -> Floats:
        """The budget that a change of the histogram spends: the rates of the groups times how much it moves their counts.

        change: (N,) or (M, N). answers: a difference of the answers instead, (K,) or (M, K), where it tells the change.
        """
        target = self.groups if answers is None else written_out(self.groups)
        given = changes_given(change, answers, self.workload, self.relation, target)
        moved = np.array([np.abs(self.groups @ one) @ self.rates for one in np.atleast_2d(given)])
        return moved if np.ndim(given) == 2 else np.asarray(moved[0])

    def query_variances(self) -> Floats:
        """Variance of the noise in each of the K answers."""
        return self.nesting.variances.copy()

    def query_mean_absolutes(self) -> Floats:
        """Expected absolute value of the noise in each of the K answers, of 2,000 repeatable draws; `InvalidProblem` where
        these would take minutes."""
        numbers = DRAWS * (len(self.rates) + self.workload.shape[0])
        if numbers > MOST_DRAWN_NUMBERS:
            raise InvalidProblem(
                f"loss: the absolute error is drawn, and {numbers:,} numbers take too long; use squared, or ask about fewer."
            )
        return np.asarray(np.abs(self.noise_in_answers(DRAWS, SeededEntropy(0))).mean(axis=0))

    def covariance(self) -> Floats:
        """Covariance matrix of the noise in the K answers; `InvalidProblem` where it would take gigabytes."""
        return self.nesting.covariance()

    def noise_in_answers(self, size: int, entropy: Entropy) -> Floats:
        """`size` draws of the noise in the K answers, (size, K)."""
        step = max(1, AT_ONCE // len(self.rates))
        parts = [
            self.nesting.answers(self.noise.draw(min(step, size - at), entropy).T.astype(np.float64)).T
            for at in range(0, size, step)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.workload.shape[0]))

    def _proven_margins(self, level: float) -> Floats:
        return self.nesting.margins(1 - level)

    @property
    def _noise_facts(self) -> NoiseFacts:
        tight = self.nesting.are_bracketed
        words = "quantiles of the law of each answer" if tight else "bounds by exponential moments"
        return NoiseFacts(words, tight, len(self.rates))

    def _release_of(self, multiples: Sequence[int]) -> Release:
        counts = np.array([float(number) for number in multiples])
        answers = frozen(self.nesting.answers(counts[:, None])[:, 0])
        return Release(answers, self.workload.queries, self.guarantee, self.fingerprint, multiples=tuple(multiples), law=self)

    def core(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "workload": workload_to_spec(self.workload),
            "relation": self.relation.to_spec(),
            "groups": matrix_to_spec(self.groups),
            "rates": in_runs(self.rates),
            **self._flag,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> HierarchyMechanism:
        """The mechanism of a spec, certified anew."""
        allowed = flagged_vacuous(core, keys(cls.spec_form.core))
        workload = workload_from_spec(core["workload"])
        rates = array(numbers_from(core["rates"], "rates"), 1, "rates")
        groups = core["groups"]
        if not isinstance(groups, Mapping) or len(groups) != 1 or not groups.keys() <= {"rows", "ranges"}:
            raise InvalidSpec("groups: must be rows or ranges; restore the file.")
        return cls(
            family=core["family"],
            workload=workload,
            relation=relation_from_spec(core["relation"]),
            groups=matrix_from_spec(groups, (len(rates), workload.shape[1]), "groups"),
            rates=rates,
            allow_vacuous=allowed,
        )


class HierarchyForm(GridForm):
    """Answers by the names of their queries, and the noisy counts of the groups."""

    def published(self, mechanism: GridMechanism, released: Release) -> list[dict[str, Any]]:
        return []


class HierarchyComposition(GridComposition[HierarchyMechanism]):
    """The same; every record moves a count by one."""

    def noise_of_laplace(self, made: HierarchyMechanism) -> Iterable[tuple[Fraction, int | None]]:
        return [(Fraction(rate), 1) for rate in np.unique(made.rates).tolist()]
