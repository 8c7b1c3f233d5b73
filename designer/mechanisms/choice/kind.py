"""The choice of one candidate, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

SELECTION = Kind(
    format="dp-designer/selection",
    mechanism="designer.mechanisms.choice.mechanism:Selection",
    release_form="designer.mechanisms.choice.spec:ChoiceForm",
    agreement=None,
    composition="designer.mechanisms.choice.spec:ChoiceComposition",
    inspection="designer.audit.inspections:OfSelections",
    noise_law=None,
    page="designer.reports.of_choices:SelectedCandidates",
    pictures="designer.reports.pictures.of_mechanisms:choice_drawings",
)
