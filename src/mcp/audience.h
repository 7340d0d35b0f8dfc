// The sessions of one server, for who has news for all of them: changes of resources. Sessions come
// and go; who is gone hears nothing.
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
  // Before its first message is taken.
  void add(const std::shared_ptr<Session>& session);

  // The resources that any of them watches.
  std::set<std::string> watched();
  // Tells those who watch it.
  void resource_changed(const std::string& uri);
  // "tools", "prompts", "resources": tells those who want to know.
  void list_changed(const std::string& what);

 private:
  std::vector<std::shared_ptr<Session>> present();

  std::mutex mutex_;  // protects what is below
  std::vector<std::weak_ptr<Session>> sessions_;
};

}  // namespace lockkeeper::mcp
