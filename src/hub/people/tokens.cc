#include "hub/people/tokens.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/parse.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"

namespace lockkeeper::hub {
namespace {

constexpr std::string_view kDigestMark = "sha256:";
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kTokensMax = 10'000;
constexpr std::size_t kFileBytesMax = 4U << 20;

std::unexpected<Error> not_private(const std::string& path, const std::string& why,
                                   const std::string& hint) {
  return fail(Code::kOperationNotPermitted, "the token file " + quote(path) + " " + why, hint);
}

Result<unsigned> parse_roles(std::string_view text) {
  unsigned roles = 0;
  for (const std::string& word : words_in(text, ",")) {
    LK_ASSIGN(const Role role, parse_role(word));
    roles |= static_cast<unsigned>(role);
  }
  return roles;
}

Result<TokenEntry> parse_line(const std::string& line) {
  const std::vector<std::string> words = words_in(line, " \t\r");
  const auto broken = [](const char* why) { return fail(Code::kInvalidConfig, why); };
  if (words.size() != 4) return broken("does not have four words: NAME ROLES REALMS sha256:…");
  TokenEntry entry;
  entry.person.name = words[0];
  if (!is_person_name(words[0]))
    return broken("has a name with other characters than a-z 0-9 . _ -");
  const auto roles = parse_roles(words[1]);
  if (!roles || *roles == 0) return broken("has a role other than read, lock, break and admin");
  entry.person.roles = *roles;
  entry.person.realms = words_in(words[2], ",");
  if (entry.person.realms.empty()) return broken("names no realm; * is every realm");
  entry.digest = words[3].substr(std::min(kDigestMark.size(), words[3].size()));
  const bool digest = words[3].starts_with(kDigestMark) && entry.digest.size() == kDigestDigits &&
                      from_hex(entry.digest).size() == kDigestDigits / 2;
  if (!digest) return broken("does not end in sha256: and 64 hexadecimal digits");
  return entry;
}

struct Parts {
  std::string folder;
  std::string name;
};
Parts parts_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// Under a lock of its own: two `token add` at once lose nothing.
Result<void> change_tokens(const std::string& path,
                           const std::function<Result<void>(TokenEntries&)>& change) {
  constexpr std::int64_t kPatienceMs = 5'000;
  const Parts parts = parts_of(path);
  LK_CHECK(make_folders(parts.folder));
  LK_ASSIGN(const Folder folder, Folder::open(parts.folder, "", Folder::Kind::kPrivate));
  LK_ASSIGN(const Fd held, folder.lock("." + parts.name + ".lock", kPatienceMs));
  auto entries = read_tokens(path);
  if (!entries && entries.error().code != Code::kNotFound) return fail(std::move(entries.error()));
  TokenEntries all = entries.value_or(TokenEntries());
  LK_CHECK(change(all));
  std::string text = "# NAME  ROLES  REALMS  sha256 of the token. Add: lockkeeper token add NAME\n";
  for (const TokenEntry& entry : all) text += to_line(entry);
  return folder.write(parts.name, text);
}

}  // namespace

std::string to_line(const TokenEntry& entry) {
  std::vector<std::string> roles;
  for (const Role role : {Role::kRead, Role::kLock, Role::kBreak, Role::kAdmin}) {
    const bool written = (entry.person.roles & static_cast<unsigned>(role)) != 0;
    if (written) roles.emplace_back(role_name(role));
  }
  return entry.person.name + " " + join(roles, ",") + " " + join(entry.person.realms, ",") + " " +
         std::string(kDigestMark) + entry.digest + "\n";
}

Result<TokenEntries> parse_tokens(std::string_view text, const std::string& path) {
  TokenEntries entries;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    auto entry = parse_line(line);
    if (!entry) {
      return fail(Code::kInvalidConfig,
                  "line " + std::to_string(number) + " of the token file " + quote(path) + " " +
                      entry.error().message,
                  "correct it, or add tokens with: lockkeeper token add NAME");
    }
    entries.push_back(std::move(*entry));
    if (entries.size() > kTokensMax) {
      return fail(Code::kInvalidConfig, "the token file " + quote(path) + " has more than " +
                                            std::to_string(kTokensMax) + " tokens");
    }
  }
  return entries;
}

Result<std::string> default_token_file(const realm::Environment& env) {
  const auto config = realm::xdg_folder(env, "XDG_CONFIG_HOME", ".config");
  if (config) return *config + "/lockkeeper/hub-tokens";
  return fail(Code::kFailed, "neither XDG_CONFIG_HOME nor HOME is set",
              "name the token file: --token-file FILE");
}

Result<TokenEntries> read_tokens(const std::string& path) {
  // Nonblocking, because a pipe in the file's place must not block us.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK));
  if (!fd) {
    if (errno == ELOOP) return not_private(path, "is a symlink", "name the file itself");
    if (errno != ENOENT) return fail(errno_error(errno, path, Code::kFailed));
    return fail(Code::kNotFound, "there is no token file " + quote(path),
                "add a token: lockkeeper token add NAME");
  }
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail(errno_error(errno, path, Code::kFailed));
  if (!S_ISREG(info.st_mode)) return not_private(path, "is not a regular file", "name another one");
  if (info.st_uid != ::geteuid()) {
    return not_private(path, "belongs to another user", "name one of your own");
  }
  if ((info.st_mode & 077) != 0) {
    return not_private(path, "can be read or written by others", "chmod 600 " + shell_quote(path));
  }
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno_error(errno, path, Code::kFailed));
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > kFileBytesMax) {
      return fail(Code::kInvalidConfig, "the token file " + quote(path) + " is longer than 4 MiB");
    }
  }
  return parse_tokens(text, path);
}

std::string new_secret(std::string_view prefix) {
  constexpr int kWords = 4;  // 256 bits
  SystemRandom random;
  std::string bytes;
  for (int i = 0; i < kWords; ++i) append_be64(bytes, random.next());
  return std::string(prefix) + to_hex(bytes);
}

Result<std::string> add_token(const std::string& path, Person person) {
  std::string token = new_secret("lk_");
  LK_CHECK(change_tokens(path, [&](TokenEntries& all) -> Result<void> {
    all.push_back({std::move(person), sha256_hex(token)});
    return {};
  }));
  return token;
}

Result<std::size_t> remove_tokens(const std::string& path, std::string_view name) {
  std::size_t removed = 0;
  LK_CHECK(change_tokens(path, [&](TokenEntries& all) -> Result<void> {
    removed = std::erase_if(all, [&](const TokenEntry& one) { return one.person.name == name; });
    if (removed > 0) return {};
    return fail(Code::kNotFound, "no token has the name " + quote(name),
                "see: lockkeeper token list");
  }));
  return removed;
}

Result<std::unique_ptr<Tokens>> Tokens::open(const std::string& path, bool needed) {
  std::unique_ptr<Tokens> tokens(new Tokens(path, needed));
  LK_CHECK(tokens->follow());
  if (needed && tokens->entries_->empty()) {
    return fail(Code::kInvalidConfig, "the token file " + quote(path) + " has no token",
                "add one: lockkeeper token add NAME");
  }
  return tokens;
}

Result<void> Tokens::follow() {
  const std::uint64_t stamp = file_stamp(path_);
  {
    const std::lock_guard hold(mutex_);
    if (entries_ && stamp == stamp_) return {};
  }
  auto entries = read_tokens(path_);
  if (!entries) {
    if (needed_ || entries.error().code != Code::kNotFound) return fail(std::move(entries.error()));
    entries = TokenEntries();
  }
  const std::lock_guard hold(mutex_);
  entries_ = std::make_shared<const TokenEntries>(std::move(*entries));
  stamp_ = stamp;
  return {};
}

std::optional<Person> Tokens::find(std::string_view token) const {
  std::shared_ptr<const TokenEntries> entries;
  {
    const std::lock_guard hold(mutex_);
    entries = entries_;
  }
  const std::string digest = sha256_hex(token);
  const Person* found = nullptr;
  for (const TokenEntry& entry : *entries) {  // each is compared, whichever it is
    unsigned different = 0;
    for (std::size_t i = 0; i < kDigestDigits; ++i) {
      different |= static_cast<unsigned char>(entry.digest[i] ^ digest[i]);
    }
    if (different == 0) found = &entry.person;
  }
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace lockkeeper::hub
