"""The programs of families, by the family's name; importing this imports CVXPY."""

from __future__ import annotations

from collections.abc import Mapping

from designer.families.programs.ellipsoid_program import EllipsoidProgram
from designer.families.programs.gaussian_program import GaussianProgram
from designer.families.programs.laplace_joint_program import LaplaceJointProgram
from designer.families.programs.laplace_program import LaplaceProgram
from designer.families.programs.mechanism_program import MechanismProgram
from designer.families.programs.sides_program import BoxProgram, CappedProgram
from designer.families.programs.strategy_program import StrategyProgram

PROGRAMS: Mapping[str, type[MechanismProgram]] = {
    "laplace": LaplaceProgram,
    "laplace_joint": LaplaceJointProgram,
    "box": BoxProgram,
    "capped_l1": CappedProgram,
    "ellipsoid": EllipsoidProgram,
    "gaussian": GaussianProgram,
    "strategy_laplace": StrategyProgram,
}
