// The keys of a config file and their bounds; turns one file's text into Settings. Only its source,
// config_reader.h and hook_schema.h know TOML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "realm/config.h"
#include "realm/config_fields.h"

namespace lockkeeper::realm {

// In the order of `config show`.
inline constexpr Field kFields[] = {
    {"lease.default",
     DurationField{&Settings::lease_default_ms, kLeaseMsMin, kLongestDurationMs, true},
     "ttl default_ttl ttl_default duration"},
    {"lease.longest",
     DurationField{&Settings::lease_longest_ms, kLeaseMsMin, kLongestDurationMs, true},
     "max max_ttl ttl_max maximum longest_ttl"},
    {"lease.endless", FlagField{&Settings::lease_endless}},
    {"lease.orphan_grace", DurationField{&Settings::orphan_grace_ms, 0, kOrphanGraceMsMax, false},
     "grace"},
    {"limits.resources_per_agent",
     NumberField{&Settings::resources_per_agent, 1, kResourcesPerAgentMax}},
    {"limits.resources_per_request",
     NumberField{&Settings::resources_per_request, 1, kResourcesPerRequestMax}},
    {"keys.prefixes", WordsField{&Settings::key_prefixes, kPrefixesMax, "team"}},
    {"keys.feature_purposes", WordsField{&Settings::feature_purposes, kPurposesMax, "schema"}},
    {"keys.strict", FlagField{&Settings::keys_strict}},
    {"store.durability", ChoiceField<Durability>{&Settings::durability, kDurabilities}},
    {"events.kept", NumberField{&Settings::events_kept, kEventsKeptMin, kEventsKeptMax}},
    {"ports.base",
     NumberField{&Settings::ports_base, kPortLowest, kPortHighest - kPortsOfSession + 1}},
    {"ports.range", NumberField{&Settings::ports_range, kPortsOfSession, kPortHighest}},
    {"ports.sessions", NumberField{&Settings::ports_sessions, 1, kPortSessionsMax}},
    {"ports.ttl", DurationField{&Settings::ports_ttl_ms, kLeaseMsMin, kLongestDurationMs, false}},
    {"hook.policy", ChoiceField<HookPolicy>{&Settings::hook_policy, kHookPolicies}},
    {"hook.wait", DurationField{&Settings::hook_wait_ms, 0, kHookWaitMsMax, false}},
    {"hook.worktrees", ChoiceField<HookWorktrees>{&Settings::hook_worktrees, kHookWorktrees}},
    {"hook.on_failure", ChoiceField<bool>{&Settings::hook_block_on_failure, kHookFailures},
     "onFailure failure fail_closed failClosed"},
    {"hook.offline", ChoiceField<bool>{&Settings::hook_block_offline, kHookOfflines}},
    {"hook.wake", FlagField{&Settings::hook_wake}, "wake_up wakeup"},
    {"hook.ignore", PatternsField{&Settings::hook_ignore}},
    {"git.policy", ChoiceField<GitPolicy>{&Settings::git_policy, kGitPolicies}, "agents"},
    {"git.people", ChoiceField<GitPolicy>{&Settings::git_people, kGitPolicies}, "humans users"},
    {"snapshots.enabled", FlagField{&Settings::snapshots_enabled}},
    {"snapshots.keep",
     DurationField{&Settings::snapshots_keep_ms, kSnapshotsKeepMsMin, kSnapshotsKeepMsMax, false},
     "age days"},
    {"snapshots.size",
     BytesField{&Settings::snapshots_bytes, kSnapshotsBytesMin, kSnapshotsBytesMax},
     "max_size bytes"},
    {"snapshots.file", BytesField{&Settings::snapshots_file_bytes, 0, kSnapshotsFileBytesMax},
     "max_file file_size"},
    {"snapshots.only_hash", PatternsField{&Settings::snapshots_only_hash},
     "secrets exclude hash_only"},
    {"snapshots.ignored", FlagField{&Settings::snapshots_ignored}, "gitignored"},
    {"worktrees.copy", PatternsField{&Settings::worktrees_copy}},
    {"worktrees.link", PatternsField{&Settings::worktrees_link}, "symlink"},
    {"realm.name",
     NameField{&Settings::realm_name, is_hub_name, "a name such as \"github.com/org/repo\""}},
    {"server.url",
     NameField{&Settings::server_url, is_server_url,
               "an address such as \"https://hub.example.com\""},
     "address host hub"},
    {"server.offline", ChoiceField<Offline>{&Settings::server_offline, kOfflines}},
};

// Rules as written; their paths are parsed once the prefixes of all files are known.
struct RawProtect {
  std::vector<RawText> paths;
  std::vector<std::string> agents;
  std::string reason;
  Origin origin;
};

struct RawPolicy {
  std::vector<std::string> agents;
  bool lists = false;
  std::vector<RawText> allow, prefixes, deny;
  std::string reason;
  Origin origin;
};

struct RawRules {
  std::vector<RawProtect> protect;
  std::vector<RawPolicy> policy;
  std::vector<RawHookPath> hook_paths;  // those of the file with the highest precedence first
};

// Overrides in `settings` what the text sets, and adds its rules to `rules`. invalid_config names
// file, line, key, value and what was expected; both outputs are then in an unspecified state.
Result<void> apply_config(std::string_view text, const std::string& file, Settings& settings,
                          RawRules& rules);

// ["a", "b"]
std::string toml_list(const std::vector<std::string>& values);

// invalid_config at a place: "FILE:LINE: KEY is VALUE, expected …".
Error config_error(const Origin& origin, std::string_view key, std::string_view value,
                   std::string_view expected);

}  // namespace lockkeeper::realm
