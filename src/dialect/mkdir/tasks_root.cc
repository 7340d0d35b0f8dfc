// Finding the protocol's folder, and the completion report.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "dialect/mkdir/owner.h"
#include "dialect/mkdir/tasks.h"
#include "layout/registry.h"
#include "service/report.h"

namespace lockkeeper::dialect::mkdir {
namespace {

constexpr std::string_view kRootName = "spec";

std::optional<std::string> physical(const std::string& path) {
  char found[PATH_MAX];
  if (::realpath(path.c_str(), found) == nullptr) return std::nullopt;
  return std::string(found);
}

bool is_folder(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

Result<std::string> named_root(const std::string& cwd, const std::string& named) {
  if (named.empty() || named.find('\0') != std::string::npos) {
    return fail(Code::kInvalidInput, "--root is not the name of a folder", "name one: --root spec");
  }
  std::string path = named.starts_with('/') ? named : realm::join_path(cwd, named);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0 && errno == ENOENT) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto above = physical(realm::parent_path(path));
    if (above && is_plain_name(name)) return realm::join_path(*above, name);
  } else if (is_folder(path)) {
    if (const auto whole = physical(path)) return *whole;
  }
  return fail(Code::kInvalidInput,
              "--root " + quote(named) + " is not a folder and cannot be created",
              "name the folder that contains .locks, or one whose parent exists");
}

Result<std::optional<std::string>> root_above(const realm::Realm& realm, std::string at) {
  if (!realm.contains(at)) at = realm.root;
  for (;;) {
    const std::string candidate = realm::join_path(at, kRootName);
    if (is_folder(candidate)) {
      const auto whole = physical(candidate);
      if (whole && realm.contains(*whole)) return *whole;
      return fail(Code::kInvalidInput,
                  quote(candidate) + " leads out of " + quote(realm.root) + ": to " +
                      quote(whole.value_or("")),
                  "if you mean that folder: --root " + shell_quote(candidate));
    }
    if (at == realm.root || at == "/") return std::nullopt;
    at = realm::parent_path(at);
  }
}

}  // namespace

Result<std::string> find_root(const realm::Realm& realm, const realm::Settings& settings,
                              const std::string& cwd, const std::optional<std::string>& named) {
  if (named) return named_root(cwd, *named);
  LK_ASSIGN(const std::optional<std::string> above,
            root_above(realm, physical(cwd).value_or(realm.root)));
  if (above) return *above;
  LK_ASSIGN(const std::vector<layout::LayoutEntry> known, layout::load_layouts(realm, settings));
  std::vector<std::string> roots;
  for (const layout::LayoutEntry& entry : known) {
    if (entry.kind == kKind) roots.push_back(entry.root);
  }
  if (roots.size() == 1) return roots.front();
  if (realm.bare) {
    return fail(Code::kInvalidInput, quote(realm.root) + " is a repository without a worktree",
                "name the folder of the locks: --root DIR");
  }
  return realm::join_path(realm.root, kRootName);
}

std::string report_line(const std::string& task, const core::Conflict& conflict,
                        std::int64_t now_wall_ms, bool json) {
  const core::Lease& holder = conflict.holder;
  const std::string file = conflict.requested.resource.text();
  if (!json) {
    std::string line = local_time(now_wall_ms) + " task " + shown(task) + ": " + shown(file) +
                       " is held by " + service::owner_text(holder.owner);
    if (!holder.terms.task.empty()) line += " for task " + shown(holder.terms.task);
    return line + " since " + local_time(holder.acquired_wall_ms) + "\n";
  }
  service::Json object = {{"at", format_time(now_wall_ms)}, {"task", task}, {"file", file}};
  object["holder"] = {{"agent", holder.owner.agent},
                      {"session", text_or_null(holder.owner.session)},
                      {"task", text_or_null(holder.terms.task)},
                      {"since", format_time(holder.acquired_wall_ms)},
                      {"foreign", holder.foreign}};
  return service::dump(object) + "\n";
}

Result<void> append_report(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  // In one write, because two tasks may report at once.
  if (file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return {};
  }
  return fail(errno_error(errno, "the report " + quote(path), Code::kInvalidInput));
}

}  // namespace lockkeeper::dialect::mkdir
