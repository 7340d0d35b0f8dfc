# use.sh PROGRAM: a lock is taken, refused to others, waited for, handed over and lost with its
# holder. Runs in any POSIX shell, so that BusyBox can.
set -eu
p=$1
export LOCKKEEPER_STORE="${LOCKKEEPER_STORE:-}"
[ -n "$LOCKKEEPER_STORE" ] || unset LOCKKEEPER_STORE
fail() {
  echo "use.sh: $1" >&2
  exit 1
}
expect() {
  wanted=$1
  shift
  status=0
  said=$("$@" 2>&1) || status=$?
  [ $status = "$wanted" ] || fail "$* gave $status, not $wanted: $said"
}
expect 0 "$p" --version
expect 0 "$p" acquire --agent ann src/ --reason "a rewrite"
expect 75 "$p" acquire --agent bob src/a.py
case $said in *ann*"a rewrite"*) ;; *) fail "the refusal does not name its holder: $said" ;; esac
expect 75 "$p" check --agent bob src/a.py
expect 0 "$p" check --agent bob other
"$p" acquire --agent bob src/a.py --wait=20s >waited 2>&1 &
waiter=$!
tries=0
until "$p" list --json | grep -q '"agent":"bob"'; do
  tries=$((tries + 1))
  [ $tries -lt 200 ] || fail "bob does not wait"
  sleep 0.1
done
expect 0 "$p" release --agent ann --all
wait $waiter || fail "bob waited for nothing: $(cat waited)"
expect 0 "$p" run --agent cat db:migration-slot -- "$p" check --agent cat db:migration-slot
"$p" run --agent cat db:migration-slot -- sleep 600 &
runner=$!
tries=0
until "$p" list --json | grep -q '"agent":"cat"'; do
  tries=$((tries + 1))
  [ $tries -lt 200 ] || fail "cat does not run"
  sleep 0.1
done
kill -KILL $runner
wait $runner 2>/dev/null || true
expect 0 "$p" acquire --agent dan db:migration-slot --wait=20s
expect 0 "$p" release --agent bob --all
expect 0 "$p" release --agent dan --all
rm -f waited
echo used
