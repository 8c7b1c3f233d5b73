"""Integer noise that keeps an invariant: the mechanism, its sampler or chain, its tails, and privacy by distance."""
