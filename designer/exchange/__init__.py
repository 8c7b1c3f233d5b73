"""What other tools take: a measurement of OpenDP, the law of the noise, an entry of a registry, releases from elsewhere."""
