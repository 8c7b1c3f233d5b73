"""Synthetic data, as two kinds of frozen mechanisms: multiplicative weights, and small databases."""

from designer.certified.frozen import Kind

MULTIPLICATIVE_WEIGHTS = Kind(
    format="dp-designer/mwem",
    mechanism="designer.mechanisms.synthetic.multiplicative:MWEM",
    release_form="designer.mechanisms.synthetic.spec:MultiplicativeForm",
    agreement=None,
    composition="designer.mechanisms.synthetic.spec:MultiplicativeComposition",
    inspection="designer.audit.inspections:OfMultiplicativeWeights",
    noise_law=None,
    page="designer.reports.of_choices:SynthesisedInRounds",
    pictures=None,
)
SMALL_DATABASES = Kind(
    format="dp-designer/small-db",
    mechanism="designer.mechanisms.synthetic.small_databases:SmallDB",
    release_form="designer.mechanisms.synthetic.spec:SmallDatabaseForm",
    agreement=None,
    composition="designer.mechanisms.synthetic.spec:SmallDatabaseComposition",
    inspection="designer.audit.inspections:OfSmallDatabases",
    noise_law=None,
    page="designer.reports.of_choices:Synthesised",
    pictures=None,
)
