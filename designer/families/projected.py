"""Projection: noise that was calibrated answer by answer,
kept in the directions that protected changes reach (SEMI Proposition 26).

`Q x + P z`, P the orthogonal projection onto the span of the differences. What the projection drops is published exactly: no
protected change moves it. The projected noise is a function of the unprojected release and of public statistics,
so the certificate is the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.norms import Gauge, Norm
from designer.certified.sensitivity import SensitivitySet
from designer.families.even import asks_for_counts, even_noise, without_long_list
from designer.families.family import Family
from designer.families.laplace import design_laplace
from designer.families.measured import combination
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.additive.noise import Grid
from designer.relations.problem import Problem


def projected_laplace(problem: Problem) -> AdditiveMechanism:
    """Laplace noise on every answer, with the best scales for the protected differences, projected onto their span."""
    problem = without_long_list(problem, "l1")
    if asks_for_counts(problem):
        return even_noise(problem, "projected_laplace", "l1", "exponential", projected=True)
    return replace(project(design_laplace(problem)), family="projected_laplace")


def project(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    """The mechanism with the noise of its answers projected onto the span of their protected differences, orthogonally.

    The total squared error never grows. Raises `DesignFailed` where the answers that are left over are no public statistics,
    which nearly dependent queries cause.
    """
    target, workload, relation = mechanism.target, mechanism.workload, mechanism.relation
    answers = workload.dense() if mechanism.reconstruction is None else mechanism.reconstruction @ target
    projection = span_projection(SensitivitySet.of(workload.dense(), relation))
    rebuilt = projection if mechanism.reconstruction is None else projection @ mechanism.reconstruction
    public = relation.public_rows()
    needed, shares = combination(answers - rebuilt @ target, public, np.abs(answers).max(axis=1))
    rows = len(target)
    measured = np.vstack([target, public[needed]])
    reconstruction = np.hstack([rebuilt, shares[:, needed]])
    off = np.abs(reconstruction @ measured - answers).max(axis=1)
    if (off > 1e-9 * np.abs(answers).max(axis=1)).any():
        raise DesignFailed(
            f"projection: answers would be off by up to {off.max():.2g} a record; drop queries that nearly repeat others."
        )
    silent = Grid.for_scales(public[needed], np.zeros(int(needed.sum()))) if needed.any() else Grid(())
    return AdditiveMechanism(
        mechanism.family,
        workload,
        relation,
        _with_silent(mechanism.norm, rows, int(needed.sum())),
        Grid(mechanism.grid.exponents + silent.exponents),
        mechanism.falloff,
        measured,
        reconstruction,
        allow_vacuous=mechanism.allow_vacuous,
    )


def span_projection(sensitivity: SensitivitySet) -> Floats:
    """The orthogonal projection (K, K) onto the span of all differences."""
    values, vectors = np.linalg.eigh(sensitivity.span().T @ sensitivity.span())
    basis = vectors[:, values > 1e-10 * values[-1]]
    return np.asarray(basis @ basis.T)


def _with_silent(norm: Norm, rows: int, more: int) -> Norm:
    """The norm with `more` coordinates without noise behind its own."""
    if isinstance(norm, Gauge):
        return Gauge(np.hstack([norm.differences, np.zeros((len(norm.differences), more))]), norm.budgets, norm.scale)
    return Norm(np.concatenate([norm.map, np.full((*norm.map.shape[:-1], more), np.inf)], axis=-1), norm.order)


PROJECTED_LAPLACE = Family(
    "projected_laplace",
    "Laplace noise, projected on the published statistics",
    "pure",
    projected_laplace,
    scans_little=True,
    invariants_only=True,
)
