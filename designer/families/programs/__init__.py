"""Convex programs of the field in CVXPY, to read, to change and to solve: `programs.laplace(problem)` and the others.

>>> from designer import Problem, Workload, metrics, programs
>>> program = programs.laplace(Problem(Workload.identity(3), metrics.uniform(3, epsilon=1.0)))
>>> made = program.subject_to(program.variances[0] <= 6.0, name="cap on the first").design()
>>> made.privacy.holds, bool(made.mechanism.query_variances()[0] <= 6.0)
(True, True)
"""

from typing import TYPE_CHECKING

from designer.base.lazily import public_names

if TYPE_CHECKING:
    from designer.families.programs.channel_program import ChannelProgram as channel
    from designer.families.programs.ellipsoid_program import EllipsoidProgram as ellipsoid
    from designer.families.programs.gaussian_program import GaussianProgram as gaussian
    from designer.families.programs.laplace_joint_program import LaplaceJointProgram as laplace_joint
    from designer.families.programs.laplace_program import LaplaceProgram as laplace
    from designer.families.programs.marginals_program import MarginalsProgram as marginals
    from designer.families.programs.preprocessing_program import PreprocessingProgram as preprocessing
    from designer.families.programs.records_program import RecordsProgram as records
    from designer.families.programs.sides_program import BoxProgram as box
    from designer.families.programs.sides_program import CappedProgram as capped_l1
    from designer.families.programs.stated_programs import BundlesProgram as bundles
    from designer.families.programs.stated_programs import KNormProgram as k_norm
    from designer.families.programs.stated_programs import LatticeProgram as lattice
    from designer.families.programs.stated_programs import LimitProgram as limit
    from designer.families.programs.statistical_program import StatisticalProgram as statistical
    from designer.families.programs.strategy_program import StrategyProgram as strategy

__all__ = [
    "box",
    "bundles",
    "capped_l1",
    "channel",
    "ellipsoid",
    "gaussian",
    "k_norm",
    "laplace",
    "laplace_joint",
    "lattice",
    "limit",
    "marginals",
    "preprocessing",
    "records",
    "statistical",
    "strategy",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "channel_program": "channel=ChannelProgram",
        "ellipsoid_program": "ellipsoid=EllipsoidProgram",
        "gaussian_program": "gaussian=GaussianProgram",
        "laplace_joint_program": "laplace_joint=LaplaceJointProgram",
        "laplace_program": "laplace=LaplaceProgram",
        "marginals_program": "marginals=MarginalsProgram",
        "preprocessing_program": "preprocessing=PreprocessingProgram",
        "records_program": "records=RecordsProgram",
        "sides_program": "box=BoxProgram capped_l1=CappedProgram",
        "stated_programs": "bundles=BundlesProgram k_norm=KNormProgram lattice=LatticeProgram limit=LimitProgram",
        "statistical_program": "statistical=StatisticalProgram",
        "strategy_program": "strategy=StrategyProgram",
    },
)
