#include "realm/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/text.h"
#include "realm/config_schema.h"
#include "realm/disk_path.h"
#include "realm/policy.h"
#include "realm/resolve.h"

namespace lockkeeper::realm {
namespace {

// nullopt: no such file. A pipe in its place must not make every command hang, and a symlink in a
// repository must not make us print a line of another file.
Result<std::optional<std::string>> config_text(const std::string& file, bool follow) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
  const Fd fd(::open(file.c_str(), flags));
  const std::string hint = "correct or remove the file";
  if (!fd) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) return std::nullopt;
    if (error == ELOOP) {
      return fail(Code::kInvalidConfig, file + ": is a symlink; it must be a regular file", hint);
    }
    return fail(Code::kInvalidConfig, file + ": cannot be read: " + std::strerror(error), hint);
  }
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return fail(Code::kInvalidConfig, file + ": not a regular file", hint);
  }
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return fail(Code::kInvalidConfig, file + ": cannot be read: " + std::strerror(errno), hint);
    }
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kConfigBytesMax) {
      return fail(Code::kInvalidConfig,
                  file + ": larger than " + std::to_string(kConfigBytesMax) + " bytes", hint);
    }
  }
}

struct ConfigFile {
  std::string path;
  bool follow = false;
  bool of_repository = false;
};

// Lowest precedence first, so that each one overrides those before it.
std::vector<ConfigFile> config_files(const Realm& realm, const Environment& env) {
  std::vector<ConfigFile> files;
  if (const auto user = xdg_folder(env, "XDG_CONFIG_HOME", ".config")) {
    files.push_back({join_path(*user, "lockkeeper/config.toml"), true});
  }
  if (!realm.machine) files.push_back({join_path(realm.root, kRepositoryConfigName), false, true});
  // One that others may have written, or that came with a clone or an archive, is not this user's.
  const bool theirs = !has_own_store_folder(realm);
  files.push_back({join_path(realm.store_folder, kLocalConfigName), false, theirs});
  return files;
}

// A default longer than the longest is an error if one file says both. If they come from two files,
// the narrower bound holds: a user's setting must not make a repository unusable.
Result<void> reconcile(Settings& settings) {
  auto& ttl = settings.lease_default_ms;
  const auto& longest = settings.lease_longest_ms;
  const auto& endless = settings.lease_endless;
  if (ttl.value == kNoEnd && !endless.value) {
    if (ttl.origin.file == endless.origin.file) {
      return fail(config_error(ttl.origin, "lease.default", "\"none\"",
                               "a ttl, because lease.endless is false"));
    }
    ttl = longest.value == kNoEnd ? Settings{}.lease_default_ms : longest;
  }
  const bool too_long = longest.value != kNoEnd && ttl.value != kNoEnd && ttl.value > longest.value;
  if (!too_long) return {};
  if (!ttl.origin.file.empty() && ttl.origin.file == longest.origin.file) {
    return fail(config_error(ttl.origin, "lease.default", format_duration(ttl.value),
                             "at most lease.longest, which is " + format_duration(longest.value)));
  }
  ttl = longest;
  return {};
}

Result<ProtectRule> parse_rule(const RawProtect& raw, const key::Rules& rules, Resolver& resolver) {
  ProtectRule rule{{}, raw.agents, raw.reason, raw.origin};
  for (const RawText& path : raw.paths) {
    LK_ASSIGN(const auto all, parse_configured(path, "protect.paths", rules, resolver));
    rule.paths.insert(rule.paths.end(), all.begin(), all.end());
  }
  return rule;
}

}  // namespace

std::string Origin::text() const {
  if (file.empty()) return "default";
  return line == 0 ? file : file + ":" + std::to_string(line);
}

key::Rules Settings::key_rules(const Realm& realm) const {
  key::Rules rules;
  rules.fold_case = realm.ignore_case;
  rules.extra_prefixes = key_prefixes.value;
  if (realm.machine) rules.extra_prefixes.emplace_back("dir");  // the folders that guards hold
  rules.feature_purposes = feature_purposes.value;
  rules.strict = keys_strict.value;
  return rules;
}

namespace {

// A file with a mistake changes nothing.
Result<void> read_settings(const ConfigFile& file, const Realm& realm, Settings& settings,
                           RawRules& raw) {
  auto text = config_text(file.path, file.follow);
  if (!text) {
    // Another user's store is not a bad setting.
    const auto store = check_store(realm);
    return fail(store ? text.error() : store.error());
  }
  if (!*text) return {};
  Settings with_file = settings;
  RawRules with_rules = raw;
  LK_CHECK(apply_config(**text, file.path, with_file, with_rules));
  for (std::size_t i = settings.layouts.size(); i < with_file.layouts.size(); ++i) {
    with_file.layouts[i].of_repository = file.of_repository;
  }
  if (!file.follow && with_file.server_url.origin.file == file.path) {
    return fail(Code::kInvalidConfig,
                with_file.server_url.origin.text() +
                    ": server.url counts only in your own settings: nobody else's file may send "
                    "you to a server",
                "remove it there, and run: lockkeeper login URL");
  }
  with_file.files.insert(with_file.files.begin(), file.path);
  settings = std::move(with_file);
  raw = std::move(with_rules);
  return {};
}

// It cannot be read, and may send its user to a server: no table on this machine stands in for it.
bool names_server(const std::string& file) {
  const auto text = config_text(file, true);
  return text && *text && (*text)->find("server") != std::string::npos;
}

}  // namespace

std::uint64_t settings_stamp(const Realm& realm, const Environment& env) {
  std::uint64_t stamp = 1;
  for (const ConfigFile& file : config_files(realm, env)) {
    const std::uint64_t next = file_stamp(file.path, file.follow);
    stamp = hash64(std::to_string(stamp) + " " + std::to_string(next));
  }
  return std::max<std::uint64_t>(stamp, 1);
}

std::vector<std::string> settings_files(const Realm& realm, const Environment& env) {
  std::vector<std::string> paths;
  for (const ConfigFile& file : config_files(realm, env)) paths.push_back(file.path);
  std::ranges::reverse(paths);
  return paths;
}

Result<Settings> load_settings(const Realm& realm, const Environment& env,
                               std::vector<Error>* mistakes) {
  const auto tolerated = [mistakes](Result<void> done) -> Result<void> {
    if (done || mistakes == nullptr || done.error().code != Code::kInvalidConfig) return done;
    mistakes->push_back(std::move(done.error()));
    return {};
  };
  Settings settings;
  settings.stamp = settings_stamp(realm, env);
  RawRules raw;
  for (const ConfigFile& file : config_files(realm, env)) {
    auto read = read_settings(file, realm, settings, raw);
    if (!read && file.follow && names_server(file.path)) return fail(std::move(read.error()));
    LK_CHECK(tolerated(std::move(read)));
  }
  LK_CHECK(tolerated(reconcile(settings)));
  const key::Rules rules = settings.key_rules(realm);
  Resolver resolver(realm, rules, {Base::kRoot, {}}, env);
  const auto add_protect = [&](const RawProtect& one) -> Result<void> {
    LK_ASSIGN(ProtectRule rule, parse_rule(one, rules, resolver));
    settings.protect.push_back(std::move(rule));
    return {};
  };
  const auto add_policy = [&](const RawPolicy& one) -> Result<void> {
    LK_ASSIGN(PolicyRule rule, parse_policy(one, rules, resolver));
    settings.policy.push_back(std::move(rule));
    return {};
  };
  const auto add_hook_path = [&](const RawHookPath& one) -> Result<void> {
    LK_ASSIGN(HookPathRule rule, parse_hook_path(one, rules, resolver));
    settings.hook_paths.push_back(std::move(rule));
    return {};
  };
  for (const RawHookPath& one : raw.hook_paths) LK_CHECK(tolerated(add_hook_path(one)));
  for (const RawProtect& one : raw.protect) LK_CHECK(tolerated(add_protect(one)));
  for (const RawPolicy& one : raw.policy) LK_CHECK(tolerated(add_policy(one)));
  settings.partial = mistakes != nullptr && !mistakes->empty();
  return settings;
}

namespace {

Error too_long(const std::string& what, const Setting<std::int64_t>& longest) {
  return {Code::kLimitExceeded,
          what + " is longer than lease.longest, " + format_duration(longest.value) + " (" +
              longest.origin.text() + ")",
          "ask for at most that, and renew it"};
}

}  // namespace

Result<std::int64_t> lease_ttl(const Settings& settings, std::optional<std::int64_t> asked_ms) {
  const std::int64_t ms = asked_ms.value_or(settings.lease_default_ms.value);
  const auto& longest = settings.lease_longest_ms;
  if (ms == kNoEnd) {
    // Whoever bounds leases bounds all of them, unless the settings say otherwise in so many words.
    const bool bounded = longest.value != kNoEnd && !longest.origin.file.empty() &&
                         settings.lease_endless.origin.file.empty();
    if (bounded) return fail(too_long("an endless lease", longest));
    if (settings.lease_endless.value) return ms;
    return fail(Code::kOperationNotPermitted,
                "an endless lease is not allowed here (lease.endless, " +
                    settings.lease_endless.origin.text() + ")",
                "use a ttl such as --ttl 1h, and renew it");
  }
  if (ms <= 0) {
    return fail(Code::kInvalidInput, "a lease of " + std::to_string(ms) + " ms would end at once",
                "use a ttl above 0, such as --ttl 20m");
  }
  if (longest.value != kNoEnd && ms > longest.value) {
    return fail(too_long("a lease of " + format_duration(ms), longest));
  }
  return ms;
}

std::int64_t bounded_ttl_ms(const Settings& settings, std::int64_t usual_ms) {
  if (lease_ttl(settings, usual_ms)) return usual_ms;
  const std::int64_t longest = settings.lease_longest_ms.value;
  return longest == kNoEnd ? settings.lease_default_ms.value : longest;
}

Result<void> check_allowed(const Settings& settings, std::string_view agent,
                           const key::Resource& resource) {
  for (const ProtectRule& rule : settings.protect) {
    if (std::ranges::find(rule.agents, agent) != rule.agents.end()) continue;
    for (const key::Resource& path : rule.paths) {
      LK_ASSIGN(const std::optional<std::string> common, key::overlap(path, resource));
      if (!common) continue;
      std::string message = quote(resource.text()) + " is protected by " + quote(path.text()) +
                            " (" + rule.origin.text() + ")";
      if (!rule.reason.empty()) message += ": " + quote(rule.reason, kReasonBytesMax);
      const std::string hint = rule.agents.empty()
                                   ? "nobody may lock it; leave it as it is, or ask the owner of "
                                     "that rule"
                                   : "only these agents may lock it: " + toml_list(rule.agents);
      return fail(Code::kOperationNotPermitted, std::move(message), hint);
    }
  }
  return check_policy(settings.policy, agent, resource);
}

}  // namespace lockkeeper::realm
