"""The version that specs and guarantees name."""

VERSION = "0.1.0"
