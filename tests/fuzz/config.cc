// A lockkeeper.toml of any text: every value is within its bounds, or the file is refused in words.
#include <algorithm>

#include "realm.h"
#include "realm/config_schema.h"

namespace lockkeeper::fuzz {
namespace {

void check_snapshots(const realm::Settings& settings) {
  const std::uint64_t bytes = settings.snapshots_bytes.value;
  require(bytes >= realm::kSnapshotsBytesMin && bytes <= realm::kSnapshotsBytesMax,
          "snapshots.size");
  require(realm::parse_bytes(realm::format_bytes(bytes)) == bytes, "a size is shown as another");
  require(settings.snapshots_file_bytes.value <= realm::kSnapshotsFileBytesMax, "snapshots.file");
  static_cast<void>(realm::snapshot_is_secret(settings, "a/.env.local"));
}

void check_hook(const realm::Settings& settings) {
  require(settings.hook_wait_ms.value >= 0 && settings.hook_wait_ms.value <= realm::kHookWaitMsMax,
          "hook.wait");
  require(settings.hook_ignore.value.size() <= realm::kHookIgnoreMax, "hook.ignore");
  for (const std::string& pattern : settings.hook_ignore.value) {
    require(realm::is_ignore_pattern(pattern), "a pattern of hook.ignore: " + pattern);
  }
  require(settings.worktrees_copy.value.size() <= realm::kHookIgnoreMax, "worktrees.copy");
  require(settings.worktrees_link.value.size() <= realm::kHookIgnoreMax, "worktrees.link");
  require(!realm::hook_ignores(settings, "dist/../src/a"), "a path that may lead anywhere");
  static_cast<void>(realm::hook_ignores(settings, "a/node_modules/b/index.min.js"));
  for (const auto& rule : settings.hook_paths) require(!rule.paths.empty(), "a rule for no path");
  require(settings.hook_tools.size() <= realm::kHookToolsMax, "hook.tools");
  for (const auto& rule : settings.hook_tools) {
    require(!rule.tool.empty() && rule.tool.size() <= realm::kHookToolBytesMax, "a tool's name");
    require(std::ranges::count(realm::kHookDoes, rule.does) == 1, "does: " + rule.does);
  }
}

void check(const realm::Settings& settings) {
  const auto length = [](std::int64_t ms) {
    return ms == kNoEnd || (ms >= realm::kLeaseMsMin && ms <= kLongestDurationMs);
  };
  require(length(settings.lease_default_ms.value), "lease.default");
  require(length(settings.lease_longest_ms.value), "lease.longest");
  require(settings.orphan_grace_ms.value >= 0 &&
              settings.orphan_grace_ms.value <= realm::kOrphanGraceMsMax,
          "orphan grace");
  require(settings.resources_per_agent.value >= 1 &&
              settings.resources_per_agent.value <= realm::kResourcesPerAgentMax,
          "resources per agent");
  require(settings.resources_per_request.value >= 1 &&
              settings.resources_per_request.value <= realm::kResourcesPerRequestMax,
          "resources per request");
  require(settings.events_kept.value >= realm::kEventsKeptMin &&
              settings.events_kept.value <= realm::kEventsKeptMax,
          "events kept");
  require(settings.key_prefixes.value.size() <= realm::kPrefixesMax, "prefixes");
  require(settings.feature_purposes.value.size() <= realm::kPurposesMax, "purposes");
  require(realm::settings_rows(settings).size() > 5, "too few rows");
  for (const auto& rule : settings.protect) require(!rule.paths.empty(), "a rule for nothing");
  check_hook(settings);
  check_snapshots(settings);
  if (const auto parsed = key::parse("src/a", settings.key_rules(realm()))) {
    static_cast<void>(realm::hook_policy_for(settings, parsed->resource));
    const auto allowed = realm::check_allowed(settings, "agent", parsed->resource);
    if (!allowed) require_readable(allowed.error());
  }
  static_cast<void>(realm::lease_ttl(settings, std::nullopt));
}

}  // namespace

void run(Input input) {
  const bool local = (input.byte() & 1) != 0;
  const auto nothing = [](const char*) { return std::optional<std::string>(); };
  const std::string repository = realm().root + "/lockkeeper.toml";
  const std::string beside = realm().store_folder + "/config.toml";
  write_file(local ? beside : repository, input.rest());
  write_file(local ? repository : beside, "");
  const auto settings = realm::load_settings(realm(), nothing);
  if (settings) return check(*settings);
  require(settings.error().code == Code::kInvalidConfig, "refused with another code");
  require_readable(settings.error());
}

}  // namespace lockkeeper::fuzz
