"""Design, comparison and least budget of problems that are not linear queries: their builders, behind the same three verbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from designer.base.checks import near, shown
from designer.base.display import at_least, at_most
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import step
from designer.certificate.frozen import Specified
from designer.designing.auto import NOTHING_MADE, cap_of, units_of
from designer.designing.comparison import Comparison, compare_linear, empty_row
from designer.designing.design_result import Design, DesignOfKind
from designer.designing.least import LeastBudget, least_linear
from designer.designing.problems import HierarchyProblem, MarginalProblem, PlanProblem, SelectionProblem, SyntheticProblem
from designer.domains.marginals_least import LeastMarginals, least_marginal_budget, marginals_meeting
from designer.domains.marginals_noise import WIDE
from designer.domains.protection import Presence
from designer.domains.structured_problem import FAMILY, StructuredProblem
from designer.local.design import loss_asked
from designer.local.problem import ReportProblem
from designer.problem.targets import Targets
from designer.relations.problem import Problem
from designer.sampling.integer_gaussian import DiscreteGaussian

if TYPE_CHECKING:  # they bring solvers
    from designer.domains.products import StructuredMechanism
    from designer.domains.products_noise import Noise

CONTINUOUS = 1 - 1e-6  # a part of the variance of continuous noise that is all of it
BETA = 0.05  # of what a loss is exceeded with
Settings = Mapping[str, Any]


def _chosen(problem: Any, family: str, options: Settings, known: Sequence[str], rest: Settings) -> str:
    """The family that is asked for, the first for "auto"; refused where family, options, targets or solver are unknown."""
    if not isinstance(family, str) or family not in ("auto", *problem.families):
        raise InvalidProblem(
            f"family: {shown(family)} is unknown to a {type(problem).__name__}{near(family, problem.families)}; use "
            f"{' or '.join(map(repr, ('auto', *problem.families)))}.",
            value=family,
        )
    given = {**options, **{name: value for name, value in rest.items() if value not in (None, "auto")}}
    if unknown := sorted(set(given) - set(known)):
        raise InvalidProblem(
            f"options: {shown(unknown)} unknown to a {type(problem).__name__}, which takes {list(known) or 'none'}; leave "
            "them out.",
            value=unknown,
        )
    return problem.families[0] if family == "auto" else family


def _made(problem: Any, start: float, mechanism: Any, loss: float) -> DesignOfKind:
    return DesignOfKind(problem, mechanism, time.perf_counter() - start, loss)


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

    start, (options, other) = time.perf_counter(), _apart(rest)
    chosen = _chosen(problem, family, options, (), other)
    vacuous = problem.allow_vacuous
    if targets is not None and problem.notion == "pure":
        from designer.domains.pure_marginals import pure_tables_meeting

        aimed = pure_tables_meeting(problem, targets)
        return _made(problem, start, aimed, aimed.error(problem.loss))
    if targets is not None and chosen != "residual":
        raise DesignFailed("family: 'structured' has no targets under zCDP; use 'residual'.", value=family)
    if chosen == "structured":
        products = products_of(problem)
        return _made(problem, start, products, products.error(problem.loss))
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
    return _made(problem, start, best, best.error(problem.loss))


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


def design_selection(problem: SelectionProblem, /, family: str = "auto", **rest: Any) -> DesignOfKind:
    """The exponential mechanism, or permute-and-flip, at the largest private rate."""
    from designer.selection.mechanism import best_selection

    start, (options, other) = time.perf_counter(), _apart(rest)
    chosen: Any = _chosen(problem, family, options, (), other)
    made = best_selection(problem.score, problem.relation, chosen, problem.constant)
    return _made(problem, start, made, made.shortfall_bound(BETA))


def design_synthetic(problem: SyntheticProblem, /, family: str = "auto", **rest: Any) -> DesignOfKind:
    """MWEM or SmallDB; "auto" takes the one of the smaller bound. options: those of the builder."""
    from designer.synthetic.multiplicative import mwem
    from designer.synthetic.small_databases import small_db

    start, (options, other) = time.perf_counter(), _apart(rest)
    builders: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
        "mwem": (mwem, ("rounds", "constant", "selection", "output", "choice")),
        "small_db": (small_db, ("size", "constant", "exponent", "selection")),
    }
    if family == "auto":
        if options:
            raise InvalidProblem(f"options: {shown(sorted(options))} unknown to 'auto'; name a family beside them.")
        found = []
        for name in problem.families:
            try:
                found.append(design_synthetic(problem, name, **other))
            except DesignFailed as failure:
                last = failure
        if not found:
            raise last
        return replace(min(found, key=lambda one: one.loss), seconds=time.perf_counter() - start)
    build, known = builders.get(family, (mwem, ()))
    _chosen(problem, family, options, known, other)
    made = build(problem.linear, **options)
    return _made(problem, start, made, made.bound(BETA))


def design_report(problem: ReportProblem, /, family: str = "auto", **rest: Any) -> DesignOfKind:
    """A channel for one person's own report; "auto" takes the best one, or where that is too large the best mixture of poles,
    for estimates the exponential mechanism."""
    from designer.local.design import OPTIONS, build_channel, loss_of

    start, (options, other) = time.perf_counter(), _apart(rest)
    if (targets := other.pop("targets", None)) is not None:
        asked = loss_asked(targets)
        found = design_report(problem, family, **options, **other)
        if found.loss > asked:
            bound = 0.0 if found.optimality is None else found.optimality.lower_bound
            beyond = f", and no private channel has less than {at_least(bound, 6)}" if bound > asked else ""
            raise DesignFailed(
                f"targets.loss: {shown(asked)} is asked for, and {at_most(found.loss, 6)} is reached at these budgets{beyond}; "
                "ask for less accuracy, or let `least_budget` (`dp-designer budget`) say which budgets are enough.",
                value=asked,
            )
        return found
    solver, settings = other.pop("solver", "auto"), other.pop("solver_options", None)
    chosen = _chosen(problem, family, options, OPTIONS.get(family, ()), other)
    if solver not in (None, "auto"):
        from designer.programs.channel_program import ChannelProgram

        if chosen != "channel" or options:
            raise InvalidProblem(
                f"solver: {shown(solver)} is named, but no program states family {chosen!r} with options {sorted(options)}; "
                "leave solver out, or use 'channel' without options.",
                value=solver,
            )
        solved = ChannelProgram(problem).design(solver, **(settings or {}))
        return _made(problem, start, solved, loss_of(problem, solved))
    try:
        made = build_channel(problem, chosen, **options)
    except DesignFailed:
        if family != "auto":
            raise
        made = build_channel(problem, "poles" if problem.queries is None else "exponential")
    return _made(problem, start, made, loss_of(problem, made))


def design_hierarchy(
    problem: HierarchyProblem, /, family: str = "auto", *, tolerance: float = 1e-6, **rest: Any
) -> DesignOfKind:
    """The plan whose consistent answers meet all targets at the least functional of the exact policy."""
    from designer.tables.records import design_table_plan

    start, (options, other) = time.perf_counter(), _apart(rest)
    _chosen(problem, family, options, (), other)
    made = design_table_plan(
        problem.levels,
        problem.measures,
        problem.accuracies,
        problem.prior,
        where=problem.where,
        beside=problem.beside,
        splitting=problem.splitting,
        families=problem.shared,
        tolerance=tolerance,
        unlisted=problem.unlisted,
    )
    assert made.optimality is not None
    return _made(problem, start, made, made.optimality.value)


def design_plan(problem: PlanProblem, /, family: str = "auto", *, targets: Targets | None = None, **rest: Any) -> DesignOfKind:
    """The plan of these queries, with the widest noise that the targets allow where there are some."""
    from designer.tables.least import least_plan
    from designer.tables.plan import TablePlan

    start, (options, other) = time.perf_counter(), _apart(rest)
    _chosen(problem, family, options, (), other)
    queries = tuple(problem.queries) if targets is None else least_plan(problem.queries, targets).queries
    made = TablePlan(queries, problem.splitting, unlisted=problem.unlisted)
    _, budgets = made.told_budgets()
    return _made(problem, start, made, 0.0 if budgets is None else float(budgets.max()))


def _apart(rest: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of a builder, and what `design` is given for every kind, but for an effort: there is no search."""
    shared = ("targets", "solver", "solver_options", "seconds")
    return (
        {name: value for name, value in rest.items() if name not in (*shared, "effort")},
        {name: rest[name] for name in shared if name in rest},
    )


def compare_own(
    problem: Any,
    families: str | Sequence[str] | None = None,
    *,
    effort: str = "normal",
    seconds: float | None = None,
) -> Comparison:
    """The families of a kind side by side, each run to its end; see `designer.compare`."""
    units_of(effort), cap_of(seconds)
    asked = problem.families if families is None else [families] if isinstance(families, str) else families
    from designer.designing.dispatch import design, reason

    rows: list[dict[str, Any]] = []
    designs: dict[str, Any] = {}
    if not asked:
        raise InvalidProblem("families: empty; name at least one family, or pass None for all.")
    for name in asked:
        _chosen(problem, name, {}, (), {})
        try:
            with step(name):
                made = design(problem, name)
        except DesignFailed as failure:
            rows.append(empty_row(name, reason(failure)))
            continue
        gap = None if made.optimality is None else made.optimality.gap
        ratio = getattr(made.privacy, "ratio", None)
        own = {"loss": made.loss, "gap": gap, "worst_ratio": ratio, "seconds": made.seconds}
        rows.append({**empty_row(name, ""), **own})
        designs[name] = made
    if (
        isinstance(problem, ReportProblem)
        and problem.queries is not None
        and (words := _with_a_trusted_holder(problem, effort))
    ):
        rows = [{**row, "note": words} if row["family"] in designs else row for row in rows]
    return Comparison(problem, rows, designs)


def _with_a_trusted_holder(problem: ReportProblem, effort: str) -> str:
    """What the estimates of an own report would be off by if somebody held the values and added noise to the answers."""
    from designer.designing.dispatch import design

    assert problem.queries is not None
    try:
        made = design(Problem(problem.queries, problem.metric), effort=effort)
    except (DesignFailed, InvalidProblem):
        return ""
    return (
        "loss is for each person: n times as much for the reports of n people; with a trusted holder of the values, who adds "
        f"noise to the answers under the same budgets, squared errors add up to {at_most(made.loss, 4)}, however many people "
        f"there are ({made.mechanism.family})"
    )


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
        _chosen(problem, family, options, (), {})
        raise InvalidProblem(f"family: {shown(family)} has no least budget; use {problem.families[0]!r}.", value=family)
    if problem.notion == "pure":
        from designer.domains.pure_marginals import least_pure_budget

        return least_pure_budget(problem, targets, step=step)
    asked = problem.workload, problem.relation
    return least_marginal_budget(*asked, targets, step=step, allow_vacuous=problem.allow_vacuous)


@dataclass(frozen=True, eq=False)
class LeastPlan:
    """The plan of least loss for every record at once whose noisy numbers meet their targets: no factor on all budgets does
    better for any record, so there is none. design: the plan, certified. targets: what it meets."""

    problem: PlanProblem
    targets: Targets
    design: Design[Any]

    @property
    def mechanism(self) -> Specified:
        """The plan."""
        made: Specified = self.design.mechanism
        return made


def least_plan_of(problem: PlanProblem, targets: Targets, family: str = "auto", **options: Any) -> LeastPlan:
    """The widest noise that each target allows, which costs every record least."""
    return LeastPlan(problem, targets, design_plan(problem, family, targets=targets, **options))


def no_least(problem: Any, targets: object, family: str = "auto", **options: Any) -> LeastBudget:
    """`InvalidProblem`: nothing is stated of the answers of this kind that targets could be held against."""
    what = {
        "SelectionProblem": "a choice has no standard error; compare `design(problem).loss` at other budgets",
        "SyntheticProblem": "the errors of synthetic data depend on the data; compare `design(problem).loss` at other budgets",
        "HierarchyProblem": "its targets are its own (`accuracies`), and `design(problem)` meets them at the least loss",
    }[type(problem).__name__]
    raise InvalidProblem(f"problem: a {type(problem).__name__} has no least budget: {what}; use design.", value=problem)
