"""Problem files: their sections, forms, reader, checks and templates."""
