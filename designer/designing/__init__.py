"""From a problem to a certified design: coordinates, repair, limits, families and their comparison."""
