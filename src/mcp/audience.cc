#include "mcp/audience.h"

namespace lockkeeper::mcp {

void Audience::add(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [](const std::weak_ptr<Session>& each) { return each.expired(); });
  sessions_.push_back(session);
}

// Notifying takes time, so it is done without the lock.
std::vector<std::shared_ptr<Session>> Audience::present() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Session>> here;
  for (const std::weak_ptr<Session>& each : sessions_) {
    if (auto session = each.lock()) here.push_back(std::move(session));
  }
  return here;
}

std::set<std::string> Audience::watched() {
  std::set<std::string> uris;
  for (const auto& session : present()) uris.merge(session->watched());
  return uris;
}

void Audience::resource_changed(const std::string& uri) {
  for (const auto& session : present()) session->resource_changed(uri);
}

void Audience::list_changed(const std::string& what) {
  for (const auto& session : present()) session->list_changed(what);
}

}  // namespace lockkeeper::mcp
