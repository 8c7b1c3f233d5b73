"""Pictures of frozen objects and of their releases, whatever their kind, and those that readers choose."""
