#include "realm/disk_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/text.h"
#include "key/unicode.h"

namespace lockkeeper::realm {
namespace {

constexpr std::size_t kFromSymlink = std::string_view::npos;

struct Step {
  std::string name;
  std::size_t offset = kFromSymlink;  // where the name begins in the typed text
};

// The names of `text`, last one first, so that the next one is taken from the back.
void push_steps(std::vector<Step>& steps, std::string_view text, bool typed) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t slash = text.rfind('/', end - 1);
    const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
    if (begin < end) {
      steps.push_back({std::string(text.substr(begin, end - begin)), typed ? begin : kFromSymlink});
    }
    if (slash == std::string_view::npos) break;
    end = slash;
  }
}

class Walk {
 public:
  Walk(const std::string& start, std::string_view text, Patterns patterns)
      : text_(text), patterns_(patterns) {
    result_.path = text.front() == '/' ? "/" : start;
    result_.type = DiskPath::Type::kFolder;
    push_steps(steps_, text, true);
    const bool only_slashes = steps_.empty();
    const std::string& last = only_slashes ? text_ : steps_.front().name;
    result_.folder_written = text.back() == '/' || last == "." || last == "..";
  }

  Result<DiskPath> go() {
    while (!steps_.empty()) {
      const Step step = std::move(steps_.back());
      steps_.pop_back();
      LK_CHECK(take(step));
    }
    result_.existing_folder = result_.path;
    std::size_t above = missing_ + (result_.type == DiskPath::Type::kOther ? 1 : 0);
    for (; above > 0; --above) result_.existing_folder = parent_path(result_.existing_folder);
    return std::move(result_);
  }

 private:
  Result<void> take(const Step& step) {
    if (step.name == ".") return {};
    if (step.name == "..") {
      go_up();
      return {};
    }
    const bool may_be_pattern = patterns_ != Patterns::kNone && step.offset != kFromSymlink &&
                                step.name.find_first_of("*?[{\\") != std::string::npos;
    const bool there = missing_ == 0 && result_.type == DiskPath::Type::kFolder;
    const bool escaped = step.name.find('\\') != std::string::npos;
    if (may_be_pattern && (patterns_ == Patterns::kAlways || !there || escaped)) {
      return begin_pattern(step);
    }
    if (!there) {
      if (missing_ == 0) missing_ = 1;  // the file in the way counts as missing
      add_missing(step.name);
      return {};
    }
    return look_up(step, may_be_pattern);
  }

  void go_up() {
    if (result_.path == "/") return;
    result_.path = parent_path(result_.path);
    if (missing_ > 0) --missing_;
    result_.type = missing_ > 0 ? DiskPath::Type::kMissing : DiskPath::Type::kFolder;
  }

  void add_missing(const std::string& name) {
    result_.path = join_path(result_.path, name);
    result_.type = DiskPath::Type::kMissing;
    ++missing_;
  }

  Result<void> begin_pattern(const Step& step) {
    result_.pattern = text_.substr(step.offset);
    for (const Step& rest : steps_) {
      if (rest.name != "..") continue;
      return fail(Code::kInvalidResource, quote(text_) + ": \"..\" after a pattern is ambiguous",
                  "write the pattern without \"..\"");
    }
    steps_.clear();
    return {};
  }

  Result<void> look_up(const Step& step, bool may_be_pattern) {
    struct stat info{};
    std::string name = step.name;
    LK_ASSIGN(bool found, status(name, info));
    if (!found && !is_ascii(name)) {
      LK_ASSIGN(found, try_other_spellings(name, info));
    }
    if (!found) {
      if (may_be_pattern) return begin_pattern(step);
      add_missing(step.name);
      return {};
    }
    const std::string path = join_path(result_.path, name);
    if (S_ISLNK(info.st_mode)) return follow(path);
    result_.path = path;
    result_.type = S_ISDIR(info.st_mode) ? DiskPath::Type::kFolder : DiskPath::Type::kOther;
    return {};
  }

  // Is there an entry of this name in the current folder?
  Result<bool> status(const std::string& name, struct stat& info) {
    const std::string path = join_path(result_.path, name);
    if (::lstat(path.c_str(), &info) == 0) return true;
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG) return false;
    return fail(errno_error(error, "cannot look at " + path, Code::kFailed));
  }

  // A disk may store a name in another Unicode form than was typed (macOS archives do).
  Result<bool> try_other_spellings(std::string& name, struct stat& info) {
    for (const bool composed : {true, false}) {
      const auto other = key::normal_form(name, composed);
      if (!other || *other == name) continue;
      auto found = status(*other, info);
      if (found && *found) name = *other;
      if (!found || *found) return found;
    }
    return false;
  }

  Result<void> follow(const std::string& path) {
    if (++links_ > kSymlinksMax) {
      return fail(Code::kInvalidResource,
                  quote(text_) + ": its symlinks form a loop; the last one seen is " + path,
                  "repair the symlink, or name the file itself");
    }
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length <= 0 || length >= PATH_MAX) {
      return fail(errno_error(length < 0 ? errno : ENAMETOOLONG, "cannot read the symlink " + path,
                              Code::kFailed));
    }
    const std::string_view where(target, static_cast<std::size_t>(length));
    if (where.front() == '/') result_.path.resize(1);  // absolute, so "/" is left
    result_.link = path;
    push_steps(steps_, where, false);
    return {};
  }

  const std::string text_;
  const Patterns patterns_;
  DiskPath result_;
  std::vector<Step> steps_;
  std::size_t missing_ = 0;  // how many names at the end of the path do not exist
  int links_ = 0;
};

}  // namespace

Result<DiskPath> walk_disk(const std::string& start, std::string_view text, Patterns patterns) {
  LOCKKEEPER_ASSERT(!start.empty() && start.front() == '/' && !text.empty());
  return Walk(start, text, patterns).go();
}

std::string join_path(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string parent_path(std::string_view path) {
  const auto slash = path.rfind('/');
  LOCKKEEPER_ASSERT(slash != std::string_view::npos);
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace lockkeeper::realm
