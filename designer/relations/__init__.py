"""The closed list of relations, and those that are made of others."""
