"""The programs of families, by the family's name; importing this imports CVXPY."""

from __future__ import annotations

from collections.abc import Mapping

from designer.programs.ellipsoid_program import EllipsoidProgram, GaussianProgram
from designer.programs.laplace_program import LaplaceJointProgram, LaplaceProgram
from designer.programs.scales_program import BoxProgram, CappedProgram
from designer.programs.search import MechanismProgram
from designer.programs.strategy_program import StrategyProgram

PROGRAMS: Mapping[str, type[MechanismProgram]] = {
    "laplace": LaplaceProgram,
    "laplace_joint": LaplaceJointProgram,
    "box": BoxProgram,
    "capped_l1": CappedProgram,
    "ellipsoid": EllipsoidProgram,
    "gaussian": GaussianProgram,
    "strategy_laplace": StrategyProgram,
}
