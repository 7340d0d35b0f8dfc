#include "kv/etcd/version.h"

#include <compare>
#include <vector>

#include "base/parse.h"
#include "base/quote.h"

namespace lockkeeper::kv::etcd {
namespace {

struct Number {
  unsigned major = 0, minor = 0, patch = 0;
  auto operator<=>(const Number&) const = default;
};

// "3.5.30", also with "-rc.1" or "+git" behind it.
bool parse(std::string_view text, Number& number) {
  const std::vector<std::string> parts = words_in(text.substr(0, text.find_first_of("-+")), ".");
  if (parts.size() != 3) return false;
  unsigned* const places[] = {&number.major, &number.minor, &number.patch};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = number_in<unsigned>(parts[i]);
    if (!value) return false;
    *places[i] = *value;
  }
  return true;
}

// What each line of releases must have: reads that are not stale after a pause, and leases that an
// old leader does not take away; with passwords, also that no user sees what belongs to another.
bool is_good(const Number& number, bool authenticated) {
  if (number < Number{3, 6, 0}) return number >= Number{3, 5, authenticated ? 33U : 28U};
  if (number < Number{3, 7, 0}) return number >= Number{3, 6, authenticated ? 14U : 9U};
  return number >= Number{3, 7, authenticated ? 1U : 0U};
}

}  // namespace

Result<void> check_version(std::string_view version, bool authenticated, bool allow_old,
                           const std::string& where) {
  const std::string named = "the etcd at " + where + " has version " + quote(version);
  Number number;
  if (!parse(version, number)) {
    return fail(Code::kStoreUnavailable, named + ", which cannot be read",
                "is it an etcd of version 3?");
  }
  if (number >= Number{3, 5, 0} && number <= Number{3, 5, 2}) {
    return fail(Code::kStoreUnavailable, named + ", which loses rows when it crashes",
                "update it to 3.5.28 or newer");
  }
  if (allow_old || is_good(number, authenticated)) return {};
  const std::string needed = authenticated ? "3.5.33, 3.6.14 or newer, with users and passwords"
                                           : "3.5.28, 3.6.9 or newer";
  return fail(
      Code::kStoreUnavailable,
      named + ", which is too old: it can answer with old rows and end leases early" +
          (authenticated ? ", or show rows to the wrong user" : ""),
      "update it to " + needed + "; to try it all the same, add allow-old=yes to the address");
}

}  // namespace lockkeeper::kv::etcd
