"""Convex programs of the field in CVXPY, to read, to change and to solve: `programs.laplace(problem)` and the others.

>>> from designer import Problem, Workload, metrics, programs
>>> program = programs.laplace(Problem(Workload.identity(3), metrics.uniform(3, epsilon=1.0)))
>>> made = program.subject_to(program.variances[0] <= 6.0, name="cap on the first").design()
>>> made.privacy.holds, bool(made.mechanism.query_variances()[0] <= 6.0)
(True, True)
"""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names

if TYPE_CHECKING:
    from designer.programs.channel_program import ChannelProgram as channel
    from designer.programs.ellipsoid_program import EllipsoidProgram as ellipsoid
    from designer.programs.ellipsoid_program import GaussianProgram as gaussian
    from designer.programs.gaussian_joint_program import GaussianJointProgram as gaussian_joint
    from designer.programs.hull_program import HullProgram as hull
    from designer.programs.laplace_program import LaplaceJointProgram as laplace_joint
    from designer.programs.laplace_program import LaplaceProgram as laplace
    from designer.programs.marginals_program import MarginalsProgram as marginals
    from designer.programs.marginals_program import RecordsProgram as records
    from designer.programs.preprocessing_program import PreprocessingProgram as preprocessing
    from designer.programs.scales_program import BoxProgram as box
    from designer.programs.scales_program import CappedProgram as capped_l1
    from designer.programs.scales_program import DiagonalProgram as diagonal_gaussian
    from designer.programs.search import of as of
    from designer.programs.stated_programs import BundlesProgram as bundles
    from designer.programs.stated_programs import KNormProgram as k_norm
    from designer.programs.stated_programs import LatticeProgram as lattice
    from designer.programs.stated_programs import LimitProgram as limit
    from designer.programs.statistical_program import StatisticalProgram as statistical
    from designer.programs.strategy_program import StrategyProgram as strategy

__all__ = [
    "box",
    "bundles",
    "capped_l1",
    "channel",
    "diagonal_gaussian",
    "ellipsoid",
    "gaussian",
    "gaussian_joint",
    "hull",
    "k_norm",
    "laplace",
    "laplace_joint",
    "lattice",
    "limit",
    "marginals",
    "of",
    "preprocessing",
    "records",
    "statistical",
    "strategy",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "designer.programs.channel_program": "channel=ChannelProgram",
        "designer.programs.ellipsoid_program": "ellipsoid=EllipsoidProgram gaussian=GaussianProgram",
        "designer.programs.gaussian_joint_program": "gaussian_joint=GaussianJointProgram",
        "designer.programs.hull_program": "hull=HullProgram",
        "designer.programs.laplace_program": "laplace=LaplaceProgram laplace_joint=LaplaceJointProgram",
        "designer.programs.marginals_program": "marginals=MarginalsProgram records=RecordsProgram",
        "designer.programs.preprocessing_program": "preprocessing=PreprocessingProgram",
        "designer.programs.scales_program": "box=BoxProgram capped_l1=CappedProgram diagonal_gaussian=DiagonalProgram",
        "designer.programs.search": "of",
        "designer.programs.stated_programs": (
            "bundles=BundlesProgram k_norm=KNormProgram lattice=LatticeProgram limit=LimitProgram"
        ),
        "designer.programs.statistical_program": "statistical=StatisticalProgram",
        "designer.programs.strategy_program": "strategy=StrategyProgram",
    },
)
