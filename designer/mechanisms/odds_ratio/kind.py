"""The test of an odds ratio, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

ODDS_RATIO = Kind(
    format="dp-designer/odds-ratio-test",
    mechanism="designer.mechanisms.odds_ratio.mechanism:OddsRatioTest",
    release_form="designer.mechanisms.odds_ratio.spec:OddsRatioForm",
    agreement=None,
    composition="designer.mechanisms.odds_ratio.spec:OddsRatioComposition",
    inspection="designer.audit.inspections:OfTests",
    noise_law=None,
    page="designer.reports.of_choices:TestsOfOddsRatios",
    pictures="designer.reports.pictures.of_mechanisms:odds_ratio_drawings",
)
