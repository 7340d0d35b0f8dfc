#include "http/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/random.h"
#include "base/text.h"

namespace lockkeeper::http {
namespace {

constexpr std::size_t kTokenMin = 16;
constexpr std::size_t kTokenMax = 512;
constexpr std::size_t kTokensMax = 64;
constexpr int kRandomWords = 4;

std::string fresh_token() {
  SystemRandom random;
  std::string bytes;
  for (int i = 0; i < kRandomWords; ++i) append_be64(bytes, random.next());
  return to_hex(bytes);
}

std::unexpected<Error> refused(const std::string& path, const std::string& why,
                               const std::string& hint) {
  return fail(Code::kOperationNotPermitted, "the token file " + quote(path) + " " + why, hint);
}

Result<void> check_owner(const std::string& path, const struct stat& info) {
  const std::string name = shell_quote(path);
  if (!S_ISREG(info.st_mode)) {
    return refused(path, "is not a regular file", "name another one: --token-file FILE");
  }
  if (info.st_uid != ::geteuid()) {
    return refused(path, "belongs to another user", "name one of your own: --token-file FILE");
  }
  if ((info.st_mode & 077) != 0) {
    return refused(path, "can be read or written by others",
                   "if it holds nothing but tokens: chmod 600 " + name +
                       "; otherwise name another one: --token-file FILE");
  }
  return {};
}

Result<std::string> read_token(int fd, const std::string& path) {
  std::string text(kTokensMax * (kTokenMax + 1) + 1, '\0');
  const ssize_t n = ::read(fd, text.data(), text.size());
  if (n < 0) return fail(errno_error(errno, path, Code::kFailed));
  text.resize(static_cast<std::size_t>(n));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.ends_with('\n') || text.starts_with('\n')) text.clear();  // no empty lines
  const std::vector<std::string> tokens = words_in(text, "\n");
  const auto is_good = [](const std::string& token) {
    return token.size() >= kTokenMin && token.size() <= kTokenMax &&
           std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
  };
  const bool good = !tokens.empty() && tokens.size() <= kTokensMax && join(tokens, "\n") == text &&
                    std::ranges::all_of(tokens, is_good);
  if (good) return text;
  return fail(Code::kInvalidInput,
              "the token file " + quote(path) +
                  " does not hold lines of 16 to 512 visible ASCII characters, at most 64",
              "remove it: the next start makes a new one");
}

// False: the name is taken.
Result<bool> make_token(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string suffix;
  append_be64(suffix, SystemRandom().next());
  // Written under another name and then linked, which never replaces: nobody sees it half written.
  const std::string temporary = folder + "/.http-token." + to_hex(suffix);
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return fail(errno_error(errno, "cannot make the token file " + path));
  Result<bool> made = true;
  if (!write_all(fd.get(), fresh_token() + "\n") || ::fsync(fd.get()) != 0) {
    made = fail(errno_error(errno, path));
  } else if (::link(temporary.c_str(), path.c_str()) != 0) {
    made = errno == EEXIST ? Result<bool>(false) : fail(errno_error(errno, path));
  }
  ::unlink(temporary.c_str());
  return made;
}

}  // namespace

Result<std::string> read_or_make_token(const std::string& path) {
  constexpr int kAttempts = 3;  // others may remove and create it meanwhile
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // Nonblocking, because a pipe in the file's place must not block us.
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK));
    if (fd) {
      struct stat info{};
      if (::fstat(fd.get(), &info) != 0) return fail(errno_error(errno, path, Code::kFailed));
      LK_CHECK(check_owner(path, info));
      return read_token(fd.get(), path);
    }
    if (errno == ELOOP) {
      return refused(path, "is a symlink", "name the file itself: --token-file FILE");
    }
    if (errno != ENOENT) return fail(errno_error(errno, path, Code::kFailed));
    LK_CHECK(make_token(path));
  }
  return fail(Code::kFailed, "the token file " + quote(path) + " keeps disappearing",
              "name another one: --token-file FILE");
}

}  // namespace lockkeeper::http
