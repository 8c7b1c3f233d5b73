"""Noise that is added to answers on a grid, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

ADDITIVE = Kind(
    format="dp-designer/mechanism",
    mechanism="designer.mechanisms.additive.mechanism:AdditiveMechanism",
    release_form="designer.mechanisms.additive.spec:GridForm",
    agreement="designer.mechanisms.additive.spec:CountAgreement",
    composition="designer.mechanisms.additive.spec:AdditiveComposition",
    inspection="designer.audit.inspections:OfAdditive",
    noise_law="designer.exchange.noise_law:additive_law_parts",
    page="designer.reports.of_linear_queries:LinearQueries",
    pictures="designer.reports.pictures.of_mechanisms:mechanism_drawings",
)
