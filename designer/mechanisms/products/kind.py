"""Products of queries about attributes, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

PRODUCTS = Kind(
    format="dp-designer/structured-mechanism",
    mechanism="designer.mechanisms.products.mechanism:StructuredMechanism",
    release_form="designer.mechanisms.products.spec:StructuredForm",
    agreement="designer.mechanisms.products.spec:ProductAgreement",
    composition="designer.mechanisms.products.spec:ProductComposition",
    inspection="designer.audit.inspections:OfProducts",
    noise_law=None,
    page="designer.reports.of_tables:ProductQueries",
    pictures="designer.reports.pictures.of_mechanisms:term_drawings",
)
