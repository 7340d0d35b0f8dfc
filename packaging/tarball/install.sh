#!/bin/sh
# install.sh [--prefix FOLDER] [--from FOLDER|URL]
#
# Installs lockkeeper: its program, manual pages and completions. The archive is taken from --from,
# else from the folder of this script, else from where the release was published. It is compared with
# SHA256SUMS of the same place before anything of it is used. The prefix is /usr/local for root, else
# ~/.local. To remove it again: install.sh --uninstall [--prefix FOLDER].
set -eu
version=@VERSION@
published=@FROM@

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

main() {
  if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:-}/.local; fi
  from=
  task=install
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix | --from)
        [ $# -ge 2 ] || fail "$1 needs a value"
        if [ "$1" = --from ]; then from=$2; else prefix=$2; fi
        shift
        ;;
      --uninstall) task=uninstall ;;
      *) fail "unknown option '$1': install.sh [--prefix FOLDER] [--from FOLDER|URL] [--uninstall]" ;;
    esac
    shift
  done
  case $prefix in
    /*) ;;
    *) fail "the prefix '$prefix' is not an absolute path" ;;
  esac
  list=$prefix/share/lockkeeper/installed.txt
  if [ $task = uninstall ]; then uninstall; else install; fi
}

# What an earlier run has installed, and the folders that are empty then.
uninstall() {
  [ -f "$list" ] || fail "nothing was installed there: $list is missing"
  while read -r file; do rm -f "$prefix/$file"; done <"$list"
  while read -r file; do
    folder=$(dirname "$prefix/$file")
    while [ "$folder" != "$prefix" ] && rmdir "$folder" 2>/dev/null; do folder=$(dirname "$folder"); done
  done <"$list"
  rm -f "$list"
  rmdir "$prefix/share/lockkeeper" "$prefix/share" 2>/dev/null || true
  printf 'lockkeeper is removed from %s\n' "$prefix"
}

# fetch FILE: from --from into the temporary folder.
fetch() {
  case $from in
    https://*)
      if command -v curl >/dev/null; then
        curl -fsSL --proto '=https' --tlsv1.2 -o "$work/$1" "$from/$1" || fail "cannot fetch $from/$1"
      elif command -v wget >/dev/null; then
        wget -q --https-only -O "$work/$1" "$from/$1" || fail "cannot fetch $from/$1"
      else
        fail "neither curl nor wget is installed"
      fi
      ;;
    *://*) fail "'$from' is not https" ;;
    *)
      [ -f "$from/$1" ] || fail "$from/$1 is missing"
      cp "$from/$1" "$work/$1"
      ;;
  esac
}

install() {
  [ "$(uname -s)" = Linux ] || fail "lockkeeper runs on Linux, not on $(uname -s)"
  case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    *) fail "there is no program for $(uname -m); it can be built from its sources" ;;
  esac
  name=lockkeeper-$version-linux-$machine
  if [ -z "$from" ]; then
    here=$(dirname "$0")
    if [ -f "$here/SHA256SUMS" ]; then from=$here; else from=$published; fi
  fi
  [ -n "$from" ] || fail "say where the release is: --from FOLDER or --from URL"
  command -v sha256sum >/dev/null || fail "sha256sum is not installed: nothing could be verified"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  fetch SHA256SUMS
  fetch "$name.tar.gz"
  grep "  $name.tar.gz\$" "$work/SHA256SUMS" >"$work/sum" || fail "SHA256SUMS does not name $name.tar.gz"
  (cd "$work" && sha256sum -c sum >/dev/null 2>&1) ||
    fail "$name.tar.gz is not what SHA256SUMS says: nothing was installed"
  tar -xzf "$work/$name.tar.gz" -C "$work"
  "$work/$name/bin/lockkeeper" --version >/dev/null || fail "the program does not run here"
  (cd "$work/$name" && find . ! -type d) | sed 's|^\./||' | sort >"$work/list"
  while read -r file; do
    mkdir -p "$prefix/$(dirname "$file")" || fail "cannot write into $prefix: try --prefix FOLDER"
    # In one step: whoever runs the program meanwhile has the old one or the new one.
    cp -P "$work/$name/$file" "$prefix/$file.new" || fail "cannot write $prefix/$file"
    mv -f "$prefix/$file.new" "$prefix/$file"
  done <"$work/list"
  cp "$work/list" "$list"
  printf 'lockkeeper %s is installed: %s\n' "$version" "$prefix/bin/lockkeeper"
  case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) printf '%s is not on your PATH yet\n' "$prefix/bin" ;;
  esac
  printf 'Now, in a repository: lockkeeper init\n'
}

# The whole script is here before any of it runs.
main "$@"
