# For the programs of this folder: `. ./env.sh`. LOCKKEEPER_MCP_CLIENTS is the folder that
# `tests/mcp/npm/install --clients` has filled. Runs and payloads go into HOOK_RUNS and HOOK_PAYLOADS.
: "${LOCKKEEPER_MCP_CLIENTS:?set it to the folder with the installed clients}"
export LOCKKEEPER_MCP_CLIENTS
export HOOK_RUNS=${HOOK_RUNS:-${TMPDIR:-/tmp}/hook-runs}
export HOOK_PAYLOADS=${HOOK_PAYLOADS:-${TMPDIR:-/tmp}/hook-payloads}
