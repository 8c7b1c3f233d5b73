"""The programs of families, by the family's name; importing this imports CVXPY."""

from __future__ import annotations

from collections.abc import Mapping

from designer.designing.programs.ellipsoid_program import EllipsoidProgram
from designer.designing.programs.gaussian_program import GaussianProgram
from designer.designing.programs.laplace_joint_program import LaplaceJointProgram
from designer.designing.programs.laplace_program import LaplaceProgram
from designer.designing.programs.mechanism_program import MechanismProgram
from designer.designing.programs.strategy_program import StrategyProgram

PROGRAMS: Mapping[str, type[MechanismProgram]] = {
    "laplace": LaplaceProgram,
    "laplace_joint": LaplaceJointProgram,
    "ellipsoid": EllipsoidProgram,
    "gaussian": GaussianProgram,
    "strategy_laplace": StrategyProgram,
}
