// How the user of the hub's machine logs in at its page without a token: `lockkeeper open` makes a
// pass, which is good once, for a minute, in one realm. The page exchanges it for a token that only
// the running hub knows. So what a browser's history or a list of processes keeps opens nothing.
//
// Whoever can write the realm's store holds all its locks already; so that is where passes lie:
// `passes/DIGEST` in the store's folder, with the name of the person.
//
// Thread safety: free functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::hub {

// What a hub says of itself in each store that it serves, while it holds the lock of that file.
inline constexpr const char* kHubLockName = "hub.lock";
struct HubPlace {
  std::string address;     // "http://127.0.0.1:7420", "unix:/run/…"
  std::string realm;       // what the hub calls it
  bool asks = true;        // for a token
  std::uint32_t user = 0;  // who runs it

  bool is_socket() const { return address.starts_with("unix:"); }
};
std::string to_line(const HubPlace& place);
std::optional<HubPlace> parse_place(std::string_view line);  // nullopt: it is none

inline constexpr std::int64_t kPassMs = 60'000;

// `store`: the realm's, which exists. `realm`: the hub's name of it. `person`: is_person_name().
Result<std::string> make_pass(const std::string& store, const std::string& realm,
                              const std::string& person);
// The realm that a pass names; nullopt: it is no pass.
std::optional<std::string> realm_of_pass(std::string_view pass);
// The person whose pass it is; nullopt: it was used, is too old, or never was one. `take`: it is
// used now. REQUIRES: one at a time takes.
std::optional<std::string> find_pass(const std::string& store, std::string_view pass, bool take);

// A page for this user alone that leads a browser to `url`, so that no command line has it; its
// path. It is removed with the passes.
Result<std::string> make_way(const std::string& store, const std::string& url);

}  // namespace lockkeeper::hub
