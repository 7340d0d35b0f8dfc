#!/bin/sh
# worker.sh SECONDS FILE…: stands in for a coding agent. Works on each file for so long, then
# changes it. What it may change it knows from LOCKKEEPER_SCOPE, as an agent would.
seconds=$1
shift
echo "$LOCKKEEPER_AGENT, attempt $LOCKKEEPER_ATTEMPT, under fence $LOCKKEEPER_FENCE"
for file in "$@"; do
  echo "reading $file"
  sleep "$seconds"
  mkdir -p "$(dirname "$file")"
  echo "# $LOCKKEEPER_AGENT was here" >>"$file"
  echo "changed $file"
done
