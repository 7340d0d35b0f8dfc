#!/usr/bin/env bash
# Our side of the same competition: workflow_ours.sh OUTPUT AGENT FILE ARENA [native]
# With "native" it takes the file by `acquire`, which no tool of the workflow knows.
set -u
out=$1 agent=$2 file=$3 arena=$4 how=${5:-workflow}

take() {
  if [[ $how == native ]]; then
    lockkeeper acquire "$file" --agent "$agent" --json
  else
    lockkeeper workflow lock --output "$out" --agent "$agent" --file "$file" --json
  fi
}
give() {
  if [[ $how == native ]]; then
    lockkeeper release "$file" --agent "$agent" --json
  else
    lockkeeper workflow unlock --output "$out" --agent "$agent" --json
  fi
}

while [[ ! -e $arena/stop ]]; do
  answer=$(take)
  status=$?
  if ((status == 75)); then
    echo busy >>"$arena/$agent.log"
    sleep 0.0$((RANDOM % 5))
    continue
  elif ((status != 0)); then
    echo "FAILED $status $answer" >>"$arena/$agent.log"
    sleep 0.05
    continue
  fi
  if ln -s "$agent" "$arena/holder" 2>/dev/null; then
    echo held >>"$arena/$agent.log"
    sleep 0.00$((RANDOM % 9))
    rm "$arena/holder"
  else
    echo BOTH >>"$arena/$agent.log"
  fi
  give >>"$arena/$agent.gave" 2>&1
  sleep 0.0$((RANDOM % 5))
done
