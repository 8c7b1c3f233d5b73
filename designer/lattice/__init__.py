"""Integer noise that keeps published statistics: samplers, chains, mechanisms, tails and design."""
