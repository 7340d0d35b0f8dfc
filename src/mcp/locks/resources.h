// The lock table as resources that a client can read and watch, and two prompts for people.
//
//   lock://leases          everything that is held
//   lock://leases/{path}   what is held that overlaps this path
//   lock://waiters         who waits for what
//   lock://events          what happened lately
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp {

std::vector<Resource> lock_resources();
std::vector<Resource> lock_templates();
std::vector<Prompt> lock_prompts();

// nullopt: there is no such resource.
std::optional<Answer> read_lock_resource(service::Locks& locks, const std::string& uri);

// Names that begin with what is typed: of files, for a template's path; of agents, for a prompt's.
std::vector<std::string> complete_lock_argument(service::Locks& locks, const Json& ref,
                                                const std::string& name, const std::string& typed);

// Looks at the table several times a second while somebody wants to know, and says which resources
// have changed.
class LockWatch {
 public:
  // `wanted`: is anybody interested? `changed`: one URI. Both from the watching thread. All must
  // outlive it.
  LockWatch(service::Locks& locks, std::function<bool()> wanted,
            std::function<void(const std::string& uri)> changed);
  ~LockWatch();
  LockWatch(const LockWatch&) = delete;
  LockWatch& operator=(const LockWatch&) = delete;

 private:
  void loop();

  service::Locks& locks_;
  const std::function<bool()> wanted_;
  const std::function<void(const std::string& uri)> changed_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace lockkeeper::mcp
