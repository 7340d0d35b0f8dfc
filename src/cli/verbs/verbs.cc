#include "cli/verbs/verbs.h"

#include "cli/verbs/run_verb.h"
#include "demo/demo_verb.h"

namespace lockkeeper::cli {
namespace {

// In the order in which a new user needs them.
constexpr Verb kVerbs[] = {
    {"acquire", "Take resources, all or nothing",
     "  lockkeeper acquire src/auth/login.py --reason \"JWT refresh\"\n"
     "  lockkeeper acquire src/auth/ 'tests/**/*auth*' --ttl 2h\n"
     "  lockkeeper acquire src/a.py --wait=10m      # queue for it, at most 10 minutes\n"
     "  lockkeeper acquire docs/ --mode shared      # others may also hold it shared\n"
     "  lockkeeper acquire db:migration-slot --attach $$   # ends with this shell\n",
     acquire_verb},
    {"release", "Release what you hold",
     "  lockkeeper release src/auth/login.py\n"
     "  lockkeeper release --all\n"
     "  lockkeeper release --task T-17\n",
     release_verb},
    {"renew", "Make your leases last longer",
     "  lockkeeper renew src/auth/login.py --ttl 2h\n"
     "  lockkeeper renew --all\n",
     renew_verb},
    {"check", "Is it free, or yours? Changes nothing",
     "  lockkeeper check src/auth/login.py            # exit 0: free or yours\n"
     "  lockkeeper check --held src/auth/login.py     # exit 0: only if you hold it\n"
     "  lockkeeper check src/a.py --fence \"$FENCE\"    is that lease still current?\n",
     check_verb, Does::kLook},
    {"list", "Who holds what, and who waits",
     "  lockkeeper list\n"
     "  lockkeeper list --mine\n"
     "  lockkeeper list --tree\n"
     "  lockkeeper list --under src/auth/ --json\n"
     "  lockkeeper list --all-realms\n",
     list_verb, Does::kLook},
    {"whoami", "Who you are here, and why",
     "  lockkeeper whoami\n"
     "  lockkeeper whoami --json\n",
     whoami_verb, Does::kLook},
    {"run", "Hold resources while a command runs",
     "  lockkeeper run src/auth/ -- claude -p \"fix the login\"\n"
     "  lockkeeper run --wait db:migration-slot -- make migrate\n"
     "  lockkeeper run --feature FEAT-123 src/ -- make      # wait while it is paused\n",
     run_verb},
    {"guard", "Hold a folder while a command runs: agent-dir locks",
     "  lockkeeper guard -- yarn github-workflows-agent --all\n"
     "  lockkeeper guard --agents plan,implement --stale-timeout 20 -- ./agents.sh\n"
     "  lockkeeper guard --cwd ~/app --stale-timeout 0 -- make  # clear any lock there\n",
     guard_verb},
    {"break", "End another agent's lease, on record",
     "  lockkeeper break src/auth/login.py --reason \"its agent hangs\"\n"
     "  lockkeeper break --agent frontend --dead --reason \"crashed\"\n"
     "  lockkeeper break --lease ID --reason \"taking over\"\n",
     break_verb},
    {"log", "What happened: grants, releases, expiries, breaks",
     "  lockkeeper log --since 10m\n"
     "  lockkeeper log -f --under src/auth/\n"
     "  lockkeeper log --since 2026-01-17T15:30:00Z --json\n",
     log_verb, Does::kLook},
    {"top", "Who holds what and who waits, live at your terminal",
     "  lockkeeper top\n"
     "  lockkeeper top --filter src/auth/ --sort waiting\n"
     "  lockkeeper top --once\n",
     top_verb, Does::kLook},
    {"open", "Who holds what and who waits, live in your browser",
     "  lockkeeper open\n"
     "  lockkeeper open --print\n",
     open_verb},
    {"recover", "What was lost or overwritten, and how to have it back", recover_subcommands,
     "to see the versions of a file: lockkeeper recover list FILE", "list"},
    {"message", "Messages to agents, shown with their next command", message_subcommands},
    {"hook", "What coding agents start before and after their tool calls", hook_subcommands},
    {"git-hook", "", "", git_hook_verb},
    {"layout", "The lock files of other tools that are read and written", layout_subcommands},
    {"adopt", "Make another tool's lock yours",
     "  lockkeeper adopt spec/.locks/files/src__a.py\n"
     "  lockkeeper adopt src/a.py --reason \"its agent is gone\"\n",
     adopt_verb},
    {"pause", "Stop all work on a feature",
     "  lockkeeper pause FEAT-123 --reason \"the contract changes\"\n"
     "  lockkeeper pause FEAT-123 --reason \"plan revision\" --ttl 30m\n",
     pause_verb},
    {"resume", "Let work on a feature continue",
     "  lockkeeper resume FEAT-123\n"
     "  lockkeeper resume FEAT-123 --reason \"its lead is gone\"   ends another agent's\n",
     resume_verb},
    {"gate", "May work on a feature continue? Locks nothing",
     "  lockkeeper gate FEAT-123 || exit\n"
     "  lockkeeper gate FEAT-123 --wait=10m   # until it is resumed, at most this long\n",
     gate_verb, Does::kLook},
    {"ports", "Four ports for a session's services", ports_subcommands},
    {"coordinator", "acquire_lock, release_lock, check_locks of the coordinator",
     coordinator_subcommands},
    {"task", "Task and file locks as folders, as scripts take them by mkdir", task_subcommands},
    {"coordmcp", "CoordMCP's tools, over the same locks", coordmcp_subcommands},
    {"workflow", "Run a plan's agents side by side; a workflow's lock files", workflow_subcommands},
    {"validate", "What is wrong with a plan, before anyone starts on it",
     "  lockkeeper validate work-packages.yaml\n"
     "  lockkeeper validate --strict plans/*.yaml\n"
     "  lockkeeper validate --sarif work-packages.yaml > findings.sarif\n",
     validate_verb, Does::kLook},
    {"plan", "Conflicts, rounds and timeline of a plan, and what to change",
     "  lockkeeper plan --example > work-packages.yaml\n"
     "  lockkeeper plan work-packages.yaml\n"
     "  lockkeeper plan scopes.yaml --jobs 4        # four agents at most\n"
     "  lockkeeper plan plan.yaml --graph graph.svg --timeline time.svg\n"
     "  lockkeeper plan plan.yaml --mermaid > plan.mmd\n"
     "  lockkeeper plan plan.yaml --apply 3 --output better.yaml\n",
     plan_verb, Does::kLook},
    {"init", "Set up this repository and the coding agents on this machine",
     "  lockkeeper init                     # shows what it will do, and asks\n"
     "  lockkeeper init --yes --agents-md   # asks nothing\n"
     "  lockkeeper init --policy warn       # begin softly: nothing is refused\n",
     init_verb},
    {"deinit", "Undo what init did",
     "  lockkeeper deinit --dry-run\n"
     "  lockkeeper deinit\n",
     deinit_verb},
    {"install", "Make a coding agent respect the locks: hooks and MCP server",
     "  lockkeeper install claude           # in this repository, for you alone\n"
     "  lockkeeper install all --user       # all that are here, in every repository\n"
     "  lockkeeper install codex --dry-run  # shows what would change\n"
     "  lockkeeper install claude --uninstall\n",
     install_verb},
    {"mcp", "Serve the lock tools to coding agents (MCP)",
     "  lockkeeper mcp                    # started by a client, such as\n"
     "                                    claude mcp add lockkeeper -- lockkeeper mcp\n"
     "  lockkeeper mcp --http 127.0.0.1:7420\n"
     "  lockkeeper mcp --dialect coordmcp\n",
     mcp_verb},
    {"serve", "Serve locks to containers and other machines: the hub",
     "  lockkeeper serve                  # this repository, on 127.0.0.1:7420\n"
     "  lockkeeper serve --realm app=/srv/app --realm web=/srv/web\n"
     "  lockkeeper serve --listen 0.0.0.0:7420 --host hub.example.com \\\n"
     "      --tls-cert hub.pem --tls-key hub.key --auto-realms\n"
     "  lockkeeper serve --listen unix:/run/user/1000/lockkeeper.sock --no-auth\n",
     serve_verb},
    {"token", "Who may use the hub, and what for", token_subcommands},
    {"login", "Let a hub keep the locks: for all verbs, hooks and MCP",
     "  lockkeeper login https://hub.example.com < token\n"
     "  lockkeeper login https://10.0.0.7:7420 --ca-file hub-ca.pem < token\n"
     "  lockkeeper login https://a.example.com,https://b.example.com < token\n"
     "  lockkeeper login http://127.0.0.1:7420 --token-file ~/hub-token\n",
     login_verb},
    {"logout", "Forget a hub and its token; the locks are this machine's again",
     "  lockkeeper logout\n"
     "  lockkeeper logout https://hub.example.com\n",
     logout_verb},
    {"relay", "", "", relay_verb},
    {"config", "The settings in force, and where each comes from", config_subcommands,
     "change settings in lockkeeper.toml; show them with: lockkeeper config show"},
    {"doctor", "Prove that locks and hooks work; repair a damaged store",
     "  lockkeeper doctor\n"
     "  lockkeeper doctor --repair\n",
     doctor_verb},
    {"purge", "End expired leases, delete old history",
     "  lockkeeper purge\n"
     "  lockkeeper purge --history    # delete all history, after asking\n"
     "  lockkeeper purge --remove-store    # if nothing is held; asks first\n",
     purge_verb},
    {"completion", "Tab completion for your shell", completion_subcommands},
    {"demo", "Several agents share a repository, end to end", "  lockkeeper demo\n",
     demo::demo_verb},
};

constexpr VerbGroup kGroups[] = {
    {"Everyday", "acquire release renew check list top open whoami run log break recover"},
    {"Plans", "validate plan workflow"},
    {"Agents", "init deinit install hook mcp message pause resume gate"},
    {"Other tools", "layout adopt guard coordinator ports coordmcp task"},
    {"Several machines", "serve token login logout"},
    {"Upkeep", "config doctor purge completion demo"},
};

// The words that people of git, Docker and flock try first. (cmake/Install.cmake reads the verbs
// above line by line.)
constexpr VerbAlias kAliases[] = {
    VerbAlias{"lock", "acquire"},
    VerbAlias{"unlock", "release"},
    VerbAlias{"ls", "list"},
    VerbAlias{"status", "list"},
};

}  // namespace

std::span<const Verb> all_verbs() {
  return kVerbs;
}

std::span<const VerbGroup> verb_groups() {
  return kGroups;
}

std::span<const VerbAlias> verb_aliases() {
  return kAliases;
}

}  // namespace lockkeeper::cli
