"""Design, comparison and least budget of marginal tables and of structured workloads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.designing.auto import NOTHING_MADE, cap_of, is_own, units_of
from designer.designing.comparison import Comparison, compare_linear, empty_row
from designer.designing.design_result import DesignOfKind
from designer.designing.least import LeastBudget, least_linear
from designer.designing.of_kinds import chosen_family, design_of_kind, options_apart
from designer.designing.problem_kinds import problem_kind
from designer.domains.marginals_least import LeastMarginals, least_marginal_budget, marginals_meeting
from designer.domains.marginals_noise import WIDE
from designer.domains.problem import MarginalProblem
from designer.domains.structured_problem import FAMILY, StructuredProblem
from designer.problem.targets import Targets
from designer.relations.metrics.presence import Presence
from designer.sampling.integer_gaussian import DiscreteGaussian

if TYPE_CHECKING:  # they bring solvers
    from designer.domains.products import StructuredMechanism
    from designer.domains.products_noise import Noise

CONTINUOUS = 1 - 1e-6  # a part of the variance of continuous noise that is all of it


def design_marginal(
    problem: MarginalProblem,
    /,
    family: str = "auto",
    *,
    targets: Targets | None = None,
    tolerance: float | None = None,
    **rest: Any,
) -> DesignOfKind:
    """Least loss by noise in residuals of marginals ("residual", zCDP) or by products of whole-number rows ("structured"; under
    zCDP without targets); "auto" takes the better one."""
    from designer.domains.marginals_plan import design_marginals

    start, (options, other) = time.perf_counter(), options_apart(rest)
    solver, settings = other.pop("solver", None) or "auto", other.pop("solver_options", None)
    chosen = chosen_family(problem, family, options, (), other)
    vacuous = problem.allow_vacuous
    if not is_own(solver):
        if family == "structured" or targets is not None:
            raise InvalidProblem(
                f"solver: {shown(solver)} is named, but the program of marginals has no targets and no products of rows; leave "
                "solver out, or use 'residual' without targets.",
                value=solver,
            )
        solved = problem_kind(problem).stated(problem).design(solver, **(settings or {}))
        return design_of_kind(problem, start, solved, solved.error(problem.loss))
    if targets is not None and problem.notion == "pure":
        from designer.domains.pure_marginals import ProductPlans

        aimed = ProductPlans(problem, targets).meeting()
        return design_of_kind(problem, start, aimed, aimed.error(problem.loss))
    if targets is not None and chosen != "residual":
        raise DesignFailed("family: 'structured' has no targets under zCDP; use 'residual'.", value=family)
    if chosen == "structured":
        products = products_of(problem)
        return design_of_kind(problem, start, products, products.error(problem.loss))
    asked = problem.workload, problem.relation
    if targets is not None:
        made = marginals_meeting(*asked, targets, problem.loss, tolerance=tolerance, allow_vacuous=vacuous)
    else:
        made = design_marginals(*asked, problem.loss, tolerance=tolerance, allow_vacuous=vacuous)
    best: Any = made
    if family == "auto" and targets is None and _may_be_narrow(problem) and not made.vacuous:
        try:
            products = products_of(problem)
            best = products if products.error(problem.loss) < made.error(problem.loss) else made
        except DesignFailed as failure:
            best = made.annotated({**made.provenance, "tried": {"structured": NOTHING_MADE + str(failure)}})
    return design_of_kind(problem, start, best, best.error(problem.loss))


def products_of(problem: MarginalProblem) -> StructuredMechanism:
    """The tables by products of rows of single attributes; `DesignFailed` where there are too many."""
    from designer.domains.products_plan import design_structured, with_whole_numbers
    from designer.domains.products_workload import StructuredWorkload
    from designer.domains.whole_products import too_many_terms

    if why := too_many_terms(len(problem.workload.subsets)):
        raise DesignFailed(why)
    asked = StructuredWorkload.of_marginals(problem.workload), problem.relation
    noise: Noise = "laplace" if problem.notion == "pure" else "gaussian"
    return (
        design_structured(*asked, noise) if problem.loss == "squared" else with_whole_numbers(*asked, noise, None, problem.loss)
    )


def _may_be_narrow(problem: MarginalProblem) -> bool:
    """Whether whole-number Gaussian noise can be less than continuous noise, of which noise in residuals has the least
    (docs/theory/structured.md, 4): a coordinate that a change of budget b moves keeps the share `b^2 v(1 / b^2)`."""
    budget = problem.relation.epsilon if isinstance(problem.relation, Presence) else problem.relation.largest_budget()
    variance = 1 / Fraction(budget) ** 2 if budget else Fraction(WIDE)
    return variance < WIDE and float(DiscreteGaussian([variance]).variance()[0] / variance) < CONTINUOUS


def compare_structured(
    problem: StructuredProblem,
    families: str | Sequence[str] | None = None,
    *,
    effort: str = "normal",
    seconds: float | None = None,
) -> Comparison:
    """The structured design beside those of the queries written out, where the domain is small."""
    from designer.designing.dispatch import design

    asked = families if families is None or not isinstance(families, str) else [families]
    rows: list[dict[str, Any]] = []
    designs: dict[str, Any] = {}
    if asked is None or FAMILY in asked:
        made = design(problem, FAMILY)
        gap = None if made.optimality is None else made.optimality.gap
        rows = [
            {
                **empty_row(FAMILY, ""),
                "loss": made.loss,
                "squared": made.loss,
                "gap": gap,
                "worst_ratio": made.privacy.ratio,
                "seconds": made.seconds,
            }
        ]
        designs = {FAMILY: made}
    others = None if asked is None else [name for name in asked if name != FAMILY]
    if (others is None and problem.is_small) or others:
        dense = compare_linear(problem.written_out(), others, effort=effort, seconds=seconds)
        return Comparison(dense.problem, [*rows, *dense.rows], {**designs, **dense.designs}, dense.limit, dense.remedy)
    return Comparison(problem, rows, designs)


def least_structured(problem: StructuredProblem, targets: Targets, family: str = "auto", **options: Any) -> LeastBudget:
    """Of small domains, by the queries written out; `InvalidProblem` for large ones."""
    if not problem.is_small:
        raise InvalidProblem(
            "problem: has too many queries or elements to write out, which a least budget needs; ask about fewer attributes, "
            "or "
            "give `design` other budgets until `variances` are small enough."
        )
    return least_linear(problem.written_out(), targets, family, **options)


def least_marginal(
    problem: MarginalProblem,
    targets: Targets,
    family: str = "auto",
    *,
    step: float = 1e-4,
    effort: str = "normal",
    seconds: float | None = None,
    **options: Any,
) -> LeastMarginals:
    """The least factor on the budgets at which every table meets its target. No design of tables depends on an effort."""
    units_of(effort), cap_of(seconds)
    if family not in ("auto", problem.families[0]) or options:
        chosen_family(problem, family, options, (), {})
        raise InvalidProblem(f"family: {shown(family)} has no least budget; use {problem.families[0]!r}.", value=family)
    if problem.notion == "pure":
        from designer.domains.pure_marginals import ProductPlans

        return ProductPlans(problem, targets).least(step)
    asked = problem.workload, problem.relation
    return least_marginal_budget(*asked, targets, step=step, allow_vacuous=problem.allow_vacuous)
