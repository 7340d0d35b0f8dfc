#include "crew/trees/provision.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "crew/changes/file_digest.h"
#include "crew/record/record_json.h"
#include "git/reader.h"
#include "host/file_ops.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"

namespace lockkeeper::crew {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<Fd> open_top(const std::string& path) {
  Fd fd(::open(path.c_str(), kFolderFlags));
  if (fd) return fd;
  return fail(errno_error(errno, "cannot open " + quote(path), Code::kFailed));
}

// Creates what is missing on the way. None: errno says why.
Fd make_below(int top, std::string_view path) {
  Fd at(::openat(top, ".", kFolderFlags));
  while (at && !path.empty()) {
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) return Fd();
    at = Fd(::openat(at.get(), name.c_str(), kFolderFlags));
  }
  return at;
}

std::string without_slash(std::string path) {
  if (path.ends_with('/')) path.pop_back();
  return path;
}

bool is_at(const Fd& folder, const std::string& name) {
  struct stat info{};
  return ::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

class Provider {
 public:
  Provider(Fd from, Fd to, std::string checkout, const git::GoOn& go_on)
      : from_(std::move(from)), to_(std::move(to)), checkout_(std::move(checkout)), go_on_(go_on) {}

  Result<void> link(const std::string& entry) {
    const std::string path = without_slash(entry);
    if (!usable(path)) return {};
    const Fd folder = make_below(to_.get(), folder_of(path));
    const std::string target = checkout_ + "/" + path;
    if (folder && ::symlinkat(target.c_str(), folder.get(), name_of(path).c_str()) == 0) {
      provided_.links.push_back(path);
      return {};
    }
    return not_there(path, errno);
  }

  Result<void> copy(const std::string& entry) {
    const std::string path = without_slash(entry);
    if (!usable(path)) return {};
    const Fd from = host::open_below(from_.get(), folder_of(path));
    const Fd to = make_below(to_.get(), folder_of(path));
    if (!from || !to) return not_there(path, errno);
    if (is_at(to, name_of(path))) return not_there(path, EEXIST);
    const std::size_t files = provided_.inside.size();
    LK_CHECK(copy_one(from.get(), to.get(), name_of(path), path));
    if (entry.ends_with('/')) {
      provided_.copies.push_back({entry, ""});
    } else if (provided_.inside.size() > files) {
      provided_.copies.push_back(std::move(provided_.inside.back()));
      provided_.inside.pop_back();
    }
    return {};
  }

  Provided take() { return std::move(provided_); }

 private:
  // A symlink may lead out of the repository.
  bool usable(const std::string& path) {
    const Fd folder = host::open_below(from_.get(), folder_of(path));
    struct stat info{};
    if (!folder ||
        ::fstatat(folder.get(), name_of(path).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return false;  // it has just gone
    }
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return true;
    provided_.left_out.push_back(quote(path) + (S_ISLNK(info.st_mode)
                                                    ? " is a symlink"
                                                    : " is neither a file nor a folder"));
    return false;
  }

  Result<void> not_there(const std::string& path, int error) {
    if (error == EEXIST || error == ENOTDIR || error == ELOOP) {
      provided_.left_out.push_back(quote(path) + ": something else is there");
      return {};
    }
    return fail(errno_error(error, "cannot provide " + quote(path), Code::kFailed));
  }

  Result<void> copy_one(int from, int to, const std::string& name, const std::string& path) {
    if (go_on_ && !go_on_()) return fail(Code::kFailed, "stopped");
    if (++files_ > kCopiedFilesMax) {
      return fail(Code::kLimitExceeded,
                  "more than " + std::to_string(kCopiedFilesMax) + " files would be copied",
                  "link large folders instead: worktrees.link");
    }
    struct stat info{};
    if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
    if (S_ISDIR(info.st_mode)) return copy_folder(from, to, name, path, info.st_mode);
    if (S_ISLNK(info.st_mode)) {
      LK_CHECK(copy_link(from, to, name, path));
    } else if (S_ISREG(info.st_mode)) {
      LK_CHECK(copy_file(from, to, name, path, info));
    }
    // What was left out has none.
    std::string digest = file_digest(to, name);
    if (!digest.empty()) provided_.inside.push_back({path, std::move(digest)});
    return {};
  }

  Result<void> copy_folder(int from, int to, const std::string& name, const std::string& path,
                           mode_t mode) {
    Fd inner(::openat(from, name.c_str(), kFolderFlags));
    if (!inner) return fail(errno_error(errno, "cannot read " + quote(path), Code::kFailed));
    if (::mkdirat(to, name.c_str(), 0700) != 0) return failed(path);
    const Fd made(::openat(to, name.c_str(), kFolderFlags));
    if (!made) return failed(path);
    const int listed = inner.release();
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(listed), ::closedir);
    if (!list) {
      ::close(listed);
      return failed(path);
    }
    while (const dirent* entry = ::readdir(list.get())) {
      const std::string each = entry->d_name;
      if (each == "." || each == "..") continue;
      LK_CHECK(copy_one(listed, made.get(), each, realm::join_path(path, each)));
    }
    return ::fchmod(made.get(), mode & 0777) == 0 ? Result<void>() : failed(path);
  }

  // As it is: it is not followed. Only in folders that are copied, where one may point beside it.
  Result<void> copy_link(int from, int to, const std::string& name, const std::string& path) {
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(from, name.c_str(), target, sizeof target - 1);
    if (size < 0) return failed(path);
    target[size] = '\0';
    return ::symlinkat(target, to, name.c_str()) == 0 ? Result<void>() : failed(path);
  }

  Result<void> copy_file(int from, int to, const std::string& name, const std::string& path,
                         const struct stat& info) {
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size > kDigestFileBytesMax) {
      provided_.left_out.push_back(quote(path) + " is larger than 64 MiB");
      return {};
    }
    bytes_ += size;
    if (bytes_ > kCopiedBytesMax) {
      return fail(Code::kLimitExceeded, "more than 4 GiB would be copied",
                  "link large folders instead: worktrees.link");
    }
    const Fd read(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!read) return failed(path);
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const Fd write(::openat(to, name.c_str(), kNew, 0600));
    if (!write) return failed(path);
    char buffer[64U << 10];
    for (ssize_t count = 0; (count = ::read(read.get(), buffer, sizeof buffer)) != 0;) {
      if (count < 0 && errno == EINTR) continue;
      const std::string_view bytes(buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (count < 0 || !write_all(write.get(), bytes)) return failed(path);
    }
    return ::fchmod(write.get(), info.st_mode & 0777) == 0 ? Result<void>() : failed(path);
  }

  static std::unexpected<Error> failed(const std::string& path) {
    return fail(errno_error(errno, "cannot copy " + quote(path), Code::kFailed));
  }

  Fd from_;
  Fd to_;
  const std::string checkout_;
  const git::GoOn& go_on_;
  Provided provided_;
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

Json copies_json(const std::vector<Provided::Copy>& copies) {
  Json json = Json::array();
  for (const Provided::Copy& copy : copies) {
    json.push_back({{"path", json_text(copy.path)}, {"sha256", copy.digest}});
  }
  return json;
}

std::vector<Provided::Copy> copies_from(const Json& json) {
  std::vector<Provided::Copy> copies;
  for (const Json& copy : json) {
    copies.push_back({copy.at("path").get<std::string>(), copy.at("sha256").get<std::string>()});
  }
  return copies;
}

// Compares a copied folder with what was copied.
class FolderLook {
 public:
  FolderLook(const Provided& provided, Touched& into) : into_(into) {
    for (const Provided::Copy& copy : provided.inside) copied_[json_text(copy.path)] = copy.digest;
  }

  // `path`: that of `name`, from the worktree's root.
  void look(int folder, const std::string& name, const std::string& path) {
    struct stat info{};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISDIR(info.st_mode)) return look_inside(folder, name, path);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) return;  // it has no content
    const auto known = copied_.find(json_text(path));
    if (known == copied_.end()) {
      into_.added.push_back(path);
    } else if (file_digest(folder, name) != known->second) {
      into_.changed.push_back(path);
    }
  }

 private:
  void look_inside(int folder, const std::string& name, const std::string& path) {
    Fd inner(::openat(folder, name.c_str(), kFolderFlags));
    const int listed = inner ? inner.release() : -1;
    const std::unique_ptr<DIR, int (*)(DIR*)> list(listed < 0 ? nullptr : ::fdopendir(listed),
                                                   ::closedir);
    if (!list) {
      if (listed >= 0) ::close(listed);
      into_.changed.push_back(path + "/");  // nobody can tell
      return;
    }
    while (const dirent* entry = ::readdir(list.get())) {
      const std::string each = entry->d_name;
      if (each != "." && each != "..") look(listed, each, realm::join_path(path, each));
    }
  }

  Touched& into_;
  std::map<std::string, std::string> copied_;
};

}  // namespace

Result<std::set<std::string>> unknown_to_git(const std::string& root) {
  LK_ASSIGN(const git::Reader reader, git::Reader::open(root, {.reads_files = false}));
  std::set<std::string> found;
  for (const bool ignored : {false, true}) {
    std::vector<std::string> words = {"ls-files", "-z", "--others", "--exclude-standard",
                                      "--directory"};
    if (ignored) words.emplace_back("--ignored");
    LK_ASSIGN(const std::string answer, reader.ask(words));
    for (std::string& each : git::split_at_nul(answer)) found.insert(std::move(each));
  }
  return found;
}

Json provided_json(const Provided& provided) {
  Json json{{"copies", copies_json(provided.copies)},
            {"inside", copies_json(provided.inside)},
            {"links", Json::array()}};
  for (const std::string& link : provided.links) json["links"].push_back(link);
  return json;
}

Provided provided_from(const Json& json) {
  Provided provided;
  provided.copies = copies_from(json.at("copies"));
  if (json.contains("inside")) provided.inside = copies_from(json.at("inside"));
  provided.links = json.at("links").get<std::vector<std::string>>();
  return provided;
}

Result<Provided> provide(const std::string& checkout, const std::string& tree,
                         const Patterns& patterns, const git::GoOn& go_on) {
  if (patterns.copy.empty() && patterns.link.empty()) return Provided{};
  LK_ASSIGN(const std::set<std::string> found, unknown_to_git(checkout));
  LK_ASSIGN(Fd from, open_top(checkout));
  LK_ASSIGN(Fd to, open_top(tree));
  Provider provider(std::move(from), std::move(to), checkout, go_on);
  for (const std::string& entry : found) {
    if (!is_valid_utf8(entry)) continue;  // a pattern cannot name it
    if (realm::matches_ignore_patterns(patterns.link, entry)) {
      LK_CHECK(provider.link(entry));
    } else if (realm::matches_ignore_patterns(patterns.copy, entry)) {
      LK_CHECK(provider.copy(entry));
    }
  }
  return provider.take();
}

Result<Touched> touched(const std::string& tree, const Provided& provided) {
  LK_ASSIGN(const Fd top, open_top(tree));
  Touched found;
  FolderLook folders(provided, found);
  struct stat info{};
  const auto stat_at = [&](const Fd& folder, const std::string& name) {
    return folder && ::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  };
  for (const Provided::Copy& copy : provided.copies) {
    const std::string path = without_slash(copy.path);
    const Fd folder = host::open_below(top.get(), folder_of(path));
    if (!stat_at(folder, name_of(path))) continue;
    if (copy.path.ends_with('/') && S_ISDIR(info.st_mode)) {
      folders.look(folder.get(), name_of(path), path);
    } else if (copy.digest.empty() || file_digest(folder.get(), name_of(path)) != copy.digest) {
      found.changed.push_back(path);
    }
  }
  for (const std::string& path : provided.links) {
    const Fd folder = host::open_below(top.get(), folder_of(path));
    if (stat_at(folder, name_of(path)) && !S_ISLNK(info.st_mode)) found.replaced.push_back(path);
  }
  return found;
}

Result<void> take_back(const std::string& tree, const Provided& provided) {
  LK_ASSIGN(const Fd top, open_top(tree));
  // Only what was provided: the agent may have committed other files in a copied folder.
  std::set<std::string, std::greater<>> folders;  // what is inside comes first
  for (const std::string& path : files_of(provided)) {
    const Fd folder = host::open_below(top.get(), folder_of(path));
    if (folder && ::unlinkat(folder.get(), name_of(path).c_str(), 0) != 0 && errno != ENOENT) {
      return fail(errno_error(errno, "cannot remove " + quote(path), Code::kFailed));
    }
  }
  for (const Provided::Copy& copy : provided.copies) {
    if (copy.path.ends_with('/')) folders.insert(without_slash(copy.path));
  }
  for (const Provided::Copy& copy : provided.inside) {
    for (std::string path = copy.path; path.contains('/');) {
      path.erase(path.rfind('/'));
      if (!folders.insert(path).second) break;
    }
  }
  for (const std::string& path : folders) {
    const Fd folder = host::open_below(top.get(), folder_of(path));
    if (folder) ::unlinkat(folder.get(), name_of(path).c_str(), AT_REMOVEDIR);  // if it is empty
  }
  return {};
}

std::vector<std::string> pathspecs_of(const Provided& provided) {
  std::vector<std::string> words;
  for (const Provided::Copy& copy : provided.copies) {
    words.push_back(":(top,literal)" + without_slash(copy.path));
  }
  for (const std::string& link : provided.links) words.push_back(":(top,literal)" + link);
  return words;
}

bool covers(const Provided& provided, const std::string& path) {
  return std::ranges::find(provided.links, without_slash(path)) != provided.links.end() ||
         std::ranges::any_of(provided.copies, [&](const Provided::Copy& copy) {
           return copy.path == path || (copy.path.ends_with('/') && path.starts_with(copy.path));
         });
}

std::set<std::string> files_of(const Provided& provided) {
  std::set<std::string> files(provided.links.begin(), provided.links.end());
  for (const auto* copies : {&provided.copies, &provided.inside}) {
    for (const Provided::Copy& copy : *copies) {
      if (!copy.path.ends_with('/')) files.insert(copy.path);
    }
  }
  return files;
}

}  // namespace lockkeeper::crew
