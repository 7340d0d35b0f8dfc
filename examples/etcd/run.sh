#!/usr/bin/env bash
# run.sh: an etcd of three members, two hubs that serve it together, and two machines, on one computer.
# Needs Linux and etcd (LOCKKEEPER_ETCD names the folder of its programs, if not on the PATH); no root
# where the kernel gives namespaces to everybody. About fifteen seconds; nothing is left. LOCKKEEPER names
# the program, if not on the PATH.
set -euo pipefail

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../common.sh"
needs unshare ip git
etcd=${LOCKKEEPER_ETCD:-$examples/../build/etcd/usr/bin}/etcd
[[ -x $etcd ]] || etcd=$(command -v etcd) || give_up "there is no etcd: say LOCKKEEPER_ETCD=FOLDER"

# All that follows has a loopback interface and processes of its own, and ends with them.
if [[ ${1:-} != inside ]]; then
  as=()
  [[ $EUID -eq 0 ]] || as=(--user --map-root-user)
  apart=(unshare "${as[@]}" --net --pid --fork --kill-child --mount-proc)
  "${apart[@]}" true 2>/dev/null || give_up "the kernel allows no network namespaces here"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/lockkeeper-etcd-XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  LOCKKEEPER=$lockkeeper LOCKKEEPER_ETCD=$(dirname "$etcd") \
    "${apart[@]}" "${BASH_SOURCE[0]}" inside "$folder"
  exit
fi

folder=$2
store=etcd://127.0.0.1:2379,127.0.0.1:2389,127.0.0.1:2399/shop
one=127.0.0.1:7420
two=127.0.0.1:7421
ip link set lo up

# member NUMBER: runs in the background; its process is in members[NUMBER].
members=()
member() {
  local all='m0=http://127.0.0.1:2380,m1=http://127.0.0.1:2390,m2=http://127.0.0.1:2400'
  "$etcd" --name "m$1" --data-dir "$folder/m$1" --log-level error --initial-cluster "$all" \
    --listen-client-urls "http://127.0.0.1:23$((79 + 10 * $1))" \
    --advertise-client-urls "http://127.0.0.1:23$((79 + 10 * $1))" \
    --listen-peer-urls "http://127.0.0.1:$((2380 + 10 * $1))" \
    --initial-advertise-peer-urls "http://127.0.0.1:$((2380 + 10 * $1))" 2>>"$folder/m$1.log" &
  members[$1]=$!
}
# gone PROCESS…: kills them.
gone() {
  kill -KILL "$@"
  { wait "$@" || true; } 2>/dev/null
}

# Each machine has a home and a clone of its own, and so has the machine of each hub.
on() {
  cd "$folder/$1/shop"
  exec env -i PATH="$PATH" HOME="$folder/$1" LOCKKEEPER_AGENT="$2" "${@:3}"
}
quietly() { (on "$@"); }
# say MACHINE AGENT COMMAND…: shows it, does it, and shows how it ended.
say() {
  local status=0
  printf '\n%s%s$ lockkeeper %s\n' "$1" "${2:+ ($2)}" "${*:3}"
  quietly "$1" "$2" "$lockkeeper" "${@:3}" 2>&1 || status=$?
  [[ $status -eq 0 ]] || echo "(exit status $status)"
}
# serve MACHINE ADDRESS: a hub there. Both have one file of tokens.
serve() {
  on "$1" "" "$lockkeeper" serve --listen "$2" --realm team/shop=. --store $store \
    --token-file "$folder/tokens" 2>>"$folder/$1.log"
}

git init -q -b main "$folder/shop.git"
printf '[realm]\nname = "team/shop"\n' >"$folder/shop.git/lockkeeper.toml"
git -C "$folder/shop.git" add -A
git -C "$folder/shop.git" -c user.name=demo -c user.email=demo@example.org commit -q -m "The shop"
for machine in one two desk laptop; do
  mkdir "$folder/$machine"
  git clone -q "$folder/shop.git" "$folder/$machine/shop"
done

echo "Three members of etcd keep the locks."
for number in 0 1 2; do member $number; done
sound() { quietly one "" "$lockkeeper" doctor --store $store >"$folder/doctor" 2>&1; }
until_so sound
cat "$folder/doctor"

echo; echo "--- Two hubs, on two machines, serve them together."
for name in alice bob; do
  quietly one "" "$lockkeeper" token add $name --token-file "$folder/tokens" >"$folder/$name" 2>/dev/null
done
serve one $one &
first=$!
serve two $two &
for machine in one two; do until_so grep -q "serving http" "$folder/$machine.log"; done
say desk claude login http://$one,http://$two --token-file "$folder/alice"
say laptop codex login http://$two,http://$one --token-file "$folder/bob"

echo; echo "--- An agent on the desk takes a folder. One on the laptop is refused, and waits."
say desk claude acquire src/ --reason "JWT refresh"
say laptop codex acquire src/token.py
on laptop codex "$lockkeeper" acquire src/token.py --wait=2m >"$folder/waited" 2>&1 &
waiter=$!
waits() { quietly desk claude "$lockkeeper" list --json | grep -q '"agent":"codex@bob"'; }
until_so waits

echo; echo "--- A member of etcd is killed, the leader or not. Locks are granted as before."
gone "${members[0]}"
granted() { quietly desk claude "$lockkeeper" acquire docs/ --quiet 2>/dev/null; }
until_so granted
say desk claude list

echo; echo "--- The hub that the desk uses is killed. The desk goes on at the other one."
gone $first
until_so waits
say desk claude list
say desk claude release --all
wait $waiter
echo; echo "laptop (codex), which had waited:"
cat "$folder/waited"

echo; echo "--- A second member is killed. One of three decides nothing, so nothing is granted."
gone "${members[1]}"
say desk claude acquire src/
say two "" doctor --store $store

echo; echo "--- Both are started again. Nothing was lost."
member 0
member 1
until_so sound
say desk claude acquire src/
say laptop codex release --all
