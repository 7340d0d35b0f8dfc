// The sessions of one server, to notify them all of changed resources. Sessions come and go.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "mcp/session.h"

namespace lockkeeper::mcp {

class Audience {
 public:
  // Call before the session's first message.
  void add(const std::shared_ptr<Session>& session);

  // The resources that any session watches.
  std::set<std::string> watched();
  // Notifies the sessions that watch it.
  void resource_changed(const std::string& uri);
  // "tools", "prompts", "resources": notifies the sessions that asked for it.
  void list_changed(const std::string& what);

 private:
  std::vector<std::shared_ptr<Session>> present();

  std::mutex mutex_;  // protects what is below
  std::vector<std::weak_ptr<Session>> sessions_;
};

}  // namespace lockkeeper::mcp
