#include "snapshot/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/blob_hash.h"
#include "base/bytes.h"
#include "host/file_ops.h"

namespace lockkeeper::snapshot {
namespace {

constexpr std::int64_t kYoungMs = 20;  // the kernel's clock of files ticks every 4 to 10 ms
constexpr std::size_t kTargetBytesMax = 4096;
constexpr std::size_t kChunkBytes = 65536;

std::int64_t nanoseconds_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string name_in(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

Entry::Is is_of(mode_t mode) {
  if (S_ISREG(mode)) return Entry::Is::kFile;
  if (S_ISLNK(mode)) return Entry::Is::kSymlink;
  return S_ISDIR(mode) ? Entry::Is::kFolder : Entry::Is::kOther;
}

// Any other error says nothing about the file: it may be there.
bool means_nothing(int errno_value) {
  return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ELOOP ||
         errno_value == ENAMETOOLONG;
}

struct CloseListing {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

ssize_t read_some(int fd, char* into, std::size_t bytes) {
  for (;;) {
    const ssize_t got = ::read(fd, into, bytes);
    if (got >= 0 || errno != EINTR) return got;
  }
}

}  // namespace

std::string content_id(std::string_view bytes) {
  BlobHash hash(bytes.size());
  hash.add(bytes);
  return hash.hex();
}

bool is_young(const Mark& mark, std::int64_t now_wall_ms) {
  return std::max(mark.modified_ns, mark.changed_ns) / 1'000'000 > now_wall_ms - kYoungMs;
}

Tree::Tree(const std::string& root)
    : root_(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      root_errno_(root_ ? 0 : errno) {}

int Tree::parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
  if (!root_) {
    parent_errno_ = root_errno_;
    return -1;
  }
  if (folder.empty()) return root_.get();
  if (folder != folder_) {
    parent_ = host::open_below(root_.get(), folder);
    parent_errno_ = errno;
    folder_ = folder;
  }
  return parent_.get();
}

Entry Tree::look(std::string_view path) {
  struct stat info{};
  Entry entry;
  const int parent = parent_of(path);
  const bool seen =
      parent >= 0 && ::fstatat(parent, name_in(path).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!seen) {
    const int why = parent < 0 ? parent_errno_ : errno;
    if (!means_nothing(why)) entry.is = Entry::Is::kOther;
    return entry;
  }
  entry.is = is_of(info.st_mode);
  entry.mark = {static_cast<std::uint64_t>(info.st_size), nanoseconds_of(info.st_mtim),
                nanoseconds_of(info.st_ctim), info.st_ino};
  entry.mode = info.st_mode & 07777U;
  return entry;
}

Fd Tree::open(std::string_view path, std::uint64_t limit, std::uint64_t& size) {
  const int parent = parent_of(path);
  if (parent < 0) return {};
  // Not blocking: a pipe in a file's place must not hang us.
  Fd file(::openat(parent, name_in(path).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  size = static_cast<std::uint64_t>(info.st_size);
  if (size > limit) return {};
  return file;
}

std::optional<std::string> Tree::read(std::string_view path, std::uint64_t limit) {
  std::uint64_t size = 0;
  const Fd file = open(path, limit, size);
  if (!file) return std::nullopt;
  // One byte more than there should be: then its end is seen by the first read.
  std::string bytes(size + 1, '\0');
  std::size_t have = 0;
  for (;;) {
    const ssize_t got = read_some(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
    if (got == 0) break;
    if (have > limit) return std::nullopt;  // it grows
    if (have == bytes.size()) bytes.resize(std::min<std::uint64_t>(have * 2, limit) + 1);
  }
  bytes.resize(have);
  return bytes;
}

std::optional<std::string> Tree::target(std::string_view path) {
  const int parent = parent_of(path);
  if (parent < 0) return std::nullopt;
  std::string text(kTargetBytesMax, '\0');
  const ssize_t size = ::readlinkat(parent, name_in(path).c_str(), text.data(), text.size());
  if (size < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string Tree::hash(std::string_view path, std::uint64_t limit) {
  std::uint64_t left = 0;
  const Fd file = open(path, limit, left);
  if (!file) return {};
  BlobHash hash(left);
  char buffer[kChunkBytes];
  for (;;) {
    const ssize_t got = read_some(file.get(), buffer, sizeof buffer);
    if (got < 0 || static_cast<std::uint64_t>(got) > left) return {};  // it grows while it is read
    if (got == 0) break;
    left -= static_cast<std::uint64_t>(got);
    hash.add({buffer, static_cast<std::size_t>(got)});
  }
  return left == 0 ? hash.hex() : std::string();
}

std::vector<std::string> Tree::below(const std::string& folder, std::size_t most) {
  std::vector<std::string> found;
  std::vector<std::string> folders = {folder};
  while (!folders.empty() && found.size() < most) {
    const std::string at = std::move(folders.back());
    folders.pop_back();
    const Fd searched = host::open_below(root_.get(), at);
    if (!searched) continue;
    Fd listed(::openat(searched.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseListing> listing(listed ? ::fdopendir(listed.get()) : nullptr);
    if (!listing) continue;
    listed.release();
    for (const dirent* one = ::readdir(listing.get()); one != nullptr && found.size() < most;
         one = ::readdir(listing.get())) {
      const std::string name = one->d_name;
      if (name == "." || name == ".." || name == ".git") continue;
      std::string path = at;
      if (!path.empty()) path += '/';
      path += name;
      const Entry entry = look(path);
      if (entry.is == Entry::Is::kFolder) folders.push_back(path);
      if (entry.is == Entry::Is::kFile || entry.is == Entry::Is::kSymlink) found.push_back(path);
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace lockkeeper::snapshot
