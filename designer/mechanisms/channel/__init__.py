"""One person's own report: a value is replaced by one of finitely many reports, drawn on the person's side."""
