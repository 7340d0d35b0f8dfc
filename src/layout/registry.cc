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

#include "base/fd.h"
#include "base/text.h"
#include "layout/mirror.h"
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
              "which locks other tools hold cannot be told; correct the file, or delete it and add "
              "the layouts anew: lockkeeper layout add");
}

json to_json(const LayoutEntry& entry) {
  json object = {{"kind", entry.kind},
                 {"root", entry.root},
                 {"mode", layout_mode_name(entry.mode)},
                 {"options", entry.options},
                 {"ignored", entry.ignored}};
  // One of the settings, as it was when last seen: what it left is taken back when it is no more.
  if (!entry.origin.file.empty()) object["settings"] = entry.origin.file;
  if (entry.pending) object["pending"] = true;
  return object;
}

std::optional<LayoutEntry> from_json(const json& object) {
  LayoutEntry entry;
  try {
    entry.kind = object.at("kind").get<std::string>();
    entry.root = object.at("root").get<std::string>();
    const auto mode = layout_mode(object.at("mode").get<std::string>());
    if (!mode || entry.root.empty() || entry.root.front() != '/') return std::nullopt;
    entry.mode = *mode;
    entry.options = object.value("options", entry.options);
    entry.ignored = object.value("ignored", entry.ignored);
    entry.origin.file = object.value("settings", entry.origin.file);
    entry.pending = object.value("pending", false);
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return entry;
}

Result<std::vector<LayoutEntry>> registered(const realm::Realm& realm) {
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

// Under the store's gate, so that two who register at once do not lose one another.
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

// Absolute and physical; its last name may be missing.
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
    if (::stat(whole->c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return *whole;
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
  return realm::join_path(*parent, name);
}

// Keeps what other tools make out of `git status`. Best effort: locks work without it.
void exclude_from_git(const realm::Realm& realm, const std::string& root,
                      const std::string& below) {
  if (!realm.in_git || realm.common_dir.empty() || below.empty() || !realm.contains(root)) return;
  const std::string inside = root.substr(realm.root.size());
  const std::string line = inside + "/" + below;
  const std::string folder = realm::join_path(realm.common_dir, "info");
  const std::string path = realm::join_path(folder, "exclude");
  std::string text = read_file(path).value_or("");
  if (("\n" + text).find("\n" + line + "\n") != std::string::npos) return;
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (!make_folders(folder, 0755)) return;
  struct stat before{};
  const bool there = ::stat(path.c_str(), &before) == 0;
  if (!replace_file_durably(path, text + line + "\n")) return;
  static_cast<void>(::chmod(path.c_str(), there ? before.st_mode & 0777 : 0644));
}

bool same_place(const LayoutEntry& a, const LayoutEntry& b) {
  return a.kind == b.kind && a.root == b.root;
}

// A layout shows less from now on: what it showed before is taken back.
Result<void> retire(LockTable& table, const LayoutEntry& was, LayoutMode now,
                    Mirror::Trouble trouble) {
  // Of a kind that this program does not know nobody can take anything back.
  if (now >= was.mode || !table.runtime().layout_kinds.contains(was.kind)) return {};
  Mirror mirror(table);
  LK_CHECK(mirror.open({was}));
  return now == LayoutMode::kOff ? mirror.forget_layout(was.id(), trouble)
                                 : mirror.hide(was.id(), trouble);
}

// What is held is shown in layouts that came later, also where who added them died on the way.
Result<void> show_what_is_held(LockTable& table) {
  Mirror mirror(table);
  LK_ASSIGN(const bool any, mirror.open());
  if (any) {
    LK_CHECK(mirror.tick());
    LK_CHECK(mirror.show_existing());
  }
  return change(table, [](std::vector<LayoutEntry>& entries) -> Result<bool> {
    bool changed = false;
    for (LayoutEntry& entry : entries) changed |= std::exchange(entry.pending, false);
    return changed;
  });
}

// Was it switched off by one who died before all was taken back?
Result<bool> left_something(LockTable& table, const LayoutEntry& off) {
  bool left = false;
  LK_CHECK(table.read([&](core::Table& open) -> Result<void> {
    LK_ASSIGN(const auto known, core::all_known_foreign(open.state(), off.id()));
    LK_ASSIGN(const auto shown, core::all_shown(open.state(), off.id()));
    left = !known.empty() || !shown.empty();
    return {};
  }));
  return left;
}

LayoutEntry as_both(LayoutEntry entry) {
  entry.mode = LayoutMode::kBoth;
  return entry;
}

std::unexpected<Error> none_of_that_id(const std::string& id) {
  return fail(Code::kNotFound, "there is no layout " + quote(id), "see: lockkeeper layout list");
}

}  // namespace

Result<std::vector<LayoutEntry>> load_layouts(const realm::Realm& realm,
                                              const realm::Settings& settings) {
  std::vector<LayoutEntry> all;
  for (const realm::LayoutSetting& setting : settings.layouts) {
    LayoutEntry entry;
    entry.kind = setting.kind;
    const bool absolute = setting.root.starts_with("/");
    LK_ASSIGN(entry.root,
              physical_root(absolute ? setting.root : realm::join_path(realm.root, setting.root)));
    entry.mode = layout_mode(setting.mode).value_or(LayoutMode::kBoth);
    entry.options = setting.options;
    entry.origin = setting.origin;
    all.push_back(std::move(entry));
  }
  LK_ASSIGN(const std::vector<LayoutEntry> more, registered(realm));
  for (const LayoutEntry& entry : more) {
    const auto known =
        std::ranges::find_if(all, [&](const LayoutEntry& one) { return same_place(one, entry); });
    if (known == all.end()) {
      if (entry.origin.file.empty()) all.push_back(entry);
    } else {
      known->ignored = entry.ignored;  // the settings say what it is, people what to pass over
    }
  }
  return all;
}

Result<std::vector<LayoutEntry>> settled_layouts(LockTable& table) {
  const realm::Realm& realm = table.realm();
  LK_ASSIGN(std::vector<LayoutEntry> before, registered(realm));
  if (before.empty() && table.settings().layouts.empty()) return before;
  LK_ASSIGN(std::vector<LayoutEntry> all, load_layouts(realm, table.settings()));
  const auto in = [](const std::vector<LayoutEntry>& list, const LayoutEntry& entry) {
    return std::ranges::find_if(list,
                                [&](const LayoutEntry& one) { return same_place(one, entry); });
  };
  bool changed = false;
  bool pending = false;
  std::vector<std::pair<LayoutEntry, LayoutMode>> less;  // as they were, and are
  for (const LayoutEntry& was : before) {
    pending |= was.pending;
    if (was.origin.file.empty()) continue;
    const auto is = in(all, was);
    if (is != all.end() && is->mode == was.mode) continue;
    changed = true;
    less.emplace_back(was, is == all.end() ? LayoutMode::kOff : is->mode);
  }
  for (LayoutEntry& is : all) {
    bool left = false;
    if (is.mode == LayoutMode::kOff) {
      LK_ASSIGN(left, left_something(table, is));
    }
    if (left) less.emplace_back(as_both(is), is.mode);
    const auto was = in(before, is);
    if (is.origin.file.empty() || (was != before.end() && is.mode <= was->mode)) continue;
    changed = is.pending = true;
  }
  if (!changed && !pending && less.empty()) return all;
  LK_ASSIGN(const bool store, table.read([](core::Table&) -> Result<void> { return {}; }));
  if (!store) return all;  // nothing was left anywhere, and nothing is created for it
  for (const auto& [was, is] : less) {
    LK_CHECK(retire(table, was, is, Mirror::Trouble::kPassedOver));
  }
  if (changed) {
    LK_CHECK(change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
      std::erase_if(entries, [](const LayoutEntry& one) { return !one.origin.file.empty(); });
      for (const LayoutEntry& is : all) {
        if (!is.origin.file.empty() && in(entries, is) == entries.end()) entries.push_back(is);
      }
      return true;
    }));
  }
  // If not now, then by who comes next: a layout that cannot be read must not keep from releasing.
  if (changed || pending) static_cast<void>(show_what_is_held(table));
  return all;
}

Result<std::string> use_layout(LockTable& table, UseLayout use) {
  LayoutEntry& wanted = use.entry;
  if (!table.runtime().layout_kinds.contains(wanted.kind)) {
    std::string known;
    for (const auto& [kind, make] : table.runtime().layout_kinds) known += " " + kind;
    return fail(Code::kInvalidInput, quote(wanted.kind) + " is not a kind of layout",
                "the kinds are:" + known);
  }
  LK_ASSIGN(wanted.root, physical_root(wanted.root));
  const std::string id = wanted.id();
  LK_ASSIGN(const std::vector<LayoutEntry> all, load_layouts(table.realm(), table.settings()));
  const auto there =
      std::ranges::find_if(all, [&](const LayoutEntry& one) { return same_place(one, wanted); });
  if (there != all.end() && there->options == wanted.options &&
      (there->mode == wanted.mode || !there->origin.file.empty())) {
    if (there->pending) LK_CHECK(show_what_is_held(table));
    return id;
  }
  const LayoutEntry before = there == all.end() ? wanted : *there;
  Mirror probe(table);  // options that make no sense must not be registered: nothing would work
  LK_CHECK(probe.open({wanted}));
  wanted.pending = true;
  LK_CHECK(change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    const auto old = std::ranges::find_if(
        entries, [&](const LayoutEntry& one) { return same_place(one, wanted); });
    if (old != entries.end()) {
      wanted.ignored = old->ignored;
      *old = wanted;
      return true;
    }
    if (entries.size() >= kLayoutsMax) {
      return fail(Code::kLimitExceeded,
                  "the realm has " + std::to_string(entries.size()) + " layouts; the limit is " +
                      std::to_string(kLayoutsMax),
                  "remove one: lockkeeper layout remove ID");
    }
    entries.push_back(wanted);
    return true;
  }));
  exclude_from_git(table.realm(), wanted.root, use.exclude);
  LK_CHECK(retire(table, before, wanted.mode, Mirror::Trouble::kTold));
  LK_CHECK(show_what_is_held(table));
  return id;
}

Result<void> remove_layout(LockTable& table, const std::string& id) {
  LK_ASSIGN(const std::vector<LayoutEntry> all, load_layouts(table.realm(), table.settings()));
  const auto there = std::ranges::find(all, id, &LayoutEntry::id);
  if (there == all.end()) return none_of_that_id(id);
  if (!there->origin.file.empty()) {
    return fail(Code::kInvalidInput,
                "layout " + id + " comes from the settings (" + there->origin.text() + ")",
                "remove it there, or set its mode to \"off\"");
  }
  // First switched off: who records a lease there later sees that, who did before is seen below,
  // and who dies in between leaves it in the list, to be removed again.
  LK_CHECK(change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    for (LayoutEntry& one : entries) {
      if (one.id() == id) one.mode = LayoutMode::kOff;
    }
    return true;
  }));
  LK_CHECK(retire(table, as_both(*there), LayoutMode::kOff, Mirror::Trouble::kTold));
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    return std::erase_if(entries, [&](const LayoutEntry& one) { return one.id() == id; }) > 0;
  });
}

Result<void> ignore_source(LockTable& table, const std::string& id, const std::string& source,
                           bool ignore) {
  LK_ASSIGN(const std::vector<LayoutEntry> all, load_layouts(table.realm(), table.settings()));
  const auto there = std::ranges::find(all, id, &LayoutEntry::id);
  if (there == all.end()) return none_of_that_id(id);
  LayoutEntry entry = *there;
  return change(table, [&](std::vector<LayoutEntry>& entries) -> Result<bool> {
    auto old = std::ranges::find(entries, id, &LayoutEntry::id);
    if (old == entries.end()) old = entries.insert(entries.end(), entry);
    std::erase(old->ignored, source);
    if (ignore) old->ignored.push_back(source);
    return true;
  });
}

Result<std::vector<LayoutReport>> layout_reports(LockTable& table) {
  LK_ASSIGN(const std::vector<LayoutEntry> all, load_layouts(table.realm(), table.settings()));
  Mirror mirror(table);
  LK_CHECK(mirror.open());
  const auto ticked = mirror.tick();
  std::vector<LayoutReport> reports;
  for (const LayoutEntry& entry : all) {
    LayoutReport report;
    report.entry = entry;
    if (Layout* const layout = mirror.find(entry.id())) {
      Interest everything;
      everything.known = [](const std::string&, std::uint64_t) { return false; };
      auto seen = layout->look(everything);
      if (seen) {
        report.notes = std::move(seen->notes);
      } else {
        report.trouble = std::move(seen.error());
      }
      LK_CHECK(table.read([&](core::Table& open) -> Result<void> {
        LK_ASSIGN(const auto known, core::all_known_foreign(open.state(), entry.id()));
        LK_ASSIGN(const auto shown, core::all_shown(open.state(), entry.id()));
        report.foreign = known.size();
        report.shown = shown.size();
        return {};
      }));
    }
    reports.push_back(std::move(report));
  }
  const bool explained = std::ranges::any_of(
      reports, [](const LayoutReport& report) { return report.trouble.has_value(); });
  if (!ticked && !explained) return fail(ticked.error());
  return reports;
}

}  // namespace lockkeeper::layout
