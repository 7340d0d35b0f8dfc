// Who may use the server. Checked before anything else of a request, including its body.
//
// Every page in the user's browser can reach a server on this machine: it can send requests to
// 127.0.0.1, and with DNS rebinding even read the answers. Such requests carry the page's own name
// as Host and Origin, so both must be ours. The token keeps out programs of the machine's other
// users.
//
// Thread safety: plain values and free functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/address.h"
#include "http/message.h"

namespace lockkeeper::http {

struct Door {
  Address address;  // where the server listens
  // What clients must send, or several such, one a line. nullopt: everybody is accepted.
  std::optional<std::string> token = {};
  std::vector<std::string> names = {};  // what else clients may call it
  // Instead of `token`: may this request pass? Called for each, before its body is read.
  std::function<bool(const Request&)> admits = {};

  bool is_open() const { return !token && !admits; }  // everybody is accepted
};

struct Refusal {
  int status = 403;
  Headers headers;
  std::string message;  // one sentence, without anything secret
};

// nullopt: accepted. There must be one Host, and it must be the server's address or one of its
// names, localhost, 127.0.0.1 or [::1] (any literal address if the server listens on all), with any
// port or none, because ports are forwarded. The same holds for an Origin. Otherwise 403; 401 for a
// missing or wrong token. Reads only the headers.
std::optional<Refusal> refusal(const Door& door, const Request& request);

// What an Authorization header brings: Bearer TOKEN, or the password of Basic. nullopt: neither.
std::optional<std::string> bearer_of(const Request& request);

// Takes a time that depends only on the length of `given`.
bool same_secret(std::string_view secret, std::string_view given);

}  // namespace lockkeeper::http
