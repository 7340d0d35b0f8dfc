// The tokens of a hub: a file for its user alone (0600), one line each:
//
//   alice  read,lock  *                   sha256:3f79bb7b…
//   ci     read       github.com/org/*    sha256:…
//
// The file has digests, so whoever reads a copy of it has no token. Two lines may have one name:
// that is how a token is replaced without a pause. A changed file counts from the next second on.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hub/people/person.h"
#include "realm/environment.h"

namespace lockkeeper::hub {

struct TokenEntry {
  Person person;
  std::string digest;  // 64 hexadecimal digits
};
using TokenEntries = std::vector<TokenEntry>;

// Empty lines and lines that begin with # are comments. invalid_config names the line, never what
// is in it.
Result<TokenEntries> parse_tokens(std::string_view text, const std::string& path);
std::string to_line(const TokenEntry& entry);

// ~/.config/lockkeeper/hub-tokens. failed: no home.
Result<std::string> default_token_file(const realm::Environment& env);

// The prefix and 256 random bits in 64 hexadecimal digits.
std::string new_secret(std::string_view prefix);

// Adds a line with a new token, and gives the token; creates the file and its folder.
Result<std::string> add_token(const std::string& path, Person person);
// How many lines of that name were removed. not_found: none.
Result<std::size_t> remove_tokens(const std::string& path, std::string_view name);
// not_found: there is no such file. operation_not_permitted: others can read or write it, or it is
// a symlink or another user's.
Result<TokenEntries> read_tokens(const std::string& path);

class Tokens {
 public:
  // invalid_config: it has no token. `needed` false: then there is none, nor need there be a file.
  static Result<std::unique_ptr<Tokens>> open(const std::string& path, bool needed = true);

  // Whose token it is. Takes a time that says nothing about the tokens.
  std::optional<Person> find(std::string_view token) const;
  // Reads the file again if it has changed. After an error the earlier tokens stay.
  Result<void> follow();

 private:
  Tokens(std::string path, bool needed) : path_(std::move(path)), needed_(needed) {}

  const std::string path_;
  const bool needed_;
  mutable std::mutex mutex_;  // protects what is below
  std::uint64_t stamp_ = 0;
  std::shared_ptr<const TokenEntries> entries_;
};

}  // namespace lockkeeper::hub
