#include "realm/server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/sha256.h"
#include "base/text.h"
#include "realm/config.h"
#include "realm/disk_path.h"
#include "realm/git_folder.h"

namespace lockkeeper::realm {
namespace {

constexpr std::string_view kLoginsName = "servers.json";
constexpr std::size_t kLoginsBytesMax = 1U << 20;
constexpr std::size_t kGitConfigMax = 1U << 20;
constexpr std::size_t kServerNameBytesMax = 120;

Result<std::string> config_folder(const Environment& env) {
  const auto folder = xdg_folder(env, "XDG_CONFIG_HOME", ".config");
  if (folder) return join_path(*folder, "lockkeeper");
  return fail(Code::kFailed, "neither XDG_CONFIG_HOME nor HOME is set", "set XDG_CONFIG_HOME");
}

std::unexpected<Error> bad_logins(const std::string& file, const char* what) {
  return fail(Code::kInvalidConfig, file + ": " + what, "log in again: lockkeeper login URL");
}

// Empty: there is no such file.
Result<std::string> logins_text(const std::string& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::string();
    return fail(errno_error(errno, file, Code::kFailed));
  }
  struct stat info{};
  const bool ours = ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
                    info.st_uid == ::geteuid() && (info.st_mode & 077) == 0;
  if (!ours) {
    return fail(Code::kOperationNotPermitted,
                "the tokens in " + quote(file) + " are not used: others can read or write them",
                "chmod 600 " + shell_quote(file) + ", or log in again");
  }
  return read_file(file, kLoginsBytesMax);
}

// One is written as it always was.
Json json_of(const std::vector<std::string>& texts) {
  if (texts.size() > 1) return texts;
  return texts.empty() ? "" : texts.front();
}

Result<void> change_logins(const Environment& env,
                           const std::function<void(std::vector<Login>&)>& change) {
  constexpr std::int64_t kPatienceMs = 5'000;
  LK_ASSIGN(const std::string path, config_folder(env));
  LK_CHECK(make_folders(path));
  LK_ASSIGN(const Folder folder, Folder::open(path, "", Folder::Kind::kPrivate));
  LK_ASSIGN(const Fd held, folder.lock(".servers.lock", kPatienceMs));
  LK_ASSIGN(std::vector<Login> all, read_logins(env));
  change(all);
  Json json{{"servers", Json::array()}};
  for (const Login& login : all) {
    json["servers"].push_back({{"url", login.url},
                               {"token", login.token},
                               {"person", login.person},
                               {"ca_file", json_of(login.ca_files)},
                               {"fingerprint", json_of(login.fingerprints)}});
  }
  return folder.write(std::string(kLoginsName), json.dump(2) + "\n");
}

// Its own file alone: what an include says depends on the user.
std::optional<std::string> origin_of(const Realm& realm) {
  if (realm.common_dir.empty()) return std::nullopt;
  const std::string file = join_path(realm.common_dir, "config");
  const auto text = read_file(file, kGitConfigMax);
  if (!text) return std::nullopt;
  const auto config = parse_git_config(*text, file);
  return config ? config->origin : std::nullopt;
}

struct Chosen {
  std::string url;
  std::string from;
};

std::optional<Chosen> chosen_server(const Settings& settings, const std::vector<Login>& logins,
                                    const Environment& env) {
  if (const auto given = variable(env, "LOCKKEEPER_SERVER")) {
    return Chosen{*given, "LOCKKEEPER_SERVER"};
  }
  const Setting<std::string>& set = settings.server_url;
  if (!set.value.empty()) return Chosen{set.value, set.origin.text()};
  if (!logins.empty()) return Chosen{logins.front().url, "lockkeeper login"};
  return std::nullopt;
}

}  // namespace

bool is_hub_name(std::string_view name) {
  if (name.empty() || name.size() > kServerNameBytesMax) return false;
  const std::vector<std::string> words = words_in(name, "/");
  return join(words, "/") == name && std::ranges::all_of(words, [](const std::string& word) {
           return std::ranges::all_of(word, is_name_character) && word != "." && word != "..";
         });
}

Result<std::vector<Login>> read_logins(const Environment& env) {
  std::vector<Login> logins;
  const auto folder = config_folder(env);
  if (!folder) return logins;
  const std::string file = join_path(*folder, kLoginsName);
  LK_ASSIGN(const std::string text, logins_text(file));
  if (text.empty()) return logins;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("servers") || !json["servers"].is_array()) {
    return bad_logins(file, "it is not what `login` writes");
  }
  const auto field = [](const Json& one, const char* name) {
    const auto found = one.find(name);
    return found != one.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto fields = [&](const Json& one, const char* name) {
    std::vector<std::string> texts;
    const auto found = one.find(name);
    if (found != one.end() && found->is_array()) {
      for (const Json& each : *found) texts.push_back(each.is_string() ? each : Json(""));
    } else if (std::string alone = field(one, name); !alone.empty()) {
      texts.push_back(std::move(alone));
    }
    return texts;
  };
  for (const Json& one : json["servers"]) {
    if (!one.is_object()) return bad_logins(file, "it is not what `login` writes");
    logins.push_back({field(one, "url"), field(one, "token"), field(one, "person"),
                      fields(one, "ca_file"), fields(one, "fingerprint")});
  }
  return logins;
}

std::uint64_t logins_stamp(const Environment& env) {
  const auto folder = config_folder(env);
  return folder ? file_stamp(join_path(*folder, kLoginsName)) : 0;
}

Result<void> keep_login(const Environment& env, const Login& login) {
  return change_logins(env, [&](std::vector<Login>& all) {
    std::erase_if(all, [&](const Login& each) { return each.url == login.url; });
    all.insert(all.begin(), login);
  });
}

Result<bool> drop_login(const Environment& env, const std::string& url) {
  bool dropped = false;
  LK_CHECK(change_logins(env, [&](std::vector<Login>& all) {
    dropped = std::erase_if(all, [&](const Login& each) { return each.url == url; }) > 0;
  }));
  return dropped;
}

std::optional<std::string> name_of_origin(std::string_view url) {
  const auto scheme = url.find("://");
  const bool short_form = scheme == std::string_view::npos;  // git@host:path
  std::string_view rest = short_form ? url : url.substr(scheme + 3);
  if (!short_form && url.substr(0, scheme) == "file") return std::nullopt;
  const auto slash = rest.find('/');
  const auto colon = rest.find(':');
  if (short_form && (colon == std::string_view::npos || slash < colon)) return std::nullopt;
  const auto end = short_form ? colon : slash;
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view host = rest.substr(0, end);
  std::string_view path = rest.substr(end + 1);
  if (const auto at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  if (!short_form) host = host.substr(0, host.find(':'));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with(".git")) path.remove_suffix(4);
  std::string name = lowered(host) + "/" + std::string(path);
  if (host.empty() || !is_hub_name(name)) return std::nullopt;
  return name;
}

Result<std::string> relay_folder(const std::string& url, const Environment& env) {
  constexpr std::size_t kDigits = 16;
  auto base = variable(env, "XDG_RUNTIME_DIR");
  if (!base || !base->starts_with('/')) base = xdg_folder(env, "XDG_STATE_HOME", ".local/state");
  if (!base) {
    return fail(Code::kFailed, "none of XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME is set",
                "set XDG_RUNTIME_DIR to a folder of your own");
  }
  return join_path(*base, "lockkeeper/hub-" + sha256_hex(url).substr(0, kDigits) + "-" +
                              std::to_string(kHubProtocol));
}

std::string name_on_hub(const Realm& realm, const Settings& settings) {
  if (!settings.realm_name.value.empty()) return settings.realm_name.value;
  const auto origin = origin_of(realm);
  return origin ? name_of_origin(*origin).value_or("") : "";
}

Result<std::optional<Server>> find_server(const Realm& realm, const Settings& settings,
                                          const Environment& env) {
  if (realm.machine || realm.in_memory) return std::nullopt;
  LK_ASSIGN(const std::vector<Login> logins, read_logins(env));
  const auto chosen = chosen_server(settings, logins, env);
  if (!chosen) return std::nullopt;
  if (!realm.store_url.empty()) {
    return fail(Code::kUsage,
                "the store " + quote(realm.store_url) +
                    " was asked for, and a hub keeps the locks (" + chosen->from + ")",
                "omit --store and LOCKKEEPER_STORE, or: lockkeeper logout");
  }
  auto urls = parse_server_urls(chosen->url);
  if (!urls) {
    urls.error().code = Code::kInvalidConfig;
    urls.error().message = chosen->from + ": " + urls.error().message;
    return fail(std::move(urls.error()));
  }
  Server server;
  server.url = text_of(*urls);
  server.from = chosen->from;
  const auto login = std::ranges::find(logins, server.url, &Login::url);
  if (login != logins.end()) server.person = login->person;
  server.name = name_on_hub(realm, settings);
  LK_ASSIGN(server.folder, relay_folder(server.url, env));
  return server;
}

Error unnamed_realm(const Realm& realm, const Server& server) {
  return {Code::kInvalidConfig,
          "the hub " + server.url + " keeps the locks (" + server.from + "), and " +
              quote(realm.root) + " has no name there: it has no `origin` on a host",
          "name it in lockkeeper.toml: [realm] and below it name = \"team/app\""};
}

}  // namespace lockkeeper::realm
