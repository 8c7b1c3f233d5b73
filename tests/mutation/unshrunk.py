"""A plugin of pytest for mutation runs: examples are the same every time, and one that fails is not made smaller."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate), derandomize=True, database=None, deadline=None)
settings.load_profile("mutants")
