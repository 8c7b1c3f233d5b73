"""How precisely each residual is measured: the convex program of docs/theory/marginals.md, 3, and its mechanism."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import probability, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import step
from designer.base.version import VERSION
from designer.certificate.guarantee import bounded
from designer.domains.marginals import MarginalMechanism
from designer.domains.marginals_noise import mean_variances
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.mechanism import MARGIN, Change, Protection, changes, load_matrix
from solvers.programs.budget_shares import minimise_cost
from solvers.solution import Solution
from solvers.work import one_thread

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Loss = Literal["squared", "max"]
OBJECTIVES = {
    "squared": "sum over all cells of weight times variance, of noise in residuals",
    "max": "largest weight times variance of a cell, of noise in residuals",
}
CONTINUOUS = 1 - 1e-9  # a part of the variance of continuous noise that is all of it, in a bound
FAINTEST = 1e-30  # parts below are 0 in a bound
ROUNDED = 1 - 1e-12  # for the floats that variances are added up in
WHOLE = "at the variances that whole-number noise has at least"


@step("designing marginals")
@one_thread()
def design_marginals(
    workload: MarginalWorkload,
    protection: Protection,
    loss: Loss = "squared",
    *,
    tolerance: float | None = None,
    allow_vacuous: bool = False,
) -> MarginalMechanism:
    """The Gaussian mechanism of least loss among all that answer these marginals without bias, certified.

    protection: `metrics.hamming(domain, budgets)`, a budget for each attribute (infinite: unprotected) with the number of
    records public, or `Presence(mu=...)`. loss: "squared" (total) or "max", of variances times the workload's weights.
    tolerance: relative gap, 1e-9 for "squared" and 1e-6 for "max" unless given. Time depends on the number of subsets only.
    allow_vacuous: accept tables that no protected change moves, which are all published exactly; they are refused otherwise.
    Tables of running totals, intervals or windows along some attributes: `design_structured` in
    `designer.domains`, of
    `StructuredWorkload.of_marginals(workload, {"age": "prefix"})`.

    >>> from designer import metrics
    >>> from designer.problem.domain import Domain
    >>> domain = Domain.of({f"a{i}": 10 for i in range(20)})
    >>> made = design_marginals(MarginalWorkload.up_to(domain, 2), metrics.hamming(domain, [0.5] * 10 + [1.0] * 10))
    >>> made.optimality.gap < 1e-8, float(made.cell_variance(["a0"])) > float(made.cell_variance(["a19"]))
    (True, True)
    """
    if not isinstance(workload, MarginalWorkload) or not isinstance(protection, Protection):
        raise InvalidProblem(
            "workload, protection: give a MarginalWorkload, and `metrics.hamming(domain, budgets)` or `Presence(mu=...)`. "
            "a StructuredProblem takes tables with running totals or intervals, and metrics on the values of attributes."
        )
    if not isinstance(loss, str) or loss not in OBJECTIVES:
        raise InvalidProblem(f'loss: {shown(loss)} is unknown; use "squared" or "max".', value=loss)
    reached = (1e-9 if loss == "squared" else 1e-6) if tolerance is None else probability(tolerance, "tolerance")
    precisions, bound, method = _planned(workload, protection, loss, reached)
    made = MarginalMechanism(workload, protection, precisions, allow_vacuous=allow_vacuous)
    value = made.error(loss)
    claim = bounded(OBJECTIVES[loss], value, bound, method, value * (len(precisions) + 16) * 2.0**-50)
    provenance = {
        "software": f"dp-designer {VERSION}",
        "family": "residual",
        "loss": loss,
    }
    return made.annotated(provenance, claim)


def _planned(workload: MarginalWorkload, protection: Protection, loss: Loss, tolerance: float) -> tuple[Floats, float, str]:
    """Precisions that keep every promise exactly; a loss that no plan of residuals goes below, and how it is proven."""
    found = changes(protection, workload.domain, workload.measured)
    precisions = np.full(len(workload.measured), np.inf)
    if not found:
        return precisions, 0.0, "no protected change moves these marginals"
    loads = load_matrix(found, len(precisions))
    moved = np.unique(np.concatenate([change.members for change in found]))
    scaled = workload.weights * (workload.cells if loss == "squared" else 1.0)
    if loss == "squared":
        costs: csr_array | Floats = workload.summed_variances(scaled)[None, moved]
    else:
        costs = _scaled_rows(workload.cell_variances[:, moved], scaled)
    solution: Solution[Floats] = minimise_cost(_columns(loads, moved), costs, tolerance=tolerance)
    if not solution.status.usable or not np.isfinite(solution.value):
        raise DesignFailed(f"marginals: {solution.status.value}")
    precisions[moved] = solution.point
    precisions = private_precisions(found, precisions, moved)
    kept = whole_parts(workload, found, moved)
    if kept.min() >= CONTINUOUS:
        return precisions, solution.lower_bound * float(kept.min()), solution.method
    return precisions, _bound_on_whole_numbers(loads[:, moved], costs, kept, tolerance), f"{solution.method}; {WHOLE}"


def private_precisions(found: list[Change], precisions: Floats, moved: NDArray[np.intp]) -> Floats:
    """Precisions, (M,), multiplied where some change moves them by what keeps every promise exactly, at most by 2."""
    made = np.array(precisions)
    worst = max(change.load(made) for change in found)
    made[moved] *= float(1 / max(worst, Fraction(1, 2))) * MARGIN
    return made


def _bound_on_whole_numbers(loads: csr_array | Floats, costs: csr_array | Floats, kept: Floats, tolerance: float) -> float:
    """The bound of the program whose costs are multiplied by what is kept; where that is next to nothing, a residual costs
    nothing. loads: (changes, residuals), costs: (errors, residuals), kept: (residuals,)."""
    from scipy.sparse import csr_array, diags_array

    chosen = np.flatnonzero(kept > FAINTEST)
    spent = csr_array(csr_array(loads)[:, chosen])
    lost = csr_array(csr_array(costs)[:, chosen] @ diags_array(kept[chosen]))
    spent, lost = (matrix[np.diff(matrix.indptr) > 0] for matrix in (spent, lost))
    if not len(chosen):
        return 0.0
    return float(minimise_cost(spent, lost, tolerance=tolerance).lower_bound) * ROUNDED


def whole_parts(workload: MarginalWorkload, found: list[Change], moved: NDArray[np.intp]) -> Floats:
    """What part of the variance of continuous noise whole-number noise has at least, in every residual that some change moves,
    on the mean of its coordinates: that at the largest precision that the budgets allow it (docs/theory/marginals.md, 3).

    moved: (m,), the residuals that some change moves. Returns (m,).
    """
    most = np.full(len(workload.measured), np.inf)
    for change in found:
        most[change.members] = np.minimum(most[change.members], (change.budget / change.lengths) * change.budget)
    return np.asarray(np.minimum(1.0, mean_variances(workload, most)[moved] * most[moved]))


def _columns(matrix: csr_array | Floats, kept: NDArray[np.intp]) -> csr_array | Floats:
    """Some columns, in their order; the matrix itself where all are kept."""
    return matrix if len(kept) == matrix.shape[1] else matrix[:, kept]


def _scaled_rows(costs: csr_array, weights: Floats) -> csr_array:
    """Rows times weights, without the tables that no protected change moves."""
    from scipy.sparse import csr_array, diags_array

    scaled = csr_array(diags_array(weights) @ costs)
    return scaled[np.diff(scaled.indptr) > 0]
