#!/usr/bin/env bash
# run.sh [FOLDER]: a small repository in FOLDER (else a temporary one), and the five agents of plan.yaml at
# work on it. Three seconds. LOCKKEEPER names the program, if not on the PATH.
set -euo pipefail

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../common.sh"
folder=${1:-}
if [[ -z $folder ]]; then
  folder=$(mktemp -d "${TMPDIR:-/tmp}/lockkeeper-five-XXXXXX")
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder/shop"
cp "$examples/five-agents/plan.yaml" "$examples/five-agents/agent.sh" "$folder/"
chmod +x "$folder/agent.sh"
cd "$folder/shop"
mkdir -p src/api src/ui tests
for file in README.md CHANGELOG.md src/user.py src/api/users.py src/ui/table.tsx tests/test_users.py; do
  echo "# $file" >"$file"
done
git init -q .
git add -A
git -c user.name=demo -c user.email=demo@example.org commit -q -m "The shop"

"$lockkeeper" plan ../plan.yaml
"$lockkeeper" workflow run ../plan.yaml --jobs 3 --output ../output
echo
cat src/user.py
