#!/usr/bin/env bash
# The other side: locks as the workflow protocol's own commands take them, with nothing of ours.
#
#   workflow_foreign.sh OUTPUT AGENT FILE ARENA
#
# Writes its lock file, then checks all others, as the protocol's "Integration with Parallel
# Execution" has it; goes on until ARENA/stop is there. Whoever thinks that it has FILE makes the
# symlink ARENA/holder, which only one can: "BOTH" in ARENA/AGENT.log is a failure.
set -u
export TZ=UTC
out=$1 agent=$2 file=$3 arena=$4

write_lock() {
  local now expires
  printf -v now '%(%Y-%m-%dT%H:%M:%SZ)T' -1
  printf -v expires '%(%Y-%m-%dT%H:%M:%SZ)T' $((EPOCHSECONDS + 3600))
  mkdir -p "$out/locks"
  printf '{"agent":"%s","locked_at":"%s","files":["%s"],"expires_at":"%s"}\n' \
    "$agent" "$now" "$file" "$expires" >"$out/locks/$agent.lock"
}

# 0: another's lock names the file.
conflict() {
  local other content
  for other in "$out"/locks/*.lock; do
    [[ $other == "$out/locks/$agent.lock" || ! -e $other ]] && continue
    content=$(<"$other") 2>/dev/null || continue # removed meanwhile
    [[ $content == *"\"$file\""* ]] && return 0
  done
  return 1
}

while [[ ! -e $arena/stop ]]; do
  write_lock
  if conflict; then
    rm -f "$out/locks/$agent.lock"
    echo busy >>"$arena/$agent.log"
    sleep "0.0$((RANDOM % 9))"
    continue
  fi
  if ln -s "$agent" "$arena/holder" 2>/dev/null; then
    echo held >>"$arena/$agent.log"
    sleep 0.00$((RANDOM % 9))
    rm "$arena/holder"
  else
    echo BOTH >>"$arena/$agent.log"
  fi
  rm -f "$out/locks/$agent.lock"
  sleep 0.0$((RANDOM % 5))
done
