#!/usr/bin/env bash
# The main job on real data: design, compare, release and verify, for incomes by age group in an extract of the census.
# Usage: bash examples/walk.sh [path of dp-designer]
set -euo pipefail
tool=$(realpath "${1:-$(command -v dp-designer)}")
cd "$(dirname "$0")"
mkdir -p ../out
"$tool" design incomes.toml -o ../out/incomes.json --force
printf '\nThe file asks for a family that is designed in a second. All families:\n\n'
"$tool" compare incomes.toml --plot ../out/incomes.png --force
printf '\nA release from the counts in incomes.csv, which stand for confidential ones:\n\n'
"$tool" release ../out/incomes.json --histogram incomes.csv --column count -o ../out/release.json --force --yes
printf '\nThe guarantee, recomputed from the file alone:\n\n'
"$tool" verify ../out/incomes.json
activate="$(dirname "$tool")/activate"
if [ -f "$activate" ]; then
  printf '\nTo use dp-designer in another terminal:  . %s\n' "$activate"
fi
