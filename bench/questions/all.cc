#include "bench/questions/questions.h"

namespace lockkeeper::bench {

// In the order of the published table.
const std::vector<Question>& all_questions() {
  static const std::vector<Question> kAll = {
      {"one-client", "acquire + release of one path at depth 4, one client", ask_one_client},
      {"four-processes", "the same, four processes", ask_four_processes},
      {"durable", "the same, one client, synced before it is answered", ask_durable},
      {"million", "the same, very many leases held against 100", ask_million},
      {"ten-paths", "ten paths in one acquire against one", ask_ten_paths},
      {"globs", "one path while thousands of globs are held", ask_globs},
      {"foreign", "one path while other tools hold a thousand locks in a layout", ask_foreign},
      {"check", "lockkeeper check PATH as a whole process", ask_check},
      {"hook", "the verdict of a coding agent's hook, as a whole process", ask_hook},
      {"hook-before", "the hook before a shell command: which files have changed?",
       ask_hook_before},
      {"hook-after", "the hook after a shell command: what has become of others' files?",
       ask_hook_after},
      {"git-commit", "a commit with the commit guard", ask_git_commit},
      {"git-rebase", "a rebase of ten commits with the commit guard", ask_git_rebase},
      {"snapshot", "what a hook pays for keeping a file of 100 KiB", ask_snapshot},
      {"reader-writer", "a reader and a writer in tight loops", ask_reader_writer},
      {"two-processes", "acquire + release as two processes", ask_two_processes},
      {"handoff", "release to the next waiter running, in another process", ask_handoff},
      {"kill", "kill -9 of the holder to the next waiter running", ask_kill},
      {"queue", "many waiters on one path: time for each handoff", ask_queue},
      {"parts", "a check while many parts of one session wait", ask_parts},
      {"memory", "memory of lockkeeper check with very many leases held", ask_memory},
      {"plans", "lockkeeper validate of a plan with very many packages", ask_plans},
      {"mcp", "acquire + release as two calls of an MCP server", ask_mcp},
      {"mcp-load", "2,000 calls of an MCP server, 16 at once", ask_mcp_load},
      {"mcp-idle", "memory of an MCP server for each connection that is silent", ask_mcp_idle},
      {"hub", "acquire + release over the hub's REST, one kept connection", ask_hub},
      {"hub-load", "the same, a thousand clients at once", ask_hub_load},
      {"hook-hub", "the verdict of a hook through relay and hub", ask_hook_hub},
      {"etcd", "acquire + release through a hub whose locks are in an etcd of three members",
       ask_etcd},
      {"etcd-load", "the same, 16 clients of one agent on different files", ask_etcd_load},
      {"hub-streams", "memory of the hub with very many event streams", ask_hub_streams},
  };
  return kAll;
}

}  // namespace lockkeeper::bench
