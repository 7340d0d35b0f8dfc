#include "mcp/locks/completion.h"

#include <dirent.h>
#include <fcntl.h>

#include <memory>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "mcp/locks/resources.h"

namespace lockkeeper::mcp::locks {
namespace {

using Names = std::set<std::string>;

// Opens a folder below the root, name by name, so that no symlink leads out of it.
Fd folder_below(const std::string& root, std::string_view folder) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Fd at(::open(root.c_str(), kFlags));
  while (at && !folder.empty()) {
    const std::size_t slash = folder.find('/');
    const std::string name(folder.substr(0, slash));
    folder.remove_prefix(slash == std::string_view::npos ? folder.size() : slash + 1);
    const bool plain = !name.empty() && name != "." && name != ".." && name != ".git";
    if (!plain) return Fd();
    at = Fd(::openat(at.get(), name.c_str(), kFlags | O_NOFOLLOW));
  }
  return at;
}

void add_files(const std::string& root, const std::string& typed, Names& names) {
  if (typed.find('\0') != std::string::npos || typed.starts_with('/')) return;
  const std::size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  const std::string begin = typed.substr(folder.size());
  Fd fd = folder_below(root, folder);
  if (!fd) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
  if (!dir) return;
  static_cast<void>(fd.release());  // the stream closes it
  std::size_t looked = 0;
  while (const dirent* const entry = ::readdir(dir.get())) {
    if (++looked > kFilesLookedAt) return;
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == ".git" || !name.starts_with(begin)) continue;
    if (!is_valid_utf8(name)) continue;
    names.insert(folder + name + (entry->d_type == DT_DIR ? "/" : ""));
  }
}

void add(const std::string& text, const std::string& typed, Names& names) {
  if (text.starts_with(typed)) names.insert(text);
}

void add_held(service::Locks& locks, const std::string& typed, Names& names) {
  const auto reply = locks.list({});
  if (!reply) return;
  for (const service::ListedLease& each : reply->leases) {
    for (const core::Claim& claim : each.lease.claims) add(claim.resource.text(), typed, names);
  }
}

void add_agents(service::Locks& locks, const std::string& typed, Names& names) {
  if (const auto reply = locks.list({})) {
    for (const service::ListedLease& each : reply->leases) {
      add(each.lease.owner.agent, typed, names);
    }
    for (const core::Waiter& each : reply->waiters) add(each.request.owner.agent, typed, names);
  }
  const auto lately = lock_resource(locks, "lock://events");
  if (!lately || !*lately) return;
  for (const Json& event : (**lately)["events"]) add(event["agent"], typed, names);
}

// Completes the last of several, and repeats those before it.
std::vector<std::string> complete_last(service::Locks& locks, const std::string& typed) {
  const std::size_t blank = typed.find_last_of(" ,\t\n");
  const std::string before = blank == std::string::npos ? "" : typed.substr(0, blank + 1);
  Names names;
  add_files(locks.site().realm().root, typed.substr(before.size()), names);
  add_held(locks, typed.substr(before.size()), names);
  std::vector<std::string> values;
  for (const std::string& name : names) values.push_back(before + name);
  return values;
}

}  // namespace

std::vector<std::string> complete_lock_argument(service::Locks& locks, const Json& ref,
                                                const std::string& name, const std::string& typed) {
  const auto is = [&](const char* member, const char* text) {
    return ref.contains(member) && ref[member] == text;
  };
  Names names;
  if (is("type", "ref/resource") && is("uri", "lock://leases/{path}") && name == "path") {
    add_files(locks.site().realm().root, typed, names);
    add_held(locks, typed, names);
  }
  if (is("type", "ref/prompt") && is("name", "plan_my_edits") && name == "files") {
    return complete_last(locks, typed);
  }
  if (is("type", "ref/prompt") && is("name", "work_with_locks") && name == "agent") {
    add_agents(locks, typed, names);
  }
  return {names.begin(), names.end()};
}

}  // namespace lockkeeper::mcp::locks
