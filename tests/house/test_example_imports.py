"""What examples import: names that are promised, and data that ship. What opens the program instead says why, here."""

from __future__ import annotations

from pathlib import Path

from tests.oracles.public_imports import inner_names

EXAMPLES = Path(__file__).parents[2] / "examples"
# Reproductions compare the program's inside, piece by piece, with the definitions and algorithms of a paper.
PAPERS = ("dx_", "semi_", "int_", "rec_", "census_2020")
# What else looks inside, and at what: nothing is added silently, and nothing stays that is no longer needed.
INSIDE = {
    "least_budget": {"designing.factor_search.towards"},  # the weights that a search starts from, taken again from scratch
    "least_noise": {"designing.least_noise.limit"},  # with a larger program than `compare` allows itself
    "ledger_kills": {
        "cli.main",
        "accounts.chain.Entry",
        "accounts.chain.output_hash",
        "base.progress.showing_progress",
        "base.progress.track",
    },
    "marginals_adult": {
        "relations.records.record_files.open_table"
    },  # as the command line opens a file, so that no type is guessed
    "mwem_adult": {"synthetic.multiplicative.equal_shares"},  # of every number of rounds, from the same queries
    "pictures": {
        *(
            "publish.pictures.drawing.side_by_side",
            "publish.pictures.kinds.save_figure",
        ),
        "problem.histogram.Keys",
    },
    "reproduction": {"publish.pictures.figures.picture_bytes"},
    "service": {"accounts.chain.output_hash"},  # which releases are recorded, counted
    "slow_policies": {
        *(
            "tables.policies.policies.AsZcdp",
            "tables.policies.policies.GaussianSums",
            "tables.policies.policies.Policy",
            "tables.policies.policies.Splitting",
        ),
        *("tables.policies.renyi.sharp_rho", "tables.policies.renyi.student_divergence", "sampling.entropy.SeededEntropy"),
    },
}
FILES = {path.stem: path.read_text() for path in sorted(EXAMPLES.glob("*.py"))}


def test_an_example_imports_public_names() -> None:
    found = {name: inner_names(text) for name, text in FILES.items() if not name.startswith(PAPERS)}
    listed = {name: {f"designer.{inner}" for inner in INSIDE.get(name, set())} for name in found}
    assert found == listed and set(INSIDE) <= set(found)


def test_data_are_read_through_the_package() -> None:
    """No example opens a table by its place in the checkout, and none has a table of its own that is more than a specimen."""
    assert [name for name, text in FILES.items() if "data_files" in text or "DATA" in text] == []
    assert [path for path in EXAMPLES.rglob("*.csv") if "data" not in path.parts and path.stat().st_size > 1000] == []
