"""One person's own report: the channel, its design, what a collector learns, and its problem file."""
