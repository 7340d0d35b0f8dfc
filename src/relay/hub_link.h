// The relay's kept connections to a hub, with its token. As many as there are calls at once; each
// is used again.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "http/client.h"
#include "realm/server.h"

namespace lockkeeper::relay {

// Of an object that somebody else wrote; empty or null: it is not there, or of another kind.
std::string text_at(const Json& json, const char* name);
const Json& object_at(const Json& json, const char* name);

class HubLink {
 public:
  HubLink(const realm::ServerUrl& url, const realm::Login& login);

  // POST with a JSON body. A call must be harmless if repeated: it is, on another connection, when
  // one breaks within `ms`. Errors: store_unavailable, unknown, operation_not_permitted (the
  // certificate or the token), or what the hub says.
  Result<std::string> post(const std::string& target, const std::string& body,
                           const std::string& session, int ms);

 private:
  std::unique_ptr<http::Client> take();
  Result<std::string> read(const http::Answered& answered) const;

  const std::string name_;
  http::Endpoint endpoint_;
  const std::string token_;
  std::mutex mutex_;  // protects what is below
  std::vector<std::unique_ptr<http::Client>> idle_;
};

}  // namespace lockkeeper::relay
