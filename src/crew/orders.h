// The orders for the supervisor of one attempt, and the channel between it and the foreman.
//
// The orders are in a file, so that they do not show in the process list. The channel is a socket:
// each side notices when the other is gone.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "crew/trees/agent_tree.h"
#include "plan/model.h"

namespace lockkeeper::crew {

// In an attempt's folder, OUTPUT/agents/AGENT/NUMBER/.
inline constexpr const char* kOrdersName = "orders.json";
inline constexpr const char* kAliveName = "alive";         // locked while the supervisor lives
inline constexpr const char* kLeaseName = "lease";         // its lease, as it was granted
inline constexpr const char* kStartedName = "started";     // written before the command starts
inline constexpr const char* kResultName = "result.json";  // written after it has ended
inline constexpr const char* kLogName = "log";             // what the command printed
inline constexpr const char* kSupervisorLogName = "supervisor.log";

struct Orders {
  std::size_t number = 1;  // of the attempt
  std::string agent;
  std::string session;
  std::vector<std::string> locks;  // as the service reads them, from the realm's root
  std::int64_t ttl_ms = 0;
  std::string reason;
  std::string task;
  std::string feature;  // its pause stops the agent; empty: none
  plan::Command command;
  std::map<std::string, std::string> environment;
  std::string folder;  // where the command runs
  std::int64_t timeout_ms = 0;
  std::int64_t grace_ms = 0;
  std::uint64_t log_bytes_max = 0;
  bool detect_changes = true;
  std::vector<std::string> leave_out;  // folders where changes do not count
  std::optional<TreeOrders> tree;      // its own worktree, where the command runs
};

std::string orders_text(const Orders& orders);
Result<Orders> orders_from(const std::string& text);

// The supervisor's end of the channel.
inline constexpr int kChannelFd = 3;

// One end of the channel. Messages are small and arrive whole.
class Channel {
 public:
  using Message = nlohmann::ordered_json;
  explicit Channel(Fd fd) : fd_(std::move(fd)) {}
  // Both ends of a new channel.
  static Result<std::pair<Channel, Channel>> pair();

  int fd() const { return fd_.get(); }
  // Never waits. False: the other side is gone, or does not read and the socket is full.
  bool send(const Message& message) const;
  // The next message, waiting at most so long; nullopt: none, or the other side is gone().
  std::optional<Message> receive(int wait_ms);
  bool gone() const { return gone_; }

 private:
  Fd fd_;
  bool gone_ = false;
};

}  // namespace lockkeeper::crew
