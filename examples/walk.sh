#!/usr/bin/env bash
# The main job on real data: design, compare, release and verify, for the cities of the United States.
# Usage: bash examples/walk.sh [path of dp-designer]
set -euo pipefail
tool=$(realpath "${1:-$(command -v dp-designer)}")
cd "$(dirname "$0")"
mkdir -p ../out
"$tool" design us_cities.toml -o ../out/us_cities.json --force
printf '\nThe file asks for a family that is designed in a second. All families:\n\n'
"$tool" compare us_cities.toml --plot ../out/us_cities.png --force
printf '\nThe populations of 2010 stand in for the confidential counts.\n'
"$tool" release ../out/us_cities.json --histogram data/us_cities.csv --column population -o ../out/release.json --force
printf '\n'
"$tool" verify ../out/us_cities.json
