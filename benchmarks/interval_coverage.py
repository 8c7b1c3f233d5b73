"""How often the intervals of released answers hold the truth, for every family and kind of release, and how wide they are.

For each case and level, over fresh draws of the exact sampler: the least coverage of a single answer, the coverage of all at
once (with limits that hold it with 95 % confidence, Clopper and Pearson), and how often the normal rule, that many standard
errors, holds the answer that it holds least often. Widths are told by the shortest symmetric interval that the same draws show
to hold so often: the largest quotient of an answer, and the factor that all intervals at once could shrink by. Laws on whole
numbers hold more than was asked for where the next atom would hold less, bounds for any data hold far more. `UNMEASURED` says
what is not here, and why.

    OMP_NUM_THREADS=1 python -m benchmarks.interval_coverage [--draws N] [--json FILE] [WORDS OF NAMES]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from designer import (
    Domain,
    MarginalWorkload,
    Presence,
    Problem,
    StatisticalQueries,
    StructuredWorkload,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.averages.averages import separable
from designer.base.arrays import Floats
from designer.certificate.norms import Norm, NormOrder
from designer.designing.laplace import subspace_mechanism
from designer.domains.marginals import reach_of_cells
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.domains.products_release import reach_of_terms
from designer.lattice.chain import ChainPlan
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.mechanism.interface import reach_of_answers
from designer.mechanism.release import known_errors
from designer.sampling.entropy import Entropy, SeededEntropy
from designer.synthetic.multiplicative import MWEM, mwem
from designer.synthetic.small_databases import SmallDB, small_db
from designer.tables import Average, Count, Groups, Measure, PureSum, SlowlyScaledSum, StudentNoise, Sum, TablePlan
from designer.tables import TransformedNoise as Transformed
from designer.tables.answers import Answer, Answers
from designer.tables.intervals import limits_of_answers
from designer.tables.scans import answer_of, noisy_integers, ratio_of

LEVELS = (0.5, 0.9, 0.95, 0.99)
SEED = 20_261_122
PUBLIC = Domain.of({"sex": ["F", "M"], "age": 4})
Margins = Callable[[float, bool], Floats]
UNMEASURED = {
    "k_norm_joint": "the noise of k_norm, with a bias as laplace_joint has it",
    "gaussian_joint": "the noise of gaussian, with a bias as laplace_joint has it",
    "custom": "noise of one's own, which has the law of one of the other families or is a chain",
    "dp-designer/selection": "releases the name of a candidate, no numbers",
    "dp-designer/channel": "intervals by Bernstein's inequality, for any data, with simulated collections of their own",
    "dp-designer/odds-ratio-test": "releases a p-value, which has no interval; that of the odds ratio has tests of its own",
}


@dataclass(frozen=True)
class Symmetric:
    """Noise around answers, (size, K), its margins, its standard errors, and the family and format that it is of."""

    noise: Callable[[int, Entropy], Floats]
    margins: Margins
    errors: Floats
    family: str
    format: str

    def measured(self, level: float, draws: int) -> dict[str, float]:
        """Coverage and widths at one level."""
        sizes = np.abs(self.noise(draws, SeededEntropy(SEED)))
        each, joint = self.margins(level, False), self.margins(level, True)
        noisy = (each > 0) | (joint > 0)
        shortest = np.quantile(sizes[:, noisy], level, axis=0, method="inverted_cdf")
        with np.errstate(divide="ignore", invalid="ignore"):
            wider = np.where(shortest > 0, each[noisy] / shortest, 1.0)
            ratios = np.where(joint[noisy] > 0, sizes[:, noisy] / joint[noisy], np.where(sizes[:, noisy] > 0, np.inf, 0.0))
        together = float(np.quantile(ratios.max(axis=1), level, method="inverted_cdf"))
        rule = float(norm.isf((1 - level) / 2)) * self.errors
        return {
            "each": float((sizes <= each).mean(axis=0).min()),
            "each_width": float(wider.max()),
            "all": float((sizes <= joint).all(axis=1).mean()),
            "all_width": 1 / together if together > 0 else 1.0,
            "normal_rule": float((sizes <= rule).mean(axis=0).min()),
        }


@dataclass(frozen=True)
class Plan:
    """A plan over a table whose exact numbers, in steps, are known: its intervals depend on the noisy numbers."""

    plan: TablePlan
    exact: dict[str, tuple[int, ...]]
    truth: dict[str, Floats]
    family = ""

    @property
    def format(self) -> str:
        return self.plan.format

    def released(self, entropy: Entropy) -> Answers:
        """One release of the exact numbers."""
        made: dict[str, Answer] = {}
        for part in self.plan.noisy:
            keys = part.groups.keys
            assert keys is not None
            made[part.name] = answer_of(part, keys, noisy_integers(part, keys, self.exact[part.name], entropy))
        for query in self.plan.queries:
            if isinstance(query, Average):
                made[query.name] = ratio_of(query, *(made[part.name] for part in query.parts))
        return Answers(made)

    def measured(self, level: float, draws: int) -> dict[str, float]:
        """Coverage at one level; widths beside the shortest symmetric interval of the same width in every draw."""
        entropy, hits, off, widths = SeededEntropy(SEED), [], [], []
        both = []
        for _ in range(draws):
            answers = self.released(entropy)
            truth = np.concatenate([self.truth[name] for name in answers.answers])
            values = np.concatenate([answer.values for answer in answers.answers.values()])
            each = limits_of_answers(self.plan.queries, self.plan.noisy, answers, level, False)
            joint = limits_of_answers(self.plan.queries, self.plan.noisy, answers, level, True)
            hits.append((each.lower <= truth) & (truth <= each.upper))
            both.append(bool(((joint.lower <= truth) & (truth <= joint.upper)).all()))
            off.append(np.abs(values - truth))
            widths.append((each.upper - each.lower) / 2)
        shortest = np.quantile(np.array(off), level, axis=0, method="inverted_cdf")
        wider = np.where(shortest > 0, np.median(np.array(widths), axis=0) / np.where(shortest > 0, shortest, 1.0), 1.0)
        return {
            "each": float(np.array(hits).mean(axis=0).min()),
            "each_width": float(wider.max()),
            "all": float(np.mean(both)),
            "all_width": np.nan,
            "normal_rule": np.nan,
        }


@dataclass(frozen=True)
class Bounded:
    """A synthetic histogram of public counts, whose answers have a proven bound: the same for each and for all at once."""

    mechanism: MWEM | SmallDB
    counts: tuple[int, ...]
    family = ""

    @property
    def format(self) -> str:
        return self.mechanism.format

    def measured(self, level: float, draws: int) -> dict[str, float]:
        """Coverage at one level, and the bound beside the quantile of the largest error."""
        truth = self.mechanism.queries.workload.answer(np.array(self.counts))
        made = [self.mechanism.simulate(1, seed=SEED + k, data=self.counts)[0].answers for k in range(draws)]
        off, bound = np.abs(np.array(made) - truth), self.mechanism.bound(1 - level)
        largest = float(np.quantile(off.max(axis=1), level, method="inverted_cdf"))
        return {
            "each": float((off <= bound).mean(axis=0).min()),
            "each_width": float((bound / np.quantile(off, level, axis=0, method="inverted_cdf")).max()),
            "all": float((off <= bound).all(axis=1).mean()),
            "all_width": bound / largest,
            "normal_rule": np.nan,
        }


Measured = Symmetric | Plan | Bounded


def of_mechanism(mechanism: Any) -> Symmetric:
    """A mechanism for linear queries."""
    errors = known_errors(mechanism)
    return Symmetric(
        mechanism.noise_in_answers,
        lambda level, joint: reach_of_answers(mechanism, level, joint)[0],
        np.full(mechanism.workload.shape[0], np.nan) if errors is None else errors,
        mechanism.family,
        mechanism.format,
    )


def of_reach(reach: Any, errors: Floats, format: str) -> Symmetric:
    """Marginals and structured answers."""
    return Symmetric(reach.draw, lambda level, joint: reach.margins(level, joint)[0], errors, "", format)


def biased() -> Symmetric:
    """Answers fitted to two records, as far off as two records can be in every answer: the error is noise and bias."""
    asked = Workload([[0, 1, 2, 3], [5, 1, 0, 2]])
    relation = metrics.euclidean(np.arange(4.0)[:, None] / 4)
    found = of_mechanism(made := design(Problem(asked, relation, records=2.0), "laplace_joint").mechanism)
    off = 2 * made.rounding()

    def noise(size: int, entropy: Entropy) -> Floats:
        return np.asarray(found.noise(size, entropy) + off)

    return Symmetric(noise, lambda level, joint: found.margins(level, joint) + off, found.errors, made.family, made.format)


def kept(family: str, notion: str = "pure") -> Callable[[], Symmetric]:
    """A table with both margins published, by noise for single records."""
    problem = Problem(Workload.identity(9), invariants.margins((3, 3)).protect(1.0), notion=notion)
    if family == "subspace":
        return lambda: of_mechanism(subspace_mechanism(problem))
    return lambda: of_mechanism(design(problem, family).mechanism)


def chain(order: NormOrder) -> Callable[[], Symmetric]:
    """Integer noise on tables of two rows and columns by a Markov chain."""
    walk, relation = ChainPlan(steps=60, decay=0.5, lag=60, pairs=60), invariants.margins((2, 2)).protect(0.5, 2)
    norm = Norm(np.full(4, 0.125), order)
    return lambda: of_mechanism(LatticeMechanism("custom", Workload.identity(4), relation, norm, chain=walk))


def synthetic(make: Callable[..., MWEM | SmallDB], size: int) -> Callable[[], Bounded]:
    """Two averages over 30 records at four places."""
    asked = Workload([[0.1, 0.9, 0.4, 0.7], [0.8, 0.2, 0.6, 0.0]])
    relation = metrics.euclidean([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    return lambda: Bounded(make(Problem(asked, relation, records=30), size), (20, 2, 7, 1))


def additive(family: str, **options: Any) -> Callable[[], Symmetric]:
    """Counts of sexes by age, or running totals of them where these are asked for otherwise than answered."""
    notion = options.pop("notion", "pure")
    totals = "strategy" in family or family in ("k_norm", "hierarchy")
    asked = Workload.prefix(PUBLIC) if totals else Workload.identity(PUBLIC)
    relation = options.pop("relation", metrics.hamming(PUBLIC, [0.5, 1.0]))
    return lambda: of_mechanism(design(Problem(asked, relation, notion=notion, **options), family).mechanism)


def lattice(family: str, notion: str, sides: tuple[int, int], **options: Any) -> Callable[[], Symmetric]:
    """A table with both margins published."""
    relation = invariants.margins(sides).protect(1.0)
    problem = Problem(Workload.identity(sides[0] * sides[1]), relation, notion=notion)
    return lambda: of_mechanism(design(problem, family, **options).mechanism)


def nested() -> Symmetric:
    """Counts of groups within groups, by least squares of noisy ones."""
    groups = np.vstack([np.ones(9), np.repeat(np.eye(3), [2, 3, 4], axis=1), np.eye(9)])
    rates = np.array([0.125, *[0.25] * 3, *[0.625] * 9])
    return of_mechanism(HierarchyMechanism("hierarchy", Workload(groups), metrics.add_remove(9, 1.0), groups, rates))


def staircase(queries: Any, relation: Any) -> Callable[[], Symmetric]:
    """Noise of least loss."""
    return lambda: of_mechanism(design(Problem(Workload(queries), relation), "staircase").mechanism)


def of_counts(family: str) -> Symmetric:
    """Noise of counts in closed form, and of the sum of two of them."""
    asked = Workload(np.vstack([np.eye(4), [1.0, 1, 0, 0]]))
    if family == "by_moves":
        return of_mechanism(design(Problem(asked, metrics.uniform(4, 1.0)), family).mechanism)
    return of_mechanism(design(Problem(asked, metrics.add_remove(4, 1.0), "approximate", delta=0.01), family).mechanism)


def marginals(epsilon: float) -> Symmetric:
    """Tables of a domain of three attributes."""
    domain = Domain.of({"a": 3, "b": 4, "c": 2})
    made = design_marginals(MarginalWorkload.of(domain, [("a", "b"), ("b", "c"), ()]), Presence(mu=epsilon))
    names = map(made.workload.names, made.workload.subsets.tuples())
    errors = np.sqrt(np.concatenate([made.variances(own).ravel() for own in names]))
    return of_reach(reach_of_cells(made), errors, made.format)


def structured(noise: Any) -> Symmetric:
    """Products of running totals, ranges and counts."""
    domain = Domain.of({"a": 3, "b": 4, "c": 2})
    asked = [{"a": "prefix", "b": "identity"}, {"b": "ranges"}, {"c": "identity"}]
    made = design_structured(
        StructuredWorkload.of(domain, asked), Presence(**{"mu" if noise == "gaussian" else "epsilon": 0.5}), noise
    )
    places = [np.argwhere(np.ones([q.count for q in term.values()], dtype=bool)) for term in made.workload.terms]
    variances = [made.variances(term, own) for term, own in enumerate(places)]
    return of_reach(reach_of_terms(made), np.sqrt(np.concatenate(variances)), made.format)


def averages() -> Symmetric:
    """Biased averages over 200 records: the error is noise and bias."""
    people = Domain.of({"age": range(20, 70), "sex": ["F", "M"]})
    budgets = {"age": metrics.euclidean(list(range(20, 70)), per_unit=0.0005), "sex": 0.004}
    asked = StatisticalQueries.of(people, {"mean age": ("age", float), "women": ("sex", {"F": 1, "M": 0})}, budgets)
    made = separable(asked, 200)
    rows = [{"age": str(20 + k % 3), "sex": "F"} for k in range(200)]
    off = (made.effective - asked.workload.dense()) @ asked.histogram(rows) / 200
    biases = asked.biases(made)

    def noise(size: int, entropy: Entropy) -> Floats:
        return np.asarray(made.noise_in_answers(size, entropy) / 200 + off)

    return Symmetric(
        noise,
        lambda level, joint: reach_of_answers(made, level, joint)[0] / 200 + biases,
        made.standard_errors() / 200,
        made.family,
        made.format,
    )


def plan() -> Plan:
    """Every kind of number of a table plan, by sector and for all."""
    sectors, pay = Groups(["sector"], [["farm"], ["mine"], ["shop"]]), Measure("pay", upper=1000)
    log, root = Transformed("log", 50, "0.1"), Transformed("root", 100, 2)
    queries = (
        Count("n", sectors, variance=(2, 9, 400)),
        Sum("total", Groups(), variance=10**6, measure=pay),
        PureSum("pure", sectors, measure=pay, scale=300),
        SlowlyScaledSum("student", sectors, measure=pay, noise=StudentNoise.of_deviation(500)),
        SlowlyScaledSum("log", sectors, measure=pay, noise=log),
        SlowlyScaledSum("root", sectors, measure=pay, noise=root),
        Average("mean", sectors, (), pay, 10**5, 9),
    )
    counts, sums = (4, 40, 900), (1200, 11_000, 500_000)
    named = dict.fromkeys(("pure", "student", "log", "root", "mean.sum"), sums)
    exact = {**named, "n": counts, "total": (sum(sums),), "mean.count": counts}
    truth = {name: np.array(own, dtype=np.float64) for name, own in exact.items()}
    return Plan(TablePlan(queries), exact, {**truth, "mean": np.array(sums) / np.array(counts)})


CASES: dict[str, Callable[[], Measured]] = {
    **{name: additive(name) for name in ("laplace", "projected_laplace", "k_norm", "ellipsoid", "box", "bundles", "capped_l1")},
    **{
        name: additive(name)
        for name in (
            "l2_ball",
            "strategy_laplace",
            "strategy_geometric",
            "strategy_1",
            "strategy_2",
            "strategy_3",
            "uniform_budget",
        )
    },
    **{name: additive(name, notion="zcdp") for name in ("gaussian", "diagonal_gaussian", "isotropic_gaussian")},
    "strategy_gaussian": additive("strategy_gaussian", notion="zcdp"),
    "hierarchy": additive("hierarchy", relation=metrics.add_remove(8, 1.0)),
    "laplace_joint, with its bias": biased,
    **{name: kept(name) for name in ("group_laplace", "group_l2_ball", "group_box")},
    "group_gaussian": kept("group_gaussian", "zcdp"),
    "subspace_laplace": kept("subspace"),
    "subspace_gaussian": kept("subspace", "zcdp"),
    "approximate gaussian": additive("gaussian", notion="approximate", delta=1e-6),
    "approximate laplace": additive("laplace", notion="approximate", delta=1e-6),
    "coarse laplace": additive("laplace", relation=metrics.hamming(PUBLIC, [4.0, 6.0])),
    "hierarchy, its own kind": nested,
    "staircase, one number": staircase([[1]], metrics.add_remove(1, 1.0)),
    "counts by moves": lambda: of_counts("by_moves"),
    "counts under (epsilon, delta)": lambda: of_counts("truncated_geometric"),
    "staircase, two dimensions": staircase([[1, -1], [1, 0], [0, 1]], metrics.add_remove(2, 0.7)),
    "lattice_laplace l1": lattice("lattice_laplace", "pure", (3, 4), shape="l1"),
    "lattice_laplace l2": lattice("lattice_laplace", "pure", (3, 3), shape="l2"),
    "lattice_laplace hull": lattice("lattice_laplace", "pure", (3, 3), shape="hull"),
    "lattice_laplace, one direction": lattice("lattice_laplace", "pure", (2, 2)),
    "lattice_gaussian": lattice("lattice_gaussian", "zcdp", (3, 4)),
    "lattice_rows": lattice("lattice_rows", "pure", (3, 4)),
    "lattice chain l1": chain("l1"),
    "lattice chain l2": chain("l2"),
    "marginals, wide noise": lambda: marginals(0.05),
    "marginals, narrow noise": lambda: marginals(1.0),
    "structured, gaussian": lambda: structured("gaussian"),
    "structured, laplace": lambda: structured("laplace"),
    "averages with a bias": averages,
    "table plan": plan,
    "mwem, a bound": synthetic(mwem, 4),
    "small_db, a bound": synthetic(small_db, 3),
}


def limits(share: float, draws: int) -> tuple[float, float]:
    """Limits of a probability from the share of some draws, with 95 % confidence (Clopper and Pearson)."""
    hits = round(share * draws)
    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, draws - hits + 1))
    return low, 1.0 if hits == draws else float(beta.ppf(0.975, hits + 1, draws - hits))


def rows(names: list[str], draws: int) -> Iterator[dict[str, Any]]:
    """A row for each case and level."""
    for name in names:
        start = time.perf_counter()
        case = CASES[name]()
        for level in LEVELS:
            size = draws if isinstance(case, Symmetric) else max(100, draws // 10)
            found = case.measured(level, size)
            seconds = time.perf_counter() - start
            yield {
                "case": name,
                "level": level,
                "draws": size,
                **found,
                "all_limits": limits(found["all"], size),
                "seconds": seconds,
            }


def main() -> None:
    """Print the table, and write it where it is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = [name for name in CASES if not options.words or any(word in name for word in options.words)]
    print(f"{'case':32}{'level':>7}{'each':>9}{'width':>8}{'all':>9}{'limits':>18}{'width':>8}{'normal rule':>13}")
    found = []
    for row in rows(names, options.draws):
        found.append(row)
        low, high = row["all_limits"]
        print(
            f"{row['case']:32}{row['level']:7}{row['each']:9.4f}{row['each_width']:8.3f}{row['all']:9.4f}"
            f"{f'{low:.4f}..{high:.4f}':>18}{row['all_width']:8.3f}{row['normal_rule']:13.4f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    sys.exit(main())
