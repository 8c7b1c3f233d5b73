"""Integer noise that keeps published statistics, as two kinds of frozen mechanisms: from one lattice, and row by row."""

from designer.certified.frozen import Kind

LATTICE = Kind(
    format="dp-designer/lattice-mechanism",
    mechanism="designer.mechanisms.lattice.mechanism:LatticeMechanism",
    release_form="designer.mechanisms.lattice.spec:LatticeForm",
    agreement="designer.mechanisms.lattice.spec:TableAgreement",
    composition="designer.mechanisms.lattice.spec:LatticeComposition",
    inspection="designer.audit.inspections:OfLattices",
    noise_law="designer.exchange.noise_law:lattice_law_parts",
    page="designer.reports.of_linear_queries:LatticeQueries",
    pictures="designer.reports.pictures.of_mechanisms:lattice_drawings",
)
ROWS = Kind(
    format="dp-designer/row-mechanism",
    mechanism="designer.mechanisms.lattice.row_mechanism:RowMechanism",
    release_form="designer.mechanisms.lattice.spec:LatticeForm",
    agreement="designer.mechanisms.lattice.spec:TableAgreement",
    composition="designer.mechanisms.lattice.spec:LatticeComposition",
    inspection="designer.audit.inspections:OfRows",
    noise_law="designer.exchange.noise_law:lattice_law_parts",
    page="designer.reports.of_linear_queries:LatticeQueries",
    pictures="designer.reports.pictures.of_mechanisms:lattice_drawings",
)
