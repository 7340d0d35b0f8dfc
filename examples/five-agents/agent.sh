#!/bin/sh
# An agent without a model: adds a line to each of its files, slowly, and reads it again.
for file in "$@"; do
  before=$(wc -l <"$file")
  sleep 0.2
  echo "# by $LOCKKEEPER_AGENT" >>"$file"
  [ "$(wc -l <"$file")" = $((before + 1)) ] || exit 1
done
