#!/usr/bin/env bash
# run.sh: two sessions of Claude Code in one repository, without Claude Code: what it tells its hooks is
# told by this script, and what the model would read is shown. LOCKKEEPER names the program, if not on
# the PATH. A second; nothing is left.
set -euo pipefail

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../common.sh"
folder=$(mktemp -d "${TMPDIR:-/tmp}/lockkeeper-sessions-XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
mkdir -p "$folder/home/.claude" "$folder/shop/src"
export HOME=$folder/home
cd "$folder/shop"
git init -q .
echo "def users(): pass" >src/users.py
echo "def orders(): pass" >src/orders.py

echo "\$ lockkeeper install claude"
"$lockkeeper" install claude 2>&1 | tail -n 3
hook=$(sed -n 's/.*"command": "\(.* hook claude\)".*/\1/p' .claude/settings.local.json | head -n 1)

# Each session is a process that starts its hooks, as Claude Code is one.
session() { exec sleep 600; }
session &
anna=$!
session &
bert=$!

# told PID NAME EVENT REST: what the hook of that session answers, as the model reads it.
told() {
  local answer
  answer=$(CLAUDE_PID=$1 CLAUDECODE=1 sh -c "$hook" <<TEXT
{"session_id":"$2","cwd":"$PWD","hook_event_name":"$3"$4}
TEXT
  ) || true
  if [[ -z $answer ]]; then
    echo "   (nothing: it goes on)"
  else
    printf '%s\n' "$answer" | sed 's/.*"permissionDecisionReason":"//; s/"}}*$//; s/\\n/\n/g; s/^/   /'
  fi
}
edit() {
  echo
  echo "$2 edits $3"
  told "$1" "$2" PreToolUse ",\"tool_name\":\"Edit\",\"tool_use_id\":\"$2-$3\",\"tool_input\":{\"file_path\":\"$PWD/$3\",\"old_string\":\"pass\",\"new_string\":\"return 1\"}"
}
ends() {
  echo
  echo "$2's turn ends"
  told "$1" "$2" Stop ',"stop_hook_active":false'
}

edit $anna anna src/users.py
edit $bert bert src/users.py
edit $bert bert src/orders.py
echo
echo "\$ lockkeeper list"
"$lockkeeper" list
ends $anna anna
edit $bert bert src/users.py
