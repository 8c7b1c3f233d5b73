"""The frozen additive mechanism: its noise, release, accuracy, bounds and file form."""
