// Which hub keeps the locks of a realm, if one does: `LOCKKEEPER_SERVER`, `[server] url` in the
// user's own settings, or the last `lockkeeper login`. A repository's file can name the realm, but
// sends nobody anywhere. docs/decisions/remote.md says how the rest works.
//
// Thread safety: plain values and free functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "realm/environment.h"
#include "realm/realm.h"
#include "realm/server_url.h"

namespace lockkeeper::realm {

struct Settings;

// Of the words between relay and hub, and between process and relay. Another number: they refuse
// each other.
inline constexpr int kHubProtocol = 1;

// A session with a hub. The relay beats; the hub keeps a session for so long after a beat came; the
// client gives up what is attached so long after it sent the last beat that was answered, and kills
// what does not end by itself.
inline constexpr std::int64_t kBeatEveryMs = 10'000;
inline constexpr std::int64_t kOutOfContactMs = 30'000;
inline constexpr std::int64_t kKilledAfterMs = 45'000;
inline constexpr std::int64_t kSessionMs = 60'000;

// At the end of what a relay says of itself with a call: it has beaten at this hub since it asked
// another one, and will beat at another one before it asks that. So what this hub does with the
// call once another one keeps the session is void.
inline constexpr const char* kMeetsFirst = "!";

struct Server {
  std::string url;     // as text_of(ServerUrls): one address or several
  std::string from;    // what chose it, for people
  std::string person;  // whose token it is; empty: nobody's
  std::string name;    // of the realm there; empty: it has none, see unnamed_realm()
  std::string folder;  // of the relay; need not exist
};

// May a realm of a hub be called that? (hub::check_realm_name)
bool is_hub_name(std::string_view name);

// What `login` keeps of one server, with all its addresses, in a file that only its user can read.
struct Login {
  std::string url;
  std::string token;   // empty: the server asks for none
  std::string person;  // the token's name
  // Whose signature the server's certificate must have, one of these; empty: the system's.
  std::vector<std::string> ca_files = {};
  // SHA-256 of the certificate itself, 64 digits, one of these; empty: none is pinned.
  std::vector<std::string> fingerprints = {};
};
// What one address of a login said when it was tried: the name of the token's person, or why not.
struct TriedHub {
  std::string url;
  Result<std::string> person;
};
// The newest first. operation_not_permitted: others could read the file. Costs a failed open if
// there is none.
Result<std::vector<Login>> read_logins(const Environment& env);
// What their file looks like: other logins, another number.
std::uint64_t logins_stamp(const Environment& env);
Result<void> keep_login(const Environment& env, const Login& login);
// False: there was none.
Result<bool> drop_login(const Environment& env, const std::string& url);

// "https://me@GitHub.com:443/Org/repo.git" and "git@github.com:Org/repo" are "github.com/Org/repo".
// nullopt: it names no host (a folder), or what remains cannot be a name.
std::optional<std::string> name_of_origin(std::string_view url);

// By which all clones mean the same realm: as [realm] name says, or after `origin`. Empty: none.
std::string name_on_hub(const Realm& realm, const Settings& settings);

// nullopt: the table is on this machine; so it always is for the machine's own realm and in memory.
Result<std::optional<Server>> find_server(const Realm& realm, const Settings& settings,
                                          const Environment& env);
// Of that server alone, without a realm.
Result<std::string> relay_folder(const std::string& url, const Environment& env);

// The realm has no name by which others would mean the same one.
Error unnamed_realm(const Realm& realm, const Server& server);

}  // namespace lockkeeper::realm
