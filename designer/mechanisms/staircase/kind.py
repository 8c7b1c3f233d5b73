"""Noise of least loss, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

STAIRCASE = Kind(
    format="dp-designer/staircase-mechanism",
    mechanism="designer.mechanisms.staircase.mechanism:StaircaseMechanism",
    release_form="designer.mechanisms.staircase.spec:StaircaseForm",
    agreement="designer.mechanisms.additive.spec:CountAgreement",
    composition="designer.mechanisms.staircase.spec:StaircaseComposition",
    inspection="designer.audit.inspections:OfStaircases",
    noise_law="designer.exchange.noise_law:staircase_law_parts",
    page="designer.reports.of_linear_queries:StaircaseQueries",
    pictures="designer.reports.pictures.of_mechanisms:staircase_drawings",
)
