#!/usr/bin/env bash
# run.sh: two jobs of a CI server on one machine, both of which migrate one database; and a job that lays
# out the sources, which waits for the agents that are at work. LOCKKEEPER names the program, if not on
# the PATH. Two seconds; nothing is left.
set -euo pipefail

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../common.sh"
folder=$(mktemp -d "${TMPDIR:-/tmp}/lockkeeper-ci-XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/shop/src"
export HOME=$folder
cd "$folder/shop"
git init -q .
echo "x = 1" >src/users.py
echo 0 >"$folder/version"

# Reads the version, works, writes the next one: two at a time would lose one.
cat >migrate.sh <<'TEXT'
#!/bin/sh
version=$(cat "$1/version")
sleep 0.3
echo $((version + 1)) >"$1/version"
echo "job $2: from version $version to $((version + 1))"
TEXT
chmod +x migrate.sh

echo "--- Two jobs migrate at the same time. Each holds the slot as long as it runs."
for job in 1 2; do
  LOCKKEEPER_AGENT=ci-$job "$lockkeeper" run db:migration-slot --wait=1m --reason "job $job" -- \
    ./migrate.sh "$folder" $job 2>/dev/null &
done
wait
echo "the database has version $(cat "$folder/version")"

echo
echo "--- A job lays out the sources, if nobody works on them. An agent does."
"$lockkeeper" acquire src/users.py --agent claude --reason "rename a field" --quiet
LOCKKEEPER_AGENT=ci-layout "$lockkeeper" run src/ -- echo "laid out" 2>&1 || echo "(exit status $?)"

echo
echo "--- It waits instead, at most a minute, and the agent is done."
LOCKKEEPER_AGENT=ci-layout "$lockkeeper" run src/ --wait=1m -- echo "laid out" 2>/dev/null &
"$lockkeeper" release --agent claude --all --quiet
wait
