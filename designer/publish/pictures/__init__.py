"""Pictures of designs, mechanisms and releases."""
