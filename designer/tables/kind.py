"""The plan of a table, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

TABLE_PLAN = Kind(
    format="dp-designer/table-plan",
    mechanism="designer.tables.plan:TablePlan",
    release_form="designer.tables.spec:TableForm",
    agreement="designer.tables.agreement:PlanAgreement",
    composition="designer.tables.spec:PlanComposition",
    inspection="designer.audit.inspections:OfPlans",
    noise_law=None,
    page="designer.reports.of_plans:QueriesOfTables",
    pictures="designer.reports.pictures.of_mechanisms:plan_drawings",
)
