// A lockkeeper.toml of any text: every value is within its bounds, or the file is refused in words.
#include "realm.h"
#include "service/config_schema.h"

namespace lockkeeper::fuzz {
namespace {

void check(const service::Settings& settings) {
  const auto length = [](std::int64_t ms) {
    return ms == kNoEnd || (ms >= service::kLeaseMsMin && ms <= kLongestDurationMs);
  };
  require(length(settings.lease_default_ms.value), "lease.default");
  require(length(settings.lease_longest_ms.value), "lease.longest");
  require(settings.orphan_grace_ms.value >= 0 &&
              settings.orphan_grace_ms.value <= service::kOrphanGraceMsMax,
          "orphan grace");
  require(settings.resources_per_agent.value >= 1 &&
              settings.resources_per_agent.value <= service::kResourcesPerAgentMax,
          "resources per agent");
  require(settings.resources_per_request.value >= 1 &&
              settings.resources_per_request.value <= service::kResourcesPerRequestMax,
          "resources per request");
  require(settings.events_kept.value >= service::kEventsKeptMin &&
              settings.events_kept.value <= service::kEventsKeptMax,
          "events kept");
  require(settings.key_prefixes.value.size() <= service::kPrefixesMax, "prefixes");
  require(settings.feature_purposes.value.size() <= service::kPurposesMax, "purposes");
  require(service::settings_rows(settings).size() > 5, "too few rows");
  for (const auto& rule : settings.protect) require(!rule.paths.empty(), "a rule for nothing");
  if (const auto parsed = key::parse("src/a", settings.key_rules(realm()))) {
    const auto allowed = service::check_allowed(settings, "agent", parsed->resource);
    if (!allowed) require_readable(allowed.error());
  }
  static_cast<void>(service::lease_length(settings, std::nullopt));
}

}  // namespace

void run(Input input) {
  const bool local = (input.byte() & 1) != 0;
  const auto nothing = [](const char*) { return std::optional<std::string>(); };
  const std::string repository = realm().root + "/lockkeeper.toml";
  const std::string beside = realm().store_folder + "/config.toml";
  write_file(local ? beside : repository, input.rest());
  write_file(local ? repository : beside, "");
  const auto settings = service::load_settings(realm(), nothing);
  if (settings) return check(*settings);
  require(settings.error().code == Code::kInvalidConfig, "refused with another code");
  require_readable(settings.error());
}

}  // namespace lockkeeper::fuzz
