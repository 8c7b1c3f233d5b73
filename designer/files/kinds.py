"""The closed list of the kinds of frozen mechanisms: what specs may hold, and all that the house knows of each."""

from __future__ import annotations

from collections.abc import Mapping

from designer.certificate.frozen import FrozenMechanism, MechanismKind

# Noise that is added to answers on a grid.
ADDITIVE = MechanismKind(
    format="dp-designer/mechanism",
    mechanism="designer.mechanism.additive:AdditiveMechanism",
    release_form="designer.mechanism.spec:GridForm",
    agreement="designer.mechanism.agreeing_answers:LinearAgreement",
    composition="designer.mechanism.spec:AdditiveComposition",
    inspection="designer.audit.deep:OfAdditive",
    noise_law="designer.exchange.opendp:grid_law_parts",
    page="designer.publish.of_linear_queries:LinearQueries",
    pictures="designer.publish.pictures.of_mechanisms:mechanism_drawings",
)


# The channel of one person's own report.
CHANNEL = MechanismKind(
    format="dp-designer/channel",
    mechanism="designer.local.mechanism:Channel",
    release_form="designer.local.mechanism:ReportsForm",
    agreement=None,
    composition="designer.local.mechanism:ChannelComposition",
    inspection="designer.audit.deep:OfChannels",
    noise_law=None,
    page="designer.publish.of_choices:OwnReports",
    pictures="designer.publish.pictures.of_mechanisms:channel_drawings",
)


# The choice of one candidate.
SELECTION = MechanismKind(
    format="dp-designer/selection",
    mechanism="designer.selection.mechanism:Selection",
    release_form="designer.selection.mechanism:ChoiceForm",
    agreement=None,
    composition="designer.selection.mechanism:ChoiceComposition",
    inspection="designer.audit.deep:OfSelections",
    noise_law=None,
    page="designer.publish.of_choices:SelectedCandidates",
    pictures="designer.publish.pictures.of_mechanisms:choice_drawings",
)


# Integer noise that keeps published statistics: from one lattice, and row by row.
LATTICE = MechanismKind(
    format="dp-designer/lattice-mechanism",
    mechanism="designer.lattice.mechanism:LatticeMechanism",
    release_form="designer.lattice.spec:LatticeForm",
    agreement="designer.lattice.spec:TableAgreement",
    composition="designer.lattice.spec:LatticeComposition",
    inspection="designer.audit.deep:OfLattices",
    noise_law="designer.exchange.opendp:lattice_law_parts",
    page="designer.publish.of_linear_queries:LatticeQueries",
    pictures="designer.publish.pictures.of_mechanisms:lattice_drawings",
)
ROWS = MechanismKind(
    format="dp-designer/row-mechanism",
    mechanism="designer.lattice.row_mechanism:RowMechanism",
    release_form="designer.lattice.spec:LatticeForm",
    agreement="designer.lattice.spec:TableAgreement",
    composition="designer.lattice.spec:LatticeComposition",
    inspection="designer.audit.deep:OfRows",
    noise_law="designer.exchange.opendp:lattice_law_parts",
    page="designer.publish.of_linear_queries:LatticeQueries",
    pictures="designer.publish.pictures.of_mechanisms:lattice_drawings",
)


# Marginals that agree.
MARGINALS = MechanismKind(
    format="dp-designer/marginals",
    mechanism="designer.domains.marginals:MarginalMechanism",
    release_form="designer.domains.marginals_spec:MarginalForm",
    agreement="designer.domains.marginals_spec:MarginAgreement",
    composition="designer.domains.spec:DomainComposition",
    inspection="designer.audit.deep:OfDomains",
    noise_law=None,
    page="designer.publish.of_choices:MarginalTables",
    pictures="designer.publish.pictures.of_mechanisms:marginal_drawings",
)


# The test of an odds ratio.
ODDS_RATIO = MechanismKind(
    format="dp-designer/odds-ratio-test",
    mechanism="designer.odds_ratio.mechanism:OddsRatioTest",
    release_form="designer.odds_ratio.mechanism:OddsRatioForm",
    agreement=None,
    composition="designer.odds_ratio.mechanism:OddsRatioComposition",
    inspection="designer.audit.deep:OfTests",
    noise_law=None,
    page="designer.publish.of_choices:TestsOfOddsRatios",
    pictures="designer.publish.pictures.of_mechanisms:odds_ratio_drawings",
)


# Products of queries about attributes.
PRODUCTS = MechanismKind(
    format="dp-designer/structured-mechanism",
    mechanism="designer.domains.products:StructuredMechanism",
    release_form="designer.domains.spec:StructuredForm",
    agreement="designer.domains.spec:ProductAgreement",
    composition="designer.domains.spec:DomainComposition",
    inspection="designer.audit.deep:OfDomains",
    noise_law=None,
    page="designer.publish.of_choices:ProductQueries",
    pictures="designer.publish.pictures.of_mechanisms:term_drawings",
)


# Noisy counts of nested groups, and the answers that agree with them.
HIERARCHY = MechanismKind(
    format="dp-designer/hierarchy-mechanism",
    mechanism="designer.mechanism.hierarchy:HierarchyMechanism",
    release_form="designer.mechanism.hierarchy:HierarchyForm",
    agreement="designer.mechanism.agreeing_answers:LinearAgreement",
    composition="designer.mechanism.hierarchy:HierarchyComposition",
    inspection="designer.audit.deep:OfHierarchies",
    noise_law=None,
    page="designer.publish.of_linear_queries:LinearQueries",
    pictures=None,
)


# Noise of least loss.
STAIRCASE = MechanismKind(
    format="dp-designer/staircase-mechanism",
    mechanism="designer.mechanism.staircase:StaircaseMechanism",
    release_form="designer.mechanism.spec:GridForm",
    agreement="designer.mechanism.agreeing_answers:LinearAgreement",
    composition="designer.mechanism.staircase:StaircaseComposition",
    inspection="designer.audit.deep:OfStaircases",
    noise_law="designer.exchange.opendp:grid_law_parts",
    page="designer.publish.of_linear_queries:LinearQueries",
    pictures="designer.publish.pictures.of_mechanisms:staircase_drawings",
)


# Synthetic data: multiplicative weights, and small databases.
MULTIPLICATIVE_WEIGHTS = MechanismKind(
    format="dp-designer/mwem",
    mechanism="designer.synthetic.multiplicative:MWEM",
    release_form="designer.synthetic.spec:MultiplicativeForm",
    agreement=None,
    composition="designer.synthetic.spec:MultiplicativeComposition",
    inspection="designer.audit.deep:OfMultiplicativeWeights",
    noise_law=None,
    page="designer.publish.of_choices:SynthesisedInRounds",
    pictures=None,
)
SMALL_DATABASES = MechanismKind(
    format="dp-designer/small-db",
    mechanism="designer.synthetic.small_databases:SmallDB",
    release_form="designer.synthetic.spec:SmallDatabaseForm",
    agreement=None,
    composition="designer.synthetic.spec:SmallDatabaseComposition",
    inspection="designer.audit.deep:OfSmallDatabases",
    noise_law=None,
    page="designer.publish.of_choices:Synthesised",
    pictures=None,
)


# The plan of a table.
TABLE_PLAN = MechanismKind(
    format="dp-designer/table-plan",
    mechanism="designer.tables.plan:TablePlan",
    release_form="designer.tables.spec:TableForm",
    agreement="designer.tables.agreement:PlanAgreement",
    composition="designer.tables.spec:PlanComposition",
    inspection="designer.audit.deep:OfPlans",
    noise_law=None,
    page="designer.publish.of_plans:QueriesOfTables",
    pictures="designer.publish.pictures.of_mechanisms:plan_drawings",
)


LISTED = (
    ADDITIVE,
    LATTICE,
    ROWS,
    STAIRCASE,
    HIERARCHY,
    PRODUCTS,
    MARGINALS,
    ODDS_RATIO,
    MULTIPLICATIVE_WEIGHTS,
    TABLE_PLAN,
    SMALL_DATABASES,
    SELECTION,
    CHANNEL,
)
KINDS: Mapping[str, MechanismKind] = {kind.format: kind for kind in LISTED}  # by the format of their specs


def mechanism_kind(made: FrozenMechanism) -> MechanismKind | None:
    """The kind of an object; None for a class that no spec can hold, whatever format it states."""
    kind = KINDS.get(getattr(made, "format", ""))
    return kind if kind is not None and isinstance(made, kind.part("mechanism")) else None
