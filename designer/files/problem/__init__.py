"""Problem files: what is asked for, in TOML, of every kind that there is."""
