"""Seconds to start Python, to import numpy, and to import designer: medians of fresh processes, side by side."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

RUNS = 7


def seconds(code: str) -> float:
    """Median wall time of a fresh process."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main() -> None:
    """Print the three."""
    bare = seconds("")
    for name in ("numpy", "designer"):
        print(f"import {name:10} {seconds(f'import {name}') - bare:.3f} s beyond the {bare:.3f} s of Python itself")


if __name__ == "__main__":
    main()
