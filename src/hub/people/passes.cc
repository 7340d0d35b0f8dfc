#include "hub/people/passes.h"

#include <unistd.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/folder.h"
#include "base/parse.h"
#include "base/sha256.h"
#include "base/text.h"
#include "hub/people/person.h"
#include "hub/people/tokens.h"

namespace lockkeeper::hub {
namespace {

// Several users may share a store. A pass is for the hub of its own user.
std::string passes_name() {
  return "passes-" + std::to_string(::geteuid());
}

constexpr std::string_view kMark = "lkp_";
constexpr std::size_t kSecretDigits = 64;
constexpr std::size_t kNameBytes = 200;

bool is_fresh(const FileStamp& stamp) {
  const std::int64_t age = SystemClock().now().wall_ms - stamp.mtime_ms;
  return stamp.regular && std::abs(age) <= kPassMs;
}

// Without what is too old.
Result<Folder> swept_folder(const std::string& store) {
  LK_ASSIGN(const Folder home, Folder::open(store, "", Folder::Kind::kPrivate));
  LK_ASSIGN(Folder folder, home.folder(passes_name()));
  LK_ASSIGN(const auto names, folder.names());
  for (const std::string& name : names) {
    const auto stamp = folder.stamp(name);
    if (stamp && *stamp && !is_fresh(**stamp)) LK_CHECK(folder.remove(name));
  }
  return folder;
}

std::string html_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string to_line(const HubPlace& place) {
  return place.address + " " + place.realm + (place.asks ? " tokens " : " everybody ") +
         std::to_string(place.user) + "\n";
}

std::optional<HubPlace> parse_place(std::string_view line) {
  const std::vector<std::string> words = words_in(line, " \n");
  const auto user = words.size() == 4 ? number_in<std::uint32_t>(words[3]) : std::nullopt;
  if (!user) return std::nullopt;
  return HubPlace{words[0], words[1], words[2] != "everybody", *user};
}

Result<std::string> make_pass(const std::string& store, const std::string& realm,
                              const std::string& person) {
  LK_ASSIGN(const Folder folder, swept_folder(store));
  std::string pass = new_secret(kMark) + "." + realm;
  LK_CHECK(folder.write(sha256_hex(pass), person));
  return pass;
}

std::optional<std::string> realm_of_pass(std::string_view pass) {
  const std::size_t dot = kMark.size() + kSecretDigits;
  if (!pass.starts_with(kMark) || pass.size() <= dot + 1 || pass[dot] != '.') return std::nullopt;
  return std::string(pass.substr(dot + 1));
}

std::optional<std::string> find_pass(const std::string& store, std::string_view pass, bool take) {
  const auto folder = Folder::find(store, passes_name());
  if (!folder || !*folder) return std::nullopt;
  const std::string name = sha256_hex(pass);
  const auto stamp = (*folder)->stamp(name);
  if (!stamp || !*stamp || !is_fresh(**stamp)) return std::nullopt;
  const auto person = (*folder)->read(name, kNameBytes);
  if (!person || !*person || !is_person_name(**person)) return std::nullopt;
  // One that cannot be removed could be used again.
  if (take && !(*folder)->remove(name)) return std::nullopt;
  return *person;
}

Result<std::string> make_way(const std::string& store, const std::string& url) {
  LK_ASSIGN(const Folder folder, swept_folder(store));
  const std::string name = new_secret("open-") + ".html";
  LK_CHECK(folder.write(name,
                        "<!doctype html><meta charset=\"utf-8\"><title>Lockkeeper</title>"
                        "<meta name=\"referrer\" content=\"no-referrer\">"
                        "<meta http-equiv=\"refresh\" content=\"0; url=" +
                            html_quoted(url) + "\">\n"));
  return folder.path_of(name);
}

}  // namespace lockkeeper::hub
