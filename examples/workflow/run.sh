#!/usr/bin/env bash
# run.sh [FOLDER]: makes a small repository in FOLDER (else a temporary one), runs the plan's agents
# on it and shows the report. About five seconds. LOCKKEEPER names the program, if not on the PATH.
set -euo pipefail

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../common.sh"
folder=${1:-$(mktemp -d "${TMPDIR:-/tmp}/lockkeeper-workflow-XXXXXX")}
mkdir -p "$folder/shop"
cp "$examples/workflow/plan.yaml" "$examples/workflow/worker.sh" "$folder/"
chmod +x "$folder/worker.sh"

cd "$folder/shop"
mkdir -p src/api src/ui src/jobs tests openapi
for file in README.md CHANGELOG.md openapi/v1.yaml src/api/users.py src/api/orders.py \
  src/jobs/mail.py src/ui/table.tsx tests/test_users.py; do
  echo "# $file" >"$file"
done
git init -q .
git add -A
git -c user.name=demo -c user.email=demo@example.org commit -q -m "The shop"

"$lockkeeper" workflow run ../plan.yaml --jobs 4 --output ../output

echo
cat ../output/report.md
echo
echo "The timeline, for a browser: $folder/output/timeline.svg"
echo "Everything is in $folder; remove it when you have looked."
