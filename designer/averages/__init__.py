"""Averages and other statistics of records: queries, designs and problem file."""
