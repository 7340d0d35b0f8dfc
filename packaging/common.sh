# What the scripts of this folder have in common; they read it with `.`.
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
out=$root/build/package
version=$(sed -n 's/^project(lockkeeper VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
# Every file of a release has the time of its commit, so that two builds of it are the same.
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")
fi
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8

say() { printf '==> %s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Debian's names of the architectures, which the folders have; the kernel's; and npm's.
architectures=(amd64 arm64)
own_architecture() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) die "releases are for x86-64 and aarch64, not for $(uname -m)" ;;
  esac
}
machine_of() { if [[ $1 == amd64 ]]; then echo x86_64; else echo aarch64; fi; }
npm_name_of() { if [[ $1 == amd64 ]]; then echo x64; else echo arm64; fi; }
preset_of() { if [[ $1 == "$(own_architecture)" ]]; then echo package; else echo "package-$1"; fi; }
build_of() { if [[ $1 == "$(own_architecture)" ]]; then echo "$root/build/package-native"; else echo "$root/build/package-$1"; fi; }
# What runs a program of that architecture here; nothing if the machine does.
runner_of() { [[ $1 == "$(own_architecture)" ]] || command -v "qemu-$(machine_of "$1")" "qemu-$(machine_of "$1")-static" | head -n 1; }

# The release's time for all of a folder, and no more rights than files need.
settle() {
  find "$1" -type d -exec chmod 755 {} +
  find "$1" -type f -perm /111 -exec chmod 755 {} +
  find "$1" -type f ! -perm /111 -exec chmod 644 {} +
  find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# pack FILE.tar.gz FOLDER NAME: FOLDER/NAME as an archive that is the same wherever it is made.
pack() {
  tar -C "$2" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" -cf - "$3" | gzip -n -9 >"$1"
}
