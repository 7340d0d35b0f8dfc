# For the run.sh of each example, which reads it with `.`: the program (LOCKKEEPER, or that on the PATH, or
# that of this checkout), and words for what goes wrong.
examples=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
lockkeeper=${LOCKKEEPER:-$(command -v lockkeeper || echo "$examples/../build/release/bin/lockkeeper")}
give_up() {
  echo "run.sh: $1" >&2
  exit 69
}
# Until the command says yes; 30 s at most.
until_so() {
  local tries=0
  until "$@"; do
    ((++tries < 600)) || give_up "this was expected and did not come: $*"
    sleep 0.05
  done
}
needs() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || give_up "$tool is not installed"
  done
}
[[ -x $lockkeeper ]] || give_up "there is no $lockkeeper: ./dev build, or say LOCKKEEPER=PROGRAM"
