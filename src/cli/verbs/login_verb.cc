// `login` and `logout`: which hub keeps the locks. `relay`: the process between here and there.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/verbs/verbs.h"
#include "realm/server.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kTokenBytesMax = 512;

// Never an argument: everybody on this machine could read it.
Result<std::string> read_token(VerbContext& context, const std::optional<std::string>& file) {
  std::string text;
  if (file) {
    LK_ASSIGN(text, read_file(*file, kTokenBytesMax + 2));
  } else {
    if (context.environment().in_is_terminal) context.out().note("type the token, then Enter");
    char buffer[kTokenBytesMax + 2];
    if (std::fgets(buffer, sizeof buffer, context.environment().in) != nullptr) text = buffer;
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  const bool visible = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (visible && text.size() <= kTokenBytesMax) return text;
  return fail(Code::kInvalidInput, "that is not a token: it has blanks or is too long",
              "one line, as `lockkeeper token add` printed it");
}

// "AB:CD:…" as openssl prints it, or plain digits.
Result<std::string> parse_fingerprint(const std::string& text) {
  constexpr std::size_t kDigits = 64;
  std::string digits = lowered(text);
  if (digits.starts_with("sha256:")) digits.erase(0, 7);
  std::erase(digits, ':');
  if (digits.size() == kDigits && from_hex(digits).size() == kDigits / 2) return digits;
  return fail(Code::kInvalidInput, "--fingerprint " + quote(text) + " is not a SHA-256",
              "openssl x509 -in hub.pem -noout -fingerprint -sha256");
}

// Absolute, so that the relay finds it.
Result<std::string> parse_ca_file(VerbContext& context, const std::string& file) {
  LK_CHECK(read_file(file));  // a missing file is said now
  LK_ASSIGN(const std::string here, realm::current_folder(context.environment().cwd));
  return file.starts_with('/') ? file : here + "/" + file;
}

// At least one must know the token, and all that know it must know it by one name.
Result<std::string> person_of(VerbContext& context, const std::vector<realm::TriedHub>& all) {
  const realm::TriedHub* known = nullptr;
  const Error* worst = nullptr;
  std::vector<std::string> why;
  for (const realm::TriedHub& one : all) {
    if (!one.person) {
      const Error& error = one.person.error();
      why.push_back(error.message);
      if (worst == nullptr || worst->code == Code::kStoreUnavailable) worst = &error;
    } else if (known == nullptr) {
      known = &one;
    } else if (*known->person != *one.person) {
      return fail(Code::kInvalidInput,
                  "the token is " + quote(*known->person) + " at " + known->url + ", and " +
                      quote(*one.person) + " at " + one.url,
                  "give all hubs of one table the same tokens");
    }
  }
  if (known != nullptr) {
    for (const std::string& each : why) context.out().warning(each);
    return *known->person;
  }
  LOCKKEEPER_ASSERT(worst != nullptr);
  Error error = *worst;
  error.message = join(why, "; ");
  return fail(std::move(error));
}

}  // namespace

Result<int> login_verb(VerbContext& context) {
  std::vector<std::string> urls, ca_files, fingerprints;
  std::optional<std::string> token_file;
  Arguments& arguments = context.arguments();
  arguments.words("URL", urls,
                  "the hub, as https://hub.example.com; several that\n"
                  "serve one table with commas between them");
  arguments.value("--token-file", token_file, "FILE", "where the token is (default: stdin)");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values(
      "--ca-file", ca_files, "FILE",
      "whose signature its certificate must have, PEM\n(default: the system's); may be repeated");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--fingerprint", fingerprints, "SHA256",
                   "of its certificate: only this one; may be\nrepeated");
  if (const auto status = context.parse_some(urls, "the address of a hub")) return *status;
  if (urls.size() > 1) {
    return context.refuse_usage("takes one word: several addresses have commas between them");
  }
  LK_ASSIGN(const realm::ServerUrls all, realm::parse_server_urls(urls.front()));
  realm::Login login;
  login.url = realm::text_of(all);
  for (const std::string& file : ca_files) {
    LK_ASSIGN(login.ca_files.emplace_back(), parse_ca_file(context, file));
  }
  for (const std::string& text : fingerprints) {
    LK_ASSIGN(login.fingerprints.emplace_back(), parse_fingerprint(text));
  }
  LK_ASSIGN(login.token, read_token(context, token_file));
  LOCKKEEPER_ASSERT(context.environment().try_hubs);
  LK_ASSIGN(login.person, person_of(context, context.environment().try_hubs(login)));
  LK_CHECK(realm::keep_login(context.runtime().env, login));
  context.out().object({{"server", login.url}, {"name", text_or_null(login.person)}});
  context.out().text("logged in to " + login.url +
                     (login.person.empty() ? "" : " as " + login.person) +
                     "; its locks are yours from now on");
  return 0;
}

Result<int> logout_verb(VerbContext& context) {
  std::vector<std::string> urls;
  context.arguments().words("[URL]", urls, "the hub, as at the login (default: the last one)");
  if (const auto status = context.parse()) return *status;
  if (urls.size() > 1) return context.refuse_usage("takes one address");
  LK_ASSIGN(const std::vector<realm::Login> logins, realm::read_logins(context.runtime().env));
  if (logins.empty()) {
    return fail(Code::kNotFound, "you are logged in to no hub", "log in: lockkeeper login URL");
  }
  std::string wanted = logins.front().url;
  if (!urls.empty()) {
    LK_ASSIGN(const realm::ServerUrls all, realm::parse_server_urls(urls.front()));
    wanted = realm::text_of(all);
  }
  LK_ASSIGN(const bool dropped, realm::drop_login(context.runtime().env, wanted));
  if (!dropped) {
    return fail(Code::kNotFound, "you are not logged in to " + wanted,
                "you are logged in to " + logins.front().url);
  }
  context.out().object({{"server", wanted}});
  context.out().text("logged out of " + wanted + "; its token is gone from this machine");
  return 0;
}

// Started by whoever needs the hub first.
Result<int> relay_verb(VerbContext& context) {
  std::vector<std::string> urls;
  context.arguments().words("URL", urls, "the hub, as at the login");
  if (const auto status = context.parse_some(urls, "the address of a hub")) return *status;
  LOCKKEEPER_ASSERT(context.environment().relay);
  return context.environment().relay(context, urls.front());
}

}  // namespace lockkeeper::cli
