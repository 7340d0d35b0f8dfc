#!/usr/bin/env bash
# run.sh: two machines and a hub, on one computer: each machine is a network namespace, with a cable
# (a veth pair) between them. Needs Linux, ip and openssl; no root where the kernel gives namespaces
# to everybody. About five seconds; nothing is left. LOCKKEEPER names the program, if not on the PATH.
set -euo pipefail

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../common.sh"
needs unshare nsenter ip openssl git

# All that follows is in namespaces of its own, and ends with them.
if [[ ${1:-} != inside ]]; then
  as=()
  [[ $EUID -eq 0 ]] || as=(--user --map-root-user)
  apart=(unshare "${as[@]}" --net --pid --fork --kill-child --mount-proc)
  "${apart[@]}" true 2>/dev/null || give_up "the kernel allows no network namespaces here"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/lockkeeper-hub-XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  LOCKKEEPER=$lockkeeper "${apart[@]}" "${BASH_SOURCE[0]}" inside "$folder"
  exit
fi

folder=$2
hub=10.77.0.1
unshare --net sleep infinity &
laptop_pid=$!
is_elsewhere() { [[ $(readlink "/proc/$laptop_pid/ns/net") != "$(readlink /proc/self/ns/net)" ]]; }
until_so is_elsewhere
ip link add cable type veth peer name cable netns "$laptop_pid"
ip address add $hub/24 dev cable
ip link set lo up
ip link set cable up
nsenter --net --target "$laptop_pid" sh -c \
  'ip address add 10.77.0.2/24 dev cable && ip link set lo up && ip link set cable up'

# Each machine has a home and a clone of its own.
on_desk() {
  cd "$folder/desk/shop"
  exec env -i PATH="$PATH" HOME="$folder/desk" LOCKKEEPER_AGENT="$1" "${@:2}"
}
on_laptop() {
  cd "$folder/laptop/shop"
  exec nsenter --net --target "$laptop_pid" \
    env -i PATH="$PATH" HOME="$folder/laptop" LOCKKEEPER_AGENT="$1" "${@:2}"
}
desk() { (on_desk "$@"); }
laptop() { (on_laptop "$@"); }
# say MACHINE AGENT COMMAND…: shows it, does it, and shows how it ended.
say() {
  local status=0
  printf '\n%s (%s)$ lockkeeper %s\n' "$1" "$2" "${*:3}"
  "$1" "$2" "$lockkeeper" "${@:3}" 2>&1 || status=$?
  [[ $status -eq 0 ]] || echo "(exit status $status)"
}

mkdir -p "$folder/desk" "$folder/laptop"
git init -q -b main "$folder/desk/shop"
mkdir -p "$folder/desk/shop/src/auth"
echo "# auth" >"$folder/desk/shop/src/auth/token.py"
printf '[realm]\nname = "team/shop"\n' >"$folder/desk/shop/lockkeeper.toml"
git -C "$folder/desk/shop" add -A
git -C "$folder/desk/shop" -c user.name=demo -c user.email=demo@example.org commit -q -m "The shop"
git clone -q "$folder/desk/shop" "$folder/laptop/shop"

echo "The hub is on the desk, with TLS and a token for each person."
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
  -keyout "$folder/key.pem" -out "$folder/cert.pem" -subj "/CN=hub" \
  -addext "subjectAltName=IP:$hub" 2>/dev/null
desk "" "$lockkeeper" token add alice >"$folder/alice" 2>/dev/null
desk "" "$lockkeeper" token add bob >"$folder/bob" 2>/dev/null
on_desk "" "$lockkeeper" serve --listen $hub:7420 --host $hub --realm team/shop=. \
  --tls-cert "$folder/cert.pem" --tls-key "$folder/key.pem" 2>"$folder/hub.log" &
until_so grep -q https "$folder/hub.log"

say desk claude login https://$hub:7420 --ca-file "$folder/cert.pem" --token-file "$folder/alice"
say laptop codex login https://$hub:7420 --ca-file "$folder/cert.pem" --token-file "$folder/bob"

echo; echo "--- An agent on the desk takes a folder. One on the laptop is refused, and waits."
say desk claude acquire src/auth/ --reason "JWT refresh"
say laptop codex acquire src/auth/token.py
say desk claude message send codex@bob "src/auth/ is yours in a minute"
on_laptop codex "$lockkeeper" acquire src/auth/token.py --wait=1m >"$folder/waited" 2>&1 &
waiter=$!
waits() { desk "" "$lockkeeper" list --json | grep -q '"agent":"codex@bob"'; }
until_so waits
say desk claude list
say desk claude release src/auth/
wait $waiter
echo; echo "laptop (codex), which had waited:"
cat "$folder/waited"
say laptop codex release --all

echo; echo "--- A command on the laptop is killed. Its lock is free at once."
on_laptop codex "$lockkeeper" run db:schema:users -- sh -c "touch '$folder/begun'; exec sleep 600" &
runner=$!
until_so test -e "$folder/begun"
say desk claude acquire db:schema:users
kill -KILL $runner
{ wait $runner || true; } 2>/dev/null
say desk claude acquire db:schema:users --wait=30s
say desk claude release --all

echo; echo "--- The cable is pulled. On the laptop nothing is granted, whatever the desk does."
ip link set cable down
say laptop codex acquire src/auth/
say desk claude acquire src/auth/
ip link set cable up
echo; echo "--- The cable is back."
answers() { laptop codex "$lockkeeper" list >/dev/null 2>&1; }
until_so answers
say laptop codex acquire src/auth/
say desk claude release --all
