"""The channel of one person's own report, as a kind of frozen mechanism."""

from designer.certified.frozen import Kind

CHANNEL = Kind(
    format="dp-designer/channel",
    mechanism="designer.mechanisms.channel.mechanism:Channel",
    release_form="designer.mechanisms.channel.spec:ReportsForm",
    agreement=None,
    composition="designer.mechanisms.channel.spec:ChannelComposition",
    inspection="designer.audit.inspections:OfChannels",
    noise_law=None,
    page="designer.reports.of_channels:OwnReports",
    pictures="designer.reports.pictures.of_mechanisms:channel_drawings",
)
