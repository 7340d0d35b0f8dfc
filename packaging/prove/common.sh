# What the proofs have in common; they read it with `.`.
set -euo pipefail
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../common.sh"
own=$(own_architecture)
program=$out/$own/lockkeeper
name=$(basename "$0")
roots=${LOCKKEEPER_ROOTS:-$root/build/roots}
[[ -x $program || $name == demo ]] || die "$program is missing: ./dev package"
work=$(mktemp -d)

# Whatever a proof has mounted or started goes with it.
clean() {
  local at
  while read -r at; do umount -l "$at" 2>/dev/null || true; done \
    < <(awk -v w="$work" 'index($2, w) == 1 { print $2 }' /proc/mounts | sort -r)
  rm -rf "$work"
}
trap clean EXIT

ok() { printf 'ok %s: %s\n' "$name" "$*"; }
skip() {
  printf 'skipped %s: %s\n' "$name" "$*"
  exit 0
}
# same WHAT EXPECTED GOT
same() { [[ $2 == "$3" ]] || die "$1: expected '$2', got '$3'"; }
# gives STATUS COMMAND…: the command ends with that; its output is in $said.
gives() {
  local wanted=$1 status=0
  shift
  said=$("$@" 2>&1) || status=$?
  [[ $status == "$wanted" ]] || die "exit status $status, not $wanted: $*"$'\n'"$said"
}

# clean_system SUITE: a Debian that has nothing but what every Debian has, in $system. It is made
# once and used through an overlay, so that nothing stays in it.
clean_system() {
  [[ $EUID -eq 0 ]] || skip "only root can make a clean system"
  command -v debootstrap >/dev/null || skip "debootstrap is not installed"
  local base=$roots/$1
  if [[ ! -e $base/made ]]; then
    say "a clean Debian '$1' into $base, once"
    rm -rf "$base"
    mkdir -p "$roots"
    debootstrap --variant=minbase "$1" "$base" >"$work/log" 2>&1 || die "debootstrap: $(tail -n 3 "$work/log")"
    touch "$base/made"
  fi
  system=$work/system
  mkdir -p "$system" "$work/over"
  mount -t tmpfs over "$work/over"
  mkdir "$work/over/upper" "$work/over/work"
  mount -t overlay over -o "lowerdir=$base,upperdir=$work/over/upper,workdir=$work/over/work" "$system"
  mount -t proc proc "$system/proc"
  mount --rbind /dev "$system/dev"
  mount --make-rslave "$system/dev"
}
# inside COMMAND…: in the clean system, with nothing of this environment.
inside() { env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$system" "$@"; }
