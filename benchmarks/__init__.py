"""Speed and memory, measured side by side in one run. Each module prints a table: `python -m benchmarks.NAME`."""
