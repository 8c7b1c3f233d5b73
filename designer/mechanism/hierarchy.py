"""The frozen hierarchical mechanism: noisy counts of nested groups, whole numbers, and the answers that agree with all of them.

Privacy is that of independent noise in the counts: along the groups that hold a record the rates add up to at most its budget.
The answers are computed from the noisy counts alone (docs/theory/strategies.md, section 8).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, shown
from designer.base.errors import InvalidProblem, InvalidSpec, NoAttribute
from designer.base.json_text import array, flagged_vacuous
from designer.base.run_length import in_runs, numbers_from, or_runs
from designer.base.schema import POSITIVE, VACUOUS, Named, either, keys, list_of, needs_one_of, one_of, record
from designer.certificate.agreement import AgreeingTables
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate
from designer.certificate.frozen import SpecForm
from designer.certificate.guarantee import (
    BUDGET_RANGE,
    CHANGING,
    HIERARCHY_FAMILIES,
    Guarantee,
    Optimality,
    require_family,
)
from designer.certificate.implicit_rows import DescribedSet, certify_described
from designer.certificate.norms import Norm, weighted_l1
from designer.limits import MOST_DRAWN_NUMBERS
from designer.mechanism.additive import LAWS, PURE_SHIFT
from designer.mechanism.interface import Falloff, GridMechanism
from designer.mechanism.nesting import Nesting, described_rows, require_rates, tree_of, with_nodes
from designer.mechanism.noise import Grid, Noise, noise_for
from designer.mechanism.release import Release
from designer.mechanism.spec import CountAgreement, GridComposition, GridForm, known_statistics
from designer.problem.compressed_rows import Matrix, written_out
from designer.problem.relation import Relation
from designer.problem.workload import (
    RANGES,
    ROUNDING,
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
from designer.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from designer.sampling.margins import NoiseFacts
from solvers.trees import Tree

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


FRACTION = 48  # bits of a count behind the point
WHOLE_WORDS = (
    "Whole numbers that agree: every counted group is rounded down or up by one random number for all of them, so that nested "
    "counts add up. Each is on average the released answer, and its variance is at most 1/4 more; counts may be below 0. "
    "Post-processing: computed from the release and random bits that know nothing else of the data, so the guarantee is that "
    "of the release."
)


@dataclass(frozen=True)
class WholeAnswers:
    """Whole numbers, (K,), in the place of the answers of the release of `fingerprint`, whose guarantee they keep.

    post_processing: what was done, in sentences.
    """

    answers: tuple[int, ...]
    queries: tuple[str, ...]
    post_processing: str
    guarantee: Guarantee
    fingerprint: str


def whole_answers(released: Release, entropy: Entropy | None = None) -> WholeAnswers:
    """Round the answers to nested counts to whole numbers that add up, without a bias.

    C are the sums of the finest counts, those of every group together, and U is uniform on [0, 1). A group from i to j has
    floor(C_j + U) - floor(C_i + U). Raises `InvalidProblem` for queries that are no nested counts, weights that are no whole
    numbers, and answers that do not add up. Source: docs/theory/strategies.md, section 8.

    Parameters
    ----------
    released : of a hierarchy, or of nested counts that agree.
    entropy : of U; that of the operating system where none is given.

    >>> from designer import Problem, Workload, design, metrics
    >>> asked = Workload.nested(4, {"region": ["N", "N", "S", "S"], "town": ["a", "b", "c", "d"]})
    >>> made = design(Problem(asked, metrics.add_remove(4, 1.0)), "hierarchy").mechanism
    >>> whole = whole_answers(made.release([3, 1, 0, 5])).answers
    >>> whole[0] == sum(whole[1:3]) == sum(whole[3:])
    True
    """
    if not isinstance(getattr(released.law, "workload", None), Workload):
        raise InvalidProblem("whole answers: the release does not know what was asked; read it with its spec.")
    tree, leaves, asked = _finest(released.law, released.answers, released.multiples or ())
    fine = np.empty(len(tree.leaves), dtype=object)
    fine[tree.first_leaf[tree.leaves]] = [int(part) for part in np.rint(np.ldexp(leaves, FRACTION)).tolist()]
    random = int((SystemEntropy() if entropy is None else entropy).random_words(1)[0]) >> (64 - FRACTION)
    sums = [total >> FRACTION for total in itertools.accumulate(fine.tolist(), initial=random)]
    ends = tree.first_leaf + tree.leaf_counts
    nodes = [sums[end] - sums[start] for start, end in zip(tree.first_leaf.tolist(), ends.tolist(), strict=True)]
    entries = zip(asked.indices.tolist(), map(int, asked.data.tolist()), strict=True)
    parts = [factor * nodes[node] for node, factor in entries]
    answers = tuple(sum(parts[a:b]) for a, b in itertools.pairwise(asked.indptr.tolist()))
    return WholeAnswers(answers, released.queries, WHOLE_WORDS, released.guarantee, released.fingerprint)


def require_whole_answers(mechanism: Any) -> None:
    """Refuse, before any data are touched, a mechanism whose releases `whole_answers` cannot round; `InvalidProblem` with the
    reason. Answers agree where their noise does."""
    if not isinstance(mechanism, GridMechanism) or not isinstance(mechanism.workload, Workload):
        raise InvalidProblem("whole answers: are those of nested counts; this mechanism asks about something else.")
    noise = () if isinstance(mechanism, HierarchyMechanism) else mechanism.noise_in_answers(1, SeededEntropy(0))[0]
    _finest(mechanism, np.asarray(noise), [0] * len(mechanism.grid.exponents))


def _finest(law: Any, answers: Floats, multiples: Sequence[int]) -> tuple[Tree, Floats, Any]:
    """A tree, the released counts of its leaves, (C,), and the queries as sums of its nodes, (K, V), compressed."""
    if not law.workload.whole_rows.all():
        raise InvalidProblem("whole answers: some queries have weights that are no whole numbers; ask for counts.")
    if isinstance(law, HierarchyMechanism):
        nesting, counts = law.nesting, np.array([float(number) for number in multiples])
        return nesting.tree, nesting.node_estimates(counts[:, None])[nesting.tree.leaves, 0], nesting.asked
    tree, node, label = tree_of(described_rows(law.workload.matrix))
    found = np.zeros(len(tree.parent))
    found[node] = answers
    asked = with_nodes(tree, label, law.workload.matrix)
    leaves = found[tree.leaves]
    sums = np.append(0.0, np.cumsum(leaves[np.argsort(tree.first_leaf[tree.leaves])]))
    off = np.abs(sums[tree.first_leaf + tree.leaf_counts] - sums[tree.first_leaf] - found)[node]
    if (off > ROUNDING * np.abs(answers).max()).any():
        worst = law.workload.queries[int(np.argmax(off))]
        raise InvalidProblem(
            f"whole answers: {shown(worst)} is not the sum of the counts within it; design the family hierarchy, whose answers "
            "agree."
        )
    return tree, leaves, asked


class NestedAgreement(CountAgreement):
    """The same; of nested counts that agree also whole numbers without a bias."""

    def require_unbiased(self, mechanism: GridMechanism) -> None:
        if known_statistics(mechanism.relation):
            raise InvalidProblem("--consistent unbiased: does not keep published margins; use --consistent integer.")
        try:
            require_whole_answers(mechanism)
        except InvalidProblem as reason:
            raise InvalidProblem(f"--consistent unbiased: {reason} Or use --consistent integer.") from reason

    def unbiased(self, released: Release) -> AgreeingTables:
        """Its random number is a hash of the release, so that all who have the release make the same."""
        whole = str((released.fingerprint, released.multiples, released.answers.tolist())).encode()
        found = whole_answers(released, SeededEntropy(int.from_bytes(hashlib.sha256(whole).digest(), "big")))
        words = f"{found.post_processing} The random number is a hash of the release, so that it always gives the same numbers."
        return AgreeingTables.joined(np.array(found.answers, dtype=np.float64), released.answer_tables(), words, True)


class HierarchyForm(GridForm):
    """Answers by the names of their queries, and the noisy counts of the groups."""

    def published(self, mechanism: GridMechanism, released: Release) -> list[dict[str, Any]]:
        return []


class HierarchyComposition(GridComposition[HierarchyMechanism]):
    """The same; every record moves a count by one."""

    def noise_of_laplace(self, made: HierarchyMechanism) -> Iterable[tuple[Fraction, int | None]]:
        return [(Fraction(rate), 1) for rate in np.unique(made.rates).tolist()]
