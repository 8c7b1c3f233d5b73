"""Marginals that agree, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

MARGINALS = Kind(
    format="dp-designer/marginals",
    mechanism="designer.mechanisms.marginals.mechanism:MarginalMechanism",
    release_form="designer.mechanisms.marginals.spec:MarginalForm",
    agreement="designer.mechanisms.marginals.spec:MarginAgreement",
    composition="designer.mechanisms.marginals.spec:MarginalComposition",
    inspection="designer.audit.inspections:OfMarginals",
    noise_law=None,
    page="designer.reports.of_tables:MarginalTables",
    pictures="designer.reports.pictures.of_mechanisms:marginal_drawings",
)
