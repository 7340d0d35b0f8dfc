// Which rules apply: the realm's settings, read from three files and checked.
//
// Precedence: the local file beside the store, then the repository's lockkeeper.toml, then the
// user's, then the defaults. The first file that has a value decides it. [[protect]] and [[policy]]
// rules of all files apply together, because one file must not lift another's protection. [hook] is
// in realm/hook_settings.h.
//
// Others may change the repository's file, so every value and the file's size are limited, and a
// symlink in its place is refused. docs/reference/config.md lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "key/resource.h"
#include "realm/environment.h"
#include "realm/git_settings.h"
#include "realm/hook_settings.h"
#include "realm/realm.h"
#include "realm/rules.h"
#include "realm/server.h"
#include "realm/setting.h"
#include "realm/snapshot_settings.h"

namespace lockkeeper::realm {

inline constexpr std::string_view kRepositoryConfigName = "lockkeeper.toml";  // in the root
inline constexpr std::string_view kLocalConfigName = "config.toml";           // beside the store
inline constexpr std::size_t kConfigBytesMax = 256 * 1024;

enum class Durability { kFull, kProcess };
inline constexpr Word<Durability> kDurabilities[] = {
    {Durability::kFull, "full", "survives power loss"},
    {Durability::kProcess, "process", "survives kill -9"}};

// What happens if the hub cannot be reached. There is no other choice: a table on this machine
// would know nothing of what others hold.
enum class Offline : std::uint8_t { kRefuse };
inline constexpr Word<Offline> kOfflines[] = {{Offline::kRefuse, "refuse"}};

struct Settings {
  Setting<std::int64_t> lease_default_ms{3'600'000, {}};    // kNoEnd: none
  Setting<std::int64_t> lease_longest_ms{604'800'000, {}};  // kNoEnd: no bound
  Setting<bool> lease_endless{true, {}};                    // is `--ttl none` allowed?
  Setting<std::int64_t> orphan_grace_ms{30'000, {}};
  Setting<std::uint64_t> resources_per_agent{10'000, {}};
  Setting<std::uint64_t> resources_per_request{10'000, {}};
  Setting<std::vector<std::string>> key_prefixes;
  Setting<std::vector<std::string>> feature_purposes{{"pause"}, {}};  // always has "pause"
  Setting<bool> keys_strict{false, {}};
  Setting<Durability> durability{Durability::kFull, {}};
  Setting<std::uint64_t> events_kept{100'000, {}};
  Setting<std::uint64_t> ports_base{10'000, {}};
  Setting<std::uint64_t> ports_range{100, {}};  // from one session's ports to the next one's
  Setting<std::uint64_t> ports_sessions{20, {}};
  Setting<std::int64_t> ports_ttl_ms{7'200'000, {}};
  Setting<HookPolicy> hook_policy{HookPolicy::kWait, {}};
  Setting<std::int64_t> hook_wait_ms{5'000, {}};
  Setting<HookWorktrees> hook_worktrees{HookWorktrees::kWarn, {}};
  Setting<bool> hook_block_on_failure{true, {}};
  Setting<bool> hook_wake{false, {}};
  Setting<bool> hook_block_offline{true, {}};  // if the hub cannot be reached
  Setting<std::vector<std::string>> hook_ignore{{".git/", ".claude/", "node_modules/", "dist/"},
                                                {}};
  Setting<GitPolicy> git_policy{GitPolicy::kBlock, {}};  // for agents
  Setting<GitPolicy> git_people{GitPolicy::kWarn, {}};   // for whoever is not known as one
  Setting<bool> snapshots_enabled{true, {}};
  Setting<std::int64_t> snapshots_keep_ms{14 * kDayMs, {}};
  Setting<std::uint64_t> snapshots_bytes{256 * kMiB, {}};
  Setting<std::uint64_t> snapshots_file_bytes{4 * kMiB, {}};
  Setting<std::vector<std::string>> snapshots_only_hash{default_secrets(), {}};
  Setting<bool> snapshots_ignored{false, {}};  // is the content of what git ignores kept?
  // Of `workflow run --worktrees`: what git does not have, but a new worktree needs.
  Setting<std::vector<std::string>> worktrees_copy{{".env*"}, {}};
  Setting<std::vector<std::string>> worktrees_link;
  Setting<std::string> realm_name;  // on a hub; empty: after `origin`
  Setting<std::string> server_url;  // of the user's own file alone; empty: none
  Setting<Offline> server_offline{Offline::kRefuse, {}};
  std::optional<Server> server;          // the hub that keeps the locks (layout::load_settings)
  std::vector<HookPathRule> hook_paths;  // of all files; the first that matches decides
  std::vector<HookToolRule> hook_tools;  // the same
  std::vector<ProtectRule> protect;
  std::vector<PolicyRule> policy;
  std::vector<LayoutSetting> layouts;  // of all files together
  std::vector<std::string> files;      // the ones that were read, highest precedence first
  bool partial = false;                // a file or rule with a mistake was left out
  std::uint64_t stamp = 0;             // settings_stamp() before they were read; 0: not from files

  // What the key parser must know about this realm.
  key::Rules key_rules(const Realm& realm) const;
};

// Where the files are, or would be, highest precedence first.
std::vector<std::string> settings_files(const Realm& realm, const Environment& env);

// How the three files look: other settings have another stamp. Never 0.
std::uint64_t settings_stamp(const Realm& realm, const Environment& env);

// Reads and checks the files; costs three failed opens if there are none.
// invalid_config names file, line, key, value and what was expected; for an unknown key, the
// nearest known one. A file that cannot be read is invalid_config too: rules that cannot be seen
// must not be taken as absent (I10). `mistakes`, for verbs that only look or give back: a file or
// rule that is invalid_config is left out and its error put there.
Result<Settings> load_settings(const Realm& realm, const Environment& env,
                               std::vector<Error>* mistakes = nullptr);

// The ttl of a lease for which `asked_ms` was requested (kNoEnd: endless; nullopt: the default).
// invalid_input: not above 0. limit_exceeded: beyond lease.longest. operation_not_permitted:
// endless although lease.endless is false. The last two name the setting's origin.
Result<std::int64_t> lease_ttl(const Settings& settings, std::optional<std::int64_t> asked_ms);

// For a protocol with a usual ttl of its own (kNoEnd: none): that, or as much of it as is allowed.
std::int64_t bounded_ttl_ms(const Settings& settings, std::int64_t usual_ms);

// May this agent lock this, according to [[protect]] and [[policy]]? operation_not_permitted names
// the rule's pattern, file, line and reason.
Result<void> check_allowed(const Settings& settings, std::string_view agent,
                           const key::Resource& resource);

// One row of `config show`.
struct SettingRow {
  std::string name;    // "lease.default"
  std::string value;   // as one would write it in TOML
  std::string json;    // the same as JSON: a string, number, boolean, array or object
  std::string origin;  // Origin::text()
};
std::vector<SettingRow> settings_rows(const Settings& settings);

}  // namespace lockkeeper::realm
