"""`python -m designer`: the command line, where the console script is not on the path."""

from __future__ import annotations

import sys

from designer.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
