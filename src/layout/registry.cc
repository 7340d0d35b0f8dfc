#include "layout/registry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/text.h"
#include "core/foreign.h"
#include "core/mirrored.h"
#include "realm/disk_path.h"

namespace lockkeeper::layout {
namespace {

using nlohmann::json;

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::size_t kLayoutsMax = 64;

std::string file_of(const realm::Realm& realm) {
  return realm::join_path(realm.store_folder, kLayoutsName);
}

std::unexpected<Error> damaged(const std::string& path, const std::string& why) {
  return fail(Code::kInvalidConfig, quote(path) + " cannot be used: " + why,
              "other tools' locks are unknown; correct the file, or delete it and add "
              "the layouts again: lockkeeper layout add");
}

// A path need not be UTF-8, but a JSON string must be.
json text_json(const std::string& text) {
  return is_valid_utf8(text) ? json(text) : json{{"hex", to_hex(text)}};
}

std::string text_in(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : from_hex(value.at("hex").get<std::string>());
}

json to_json(const LayoutEntry& entry) {
  json object = {{"kind", entry.kind},
                 {"root", text_json(entry.root)},
                 {"mode", layout_mode_name(entry.mode)},
                 {"options", json::object()},
                 {"ignored", json::array()}};
  for (const auto& [name, value] : entry.options) object["options"][name] = text_json(value);
  for (const std::string& path : entry.ignored) object["ignored"].push_back(text_json(path));
  // A layout of the settings as it was last seen: if it disappears, its artefacts are removed.
  if (!entry.origin.file.empty()) object["settings"] = entry.origin.file;
  if (entry.pending) object["pending"] = true;
  return object;
}

std::optional<LayoutEntry> from_json(const json& object) {
  LayoutEntry entry;
  try {
    entry.kind = object.at("kind").get<std::string>();
    entry.root = text_in(object.at("root"));
    const auto mode = layout_mode(object.at("mode").get<std::string>());
    if (!mode || entry.root.empty() || entry.root.front() != '/') return std::nullopt;
    entry.mode = *mode;
    const json options = object.value("options", json::object());
    const json ignored = object.value("ignored", json::array());
    if (!options.is_object() || !ignored.is_array()) return std::nullopt;
    for (const auto& [name, value] : options.items()) entry.options[name] = text_in(value);
    for (const json& path : ignored) entry.ignored.push_back(text_in(path));
    entry.origin.file = object.value("settings", entry.origin.file);
    entry.pending = object.value("pending", false);
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return entry;
}

Result<std::vector<LayoutEntry>> registered(const realm::Realm& realm) {
  if (realm.in_memory) return std::vector<LayoutEntry>();
  const std::string path = file_of(realm);
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::vector<LayoutEntry>();
    return damaged(path, errno_error(errno, "cannot look at it").message);
  }
  if (!S_ISREG(found.st_mode)) return damaged(path, "it is not a plain file");
  auto text = read_file(path, kFileBytesMax);
  if (!text) return damaged(path, text.error().message);
  const json list = json::parse(*text, nullptr, false);
  if (!list.is_array()) return damaged(path, "it is not a JSON array");
  std::vector<LayoutEntry> entries;
  for (const json& object : list) {
    std::optional<LayoutEntry> entry = from_json(object);
    if (!entry) return damaged(path, "an entry is not a layout: " + quote(object.dump()));
    entries.push_back(std::move(*entry));
  }
  return entries;
}

// Under the store's gate, so that two processes that register at once do not lose a change.
Result<void> change(LockTable& table,
                    const std::function<Result<bool>(std::vector<LayoutEntry>&)>& edit) {
  const realm::Realm& realm = table.realm();
  LK_CHECK(table.write([&](core::Table&) -> Result<bool> {
    LK_ASSIGN(std::vector<LayoutEntry> entries, registered(realm));
    LK_ASSIGN(const bool changed, edit(entries));
    if (!changed) return false;
    json list = json::array();
    for (const LayoutEntry& entry : entries) list.push_back(to_json(entry));
    LK_CHECK(replace_file_durably(file_of(realm),
                                  list.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    return false;
  }));
  return {};
}

// Does it come from the settings, or was it registered?
bool from_settings(const LayoutEntry& entry) {
  return !entry.origin.file.empty();
}

const LayoutEntry* find_same(const std::vector<LayoutEntry>& entries, const LayoutEntry& entry) {
  const auto found =
      std::ranges::find_if(entries, [&](const LayoutEntry& one) { return same_place(one, entry); });
  return found == entries.end() ? nullptr : &*found;
}

// Was it switched off by a process that died before it removed everything?
Result<bool> left_something(LockTable& table, const LayoutEntry& off) {
  return table.get([&](core::Table& open) -> Result<bool> {
    LK_ASSIGN(const auto known, core::all_known_foreign(open.state(), off.id()));
    LK_ASSIGN(const auto mirrored, core::all_mirrored(open.state(), off.id()));
    return !known.empty() || !mirrored.empty();
  });
}

// Steps of unsettled_layouts(): `before` is what the file says.

void find_pending(const std::vector<LayoutEntry>& before, Unsettled& now) {
  now.pending = std::ranges::any_of(before, &LayoutEntry::pending);
}

void find_less_in_settings(const std::vector<LayoutEntry>& before, Unsettled& now) {
  for (const LayoutEntry& was : before) {
    if (!from_settings(was)) continue;
    const LayoutEntry* const is = find_same(now.layouts, was);
    if (is != nullptr && is->mode == was.mode) continue;
    now.changed = true;
    now.less.push_back({was, is == nullptr ? LayoutMode::kOff : is->mode});
  }
}

Result<void> find_left_behind(LockTable& table, Unsettled& now) {
  for (const LayoutEntry& is : now.layouts) {
    if (is.mode != LayoutMode::kOff) continue;
    LK_ASSIGN(const bool left, left_something(table, is));
    if (!left) continue;
    now.less.push_back({is, is.mode});
    now.less.back().was.mode = LayoutMode::kBoth;
  }
  return {};
}

void find_more_in_settings(const std::vector<LayoutEntry>& before, Unsettled& now) {
  for (LayoutEntry& is : now.layouts) {
    const LayoutEntry* const was = find_same(before, is);
    if (!from_settings(is) || (was != nullptr && is.mode <= was->mode)) continue;
    now.changed = is.pending = true;
  }
}

// Another tool's files would be taken for git's, or for ours.
Result<std::string> outside_git(std::string_view typed, std::string root) {
  for (const std::string_view inner : {std::string_view(".git"), realm::kPlainStoreName}) {
    if ((root + "/").find("/" + std::string(inner) + "/") == std::string::npos) continue;
    return fail(Code::kInvalidInput, quote(typed) + " lies in a " + std::string(inner) + " folder",
                "name a folder of the worktree");
  }
  return root;
}

}  // namespace

bool same_place(const LayoutEntry& a, const LayoutEntry& b) {
  return a.kind == b.kind && a.root == b.root;
}

Result<std::string> physical_root(const std::string& typed) {
  const auto resolved = [](const std::string& path) -> std::optional<std::string> {
    std::array<char, PATH_MAX> buffer{};
    if (::realpath(path.c_str(), buffer.data()) == nullptr) return std::nullopt;
    return std::string(buffer.data());
  };
  std::string path = typed;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (const auto whole = resolved(path)) {
    struct stat found{};
    const bool folder = ::stat(whole->c_str(), &found) == 0 && S_ISDIR(found.st_mode);
    if (folder) return outside_git(typed, *whole);
    return fail(Code::kInvalidInput, quote(typed) + " is not a folder", "name a folder");
  }
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const auto parent = resolved(above);
  if (!parent || name.empty() || name == "." || name == "..") {
    return fail(Code::kInvalidInput, "there is no folder " + quote(typed),
                "make it first, or correct the path");
  }
  return outside_git(typed, realm::join_path(*parent, name));
}

std::uint64_t registry_stamp(const realm::Realm& realm) {
  return realm.in_memory ? 0 : file_stamp(file_of(realm));
}

std::string kinds_hint(const LayoutKinds& kinds) {
  std::vector<std::string> names;
  for (const auto& [name, make] : kinds) names.push_back(name);
  return "the kinds are " + join(names, ", ");
}

namespace {

Result<std::string> root_of(const realm::Realm& realm, const realm::LayoutSetting& setting) {
  const bool absolute = setting.root.starts_with("/");
  auto root = physical_root(absolute ? setting.root : realm::join_path(realm.root, setting.root));
  if (!root) {
    return fail(Code::kInvalidConfig,
                setting.origin.text() + ": layout.root: " + root.error().message,
                root.error().hint);
  }
  // Whoever clones a repository must not write elsewhere because its author says so.
  if (!setting.of_repository || realm.contains(*root)) return root;
  return fail(Code::kInvalidConfig,
              setting.origin.text() + ": layout.root is " + quote(setting.root) +
                  ", which is outside the repository",
              "if you want it, write it into your own settings: lockkeeper layout add " +
                  setting.kind + " " + shell_quote(setting.root));
}

Result<void> check_setting(const LayoutKinds& kinds, const realm::Realm& realm,
                           const realm::LayoutSetting& setting) {
  if (!kinds.contains(setting.kind)) {
    return fail(Code::kInvalidConfig,
                setting.origin.text() + ": layout has the unknown kind " + quote(setting.kind),
                kinds_hint(kinds));
  }
  LK_CHECK(root_of(realm, setting));
  return {};
}

}  // namespace

Result<realm::Settings> load_settings(const Runtime& runtime, const realm::Realm& realm,
                                      std::vector<Error>* mistakes) {
  LK_ASSIGN(realm::Settings settings, realm::load_settings(realm, runtime.env, mistakes));
  for (auto each = settings.layouts.begin(); each != settings.layouts.end();) {
    const auto good = check_setting(runtime.layout_kinds, realm, *each);
    if (good) {
      ++each;
      continue;
    }
    if (mistakes == nullptr) return fail(good.error());
    mistakes->push_back(good.error());
    settings.partial = true;
    each = settings.layouts.erase(each);
  }
  if (!runtime.is_hub) {  // never tolerated: a table here knows nothing of what others hold
    LK_ASSIGN(settings.server, realm::find_server(realm, settings, runtime.env));
  }
  return settings;
}

Result<std::vector<LayoutEntry>> load_layouts(const realm::Realm& realm,
                                              const realm::Settings& settings) {
  std::vector<LayoutEntry> all;
  for (const realm::LayoutSetting& setting : settings.layouts) {
    LayoutEntry entry;
    entry.kind = setting.kind;
    LK_ASSIGN(entry.root, root_of(realm, setting));
    entry.mode = layout_mode(setting.mode).value_or(LayoutMode::kBoth);
    entry.options = setting.options;
    entry.origin = setting.origin;
    all.push_back(std::move(entry));
  }
  LK_ASSIGN(const std::vector<LayoutEntry> more, registered(realm));
  for (const LayoutEntry& entry : more) {
    if (!realm.contains(entry.root) && !realm::has_own_store_folder(realm)) {
      return fail(Code::kInvalidConfig,
                  file_of(realm) + " names " + quote(entry.root) + ", which is outside of " +
                      quote(realm.root) + ", and others may have written it",
                  "if it is yours: chmod 700 " + shell_quote(realm.store_folder));
    }
    const auto known =
        std::ranges::find_if(all, [&](const LayoutEntry& one) { return same_place(one, entry); });
    if (known == all.end()) {
      // Settings that could not be read have not given up their layouts.
      if (settings.partial || !from_settings(entry)) all.push_back(entry);
    } else {
      known->ignored = entry.ignored;  // what to skip is not in the settings
    }
  }
  return all;
}

Result<Unsettled> unsettled_layouts(LockTable& table) {
  LK_ASSIGN(const std::vector<LayoutEntry> before, registered(table.realm()));
  Unsettled now;
  if (before.empty() && table.settings().layouts.empty()) return now;
  LK_ASSIGN(now.layouts, load_layouts(table.realm(), table.settings()));
  find_pending(before, now);
  find_less_in_settings(before, now);
  LK_CHECK(find_left_behind(table, now));
  find_more_in_settings(before, now);
  return now;
}

Result<void> note_settings(LockTable& table, const std::vector<LayoutEntry>& layouts) {
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    std::erase_if(entries, from_settings);
    for (const LayoutEntry& is : layouts) {
      if (from_settings(is) && find_same(entries, is) == nullptr) entries.push_back(is);
    }
    return true;
  });
}

Result<void> note_all_shown(LockTable& table, const std::vector<LayoutEntry>& layouts) {
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    bool changed = false;
    for (LayoutEntry& entry : entries) {
      const LayoutEntry* const shown = find_same(layouts, entry);
      // Of one of the settings other options alone change nothing here.
      const bool as_it_was = shown != nullptr && shown->mode == entry.mode &&
                             (from_settings(entry) || shown->options == entry.options);
      if (as_it_was) changed |= std::exchange(entry.pending, false);
    }
    return changed;
  });
}

Result<void> put_layout(LockTable& table, LayoutEntry entry) {
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    for (LayoutEntry& old : entries) {
      if (!same_place(old, entry)) continue;
      entry.ignored = old.ignored;
      old = entry;
      return true;
    }
    if (entries.size() >= kLayoutsMax) {
      return fail(Code::kLimitExceeded,
                  "the realm has " + std::to_string(entries.size()) + " layouts; the limit is " +
                      std::to_string(kLayoutsMax),
                  "remove one: lockkeeper layout remove ID");
    }
    entries.push_back(entry);
    return true;
  });
}

Result<void> switch_off(LockTable& table, const std::string& id) {
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    for (LayoutEntry& one : entries) {
      if (one.id() == id) one.mode = LayoutMode::kOff;
    }
    return true;
  });
}

Result<void> erase_layout(LockTable& table, const std::string& id) {
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    return std::erase_if(entries, [&](const LayoutEntry& one) { return one.id() == id; }) > 0;
  });
}

Result<LayoutEntry> find_layout(const LockTable& table, const std::string& id) {
  LK_ASSIGN(std::vector<LayoutEntry> all, load_layouts(table.realm(), table.settings()));
  const auto there = std::ranges::find(all, id, &LayoutEntry::id);
  if (there != all.end()) return std::move(*there);
  return fail(Code::kNotFound, "there is no layout " + quote(id), "see: lockkeeper layout list");
}

Result<void> ignore_source(LockTable& table, const std::string& id, const std::string& source,
                           bool ignore) {
  LK_ASSIGN(const LayoutEntry entry, find_layout(table, id));
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    auto old = std::ranges::find(entries, id, &LayoutEntry::id);
    if (old == entries.end()) old = entries.insert(entries.end(), entry);
    std::erase(old->ignored, source);
    if (ignore) old->ignored.push_back(source);
    return true;
  });
}

}  // namespace lockkeeper::layout
