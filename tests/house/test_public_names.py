"""The names that others may rely on: each is listed here, imports, and is what it is said to be."""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

import designer
from designer import (
    Design,
    Mechanism,
    Optimality,
    PrivacyCertificate,
    Problem,
    Release,
    Workload,
    compare,
    design,
    load,
    metrics,
)
from designer.relations.invariants import Invariant

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
NAMES = {
    "designer": """About AdditiveMechanism AttributeQueries CannotWrite Channel Choice Comparison Counts Design DesignFailed Domain Drawing Guarantee HierarchyProblem InvalidLedger InvalidProblem
        InvalidSpec LeastBudget LedgerUnavailable MarginalMechanism MarginalProblem MarginalRelease MarginalWorkload Mechanism NotPrivate
        Optimality OverTotal PlanProblem Presence PrivacyCertificate Problem Refusal Release ReportProblem Selection SelectionProblem Statistic StatisticalQueries
        StructuredMechanism StructuredProblem StructuredRelease StructuredWorkload SyntheticProblem Targets Term WholeTables Workload
        __version__ accounting compare datasets design drawings_of extend invariants largest_rate lattices
        least_budget load metrics norm_ball placed_drawing plot programs read_problem
        read_release save_release verify_release whole_tables""",
    "designer.accounts": """Balance Checked Composed DataSet Expense Forecast Ledger Recorded Reservation Signer Spent Total checked composed
        expense_of spent""",
    "designer.accounting": """Account EpsilonDelta Gaussian Tradeoff compare_tradeoffs composition discrete_laplace for_groups gdp_delta gdp_epsilon gdp_mu gdp_rho
        group_budget group_privacy laplace_rho poisson_subsampled post_processing
        pure_rho sampled_epsilon zcdp_delta zcdp_epsilon zcdp_epsilon_bun_steinke zcdp_group_rho zcdp_rho_below""",
    "designer.audit": "DeepVerdict Finding TestPower audit",
    "designer.datasets": """PublicData adult adult_counts adult_doctorates adult_education_race cbp_state_industry cbp_state_sector
        delinquent_children establishments nj_county_sector power_plants us_cities us_counties us_counties_illinois""",
    "designer.extend": """Family Grid Metric Norm figure forget freeze laplace_mechanism moving_coordinates on_heard register
        register_picture""",
    "designer.invariants": """Conforming Invariant LinkedTables Scope ScopedPromise Statistics ZCDP allocation by_distance compare_promises
        composition_first joint linear linked margins partition semi_adjacency semi_first total under_invariant""",
    "designer.lattices": """Chain ChainPlan JumpLaw Lattice LatticeMechanism SmoothPrivacy VariationBound cell_tail composed_smooth definition_13_variance
        integer_kernel mean_norm mean_square noise_tail r_hat smooth_budget smooth_deviation smooth_epsilon smooth_privacy theorem_12_tail theorem_15_tail
        theorem_constant variation_bound""",
    "designer.metrics": """add_remove after_noisy_total appear_or_change attribute_values blowfish blowfish_attribute blowfish_full_domain
        blowfish_graph blowfish_partition chebyshev euclidean from_matrix graph great_circle hamming instance line manhattan
        maximum number_of_records partition per_element product restriction root_sum_squares scaled smooth_threshold sum_of
        taxonomy uniform""",
    "designer.programs": "box bundles capped_l1 channel diagonal_gaussian ellipsoid gaussian gaussian_joint hull k_norm laplace laplace_joint lattice limit marginals of preprocessing records statistical strategy",
    "designer.tables": """Accuracy Answer Average COUNT Condition Count CountDistinct GaussianSums Groups Hierarchy Key Measure OTHERS PartitionSelection PolicyCertificate PriorRecords PureSum
        Quantile SlowlyScaledSum StudentNoise Sum TablePlan TableRelease TransformedNoise UnitSplitting VarianceBy
        consistent_levels consistent_margins design_records hierarchy nested_codes tree variance_for""",
    "designer.tables.policies": """AsZcdp ConstantPolicy LaplaceSums Losses MaximumOfPolicies NoisySum Piecewise Policy ScaledPolicy
        Splitting SumOfPolicies absolute_relative_error advanced_group_loss gaussian_relative_error group_loss group_losses group_policy_loss one_sided_loss
        policy_losses policy_min realized_losses simple_group_loss""",
}
# Rooms that the pages of the site send their readers to, whose names are not gathered in one place.
DEEPER = {
    "designer.mechanism.accuracy": "accuracy_of",
    "designer.mechanism.bounds": "error_bounds",
    "designer.mechanism.derived": "DerivedAnswer difference quantile ratio",
    "designer.mechanism.readings": "MinimaxReading minimax_reading",
    "designer.mechanism.agreeing_answers": "WholeAnswers consistent_answers whole_answers",
    "designer.relations.records.entity_rows": "RowsToKeep rows_to_keep",
    "designer.selection.scores": "Linear AbsoluteError Closeness LargestError RankError",
    "designer.synthetic.multiplicative": "MWEM mwem theorem_8",
    "designer.synthetic.small_databases": "SmallDB literal_size proposition_1 small_db",
    "designer.odds_ratio.noise": "CanonicalNoise PiecewiseNoise Tulap",
    "designer.odds_ratio.umpu": "Margins NoisyCountTest fisher_p_value fisher_test",
    "designer.averages.averages": "average_bounds separable",
    "designer.averages.joint_averages": "squared_averages",
    "designer.designing.laplace": "subspace_mechanism",
    "solvers.exact.points": "Points",
    "solvers.polytopes.hull": "convex_hull",
    "solvers.polytopes.norm_order": "Box CrossPolytope EllipsoidBall Hull containment",
    "designer.odds_ratio.mechanism": "OddsRatioTest",
    "designer.files.releases": "ReleaseVerdict read_release release_document save_release sealed verify_release",
    "designer.files.signatures": "EntryCheck EntrySigner PublicKey SignedBy SigningKey new_key sign_file signer_of",
    "designer.base.answer_table": "AnswerTable Intervals",
    "designer.files.table_files": "TableOptions agreeing_tables write_tables",
    "designer.synthetic.queries": "LipschitzQueries mwem_price preprocess theorem_6_price theorem_8_price",
    "designer.publish.pictures.of_mechanisms": "delta_drawing policy_drawing tradeoff_drawing",
    "designer.exchange.opendp": "OwnNoise as_measurement counting features measurement_module noise_document noise_rows noise_schema own_noise",
    "designer.exchange.device": "portable_noise portable_text release_vectors",
    "designer.exchange.registry": "RegistryEntry registry_entry",
    "designer.exchange.spending": "Spending spending_of",
    "designer.problem_file.checking": "DataIssue RecordsReport check_counts check_records",
}
MEMBERS: dict[Any, str] = {
    Workload: "identity prefix all_ranges marginals nested random",
    Invariant: "protect at",
    Design: "privacy optimality error loss",
    designer.Comparison: "to_markdown to_text to_latex",
    designer.LeastBudget: "factor rho_factor design reached missed_at lower_bound to_markdown to_text",
    Mechanism: "check release simulate privacy_loss error standard_errors margins joint_margins save verify",
}


@pytest.mark.parametrize("module", [*NAMES, *DEEPER])
def test_every_public_name_imports(module: str) -> None:
    room = import_module(module)  # so that `from designer.metrics import uniform` works as `metrics.uniform` does
    wanted = (NAMES | DEEPER)[module].split()
    assert [name for name in wanted if not hasattr(room, name)] == []


def test_no_name_is_public_that_is_not_listed_here() -> None:
    """Who adds a name adds it above, and so promises to keep it."""
    found = {module: set(getattr(resolve_name(module), "__all__")) for module in NAMES}  # noqa: B009
    assert found == {module: set(names.split()) for module, names in NAMES.items()}


@pytest.mark.parametrize("owner", MEMBERS)
def test_every_promised_member_is_there(owner: Any) -> None:
    assert [name for name in MEMBERS[owner].split() if not hasattr(owner, name)] == []


def test_the_promised_calls_are_called_as_promised(tmp_path: Path) -> None:
    problem = Problem(
        Workload([[1, 0]], queries=None, elements=None), metrics.uniform(2, epsilon=1), notion="pure", loss="squared"
    )
    assert {"workload", "relation", "notion", "loss", "records"} <= set(inspect.signature(Problem).parameters)
    made = design(problem, family="laplace")
    assert isinstance(made.error, float) and isinstance(made.optimality, Optimality)
    assert isinstance(made.privacy, PrivacyCertificate) and made.privacy.holds and made.privacy.worst_ratio is not None
    assert {"witness", "arithmetic", "theorem"} <= set(vars(made.privacy))
    assert made.optimality.lower_bound <= made.optimality.value and made.optimality.gap >= 0
    loaded = load(made.mechanism.save(tmp_path / "spec.json"))
    release = loaded.release(np.array([3, 4]))
    assert isinstance(release, Release) and len(release.answers) == 1 and release.fingerprint == loaded.fingerprint
    assert np.asarray(loaded.simulate(2, seed=1)).shape == (2, 1) and loaded.error(loss="squared") == made.error
    assert loaded.privacy_loss([1, -1]).shape == () and loaded.verify() == made.privacy
    assert isinstance(compare(problem, families=["laplace"]).rows[0], dict)


@pytest.mark.parametrize("error", ["NotPrivate", "DesignFailed", "InvalidProblem", "InvalidSpec"])
def test_errors_are_value_errors(error: str) -> None:
    assert issubclass(getattr(designer, error), ValueError)


PAGES = [
    path
    for path in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.ipynb")]
    # Mutants quote the code of the house.
    if "_static" not in path.parts and path.name not in ("mutants.md", "CHANGELOG.md")
] + sorted((ROOT / "examples" / "gallery").glob("*.py"))
IMPORT = re.compile(r"""^\s*(?:>>> |\.\.\. )?from ((?:designer|solvers)[\w.]*) import (\([^)]*\)|[\w, ]+)""", re.MULTILINE)


def text_of(page: Path) -> str:
    """What a page says; of a notebook its cells."""
    text = page.read_text()
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"]) if page.suffix == ".ipynb" else text


def imported(text: str) -> set[str]:
    """The names of the house that the code of a page imports."""
    found = set()
    for module, names in IMPORT.findall(text):
        plain = re.sub(r"#.*|^(>>>|\.\.\.)", "", names.strip("()"), flags=re.MULTILINE)
        found |= {f"{module}.{name.split(' as ')[0].strip()}" for name in plain.split(",") if name.strip()}
    return found


def test_pages_are_read_for_what_they_import() -> None:
    assert imported(">>> from designer import a, b as c  # x\nfrom designer.room import (\n    d,\n    e,\n)\n") == {
        "designer.a",
        "designer.b",
        "designer.room.d",
        "designer.room.e",
    }
    assert sum(len(imported(text_of(page))) for page in PAGES) > 300


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_uses_public_names_alone(page: Path) -> None:
    public = {f"{module}.{name}" for module, names in (NAMES | DEEPER).items() for name in names.split()}
    assert sorted(imported(text_of(page)) - public) == []
