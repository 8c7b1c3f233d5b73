"""Which family when: typical problems, every family that serves them, and the page that the figures make."""
