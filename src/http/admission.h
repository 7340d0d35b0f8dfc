// Who may come in. Looked at before anything else of a request, its body included.
//
// A server on this machine is within reach of every page that its user's browser shows: a page can
// send requests to 127.0.0.1, and by DNS rebinding even read the answers. Such requests carry the
// page's own name as Host and Origin, so both must be ours. Programs of other users of the machine
// are kept out by the token.
//
// Thread safety: plain values and free functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/address.h"
#include "http/message.h"

namespace lockkeeper::http {

struct Door {
  Address address;                   // that the server listens on
  std::optional<std::string> token;  // none: everybody who reaches it may come in
};

struct Refusal {
  int status = 403;
  Headers headers;
  std::string message;  // one sentence; holds nothing that the client did not send
};

// nullopt: let it in. Host must be there once and be the address that is listened on, localhost,
// 127.0.0.1 or [::1] (every literal address where all are listened on); with any port or none,
// because ports are forwarded. Origin, if there is one, likewise. 403 else; 401 for a token that is
// missing or wrong. Looks at the headers alone.
std::optional<Refusal> refusal(const Door& door, const Request& request);

// In a time that depends on the length of `given` alone.
bool same_secret(std::string_view secret, std::string_view given);

}  // namespace lockkeeper::http
