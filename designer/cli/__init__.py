"""The command line: `main` runs one command, `parser` knows them all."""

from designer.cli.entry import main, parser

__all__ = ["main", "parser"]
