"""Per-record privacy: policies, their design on public prior data, hierarchies, and what a policy costs."""
